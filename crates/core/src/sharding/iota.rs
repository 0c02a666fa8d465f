//! The numbers from 0, in the order that a permuted array gives them.

use super::ShardingError;
use super::tile_assignment::tiles;
use crate::Permutation;

/// 0, 1, 2 and so on as an array of `sizes`, its dimensions permuted.
///
/// In its one shortest form, so equal orders are equal values: no size is 1 and no two dimensions
/// that stay neighbours are apart; a single number is `[1]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Iota {
    sizes: Vec<i64>,
    permutation: Vec<usize>,
}

impl Iota {
    pub fn new(
        sizes: Vec<i64>,
        permutation: impl IntoIterator<Item = i64>,
    ) -> Result<Iota, ShardingError> {
        tiles(&sizes, "devices")?;
        let permutation = Permutation::new(permutation)?;
        // Says so if the lengths differ.
        permutation.apply(&sizes)?;
        Ok(Iota::shortest(&sizes, permutation.as_slice()))
    }

    /// The shortest form of a permuted array.
    fn shortest(sizes: &[i64], permutation: &[usize]) -> Iota {
        // Runs of dimensions that stand behind each other before and after: (first, size). Those
        // of size 1 are passed over on both sides.
        let mut runs: Vec<(usize, i64)> = Vec::new();
        let mut expected = usize::MAX;
        for &d in permutation.iter().filter(|&&d| sizes[d] != 1) {
            match runs.last_mut() {
                Some((_, size)) if d == expected => *size *= sizes[d],
                _ => runs.push((d, sizes[d])),
            }
            let next = (d + 1..sizes.len()).find(|&next| sizes[next] != 1);
            expected = next.unwrap_or(usize::MAX);
        }
        if runs.is_empty() {
            runs.push((0, 1));
        }
        let mut order: Vec<usize> = (0..runs.len()).collect();
        order.sort_by_key(|&run| runs[run].0);
        let mut permutation = vec![0; runs.len()];
        for (place, &run) in order.iter().enumerate() {
            permutation[run] = place;
        }
        Iota {
            sizes: order.iter().map(|&run| runs[run].1).collect(),
            permutation,
        }
    }

    pub fn sizes(&self) -> &[i64] {
        &self.sizes
    }

    pub fn permutation(&self) -> &[usize] {
        &self.permutation
    }

    /// How many numbers there are.
    pub fn len(&self) -> i64 {
        self.sizes.iter().product()
    }

    /// The number at a place below [`len`](Self::len).
    pub fn at(&self, mut place: i64) -> i64 {
        let mut digits = vec![0; self.sizes.len()];
        for &d in self.permutation.iter().rev() {
            digits[d] = place % self.sizes[d];
            place /= self.sizes[d];
        }
        let sizes = self.sizes.iter().zip(&digits);
        sizes.fold(0, |number, (&size, &digit)| number * size + digit)
    }

    /// The place of a number, if there is such a one.
    pub fn place_of(&self, mut number: i64) -> Option<i64> {
        if !(0..self.len()).contains(&number) {
            return None;
        }
        let mut digits = vec![0; self.sizes.len()];
        for (digit, &size) in digits.iter_mut().zip(&self.sizes).rev() {
            *digit = number % size;
            number /= size;
        }
        let places = self.permutation.iter();
        Some(places.fold(0, |place, &d| place * self.sizes[d] + digits[d]))
    }

    /// The numbers of an array of `dimensions` whose dimensions are permuted, if they still are
    /// those of a permuted array: if every boundary of one side is one of the other or lies
    /// between two such.
    pub fn transpose(&self, dimensions: &[i64], permutation: &Permutation) -> Option<Iota> {
        let parts = self.parts(dimensions)?;
        // The parts in the order of the numbers, and where each of them stands there.
        let mut by_size: Vec<usize> = (0..parts.len()).collect();
        by_size.sort_by_key(|&part| (parts[part].size_of, part));
        let mut places = vec![0; by_size.len()];
        for (place, &part) in by_size.iter().enumerate() {
            places[part] = place;
        }
        let of = |d: usize| {
            let of_dimension = |&part: &usize| parts[part].dimension == d;
            (0..parts.len()).filter(of_dimension).collect::<Vec<_>>()
        };
        let sizes: Vec<i64> = by_size.iter().map(|&part| parts[part].size).collect();
        let moved: Vec<usize> = permutation
            .as_slice()
            .iter()
            .flat_map(|&d| of(d))
            .map(|part| places[part])
            .collect();
        Some(Iota::shortest(&sizes, &moved))
    }

