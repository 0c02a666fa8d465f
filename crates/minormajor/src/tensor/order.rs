//! Orders of dimensions that have names.

use std::fmt;

use minormajor_core::Layout;

/// An order of dimensions that has a name, for an array of any rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// The last dimension is the most minor: `{1,0}`, `{2,1,0}`.
    RowMajor,
    /// The first dimension is the most minor: `{0,1}`, `{0,1,2}`.
    ColumnMajor,
    /// The last two dimensions are column-major, the others major to them: `{0,1}`, `{1,2,0}`. A
    /// batch of matrices is a batch of column-major matrices.
    ColumnMajorMatrices,
    /// Dimension 1, the channels, is the most minor, and the others as in row-major order: NHWC of
    /// an array NCHW, `{1,3,2,0}`. Row-major below rank 3.
    ChannelsLast,
}

impl Order {
    /// All of them.
    pub const ALL: [Order; 4] = [
        Order::RowMajor,
        Order::ColumnMajor,
        Order::ColumnMajorMatrices,
        Order::ChannelsLast,
    ];

    /// The layout of an array of this rank.
    ///
    /// ```
    /// use minormajor::Order;
    ///
    /// assert_eq!(Order::ColumnMajorMatrices.layout(3).to_string(), "{1,2,0}");
    /// assert_eq!(Order::ChannelsLast.layout(4).to_string(), "{1,3,2,0}");
    /// ```
    pub fn layout(self, rank: usize) -> Layout {
        let mut order: Vec<i64> = (0..rank as i64).rev().collect();
        match self {
            Order::RowMajor => {}
            Order::ColumnMajor => order.reverse(),
            Order::ColumnMajorMatrices if rank >= 2 => order.swap(0, 1),
            Order::ChannelsLast if rank >= 3 => {
                order.retain(|&dimension| dimension != 1);
                order.insert(0, 1);
            }
            Order::ColumnMajorMatrices | Order::ChannelsLast => {}
        }
        Layout::new(order).expect("each dimension once")
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Order::RowMajor => "row-major",
            Order::ColumnMajor => "column-major",
            Order::ColumnMajorMatrices => "column-major matrices",
            Order::ChannelsLast => "channels last",
        })
    }
}
