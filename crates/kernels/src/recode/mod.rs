//! Boxes whose elements are written anew on their way: packed, unpacked, or from any bit to any bit; in another byte
//! order; as other numbers.

mod bits;
mod block;
mod blocks;
mod half;
mod mix;
mod pass;
mod recipe;
mod rewrite;
mod stage;
mod way;
mod words;

use std::fmt;

pub use bits::FillBits;

use crate::clip::clip;
use crate::error::{Buffer, NestError};
use crate::isa::Isa;
use crate::kernel::Kernel;
use crate::nest::{Loop, Nest};
use crate::prepared::Prepared;
use crate::simd::{LINE, fence};
use crate::tuning::Tuning;
use block::{Mid, Reading, Recipe, Writing};
use blocks::{Blocks, Limits};
use pass::Pass;
use recipe::{Bits, Roles};

pub(crate) use block::{read_mixed, write_mixed};
pub(crate) use mix::Mix;
pub(crate) use rewrite::{Place, Runs};
pub(crate) use way::{Way, run as rewrite};

/// How an element is written in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// So many bits of any meaning: 1, 2 or 4, packed, the first element of a byte in its lowest bits; or 8.
    Bits(usize),
    /// A number, its lowest byte first, or its highest.
    Number {
        /// Its format.
        format: Format,
        /// Whether the highest byte comes first.
        big_endian: bool,
    },
}

/// The format of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// IEEE 754's binary32.
    F32,
    /// IEEE 754's binary16.
    F16,
    /// bfloat16: the upper half of a binary32.
    Bf16,
    /// Numbers of so many bytes, 2, 4, 8 or 16, one or more to an element.
    Other {
        /// Bytes of an element: 2, 4, 8 or 16.
        width: usize,
        /// Bytes of a number, at most those of the element.
        part: usize,
    },
}

impl Format {
    /// Bytes of an element, and of a number in it.
    fn widths(self) -> (usize, usize) {
        match self {
            Format::F32 => (4, 4),
            Format::F16 | Format::Bf16 => (2, 2),
            Format::Other { width, part } => (width, part),
        }
    }
}

impl Code {
    /// Bits of an element.
    fn bits(self) -> usize {
        match self {
            Code::Bits(bits) => bits,
            Code::Number { format, .. } => 8 * format.widths().0,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Code::Number { format, big_endian } = self else {
            return write!(f, "{} bits", self.bits());
        };
        if *big_endian {
            f.write_str("big-endian ")?;
        }
        match format {
            Format::F32 => f.write_str("f32"),
            Format::F16 => f.write_str("f16"),
            Format::Bf16 => f.write_str("bf16"),
            Format::Other { part, .. } => write!(f, "{part} bytes"),
        }
    }
}

/// How elements are written on both sides: what a [`Recode`] makes of what.
///
/// - Between two widths of bits: the bits that both have are kept, and the others are zero.
/// - Between [`Format::F32`], [`F16`](Format::F16) and [`Bf16`](Format::Bf16): numbers are rounded to the nearest, ties
///   to even; what is too large becomes an infinity; a NaN is made quiet and keeps its sign and the highest bits of its
///   payload.
/// - Between the two byte orders of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Recoding {
    /// How the source writes elements.
    pub source: Code,
    /// How the destination does.
    pub destination: Code,
}

impl Recoding {
    /// What is done to elements read and written in runs, in order; `None` where there is no such way.
    fn ways(&self) -> Option<Vec<Way>> {
        match (self.source, self.destination) {
            (Code::Bits(from), Code::Bits(to)) => {
                let fits = |bits| matches!(bits, 1 | 2 | 4 | 8);
                if !fits(from) || !fits(to) || from == 8 && to == 8 {
                    return None;
                }
                let mut ways = Vec::new();
                if from == to {
                    ways.push(Way::Keep);
                } else {
                    ways.extend((from < 8).then_some(Way::Unpack(from)));
                    ways.extend((to < 8).then_some(Way::Pack(to)));
                }
                Some(ways)
            }
            (
                Code::Number {
                    format: from,
                    big_endian: from_big,
                },
                Code::Number {
                    format: to,
                    big_endian: to_big,
                },
            ) => numbers(from, from_big, to, to_big),
            _ => None,
        }
    }
}

