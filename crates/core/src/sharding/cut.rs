//! How one dimension is cut into parts.

/// A dimension of size `n` in `p` parts of `ceil(n / p)`; the last ones are shorter, or empty. So
/// part `i` goes from `min(i * ceil(n / p), n)` to `min((i + 1) * ceil(n / p), n)`.
///
/// ```
/// use minormajor_core::{Shape, Sharding};
///
/// // Nine rows in six parts of two: four whole ones, one row in the next, none in the last.
/// let sharding: Sharding = "{devices=[6]<=[6]}".parse()?;
/// let shape: Shape = "f32[9]".parse()?;
/// let cut = sharding.cuts(&shape)?[0];
/// assert_eq!((cut.width(), cut.whole(), cut.tail(), cut.empty()), (2, 4, 1, 1));
/// assert_eq!(cut.bounds(4), (8, 9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    /// 0 or more.
    size: i64,
    /// 1 or more.
    parts: i64,
}

impl Cut {
    /// A size of a shape in the parts of a tile assignment, which are both checked.
    pub(super) fn new(size: i64, parts: i64) -> Cut {
        Cut { size, parts }
    }

    /// The size of the dimension, in elements.
    pub fn size(self) -> i64 {
        self.size
    }

    /// The number of parts.
    pub fn parts(self) -> i64 {
        self.parts
    }

    /// The size of the largest part.
    pub fn width(self) -> i64 {
        self.size / self.parts + i64::from(self.size % self.parts != 0)
    }

    /// Where a part begins, and the index behind its last.
    pub fn bounds(self, part: i64) -> (i64, i64) {
        // Products beyond 63 bits are beyond the size.
        let bound = |part: i64| part.saturating_mul(self.width()).min(self.size);
        (bound(part), bound(part.saturating_add(1)))
    }

    /// The part that has an index, which must be below the size.
    pub(super) fn part_of(self, index: i64) -> i64 {
        // There is an index, so the width is not 0.
        index / self.width()
    }

    /// How many parts have the full width: all, of a dimension of size 0.
    pub fn whole(self) -> i64 {
        self.size.checked_div(self.width()).unwrap_or(self.parts)
    }

    /// The size of the part behind the whole ones; 0 where there is none.
    pub fn tail(self) -> i64 {
        self.size.checked_rem(self.width()).unwrap_or(0)
    }

    /// How many parts at the end have nothing: all, of a dimension of size 0.
    pub fn empty(self) -> i64 {
        match self.size {
            0 => self.parts,
            _ => self.parts - self.whole() - i64::from(self.tail() != 0),
        }
    }

    /// Whether all parts are of one size.
    pub fn is_even(self) -> bool {
        self.size % self.parts == 0
    }
}