    /// The numbers with those of each group of `size` neighbours in ascending order, where
    /// boundaries of the array are those of the groups.
    pub fn sort_groups(&self, size: i64) -> Option<Iota> {
        let mut left = size;
        // How many dimensions, from the fastest, make a group; the last may be cut in two.
        let mut grouped = 0;
        let mut cut = None;
        for &d in self.permutation.iter().rev() {
            if left == 1 {
                break;
            }
            let extent = self.sizes[d];
            grouped += 1;
            if extent <= left && left % extent == 0 {
                left /= extent;
            } else if extent > left && extent % left == 0 {
                cut = Some((d, left));
                left = 1;
            } else {
                return None;
            }
        }
        let mut sizes = self.sizes.clone();
        let mut permutation = self.permutation.clone();
        if let Some((d, inner)) = cut {
            sizes[d] /= inner;
            sizes.insert(d + 1, inner);
            let at = permutation.len() - grouped;
            permutation
                .iter_mut()
                .filter(|p| **p > d)
                .for_each(|p| *p += 1);
            permutation.insert(at + 1, d + 1);
        }
        let from = permutation.len() - grouped;
        permutation[from..].sort_unstable();
        Some(Iota::shortest(&sizes, &permutation))
    }

    /// The permuted array that gives a list of numbers, if one does.
    pub fn of(numbers: &[i64]) -> Option<Iota> {
        // Loops from the fastest: (extent, stride).
        let mut loops: Vec<(i64, i64)> = Vec::new();
        let mut inside = 1;
        while inside < numbers.len() {
            let stride = numbers[inside];
            let run = (1..)
                .take_while(|&k| {
                    let number = numbers.get(k * inside);
                    number.is_some_and(|&n| {
                        i64::try_from(k).ok().and_then(|k| stride.checked_mul(k)) == Some(n)
                    })
                })
                .count();
            loops.push((run as i64 + 1, stride));
            inside *= run + 1;
            if run == 0 {
                return None;
            }
        }
        loops.reverse();
        let mut by_stride: Vec<usize> = (0..loops.len()).collect();
        by_stride.sort_by_key(|&l| std::cmp::Reverse(loops[l].1));
        let mut permutation = vec![0; loops.len()];
        for (place, &l) in by_stride.iter().enumerate() {
            permutation[l] = place;
        }
        let sizes: Vec<i64> = by_stride.iter().map(|&l| loops[l].0).collect();
        let product = sizes.iter().try_fold(1i64, |n, &size| n.checked_mul(size));
        if product != Some(numbers.len() as i64) {
            return None;
        }
        let iota = Iota::shortest(&sizes, &permutation);
        let mut places = 0..numbers.len();
        places
            .all(|place| iota.at(place as i64) == numbers[place])
            .then_some(iota)
    }
}

/// A part of a dimension that is also a part of one of an iota's sizes.
pub(super) struct Part {
    /// Of the array.
    pub dimension: usize,
    /// Of the iota's sizes, before they are permuted.
    pub size_of: usize,
    pub size: i64,
}

impl Iota {
    /// The coarsest parts of which both an array's dimensions and the sizes of the iota behind it
    /// are made, from the most major of the array.
    pub fn parts(&self, dimensions: &[i64]) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        let (mut d, mut p) = (dimensions.len(), self.permutation.len());
        // What is left of the dimension and of the size that are being cut up.
        let (mut left, mut left_of) = (1, 1);
        loop {
            while left == 1 && d > 0 {
                d -= 1;
                left = dimensions[d];
            }
            while left_of == 1 && p > 0 {
                p -= 1;
                left_of = self.sizes[self.permutation[p]];
            }
            if left == 1 && left_of == 1 {
                parts.reverse();
                return Some(parts);
            }
            let size = left.min(left_of);
            if size == 1 || left % size != 0 || left_of % size != 0 {
                return None;
            }
            left /= size;
            left_of /= size;
            parts.push(Part {
                dimension: d,
                size_of: self.permutation[p],
                size,
            });
        }
    }
}