fn numbers(from: Format, from_big: bool, to: Format, to_big: bool) -> Option<Vec<Way>> {
    let swap = |format: Format| Way::Swap(format.widths().1);
    if from == to {
        let (width, part) = from.widths();
        let fits = |bytes| matches!(bytes, 2 | 4 | 8 | 16);
        let same = from_big == to_big;
        return (fits(width) && fits(part) && part <= width && !same).then(|| vec![swap(from)]);
    }
    let widen = match from {
        Format::F32 => None,
        Format::F16 => Some(Way::WidenHalf),
        Format::Bf16 => Some(Way::WidenBfloat),
        Format::Other { .. } => return None,
    };
    let narrow = match to {
        Format::F32 => None,
        Format::F16 => Some(Way::NarrowHalf),
        Format::Bf16 => Some(Way::NarrowBfloat),
        Format::Other { .. } => return None,
    };
    let all = [
        from_big.then(|| swap(from)),
        widen,
        narrow,
        to_big.then(|| swap(to)),
    ];
    Some(all.into_iter().flatten().collect())
}

/// Memory that a [`Recode`] uses while it runs. Kept by whoever runs it: a thread needs one, for as many as it runs.
#[derive(Debug, Default)]
pub struct Scratch(Vec<u8>);

impl Scratch {
    /// Room for so many bytes, on a cache line.
    fn room(&mut self, bytes: usize) -> *mut u8 {
        let needed = bytes + LINE;
        if self.0.len() < needed {
            self.0.clear();
            self.0.resize(needed, 0);
        }
        let start = self.0.as_ptr().align_offset(LINE);
        self.0[start..start + bytes].as_mut_ptr()
    }
}

/// A box of elements that are written anew on their way: checked and prepared once, run often.
///
/// As a [`Move`](crate::Move), but offsets and strides count bits, so that it takes packed elements, and elements may
/// have another width on the other side.
///
/// Elements must be distinct in the destination. Bits of a byte that belong to no element stay as they are; so only one
/// thread may write to a byte, which windows, made of whole bytes, see to.
///
/// ```
/// use minormajor_kernels::{Code, Loop, Recode, Recoding, Scratch};
///
/// // Three nibbles to bytes.
/// let unpack = Recoding { source: Code::Bits(4), destination: Code::Bits(8) };
/// let nibbles = [Loop { extent: 3, source: 4, destination: 8 }];
/// let unpack = Recode::new(unpack, 0, 0, &nibbles)?;
/// let mut bytes = [0; 3];
/// unpack.run(&[0x21, 0x03], &mut bytes, &mut Scratch::default())?;
/// assert_eq!(bytes, [1, 2, 3]);
/// # Ok::<(), minormajor_kernels::NestError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Recode {
    recoding: Recoding,
    /// In bits.
    nest: Nest,
    bodies: Vec<Part>,
    isa: Isa,
    stream: bool,
}

/// A part of a box, with what runs it.
#[derive(Debug, Clone)]
struct Part {
    /// Bits from the first element of the box.
    source: isize,
    destination: isize,
    body: Body,
}

impl Part {
    fn whole(body: Body) -> Part {
        Part {
            source: 0,
            destination: 0,
            body,
        }
    }
}

#[derive(Debug, Clone)]
enum Body {
    /// Packed elements that are whole bytes together.
    Bytes(Prepared),
    /// Runs on both sides.
    Runs(Pass),
    Blocks(Blocks),
}

impl Recode {
    /// Checks a nest and chooses how to run it. Offsets are those of the element whose indices are all zero; they and the
    /// strides are in bits. Packed elements lie at multiples of their width, others at whole bytes.
    ///
    /// # Errors
    ///
    /// [`NestError::Recoding`] where there is no way between the two codes; [`NestError::CutByte`] where an element
    /// lies between two places of its width; and as [`Move::new`](crate::Move::new).
    pub fn new(
        recoding: Recoding,
        source: usize,
        destination: usize,
        loops: &[Loop],
    ) -> Result<Recode, NestError> {
        Recode::tuned(recoding, source, destination, loops, &Tuning::default())
    }

