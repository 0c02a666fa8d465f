//! What becomes of every array of a file, known before any of them is moved.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use minormajor_core::plan::ByteOrders;
use minormajor_core::{ArrayShape, Plan};

use super::format::{NewFile, Pack, names_folder};
use super::input::{open, open_bytes};
use super::inputs::Inputs;
use super::journal::Work;
use super::mover::{DEFAULT_MEMORY, FilePlace};
use super::output::Output;
use super::outputs::Outputs;
use super::queue::{Item, Queue};
use super::sources::Sources;
use super::target::Paths;
use super::verify::verify;
use super::{
    Array, Contents, FileError, Forecast, Format, Input, Kind, RelayoutOptions, RelayoutReport,
    check_holds, format_of,
};
use crate::memory::FILE_HEAP;
use crate::rules::UnusedRule;
use crate::{ExtraMemory, Progress, RunError};

/// What becomes of an array of a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ArrayMove {
    /// Its name, in both files.
    pub name: String,
    /// The rule that it fits, by its number from 0; `None` where none does.
    pub rule: Option<usize>,
    /// The array in the input; without a layout if it has strides of its own. Opaque elements are
    /// bytes, `u8`, along one more dimension, the last and most minor one.
    pub source: ArrayShape,
    /// The array in the output; without a layout if it has strides of its own. Its dimensions are
    /// in the order that the rule says.
    pub destination: ArrayShape,
    /// NumPy's description of opaque elements, as Python's text: `'<M8[ns]'`.
    pub opaque: Option<String>,
    /// The byte orders of both; little where elements have one byte.
    pub orders: ByteOrders,
    /// How it is moved. Arrays that are moved alike share one.
    pub plan: Arc<Plan>,
    /// About what it adds to the time of all, where both files lie in the system's cache; a disk
    /// that is slower takes as long as it takes.
    pub predicted: Duration,
}

/// A relayout of a file, planned: nothing is written before [`run`](FilePlan::run).
///
/// ```
/// use minormajor::files::{FilePlan, RelayoutOptions, npy};
/// use minormajor::plan::{ByteOrder, PlanClass};
/// use minormajor::rules::Rules;
/// use minormajor::ElementType;
///
/// let directory = tempfile::tempdir()?;
/// let (rows, turned) = (directory.path().join("rows.npy"), directory.path().join("turned.npy"));
/// let mut bytes = npy::header(ElementType::U8, ByteOrder::Little, &[2, 3], false).unwrap();
/// bytes.extend(b"abcdef");
/// std::fs::write(&rows, bytes)?;
///
/// let mut options = RelayoutOptions::default();
/// options.rules = Rules::new(["rows: OI -> IO".parse()?]);
/// let plan = FilePlan::new(&rows, &turned, &options)?;
/// assert_eq!(plan.arrays()[0].destination.to_string(), "u8[3,2]{1,0}");
/// assert_eq!(plan.arrays()[0].plan.class(), PlanClass::Permute);
/// plan.run(&|_, _| {})?;
/// assert!(std::fs::read(&turned)?.ends_with(b"adbecf"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FilePlan {
    started: Instant,
    input: PathBuf,
    /// Nothing of a folder.
    file: Option<File>,
    output: PathBuf,
    /// As they lie in the input, dimensions in their new order.
    sources: Vec<Array>,
    files: Vec<NewFile>,
    arrays: Vec<ArrayMove>,
    metadata_lost: Vec<String>,
    unused_rules: Vec<UnusedRule>,
    queue: Queue,
    targets: Vec<Array>,
    inputs: Inputs,
    options: RelayoutOptions,
}

impl FilePlan {
    /// Plans what [`relayout_file`](super::relayout_file) does with the same arguments: reads the
    /// input's headers, and checks whether the output can be made and its format can hold it.
    ///
    /// # Errors
    ///
    /// [`FileError`], on one line, with the cause and a remedy.
    pub fn new(
        input: impl AsRef<Path>,
        output: impl AsRef<Path>,
        options: &RelayoutOptions,
    ) -> Result<FilePlan, FileError> {
        FilePlan::of_paths(input.as_ref(), output.as_ref(), options)
    }

