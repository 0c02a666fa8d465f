//! Memory of the host.

use std::fmt;

use bytemuck::Pod;

use crate::backend::Storage;

/// Zeroed memory of the host, aligned for every element type.
pub(super) struct CpuStorage {
    /// The unit of 16 bytes is for the alignment.
    units: Vec<u128>,
    bytes: usize,
    /// Whether others may read it in place.
    is_open: bool,
}

impl CpuStorage {
    /// `None` where there is no room.
    pub fn zeroed(bytes: usize, is_open: bool) -> Option<CpuStorage> {
        let units = bytes.div_ceil(size_of::<u128>());
        // Asks first, since `vec!` ends the process where memory is short. The kernel hands pages
        // out only when they are written, so this costs nothing.
        Vec::<u128>::new().try_reserve_exact(units).ok()?;
        Some(CpuStorage {
            units: vec![0; units],
            bytes,
            is_open,
        })
    }

    pub fn as_bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.units)[..self.bytes]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.units)[..self.bytes]
    }

    /// The whole elements that the bytes make.
    pub fn elements<T: Pod>(&self) -> &[T] {
        let all: &[T] = bytemuck::cast_slice(&self.units);
        &all[..self.bytes / size_of::<T>()]
    }

    pub fn elements_mut<T: Pod>(&mut self) -> &mut [T] {
        let elements = self.bytes / size_of::<T>();
        let all: &mut [T] = bytemuck::cast_slice_mut(&mut self.units);
        &mut all[..elements]
    }
}

impl Storage for CpuStorage {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn host_bytes(&self) -> Option<&[u8]> {
        self.is_open.then(|| self.as_bytes())
    }
}

impl fmt::Debug for CpuStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuStorage({} bytes)", self.bytes)
    }
}
