//! Cases that are in no list: made from a seed, of the same kinds as those that are. Another seed
//! makes others.

use crate::case::Case;

/// So many cases of every kind for a seed: `each` of them a suite.
///
/// # Errors
///
/// None but those of a fault in here: every case is a valid pair.
pub fn cases(seed: u64, each: usize) -> Result<Vec<Case>, String> {
    let mut random = Random(seed);
    let kinds: [(&str, Make); 7] = [
        ("UA", matrix),
        ("UB", images),
        ("UC", permutation),
        ("UT", tiles),
        ("US", small),
        ("UR", short),
        ("UV", views),
    ];
    let mut cases = Vec::new();
    for (suite, make) in kinds {
        for number in 1..=each {
            let Pair(source, destination) = make(&mut random);
            let what: String = destination
                .chars()
                .map(|c| if "[]{}:,;() ".contains(c) { '.' } else { c })
                .collect();
            let what = what
                .trim_end_matches('.')
                .replace(".from.", ".at.")
                .replace(".by.", ".");
            let name = format!("{suite}{number:02}_{what}");
            cases.push(Case::new(&name, &source, &destination)?);
        }
    }
    Ok(cases)
}

/// The texts of two shapes.
struct Pair(String, String);

type Make = fn(&mut Random) -> Pair;

/// A generator of random numbers: splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Between two numbers, as likely to be in each doubling.
    fn spread(&mut self, low: f64, high: f64) -> usize {
        let part = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        (low * (high / low).powf(part)).round() as usize
    }

    fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for end in (2..=count).rev() {
            let other = self.below(end);
            order.swap(end - 1, other);
        }
        order
    }
}

const TYPES: [(&str, usize); 5] = [("u8", 1), ("bf16", 2), ("f32", 4), ("f64", 8), ("c128", 16)];

/// Bytes of a large array: beyond any cache, and not so many that a round takes long.
fn large(random: &mut Random) -> f64 {
    random.spread(48e6, 160e6) as f64
}

fn listed(numbers: &[usize]) -> String {
    let texts: Vec<String> = numbers.iter().map(usize::to_string).collect();
    texts.join(",")
}

/// The default layout's order.
fn row_major(rank: usize) -> String {
    let order: Vec<usize> = (0..rank).rev().collect();
    listed(&order)
}

/// The row-major array, and the same with its dimensions in another order, major to minor.
fn permuted(name: &str, sizes: &[usize], order: &[usize]) -> Pair {
    let array = format!("{name}[{}]", listed(sizes));
    let minor_to_major: Vec<usize> = order.iter().rev().copied().collect();
    Pair(
        format!("{array}{{{}}}", row_major(sizes.len())),
        format!("{array}{{{}}}", listed(&minor_to_major)),
    )
}

fn matrix(random: &mut Random) -> Pair {
    let (name, width) = random.one_of(&TYPES);
    let elements = large(random) / width as f64;
    let rows = random.spread(3.0, elements.sqrt() * 4.0);
    let columns = (elements / rows as f64).max(1.0) as usize;
    let sizes = random.one_of(&[[rows, columns], [columns, rows]]);
    permuted(name, &sizes, &[1, 0])
}

fn images(random: &mut Random) -> Pair {
    let (name, width) = random.one_of(&TYPES[..3]);
    let channels = random.one_of(&[1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 96, 128, 200, 320]);
    let [height, width_] = [0, 1].map(|_| random.spread(7.0, 300.0));
    let image = channels * height * width_ * width;
    let batch = (large(random) / image as f64).max(1.0) as usize;
    match random.below(2) {
        0 => permuted(name, &[batch, channels, height, width_], &[0, 2, 3, 1]),
        _ => permuted(name, &[batch, height, width_, channels], &[0, 3, 1, 2]),
    }
}

/// Sizes with so many elements in all, each so many times from what equal ones would be.
fn sizes(random: &mut Random, rank: usize, elements: f64, times: f64) -> Vec<usize> {
    let mut rest = elements;
    let size = |left: usize| {
        let share = rest.max(1.0).powf(1.0 / left as f64);
        let size = match left {
            1 => share as usize,
            _ => random.spread(share / times, share * times),
        };
        rest /= size.max(1) as f64;
        size.max(1)
    };
    (1..=rank).rev().map(size).collect()
}

