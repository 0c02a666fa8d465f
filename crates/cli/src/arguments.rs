//! The command line's arguments.

use std::error::Error as _;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use minormajor::ElementType;
use minormajor::files::Compressor;
use minormajor::plan::{ByteOrder, ByteOrders};

use crate::error::{RequestError, USAGE};
use crate::{help, memory};

/// Array shapes and memory layouts: where every element lies, and any layout to any other.
#[derive(Debug, Parser)]
#[command(name = "minormajor", version, max_term_width = 100, after_help = help::top())]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Whether to write in colour; auto means on a terminal, unless NO_COLOR is set
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t = ColorChoice::Auto,
        hide_possible_values = true
    )]
    pub color: ColorChoice,
}

impl Arguments {
    /// Reads the command line; one that is wrong, or asks for help, is answered here, and the exit
    /// code is what is left.
    pub fn read() -> Result<Arguments, ExitCode> {
        let line: Vec<OsString> = std::env::args_os().collect();
        // Errors have colours too, or not, and come before there are any arguments.
        let choice = color_choice(&line);
        set_color(choice);
        let mut command = Arguments::command().color(choice);
        let read = command
            .try_get_matches_from_mut(line)
            .and_then(|matches| Arguments::from_arg_matches(&matches));
        let arguments = read.map_err(|error| report(error.format(&mut command)))?;
        set_color(arguments.color);
        Ok(arguments)
    }
}

/// What `--color` says in a command line that may be wrong.
fn color_choice(line: &[OsString]) -> ColorChoice {
    let mut arguments = line.iter().map(|argument| argument.to_str().unwrap_or(""));
    let mut choice = ColorChoice::Auto;
    while let Some(argument) = arguments.next() {
        let value = match argument.strip_prefix("--color") {
            Some("") => arguments.next(),
            Some(value) => value.strip_prefix('='),
            None if argument == "--" => break,
            None => None,
        };
        choice = value.and_then(|value| value.parse().ok()).unwrap_or(choice);
    }
    choice
}

/// For all that is written from here on.
fn set_color(choice: ColorChoice) {
    match choice {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

/// Says what is wrong with a command line, or the help that it asks for.
fn report(error: clap::Error) -> ExitCode {
    let value = error.source().and_then(|source| source.downcast_ref());
    let Some(value): Option<&RequestError> = value else {
        // Nobody is left to tell if this fails.
        let _ = error.print();
        return match error.exit_code() {
            0 => ExitCode::SUCCESS,
            _ => USAGE.into(),
        };
    };
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) => value.report_of(option),
        _ => value.report(),
    }
    USAGE.into()
}

/// One command a job.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Everything about a shape: dimensions, order, tiles, padding, sizes, strides
    Describe(Describe),
    /// From an element's index to its position in memory, and back
    Index(Index),
    /// The picture of an array and of its memory
    Draw(Draw),
    /// How a relayout would run: class, boxes and loops, bytes, and why
    Plan(Plan),
    /// Whether a transpose, reshape, slice, broadcast or change of type is free, or why not
    Bitcast(Bitcast),
    /// How fast a relayout is on this machine, beside memcpy
    Bench(Bench),
    /// Move a file's arrays to other layouts
    Relayout(Relayout),
    /// What arrays a file holds, with their shapes and layouts
    Inspect(Inspect),
    /// What an HLO module or a TPU memory report allocates, wastes and moves
    Hlo(Hlo),
    /// Which part of an array each device has, by a sharding
    Sharding(Sharding),
    /// A script for a shell that completes commands and options
    Completions(Completions),
    /// Write the manual pages
    Man(Man),
}

