//! The questions about bitcasts against brute force: all pairs of layouts of small arrays, the
//! positions of all elements compared one by one.

use std::fmt;
use std::ops::AddAssign;

use minormajor_core::bitcast::{Bitcast, Operation};
use minormajor_core::{ArrayShape, ElementType, Layout, PaddingValue, Tile, TileDimension};

use crate::oracle;

/// What to go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Every untiled layout of every shape with up to 64 elements and rank up to 4.
    Untiled,
    /// Every layout of every shape with up to 24 elements and rank up to 3, under each of
    /// [`tilings`] and each dimension padded by 0 or 1.
    Tiled,
}

impl Domain {
    /// The numbers of elements to go through.
    pub fn elements(self) -> std::ops::RangeInclusive<i64> {
        match self {
            Domain::Untiled => 1..=64,
            Domain::Tiled => 1..=24,
        }
    }

    fn rank(self) -> usize {
        match self {
            Domain::Untiled => 4,
            Domain::Tiled => 3,
        }
    }
}

/// No tile, (2), (3), (2,2), (2,4)(2,1) and (*,2).
pub fn tilings() -> Vec<Vec<Tile>> {
    let combined = Tile::new([TileDimension::Combine, TileDimension::Size(2)]);
    vec![
        vec![],
        vec![Tile::new([2])],
        vec![Tile::new([3])],
        vec![Tile::new([2, 2])],
        vec![Tile::new([2, 4]), Tile::new([2, 1])],
        vec![combined],
    ]
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pairs of operand and result.
    pub pairs: u64,
    /// Of these, the free ones.
    pub free: u64,
    /// Those not free for which some copy of the operand serves.
    pub copies: u64,
    /// Those not free for which some layout of the result serves.
    pub layouts: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.pairs += other.pairs;
        self.free += other.free;
        self.copies += other.copies;
        self.layouts += other.layouts;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} pairs agree: {} free; of the others {} after a copy, {} in another layout",
            self.pairs, self.free, self.copies, self.layouts
        )
    }
}

/// An array in one layout, with the positions of all its elements in row-major order.
struct Laid {
    shape: ArrayShape,
    order: Vec<usize>,
    tiles: Vec<Tile>,
    padded: Vec<i64>,
    positions: Vec<i64>,
    allocated: i64,
}

/// An array shape in all layouts of a domain.
struct Layouts {
    sizes: Vec<i64>,
    all: Vec<Laid>,
}

impl Layouts {
    fn new(sizes: &[i64], domain: Domain) -> Layouts {
        let tilings = match domain {
            Domain::Untiled => vec![vec![]],
            Domain::Tiled => tilings(),
        };
        let mut all = Vec::new();
        for order in permutations(sizes.len()) {
            for tiles in &tilings {
                for more in oracle::indices(&vec![2; sizes.len()]) {
                    if domain == Domain::Untiled && more.contains(&1) {
                        continue;
                    }
                    let padded = sizes.iter().zip(more).map(|(size, more)| size + more);
                    all.push(Laid::new(sizes, &order, tiles, padded.collect()));
                }
            }
        }
        Layouts {
            sizes: sizes.to_vec(),
            all,
        }
    }

    fn elements(&self) -> i64 {
        self.sizes.iter().product()
    }
}

impl Laid {
    fn new(sizes: &[i64], order: &[usize], tiles: &[Tile], padded: Vec<i64>) -> Laid {
        let mut layout = Layout::new(order.iter().map(|&d| d as i64))
            .and_then(|layout| layout.with_tiles(tiles.to_vec()))
            .expect("a layout");
        if padded != sizes {
            layout = layout
                .with_padding(padded.clone(), PaddingValue::Zero)
                .expect("padded widths");
        }
        let shape = ArrayShape::new(ElementType::U8, sizes)
            .and_then(|shape| shape.with_layout(layout))
            .expect("a small array");
        let indices = oracle::indices(sizes);
        Laid {
            order: order.to_vec(),
            tiles: tiles.to_vec(),
            padded,
            positions: indices
                .iter()
                .map(|index| oracle::position(&shape, index))
                .collect(),
            allocated: oracle::allocated_elements(&shape),
            shape,
        }
    }