/// Ranks 2 to 6 and any order, with a few long dimensions and some short ones.
fn permutation(random: &mut Random) -> Pair {
    let (name, width) =
        random.one_of(&[("f32", 4), ("f32", 4), ("f32", 4), ("f64", 8), ("bf16", 2)]);
    let rank = 2 + random.below(5);
    let elements = large(random) / width as f64;
    let mut sizes = sizes(random, rank, elements, 3.0);
    // Not always the smallest one last.
    sizes.rotate_left(random.below(rank));
    let order = loop {
        let order = random.shuffled(rank);
        // What stays where it is, at an end, merges or is a batch; that is not always the case.
        if order.iter().enumerate().any(|(place, &from)| place != from) {
            break order;
        }
    };
    permuted(name, &sizes, &order)
}

fn tiles(random: &mut Random) -> Pair {
    let (name, width) = random.one_of(&[("f32", 4), ("f32", 4), ("bf16", 2), ("s8", 1)]);
    let elements = large(random) / width as f64;
    let rows = random.spread(200.0, elements.sqrt() * 2.0);
    let columns = (elements / rows as f64) as usize;
    let array = format!("{name}[{rows},{columns}]");
    let mut tile = || match width {
        2 => "T(8,128)(2,1)".to_owned(),
        1 => "T(8,128)(4,1)".to_owned(),
        _ => {
            let (a, b) = (
                random.one_of(&[4, 8, 12, 16]),
                random.one_of(&[32, 96, 128, 256]),
            );
            format!("T({a},{b})")
        }
    };
    let tiled = format!("{array}{{1,0:{}}}", tile());
    let other_tile = tile();
    match random.below(6) {
        0 => Pair(format!("{array}{{1,0}}"), tiled),
        1 => Pair(tiled, format!("{array}{{1,0}}")),
        2 => Pair(format!("{array}{{0,1}}"), tiled),
        3 => Pair(tiled, format!("{array}{{0,1}}")),
        4 => Pair(tiled, format!("{array}{{0,1:{other_tile}}}")),
        _ => {
            let padded = [rows, columns].map(|size| size + random.below(size / 8 + 1));
            let padded = listed(&padded);
            let order = random.one_of(&["1,0", "0,1"]);
            Pair(
                format!("{array}{{1,0}}"),
                format!("{array}{{{order}:PAD({padded})}}"),
            )
        }
    }
}

/// Short runs that change places, small extents that do, or both beside long ones.
fn short(random: &mut Random) -> Pair {
    let (name, width) = random.one_of(&TYPES[..3]);
    let elements = large(random) / width as f64;
    let mut extent = || random.one_of(&[2, 3, 5, 6, 7, 9, 11, 15, 24]);
    let few = [0; 4].map(|_| extent());
    let long = |random: &mut Random, count: usize, taken: usize| {
        sizes(random, count, elements / taken as f64, 2.0)
    };
    match random.below(4) {
        // Pixels, or the like: their rows and columns change places.
        0 => {
            let long = long(random, 2, few[0]);
            permuted(name, &[long[0], long[1], few[0]], &[1, 0, 2])
        }
        // Weights: the kernel's sizes come first or last.
        1 => {
            let long = long(random, 2, few[0] * few[1]);
            match random.below(2) {
                0 => permuted(name, &[few[0], few[1], long[0], long[1]], &[3, 2, 0, 1]),
                _ => permuted(name, &[long[0], long[1], few[0], few[1]], &[2, 3, 1, 0]),
            }
        }
        // Many small arrays, the dimensions of each in another order.
        2 => {
            let [rows, columns] = [0; 2].map(|_| random.spread(3.0, 60.0));
            let run = match random.below(2) {
                0 => 1,
                _ => random.spread(2.0, 60.0),
            };
            let long = long(random, 1, rows * columns * run);
            permuted(name, &[long[0], rows, columns, run], &[0, 2, 1, 3])
        }
        // Several small extents, in another order.
        _ => {
            let long = long(random, 1, few.iter().product());
            let mut sizes = few.to_vec();
            sizes.insert(random.below(few.len() + 1), long[0]);
            let order = loop {
                let order = random.shuffled(sizes.len());
                // At least one of the neighbours in memory is another one.
                if order.last() != Some(&(sizes.len() - 1)) {
                    break order;
                }
            };
            permuted(name, &sizes, &order)
        }
    }
}