    fn of_paths(
        input: &Path,
        output: &Path,
        options: &RelayoutOptions,
    ) -> Result<FilePlan, FileError> {
        let started = Instant::now();
        let file = match names_folder(input) {
            true => None,
            false => Some(open(input)?),
        };
        let inputs = Inputs::new(input)?;
        let input_format = format_of(input)?;
        let output_format = format_of(output)?;
        check_chunks(output_format, output, options)?;
        Output::check(output, &[input], output_format.is_folder())?;

        let mut bytes = open_bytes(input)?;
        let mut from = Input::new(input, &mut *bytes)?;
        from.given = options.input_shape.as_ref();
        from.order = options.input_order;
        from.strides = options.input_strides.as_ref();
        let mut contents = input_format.read(&mut from)?;
        if let Some(element_type) = options.input_type {
            contents.name_opaque(input, element_type)?;
        }
        let mut metadata_lost: Vec<String> = match output_format.holds_metadata() {
            true => Vec::new(),
            false => contents
                .metadata
                .iter()
                .map(|(name, _)| name.clone())
                .collect(),
        };
        if !output_format.holds_notes() {
            let lost = contents.arrays.iter();
            metadata_lost.extend(
                lost.filter_map(|array| Some(format!("{} of {}", array.notes.lost()?, array.name))),
            );
        }
        let paths = Paths { input, output };
        let mut target = Contents {
            arrays: Vec::with_capacity(contents.arrays.len()),
            metadata: contents.metadata,
            index: contents.index,
            parts: contents.parts,
        };
        let ranks: Vec<usize> = contents
            .arrays
            .iter()
            .map(|array| array.elements().rank())
            .collect();
        let names = contents.arrays.iter().map(|array| &*array.name);
        let named: Vec<_> = names.zip(ranks).collect();
        let unused_rules = options.rules.unused(&named);
        let mut sources = Vec::with_capacity(contents.arrays.len());
        let mut found = Vec::with_capacity(contents.arrays.len());
        for array in contents.arrays {
            let described = array.described();
            let (rule, from, mut to) = paths.target(array, options)?;
            output_format.fit(output, &mut to, options)?;
            found.push((rule, described));
            sources.push(from);
            target.arrays.push(to);
        }
        check_holds(output_format, output, &target)?;

        let mut plans = HashMap::new();
        let mut arrays = Vec::with_capacity(sources.len());
        for ((rule, described), (from, to)) in
            found.into_iter().zip(sources.iter().zip(&target.arrays))
        {
            let orders = ByteOrders {
                source: from.order,
                destination: to.order,
            };
            let make = || {
                Plan::converting(from.place(), to.place(), orders)
                    .map(Arc::new)
                    .map_err(|error| FileError::Plan {
                        path: input.to_owned(),
                        array: from.name.as_str().into(),
                        source: Box::new(error),
                    })
            };
            let plan = match (from.in_layout(), to.in_layout()) {
                (Some(source), Some(destination)) => {
                    let key = (source.clone(), destination.clone(), orders);
                    match plans.get(&key) {
                        Some(plan) => Arc::clone(plan),
                        None => Arc::clone(plans.entry(key).or_insert(make()?)),
                    }
                }
                _ => make()?,
            };
            arrays.push(ArrayMove {
                name: from.name.clone(),
                rule,
                source: described,
                destination: to.described(),
                opaque: match &from.kind {
                    Kind::Opaque { descr, .. } => Some(descr.clone()),
                    _ => None,
                },
                orders,
                plan,
                predicted: Duration::ZERO,
            });
        }
        drop(plans);

        let files = output_format.files(output, &target)?;
        let paths = Sources::paths(input, &sources);
        for new in &files {
            Output::check(&new.path, &paths, new.frame.pack.is_some())?;
            if let Some(pack) = &new.frame.pack {
                check_packs(&new.path, &**pack, options)?;
            }
        }
        let inputs = inputs.and(&paths)?;
        let mut items = Vec::with_capacity(arrays.len());
        for (number, new) in files.iter().enumerate() {
            for (array, &offset) in new.arrays.clone().zip(&new.frame.offsets) {
                items.push(Item {
                    array,
                    file: number,
                    offset,
                });
            }
        }
        let queue =
            Queue::new(items, &sources, &target.arrays, &arrays, options).map_err(|source| {
                FileError::Run {
                    path: output.to_owned(),
                    source,
                }
            })?;
        for (array, predicted) in arrays.iter_mut().zip(queue.predicted()) {
            array.predicted = predicted;
        }
        Ok(FilePlan {
            started,
            input: input.to_owned(),
            file,
            output: output.to_owned(),
            sources,
            files,
            arrays,
            metadata_lost,
            unused_rules,
            queue,
            targets: target.arrays,
            inputs,
            options: options.clone(),
        })
    }