    fn is_one_of(&self, tiles: &[&[Tile]], paddings: &[&[i64]]) -> bool {
        tiles.contains(&self.tiles.as_slice()) && paddings.contains(&self.padded.as_slice())
    }
}

/// All permutations of `0..rank`.
pub fn permutations(rank: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for _ in 0..rank {
        all = all
            .iter()
            .flat_map(|order: &Vec<usize>| {
                let free = (0..rank).filter(|d| !order.contains(d));
                free.map(|d| [order.as_slice(), &[d]].concat())
                    .collect::<Vec<_>>()
            })
            .collect();
    }
    all
}

/// All sizes of this rank with this many elements.
fn shapes(elements: i64, rank: usize) -> Vec<Vec<i64>> {
    match rank {
        0 if elements == 1 => vec![vec![]],
        0 => vec![],
        _ => (1..=elements)
            .filter(|size| elements % size == 0)
            .flat_map(|size| {
                let behind = shapes(elements / size, rank - 1);
                behind
                    .into_iter()
                    .map(move |rest| [&[size], rest.as_slice()].concat())
            })
            .collect(),
    }
}

/// Compares all pairs of the domain with this many elements of which `sample` is the divisor of
/// the numbers: 1 for all of them. The first disagreement ends it.
///
/// Every pair of shapes is asked as a reshape, a shape with itself that way as a copy; every shape as all
/// other transposes. A transpose stays the same question when the operand's dimensions take other
/// numbers, so transposes are asked of operands in row-major order: all of those there are.
pub fn compare(domain: Domain, elements: i64, sample: u64) -> Result<Counts, String> {
    let shapes = (0..=domain.rank()).flat_map(|rank| shapes(elements, rank));
    let all: Vec<Layouts> = shapes.map(|sizes| Layouts::new(&sizes, domain)).collect();
    let mut comparison = Comparison {
        counts: Counts::default(),
        sample,
        next: 0,
    };
    for operand in &all {
        for result in &all {
            comparison.compare(&Relation::reshape(operand, result))?;
        }
        for dimensions in permutations(operand.sizes.len()).iter().skip(1) {
            let sizes: Vec<i64> = dimensions.iter().map(|&d| operand.sizes[d]).collect();
            let result = all.iter().find(|result| result.sizes == sizes);
            let result = result.expect("all shapes are there");
            comparison.compare(&Relation::transpose(operand, result, dimensions))?;
        }
    }
    Ok(comparison.counts)
}

/// Which element of the result is which of the operand.
struct Relation<'a> {
    operand: &'a Layouts,
    result: &'a Layouts,
    operation: Operation,
    /// For each element of the result, in row-major order, the operand's place in that order.
    operand_of: Vec<usize>,
    /// Dimensions of the operand and the result that are the same.
    pairs: Vec<(usize, usize)>,
}

impl<'a> Relation<'a> {
    fn reshape(operand: &'a Layouts, result: &'a Layouts) -> Relation<'a> {
        let (from, to) = (&operand.all[0].shape, &result.all[0].shape);
        Relation {
            operand,
            result,
            operation: Operation::Reshape,
            operand_of: (0..operand.elements() as usize).collect(),
            pairs: from
                .dimensions_unmodified_by_reshape(to)
                .expect("a reshape"),
        }
    }

    fn is_transpose(&self) -> bool {
        matches!(self.operation, Operation::Transpose { .. })
    }

    fn transpose(operand: &'a Layouts, result: &'a Layouts, dimensions: &[usize]) -> Relation<'a> {
        let operand_of = oracle::indices(&result.sizes).into_iter().map(|index| {
            let mut of_operand = vec![0; index.len()];
            for (value, &dimension) in index.iter().zip(dimensions) {
                of_operand[dimension] = *value;
            }
            row_major(&operand.sizes, &of_operand)
        });
        Relation {
            operand,
            result,
            operation: Operation::Transpose {
                dimensions: dimensions.iter().map(|&d| d as i64).collect(),
            },
            operand_of: operand_of.collect(),
            pairs: dimensions
                .iter()
                .copied()
                .zip(0..dimensions.len())
                .collect(),
        }
    }
}

