//! What a plan's boxes become: kernels with their places in bytes or bits.

use minormajor_core::ElementType;
use minormajor_core::plan::{ByteOrder, Change, Encoding, FillBox, MoveBox, Plan};
use minormajor_kernels::{
    Code, Fill, FillBits, FillLoop, Format, Kernel, Loop, Move, NestError, Recode, Recoding,
    Scratch, Sequence, Tuning,
};
use smallvec::SmallVec;

/// A kernel and the bytes of the destination between which it writes.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    work: Work,
    start: usize,
    end: usize,
}

/// Small, since jobs are handed on several times until they have their place.
#[derive(Clone, Debug)]
enum Work {
    Move(Move),
    Recode(Box<Recode>),
    Fill(Fill),
    FillBits(Box<FillBits>),
}

/// How the units of a plan are written on both sides; `None` where bytes are moved as they are.
pub(super) fn recoding(plan: &Plan) -> Option<Recoding> {
    let bits = |bits: i64| Code::Bits(bits as usize);
    match plan.change() {
        Change::None if plan.unit_bytes().is_some() => None,
        Change::None | Change::Bits => Some(Recoding {
            source: bits(plan.source_unit_bits()),
            destination: bits(plan.destination_unit_bits()),
        }),
        Change::Values {
            source,
            destination,
        } => Some(Recoding {
            source: code(source),
            destination: code(destination),
        }),
    }
}

fn code(encoding: Encoding) -> Code {
    Code::Number {
        format: match encoding.element_type {
            ElementType::F32 => Format::F32,
            ElementType::F16 => Format::F16,
            ElementType::Bf16 => Format::Bf16,
            other => Format::Other {
                width: other.byte_width() as usize,
                part: encoding.part_bytes(),
            },
        },
        big_endian: encoding.order == ByteOrder::Big,
    }
}

impl Job {
    /// The kernel of a box to move. Positions times units fit, since the plan's buffers do.
    pub(super) fn of_move(plan: &Plan, made: &MoveBox, tuning: &Tuning) -> Result<Job, NestError> {
        let recoding = recoding(plan);
        // Bits where elements are written anew, else bytes.
        let [from, to] = [plan.source_unit_bits(), plan.destination_unit_bits()]
            .map(|unit| if recoding.is_some() { unit } else { unit / 8 });
        let (source, destination) = (made.source * from, made.destination * to);
        let mut loops: SmallVec<[Loop; 6]> = SmallVec::new();
        for l in made.loops.iter() {
            loops.push(Loop {
                extent: l.extent as usize,
                source: (l.source * from) as isize,
                destination: (l.destination * to) as isize,
            });
        }
        let (source, first) = (source as usize, destination as usize);
        let work = match recoding {
            None => {
                let kernel = Move::tuned(from as usize, source, first, &loops, tuning)?;
                Work::Move(kernel)
            }
            Some(recoding) => {
                let kernel = Recode::tuned(recoding, source, first, &loops, tuning)?;
                Work::Recode(Box::new(kernel))
            }
        };
        Ok(Job::new(
            work,
            lowest_byte(
                plan,
                made.destination,
                made.loops.iter().map(|l| (l.extent, l.destination)),
            ),
        ))
    }

    /// The kernel of a box to fill.
    pub(crate) fn of_fill(plan: &Plan, made: &FillBox, tuning: &Tuning) -> Result<Job, NestError> {
        let unit = plan.destination_unit_bits();
        let packed = unit < 8;
        let scale = if packed { unit } else { unit / 8 };
        let first = (made.destination * scale) as usize;
        let mut loops: SmallVec<[FillLoop; 6]> = SmallVec::new();
        for l in made.loops.iter() {
            loops.push(FillLoop {
                extent: l.extent as usize,
                destination: (l.destination * scale) as isize,
            });
        }
        let work = if packed {
            let kernel = FillBits::new(unit as usize, made.pattern[0], first, &loops)?;
            Work::FillBits(Box::new(kernel))
        } else {
            let pattern = &made.pattern[..scale as usize];
            Work::Fill(Fill::tuned(pattern, first, &loops, tuning)?)
        };
        Ok(Job::new(
            work,
            lowest_byte(
                plan,
                made.destination,
                made.loops.iter().map(|l| (l.extent, l.destination)),
            ),
        ))
    }

    fn new(work: Work, start: usize) -> Job {
        let end = match &work {
            Work::Move(kernel) => kernel.destination_len(),
            Work::Recode(kernel) => kernel.destination_len(),
            Work::Fill(kernel) => kernel.destination_len(),
            Work::FillBits(kernel) => kernel.destination_len(),
        };
        Job { work, start, end }
    }

    /// The move of bytes, where it is one.
    pub(super) fn as_move(&self) -> Option<&Move> {
        match &self.work {
            Work::Move(kernel) => Some(kernel),
            _ => None,
        }
    }

    /// The writing anew, where it is one.
    pub(super) fn as_recode(&self) -> Option<&Recode> {
        match &self.work {
            Work::Recode(kernel) => Some(kernel),
            _ => None,
        }
    }

    fn as_fill(&self) -> Option<&Fill> {
        match &self.work {
            Work::Fill(kernel) => Some(kernel),
            _ => None,
        }
    }

    /// The bytes that it reads and writes, halved: those of a copy that takes as long at best. Of
    /// a fill those that it writes.
    pub(super) fn bytes(&self) -> usize {
        match &self.work {
            Work::Move(kernel) => kernel.bytes(),
            Work::Recode(kernel) => kernel.bytes(),
            Work::Fill(kernel) => kernel.bytes(),
            Work::FillBits(kernel) => kernel.bytes(),
        }
    }

