//! The struct `Walk` of kernels: through the elements of one or two places.

use crate::launch::{Divisor, Fields, LongDivisor, THREADS};
use crate::relayout::Unsupported;

/// Most loops that work items go through; an array in any memory has fewer.
pub(crate) const OUTER_LOOPS: usize = 40;
/// Most loops that threads go through.
const INNER_LOOPS: usize = 10;
/// Items of a chunk: what a block does at once.
const CHUNK: u64 = THREADS as u64 * 4;
/// Items from which threads have enough to share.
const ENOUGH: u64 = 4 * CHUNK;
/// Most steps of a loop.
pub(crate) const MOST: u64 = 1 << 30;
/// Sizes of the structs in `platform.cuh`.
const INNER_BYTES: usize = 32;
pub(crate) const OUTER_BYTES: usize = 40;

/// A loop over two places; strides in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub extent: u64,
    pub strides: [i64; 2],
}

/// Loops, fastest first, shared between work items and threads.
#[derive(Debug)]
pub(crate) struct Walk {
    inner: Vec<Step>,
    outer: Vec<Step>,
    /// Items of a pass through the inner loops.
    items: u64,
    chunks: u64,
    pub work: u64,
}

impl Walk {
    /// Of loops of at least one step each, fastest first.
    pub fn new(loops: impl IntoIterator<Item = Step>) -> Result<Walk, Unsupported> {
        let mut all = Vec::new();
        for l in loops {
            cut(l, &mut all)?;
        }
        let loops = all.len();
        let (mut inner, mut items) = (Vec::new(), 1);
        let mut rest = all.into_iter().peekable();
        while let Some(next) = rest.peek() {
            if inner.len() == INNER_LOOPS || items >= ENOUGH || items * next.extent >= 1 << 31 {
                break;
            }
            items *= next.extent;
            inner.extend(rest.next());
        }
        let outer: Vec<Step> = rest.collect();
        if outer.len() > OUTER_LOOPS {
            return Err(Unsupported::Loops { loops });
        }
        let chunks = items.div_ceil(CHUNK);
        let passes: u64 = outer.iter().map(|l| l.extent).product();
        Ok(Walk {
            inner,
            outer,
            items,
            chunks,
            work: passes * chunks,
        })
    }

    /// Writes the struct.
    pub fn put(&self, fields: &mut Fields) {
        let by_chunks = LongDivisor::new(self.chunks);
        fields
            .u64(self.work)
            .u64(self.chunks)
            .u64(by_chunks.magic)
            .u32(by_chunks.shift)
            .u32(self.items as u32)
            .u32(self.inner.len() as u32)
            .u32(self.outer.len() as u32);
        let end = fields.len() + INNER_LOOPS * INNER_BYTES;
        for l in &self.inner {
            let by = Divisor::new(l.extent as u32);
            fields
                .u32(l.extent as u32)
                .u32(by.magic)
                .u32(by.shift)
                .u32(0)
                .i64(l.strides[0])
                .i64(l.strides[1]);
        }
        fields.zeros_to(end);
        put_outer(fields, &self.outer, OUTER_LOOPS);
    }
}

/// A loop as loops of few enough steps: of more than 2^30 a divisor is split off.
fn cut(l: Step, to: &mut Vec<Step>) -> Result<(), Unsupported> {
    let mut l = l;
    while l.extent > MOST {
        let part = (1..=1 << 20)
            .rev()
            .find(|part| l.extent.is_multiple_of(*part))
            .filter(|&part| part > 1)
            .ok_or(Unsupported::Extent { extent: l.extent })?;
        to.push(Step { extent: part, ..l });
        l.extent /= part;
        l.strides = l.strides.map(|stride| stride * part as i64);
    }
    to.push(l);
    Ok(())
}

/// An array of the struct `Outer`.
pub(crate) fn put_outer(fields: &mut Fields, outer: &[Step], room: usize) {
    let end = fields.len() + room * OUTER_BYTES;
    for l in outer {
        let by = LongDivisor::new(l.extent);
        fields
            .u64(l.extent)
            .u64(by.magic)
            .i64(l.strides[0])
            .i64(l.strides[1])
            .u32(by.shift)
            .u32(0);
    }
    fields.zeros_to(end);
}