fn row_major(sizes: &[i64], index: &[i64]) -> usize {
    let place = sizes
        .iter()
        .zip(index)
        .fold(0, |place, (size, i)| place * size + i);
    place as usize
}

struct Comparison {
    counts: Counts,
    sample: u64,
    next: u64,
}

impl Comparison {
    /// Whether the next pair belongs to the sample: one in `sample`, spread by a fixed hash.
    fn is_sampled(&mut self) -> bool {
        self.next += 1;
        let hash = self.next.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        hash.is_multiple_of(self.sample)
    }

    fn compare(&mut self, relation: &Relation<'_>) -> Result<(), String> {
        let (operand, result) = (relation.operand, relation.result);
        let mut result_of = vec![0; relation.operand_of.len()];
        for (place, &of_operand) in relation.operand_of.iter().enumerate() {
            result_of[of_operand] = place;
        }
        let seen = |laid: &Laid, places: &[usize]| -> Vec<i64> {
            places.iter().map(|&place| laid.positions[place]).collect()
        };
        // For each layout of the result, what the operand would have to be: made when needed.
        let mut operands: Vec<Option<Serving<'_>>> = result.all.iter().map(|_| None).collect();
        for from in &operand.all {
            if relation.is_transpose() && !from.order.is_sorted_by(|a, b| a > b) {
                continue;
            }
            let positions = seen(from, &relation.operand_of);
            let mut results = None;
            for (to, operands) in result.all.iter().zip(&mut operands) {
                if !self.is_sampled() {
                    continue;
                }
                self.counts.pairs += 1;
                let free = positions == to.positions && to.allocated <= from.allocated;
                let operation = &relation.operation;
                let name = || format!("{operation} of {} to {}", from.shape, to.shape);
                let bitcast = Bitcast::new(&from.shape, &to.shape, operation)
                    .map_err(|error| format!("{}: {error}", name()))?;
                if bitcast.is_free() != free {
                    return Err(format!("{}: expected free: {free}", name()));
                }
                let Some(why_not) = bitcast.why_not() else {
                    self.counts.free += 1;
                    continue;
                };

                let results = results.get_or_insert_with(|| Serving::new(result, &positions));
                let expected = nearest(relation, from, to, results);
                let found = why_not.nearest_layout();
                self.counts.layouts += u64::from(found.is_some());
                let key = found.map(|found| (found.moved_dimensions, found.padding));
                if key != expected {
                    return Err(format!(
                        "{}: the nearest layout is {found:?}, expected (moved, padding) {expected:?}",
                        name()
                    ));
                }

                let operands =
                    operands.get_or_insert_with(|| Serving::new(operand, &seen(to, &result_of)));
                let expected = smallest(relation, from, to, operands);
                let found = why_not.smallest_copy();
                self.counts.copies += u64::from(found.is_some());
                if found.map(|found| found.bytes) != expected {
                    return Err(format!(
                        "{}: the smallest copy is {found:?}, expected {expected:?} bytes",
                        name()
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The layouts of one side that put its elements where the other side has them; whether they
/// allocate the right amount is not asked.
struct Serving<'a> {
    laid: Vec<&'a Laid>,
    untiled: Vec<Untiled>,
}

impl<'a> Serving<'a> {
    fn new(layouts: &'a Layouts, positions: &[i64]) -> Serving<'a> {
        let laid = layouts.all.iter();
        Serving {
            laid: laid.filter(|laid| laid.positions == positions).collect(),
            untiled: untiled(&layouts.sizes, positions),
        }
    }
}

/// The fewest dimensions moved, and then the least padding, of all free layouts of the result
/// that may be taken: with the result's tiles or the operand's, the result's padding, none or
/// the operand's; or without tiles and any padding.
fn nearest(
    relation: &Relation<'_>,
    from: &Laid,
    to: &Laid,
    serving: &Serving<'_>,
) -> Option<(usize, i64)> {
    let sizes = &relation.result.sizes;
    let mut carried = sizes.clone();
    for &(operand, result) in &relation.pairs {
        carried[result] = from.padded[operand];
    }
    let paddings = [to.padded.as_slice(), sizes, &carried];
    let laid = serving.laid.iter();
    let tiled = laid
        .filter(|laid| laid.is_one_of(&[&to.tiles, &from.tiles], &paddings))
        .map(|laid| (&laid.order, laid.allocated));
    let untiled = serving.untiled.iter();
    let untiled = untiled.map(|layout| (&layout.order, layout.allocated));
    let elements = relation.result.elements();
    tiled
        .chain(untiled)
        .filter(|&(_, allocated)| allocated <= from.allocated)
        .map(|(order, allocated)| {
            let moved = order.iter().zip(&to.order).filter(|(a, b)| a != b).count();
            (moved, allocated - elements)
        })
        .min()
}

/// The fewest bytes of all copies of the operand that may be made: in any order, with its tiles
/// kept or dropped; only where there is none, with its own tiles, the result's or none and its
/// own padding, the result's or none, or without tiles and padded by anything.
fn smallest(relation: &Relation<'_>, from: &Laid, to: &Laid, serving: &Serving<'_>) -> Option<i64> {
    let sizes = &relation.operand.sizes;
    let mut carried = sizes.clone();
    for &(operand, result) in &relation.pairs {
        carried[operand] = to.padded[result];
    }
    let laid = |tiles: &[&[Tile]], paddings: &[&[i64]]| -> Vec<i64> {
        let laid = serving.laid.iter();
        let laid = laid.filter(|laid| laid.is_one_of(tiles, paddings));
        laid.map(|laid| laid.allocated).collect()
    };
    let least = |allocated: Vec<i64>| {
        let allocated = allocated.into_iter();
        allocated
            .filter(|&allocated| allocated >= to.allocated)
            .min()
    };
    least(laid(&[&from.tiles, &[]], &[&from.padded])).or_else(|| {
        let paddings = [from.padded.as_slice(), sizes, &carried];
        let mut all = laid(&[&from.tiles, &to.tiles, &[]], &paddings);
        all.extend(serving.untiled.iter().map(|layout| layout.allocated));
        least(all)
    })
}

/// A layout without tiles.
struct Untiled {
    order: Vec<usize>,
    allocated: i64,
}

/// All layouts without tiles, padded by any widths, that put the elements at these positions;
/// padding behind the last dimension of several elements is left out.
fn untiled(sizes: &[i64], positions: &[i64]) -> Vec<Untiled> {
    let greatest = positions.iter().copied().max().unwrap_or(0);
    let mut found = Vec::new();
    let mut strides = vec![0; sizes.len()];
    for order in permutations(sizes.len()) {
        let mut widening = Widening {
            sizes,
            positions,
            greatest,
            order: &order,
            found: &mut found,
        };
        widening.choose(0, 1, &mut strides);
    }
    found
}

struct Widening<'a> {
    sizes: &'a [i64],
    positions: &'a [i64],
    greatest: i64,
    order: &'a [usize],
    found: &'a mut Vec<Untiled>,
}

impl Widening<'_> {
    /// Tries all widths of the dimensions from a place of the order on, of which the first has
    /// this stride.
    fn choose(&mut self, place: usize, stride: i64, strides: &mut Vec<i64>) {
        let Some(&dimension) = self.order.get(place) else {
            if self.fits(strides) {
                self.found.push(Untiled {
                    order: self.order.to_vec(),
                    allocated: stride,
                });
            }
            return;
        };
        let size = self.sizes[dimension];
        // The second index of a dimension must be where it is wanted: cuts most of the choices.
        let second: i64 = self.sizes[dimension + 1..].iter().product();
        if size > 1 && self.positions[second as usize] != stride {
            return;
        }
        strides[dimension] = stride;
        let behind = &self.order[place + 1..];
        let is_last = behind.iter().all(|&d| self.sizes[d] == 1);
        let mut width = size;
        loop {
            self.choose(place + 1, stride * width, strides);
            width += 1;
            if is_last || stride * width > self.greatest {
                return;
            }
        }
    }

    fn fits(&self, strides: &[i64]) -> bool {
        let mut places = 0..self.positions.len() as i64;
        places.all(|place| {
            let (mut rest, mut position) = (place, 0);
            for (&size, stride) in self.sizes.iter().zip(strides).rev() {
                position += rest % size * stride;
                rest /= size;
            }
            position == self.positions[place as usize]
        })
    }
}
