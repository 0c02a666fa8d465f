//! Where tensors live and who computes with them: the [`Backend`] trait, its CPU implementation,
//! and the names of devices.
//!
//! A backend keeps bytes and runs plans and a few operations on strided operands. It checks
//! nothing that [`Tensor`](crate::Tensor) has checked: element types, sizes, ranges and reaches are
//! right when a method is called, so one can fail only for reasons of its device
//! ([`DeviceError`]), and what was there before stays as it was.

mod cpu;
mod devices;
mod error;
mod operation;
mod scalar;
mod storage;
mod strided;
mod transfer;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use minormajor_core::{ElementType, Layout, Plan};

pub use cpu::CpuBackend;
pub use devices::{Device, Devices};
pub use error::DeviceError;
pub use operation::{Binary, Distribution, Reduction, Tolerance};
pub use scalar::{Number, Scalar, ScalarError};
pub use storage::Storage;
pub use strided::{Argument, Loop, Loops, Operand, Strided};
pub use transfer::{Route, Transfer};

/// A kind of device: it keeps bytes, runs plans, and computes.
///
/// What every method may take for granted:
///
/// - A storage that is given was made by this backend (on this very device).
/// - Sizes and strides of all [`Strided`] places of one call agree: operands have the sizes that
///   the method says (broadcasting is stride 0 already), and every element is inside its storage.
/// - A `result` is dense: offset 0, positive strides, each element of `0..elements` at exactly one
///   place, in any order of dimensions. Its storage has [`Strided::bytes`] bytes.
/// - Element types are those that the method lists.
///
/// What every method keeps:
///
/// - Storages never change once they are returned: an operation returns a new one.
/// - An error leaves everything usable.
/// - Work may go on after a method returned, in the order of the calls, as long as nobody can see
///   it: [`download`](Backend::download) and [`is_close`](Backend::is_close) wait for what they
///   need, [`synchronize`](Backend::synchronize) for all.
/// - Any number of threads may call at once.
pub trait Backend: Any + Send + Sync + fmt::Debug {
    /// The device's name: `cpu`, `cuda:0`.
    fn name(&self) -> &str;

    /// What the device is, in a line for people: `NVIDIA H200, 139.8 GiB`.
    fn description(&self) -> String;

    /// The layout that new tensors of this rank get: an order of dimensions, no tiles, no padding.
    fn preferred_layout(&self, rank: usize) -> Layout;

    /// New memory of so many bytes, all zero.
    ///
    /// # Errors
    ///
    /// [`DeviceError::OutOfMemory`].
    fn allocate(&self, bytes: usize) -> Result<Arc<dyn Storage>, DeviceError>;

    /// A copy of the host's bytes. They may be changed as soon as this returns.
    ///
    /// # Errors
    ///
    /// [`DeviceError`].
    fn upload(&self, bytes: &[u8]) -> Result<Arc<dyn Storage>, DeviceError>;

    /// A new storage whose bytes `write` makes, in zeroed memory of the host.
    ///
    /// # Errors
    ///
    /// [`DeviceError`], that of `write` included.
    fn upload_from(
        &self,
        bytes: usize,
        write: &mut dyn FnMut(&mut [u8]) -> Result<(), DeviceError>,
    ) -> Result<Arc<dyn Storage>, DeviceError> {
        transfer::upload_from(self, bytes, write)
    }

    /// Copies the storage's bytes from `offset` on to `into`, which lie in it, and waits for them.
    ///
    /// # Errors
    ///
    /// [`DeviceError`].
    fn download(
        &self,
        storage: &dyn Storage,
        offset: usize,
        into: &mut [u8],
    ) -> Result<(), DeviceError>;

    /// Runs a plan (boxes, fills, or its general way) into a new storage of
    /// [`Plan::destination_bytes`]; what the plan leaves alone is zero. The source has
    /// [`Plan::source_bytes`] at least. A plan that only copies may return nothing else than a
    /// copy, so an [`Identity`](crate::plan::PlanClass::Identity) is not asked for where the
    /// storage can be shared.
    ///
    /// # Errors
    ///
    /// [`DeviceError`]; [`DeviceError::Unsupported`] for a plan that the backend has no way for.
    fn relayout(&self, plan: &Plan, source: &dyn Storage) -> Result<Arc<dyn Storage>, DeviceError>;

