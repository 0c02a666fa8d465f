//! NumPy's `.npy`: one array in C or Fortran order behind a short header.
//!
//! [`read_header`] reads untrusted bytes; [`header`] writes what `numpy.save` writes, byte for
//! byte.
//!
//! The reader and the writer are our own. npyz, the usual crate, is not fit for untrusted
//! headers (0.9.1 multiplies the sizes unchecked, allocates by the length that the header
//! claims, and puts the whole header into its error texts), and writes headers only for element
//! types that it knows as Rust types.

mod error;
mod header;
mod scan;

use std::path::Path;

use minormajor_core::plan::PlanClass;
use minormajor_core::{ArrayShape, Layout, Plan};

use super::error::FileError;
use super::{Array, Format, Frame, Input};

pub use error::NpyError;
use header::dtype_of;
pub use header::{MAX_HEADER, MAX_RANK, NpyHeader, header, read_header};

pub(super) struct Npy;

impl Format for Npy {
    fn extension(&self) -> &'static str {
        "npy"
    }

    fn read(&self, input: &Input<'_>) -> Result<Vec<Array>, FileError> {
        input.check_not_strided(self.extension())?;
        let header = read_header(input.bytes).map_err(|source| FileError::Npy {
            path: input.path.to_owned(),
            source: Box::new(source),
        })?;
        input.check_given(&header.shape)?;
        if header.shape.element_type().byte_width() > 1 {
            input.check_order(header.order)?;
        }
        input.check_length(&header.shape, header.data_offset)?;
        Ok(vec![Array {
            name: input.stem(),
            shape: header.shape,
            offset: header.data_offset,
            view: None,
            order: header.order,
        }])
    }

    fn frame(&self, path: &Path, array: &Array) -> Result<Frame, FileError> {
        let Some(shape) = array.in_layout() else {
            return Err(FileError::Strided {
                path: path.to_owned(),
                format: self.extension(),
            });
        };
        let outside = |limit| FileError::ShapeOutsideFormat {
            path: path.to_owned(),
            format: self.extension(),
            limit,
            shape: Box::new(shape.clone()),
        };
        if dtype_of(shape.element_type(), array.order).is_none() {
            return Err(FileError::TypeOutsideFormat {
                path: path.to_owned(),
                format: self.extension(),
                element_type: shape.element_type(),
            });
        }
        if shape.rank() > MAX_RANK {
            return Err(outside("at most 64 dimensions"));
        }
        if shape
            .dimensions()
            .iter()
            .any(|dimension| dimension.is_dynamic())
        {
            return Err(outside("sizes and no bounds"));
        }
        let plain = ArrayShape::new(shape.element_type(), shape.dimensions()).ok();
        let orders = [
            Layout::descending(shape.rank()),
            Layout::ascending(shape.rank()),
        ];
        for (order, fortran_order) in orders.into_iter().zip([false, true]) {
            let ordered = plain
                .as_ref()
                .and_then(|plain| plain.with_layout(order).ok());
            if ordered.is_some_and(|ordered| same_bytes(shape, &ordered)) {
                let sizes: Vec<i64> = shape
                    .dimensions()
                    .iter()
                    .filter_map(|d| d.bound())
                    .collect();
                let header = header(shape.element_type(), array.order, &sizes, fortran_order);
                return Ok(Frame {
                    header: header.expect("the type and the rank were checked above"),
                    beside: None,
                });
            }
        }
        Err(outside("C or Fortran order without padding"))
    }
}

/// Whether an array in one layout is, byte for byte, the array in the other: layouts that are
/// written differently may be the same, as f32[1,512]{0,1} is in C order.
fn same_bytes(shape: &ArrayShape, ordered: &ArrayShape) -> bool {
    let plan = Plan::new(shape, ordered);
    plan.is_ok_and(|plan| {
        plan.class() == PlanClass::Identity && plan.source_bytes() == plan.destination_bytes()
    })
}
