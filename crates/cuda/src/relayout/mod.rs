//! Relayouts on the device: the launches that a plan becomes.
//!
//! A box whose sides share their fastest loops is moved in `runs`, any other through `tiles`
//! in shared memory; a fill is runs without a source. All addresses are known here, so
//! that each launch takes the widest accesses that they allow.

pub(crate) mod runs;
mod tiles;

use minormajor::plan::{FillBox, MoveBox, Plan};

use crate::launch::{Card, Launch};
use crate::walk::{MOST, Step};

/// Why a plan has no launches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// Elements that are packed, or change on their way.
    #[error("elements are packed or change on their way, which kernels here do not do")]
    Change,
    /// Tiles that combine dimensions.
    #[error("no boxes describe the plan: it goes element by element")]
    General,
    /// A loop of more steps than kernels count, which nothing divides.
    #[error("a loop has {extent} steps, which can't be cut into fewer")]
    #[allow(missing_docs)]
    Extent { extent: u64 },
    /// More loops than fit a launch's parameters.
    #[error("a box has {loops} loops, more than a launch can take")]
    #[allow(missing_docs)]
    Loops { loops: usize },
}

/// A box with its addresses; an element has `width` bytes.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub source: u64,
    pub destination: u64,
    pub width: u32,
    pub loops: Vec<Step>,
}

/// The launches of a plan from one address to another: each reads and writes what the plan says,
/// and they may run in any order.
///
/// # Errors
///
/// [`Unsupported`] for a plan that moves anything but whole bytes in boxes.
pub fn launches(
    plan: &Plan,
    source: u64,
    destination: u64,
    card: Card,
) -> Result<Vec<Launch>, Unsupported> {
    let width = supported(plan)?;
    let mut launches = Vec::new();
    for made in plan.boxes() {
        for region in Region::of_move(made, width, source, destination).split() {
            launches.push(match region.is_runs() {
                true => runs::launch(&region, None, card)?,
                false => tiles::launch(&region, card)?,
            });
        }
    }
    for fill in plan.fills() {
        for region in Region::of_fill(fill, width, destination).split() {
            let pattern = std::array::from_fn(|at| fill.pattern[at % width as usize]);
            launches.push(runs::launch(&region, Some(pattern), card)?);
        }
    }
    Ok(launches)
}

/// The bytes of an element, if kernels can run the plan.
///
/// # Errors
///
/// As [`launches`].
pub fn supported(plan: &Plan) -> Result<u32, Unsupported> {
    if plan.general().is_some() {
        return Err(Unsupported::General);
    }
    let width = plan.unit_bytes().ok_or(Unsupported::Change)?;
    Ok(width as u32)
}

/// Fills dense memory with elements of `width` bytes.
///
/// # Errors
///
/// As [`launches`], for more elements than any memory has.
pub(crate) fn fill(
    destination: u64,
    elements: u64,
    pattern: &[u8],
    card: Card,
) -> Result<Vec<Launch>, Unsupported> {
    let width = pattern.len();
    let region = Region {
        source: 0,
        destination,
        width: width as u32,
        loops: vec![Step {
            extent: elements,
            strides: [width as i64; 2],
        }],
    };
    let pattern = std::array::from_fn(|at| pattern[at % width]);
    let regions = region.widened().split().into_iter();
    regions
        .map(|region| runs::launch(&region, Some(pattern), card))
        .collect()
}

/// Bytes of a run from which a sector of memory is worth reading for it alone.
const RUN_BYTES: u64 = 64;

impl Region {
    fn of_move(made: &MoveBox, width: u32, source: u64, destination: u64) -> Region {
        // Positions lie inside buffers whose bytes fit 63 bits.
        let bytes = i64::from(width);
        let loops = made.loops.iter().map(|l| Step {
            extent: l.extent as u64,
            strides: [l.source * bytes, l.destination * bytes],
        });
        Region {
            source: source.wrapping_add_signed(made.source * bytes),
            destination: destination.wrapping_add_signed(made.destination * bytes),
            width,
            loops: loops.collect(),
        }
        .widened()
    }

    fn of_fill(fill: &FillBox, width: u32, destination: u64) -> Region {
        let bytes = i64::from(width);
        let loops = fill.loops.iter().map(|l| Step {
            extent: l.extent as u64,
            strides: [l.destination * bytes; 2],
        });
        Region {
            source: 0,
            destination: destination.wrapping_add_signed(fill.destination * bytes),
            width,
            loops: loops.collect(),
        }
        .widened()
    }

    /// With elements as wide as runs that both sides share allow, 16 bytes at most.
    pub fn widened(mut self) -> Region {
        let bytes = i64::from(self.width);
        let run = |l: &Step| l.strides == [bytes; 2];
        let Some(at) = self.loops.iter().position(run) else {
            return self;
        };
        let mut width = 16;
        while width > self.width && !self.allows(at, width) {
            width /= 2;
        }
        if width > self.width {
            let run = &mut self.loops[at];
            run.extent /= u64::from(width / self.width);
            run.strides = [i64::from(width); 2];
            if run.extent == 1 {
                self.loops.remove(at);
            }
            self.width = width;
        }
        self
    }

    /// Whether elements of so many bytes can be made of the run at a place.
    fn allows(&self, run: usize, width: u32) -> bool {
        let wide = u64::from(width);
        let other = |(place, l): (usize, &Step)| {
            place == run || (l.strides[0] | l.strides[1]) as u64 & (wide - 1) == 0
        };
        (self.source | self.destination) & (wide - 1) == 0
            && (self.loops[run].extent * u64::from(self.width)).is_multiple_of(wide)
            && self.loops.iter().enumerate().all(other)
    }

    /// Regions whose loops each run at most 2^30 times.
    fn split(self) -> Vec<Region> {
        let mut done = Vec::new();
        let mut open = vec![self];
        while let Some(mut region) = open.pop() {
            let Some(at) = region.loops.iter().position(|l| l.extent > MOST) else {
                done.push(region);
                continue;
            };
            let long = region.loops[at];
            let (times, rest) = (long.extent / MOST, long.extent % MOST);
            let steps = |n: u64, stride: i64| stride * n as i64;
            if rest > 0 {
                let mut last = region.clone();
                let first = times * MOST;
                last.source = last
                    .source
                    .wrapping_add_signed(steps(first, long.strides[0]));
                let offset = steps(first, long.strides[1]);
                last.destination = last.destination.wrapping_add_signed(offset);
                last.loops[at].extent = rest;
                last.loops.retain(|l| l.extent > 1);
                open.push(last);
            }
            region.loops[at].extent = MOST;
            if times > 1 {
                region.loops.push(Step {
                    extent: times,
                    strides: long.strides.map(|stride| steps(MOST, stride)),
                });
            }
            open.push(region);
        }
        done
    }

    /// Places of loops, the smallest stride of a side first; one that repeats elements last.
    fn order(&self, side: impl Fn(&Step) -> i64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.loops.len()).collect();
        order.sort_by_key(|&at| match side(&self.loops[at]) {
            0 => u64::MAX,
            stride => stride.unsigned_abs(),
        });
        order
    }

    /// Whether both sides go through the same loops first, for long enough.
    fn is_runs(&self) -> bool {
        let order = self.order(|l| l.strides[0]);
        let shared = order
            .iter()
            .zip(self.order(|l| l.strides[1]))
            .take_while(|(a, b)| **a == *b);
        let loops = shared.clone().count();
        let elements: u64 = shared.map(|(&at, _)| self.loops[at].extent).product();
        loops == self.loops.len() || elements * u64::from(self.width) >= RUN_BYTES
    }
}
