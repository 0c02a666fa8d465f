//! Boxes whose elements are written anew on their way: packed, unpacked, or from any bit to any bit; in another byte
//! order; as other numbers.

mod bits;
mod block;
mod blocks;
mod braid;
mod code;
mod column;
mod half;
mod keep;
mod mix;
mod panel;
mod parts;
mod pass;
mod reading;
mod recipe;
mod rewrite;
mod roles;
mod stage;
mod way;
mod weave;
mod words;

pub use bits::FillBits;
pub use code::{Code, Format, Recoding};

use crate::clip::clip;
use crate::error::{Buffer, NestError};
use crate::kernel::Kernel;
use crate::nest::{Loop, Nest};
use crate::simd::{LINE, fence};
use crate::tuning::Tuning;
use parts::{Body, How, Part};

pub(crate) use block::{read_mixed, write_mixed};
pub(crate) use braid::{Run as BraidRun, braid};
pub(crate) use mix::Mix;
pub(crate) use panel::{Run as PanelRun, panel};
pub(crate) use rewrite::{Place, Runs};
pub(crate) use way::{Way, run as rewrite};

/// Memory that a [`Recode`] uses while it runs. Kept by whoever runs it: a thread needs one, for as many as it runs.
#[derive(Debug, Default)]
pub struct Scratch(Vec<u8>);

impl Scratch {
    /// Bytes that are taken for a room of so many.
    pub(crate) const fn bytes(room: usize) -> usize {
        room + LINE
    }

    /// As `room`.
    pub(crate) fn slice(&mut self, bytes: usize) -> &mut [u8] {
        self.room(bytes);
        let start = self.0.as_ptr().align_offset(LINE);
        &mut self.0[start..start + bytes]
    }

    /// Room for so many bytes, on a cache line.
    fn room(&mut self, bytes: usize) -> *mut u8 {
        let needed = Scratch::bytes(bytes);
        if self.0.len() < needed {
            // Freed before there is more, of which there is no more than is needed: both are in what callers
            // are told.
            self.0 = Vec::new();
            self.0 = vec![0; needed];
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
    how: How,
    /// In bits.
    nest: Nest,
    parts: Vec<Part>,
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
        let how = How {
            recoding,
            stream,
            isa: tuning.isa,
        };
        let parts = match nest.bytes {
            0 => Vec::new(),
            _ => how.parts(&nest.loops, nest.source, nest.destination),
        };
        Ok(Recode { how, nest, parts })
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
        self.run_parts(&self.parts, source, from, destination, to, scratch);
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
        // Of rows that are made together, a window may have some.
        let by_rows = matches!(
            &self.parts[..],
            [Part { body: Body::Braid(braid), .. }] if braid.writes_rows()
        );
        if by_rows && first < self.nest.destination_end
            || first <= self.nest.destination as usize && end >= self.nest.destination_end
        {
            let to = self.nest.destination - first as isize;
            self.run_parts(&self.parts, source, self.nest.source, window, to, scratch);
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
            let parts = self.how.parts(&loops, part.source, part.destination);
            let to = part.destination - first as isize;
            self.run_parts(&parts, source, part.source, window, to, scratch);
        })
    }

