//! In place: from one layout to another inside one buffer, with as little memory beside it as the
//! caller likes.
//!
//! A layout is what becomes of the dense array when extents grow and dimensions change places
//! ([`change`]); a way from one layout to another is such changes, backwards and forwards.
//! Changes of extents move rows up or down in memory, one after the other. A change of order is
//! a route of exchanges of neighbouring dimensions ([`route`]), each of which transposes a matrix
//! of blocks ([`exchange`]). Changes that lie inside the same windows of memory go through it
//! together ([`windows`]). Packed elements that such steps would have to cut bytes for go one by
//! one ([`elements`]).

mod change;
mod elements;
mod exchange;
mod extents;

mod resize;
mod route;
mod step;
mod transpose;
mod windows;

use std::fmt;

pub use elements::{ElementMove, PackedElements};
pub use step::Step;

use crate::array::ArrayShape;
use crate::plan::{Plan, PlanClass, PlanError};
use change::Change;
use exchange::Exchanges;
use transpose::Transpose;

/// How an array moves from one layout to another inside one buffer.
///
/// Steps first move the elements to their places; then the fills of [`plan`](Self::plan) write
/// the padding. Padding of the value `unknown` is undefined afterwards.
///
/// ```
/// use minormajor_core::{InPlacePlan, Shape};
///
/// let rows: Shape = "f32[4096,4096]{1,0}".parse()?;
/// let columns: Shape = "f32[4096,4096]{0,1}".parse()?;
/// let plan = InPlacePlan::new(rows.as_array()?, columns.as_array()?, 0)?;
/// assert_eq!(plan.buffer_bytes(), 64 << 20);
/// assert_eq!(plan.steps()[0].to_string(), "swap in pairs: 4096 x 4096 blocks of 4 bytes");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct InPlacePlan {
    plan: Plan,
    steps: Vec<Step>,
    buffer_bytes: i64,
    scratch_bytes: i64,
}

/// The least scratch, in bytes: without any nothing moves.
const LEAST_SCRATCH: i64 = 256;

impl InPlacePlan {
    /// The plan that moves an array from one layout to another in one buffer, on threads that
    /// have `scratch` bytes each, and at least 256.
    ///
    /// The buffer has the bytes of the layout that takes more.
    ///
    /// # Errors
    ///
    /// [`PlanError`] where there is no [`Plan`] from the one to the other.
    pub fn new(
        source: &ArrayShape,
        destination: &ArrayShape,
        scratch: i64,
    ) -> Result<InPlacePlan, PlanError> {
        let plan = Plan::new(source, destination)?;
        let buffer_bytes = plan.source_bytes().max(plan.destination_bytes());
        let scratch = scratch.max(LEAST_SCRATCH);
        let stays = matches!(plan.class(), PlanClass::Identity | PlanClass::Retag);
        let mut steps = Vec::new();
        if !stays && plan.bytes_read() > 0 {
            let mut lowering = Lowering {
                room: buffer_bytes,
                exchanges: Exchanges::new(scratch),
            };
            steps = match change::between(source, destination)? {
                Some(changes) => lowering.steps(&changes),
                None => vec![Step::Elements(Box::new(PackedElements::new(
                    source,
                    destination,
                )?))],
            };
        }
        let scratch_bytes = steps.iter().map(|step| step.scratch(scratch)).max();
        Ok(InPlacePlan {
            plan,
            steps,
            buffer_bytes,
            scratch_bytes: scratch_bytes.unwrap_or(0),
        })
    }

    /// The ordinary plan, from one buffer to another: what it is, and what it fills.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The steps that move the elements, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Bytes that the buffer must have: those of the layout that takes more.
    pub fn buffer_bytes(&self) -> i64 {
        self.buffer_bytes
    }

    /// Bytes of scratch that each thread needs.
    pub fn scratch_bytes(&self) -> i64 {
        self.scratch_bytes
    }

    /// Bytes that the steps move, counted as often as they are moved.
    pub fn bytes_moved(&self) -> i64 {
        let steps = self.steps.iter().map(Step::bytes_moved);
        steps.fold(0, i64::saturating_add)
    }
}

impl fmt::Display for InPlacePlan {
    /// The steps, one a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.steps.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{step}")?;
        }
        Ok(())
    }
}

/// From changes to steps.
struct Lowering {
    /// Bytes of the buffer.
    room: i64,
    exchanges: Exchanges,
}

/// Memory that is not cut into windows: the caches take it whole.
const WHOLE: i64 = 64 << 10;

/// Matrices beyond this are not done one by one by all their steps: no cache keeps them.
const CACHED: i64 = 8 << 20;

impl Lowering {
    fn steps(&mut self, changes: &[Change]) -> Vec<Step> {
        let windowed = windows::windowed(changes);
        let bytes = windowed
            .iter()
            .map(|w| w.count * w.before.max(w.after))
            .max();
        let mut steps = Vec::new();
        let groups = if bytes.unwrap_or(0) > WHOLE {
            windows::groups(&windowed, self.room)
        } else {
            windowed.iter().map(windows::Group::single).collect()
        };
        for group in groups {
            self.group(&group, &mut steps);
        }
        steps
    }

    fn group(&mut self, group: &windows::Group, steps: &mut Vec<Step>) {
        match (&group.changes[..], group.count) {
            ([Change::Resize(resize)], 1) => steps.push(Step::Resize {
                from: resize.from.to_vec(),
                to: resize.to.to_vec(),
            }),
            ([Change::Transpose(transpose)], 1) => {
                if let Some(transpose) = transpose.canonical() {
                    self.transpose(&transpose, steps);
                }
            }
            _ => {
                let whole = self.each(group, 0, 0);
                let Some(rest) = &group.rest else {
                    steps.push(whole);
                    return;
                };
                let (source, destination) = (group.count * group.before, group.count * group.after);
                let rest = self.each(rest, source, destination);
                // Where windows grow, the last one moves away first.
                if group.after > group.before {
                    steps.extend([rest, whole]);
                } else {
                    steps.extend([whole, rest]);
                }
            }
        }
    }

    fn each(&mut self, group: &windows::Group, source: i64, destination: i64) -> Step {
        let room = std::mem::replace(&mut self.room, group.before.max(group.after));
        let steps = self.steps(&group.changes);
        self.room = room;
        Step::Each {
            source,
            destination,
            count: group.count,
            before: group.before,
            after: group.after,
            steps,
        }
    }

    fn transpose(&mut self, transpose: &Transpose, steps: &mut Vec<Step>) {
        let (outer, _) = transpose.fixed();
        let batches = extents::product(&transpose.extents[..outer]);
        let one = Transpose {
            extents: transpose.extents[outer..].into(),
            order: transpose.order[outer..].iter().map(|d| d - outer).collect(),
        };
        let mut made = route::steps(&one, &mut self.exchanges, batches);
        let bytes = one.bytes();
        if batches > 1 && made.len() > 1 && bytes <= CACHED {
            made = vec![Step::Each {
                source: 0,
                destination: 0,
                count: batches,
                before: bytes,
                after: bytes,
                steps: route::steps(&one, &mut self.exchanges, 1),
            }];
        }
        steps.append(&mut made);
    }
}
