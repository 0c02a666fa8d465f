//! Tiles: a box's sides have different fastest loops, which meet in shared memory.
//!
//! A tile takes a part of some loops: of those that are fastest in the source, its *load columns*,
//! until a read is long enough, and of those that are fastest in the destination, its *store
//! columns*, until a write is. A transpose of two large dimensions is a tile of 64 by 64; the
//! reversal of fifteen dimensions of 3 one of four of them by four others. What a tile has beside
//! its columns are its rows.

use super::{Region, Unsupported};
use crate::launch::{Card, Divisor, Fields, Launch};
use crate::walk::{OUTER_LOOPS, Step, put_outer};

/// Bytes of a tile and its tables: blocks may have more only where they ask the driver first.
const SHARED_BYTES: u64 = 48 << 10;
/// Bytes up to which a tile grows: enough for every thread to have work.
const ENOUGH_BYTES: u64 = 32 << 10;
/// Bytes below which it does.
const FEW_BYTES: u64 = 16 << 10;
/// Most elements of a row that grows. On an H100 images of three channels in f32 are moved at 0.38 of a copy's speed in rows of
/// 768 elements, and at 0.85 in rows of 3072.
const LONGEST_ROW: u64 = 4096;
/// Digits of a table, and its bytes, in `relayout.cuh`.
const TABLE_DIGITS: usize = 10;
const DIGIT_BYTES: usize = 24;
/// A table that no ragged loop cuts.
const WHOLE: u32 = 2;

/// Which steps of the loops are in a tile.
#[derive(Clone, Debug)]
struct Tile<'a> {
    region: &'a Region,
    /// Steps of each loop; 1 for a loop that is not in the tile.
    steps: Vec<u64>,
    /// Loops whose steps lie beside each other in the source, the fastest first; then those of the
    /// destination. A loop may be in both.
    load_columns: Vec<usize>,
    store_columns: Vec<usize>,
    /// Loops of the tile in neither.
    others: Vec<usize>,
}

/// How threads read and write: see the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    /// Elements of a word in shared memory.
    pack: u64,
    /// Elements that are read at once.
    load: u64,
    /// Words that are written at once.
    store: u64,
}

/// Moves a region.
pub(super) fn launch(region: &Region, card: Card) -> Result<Launch, Unsupported> {
    let mut tile = Tile::new(region);
    let mut access = tile.access();
    // Where a tile and its tables are too large, the longer columns are cut in half.
    while tile.shared_bytes(access) > SHARED_BYTES {
        tile.shrink();
        access = tile.access();
    }
    tile.launch(access, card)
}

