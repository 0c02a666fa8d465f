//! From memory to file.

use std::path::Path;

use minormajor_core::plan::{ByteOrder, ByteOrders, PlanClass};
use minormajor_core::{ArrayShape, Place, Plan, StridedView};

use super::at::write_all_at;
use super::error::{FileError, no_room};
use super::journal::Work;
use super::npy::NpyError;
use super::output::Output;
use super::outputs::Outputs;
use super::plan::{check_chunks, check_packs};
use super::target::Paths;
use super::{Array, Contents, DEFAULT_MEMORY, Kind, RelayoutOptions, check_holds, format_of, npy};
use crate::Relayout;

/// An array in memory that is to be written to a file.
#[derive(Clone, Debug)]
pub struct MemoryArray<'a> {
    array: Array,
    bytes: &'a [u8],
}

impl<'a> MemoryArray<'a> {
    /// The elements at strides, or in a layout, of these bytes.
    pub fn new<'p>(
        name: impl Into<String>,
        place: impl Into<Place<'p>>,
        order: ByteOrder,
        bytes: &'a [u8],
    ) -> MemoryArray<'a> {
        let place = place.into();
        let (shape, view) = match place {
            Place::Array(shape) => (shape.clone(), None),
            Place::Strided(view) => (shape_of(view), Some(view.clone())),
        };
        // Who has an array knows its type, so that formats may hold it that do not say it.
        let array = Array {
            kind: Kind::Named,
            view,
            ..Array::new(name.into(), shape, order, 0)
        };
        MemoryArray { array, bytes }
    }

    /// Elements that have no name in XLA, as NumPy describes them: `'<M8[ns]'`, in Python's quotes, or the
    /// list of a structured type. The place is one of bytes, `u8`, with those of an element along the last
    /// dimension.
    ///
    /// # Errors
    ///
    /// [`NpyError::DataType`] for a description of nothing that a file can hold.
    pub fn opaque(
        name: impl Into<String>,
        place: &StridedView,
        descr: &str,
        bytes: &'a [u8],
    ) -> Result<MemoryArray<'a>, NpyError> {
        let width = place.sizes().last().map_or(0, |&bytes| bytes as u64);
        let order = npy::order_of_descr(descr, width)?;
        let mut made = MemoryArray::new(name, place, ByteOrder::Little, bytes);
        made.array.kind = Kind::Opaque {
            descr: descr.to_owned(),
            order,
        };
        Ok(made)
    }
}

/// A view's type and sizes, in the default layout.
fn shape_of(view: &StridedView) -> ArrayShape {
    ArrayShape::new(view.element_type(), view.sizes().iter().copied())
        .and_then(|shape| shape.with_default_layout())
        .expect("a view's sizes were checked where it was made")
}

/// Writes arrays in memory to a new file; its name's ending says the format. What becomes of them is
/// what [`relayout_file`](super::relayout_file) with these options makes of the same arrays in a file, and
/// the output is as safe: whole under its name, or not there. Of the options those about the input, and
/// about going on with an earlier run, have no meaning here.
///
/// The bytes are written straight from where they are, or moved to their place in the mapped output.
/// Returns the shapes in the file, without a layout where the options ask for strides.
///
/// # Errors
///
/// [`FileError`], on one line, with the cause and a remedy.
///
/// ```
/// use minormajor::files::{MemoryArray, RelayoutOptions, save_arrays};
/// use minormajor::plan::ByteOrder;
/// use minormajor::{ElementType, Layout, StridedView};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("x.npz");
/// // Two columns of three rows.
/// let view = StridedView::new(ElementType::U8, &[3, 2], &[3, 1], 0)?;
/// let array = MemoryArray::new("x", &view, ByteOrder::Little, b"ab.cd.ef");
/// let mut options = RelayoutOptions::default();
/// options.layout = Some(Layout::ascending(2));
/// let shapes = save_arrays(&path, &[array], &options)?;
/// assert_eq!(shapes[0].to_string(), "u8[3,2]{0,1}");
/// assert!(std::fs::read(&path)?.windows(6).any(|bytes| bytes == b"acebdf"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save_arrays(
    output: impl AsRef<Path>,
    arrays: &[MemoryArray<'_>],
    options: &RelayoutOptions,
) -> Result<Vec<ArrayShape>, FileError> {
    let output = output.as_ref();
    let format = format_of(output)?;
    check_chunks(format, output, options)?;
    Output::check(output, &[], format.is_folder())?;
    let paths = Paths {
        input: output,
        output,
    };
    let mut target = Contents::default();
    let mut plans = Vec::with_capacity(arrays.len());
    for given in arrays {
        let (_, from, mut to) = paths.target(given.array.clone(), options)?;
        format.fit(output, &mut to, options)?;
        let orders = ByteOrders {
            source: from.order,
            destination: to.order,
        };
        let plan = Plan::converting(from.place(), to.place(), orders);
        plans.push(plan.map_err(|source| FileError::Plan {
            path: output.to_owned(),
            array: from.name.as_str().into(),
            source: Box::new(source),
        })?);
        target.arrays.push(to);
    }
    check_holds(format, output, &target)?;
    let files = format.files(output, &target)?;
    for new in &files {
        Output::check(&new.path, &[], new.frame.pack.is_some())?;
        if let Some(pack) = &new.frame.pack {
            check_packs(&new.path, &**pack, options)?;
        }
    }
    let threads = options.threads.unwrap_or(0);
    let mut outputs = Outputs::create(&files, Work::new(0), false, None)?;
    for (new, file) in files.iter().zip(outputs.files()) {
        for (array, &offset) in new.arrays.clone().zip(&new.frame.offsets) {
            write(&plans[array], arrays[array].bytes, file, offset, threads)?;
        }
        file.write_checksums(&new.frame)?;
    }
    outputs.pack(&files, options.memory.unwrap_or(DEFAULT_MEMORY), threads)?;
    outputs.commit()?;
    Ok(target.arrays.iter().map(Array::described).collect())
}

/// Writes an array to its place in a file.
fn write(
    plan: &Plan,
    bytes: &[u8],
    file: &Output,
    offset: u64,
    threads: usize,
) -> Result<(), FileError> {
    let refused = |source| FileError::Run {
        path: file.path().to_owned(),
        source,
    };
    let length = plan.destination_bytes();
    let stays = plan.class() == PlanClass::Identity && plan.source_bytes() == length;
    if let Some(bytes) = bytes.get(..length as usize)
        && stays
    {
        return write_all_at(file.file(), bytes, offset)
            .map_err(no_room(file.path(), length as u64));
    }
    if length == 0 {
        return Ok(());
    }
    let relayout = Relayout::new(plan).map_err(refused)?.threads(threads);
    let mut map = file.map()?;
    relayout
        .run(bytes, &mut map[offset as usize..])
        .map_err(refused)
}