    /// The host's bytes moved by a plan on their way here: the strategy is
    /// [`Transfer::upload`]'s.
    ///
    /// # Errors
    ///
    /// [`DeviceError`].
    fn upload_relaid(&self, plan: &Plan, bytes: &[u8]) -> Result<Arc<dyn Storage>, DeviceError> {
        transfer::upload_relaid(self, plan, bytes)
    }

    /// A storage's array moved by a plan on its way to the host, which gets
    /// [`Plan::destination_bytes`]: the strategy is [`Transfer::download`]'s. `into` has exactly
    /// as many bytes; what the plan leaves alone is left alone or made zero.
    ///
    /// # Errors
    ///
    /// [`DeviceError`].
    fn download_relaid(
        &self,
        plan: &Plan,
        storage: &dyn Storage,
        into: &mut [u8],
    ) -> Result<(), DeviceError> {
        transfer::download_relaid(self, plan, storage, into)
    }

    /// A result whose every element is `value`, which is of its element type: any type of whole
    /// bytes.
    ///
    /// # Errors
    ///
    /// [`DeviceError`].
    fn fill(&self, value: Scalar, result: &Strided) -> Result<Arc<dyn Storage>, DeviceError>;

    /// `left operation right`, element by element; see [`Binary`] for what each means. All three
    /// have one element type, any of [`is_numeric`], and one list of sizes; at least one side is
    /// an operand.
    ///
    /// # Errors
    ///
    /// [`DeviceError`].
    fn binary(
        &self,
        operation: Binary,
        left: &Argument<'_>,
        right: &Argument<'_>,
        result: &Strided,
    ) -> Result<Arc<dyn Storage>, DeviceError>;

    /// Matrix products: `left` is `[batch.., m, k]`, `right` `[batch.., k, n]`, the result
    /// `[batch.., m, n]`, with the same batch sizes in all three (broadcast ones have stride 0).
    /// f32, f64, f16 or bf16 in all, or s8 operands and an s32 result. Where k is 0, zeros.
    ///
    /// f16 and bf16 are summed in f32 at least and rounded once; s8 products in s32, which wraps.
    ///
    /// # Errors
    ///
    /// [`DeviceError`]; [`DeviceError::Missing`] where the product needs a library that is not
    /// there.
    fn mm(
        &self,
        left: &Operand<'_>,
        right: &Operand<'_>,
        result: &Strided,
    ) -> Result<Arc<dyn Storage>, DeviceError>;

    /// Reduces the operand's dimensions from number `kept` on; the first `kept` are the result's,
    /// in its order. See [`Reduction`] for what each means and for the result's type.
    /// [`Reduction::Max`] never gets an empty list to reduce.
    ///
    /// # Errors
    ///
    /// [`DeviceError`].
    fn reduce(
        &self,
        operation: Reduction,
        operand: &Operand<'_>,
        kept: usize,
        result: &Strided,
    ) -> Result<Arc<dyn Storage>, DeviceError>;

    /// Whether all elements are close to those of `right`, which has the same sizes and type (any
    /// of [`is_numeric`]): see [`Tolerance`]. Of no elements, all are.
    ///
    /// # Errors
    ///
    /// [`DeviceError`].
    fn is_close(
        &self,
        left: &Operand<'_>,
        right: &Operand<'_>,
        tolerance: Tolerance,
    ) -> Result<bool, DeviceError>;

    /// Random numbers: the formulas of [`random`](crate::random), bit for bit, counted by each
    /// element's row-major number among the result's sizes, whatever its strides.
    ///
    /// # Errors
    ///
    /// [`DeviceError`].
    fn random(
        &self,
        distribution: Distribution,
        seed: u64,
        result: &Strided,
    ) -> Result<Arc<dyn Storage>, DeviceError>;

    /// Waits until all work that was started is done, and says what went wrong in it.
    ///
    /// # Errors
    ///
    /// [`DeviceError`] of work that failed after its method had returned.
    fn synchronize(&self) -> Result<(), DeviceError>;
}

/// Whether backends compute with this type: f32, f64, f16, bf16, and integers of 8 to 64 bits.
///
/// ```
/// use minormajor::{ElementType, backend::is_numeric};
///
/// assert!(is_numeric(ElementType::Bf16) && is_numeric(ElementType::U8));
/// assert!(!is_numeric(ElementType::Pred) && !is_numeric(ElementType::C64));
/// ```
pub const fn is_numeric(element_type: ElementType) -> bool {
    use ElementType::*;
    matches!(
        element_type,
        F32 | F64 | F16 | Bf16 | S8 | S16 | S32 | S64 | U8 | U16 | U32 | U64
    )
}
