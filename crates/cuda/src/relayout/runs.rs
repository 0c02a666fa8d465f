//! Runs: both sides share their fastest loops. One vector an item, in the destination's order.

use super::{Region, Unsupported};
use crate::launch::{Card, Fields, Launch};
use crate::walk::Walk;

/// Moves a region, or fills it with 16 bytes of a pattern.
pub(crate) fn launch(
    region: &Region,
    pattern: Option<[u8; 16]>,
    card: Card,
) -> Result<Launch, Unsupported> {
    let order = region.order(|l| l.strides[1]);
    let walk = Walk::new(order.into_iter().map(|at| region.loops[at]))?;
    let mut fields = Fields::default();
    fields
        .u64(region.source)
        .u64(region.destination)
        .bytes(&pattern.unwrap_or_default());
    walk.put(&mut fields);
    fields.pad_to_16();
    let name = if pattern.is_some() { "fill" } else { "runs" };
    Ok(Launch {
        kernel: format!("{name}_{}", region.width).into(),
        blocks: card.blocks(walk.work),
        shared_bytes: 0,
        parameters: fields.finish(),
    })
}
