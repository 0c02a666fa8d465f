//! Relayouts on the device: the launches that a plan becomes.
//!
//! A box whose sides share their fastest loops is moved in runs ([`runs`]), any other through tiles
//! in shared memory ([`tiles`]); a fill is runs without a source. All addresses are known here, so
//! that each launch takes the widest accesses that they allow.

mod runs;
mod tiles;

use minormajor::plan::{FillBox, MoveBox, Plan};

use crate::launch::{Card, Launch};

/// Most loops that work items go through; a box in any memory has fewer.
const OUTER_LOOPS: usize = 40;

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
    /// More loops than fit a launch's parameters.
    #[error("a box has {loops} loops, more than a launch can take")]
    #[allow(missing_docs)]
    Loops { loops: usize },
}

/// A loop of a box; strides in bytes, 0 on the source's side of a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stride {
    extent: u64,
    source: i64,
    destination: i64,
}

/// A box with its addresses; an element has `width` bytes.
#[derive(Clone, Debug)]
struct Region {
    source: u64,
    destination: u64,
    width: u32,
    loops: Vec<Stride>,
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

/// Bytes of a run from which a sector of memory is worth reading for it alone.
const RUN_BYTES: u64 = 64;

impl Region {
    fn of_move(made: &MoveBox, width: u32, source: u64, destination: u64) -> Region {
        // Positions lie inside buffers whose bytes fit 63 bits.
        let bytes = i64::from(width);
        let loops = made.loops.iter().map(|l| Stride {
            extent: l.extent as u64,
            source: l.source * bytes,
            destination: l.destination * bytes,
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
        let loops = fill.loops.iter().map(|l| Stride {
            extent: l.extent as u64,
            source: l.destination * bytes,
            destination: l.destination * bytes,
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
    fn widened(mut self) -> Region {
        let bytes = i64::from(self.width);
        let run = |l: &Stride| l.source == bytes && l.destination == bytes;
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
            run.source = i64::from(width);
            run.destination = i64::from(width);
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
        let other = |(place, l): (usize, &Stride)| {
            place == run || (l.source | l.destination) as u64 & (wide - 1) == 0
        };
        (self.source | self.destination) & (wide - 1) == 0
            && (self.loops[run].extent * u64::from(self.width)).is_multiple_of(wide)
            && self.loops.iter().enumerate().all(other)
    }

    /// Regions whose loops each run at most 2^30 times.
    fn split(self) -> Vec<Region> {
        const MOST: u64 = 1 << 30;
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
                last.source = last.source.wrapping_add_signed(steps(first, long.source));
                let offset = steps(first, long.destination);
                last.destination = last.destination.wrapping_add_signed(offset);
                last.loops[at].extent = rest;
                last.loops.retain(|l| l.extent > 1);
                open.push(last);
            }
            region.loops[at].extent = MOST;
            if times > 1 {
                region.loops.push(Stride {
                    extent: times,
                    source: steps(MOST, long.source),
                    destination: steps(MOST, long.destination),
                });
            }
            open.push(region);
        }
        done
    }

    /// Places of loops, the smallest stride of a side first; one that repeats elements last.
    fn order(&self, side: impl Fn(&Stride) -> i64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.loops.len()).collect();
        order.sort_by_key(|&at| match side(&self.loops[at]) {
            0 => u64::MAX,
            stride => stride.unsigned_abs(),
        });
        order
    }

    /// Whether both sides go through the same loops first, for long enough.
    fn is_runs(&self) -> bool {
        let order = self.order(|l| l.source);
        let shared = order
            .iter()
            .zip(self.order(|l| l.destination))
            .take_while(|(a, b)| **a == *b);
        let loops = shared.clone().count();
        let elements: u64 = shared.map(|(&at, _)| self.loops[at].extent).product();
        loops == self.loops.len() || elements * u64::from(self.width) >= RUN_BYTES
    }
}
