//! DLPack: tensors' memory for other libraries, and other libraries' memory for us. Both give back what they
//! took without Python.
//!
//! The structs are those of DLPack 1.0's `dlpack.h`.

mod borrow;
mod lend;

pub use borrow::borrow;
pub use lend::{Home, capsule};

use std::ffi::{CStr, c_void};

use minormajor::ElementType;

/// `kDLCPU`, `kDLCUDA` and `kDLCUDAManaged`.
pub const HOST: i32 = 1;
pub const CARD: i32 = 2;
pub const MANAGED_BY_CARDS: i32 = 13;

/// `DLPACK_FLAG_BITMASK_READ_ONLY`.
const READ_ONLY: u64 = 1;

/// `DLTensor`, its device and type spelt out.
#[repr(C)]
struct Described {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Described,
}

/// `DLManagedTensor`, which DLPack had before 1.0: it can't say that memory is not to be written.
#[repr(C)]
struct Unversioned {
    tensor: Described,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Unversioned)>,
}

/// What a capsule points to.
trait Managed: Sized {
    /// The capsule's name, until somebody takes what is in it.
    const NAME: &CStr;
    /// Its name from then on.
    const TAKEN: &CStr;

    fn tensor(&mut self) -> &mut Described;

    fn flags(&self) -> u64;

    /// DLPack's version that it is of, where that is not the one that we read.
    fn other_version(&self) -> Option<u32> {
        None
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
}

impl Managed for Versioned {
    const NAME: &CStr = c"dltensor_versioned";
    const TAKEN: &CStr = c"used_dltensor_versioned";

    fn tensor(&mut self) -> &mut Described {
        &mut self.tensor
    }

    fn flags(&self) -> u64 {
        self.flags
    }

    fn other_version(&self) -> Option<u32> {
        (self.major != 1).then_some(self.major)
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}

impl Managed for Unversioned {
    const NAME: &CStr = c"dltensor";
    const TAKEN: &CStr = c"used_dltensor";

    fn tensor(&mut self) -> &mut Described {
        &mut self.tensor
    }

    fn flags(&self) -> u64 {
        0
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}

/// DLPack's codes of element types that have elements in bytes of their own.
const CODES: [(ElementType, u8); 23] = {
    use ElementType::*;
    [
        (S8, 0),
        (S16, 0),
        (S32, 0),
        (S64, 0),
        (U8, 1),
        (U16, 1),
        (U32, 1),
        (U64, 1),
        (F16, 2),
        (F32, 2),
        (F64, 2),
        (Bf16, 4),
        (C64, 5),
        (C128, 5),
        (Pred, 6),
        (F8e3m4, 7),
        (F8e4m3, 8),
        (F8e4m3b11fnuz, 9),
        (F8e4m3fn, 10),
        (F8e4m3fnuz, 11),
        (F8e5m2, 12),
        (F8e5m2fnuz, 13),
        (F8e8m0fnu, 14),
    ]
};
