//! From file to file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use minormajor_core::plan::ByteOrder;
use minormajor_core::{ArrayShape, ElementType, Layout};

use super::{ArrayMove, Compressor, Earlier, FileError, FilePlan, FileStrides, Forecast};
use crate::rules::Rules;
use crate::{ExtraMemory, Progress};

/// What to do with the input's arrays; `default()` moves them to the default layout, in
/// little-endian bytes.
///
/// ```
/// use minormajor::files::RelayoutOptions;
/// use minormajor::plan::ByteOrder;
/// use minormajor::rules::Rules;
/// use minormajor::{ElementType, Layout};
///
/// // Columns of big-endian halves.
/// let mut options = RelayoutOptions::default();
/// options.layout = Some(Layout::ascending(2));
/// options.element_type = Some(ElementType::F16);
/// options.output_order = Some(ByteOrder::Big);
///
/// // All matrices of a checkpoint transposed, and nothing else.
/// let mut options = RelayoutOptions::default();
/// options.rules = Rules::new(["*: OI -> IO".parse()?]);
/// # Ok::<(), minormajor::rules::RuleError>(())
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
    /// What becomes of arrays, by their names: the first rule that fits an array counts.
    pub rules: Rules,
    /// The layout of the arrays that no rule fits. If absent, they go to the default one, major
    /// to minor, where there are no rules, and keep their own where there are.
    pub layout: Option<Layout>,
    /// The type to convert the elements of all arrays to, as [`Plan::converting`] does; theirs if
    /// absent.
    ///
    /// [`Plan::converting`]: crate::Plan::converting
    pub element_type: Option<ElementType>,
    /// The byte order to write. If absent, little where there are no rules, and each array's own
    /// where there are. A raw output that is big-endian has no shape file, since a shape's text
    /// can't say so.
    pub output_order: Option<ByteOrder>,
    /// Where the elements of a raw output shall lie, in place of a layout. What lies between them
    /// is zero, and the output has no shape file.
    pub output_strides: Option<FileStrides>,
    /// Sizes of the chunks of a `.zarr` output, one a dimension, for the arrays of as many
    /// dimensions whose layout has no tile; those of the input, or ones of at most 8 MiB, if
    /// absent.
    pub chunks: Option<Vec<u64>>,
    /// Sizes of the shards of a `.zarr` output, one a dimension, for the arrays that `chunks` is for:
    /// a shard is a file of many chunks, whose sizes divide its own. If absent, every chunk is a file,
    /// unless the input has shards of the same size.
    pub shards: Option<Vec<u64>>,
    /// What the chunks of a `.zarr` output are compressed with; as in the input if absent, and with
    /// Zstandard where that has no chunks.
    pub compressor: Option<Compressor>,
    /// Threads to run on; as many as the machine runs at once if absent.
    pub threads: Option<usize>,
    /// The most bytes of heap to take, for all arrays together;
    /// [`DEFAULT_MEMORY`](super::DEFAULT_MEMORY) if absent. The more, the longer the runs that
    /// are read and written at once.
    pub memory: Option<usize>,
    /// Whether to go on with what an earlier run of the same input and options left when it was
    /// killed. Where there is nothing, the run begins at the beginning.
    pub resume: bool,
    /// After so many bytes of output what is done is put on the disk, and can be gone on with; and
    /// the output is on the disk before it gets its name. If absent, that is so every ten seconds,
    /// and runs that take less leave it to the system, as a copy does: when they are killed, they
    /// begin anew.
    pub sync_bytes: Option<u64>,
    /// Whether to read input and output again before the output gets its name, and compare every
    /// element; checksums that the input has are checked too.
    pub verify: bool,
}

/// What was moved.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RelayoutReport {
    /// The file that was written; of a set of files, its index.
    pub output: PathBuf,
    /// The arrays, in the input's order.
    pub arrays: Vec<ArrayMove>,
    /// Names of the input's metadata, where the output's format has no place for it.
    pub metadata_lost: Vec<String>,
    /// The most memory that was taken, beside mapped files.
    pub extra: ExtraMemory,
    /// Bytes read from the input's arrays.
    pub bytes_read: u64,
    /// Bytes written to the output's arrays, padding included.
    pub bytes_written: u64,
    /// What became of what an earlier run left that was cut short.
    pub earlier: Earlier,
    /// What was expected of the move.
    pub forecast: Forecast,
    /// Time that the move took, from file to file.
    pub moving: Duration,
    /// Time that everything took, from opening the input to the output under its name.
    pub elapsed: Duration,
}

/// Moves the arrays of one file to other layouts in a new file. The names' endings say the
/// formats. [`FilePlan`] says before what it will do.
///
/// The arrays stream through the memory that is allowed, whatever their sizes. Arrays that can't
/// be cut into blocks (strided ones, layouts whose end is aligned, more padding than memory) are
/// mapped instead, and their mapped bytes are not counted. The output is written beside its
/// place and renamed once it is whole, so on any error there is no new file, and
/// what stood there stays. It is on the disk then where the run took long or where
/// [`sync_bytes`](RelayoutOptions::sync_bytes) asks for it. A raw output's shape file is replaced with it: first the old shape
/// goes, then the new array comes, then its shape, so that an array never stands beside another
/// one's shape. The same holds for a set of files and its index.
///
/// While it is written, the file is `.NAME.minormajor-part` and locked: a second run of the same
/// output is an error. A run that is killed leaves it, and the next one replaces it, or goes on
/// with it if it shall [`resume`](RelayoutOptions::resume). Inputs that change while they are
/// read are an error at the end.
///
/// `progress` is told the bytes of the output's arrays that are done, and their total.
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
/// assert_eq!(report.arrays[0].destination.to_string(), "u8[2,3]{0,1}");
/// assert!(std::fs::read(&columns)?.ends_with(b"adbecf"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn relayout_file(
    input: impl AsRef<Path>,
    output: impl AsRef<Path>,
    options: &RelayoutOptions,
    progress: Progress<'_>,
) -> Result<RelayoutReport, FileError> {
    FilePlan::new(input, output, options)?.run(progress)
}
