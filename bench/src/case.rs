//! The cases: two places of one array, with a name whose letters say the suite.

use minormajor::plan::{ByteOrders, MoveBox, PlanError};
use minormajor::{Layout, Plan, TileDimension};

use crate::side::Side;

/// The checked-in cases.
const LISTED: &str = include_str!("../cases.tsv");

/// Bytes of an array that both sides of which a core's second-level cache holds.
const IN_THE_CACHES: i64 = 192 << 10;
/// What sizes become smaller by multiples of, if they are twice as much: what they leave beside lines, tiles and vectors
/// stays as far as it can.
const STEPS: [i64; 3] = [128, 16, 1];

/// A relayout to measure.
#[derive(Clone, Debug)]
pub struct Case {
    /// Letters for the suite, then what it is: `A_4096x4096_f32`.
    pub name: String,
    /// Where the array lies.
    pub source: Side,
    /// Where it goes.
    pub destination: Side,
    /// The best that another library reached elsewhere, by 1 and by 2 threads: its name, and the
    /// ratio to `memcpy`.
    pub known: [Option<(String, f64)>; 2],
}

/// The suites: letters, what is in them, whether they are small arrays.
pub const SUITES: [(&str, &str, bool); 15] = [
    ("A", "matrices, elements of 1 to 16 bytes", false),
    ("B", "image batches, NCHW to NHWC and back", false),
    (
        "C",
        "the 57 permutations of the TTC and HPTT papers, f32",
        false,
    ),
    ("T", "tiled, padded and blocked, both ways", false),
    ("R", "short runs and extents: pixels, heads, weights", false),
    ("V", "strided views, in and out", false),
    (
        "P",
        "packed elements of 1, 2 and 4 bits, and conversions",
        false,
    ),
    ("UA", "as A, unlisted", false),
    ("UB", "as B, unlisted", false),
    ("UC", "as C, unlisted", false),
    ("UT", "as T, unlisted", false),
    ("UR", "as R, unlisted", false),
    ("UV", "as V, unlisted", false),
    ("S", "small arrays", true),
    ("US", "as S, unlisted", true),
];

impl Case {
    /// A case from the texts of its sides.
    ///
    /// # Errors
    ///
    /// Where a text is no side's, or the name begins with no suite's letters.
    pub fn new(name: &str, source: &str, destination: &str) -> Result<Case, String> {
        let case = Case {
            name: name.to_owned(),
            source: Side::new(source)?,
            destination: Side::new(destination)?,
            known: [None, None],
        };
        match SUITES.iter().any(|(suite, ..)| *suite == case.suite()) {
            true => Ok(case),
            false => Err(format!("{name}: `{}` is no suite", case.suite())),
        }
    }

    /// The plan from the one to the other, which converts where the types differ.
    ///
    /// # Errors
    ///
    /// Where there is none.
    pub fn plan(&self) -> Result<Plan, PlanError> {
        let [from, to] = [self.source.place(), self.destination.place()];
        Plan::converting(from, to, ByteOrders::default())
    }

    /// The same layouts and strides of an array that a core's caches hold; none where there is no such array.
    pub fn in_the_caches(&self) -> Option<Case> {
        let sizes = self.source.shape().dimensions().iter().map(|d| d.bound());
        let mut sizes: Vec<i64> = sizes.collect::<Option<_>>()?;
        loop {
            let mut case = self.clone();
            case.source = self.source.resized(&sizes)?;
            case.destination = self.destination.resized(&sizes)?;
            let bytes = [&case.source, &case.destination].map(Side::buffer_bytes);
            if bytes.into_iter().max()?? <= IN_THE_CACHES {
                return Some(case);
            }
            let largest = sizes.iter_mut().max()?;
            // Half of it, or as near to that as the step allows.
            let step = STEPS.into_iter().find(|step| *largest >= 2 * step)?;
            *largest -= *largest / 2 / step * step;
        }
    }

    /// The letters that the name begins with.
    pub fn suite(&self) -> &str {
        let end = self.name.find(|c: char| !c.is_ascii_uppercase());
        &self.name[..end.unwrap_or(self.name.len())]
    }