    /// As [`new`](Recode::new), with an instruction set and a kind of stores that the caller chose.
    ///
    /// # Errors
    ///
    /// As `new`.
    pub fn tuned(
        recoding: Recoding,
        source: usize,
        destination: usize,
        loops: &[Loop],
        tuning: &Tuning,
    ) -> Result<Recode, NestError> {
        if recoding.ways().is_none() {
            return Err(NestError::Recoding { recoding });
        }
        let widths = (recoding.source.bits(), recoding.destination.bits());
        let nest = Nest::of_widths(widths, source, destination, loops)?;
        for (buffer, width, base, stride) in [
            (
                Buffer::Source,
                widths.0,
                nest.source,
                (|l| l.source) as fn(&Loop) -> isize,
            ),
            (Buffer::Destination, widths.1, nest.destination, |l| {
                l.destination
            }),
        ] {
            let width = width.min(8) as isize;
            let mut all = nest.loops.iter().map(stride).chain([base]);
            if let Some(bits) = all.find(|bits| bits % width != 0) {
                return Err(NestError::CutByte {
                    buffer,
                    bits,
                    width: width as usize,
                });
            }
        }
        let elements = nest.bytes / widths.1;
        // Less than the bits of either side, which fit.
        let stream = tuning.streams(elements * widths.1.max(widths.0) / 8);
        let mut recode = Recode {
            recoding,
            nest,
            bodies: Vec::new(),
            isa: tuning.isa,
            stream,
        };
        if recode.nest.bytes > 0 {
            let nest = &recode.nest;
            recode.bodies = recode.prepare(&nest.loops, nest.source, nest.destination);
        }
        Ok(recode)
    }

