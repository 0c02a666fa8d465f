//! Runs: both sides share their fastest loops. One vector an item, in the destination's order.

use super::{OUTER_LOOPS, Region, Stride, Unsupported};
use crate::launch::{Card, Divisor, Fields, Launch, LongDivisor, THREADS};

/// Most loops that threads go through.
const INNER_LOOPS: usize = 10;
/// Items of a chunk: what a block does at once.
const CHUNK: u64 = THREADS as u64 * 4;
/// Items from which threads have enough to share.
const ENOUGH: u64 = 4 * CHUNK;
/// Sizes of the structs in `relayout.cuh`.
const INNER_BYTES: usize = 32;
const OUTER_BYTES: usize = 40;
const HEAD_BYTES: usize = 80;

/// Moves a region, or fills it with 16 bytes of a pattern.
pub(super) fn launch(
    region: &Region,
    pattern: Option<[u8; 16]>,
    card: Card,
) -> Result<Launch, Unsupported> {
    let order = region.order(|l| l.destination);
    let (mut inner, mut items) = (Vec::new(), 1);
    let mut rest = order.into_iter().map(|at| region.loops[at]).peekable();
    while let Some(next) = rest.peek() {
        if inner.len() == INNER_LOOPS || items >= ENOUGH || items * next.extent >= 1 << 31 {
            break;
        }
        items *= next.extent;
        inner.extend(rest.next());
    }
    let outer: Vec<Stride> = rest.collect();
    if outer.len() > OUTER_LOOPS {
        return Err(Unsupported::Loops {
            loops: region.loops.len(),
        });
    }
    let chunks = items.div_ceil(CHUNK);
    let passes: u64 = outer.iter().map(|l| l.extent).product();
    let work = passes * chunks;
    let by_chunks = LongDivisor::new(chunks);
    let mut fields = Fields::default();
    fields
        .u64(region.source)
        .u64(region.destination)
        .u64(work)
        .u64(chunks)
        .u64(by_chunks.magic)
        .u32(by_chunks.shift)
        .u32(items as u32)
        .u32(inner.len() as u32)
        .u32(outer.len() as u32)
        .zeros_to(HEAD_BYTES - 16)
        .bytes(&pattern.unwrap_or_default());
    for l in &inner {
        let by = Divisor::new(l.extent as u32);
        fields
            .u32(l.extent as u32)
            .u32(by.magic)
            .u32(by.shift)
            .u32(0)
            .i64(l.source)
            .i64(l.destination);
    }
    fields.zeros_to(HEAD_BYTES + INNER_LOOPS * INNER_BYTES);
    put_outer(&mut fields, &outer);
    let name = if pattern.is_some() { "fill" } else { "runs" };
    Ok(Launch {
        kernel: format!("{name}_{}", region.width).into(),
        blocks: card.blocks(work),
        shared_bytes: 0,
        parameters: fields.finish(),
    })
}

/// Loops that work items go through, and the array's rest; extents and strides of these.
pub(super) fn put_outer(fields: &mut Fields, outer: &[Stride]) {
    let end = fields.len() + OUTER_LOOPS * OUTER_BYTES;
    for l in outer {
        let by = LongDivisor::new(l.extent);
        fields
            .u64(l.extent)
            .u64(by.magic)
            .i64(l.source)
            .i64(l.destination)
            .u32(by.shift)
            .u32(0);
    }
    fields.zeros_to(end);
}
