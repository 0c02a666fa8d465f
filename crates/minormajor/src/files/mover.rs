//! How an array gets from one open file into another: block by block, or through maps.

use std::fs::File;
use std::path::Path;

use minormajor_core::Plan;
use minormajor_core::plan::ByteOrders;
use minormajor_core::stream::StreamError;
use minormajor_kernels::MappedFile;

use super::error::{FileError, io_error};
use super::output::Output;
use super::stream::Streaming;
use super::{Array, RelayoutOptions};
use crate::memory::{FILE_HEAP, PLANNED_HEAP};
use crate::{ExtraMemory, Progress, Relayout, RunError};

/// The memory that a relayout of files takes at most where nobody says another bound, in bytes.
pub const DEFAULT_MEMORY: usize = 256 << 20;

/// An array's bytes in an open file.
pub(super) struct FilePlace<'a> {
    pub path: &'a Path,
    pub file: &'a File,
    /// The byte of the file at which the array begins.
    pub offset: u64,
}

/// A relayout from file to file, made ready.
pub(super) enum Mover {
    /// Block by block, through buffers.
    Streamed(Box<Streaming>, ExtraMemory),
    /// Arrays that are not cut into blocks, or not into small ones: strided ones, those of rare
    /// layouts, and those with more padding than memory. Both files are mapped.
    Mapped(Box<Relayout>, ExtraMemory),
}

impl Mover {
    /// Chooses a way that keeps the bound on memory.
    pub fn new(
        source: &Array,
        destination: &Array,
        orders: ByteOrders,
        plan: &Plan,
        options: &RelayoutOptions,
    ) -> Result<Mover, RunError> {
        let limit = options.memory.unwrap_or(DEFAULT_MEMORY);
        let own = FILE_HEAP + (plan.boxes().len() + plan.fills().len()) * PLANNED_HEAP;
        let left = limit.saturating_sub(own);
        // What the parts take, and the whole then says.
        let with_own = |extra: ExtraMemory| ExtraMemory {
            heap: own + extra.heap,
            ..extra
        };
        let told = |error| match error {
            RunError::Memory { least, .. } => RunError::Memory {
                limit,
                least: own + least,
            },
            error => error,
        };
        let threads = options.threads.unwrap_or(0);
        if let (Some(from), Some(to)) = (source.in_layout(), destination.in_layout()) {
            match Streaming::new(from, to, orders, left, threads) {
                Ok(streaming) => {
                    let extra = with_own(streaming.extra_memory());
                    return Ok(Mover::Streamed(Box::new(streaming), extra));
                }
                Err(StreamError::TooLittle { least, .. }) if options.memory.is_some() => {
                    return Err(told(RunError::Memory {
                        limit,
                        least: least as usize,
                    }));
                }
                // Said to be of one array, so of a layout that is not cut, or not enough.
                Err(_) => {}
            }
        }
        let relayout = Relayout::new(plan)?.threads(threads);
        let relayout = match options.memory {
            None => relayout,
            Some(_) => relayout.memory_limit(left).map_err(told)?,
        };
        let extra = with_own(relayout.extra_memory());
        match options.memory {
            Some(limit) if limit < extra.heap => Err(RunError::Memory {
                limit,
                least: extra.heap,
            }),
            _ => Ok(Mover::Mapped(Box::new(relayout), extra)),
        }
    }

    /// The most memory that it takes, beside mapped files.
    pub fn extra_memory(&self) -> ExtraMemory {
        match self {
            Mover::Streamed(_, extra) | Mover::Mapped(_, extra) => *extra,
        }
    }

    /// Moves the array.
    pub fn run(
        &self,
        source: &FilePlace<'_>,
        destination: &FilePlace<'_>,
        output: &Output,
        progress: Progress<'_>,
    ) -> Result<(), FileError> {
        match self {
            Mover::Streamed(streaming, _) => streaming.run(source, destination, progress),
            Mover::Mapped(relayout, _) => {
                let mapped = MappedFile::open_read(source.file)
                    .map_err(io_error(source.path, "map it into memory"))?;
                let mut map = output.map()?;
                let data = &mut map[destination.offset as usize..];
                relayout
                    .run_with_progress(&mapped[source.offset as usize..], data, progress)
                    .map_err(|error| FileError::Run {
                        path: source.path.to_owned(),
                        source: error,
                    })?;
                // Some systems rename no file that is mapped: the map is gone at the end.
                map.flush()
                    .map_err(io_error(destination.path, "write it to the disk"))
            }
        }
    }
}
