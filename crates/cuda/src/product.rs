//! Matrix products in the terms of cuBLAS: column-major matrices, transposed or not.

use minormajor::backend::Strided;
use minormajor::{ElementType, StridedView, ViewError};

use crate::nest::nest;

/// A column-major matrix, or a row-major one seen as transposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Matrix {
    pub address: u64,
    pub transposed: bool,
    /// Elements from column to column as it lies.
    pub leading: i64,
    /// Elements from one matrix of the batch to the next.
    pub batch_stride: i64,
}

/// `result = left * right`: `m` by `n`, summed over `k`, for each of `batch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Product {
    /// Of the operands; s8 has results of s32.
    pub element_type: ElementType,
    pub m: i64,
    pub n: i64,
    pub k: i64,
    pub batch: i64,
    pub left: Matrix,
    pub right: Matrix,
    /// Never transposed.
    pub result: Matrix,
}

/// Where the elements of matrices lie, in elements; at least two dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub element_type: ElementType,
    pub sizes: Vec<i64>,
    pub strides: Vec<i64>,
    pub offset: i64,
}

impl From<&Strided> for Place {
    fn from(place: &Strided) -> Place {
        Place {
            element_type: place.element_type(),
            sizes: place.sizes().to_vec(),
            strides: place.strides().to_vec(),
            offset: place.offset(),
        }
    }
}

impl Place {
    /// Rows and columns.
    pub fn matrix(&self) -> (i64, i64) {
        let rank = self.sizes.len();
        (self.sizes[rank - 2], self.sizes[rank - 1])
    }

    pub fn width(&self) -> i64 {
        i64::from(self.element_type.byte_width())
    }

    /// The dimension along a column and the one across, or along a row and across where it is seen as transposed.
    fn axes(&self, transposed: bool) -> (usize, usize) {
        let rank = self.sizes.len();
        match transposed {
            false => (rank - 2, rank - 1),
            true => (rank - 1, rank - 2),
        }
    }

    /// Matrices one behind the other, column-major, or row-major if they are seen as transposed, whose
    /// lines have room for a multiple of so many elements. Matrices that this place repeats are there
    /// once.
    pub fn packed(&self, transposed: bool, multiple: i64) -> Place {
        let rank = self.sizes.len();
        let (minor, major) = self.axes(transposed);
        let leading = (self.sizes[minor].max(1) as u64).next_multiple_of(multiple as u64) as i64;
        let mut strides = vec![0; rank];
        strides[minor] = 1;
        strides[major] = leading;
        let mut stride = leading * self.sizes[major];
        for d in (0..rank - 2).rev() {
            if self.strides[d] != 0 && self.sizes[d] > 1 {
                strides[d] = stride;
                stride *= self.sizes[d];
            }
        }
        Place {
            strides,
            offset: 0,
            ..self.clone()
        }
    }

    /// Bytes of matrices that are packed so, with the room in their last line.
    pub fn packed_bytes(&self) -> i64 {
        let spans = self.sizes.iter().zip(&self.strides);
        spans.map(|(size, stride)| size * stride).max().unwrap_or(0) * self.width()
    }

    /// A view of its elements, those that are repeated once.
    pub fn view(&self, of: &Place) -> Result<StridedView, ViewError> {
        let sizes: Vec<i64> = (0..self.sizes.len())
            .map(|d| match of.strides[d] {
                0 if d + 2 < self.sizes.len() => self.sizes[d].min(1),
                _ => self.sizes[d],
            })
            .collect();
        let width = self.width();
        let strides: Vec<i64> = self.strides.iter().map(|stride| stride * width).collect();
        StridedView::new(self.element_type, &sizes, &strides, self.offset * width)
    }
}

/// How a matrix of a place lies: what BLAS can say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lie {
    pub transposed: bool,
    pub leading: i64,
}

/// How the last two dimensions of a place lie, if one of them has stride 1 and the other one no
/// less than the first one's size.
pub(crate) fn lie(place: &Place) -> Option<Lie> {
    lie_as(place, false).or_else(|| lie_as(place, true))
}

/// The same, if it is in this one of both ways.
pub(crate) fn lie_as(place: &Place, transposed: bool) -> Option<Lie> {
    let (minor, major) = place.axes(transposed);
    let size = place.sizes[minor].max(1);
    let leading = match place.sizes[major] {
        // Of a single line any distance will do: one that suits bytes, too.
        1 => (size as u64).next_multiple_of(BYTES_AT_A_TIME as u64) as i64,
        _ => place.strides[major],
    };
    let fits = (place.strides[minor] == 1 || size == 1) && leading >= size;
    fits.then_some(Lie {
        transposed,
        leading,
    })
}

/// Bytes are summed four at a time: lines of operands lie along the sum, begin at multiples of this
/// and have as many elements, those that are too many being zeros.
///
/// Of cuBLAS 13.1 on an H100, so and with m, n and k of 1 to 300 and one matrix or three, all products came out right, and in
/// no other form were all of them taken; where a sum ends in less than four elements, it reads on behind the operand.
pub(crate) const BYTES_AT_A_TIME: i64 = 4;

/// An operand with its address and how its matrices lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub address: u64,
    pub place: &'a Place,
    pub lie: Lie,
}

/// The products of all matrices of operands: one for every step of the loops that a single batch
/// stride does not reach.
pub(crate) fn products(left: Part<'_>, right: Part<'_>, result: Part<'_>) -> Vec<Product> {
    let place = result.place;
    let batches = place.sizes.len() - 2;
    let (m, n) = place.matrix();
    let left_element_type = left.place.element_type;
    let k = match (left.place.matrix().1, left_element_type) {
        (k, ElementType::S8) => (k as u64).next_multiple_of(BYTES_AT_A_TIME as u64) as i64,
        (k, _) => k,
    };
    let strides = [&result, &left, &right].map(|part| &part.place.strides[..batches]);
    let mut loops = nest(&place.sizes[..batches], strides);
    // The longest loop is one call.
    let longest = (0..loops.len()).max_by_key(|&at| loops[at].extent);
    let (batch, batch_strides) = match longest {
        Some(at) => {
            let l = loops.remove(at);
            (l.extent, l.strides)
        }
        None => (1, [0; 3]),
    };
    let matrix = |part: &Part<'_>, offset: i64, batch_stride: i64| Matrix {
        address: part
            .address
            .wrapping_add_signed((part.place.offset + offset) * part.place.width()),
        transposed: part.lie.transposed,
        leading: part.lie.leading,
        batch_stride,
    };
    let mut offsets = vec![[0i64; 3]];
    for l in loops {
        offsets = offsets
            .iter()
            .flat_map(|at| {
                (0..l.extent).map(move |step| [0, 1, 2].map(|n| at[n] + step * l.strides[n]))
            })
            .collect();
    }
    offsets
        .into_iter()
        .map(|[of_result, of_left, of_right]| {
            let made = matrix(&result, of_result, batch_strides[0]);
            let (a, b) = (
                matrix(&left, of_left, batch_strides[1]),
                matrix(&right, of_right, batch_strides[2]),
            );
            // A row-major result is the column-major one of the transposed product.
            let flipped = |matrix: Matrix| Matrix {
                transposed: !matrix.transposed,
                ..matrix
            };
            let (m, n, left, right) = match made.transposed {
                false => (m, n, a, b),
                true => (n, m, flipped(b), flipped(a)),
            };
            Product {
                element_type: left_element_type,
                m,
                n,
                k,
                batch,
                left,
                right,
                result: Matrix {
                    transposed: false,
                    ..made
                },
            }
        })
        .collect()
}
