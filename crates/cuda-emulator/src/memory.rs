//! A device's memory, on the host.

use std::collections::BTreeMap;

use crate::kernels::{self, Counts, Region, Watch};
use minormajor_cuda::launch::Launch;

/// As much as the driver aligns allocations to.
#[repr(C, align(256))]
#[derive(Clone, Copy)]
struct Line([u8; 256]);

/// Allocations by their addresses; what lies between them faults.
#[derive(Default)]
pub struct Memory {
    allocations: BTreeMap<u64, (Vec<Line>, u64)>,
    used: u64,
}

impl Memory {
    /// Allocates bytes that hold no zeros.
    pub fn allocate(&mut self, bytes: u64) -> u64 {
        let lines = vec![Line([0xa5; 256]); bytes.div_ceil(256).max(1) as usize];
        let address = lines.as_ptr() as u64;
        self.allocations.insert(address, (lines, bytes));
        self.used += bytes;
        address
    }

    /// Gives an allocation back; false where there is none at the address.
    pub fn free(&mut self, address: u64) -> bool {
        let freed = self.allocations.remove(&address);
        self.used -= freed.as_ref().map_or(0, |(_, bytes)| *bytes);
        freed.is_some()
    }

    /// Bytes that are allocated.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// How many allocations there are.
    pub fn count(&self) -> usize {
        self.allocations.len()
    }

    /// Bytes of an allocation, from an address within it.
    pub fn bytes(&mut self, address: u64, bytes: u64) -> Result<&mut [u8], String> {
        let found = self.allocations.range_mut(..=address).next_back();
        let Some((&first, (lines, length))) = found else {
            return Err(format!("no allocation at {address:#x}"));
        };
        let offset = address - first;
        if offset + bytes > *length {
            return Err(format!(
                "{bytes} bytes at {offset} of an allocation of {length}"
            ));
        }
        // SAFETY: lines are arrays of bytes side by side, of at least `length` bytes in all, and
        // borrowed as long as the result is.
        Ok(unsafe {
            std::slice::from_raw_parts_mut(
                lines.as_mut_ptr().cast::<u8>().add(offset as usize),
                bytes as usize,
            )
        })
    }

    /// Runs a kernel on this memory.
    pub fn launch(&mut self, launch: &Launch, watch: Watch) -> Result<Counts, String> {
        let regions: Vec<Region> = self
            .allocations
            .iter()
            .map(|(&address, (_, bytes))| Region {
                address,
                bytes: *bytes,
            })
            .collect();
        // SAFETY: the regions are this memory's, which is borrowed alone.
        unsafe { kernels::run(launch, &regions, watch) }
    }
}