    /// Whether arrays of this suite are measured in nanoseconds, not against memory.
    pub fn is_small(&self) -> bool {
        SUITES
            .iter()
            .any(|(suite, _, small)| *suite == self.suite() && *small)
    }
}

/// The checked-in cases.
///
/// # Errors
///
/// Where a line of the list is wrong.
pub fn listed() -> Result<Vec<Case>, String> {
    let lines = LISTED
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(read_line).collect()
}

fn read_line(line: &str) -> Result<Case, String> {
    let fields: Vec<&str> = line.split('\t').collect();
    let (shapes, known) = fields.split_at(fields.len().min(3));
    let &[name, source, destination] = shapes else {
        return Err(format!(
            "cases.tsv: expected a name and two shapes in `{line}`"
        ));
    };
    let mut case = Case::new(name, source, destination)?;
    let mut places = case.known.iter_mut();
    for pair in known.chunks(2) {
        let (Some(place), &[peer, ratio]) = (places.next(), pair) else {
            return Err(format!(
                "cases.tsv: expected at most two peers with ratios in `{line}`"
            ));
        };
        let ratio = ratio
            .parse()
            .map_err(|_| format!("cases.tsv: no ratio: `{ratio}`"))?;
        *place = Some((peer.to_owned(), ratio));
    }
    Ok(case)
}

/// A relayout as other libraries name it: a dense row-major array whose dimension `i` of the result
/// is dimension `order[i]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    /// Sizes, the last one contiguous.
    pub dimensions: Vec<usize>,
    /// Where each dimension of the result comes from.
    pub order: Vec<usize>,
}

impl Permutation {
    /// The plan as a permutation, neighbours merged and tiles split, if it is one.
    pub fn of(plan: &Plan) -> Option<Permutation> {
        let [whole] = plan.boxes() else { return None };
        let elements: i64 = whole.loops.iter().map(|l| l.extent).product();
        let bytes = elements * plan.unit_bytes()? as i64;
        if [plan.source_bytes(), plan.destination_bytes()] != [bytes; 2] {
            return None;
        }
        let source = |i: usize| whole.loops[i].source;
        let destination = |i: usize| whole.loops[i].destination;
        let mut major_to_minor: Vec<usize> = (0..whole.loops.len()).collect();
        major_to_minor.sort_by_key(|&i| std::cmp::Reverse(source(i)));
        let mut result = major_to_minor.clone();
        result.sort_by_key(|&i| std::cmp::Reverse(destination(i)));
        let is_dense =
            is_dense(whole, &major_to_minor, source) && is_dense(whole, &result, destination);
        let place = |loop_: &usize| major_to_minor.iter().position(|other| other == loop_);
        is_dense.then(|| Permutation {
            dimensions: major_to_minor
                .iter()
                .map(|&i| whole.loops[i].extent as usize)
                .collect(),
            order: result.iter().filter_map(place).collect(),
        })
    }
}

/// Whether the loops, outermost first, step over each other without gaps.
fn is_dense(whole: &MoveBox, order: &[usize], stride: impl Fn(usize) -> i64) -> bool {
    let mut step = 1;
    order.iter().rev().all(|&i| {
        let fits = stride(i) == step;
        step *= whole.loops[i].extent;
        fits
    })
}

/// NCHW to channels in blocks, or back: what oneDNN calls nChw16c and nChw8c.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Batch, channels, height, width.
    pub sizes: [i64; 4],
    /// Channels in a block.
    pub block: i64,
    /// Whether the blocks are in the destination.
    pub to_blocks: bool,
}

impl Blocked {
    /// The case as such a pair, if it is one.
    pub fn of(case: &Case) -> Option<Blocked> {
        let sizes = <[i64; 4]>::try_from(case.source.shape().sizes().ok()?).ok()?;
        let [from, to] = [&case.source, &case.destination];
        if from.shape().element_type() != to.shape().element_type() {
            return None;
        }
        let [from, to] = [from.layout()?, to.layout()?];
        let (block, to_blocks) = match (block(from), block(to)) {
            (None, Some(block)) if is_plain(from) => (block, true),
            (Some(block), None) if is_plain(to) => (block, false),
            _ => return None,
        };
        Some(Blocked {
            sizes,
            block,
            to_blocks,
        })
    }
}

