//! From file to file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use minormajor_core::plan::{ByteOrder, ByteOrders};
use minormajor_core::{ArrayShape, ElementType, Layout, Plan, ShapeError};

use super::array::Within;
use super::input::{open, open_array};
use super::mover::{FilePlace, Mover};
use super::output::{Output, directory_of};
use super::{
    Array, Contents, FileError, FileStrides, Input, Kind, check_holds, format_of, order_of,
};
use crate::{ExtraMemory, Progress};

/// What to do with the input's array; `default()` moves it to the default layout, in
/// little-endian bytes.
///
/// ```
/// use minormajor::files::RelayoutOptions;
/// use minormajor::plan::ByteOrder;
/// use minormajor::{ElementType, Layout};
///
/// // Columns of big-endian halves.
/// let mut options = RelayoutOptions::default();
/// options.layout = Some(Layout::ascending(2));
/// options.element_type = Some(ElementType::F16);
/// options.output_order = ByteOrder::Big;
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RelayoutOptions {
    /// The shape of a raw input that has none beside it. For an input that says its shape it
    /// must be the same.
    pub input_shape: Option<ArrayShape>,
    /// The type of opaque elements, such as NumPy's `V2`, which bf16 of ml_dtypes is saved as. It
    /// must be as wide as they are; elements whose type the file says must be of it.
    pub input_type: Option<ElementType>,
    /// The byte order of a raw input; little if absent. For an input that says its order it must
    /// be the same.
    pub input_order: Option<ByteOrder>,
    /// Where the elements of a raw input lie, in place of its shape's layout.
    pub input_strides: Option<FileStrides>,
    /// The layout to move to; the default one, major to minor, if absent.
    pub layout: Option<Layout>,
    /// The type to convert the elements to, as [`Plan::converting`] does; theirs if absent.
    pub element_type: Option<ElementType>,
    /// The byte order to write; little by default. A raw output that is big-endian has no shape
    /// file, since a shape's text can't say so.
    pub output_order: ByteOrder,
    /// Where the elements of a raw output shall lie, in place of a layout. What lies between them
    /// is zero, and the output has no shape file.
    pub output_strides: Option<FileStrides>,
    /// Threads to run on; as many as the machine runs at once if absent.
    pub threads: Option<usize>,
    /// The most bytes of heap to take; [`DEFAULT_MEMORY`](super::DEFAULT_MEMORY) if absent. The
    /// more, the longer the runs that are read and written at once.
    pub memory: Option<usize>,
}

/// What was moved.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RelayoutReport {
    /// The file that was written.
    pub output: PathBuf,
    /// The shape of the array in the input; without a layout if it had strides of its own.
    pub source: ArrayShape,
    /// The shape of the array in the output; without a layout if it has strides of its own.
    pub destination: ArrayShape,
    /// Names of the input's metadata, where the output's format has no place for it.
    pub metadata_lost: Vec<String>,
    /// The byte orders of both; little where elements have one byte.
    pub orders: ByteOrders,
    /// How it was moved.
    pub plan: Plan,
    /// The most memory that was taken, beside mapped files.
    pub extra: ExtraMemory,
    /// Bytes read from the input's array.
    pub bytes_read: u64,
    /// Bytes written to the output's array, padding included.
    pub bytes_written: u64,
    /// Time that the move took, from file to file.
    pub moving: Duration,
    /// Time that everything took, from opening the input to the output on disk under its name.
    pub elapsed: Duration,
}

/// Moves the array of one file to another layout in a new file. The names' endings say the
/// formats.
///
/// The array streams through the memory that is allowed, whatever its size. Arrays that can't be
/// cut into blocks (strided ones, layouts whose end is aligned, more padding than memory) are
/// mapped instead, and their mapped bytes are not counted. The output is written beside its
/// place and renamed once it is whole and on disk, so on any error there is no new file, and
/// what stood there stays. A raw output's shape file is replaced with it: first the old shape
/// goes, then the new array comes, then its shape, so that an array never stands beside another
/// one's shape.
///
/// `progress` is told the bytes of the output's array that are done, and their total.
///
/// # Errors
///
/// [`FileError`], on one line, with the cause and a remedy.
///
/// ```
/// use minormajor::files::{relayout_file, npy, RelayoutOptions};
/// use minormajor::plan::ByteOrder;
/// use minormajor::{ElementType, Layout};
///
/// let directory = tempfile::tempdir()?;
/// let (rows, columns) = (directory.path().join("rows.npy"), directory.path().join("columns.npy"));
/// let mut bytes = npy::header(ElementType::U8, ByteOrder::Little, &[2, 3], false).unwrap();
/// bytes.extend(b"abcdef");
/// std::fs::write(&rows, bytes)?;
///
/// let mut options = RelayoutOptions::default();
/// options.layout = Some(Layout::ascending(2));
/// let report = relayout_file(&rows, &columns, &options, &|_, _| {})?;
/// assert_eq!(report.destination.to_string(), "u8[2,3]{0,1}");
/// assert!(std::fs::read(&columns)?.ends_with(b"adbecf"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn relayout_file(
    input: impl AsRef<Path>,
    output: impl AsRef<Path>,
    options: &RelayoutOptions,
    progress: Progress<'_>,
) -> Result<RelayoutReport, FileError> {
    move_file(input.as_ref(), output.as_ref(), options, progress)
}