/// Arguments of `describe`.
#[derive(Args, Debug)]
#[command(after_help = help::DESCRIBE)]
pub struct Describe {
    /// Shapes such as f32[2,3]{0,1}; `-` reads one a line and writes one JSON object a line
    #[arg(value_name = "SHAPE", required = true)]
    pub shapes: Vec<String>,
    /// Write one JSON object a line, an error being one too
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `index`.
#[derive(Args, Debug)]
#[command(after_help = help::INDEX)]
pub struct Index {
    /// A shape; `-` reads one request a line: shape, tab, then `1,2`, nothing for a scalar, or
    /// `@5` for a position
    pub shape: String,
    /// The index of an element, one number a dimension: 1,2
    #[arg(allow_hyphen_values = true, conflicts_with = "position")]
    pub index: Option<String>,
    /// A position in memory, counted in elements
    #[arg(long, allow_hyphen_values = true)]
    pub position: Option<String>,
    /// Write a JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `draw`.
#[derive(Args, Debug)]
#[command(after_help = help::DRAW)]
pub struct Draw {
    /// The shape of an array
    pub shape: String,
    /// Write an SVG picture to this file instead
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Columns to draw in [default: the terminal's, else 80]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(1..))]
    pub width: Option<u16>,
}

/// Arguments of `plan`.
#[derive(Args, Debug)]
#[command(after_help = help::PLAN)]
pub struct Plan {
    /// The shape to move from
    #[arg(value_name = "SRC")]
    pub source: String,
    /// The shape to move to, or its layout alone: {0,1}; of another type, elements are converted
    #[arg(value_name = "DST")]
    pub destination: String,
    /// Say what was chosen for this machine, and how long it should take; measures the machine,
    /// for about a second
    #[arg(long)]
    pub explain: bool,
    /// Threads to plan for [default: as many as the machine has]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Inside one buffer: the steps, and the memory that they take beside it
    #[arg(long, conflicts_with_all = ["explain", "src_strides", "dst_strides", "src_endian", "dst_endian"])]
    pub in_place: bool,
    /// The most memory that running in place may take from the allocator: 0, 4096, 64KiB, 1MiB
    /// [default: 0]
    #[arg(long, value_name = "BYTES", value_parser = memory::bytes, requires = "in_place")]
    pub memory: Option<usize>,
    #[command(flatten)]
    pub strides: Strides,
    #[command(flatten)]
    pub endians: Endians,
    /// Write a JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bitcast`.
#[derive(Args, Debug)]
#[command(after_help = help::BITCAST)]
pub struct Bitcast {
    /// The shape of the operand
    #[arg(value_name = "SRC")]
    pub operand: String,
    /// The shape of the result; its layout alone, {0,1}, where it has the operand's dimensions
    #[arg(value_name = "DST")]
    pub result: String,
    /// What the result is of the operand [default: as the shapes have it]
    #[command(flatten)]
    pub operation: BitcastOperation,
    /// Write a JSON object
    #[arg(long)]
    pub json: bool,
}

/// The operations that `bitcast` knows.
#[derive(Args, Debug)]
#[group(multiple = false)]
pub struct BitcastOperation {
    /// The same array in another layout
    #[arg(long)]
    pub copy: bool,
    /// Dimension i of the result is the operand's dimension DIMENSIONS[i]: 1,0
    #[arg(long, value_name = "DIMENSIONS", allow_hyphen_values = true)]
    pub transpose: Option<String>,
    /// The same elements in row-major order
    #[arg(long)]
    pub reshape: bool,
    /// A range for each dimension, start:limit or start:limit:stride: [0:2],[1:9:2]
    #[arg(long, value_name = "RANGES")]
    pub slice: Option<String>,
    /// Dimension i of the operand is the result's dimension DIMENSIONS[i]: 1
    #[arg(long, value_name = "DIMENSIONS", allow_hyphen_values = true)]
    pub broadcast: Option<String>,
    /// The same bits as another element type
    #[arg(long)]
    pub convert: bool,
}

/// Arguments of `bench`.
#[derive(Args, Debug)]
#[command(after_help = help::BENCH)]
pub struct Bench {
    /// The shape to move from
    #[arg(value_name = "SRC")]
    pub source: String,
    /// The shape to move to, or its layout alone: {0,1}; of another type, elements are converted
    #[arg(value_name = "DST")]
    pub destination: String,
    #[command(flatten)]
    pub strides: Strides,
    #[command(flatten)]
    pub endians: Endians,
    /// Threads of the relayout and of memcpy [default: as many as the machine has]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Write a JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `relayout`.
#[derive(Args, Debug)]
#[command(after_help = help::RELAYOUT)]
pub struct Relayout {
    /// The file to read: .npy, .npz, .safetensors, .tsr, a .zarr folder, or raw NAME.bin with its
    /// shape's text in NAME.bin.shape
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// The file to write: .npy or .npz for C or Fortran order, .safetensors or .tsr for arrays that
    /// lie major to minor, .zarr for chunks in any order, .bin for any layout
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// The layout to move to: {0,1} or {1,0:T(8,128)}; with rules, of the arrays that none fits
    /// [default: major to minor; with rules, as they are]
    #[arg(long, value_name = "LAYOUT", conflicts_with = "dst_strides")]
    pub to: Option<String>,
    /// What becomes of the arrays whose names fit: '*.weight: {0,1}' changes the memory order,
    /// '*.conv.weight: OIHW -> HWIO' the order of the dimensions; of several the first that fits
    #[arg(long = "rule", value_name = "RULE")]
    pub rule: Vec<String>,
    /// More rules, behind those of --rule: a TOML file with rules = ['PATTERN: LAYOUT', ...]
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// Make it an error, not a warning, that no array goes by a rule
    #[arg(long)]
    pub strict: bool,
    /// Say what would become of each array, with its bytes and about its time; write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Write a JSON object
    #[arg(long)]
    pub json: bool,
    /// The element type to convert to; f32, f16 and bf16 become one another [default: the input's]
    #[arg(long = "type", value_name = "TYPE", value_parser = element_type)]
    pub element_type: Option<ElementType>,
    /// The type of the input's elements where the file says only how wide they are, as .npy does of
    /// bf16: V2
    #[arg(long, value_name = "TYPE", value_parser = element_type)]
    pub input_type: Option<ElementType>,
    /// The shape of a raw input that has no .shape file beside it
    #[arg(long)]
    pub shape: Option<String>,
    /// Sizes of the chunks of a .zarr output, one a dimension: 256,256 [default: the input's, else
    /// such that a chunk has at most 8 MiB]
    #[arg(long, value_name = "SIZES")]
    pub chunks: Option<String>,
    /// Sizes of the shards of a .zarr output, each a file of many chunks: 1024,1024 [default: every
    /// chunk is a file]
    #[arg(long, value_name = "SIZES")]
    pub shards: Option<String>,
    /// What the chunks of a .zarr output are compressed with: none, zstd:3, gzip:5 or blosc:5
    /// [default: the input's, else zstd]
    #[arg(long, value_name = "NAME:LEVEL", value_parser = compressor)]
    pub compressor: Option<Compressor>,
    /// Threads to run on [default: as many as the machine has]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// The most memory to take, whatever the array's size: 64KiB, 1MiB [default: 256MiB]
    #[arg(long, value_name = "BYTES", value_parser = memory::bytes)]
    pub memory: Option<usize>,
    /// Go on where an earlier run of the same input and options was killed; from the beginning, if
    /// none was
    #[arg(long)]
    pub resume: bool,
    /// Put what is done on the disk after so many bytes, for --resume to find, and the output before
    /// it gets its name [default: every ten seconds, and outputs of shorter runs not at all]
    #[arg(long, value_name = "BYTES", value_parser = memory::bytes)]
    pub sync: Option<usize>,
    /// Read input and output again before the output gets its name, and compare every element
    #[arg(long)]
    pub verify: bool,
    #[command(flatten)]
    pub strides: Strides,
    #[command(flatten)]
    pub endians: Endians,
    /// Say nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Sides that are strided parts of a buffer, or of a raw file.
#[derive(Args, Debug)]
pub struct Strides {
    /// Bytes (elements, where E packs them) from an element of the source to the next one, for
    /// each dimension: 40,4 or 0,-2.
    /// They take the place of its layout
    #[arg(long, value_name = "BYTES,..", allow_hyphen_values = true)]
    pub src_strides: Option<String>,
    /// Where in the source the element of index 0, 0, .. begins
    #[arg(
        long,
        value_name = "BYTES",
        requires = "src_strides",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    pub src_offset: i64,
    /// The same for the destination; what lies between its elements is left alone, in a new file
    /// zero
    #[arg(long, value_name = "BYTES,..", allow_hyphen_values = true)]
    pub dst_strides: Option<String>,
    /// Where in the destination the element of index 0, 0, .. begins
    #[arg(
        long,
        value_name = "BYTES",
        requires = "dst_strides",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    pub dst_offset: i64,
}

/// Byte orders.
#[derive(Args, Debug)]
pub struct Endians {
    /// Which byte of the source's numbers comes first [default: little, or what a .npy file says]
    #[arg(long, value_enum, value_name = "ORDER")]
    pub src_endian: Option<Endian>,
    /// Which byte of the destination's numbers comes first [default: little]
    #[arg(long, value_enum, value_name = "ORDER")]
    pub dst_endian: Option<Endian>,
}

/// Which byte of a number comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Endian {
    /// The least significant one.
    Little,
    /// The most significant one.
    Big,
}

impl From<Endian> for ByteOrder {
    fn from(endian: Endian) -> ByteOrder {
        match endian {
            Endian::Little => ByteOrder::Little,
            Endian::Big => ByteOrder::Big,
        }
    }
}

impl Endians {
    /// Both, little where nothing is said.
    pub fn orders(&self) -> ByteOrders {
        ByteOrders {
            source: self.src_endian.map_or(ByteOrder::Little, Into::into),
            destination: self.dst_endian.map_or(ByteOrder::Little, Into::into),
        }
    }
}

/// An element type by its name.
fn element_type(text: &str) -> Result<ElementType, RequestError> {
    text.parse()
        .map_err(|error| RequestError::new(text, 1, error))
}

/// What chunks are compressed with.
fn compressor(text: &str) -> Result<Compressor, RequestError> {
    text.parse()
        .map_err(|error| RequestError::new(text, 1, error))
}

/// A number of threads: at least one.
fn threads(text: &str) -> Result<usize, RequestError> {
    match text.parse() {
        Ok(0) | Err(_) => {
            let error = "expected a number of threads, 1 or more";
            Err(RequestError::new(text, 1, error))
        }
        Ok(threads) => Ok(threads),
    }
}

/// Arguments of `inspect`.
#[derive(Args, Debug)]
#[command(after_help = help::INSPECT)]
pub struct Inspect {
    /// Files of arrays: .npy, .npz, .safetensors or its .safetensors.index.json, .tsr, .zarr
    /// folders, or raw .bin with its shape's text in NAME.bin.shape
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Write one JSON object a file
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `hlo`.
#[derive(Args, Debug)]
#[command(after_help = help::HLO)]
pub struct Hlo {
    /// HLO text as XLA dumps it, or a log with a TPU compiler's list of its largest program
    /// allocations; `-` reads standard input
    pub file: PathBuf,
    /// Write a JSON object
    #[arg(long)]
    pub json: bool,
    /// Write a page for browsers to this file, in place of the tables
    #[arg(long, value_name = "OUT")]
    pub html: Option<PathBuf>,
    /// Rows of each table; 0 shows all, those that take no memory too
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub top: usize,
}

/// Arguments of `sharding`.
#[derive(Args, Debug)]
#[command(after_help = help::SHARDING)]
pub struct Sharding {
    /// A sharding as XLA writes it: {devices=[2,2]<=[4]} or {mesh['a'=4], [{'a'}, {}]}
    #[arg(value_name = "SHARDING")]
    pub sharding: String,
    /// The shape of what it spreads: an array, or a tuple
    pub shape: String,
    /// Only the shard of this device
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with_all = ["index", "top"])]
    pub device: Option<i64>,
    /// Which devices have the element of this index, one number a dimension: 1,2
    #[arg(long, value_name = "I,J,..", allow_hyphen_values = true)]
    pub index: Option<String>,
    /// Devices to show of each array; 0 shows all [default: 40; all in JSON]
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Write a JSON object, of a tuple one a line for each of its elements
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `completions`.
#[derive(Args, Debug)]
#[command(after_help = help::COMPLETIONS)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Arguments of `man`.
#[derive(Args, Debug)]
#[command(after_help = help::MAN)]
pub struct Man {
    /// The folder to write them to; it is made where there is none
    pub folder: PathBuf,
}
