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

use minormajor_core::{ArrayShape, Layout};

use super::format::same_bytes;
use super::{Array, Contents, FileError, Format, Frame, Input, Refusal};

pub use error::NpyError;
use header::dtype_of;
pub use header::{MAX_HEADER, MAX_RANK, NpyHeader, header, read_header};
pub(super) use header::{START, length_of};

pub(super) struct Npy;

impl Format for Npy {
    fn extension(&self) -> &'static str {
        "npy"
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Contents, FileError> {
        input.check_not_strided(self.extension())?;
        let start = input.read(0, START)?;
        let bytes = input.read(0, length_of(&start))?;
        let header = read_header(&bytes).map_err(|source| FileError::Npy {
            path: input.path.to_owned(),
            source: Box::new(source),
        })?;
        input.check_given(&header.shape)?;
        if header.shape.element_type().byte_width() > 1 {
            input.check_order(header.order)?;
        }
        let offset = header.data_offset as u64;
        input.check_length(&header.shape, offset)?;
        Ok(Contents {
            arrays: vec![Array::new(input.stem(), header.shape, header.order, offset)],
            metadata: Vec::new(),
        })
    }

    fn refuses(&self, array: &Array) -> Option<Refusal> {
        let Some(shape) = array.in_layout() else {
            return Some(Refusal::Strided);
        };
        let dimensions = shape.dimensions();
        if dtype_of(shape.element_type(), array.order).is_none() {
            Some(Refusal::Type)
        } else if shape.rank() > MAX_RANK {
            Some(Refusal::Limit("at most 64 dimensions"))
        } else if dimensions.iter().any(|dimension| dimension.is_dynamic()) {
            Some(Refusal::Limit("sizes and no bounds"))
        } else if fortran_order(shape).is_none() {
            Some(Refusal::Limit("C or Fortran order without padding"))
        } else {
            None
        }
    }

    fn frame(&self, _: &Path, contents: &Contents) -> Result<Frame, FileError> {
        let array = &contents.arrays[0];
        Ok(Frame::of_one(header_of(array), array))
    }
}

/// The array behind a header at the start of its bytes.
pub(super) fn array(name: String, header: NpyHeader) -> Array {
    Array::new(name, header.shape, header.order, header.data_offset as u64)
}

/// The header of an array that is not refused.
pub(super) fn header_of(array: &Array) -> Vec<u8> {
    let shape = &array.shape;
    let dimensions = shape.dimensions().iter();
    let sizes: Vec<i64> = dimensions.filter_map(|d| d.bound()).collect();
    let fortran_order = fortran_order(shape) == Some(true);
    header(shape.element_type(), array.order, &sizes, fortran_order)
        .expect("an array of another type or rank is refused")
}

/// Whether an array is in Fortran order, where it is in that or in C order; one that is in both
/// is called C, as NumPy does.
fn fortran_order(shape: &ArrayShape) -> Option<bool> {
    let plain = ArrayShape::new(shape.element_type(), shape.dimensions()).ok()?;
    let is = |order| {
        let ordered = plain.with_layout(order);
        ordered.is_ok_and(|ordered| same_bytes(shape, &ordered))
    };
    if is(Layout::descending(shape.rank())) {
        Some(false)
    } else if is(Layout::ascending(shape.rank())) {
        Some(true)
    } else {
        None
    }
}