impl<'a> Tile<'a> {
    fn new(region: &'a Region) -> Tile<'a> {
        let mut tile = Tile {
            region,
            steps: vec![1; region.loops.len()],
            load_columns: Vec::new(),
            store_columns: Vec::new(),
            others: Vec::new(),
        };
        tile.load_columns = tile.take(region.order(|l| l.strides[0]));
        tile.store_columns = tile.take(region.order(|l| l.strides[1]));
        tile.grow();
        tile
    }

    /// Takes loops in an order until there are enough elements for a long access. Only the last
    /// one may be cut into chunks.
    fn take(&mut self, order: Vec<usize>) -> Vec<usize> {
        let target: u64 = match self.region.width {
            1 => 128,
            2 | 4 => 64,
            _ => 32,
        };
        let (mut taken, mut elements) = (Vec::new(), 1);
        for at in order {
            if elements * 4 >= target * 3 {
                break;
            }
            let extent = self.region.loops[at].extent;
            let steps = match target.div_ceil(elements) {
                _ if elements * extent <= target + target / 2 => extent,
                few => few.next_power_of_two().min(target).min(extent),
            };
            self.steps[at] = self.steps[at].max(steps);
            taken.push(at);
            elements *= steps;
            if steps < extent {
                break;
            }
        }
        taken
    }

    fn bytes(&self) -> u64 {
        self.steps.iter().product::<u64>() * u64::from(self.region.width)
    }

    /// Makes a small tile larger: one whose sides share loops.
    fn grow(&mut self) {
        if self.bytes() >= FEW_BYTES {
            return;
        }
        for at in [self.store_columns.last(), self.load_columns.last()] {
            let Some(&at) = at else { continue };
            while self.steps[at] * 2 <= self.region.loops[at].extent
                && self.bytes() * 2 <= ENOUGH_BYTES
                && [&self.load_columns, &self.store_columns]
                    .into_iter()
                    .all(|side| !side.contains(&at) || self.entries(side) * 2 <= LONGEST_ROW)
                && self.is_last(at)
            {
                self.steps[at] *= 2;
            }
        }
        for at in self.region.order(|l| l.strides[1]) {
            let extent = self.region.loops[at].extent;
            if self.steps[at] > 1 || self.others.len() == 2 {
                continue;
            }
            let most = ENOUGH_BYTES / self.bytes();
            // A divisor: chunks of these loops are never ragged.
            let steps = (2..=most.min(extent))
                .rev()
                .find(|n| extent.is_multiple_of(*n));
            if let Some(steps) = steps {
                self.steps[at] = steps;
                self.others.push(at);
            }
        }
    }

    /// Whether a loop that may be cut into chunks is the last one wherever it is.
    fn is_last(&self, at: usize) -> bool {
        [&self.load_columns, &self.store_columns]
            .into_iter()
            .all(|side| !side.contains(&at) || side.last() == Some(&at))
    }

    fn shrink(&mut self) {
        self.others.drain(..).for_each(|at| self.steps[at] = 1);
        let last = [&self.load_columns, &self.store_columns].map(|side| side.last().copied());
        let longest = last.into_iter().flatten().max_by_key(|&at| self.steps[at]);
        if let Some(at) = longest {
            // Only a last column may be ragged: others shrink to a divisor.
            let half = self.steps[at].div_ceil(2);
            let extent = self.region.loops[at].extent;
            self.steps[at] = match self.is_last(at) {
                true => half,
                false => (1..=half)
                    .rev()
                    .find(|n| extent.is_multiple_of(*n))
                    .unwrap_or(1),
            };
            for side in [&mut self.load_columns, &mut self.store_columns] {
                if self.steps[at] == 1 {
                    side.retain(|&other| other != at);
                }
            }
        }
    }

    fn entries(&self, loops: &[usize]) -> u64 {
        loops.iter().map(|&at| self.steps[at]).product()
    }

    fn is_ragged(&self, at: usize) -> bool {
        !self.region.loops[at].extent.is_multiple_of(self.steps[at])
    }

    /// The loops of a tile that are not among some columns; ragged ones last.
    fn rows(&self, columns: &[usize], other: &[usize]) -> Vec<usize> {
        let mut rows: Vec<usize> = other
            .iter()
            .chain(&self.others)
            .copied()
            .filter(|at| !columns.contains(at))
            .collect();
        rows.sort_by_key(|&at| self.is_ragged(at));
        rows
    }

    fn load_rows(&self) -> Vec<usize> {
        self.rows(&self.load_columns, &self.store_columns)
    }

    fn store_rows(&self) -> Vec<usize> {
        self.rows(&self.store_columns, &self.load_columns)
    }

    /// The largest power of two of elements, 16 bytes at most, that lie beside each other and
    /// begin at multiples of themselves on a side, wherever a tile begins or ends.
    fn vector(&self, columns: &[usize], base: u64, side: impl Fn(&Step) -> i64) -> u64 {
        let width = u64::from(self.region.width);
        let mut vector = 16 / width;
        while vector > 1 && !self.fits(vector, columns, base, &side) {
            vector /= 2;
        }
        vector
    }

    fn fits(
        &self,
        vector: u64,
        columns: &[usize],
        base: u64,
        side: &impl Fn(&Step) -> i64,
    ) -> bool {
        let width = u64::from(self.region.width);
        let bytes = vector * width;
        let is_multiple = |stride: i64| stride.unsigned_abs().is_multiple_of(bytes);
        let mut run = 1;
        let mut along = columns.iter().peekable();
        // What one vector takes: whole loops, and a part of one.
        let mut inside = Vec::new();
        while let Some(&&at) = along.peek() {
            let l = &self.region.loops[at];
            if run >= vector || side(l) != (run * width) as i64 {
                break;
            }
            // Both a whole chunk and the last one.
            let parts = [self.steps[at], l.extent % self.steps[at]];
            if run * self.steps[at] >= vector
                && !parts.iter().all(|part| (run * part).is_multiple_of(vector))
            {
                return false;
            }
            if run * self.steps[at] < vector && self.steps[at] < l.extent {
                return false;
            }
            run *= self.steps[at];
            inside.push(at);
            along.next();
        }
        let places = 0..self.region.loops.len();
        run.is_multiple_of(vector)
            && base.is_multiple_of(bytes)
            && places.into_iter().all(|at| {
                let l = &self.region.loops[at];
                match inside.contains(&at) {
                    true => {
                        self.steps[at] == l.extent || is_multiple(side(l) * self.steps[at] as i64)
                    }
                    false => is_multiple(side(l)),
                }
            })
    }

    fn access(&self) -> Access {
        let region = self.region;
        let read = self.vector(&self.load_columns, region.source, |l| l.strides[0]);
        let written = self.vector(&self.store_columns, region.destination, |l| l.strides[1]);
        let pack = 4 / u64::from(region.width.min(4));
        if pack > 1 && read >= pack && written >= pack && self.packs(pack) {
            let most = 16 / u64::from(region.width);
            return Access {
                pack,
                load: if read == most { most } else { pack },
                store: if written == most { 4 } else { 1 },
            };
        }
        let most = 16 / u64::from(region.width);
        let whole = |vector: u64| if vector == most { most } else { 1 };
        Access {
            pack: 1,
            load: whole(read),
            store: whole(written),
        }
    }

    /// Whether so many rows of the load side are always neighbours in the destination.
    fn packs(&self, pack: u64) -> bool {
        let rows = self.load_rows();
        let shared = rows.iter().zip(&self.store_columns);
        let mut elements = 1;
        for (&at, _) in shared.take_while(|(row, column)| row == column) {
            let last = self.region.loops[at].extent % self.steps[at];
            elements *= self.steps[at];
            if elements.is_multiple_of(pack) {
                return (elements / self.steps[at] * last).is_multiple_of(pack);
            }
        }
        false
    }

    /// Words from row to row.
    fn pitch(&self) -> u64 {
        self.entries(&self.load_columns) | 1
    }

    fn tile_bytes(&self, access: Access) -> u64 {
        let rows = self.entries(&self.load_rows()) / access.pack;
        let word = u64::from(self.region.width) * access.pack;
        (rows * self.pitch() * word).next_multiple_of(16)
    }

    fn shared_bytes(&self, access: Access) -> u64 {
        let [load_rows, load_columns] =
            [&self.load_rows(), &self.load_columns].map(|l| self.entries(l));
        let [store_rows, store_columns] =
            [&self.store_rows(), &self.store_columns].map(|l| self.entries(l));
        let words = store_columns / access.pack;
        let places = load_rows + load_columns / access.load + store_rows + words / access.store;
        self.tile_bytes(access) + 8 * places + 4 * (store_rows + words)
    }

    fn launch(&self, access: Access, card: Card) -> Result<Launch, Unsupported> {
        let region = self.region;
        let mut outer: Vec<usize> = (0..region.loops.len())
            .filter(|&at| self.steps[at] < region.loops[at].extent)
            .collect();
        // Tiles that follow each other lie near each other on one of the sides.
        outer.sort_by_key(|&at| {
            let l = &region.loops[at];
            let [source, destination] = l.strides.map(i64::unsigned_abs);
            source.min(destination) * self.steps[at]
        });
        if outer.len() > OUTER_LOOPS {
            return Err(Unsupported::Loops {
                loops: region.loops.len(),
            });
        }
        let ragged: Vec<usize> = outer
            .iter()
            .copied()
            .filter(|&at| self.is_ragged(at))
            .collect();
        debug_assert!(ragged.len() <= 2, "only the last column of a side is cut");
        let chunks: Vec<Step> = outer
            .iter()
            .map(|&at| {
                let l = &region.loops[at];
                Step {
                    extent: l.extent.div_ceil(self.steps[at]),
                    strides: l.strides.map(|stride| stride * self.steps[at] as i64),
                }
            })
            .collect();
        let work: u64 = chunks.iter().map(|l| l.extent).product();
        let mut fields = Fields::default();
        fields
            .u64(region.source)
            .u64(region.destination)
            .u64(work)
            .u32(self.pitch() as u32)
            .u32(self.tile_bytes(access) as u32)
            .u32(outer.len() as u32)
            .u32(0);
        for n in 0..2 {
            match ragged.get(n) {
                Some(at) => fields
                    .u64(region.loops[*at].extent)
                    .u32(self.steps[*at] as u32)
                    .u32(outer.iter().position(|o| o == at).unwrap_or(0) as u32),
                None => fields.u64(0).u32(0).u32(u32::MAX),
            };
        }
        let width = u64::from(region.width);
        let (load_rows, store_rows) = (self.load_rows(), self.store_rows());
        // Elements from one step of a loop to the next, in the tile.
        let places = self.places(&load_rows, access);
        let put_side = |fields: &mut Fields,
                        rows: &[usize],
                        columns: &[usize],
                        group: u64,
                        vector: u64,
                        spread: u64,
                        side: &dyn Fn(&Step) -> i64| {
            let lines = self.entries(rows) / group;
            let vectors = self.entries(columns) / vector;
            let lanes = lanes(lines, vectors, width * access.pack, spread);
            let across = vectors.div_ceil(1 << lanes);
            let down = lines.div_ceil(32 >> lanes);
            let by = Divisor::new(across as u32);
            fields
                .u32(lanes)
                .u32(across as u32)
                .u32(by.magic)
                .u32(by.shift)
                .u32((across * down) as u32)
                .u32(0);
            self.put_table(fields, rows, &ragged, &places, side);
            self.put_table(fields, columns, &ragged, &places, side);
        };
        let word_columns = access.store * access.pack;
        put_side(
            &mut fields,
            &load_rows,
            &self.load_columns,
            access.pack,
            access.load,
            access.load,
            &|l| l.strides[0],
        );
        put_side(
            &mut fields,
            &store_rows,
            &self.store_columns,
            1,
            word_columns,
            access.store,
            &|l| l.strides[1],
        );
        put_outer(&mut fields, &chunks, OUTER_LOOPS);
        Ok(Launch {
            kernel: format!(
                "tiles_{width}_{}_{}_{}",
                access.pack, access.load, access.store
            )
            .into(),
            blocks: card.blocks(work),
            shared_bytes: self.shared_bytes(access) as u32,
            parameters: fields.finish(),
        })
    }

    /// Elements of the tile from one step of each loop to the next; words hold `pack` of them,
    /// from different rows.
    fn places(&self, load_rows: &[usize], access: Access) -> Vec<u64> {
        let mut places = vec![0; self.steps.len()];
        let mut place = access.pack;
        for &at in &self.load_columns {
            places[at] = place;
            place *= self.steps[at];
        }
        let mut place = self.pitch();
        for &at in load_rows {
            places[at] = place;
            place *= self.steps[at];
        }
        places
    }

    fn put_table(
        &self,
        fields: &mut Fields,
        loops: &[usize],
        ragged: &[usize],
        places: &[u64],
        side: &dyn Fn(&Step) -> i64,
    ) {
        let end = fields.len() + 16 + TABLE_DIGITS * DIGIT_BYTES;
        let cut = loops
            .last()
            .and_then(|at| Some((ragged.iter().position(|r| r == at)?, self.steps[*at])));
        let entries = self.entries(loops);
        fields.u32(entries as u32).u32(loops.len() as u32);
        match cut {
            Some((which, steps)) => fields.u32(which as u32).u32((entries / steps) as u32),
            None => fields.u32(WHOLE).u32(0),
        };
        for &at in loops {
            let steps = self.steps[at] as u32;
            let by = Divisor::new(steps);
            fields
                .u32(steps)
                .u32(by.magic)
                .u32(by.shift)
                .u32(places[at] as u32)
                .i64(side(&self.region.loops[at]));
        }
        fields.zeros_to(end);
    }
}

/// The power of two of vectors that a warp takes of each line. A warp reaches shared memory
/// without conflicts where it takes as many lines as a vector has words, since lines are an odd
/// number of words apart.
fn lanes(lines: u64, vectors: u64, word: u64, spread: u64) -> u32 {
    // 4-byte words are reached by 32 lanes at once, 8-byte ones by 16, 16-byte ones by 8.
    let group = if word <= 4 { 32 } else { 128 / word };
    let words = spread * word.min(4) / 4;
    let mut lanes = if words > 1 { group / words } else { 32 };
    while 32 / lanes > lines.next_power_of_two() && lanes < 32 {
        lanes *= 2;
    }
    lanes.min(vectors.next_power_of_two()).trailing_zeros()
}