    /// Moves every element.
    ///
    /// # Errors
    ///
    /// [`NestError::TooShort`] if an element lies outside a buffer; then nothing has been written.
    pub fn run(
        &self,
        source: &[u8],
        destination: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<(), NestError> {
        self.check_source(source)?;
        if destination.len() < self.destination_len() {
            return Err(NestError::TooShort {
                buffer: Buffer::Destination,
                needed: self.destination_len(),
                got: destination.len(),
            });
        }
        let (from, to) = (self.nest.source, self.nest.destination);
        self.run_parts(&self.bodies, source, from, destination, to, scratch);
        Ok(())
    }

    /// Moves the elements that lie in bytes `start .. start + window.len()` of the destination, where `window` is that
    /// part of it. The source is always the whole one.
    ///
    /// # Errors
    ///
    /// As [`Move::run_window`](crate::Move::run_window).
    pub fn run_window(
        &self,
        source: &[u8],
        window: &mut [u8],
        start: usize,
        scratch: &mut Scratch,
    ) -> Result<(), NestError> {
        self.check_source(source)?;
        if self.nest.bytes == 0 {
            return Ok(());
        }
        let first = start.saturating_mul(8);
        let end = start.saturating_add(window.len()).saturating_mul(8);
        if first <= self.nest.destination as usize && end >= self.nest.destination_end {
            let to = self.nest.destination - first as isize;
            self.run_parts(&self.bodies, source, self.nest.source, window, to, scratch);
            return Ok(());
        }
        // The whole window is looked at before anything is written.
        clip(&self.nest, first, end, &mut |_| {}).map_err(in_bytes)?;
        clip(&self.nest, first, end, &mut |part| {
            let loops: Vec<Loop> = part
                .head
                .into_iter()
                .filter(|head| head.extent > 1)
                .chain(part.rest.iter().copied())
                .collect();
            let bodies = self.prepare(&loops, part.source, part.destination);
            let to = part.destination - first as isize;
            self.run_parts(&bodies, source, part.source, window, to, scratch);
        })
    }

    /// Runs prepared parts of the nest, whose first element is at these bits of two buffers that hold all of them.
    fn run_parts(
        &self,
        parts: &[Part],
        source: &[u8],
        from: isize,
        destination: &mut [u8],
        to: isize,
        scratch: &mut Scratch,
    ) {
        let from = Place {
            base: source.as_ptr(),
            bit: from,
        };
        let to = Place {
            base: destination.as_mut_ptr(),
            bit: to,
        };
        for part in parts {
            let (from, to) = (from.step(part.source), to.step(part.destination));
            // SAFETY: a part is a sub-box of the nest that it was prepared from, whose bits lie inside both buffers as the
            // callers have checked; of a byte of the destination that has a bit of it, all bits are in the buffer. Places
            // and strides of whole bytes are multiples of 8, by the choice of the body. The buffers are a shared and an
            // exclusive slice, and the scratch is a third one.
            unsafe {
                match &part.body {
                    Body::Bytes(prepared) => {
                        prepared.run(from.base.offset(from.bit / 8), to.base.offset(to.bit / 8))
                    }
                    Body::Runs(pass) => pass.run(from, to, 0),
                    Body::Blocks(blocks) => blocks.run(from, to, scratch.room(blocks.scratch())),
                }
            }
        }
        if self.stream {
            fence();
        }
    }

    /// Chooses how to run a part of the nest: its loops, and where its first element lies.
    fn prepare(&self, loops: &[Loop], source: isize, destination: isize) -> Vec<Part> {
        let bits = (
            self.recoding.source.bits(),
            self.recoding.destination.bits(),
        );
        let ways = self.recoding.ways().unwrap_or_default();
        let (run, outer) = shared_run(loops, bits);
        let (read, written) = (
            run_of(loops, |l| l.source, bits.0),
            run_of(loops, |l| l.destination, bits.1),
        );
        let runs = || Pass::new(&ways, bits, outer.clone(), run, self.stream, self.isa);
        if let Code::Number { .. } = self.recoding.source {
            let body = if run >= LONG || run == read && run == written {
                Body::Runs(runs())
            } else {
                Body::Blocks(self.number_blocks(loops, ways, bits))
            };
            return vec![Part::whole(body)];
        }
        let same = ways == [Way::Keep];
        if same && let Some(parts) = self.in_whole_bytes(loops, source, destination, bits.0) {
            return parts;
        }
        // Runs of some lines are worth their beginnings and ends; so are any if there are no longer ones.
        if run * bits.0.min(bits.1) >= 8 * LONG || run == read && run == written {
            return vec![Part::whole(Body::Runs(runs()))];
        }
        let found = Bits {
            loops,
            from: bits.0,
            to: bits.1,
            on_byte: destination % 8 == 0,
            stream: self.stream,
            isa: self.isa,
        };
        self.packed_blocks(&found, source)
    }

    /// Numbers in blocks: moved first, and written anew in runs of the destination.
    fn number_blocks(&self, loops: &[Loop], ways: Vec<Way>, bits: (usize, usize)) -> Blocks {
        let limits = Limits {
            bits: [bits.0, bits.0, bits.1],
            multiples: vec![1; loops.len()],
        };
        Blocks::new(loops, &limits, self.stream, self.isa, |inside| Recipe {
            reading: Reading::Ways(vec![Way::Keep], bits.0),
            width: bits.0 / 8,
            middle: inside
                .iter()
                .map(|l| Mid {
                    extent: l.extent,
                    source: l.source,
                    destination: l.destination,
                })
                .collect(),
            writing: Writing::Ways(ways.clone(), bits.1, 0),
        })
    }

    /// Packed elements whose order changes, by the recipe that suits the box. Of rows or columns that must be whole bytes,
    /// what is left over is moved one by one.
    fn packed_blocks(&self, bits: &Bits<'_>, source: isize) -> Vec<Part> {
        let per = bits.per_byte();
        let loops = bits.loops;
        let shared = loops
            .iter()
            .position(|l| l.source == bits.from as isize && l.destination == bits.to as isize);
        if bits.from == bits.to
            && let Some(unit) = shared
            && loops[unit].extent >= per
        {
            let aligned = |first: bool, stride: fn(&Loop) -> isize| {
                let mut others = loops.iter().enumerate().filter(|&(i, _)| i != unit);
                first && others.all(|(_, l)| stride(l) % 8 == 0)
            };
            let from_byte = aligned(source % 8 == 0, |l| l.source);
            let to_byte = aligned(bits.on_byte, |l| l.destination);
            return self.with_rest(bits, &[unit], |bits| bits.shift(unit, from_byte, to_byte));
        }
        let roles = bits.roles();
        let one_by_one = || vec![Part::whole(Body::Blocks(bits.one_by_one()))];
        let (Some(&row), Some(&column)) = (roles.rows.first(), roles.columns.first()) else {
            return one_by_one();
        };
        let count = |which: &[usize]| which.iter().map(|&i| loops[i].extent).product::<usize>();
        let (rows, columns) = (count(&roles.rows), count(&roles.columns));
        if loops[row].extent < per && loops[column].extent < per || rows < per {
            return one_by_one();
        }
        match (bits.from, bits.to) {
            (8, _) if columns >= LINE => {
                vec![Part::whole(Body::Blocks(bits.merge(&roles)))]
            }
            (_, 8) if rows >= LINE && loops[column].extent >= per => {
                self.with_rest(bits, &[column], |bits| bits.split(&bits.roles()))
            }
            (from, to) if from == to => self.transposed(bits, &roles, rows, columns),
            _ => one_by_one(),
        }
    }

    /// Rows and columns of elements of the same width change places.
    fn transposed(&self, bits: &Bits<'_>, roles: &Roles, rows: usize, columns: usize) -> Vec<Part> {
        let (per, loops) = (bits.per_byte(), bits.loops);
        let (row, column) = (roles.rows[0], roles.columns[0]);
        // Few rows are one run of the destination with the next columns, and few columns one of the source.
        let few = |count: usize, stride: isize| {
            count * bits.from <= FEW && stride == (count * bits.from) as isize
        };
        if !rows.is_multiple_of(per)
            && few(rows, loops[column].destination)
            && loops[column].extent >= per
        {
            self.with_rest(bits, &[column], |bits| bits.weave(&bits.roles()))
        } else if !columns.is_multiple_of(per)
            && few(columns, loops[row].source)
            && loops[row].extent >= per
        {
            self.with_rest(bits, &[row], |bits| bits.unweave(&bits.roles()))
        } else if columns * bits.from < 8 * LINE
            && loops[row].extent >= per
            && loops[column].extent >= per
        {
            self.with_rest(bits, &[row, column], |bits| bits.unzip(&bits.roles()))
        } else if loops[column].extent >= per {
            self.with_rest(bits, &[column], |bits| bits.zip(&bits.roles()))
        } else {
            vec![Part::whole(Body::Blocks(bits.one_by_one()))]
        }
    }

    /// Blocks of the part of a box in which some loops are multiples of the elements in a byte, and of the rests one by
    /// one.
    fn with_rest(
        &self,
        bits: &Bits<'_>,
        which: &[usize],
        blocks: impl Fn(&Bits<'_>) -> Blocks,
    ) -> Vec<Part> {
        let per = bits.per_byte();
        let mut whole = bits.loops.to_vec();
        let mut parts = Vec::new();
        for &i in which {
            let rest = whole[i].extent % per;
            whole[i].extent -= rest;
            if rest > 0 {
                let mut loops = whole.clone();
                loops[i].extent = rest;
                let done = whole[i].extent as isize;
                loops.retain(|l| l.extent > 1);
                parts.push(Part {
                    source: done * whole[i].source,
                    destination: done * whole[i].destination,
                    body: Body::Blocks(
                        Bits {
                            loops: &loops,
                            ..*bits
                        }
                        .one_by_one(),
                    ),
                });
            }
        }
        let whole = Bits {
            loops: &whole,
            ..*bits
        };
        parts.push(Part::whole(Body::Blocks(blocks(&whole))));
        parts
    }

    /// Packed elements of `bits` bits as whole bytes, if all their runs begin on one; what is left of a last byte is a
    /// part of its own.
    fn in_whole_bytes(
        &self,
        loops: &[Loop],
        source: isize,
        destination: isize,
        bits: usize,
    ) -> Option<Vec<Part>> {
        let unit = bits as isize;
        let run = loops
            .iter()
            .position(|l| l.source == unit && l.destination == unit)?;
        let whole = |bits: isize| bits % 8 == 0;
        let others = loops.iter().enumerate().filter(|&(i, _)| i != run);
        if !whole(source)
            || !whole(destination)
            || !others
                .into_iter()
                .all(|(_, l)| whole(l.source) && whole(l.destination))
        {
            return None;
        }
        let (length, per) = (loops[run].extent, 8 / bits);
        if length < per {
            return None;
        }
        let in_bytes = |(i, l): (usize, &Loop)| match i == run {
            true => Loop {
                extent: length / per,
                source: 1,
                destination: 1,
            },
            false => Loop {
                extent: l.extent,
                source: l.source / 8,
                destination: l.destination / 8,
            },
        };
        let bytes: Vec<Loop> = loops.iter().enumerate().map(in_bytes).collect();
        let lowest: isize = bytes
            .iter()
            .map(|l| (l.extent - 1) as isize * l.source.min(0))
            .sum();
        let nest =
            Nest::new(1, lowest.unsigned_abs(), 0, &bytes).expect("within reach as bits are");
        let mut parts = vec![Part {
            source: 0,
            destination: 0,
            body: Body::Bytes(Prepared::new(1, &nest.loops, self.isa, self.stream)),
        }];
        if length % per > 0 {
            let mut outer = loops.to_vec();
            outer.remove(run);
            let done = (length / per * 8) as isize;
            parts.push(Part {
                source: done,
                destination: done,
                body: Body::Runs(Pass::new(
                    &[Way::Keep],
                    (bits, bits),
                    outer,
                    length % per,
                    false,
                    self.isa,
                )),
            });
        }
        Some(parts)
    }

    /// What is made of what.
    pub fn recoding(&self) -> Recoding {
        self.recoding
    }

    /// How the box is run, for explaining a plan.
    pub fn kernel(&self) -> Kernel {
        match self.bodies.first().map(|part| &part.body) {
            None => Kernel::Nothing,
            Some(Body::Bytes(prepared)) => prepared.kernel(),
            Some(Body::Runs(pass)) => Kernel::Rewrite {
                recoding: self.recoding,
                run: Some(pass.run_length()),
                isa: self.isa.name(),
            },
            Some(Body::Blocks(_)) => Kernel::Rewrite {
                recoding: self.recoding,
                run: None,
                isa: self.isa.name(),
            },
        }
    }

    /// Whether the destination is written past the caches, by streaming stores.
    pub fn streams(&self) -> bool {
        self.stream
    }

    /// The bytes read and written, halved: as many as a copy moves that reads and writes as much.
    pub fn bytes(&self) -> usize {
        let to = self.recoding.destination.bits();
        let read = self.nest.bytes / to * self.recoding.source.bits();
        (read / 2 + self.nest.bytes / 2).div_ceil(8)
    }

    /// The bytes of memory that [`run`](Recode::run) takes of its scratch; a window takes no more.
    pub fn scratch(&self) -> usize {
        let of_part = |part: &Part| match &part.body {
            Body::Blocks(blocks) => blocks.scratch() + LINE,
            Body::Bytes(_) | Body::Runs(_) => 0,
        };
        self.bodies.iter().map(of_part).max().unwrap_or(0)
    }

    /// The bytes that the source must have at least.
    pub fn source_len(&self) -> usize {
        self.nest.source_end.div_ceil(8)
    }

    /// The bytes that the destination must have at least.
    pub fn destination_len(&self) -> usize {
        self.nest.destination_end.div_ceil(8)
    }

    fn check_source(&self, source: &[u8]) -> Result<(), NestError> {
        if source.len() < self.source_len() {
            return Err(NestError::TooShort {
                buffer: Buffer::Source,
                needed: self.source_len(),
                got: source.len(),
            });
        }
        Ok(())
    }
}

/// Runs of so many elements, or of so many bytes of packed ones, are worth their beginnings and ends.
const LONG: usize = 64;
/// Rows of fewer bits are woven to one run.
const FEW: usize = 1024;

/// The elements that lie side by side on both sides in the same order, and the loops around them.
fn shared_run(loops: &[Loop], bits: (usize, usize)) -> (usize, Vec<Loop>) {
    let mut outer = loops.to_vec();
    let mut run = 1;
    while let Some(i) = outer.iter().position(|l| {
        l.source == (run * bits.0) as isize && l.destination == (run * bits.1) as isize
    }) {
        run *= outer.remove(i).extent;
    }
    (run, outer)
}

/// The elements of a box that lie side by side on one side.
fn run_of(loops: &[Loop], stride: fn(&Loop) -> isize, bits: usize) -> usize {
    let mut run = 1;
    while let Some(l) = loops
        .iter()
        .find(|l| stride(l).unsigned_abs() == run * bits)
    {
        run *= l.extent;
    }
    run
}

/// An error of a nest of bits, whose element is at a byte for whoever reads it.
fn in_bytes(error: NestError) -> NestError {
    match error {
        NestError::CutElement {
            element,
            width,
            edge,
        } => NestError::CutElement {
            element: element / 8,
            width: width.div_ceil(8),
            edge: edge / 8,
        },
        other => other,
    }
}
