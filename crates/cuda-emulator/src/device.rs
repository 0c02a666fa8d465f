//! The device: queues that run as late as they may, so that nobody can forget to wait.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use minormajor_cuda::driver::{Driver, Fault, Flight, Pinned, Queue};
use minormajor_cuda::launch::{Card, Launch};
use minormajor_cuda::product::Product;

use crate::kernels::{Counts, Watch};
use crate::memory::Memory;
use crate::product;

/// An emulated device; clones are the same one.
#[derive(Clone)]
pub struct Emulator {
    state: Arc<Mutex<State>>,
}

/// How a device is made.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Bytes of memory.
    pub memory: u64,
    /// What is watched in kernels.
    pub watch: Watch,
    /// Whether there is a library of matrix products.
    pub products: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory: 1 << 30,
            watch: Watch {
                writers: true,
                ..Watch::default()
            },
            products: true,
        }
    }
}

/// The host's memory of a copy under way.
type Stage = Arc<Mutex<Option<Box<dyn Pinned>>>>;

enum Work {
    Launch(Launch),
    Product(Product),
    Zero(u64, u64),
    Free(u64),
    Send(Stage, usize, u64),
    Receive(u64, usize, Stage),
    /// Uploads up to this number come first.
    Join(u64),
}

#[derive(Default)]
struct Line {
    work: VecDeque<Work>,
    /// How many were ever queued, and done.
    queued: u64,
    done: u64,
}

struct State {
    options: Options,
    memory: Memory,
    lines: [Line; 2],
    /// What went wrong in work that nobody waited for yet.
    fault: Option<Fault>,
    counts: Counts,
    launched: Vec<String>,
}

impl Emulator {
    /// A device.
    pub fn new(options: Options) -> Emulator {
        Emulator {
            state: Arc::new(Mutex::new(State {
                options,
                memory: Memory::default(),
                lines: Default::default(),
                fault: None,
                counts: Counts::default(),
                launched: Vec::new(),
            })),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What kernels asked of memory so far, where that is watched.
    pub fn counts(&self) -> Counts {
        self.state().counts
    }

    /// The kernels that ran since the last call.
    pub fn take_launched(&self) -> Vec<String> {
        std::mem::take(&mut self.state().launched)
    }

    /// Allocations that are not given back, when all work is done.
    pub fn allocations(&self) -> usize {
        let mut state = self.state();
        state.run_all();
        state.memory.count()
    }
}

impl State {
    fn queue(&mut self, queue: Queue, work: Work) -> u64 {
        let line = &mut self.lines[queue as usize];
        line.work.push_back(work);
        line.queued += 1;
        line.queued
    }

    /// Runs a queue until so much of it is done.
    fn run(&mut self, queue: Queue, until: u64) {
        while self.lines[queue as usize].done < until {
            let Some(work) = self.lines[queue as usize].work.pop_front() else {
                return;
            };
            if let Err(what) = self.work(work) {
                self.fault.get_or_insert(Fault::Failed { what });
            }
            self.lines[queue as usize].done += 1;
        }
    }

    fn run_all(&mut self) {
        for queue in [Queue::Main, Queue::Uploads] {
            self.run(queue, self.lines[queue as usize].queued);
        }
    }

    fn work(&mut self, work: Work) -> Result<(), String> {
        match work {
            Work::Launch(launch) => {
                let counts = self.memory.launch(&launch, self.options.watch)?;
                self.counts.add(&counts);
                self.launched.push(launch.kernel.into_owned());
            }
            Work::Product(made) => product::run(&mut self.memory, &made)?,
            Work::Zero(address, bytes) => self.memory.bytes(address, bytes)?.fill(0),
            Work::Free(address) => {
                if !self.memory.free(address) {
                    return Err(format!("nothing to free at {address:#x}"));
                }
            }
            Work::Send(stage, bytes, to) => {
                let stage = stage.lock().unwrap_or_else(PoisonError::into_inner);
                let from = stage.as_ref().ok_or("a stage is gone")?.bytes();
                let to = self.memory.bytes(to, bytes as u64)?;
                to.copy_from_slice(&from[..bytes]);
            }
            Work::Receive(from, bytes, stage) => {
                let mut stage = stage.lock().unwrap_or_else(PoisonError::into_inner);
                let to = stage.as_mut().ok_or("a stage is gone")?.bytes_mut();
                to[..bytes].copy_from_slice(self.memory.bytes(from, bytes as u64)?);
            }
            Work::Join(until) => self.run(Queue::Uploads, until),
        }
        Ok(())
    }

    fn ended(&mut self) -> Result<(), Fault> {
        self.fault.take().map_or(Ok(()), Err)
    }
}

#[derive(Debug)]
struct Host(Vec<u8>);

impl Pinned for Host {
    fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

struct Copying {
    device: Emulator,
    queue: Queue,
    number: u64,
    stage: Stage,
}

impl Flight for Copying {
    fn land(self: Box<Self>) -> Result<Box<dyn Pinned>, Fault> {
        let mut state = self.device.state();
        state.run(self.queue, self.number);
        state.ended()?;
        let stage = self
            .stage
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        stage.ok_or_else(|| Fault::Failed {
            what: "a copy landed twice".to_owned(),
        })
    }
}

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an emulated device")
    }
}

impl Driver for Emulator {
    fn card(&self) -> Card {
        // Few blocks, so that each goes through many work items.
        Card { multiprocessors: 2 }
    }