    /// As [`bytes`](Job::bytes), with what lies between elements in lines.
    pub(super) fn touched(&self) -> usize {
        match &self.work {
            Work::Move(kernel) => kernel.touched(),
            _ => self.bytes(),
        }
    }

    /// The fewest bytes that lie side by side on a side, as far as one loop goes.
    pub(super) fn row(&self) -> usize {
        match &self.work {
            Work::Move(kernel) => kernel.row(),
            _ => usize::MAX,
        }
    }

    /// The most bytes that do.
    pub(super) fn longer_row(&self) -> usize {
        match &self.work {
            Work::Move(kernel) => kernel.longer_row(),
            _ => usize::MAX,
        }
    }

    /// Whether the rows follow one another, one for each element of the other side's.
    pub(super) fn interleaves(&self) -> bool {
        matches!(&self.work, Work::Move(kernel) if kernel.interleaves())
    }

    /// Whether the rows lie apart on a side.
    pub(super) fn is_apart(&self) -> bool {
        matches!(&self.work, Work::Move(kernel) if kernel.is_apart())
    }

    /// How often each element of the source is written.
    pub(super) fn repeated(&self) -> usize {
        self.as_move().map_or(1, Move::repeated)
    }

    /// Whether it is a transpose whose rows and columns lie pages apart.
    pub(super) fn is_paged(&self) -> bool {
        matches!(&self.work, Work::Move(kernel) if kernel.is_paged())
    }

    /// Whether all rows begin on lines of a cache, on both sides.
    pub(super) fn lined(&self) -> bool {
        match &self.work {
            Work::Move(kernel) => kernel.lined(),
            Work::Recode(kernel) => kernel.lined(),
            Work::Fill(_) | Work::FillBits(_) => true,
        }
    }

    /// Whether all rows begin on lines of a cache in the destination.
    pub(super) fn written_on_lines(&self) -> bool {
        match &self.work {
            Work::Move(kernel) => kernel.written_on_lines(),
            _ => self.lined(),
        }
    }

    /// How often its kernel is entered.
    pub(super) fn entries(&self) -> usize {
        match &self.work {
            Work::Move(kernel) => kernel.entries(),
            _ => 1,
        }
    }

    /// Whether it writes past the caches, its parts on so many threads.
    pub(super) fn streams_on(&self, threads: usize) -> bool {
        match &self.work {
            Work::Move(kernel) => kernel.streams_on(threads),
            Work::Recode(kernel) => kernel.streams(),
            Work::Fill(_) | Work::FillBits(_) => false,
        }
    }

    /// Bytes of the heap that a run needs on a thread.
    pub(super) fn scratch(&self) -> usize {
        match &self.work {
            Work::Recode(kernel) => kernel.scratch(),
            _ => 0,
        }
    }

    pub(super) fn kernel(&self) -> Kernel {
        match &self.work {
            Work::Move(kernel) => kernel.kernel(),
            Work::Recode(kernel) => kernel.kernel(),
            Work::Fill(kernel) => kernel.kernel(),
            Work::FillBits(kernel) => kernel.kernel(),
        }
    }

    /// Fills all of a box, where it is one to fill.
    pub(crate) fn fill(&self, destination: &mut [u8]) -> Result<(), NestError> {
        match &self.work {
            Work::Fill(kernel) => kernel.run(destination),
            Work::FillBits(kernel) => kernel.run(destination),
            Work::Move(_) | Work::Recode(_) => Ok(()),
        }
    }

    /// Does all of it.
    #[inline]
    pub(super) fn run(
        &self,
        source: &[u8],
        destination: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<(), NestError> {
        match &self.work {
            Work::Move(kernel) => kernel.run(source, destination),
            Work::Recode(kernel) => kernel.run(source, destination, scratch),
            Work::Fill(_) | Work::FillBits(_) => self.fill(destination),
        }
    }

    /// Does what lies in a window of the destination that starts at this byte.
    pub(super) fn run_window(
        &self,
        source: &[u8],
        window: &mut [u8],
        start: usize,
        scratch: &mut Scratch,
    ) -> Result<(), NestError> {
        if self.start >= start + window.len() || start >= self.end {
            return Ok(());
        }
        match &self.work {
            Work::Move(kernel) => kernel.run_window(source, window, start),
            Work::Recode(kernel) => kernel.run_window(source, window, start, scratch),
            Work::Fill(kernel) => kernel.run_window(window, start),
            Work::FillBits(kernel) => kernel.run_window(window, start),
        }
    }
}

/// Boxes to move and to fill in the destination's order, where they have one and bytes are moved as they are.
pub(super) fn sequence(moves: &[Job], fills: &[Job], tuning: &Tuning) -> Option<Sequence> {
    let moved = moves.iter().filter_map(Job::as_move);
    let filled = fills.iter().filter_map(Job::as_fill);
    let all = moves.len() + fills.len();
    if moved.clone().count() + filled.clone().count() < all {
        return None;
    }
    Sequence::new(moved, filled, tuning)
}

/// The lowest byte of the destination that loops touch, from a position on.
fn lowest_byte(plan: &Plan, position: i64, loops: impl Iterator<Item = (i64, i64)>) -> usize {
    // Inside the buffer, as the kernel has checked.
    let back = |(extent, stride): (i64, i64)| (extent.max(1) - 1) * -stride.min(0);
    let lowest = position - loops.map(back).sum::<i64>();
    (lowest * plan.destination_unit_bits() / 8) as usize
}