/// A part of one array to a part of another: cut out, with steps, backwards, in another order, or dense on one side.
fn views(random: &mut Random) -> Pair {
    let (name, width) = random.one_of(&TYPES[..4]);
    let rank = 2 + random.below(3);
    let elements = large(random) / width as f64;
    let mut sizes = sizes(random, rank, elements, 3.0);
    if random.below(2) == 0 {
        // Pixels.
        let channels = random.one_of(&[1, 2, 3, 4, 8]);
        sizes[0] = (sizes[0] / channels).max(1);
        sizes.push(channels);
    }
    let array = format!("{name}[{}]", listed(&sizes));
    let order = match random.below(3) {
        0 => random.shuffled(sizes.len()),
        _ => (0..sizes.len()).collect(),
    };
    let source = view(random, &sizes, width, &order);
    let straight: Vec<usize> = (0..sizes.len()).collect();
    let destination = view(random, &sizes, width, &straight);
    match random.below(3) {
        0 => Pair(
            format!("{array} {source}"),
            format!("{array}{{{}}}", row_major(sizes.len())),
        ),
        1 => Pair(
            format!("{array}{{{}}}", row_major(sizes.len())),
            format!("{array} {destination}"),
        ),
        _ => Pair(
            format!("{array} {source}"),
            format!("{array} {destination}"),
        ),
    }
}

/// An offset and strides of a part of a larger array, which lies major to minor in this order.
fn view(random: &mut Random, sizes: &[usize], width: usize, order: &[usize]) -> String {
    let mut strides = vec![0; sizes.len()];
    let (mut offset, mut pitch) = (0, width);
    for &dimension in order.iter().rev() {
        let size = sizes[dimension];
        let step = random.one_of(&[1, 1, 1, 1, 1, 2]);
        let backwards = random.below(5) == 0;
        let [before, behind] = [0; 2].map(|_| match random.below(2) {
            0 => 0,
            _ => random.below(size / 4 + 2),
        });
        let first = before + if backwards { (size - 1) * step } else { 0 };
        offset += first * pitch;
        let stride = (step * pitch) as i64;
        strides[dimension] = if backwards { -stride } else { stride };
        pitch *= before + (size - 1) * step + 1 + behind;
    }
    let strides: Vec<String> = strides.iter().map(i64::to_string).collect();
    format!("from {offset} by {}", strides.join(","))
}

/// Up to 4096 elements.
fn small(random: &mut Random) -> Pair {
    let (name, _) = random.one_of(&TYPES);
    let rank = 2 + random.below(3);
    let elements = random.spread(8.0, 4096.0) as f64;
    let sizes = sizes(random, rank, elements, 2.0);
    let order = random.shuffled(rank);
    permuted(name, &sizes, &order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_makes_pairs_that_have_plans_of_a_fair_size() {
        for seed in 0..200 {
            for case in cases(seed, 3).unwrap() {
                let plan = case.plan().unwrap();
                let bytes = plan.source_array_bytes();
                let range = if case.is_small() {
                    1..=4096 * 16
                } else {
                    20 << 20..=400 << 20
                };
                assert!(range.contains(&bytes), "{}: {bytes}", case.name);
                let buffers = plan.source_bytes().max(plan.destination_bytes());
                assert!(buffers <= 2500 << 20, "{}: {buffers}", case.name);
            }
        }
    }

    #[test]
    fn a_seed_makes_the_same_cases_and_another_seed_others() {
        let names = |seed| -> Vec<String> {
            let cases = cases(seed, 2).unwrap();
            cases.into_iter().map(|case| case.name).collect()
        };
        assert_eq!(names(7), names(7));
        assert_ne!(names(7), names(8));
        assert_eq!(names(7).len(), 14);
    }
}