    fn ordinal(&self) -> usize {
        0
    }

    fn description(&self) -> String {
        "CUDA kernels on the host's processor".to_owned()
    }

    fn free_bytes(&self) -> Option<u64> {
        let state = self.state();
        Some(state.options.memory.saturating_sub(state.memory.used()))
    }

    fn allocate(&self, _: Queue, bytes: u64) -> Result<u64, Fault> {
        let mut state = self.state();
        if state.memory.used().saturating_add(bytes) > state.options.memory {
            // What is freed in the queues may be enough.
            state.run_all();
        }
        if state.memory.used().saturating_add(bytes) > state.options.memory {
            return Err(Fault::OutOfMemory { bytes });
        }
        Ok(state.memory.allocate(bytes))
    }

    fn free(&self, address: u64) {
        self.state().queue(Queue::Main, Work::Free(address));
    }

    fn zero(&self, address: u64, bytes: u64) -> Result<(), Fault> {
        self.state().queue(Queue::Main, Work::Zero(address, bytes));
        Ok(())
    }

    fn pinned(&self, bytes: usize) -> Result<Box<dyn Pinned>, Fault> {
        Ok(Box::new(Host(vec![0; bytes])))
    }

    fn send(
        &self,
        stage: Box<dyn Pinned>,
        bytes: usize,
        to: u64,
    ) -> Result<Box<dyn Flight>, Fault> {
        let stage: Stage = Arc::new(Mutex::new(Some(stage)));
        let work = Work::Send(stage.clone(), bytes, to);
        let number = self.state().queue(Queue::Uploads, work);
        Ok(Box::new(Copying {
            device: self.clone(),
            queue: Queue::Uploads,
            number,
            stage,
        }))
    }

    fn receive(
        &self,
        from: u64,
        bytes: usize,
        stage: Box<dyn Pinned>,
    ) -> Result<Box<dyn Flight>, Fault> {
        let stage: Stage = Arc::new(Mutex::new(Some(stage)));
        let work = Work::Receive(from, bytes, stage.clone());
        let number = self.state().queue(Queue::Main, work);
        Ok(Box::new(Copying {
            device: self.clone(),
            queue: Queue::Main,
            number,
            stage,
        }))
    }

    fn join_uploads(&self) -> Result<(), Fault> {
        let mut state = self.state();
        let until = state.lines[Queue::Uploads as usize].queued;
        state.queue(Queue::Main, Work::Join(until));
        Ok(())
    }

    fn launch(&self, launch: &Launch) -> Result<(), Fault> {
        let work = Work::Launch(launch.clone());
        self.state().queue(Queue::Main, work);
        Ok(())
    }

    fn product(&self, product: &Product) -> Result<(), Fault> {
        let mut state = self.state();
        if !state.options.products {
            return Err(Fault::Missing {
                what: "cuBLAS".to_owned(),
            });
        }
        state.queue(Queue::Main, Work::Product(*product));
        Ok(())
    }

    fn holds(&self, address: u64) -> bool {
        self.state().memory.bytes(address, 1).is_ok()
    }

    fn settle(&self) -> Result<(), Fault> {
        self.synchronize()
    }

    fn synchronize(&self) -> Result<(), Fault> {
        let mut state = self.state();
        state.run_all();
        state.ended()
    }
}