fn move_file(
    input: &Path,
    output: &Path,
    options: &RelayoutOptions,
    progress: Progress<'_>,
) -> Result<RelayoutReport, FileError> {
    let started = Instant::now();
    let file = open(input)?;
    let input_format = format_of(input)?;
    let output_format = format_of(output)?;
    Output::check(output, input)?;

    let mut bytes = &file;
    let mut from = Input::new(input, &mut bytes)?;
    from.given = options.input_shape.as_ref();
    from.order = options.input_order;
    from.strides = options.input_strides.as_ref();
    let mut contents = input_format.read(&mut from)?;
    if let Some(element_type) = options.input_type {
        contents.name_opaque(input, element_type)?;
    }
    let [array] = &contents.arrays[..] else {
        return Err(FileError::NotOneArray {
            path: input.to_owned(),
            found: contents.arrays.len(),
        });
    };
    let opened = open_array(input, array, directory_of(output))?;
    let target = target(input, output, array, options)?;
    let failed = |error| FileError::Plan {
        path: input.to_owned(),
        source: Box::new(error),
    };
    let orders = ByteOrders {
        source: array.order,
        destination: target.order,
    };
    let plan = Plan::converting(array.place(), target.place(), orders).map_err(failed)?;
    let mover =
        Mover::new(array, &target, orders, &plan, options).map_err(|source| FileError::Run {
            path: output.to_owned(),
            source,
        })?;

    let metadata_lost = match output_format.holds_metadata() {
        true => Vec::new(),
        false => contents
            .metadata
            .iter()
            .map(|(name, _)| name.clone())
            .collect(),
    };
    let target = Contents {
        arrays: vec![target],
        metadata: contents.metadata,
    };
    check_holds(output_format, output, &target)?;
    let frame = output_format.frame(output, &target)?;
    let [target] = &target.arrays[..] else {
        unreachable!("one array is moved")
    };
    let file = Output::create(output, &frame)?;
    let moving = Instant::now();
    let (from, to) = (
        FilePlace {
            path: input,
            file: &opened,
            offset: array.offset,
        },
        FilePlace {
            path: output,
            file: file.file(),
            offset: frame.offsets[0],
        },
    );
    mover.run(&from, &to, &file, progress)?;
    let moving = moving.elapsed();
    file.write_checksums(&frame)?;
    file.commit()?;
    Ok(RelayoutReport {
        output: output.to_owned(),
        extra: mover.extra_memory(),
        bytes_read: plan.bytes_read() as u64,
        bytes_written: plan.bytes_written() as u64,
        source: array.described(),
        destination: target.described(),
        metadata_lost,
        orders,
        plan,
        moving,
        elapsed: started.elapsed(),
    })
}

/// The array in the output.
fn target(
    input: &Path,
    output: &Path,
    array: &Array,
    options: &RelayoutOptions,
) -> Result<Array, FileError> {
    let source = &array.elements();
    let element_type = options.element_type.unwrap_or(source.element_type());
    let kind = match (&array.kind, options.element_type) {
        (Kind::Opaque { .. }, Some(to)) => {
            return Err(FileError::Opaque {
                path: input.to_owned(),
                found: array.type_name(),
                to,
            });
        }
        (_, Some(_)) => Kind::Named,
        (kind, None) => kind.clone(),
    };
    let refused = |error: ShapeError| FileError::Shape {
        path: input.to_owned(),
        source: Box::new(error),
    };
    let source = &source.with_element_type(element_type).map_err(refused)?;
    let (shape, view) = match &options.output_strides {
        Some(strides) => (source.clone(), Some(strides.view(output, source)?)),
        None => {
            let layout = options
                .layout
                .clone()
                .unwrap_or_else(|| Layout::descending(source.rank()));
            let text = layout.to_string();
            let shape = source
                .with_layout(layout)
                .map_err(|error| FileError::Layout {
                    path: input.to_owned(),
                    shape: Box::new(source.clone()),
                    layout: text,
                    source: Box::new(error),
                })?;
            (array.with_elements(shape).map_err(refused)?, None)
        }
    };
    Ok(Array {
        name: array.name.clone(),
        shape,
        kind,
        within: Within::TheFile,
        offset: 0,
        view,
        order: order_of(element_type, Some(options.output_order)),
    })
}