    /// Runs prepared parts of the nest, whose first element is at these bits of two buffers that hold all of them; of a
    /// braid that writes rows, the destination may be a window.
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
        let window = 0..(destination.len().min(isize::MAX as usize / 8) * 8) as isize;
        for part in parts {
            let (from, to) = (from.step(part.source), to.step(part.destination));
            // SAFETY: a part is a sub-box of the nest that it was prepared from, whose bits lie inside both buffers as the
            // callers have checked, or, of rows that are written, those that lie in the window; of a byte of the
            // destination that has a bit of it, all bits are in the buffer. Places
            // and strides of whole bytes are multiples of 8, by the choice of the body. The buffers are a shared and an
            // exclusive slice, and the scratch is a third one.
            unsafe {
                match &part.body {
                    Body::Bytes(prepared) => {
                        prepared.run(from.base.offset(from.bit / 8), to.base.offset(to.bit / 8))
                    }
                    Body::Runs(pass) => pass.run(from, to, 0),
                    Body::Panel(panel) => panel.run(from, to, scratch.room(panel.scratch())),
                    Body::Braid(braid) => {
                        braid.run(from, to, window.clone(), scratch.room(braid.scratch()))
                    }
                    Body::Blocks(blocks) => blocks.run(from, to, scratch.room(blocks.scratch())),
                }
            }
        }
        if self.how.stream {
            fence();
        }
    }

    /// Where windows begin that have no element beside whole iterations of the outermost loop: about so many of them, or
    /// fewer. Elsewhere a window has parts of a column at its ends, for each of which as many lines of the source are read
    /// as for a whole line of columns. Where that loop goes along the source, windows have whole lines of it. There are
    /// no cuts where iterations do not follow one another, or are single elements.
    ///
    /// ```
    /// use minormajor_kernels::{Code, Loop, Recode, Recoding};
    ///
    /// // Four columns of three nibbles, of which two are three bytes.
    /// let keep = Recoding { source: Code::Bits(4), destination: Code::Bits(4) };
    /// let rows = Loop { extent: 3, source: 16, destination: 4 };
    /// let columns = Loop { extent: 4, source: 4, destination: 12 };
    /// let columns = Recode::new(keep, 0, 0, &[columns, rows])?;
    /// assert_eq!(columns.cuts(4).collect::<Vec<_>>(), [3]);
    /// # Ok::<(), minormajor_kernels::NestError>(())
    /// ```
    pub fn cuts(&self, windows: usize) -> impl Iterator<Item = usize> + Send + use<> {
        let (least, stride, extent) = self.iterations().unwrap_or((1, 0, 0));
        let units = extent / least;
        let windows = windows.clamp(1, units.max(1));
        let start = self.nest.destination;
        (1..windows).map(move |window| {
            // Exact, since neither factor reaches 2^64.
            let unit = (units as u128 * window as u128 / windows as u128) as usize;
            ((start + (unit * least) as isize * stride) / 8) as usize
        })
    }

    /// The fewest iterations of the outermost loop that a window should have, their stride, and how many there are;
    /// `None` where they do not follow one another, or are single elements.
    fn iterations(&self) -> Option<(usize, isize, usize)> {
        let (outer, inner) = self.nest.loops.split_first()?;
        let last = |l: &Loop| (l.extent - 1) as isize * l.destination;
        let span = inner.iter().map(last).sum::<isize>() + self.nest.width as isize;
        if inner.is_empty() || outer.destination < span || self.nest.destination % 8 != 0 {
            return None;
        }
        // So many are whole bytes, and so many a line of the source.
        let bytes = 8 >> outer.destination.trailing_zeros().min(3);
        let width = self.how.recoding.source.bits();
        let line = match outer.source == width as isize {
            true => 8 * LINE / width,
            false => 1,
        };
        let least = if outer.extent < 2 * line {
            bytes
        } else {
            bytes.max(line)
        };
        Some((least, outer.destination, outer.extent))
    }

    /// What is made of what.
    pub fn recoding(&self) -> Recoding {
        self.how.recoding
    }

    /// How the box is run, for explaining a plan.
    pub fn kernel(&self) -> Kernel {
        match self.parts.first().map(|part| &part.body) {
            None => Kernel::Nothing,
            Some(Body::Bytes(prepared)) if matches!(self.how.recoding.source, Code::Bits(_)) => {
                prepared.kernel()
            }
            Some(Body::Runs(pass)) => Kernel::Rewrite {
                recoding: self.how.recoding,
                run: Some(pass.run_length()),
                isa: self.how.isa.name(),
            },
            Some(Body::Braid(braid)) => braid.kernel(),
            Some(Body::Bytes(_) | Body::Panel(_) | Body::Blocks(_)) => Kernel::Rewrite {
                recoding: self.how.recoding,
                run: None,
                isa: self.how.isa.name(),
            },
        }
    }

    /// Whether the destination is written past the caches, by streaming stores.
    pub fn streams(&self) -> bool {
        self.how.stream
    }

    /// The bytes read and written, halved: as many as a copy moves that reads and writes as much.
    pub fn bytes(&self) -> usize {
        let to = self.how.recoding.destination.bits();
        let read = self.nest.bytes / to * self.how.recoding.source.bits();
        (read / 2 + self.nest.bytes / 2).div_ceil(8)
    }

    /// Whether all rows begin on lines of a cache, on both sides, where the buffers do.
    pub fn lined(&self) -> bool {
        self.nest.lined(8 * LINE)
    }

    /// The bytes of memory that [`run`](Recode::run) takes of its scratch; a window takes no more.
    pub fn scratch(&self) -> usize {
        let of_part = |part: &Part| match &part.body {
            Body::Panel(panel) => panel.scratch() + LINE,
            Body::Braid(braid) => braid.scratch() + LINE,
            Body::Blocks(blocks) => blocks.scratch() + LINE,
            Body::Bytes(_) | Body::Runs(_) => 0,
        };
        self.parts.iter().map(of_part).max().unwrap_or(0)
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