    /// The arrays, in the input's order.
    pub fn arrays(&self) -> &[ArrayMove] {
        &self.arrays
    }

    /// The rules that no array goes by: most are written by mistake.
    pub fn unused_rules(&self) -> &[UnusedRule] {
        &self.unused_rules
    }

    /// About how long it will take, where both files lie in the system's cache; a disk that is
    /// slower takes as long as it takes.
    pub fn predicted(&self) -> Duration {
        self.forecast().time
    }

    /// Names of the input's metadata that the output's format has no place for.
    pub fn metadata_lost(&self) -> &[String] {
        &self.metadata_lost
    }

    /// The files that will be written, the one that is named last: its set's files come before an
    /// index.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|new| &*new.path)
    }

    /// The most memory that it takes, beside mapped files.
    pub fn extra_memory(&self) -> ExtraMemory {
        let packs = self.files.iter().filter_map(|new| new.frame.pack.as_ref());
        let packing = packs.map(|pack| pack.heap() + FILE_HEAP).max();
        let verifying = self.options.verify.then(|| self.memory());
        let extra = self.queue.extra_memory();
        ExtraMemory {
            heap: extra.heap.max(packing.max(verifying).unwrap_or(0)),
            ..extra
        }
    }

    fn memory(&self) -> usize {
        self.options.memory.unwrap_or(DEFAULT_MEMORY)
    }

    fn threads(&self) -> usize {
        self.options.threads.unwrap_or(0)
    }

    /// What the run is expected to do.
    pub fn forecast(&self) -> Forecast {
        self.queue.forecast()
    }

    /// Bytes that are read from the input's arrays.
    pub fn bytes_read(&self) -> u64 {
        let bytes = self.arrays.iter().map(|array| array.plan.bytes_read());
        bytes.map(|bytes| bytes as u64).sum()
    }

    /// Bytes that are written to the output's arrays, padding included.
    pub fn bytes_written(&self) -> u64 {
        let bytes = self.arrays.iter().map(|array| array.plan.bytes_written());
        bytes.map(|bytes| bytes as u64).sum()
    }

    /// Moves the arrays: in one pass, in the order of the output's bytes.
    ///
    /// `progress` is told the bytes of the output's arrays that are done, and their total.
    ///
    /// # Errors
    ///
    /// [`FileError`]: what the system says, or deflated arrays that are damaged. There is no new
    /// file then, and what stood there stays.
    pub fn run(self, progress: Progress<'_>) -> Result<RelayoutReport, FileError> {
        let sources = Sources::open(&self.input, self.file.as_ref(), &self.output, &self.sources)?;
        let (resume, sync) = (self.options.resume, self.options.sync_bytes);
        let mut outputs = Outputs::create(&self.files, self.work(), resume, sync)?;
        let moving = Instant::now();
        sources.unpack_alone(self.memory(), self.threads())?;
        self.queue.run(&sources, &outputs, progress)?;
        let moving = moving.elapsed();
        for (output, new) in outputs.files().iter().zip(&self.files) {
            output.write_checksums(&new.frame)?;
        }
        if self.options.verify {
            self.verify(&outputs)?;
        }
        outputs.pack(&self.files, self.memory(), self.threads())?;
        self.inputs.check()?;
        let earlier = outputs.earlier();
        outputs.commit()?;
        Ok(RelayoutReport {
            bytes_read: self.bytes_read(),
            bytes_written: self.bytes_written(),
            extra: self.extra_memory(),
            earlier,
            forecast: self.forecast(),
            output: self.output,
            arrays: self.arrays,
            metadata_lost: self.metadata_lost,
            moving,
            elapsed: self.started.elapsed(),
        })
    }
}

