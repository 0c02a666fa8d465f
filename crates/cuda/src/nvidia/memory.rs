//! The host's memory that devices reach, copies under way, and events.

use std::ffi::{c_uint, c_void};
use std::fmt;
use std::ptr;
use std::sync::Arc;

use super::Context;
use super::driver::{self, Handle, call, get};
use crate::driver::{Fault, Flight, Pinned};

/// Pinned memory.
pub(super) struct Host {
    context: Arc<Context>,
    pointer: Handle,
    bytes: usize,
}

impl Host {
    pub fn new(context: &Arc<Context>, bytes: usize) -> Result<Host, Fault> {
        let api = context.enter()?;
        let pointer = get!(api, cuMemAllocHost_v2, ptr::null_mut::<c_void>(), bytes)?;
        if pointer.is_null() {
            return Err(Fault::Failed {
                what: "cuMemAllocHost_v2: no memory".to_owned(),
            });
        }
        // SAFETY: the driver allocated so many bytes there, which are ours alone.
        #[allow(unsafe_code)]
        unsafe {
            ptr::write_bytes(pointer.cast::<u8>(), 0, bytes);
        }
        Ok(Host {
            context: context.clone(),
            pointer: Handle(pointer.expose_provenance()),
            bytes,
        })
    }

    fn pointer(&self) -> *mut u8 {
        ptr::with_exposed_provenance_mut(self.pointer.0)
    }
}

impl Pinned for Host {
    fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes are allocated there until the drop, and all were written. While a
        // device reads or writes them, a `Copying` owns this and shows nobody a slice.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.pointer(), self.bytes)
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and nobody else has a slice, since `self` is borrowed alone.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts_mut(self.pointer(), self.bytes)
        }
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pinned bytes", self.bytes)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Ok(api) = self.context.enter() {
            // Nobody hears of a failure here.
            let _ = call!(api, cuMemFreeHost, self.pointer().cast::<c_void>());
        }
    }
}

/// A place in a stream.
pub(super) struct Event {
    context: Arc<Context>,
    handle: Handle,
}

impl Event {
    pub fn new(context: &Arc<Context>, flags: c_uint) -> Result<Event, Fault> {
        let api = context.enter()?;
        let handle = get!(api, cuEventCreate, ptr::null_mut::<c_void>(), flags)?;
        Ok(Event {
            context: context.clone(),
            handle: Handle(handle.expose_provenance()),
        })
    }

    pub fn pointer(&self) -> *mut c_void {
        self.handle.pointer()
    }

    pub fn record(&self, stream: *mut c_void) -> Result<(), Fault> {
        let api = self.context.enter()?;
        call!(api, cuEventRecord, self.pointer(), stream)
    }

    pub fn wait(&self) -> Result<(), Fault> {
        let api = self.context.enter()?;
        call!(api, cuEventSynchronize, self.pointer())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(api) = self.context.enter() {
            // The driver keeps it as long as work waits for it.
            let _ = call!(api, cuEventDestroy_v2, self.pointer());
        }
    }
}

/// A copy under way. Its stage is given back, or freed, only when the copy is done.
pub(super) struct Copying {
    event: Event,
    stream: Handle,
    stage: Option<Box<dyn Pinned>>,
}

impl Copying {
    /// To the device.
    pub fn send(
        context: &Arc<Context>,
        stage: Box<dyn Pinned>,
        bytes: usize,
        to: u64,
        stream: Handle,
    ) -> Result<Copying, Fault> {
        let copying = Copying::new(context, stage, bytes, stream)?;
        let from = copying.bytes().as_ptr().cast::<c_void>();
        let api = context.enter()?;
        // The stage has so many bytes, and lives until the event behind the copy.
        call!(api, cuMemcpyHtoDAsync_v2, to, from, bytes, stream.pointer())?;
        copying.recorded()
    }

    /// From the device.
    pub fn receive(
        context: &Arc<Context>,
        from: u64,
        bytes: usize,
        stage: Box<dyn Pinned>,
        stream: Handle,
    ) -> Result<Copying, Fault> {
        let mut copying = Copying::new(context, stage, bytes, stream)?;
        let to = match &mut copying.stage {
            Some(stage) => stage.bytes_mut().as_mut_ptr().cast::<c_void>(),
            None => ptr::null_mut(),
        };
        let api = context.enter()?;
        // As above.
        call!(api, cuMemcpyDtoHAsync_v2, to, from, bytes, stream.pointer())?;
        copying.recorded()
    }

    fn new(
        context: &Arc<Context>,
        stage: Box<dyn Pinned>,
        bytes: usize,
        stream: Handle,
    ) -> Result<Copying, Fault> {
        let room = stage.bytes().len();
        if bytes > room {
            return Err(Fault::Failed {
                what: format!("{bytes} bytes do not fit a stage of {room}"),
            });
        }
        Ok(Copying {
            event: Event::new(context, driver::UNTIMED)?,
            stream,
            stage: Some(stage),
        })
    }

    fn bytes(&self) -> &[u8] {
        self.stage.as_ref().map_or(&[], |stage| stage.bytes())
    }

    fn recorded(self) -> Result<Copying, Fault> {
        self.event.record(self.stream.pointer())?;
        Ok(self)
    }
}

impl Flight for Copying {
    fn land(mut self: Box<Self>) -> Result<Box<dyn Pinned>, Fault> {
        self.event.wait()?;
        self.stage.take().ok_or_else(|| Fault::Failed {
            what: "a copy landed twice".to_owned(),
        })
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        // Also where the event was never recorded: the whole stream is waited for.
        if self.stage.is_some()
            && let Ok(api) = self.event.context.enter()
        {
            let _ = call!(api, cuStreamSynchronize, self.stream.pointer());
        }
    }
}
