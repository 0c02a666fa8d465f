//! Loops over several places at once.

/// A loop; strides in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nested<const N: usize> {
    pub extent: i64,
    pub strides: [i64; N],
}

/// The loops over dimensions of these sizes, the smallest stride in the first place first;
/// neighbours that make one loop in all places are one. No size is 0.
pub(crate) fn nest<const N: usize>(sizes: &[i64], strides: [&[i64]; N]) -> Vec<Nested<N>> {
    let mut loops: Vec<Nested<N>> = (0..sizes.len())
        .filter(|&d| sizes[d] > 1)
        .map(|d| Nested {
            extent: sizes[d],
            strides: strides.map(|strides| strides[d]),
        })
        .collect();
    // A dimension that repeats elements comes last.
    loops.sort_by_key(|l| {
        l.strides
            .map(|stride| stride.unsigned_abs().wrapping_sub(1))
    });
    let mut merged: Vec<Nested<N>> = Vec::with_capacity(loops.len());
    for outer in loops {
        match merged.last_mut() {
            Some(inner) if (0..N).all(|n| outer.strides[n] == inner.strides[n] * inner.extent) => {
                inner.extent *= outer.extent;
            }
            _ => merged.push(outer),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_merge_where_all_places_allow_it() {
        let rows = [15, 5, 1];
        let made = nest(&[2, 3, 5], [&rows, &[5, 0, 1]]);
        let loops: Vec<_> = made.iter().map(|l| (l.extent, l.strides)).collect();
        assert_eq!(loops, [(5, [1, 1]), (3, [5, 0]), (2, [15, 5])]);
        assert_eq!(nest(&[2, 3, 5], [&rows, &[30, 10, 2]]).len(), 1);
        assert_eq!(nest(&[1, 1], [&[7, 7]]), []);
        // Repeated elements: one loop.
        assert_eq!(nest(&[2, 3], [&[0, 0]]).len(), 1);
    }
}