fn is_row_major(layout: &Layout) -> bool {
    layout.minor_to_major().iter().rev().copied().eq(0..4) && layout.padded_dimensions().is_empty()
}

fn is_plain(layout: &Layout) -> bool {
    is_row_major(layout) && layout.tiles().is_empty()
}

/// The block of a layout such as `{3,2,1,0:T(16,1,1)}`.
fn block(layout: &Layout) -> Option<i64> {
    let [tile] = layout.tiles() else { return None };
    let one = TileDimension::Size(1);
    match *tile.dimensions() {
        [TileDimension::Size(block), a, b] if a == one && b == one && is_row_major(layout) => {
            Some(block)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permutation(source: &str, destination: &str) -> Option<Permutation> {
        let case = Case::new("A", source, destination).unwrap();
        Permutation::of(&case.plan().unwrap())
    }

    #[test]
    fn the_list_is_right() {
        let cases = listed().unwrap();
        for (suite, count) in [("A", 12), ("B", 10), ("C", 57)] {
            let found = cases.iter().filter(|case| case.suite() == suite);
            assert_eq!(found.count(), count, "{suite}");
        }
        for case in &cases {
            let plan = case.plan();
            assert!(plan.is_ok(), "{}: {plan:?}", case.name);
            let [from, to] = [&case.source, &case.destination].map(|side| side.shape().sizes());
            assert_eq!(from, to, "{}", case.name);
            let elements: i64 = from.unwrap().iter().product();
            assert!(!case.is_small() || elements <= 4096, "{}", case.name);
            let twice = cases.iter().filter(|other| other.name == case.name);
            assert_eq!(twice.count(), 1, "{}", case.name);
        }
    }

    #[test]
    fn lines_that_are_wrong() {
        for line in [
            "A_1\tf32[2]",
            "A_1\tf32[2\tf32[2]",
            "1\tf32[2]\tf32[2]",
            "X_1\tf32[2]\tf32[2]",
            "A_1\tf32[2]\tf32[2]\tHPTT",
            "A_1\tf32[2]\tf32[2]\tHPTT\tfast",
        ] {
            assert!(read_line(line).is_err(), "{line}");
        }
    }

    #[test]
    fn permutations_are_merged_and_tiles_split() {
        let nhwc = permutation("f32[2,3,5,7]", "f32[2,3,5,7]{1,3,2,0}").unwrap();
        assert_eq!(
            (nhwc.dimensions, nhwc.order),
            (vec![2, 3, 35], vec![0, 2, 1])
        );
        let tiled = permutation("f32[16,256]", "f32[16,256]{1,0:T(8,128)}").unwrap();
        assert_eq!(
            (tiled.dimensions, tiled.order),
            (vec![2, 8, 2, 128], vec![0, 2, 1, 3])
        );
        assert_eq!(
            permutation("f32[15,256]", "f32[15,256]{1,0:T(8,128)}"),
            None
        );
        assert_eq!(permutation("f32[4]{0:T(8)}", "f32[4]"), None);
    }

    #[test]
    fn channels_in_blocks() {
        let blocked = |source: &str, destination: &str| {
            Blocked::of(&Case::new("T", source, destination).unwrap())
        };
        let expected = Blocked {
            sizes: [2, 20, 3, 5],
            block: 16,
            to_blocks: true,
        };
        let (plain, in_blocks) = ("f32[2,20,3,5]", "f32[2,20,3,5]{3,2,1,0:T(16,1,1)}");
        assert_eq!(blocked(plain, in_blocks), Some(expected));
        let back = Blocked {
            to_blocks: false,
            ..expected
        };
        assert_eq!(blocked(in_blocks, plain), Some(back));
        assert_eq!(blocked("f32[2,20,3,5]{1,2,3,0}", in_blocks), None);
        assert_eq!(blocked(plain, "f32[2,20,3,5]{3,2,1,0:T(16,1)}"), None);
    }
}