/// Whether an output has chunks, where the options speak of them.
pub(super) fn check_chunks(
    format: &dyn Format,
    output: &Path,
    options: &RelayoutOptions,
) -> Result<(), FileError> {
    let of_chunks =
        options.chunks.is_some() || options.shards.is_some() || options.compressor.is_some();
    match of_chunks && !format.is_folder() {
        false => Ok(()),
        true => Err(FileError::NoChunks {
            path: output.to_owned(),
            format: format.extension(),
        }),
    }
}

/// Whether a folder's pieces can be made with the memory that is allowed.
pub(super) fn check_packs(
    path: &Path,
    pack: &dyn Pack,
    options: &RelayoutOptions,
) -> Result<(), FileError> {
    let limit = options.memory.unwrap_or(DEFAULT_MEMORY);
    let least = pack.heap() + FILE_HEAP;
    if least > limit {
        return Err(FileError::Run {
            path: path.to_owned(),
            source: RunError::Memory { limit, least },
        });
    }
    if path.is_dir() && !pack.is_one(path) {
        return Err(FileError::NotAFolder {
            path: path.to_owned(),
            found: "a folder of something else",
        });
    }
    Ok(())
}

impl FilePlan {
    /// What the run does: another run of the same words does the same, block by block.
    fn work(&self) -> Work {
        let mut work = Work::new(self.forecast().bytes_beside);
        self.inputs.say(&mut work);
        for new in &self.files {
            let name = new.path.file_name().unwrap_or_default().to_string_lossy();
            work.say(
                "output",
                format_args!("{name:?} {:08x}", new.frame.checksum()),
            );
        }
        let side = |array: &Array| match &array.view {
            Some(view) => format!("{view:?}"),
            None => format!("{} {}-endian", array.shape, array.order),
        };
        for (from, to) in self.sources.iter().zip(&self.targets) {
            let name = &from.name;
            work.say(
                "array",
                format_args!("{name:?} {} to {}", side(from), side(to)),
            );
        }
        self.queue.say(&mut work);
        work
    }

    /// Reads both sides again and compares them.
    fn verify(&self, outputs: &Outputs) -> Result<(), FileError> {
        outputs.forget()?;
        let sources = Sources::open(&self.input, self.file.as_ref(), &self.output, &self.sources)?;
        let memory = self.memory();
        let threads = self.threads();
        for (new, output) in self.files.iter().zip(outputs.files()) {
            for (array, &offset) in new.arrays.clone().zip(&new.frame.offsets) {
                let (from, to) = (&self.sources[array], &self.targets[array]);
                let source = sources.source(array)?;
                let source_place = FilePlace {
                    path: source.path(),
                    file: source.file(),
                    offset: from.offset,
                };
                let place = FilePlace {
                    path: output.path(),
                    file: output.file(),
                    offset,
                };
                verify((from, &source_place), (to, &place), memory, threads)?;
                drop(source);
                sources.done(array, 1);
            }
        }
        Ok(())
    }
}
