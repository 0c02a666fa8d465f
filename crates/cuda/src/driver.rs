//! What the backend asks of a device: memory, queues of work, and launches.
//!
//! There are two drivers: NVIDIA's ([`Cuda`](crate::Cuda)), and the emulator of this project's tests,
//! which runs the kernels' own code on the host. The backend knows neither.

use std::fmt;

use crate::launch::{Card, Launch};
use crate::product::Product;

/// A line of work: what is queued runs in order, and none waits for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Queue {
    /// Kernels, and copies to the host.
    Main,
    /// Copies from the host, which go on beside kernels.
    Uploads,
}

/// Why a device did not do something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// No memory is left.
    #[error("no {bytes} bytes are left")]
    #[allow(missing_docs)]
    OutOfMemory { bytes: u64 },
    /// Something is not there.
    #[error("{what} is missing")]
    #[allow(missing_docs)]
    Missing { what: String },
    /// Anything else, in the device's own words.
    #[error("{what}")]
    #[allow(missing_docs)]
    Failed { what: String },
}

/// Memory of the host that a device reads and writes by itself.
pub trait Pinned: Send + fmt::Debug {
    /// Its bytes.
    fn bytes(&self) -> &[u8];
    /// Its bytes, to be written.
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// A copy under way: it keeps the host's memory until it is done.
pub trait Flight: Send {
    /// Waits for the copy, and gives its memory back.
    ///
    /// # Errors
    ///
    /// [`Fault`] of any work in the queue so far.
    fn land(self: Box<Self>) -> Result<Box<dyn Pinned>, Fault>;
}

/// A device. Addresses are its own; those of one method's call are inside of allocations, which
/// the backend sees to.
pub trait Driver: Send + Sync + fmt::Debug {
    /// What launches depend on.
    fn card(&self) -> Card;

    /// Its number among the devices of its kind, from 0.
    fn ordinal(&self) -> usize;

    /// A line for people.
    fn description(&self) -> String;

    /// Bytes that are free, where the device says so.
    fn free_bytes(&self) -> Option<u64>;

    /// Memory for what is queued from now on, at a multiple of 256.
    ///
    /// # Errors
    ///
    /// [`Fault::OutOfMemory`].
    fn allocate(&self, queue: Queue, bytes: u64) -> Result<u64, Fault>;

    /// Gives memory back, behind what is in the main queue.
    fn free(&self, address: u64);

    /// Zeros, in the main queue.
    ///
    /// # Errors
    ///
    /// [`Fault`].
    fn zero(&self, address: u64, bytes: u64) -> Result<(), Fault>;

    /// Memory of the host for copies.
    ///
    /// # Errors
    ///
    /// [`Fault`].
    fn pinned(&self, bytes: usize) -> Result<Box<dyn Pinned>, Fault>;

    /// Copies the first bytes of a stage to the device, in the queue of uploads.
    ///
    /// # Errors
    ///
    /// [`Fault`].
    fn send(&self, stage: Box<dyn Pinned>, bytes: usize, to: u64)
    -> Result<Box<dyn Flight>, Fault>;

    /// Copies bytes of the device to the front of a stage, in the main queue.
    ///
    /// # Errors
    ///
    /// [`Fault`].
    fn receive(
        &self,
        from: u64,
        bytes: usize,
        stage: Box<dyn Pinned>,
    ) -> Result<Box<dyn Flight>, Fault>;

    /// What comes in the main queue now waits for the uploads so far.
    ///
    /// # Errors
    ///
    /// [`Fault`].
    fn join_uploads(&self) -> Result<(), Fault>;

    /// Starts a kernel, in the main queue.
    ///
    /// # Errors
    ///
    /// [`Fault`].
    fn launch(&self, launch: &Launch) -> Result<(), Fault>;

    /// Multiplies matrices, in the main queue.
    ///
    /// # Errors
    ///
    /// [`Fault::Missing`] where there is no library for it.
    fn product(&self, product: &Product) -> Result<(), Fault>;

    /// Whether an address is one of the device's memory, whoever allocated that.
    fn holds(&self, address: u64) -> bool;

    /// Waits for all work on the device, that of other libraries of this process too.
    ///
    /// # Errors
    ///
    /// [`Fault`] of any of it.
    fn settle(&self) -> Result<(), Fault>;

    /// Waits for both queues.
    ///
    /// # Errors
    ///
    /// [`Fault`] of any work in them.
    fn synchronize(&self) -> Result<(), Fault>;
}
