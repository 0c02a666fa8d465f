//! Copies between host and device through pinned memory, in overlapped chunks.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use minormajor::{Plan, Relayout, Shape};

use crate::driver::{Driver, Fault, Flight, Pinned};

/// Bytes of a chunk: long enough for the link, short enough that the first and the last one, which
/// overlap with nothing, take little of the time.
pub(crate) const CHUNK: usize = 4 << 20;
/// Chunks that are under way before one is waited for.
const DEPTH: usize = 3;

/// Pinned memory that is used again and again.
pub(crate) struct Stages {
    /// The oldest first.
    stages: Mutex<VecDeque<Stage>>,
    /// A copy of a whole chunk, on several threads.
    copy: Option<Relayout>,
}

enum Stage {
    Ready(Box<dyn Pinned>),
    /// Its bytes may not be touched yet.
    Flying(Box<dyn Flight>),
}

impl Stages {
    pub fn new() -> Stages {
        // One thread copies slower than a link: the whole machine is used.
        let shape: Result<Shape, _> = format!("u8[{CHUNK}]").parse();
        let copy = shape.ok().and_then(|shape| {
            let array = shape.as_array().ok()?;
            Relayout::new(&Plan::new(array, array).ok()?).ok()
        });
        Stages {
            stages: Mutex::new(VecDeque::new()),
            copy,
        }
    }

    /// A stage that nobody uses.
    fn take(&self, driver: &dyn Driver) -> Result<Box<dyn Pinned>, Fault> {
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        let free = match stages.front() {
            Some(Stage::Flying(_)) if stages.len() < DEPTH => None,
            _ => stages.pop_front(),
        };
        drop(stages);
        match free {
            Some(Stage::Ready(stage)) => Ok(stage),
            Some(Stage::Flying(flight)) => flight.land(),
            None => driver.pinned(CHUNK),
        }
    }

    fn put(&self, stage: Stage) {
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        match stage {
            // Used first.
            Stage::Ready(_) => stages.push_front(stage),
            Stage::Flying(_) => stages.push_back(stage),
        }
    }

    fn copy(&self, from: &[u8], to: &mut [u8]) {
        let copied = match &self.copy {
            Some(copy) if from.len() == CHUNK => copy.run(from, to).is_ok(),
            _ => false,
        };
        if !copied {
            to.copy_from_slice(from);
        }
    }

    /// Copies bytes to an address that was allocated in the queue of uploads. They may change as
    /// soon as this returns; the main queue goes on when they are there.
    pub fn upload(&self, driver: &dyn Driver, bytes: &[u8], address: u64) -> Result<(), Fault> {
        let sent = (0..).zip(bytes.chunks(CHUNK)).try_for_each(|(n, chunk)| {
            let mut stage = self.take(driver)?;
            self.copy(chunk, &mut stage.bytes_mut()[..chunk.len()]);
            let to = address + n * CHUNK as u64;
            self.put(Stage::Flying(driver.send(stage, chunk.len(), to)?));
            Ok(())
        });
        // Also where one failed: the memory is given back behind those that were sent.
        let joined = driver.join_uploads();
        sent.and(joined)
    }

    /// Copies bytes from an address behind what is in the main queue, and waits for them.
    pub fn download(
        &self,
        driver: &dyn Driver,
        address: u64,
        into: &mut [u8],
    ) -> Result<(), Fault> {
        let mut flights = VecDeque::new();
        let mut from = address;
        for chunk in into.chunks_mut(CHUNK) {
            if flights.len() == DEPTH {
                self.land(&mut flights)?;
            }
            let stage = self.take(driver)?;
            let flight = driver.receive(from, chunk.len(), stage)?;
            from += chunk.len() as u64;
            flights.push_back((flight, chunk));
        }
        while !flights.is_empty() {
            self.land(&mut flights)?;
        }
        Ok(())
    }

    /// Waits for the oldest chunk and takes its bytes.
    fn land(&self, flights: &mut VecDeque<(Box<dyn Flight>, &mut [u8])>) -> Result<(), Fault> {
        if let Some((flight, chunk)) = flights.pop_front() {
            let stage = flight.land()?;
            self.copy(&stage.bytes()[..chunk.len()], chunk);
            self.put(Stage::Ready(stage));
        }
        Ok(())
    }
}
