//! What a relayout in blocks costs, and arrays to stop at on the way where memory is short.
//!
//! In memory of M elements a block of a matrix that is turned has runs of √M elements on either
//! side. Through tiles of a times b elements it is otherwise: on the way to them a block is a row
//! of tiles, so that reads are M/a long and each tile is written in one piece; on the way from
//! them it is a column of tiles, so that writes are M/b long. With a = b = ∛M no run is shorter
//! than the square of that. Whether two such passes take less time than one is a sum: every byte
//! moves twice, and runs cost what they cost.

use smallvec::SmallVec;

use super::{Stream, StreamError};
use crate::array::ArrayShape;
use crate::layout::{Layout, Tile};

/// Bytes that are read, moved and written in a microsecond by one thread where no run is short.
const BYTES: u64 = 500;

impl Stream {
    /// About how long one thread takes for all blocks, in nanoseconds, where both files lie in
    /// the system's cache, or are too large for it and on a fast disk.
    ///
    /// ```
    /// use minormajor_core::{Shape, Stream};
    ///
    /// let source: Shape = "f32[32768,32768]{1,0}".parse()?;
    /// let destination: Shape = "f32[32768,32768]{0,1}".parse()?;
    /// let (source, destination) = (source.as_array()?, destination.as_array()?);
    /// let roomy = Stream::new(source, destination, 128 << 20)?;
    /// let tight = Stream::new(source, destination, 64 << 10)?;
    /// assert!(tight.nanoseconds() > 5 * roomy.nanoseconds());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn nanoseconds(&self) -> u64 {
        let (from, to) = (self.source.bytes(), self.destination.bytes());
        let reads = from / self.source_run_bytes().max(1);
        let writes = to / self.destination_run_bytes().max(1);
        let runs = reads.saturating_mul(self.read_cost());
        runs.saturating_add(writes.saturating_mul(super::WRITE))
            .saturating_add(from.max(to).saturating_mul(1000) / BYTES)
    }

    /// The array to stop at, if any makes two passes that together are faster than one, or
    /// possible at all: each in blocks of at most `memory`.
    ///
    /// # Errors
    ///
    /// As [`smallest`](Stream::smallest).
    ///
    /// ```
    /// use minormajor_core::{Shape, Stream};
    ///
    /// let source: Shape = "f32[32768,32768]{1,0}".parse()?;
    /// let destination: Shape = "f32[32768,32768]{0,1}".parse()?;
    /// let (source, destination) = (source.as_array()?, destination.as_array()?);
    /// assert_eq!(Stream::between(source, destination, 64 << 20)?, None);
    /// // In little memory, through tiles.
    /// let tiles = Stream::between(source, destination, 64 << 10)?.unwrap();
    /// assert!(!tiles.layout().unwrap().tiles().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn between(
        source: &ArrayShape,
        destination: &ArrayShape,
        memory: u64,
    ) -> Result<Option<ArrayShape>, StreamError> {
        let smallest = Stream::smallest(source, destination)?;
        let (from, to) = (&smallest.source, &smallest.destination);
        if from.bytes() == 0 || to.bytes() == 0 {
            return Ok(None);
        }
        let once = Stream::new(source, destination, memory).map(|stream| stream.nanoseconds());
        let mut best = once.unwrap_or(u64::MAX);
        // Two passes move every byte twice.
        let bytes = from.bytes().max(to.bytes());
        if best / 2 <= bytes.saturating_mul(1000) / BYTES {
            return Ok(None);
        }
        // The narrower elements make the smaller array.
        let elements = match source.element_bits() < destination.element_bits() {
            true => source,
            false => destination,
        };
        let layout = |side: &ArrayShape| side.layout().cloned().map(Layout::without_tiles);
        let mut candidates = Vec::new();
        for order in [source, destination] {
            candidates.extend(layout(order).and_then(|order| plain(elements, order)));
        }
        let mut tile = memory;
        while let Ok(stream) = Stream::new(source, destination, tile) {
            let order = layout(destination);
            candidates.extend(order.and_then(|order| stream.tiles(elements, order)));
            tile /= 2;
        }
        let mut chosen = None;
        for middle in candidates {
            let passes = [(source, &middle), (&middle, destination)];
            let passes = passes.map(|(from, to)| Stream::new(from, to, memory));
            if let [Ok(first), Ok(second)] = passes {
                let twice = first.nanoseconds().saturating_add(second.nanoseconds());
                if twice < best {
                    best = twice;
                    chosen = Some(middle);
                }
            }
        }
        Ok(chosen)
    }

    /// An array of tiles, each of which is a block, or somewhat less.
    fn tiles(&self, elements: &ArrayShape, order: Layout) -> Option<ArrayShape> {
        let sides: SmallVec<[i64; 6]> = (0..self.sizes.len())
            .map(|d| {
                let (size, step) = (self.sizes[d].max(1), self.steps[d]);
                let (count, unit) = ((size as u64).div_ceil(step as u64), self.unit(d).max(1));
                // As many tiles, with less padding at the end.
                let side = (size as u64).div_ceil(count) as i64;
                (side as u64).div_ceil(unit as u64) as i64 * unit
            })
            .collect();
        let physical = order.minor_to_major().iter().rev();
        let tile = Tile::new(physical.map(|&d| sides[d]).collect::<Vec<_>>());
        plain(elements, order).and_then(|shape| {
            let layout = shape.layout()?.clone().with_tiles([tile]).ok()?;
            shape.with_layout(layout).ok()
        })
    }
}

/// The elements of an array in an order, without padding or alignment.
fn plain(elements: &ArrayShape, order: Layout) -> Option<ArrayShape> {
    let order = order.minor_to_major().iter().map(|&d| d as i64);
    let bits = elements.layout()?.element_size_in_bits();
    let layout = Layout::new(order).ok()?;
    let layout = layout.with_element_size_in_bits(bits).ok()?;
    elements.with_layout(layout).ok()
}
