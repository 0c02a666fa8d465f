//! NumPy's `.npy`: one array in C or Fortran order behind a short header.
//!
//! [`read_header`] reads untrusted bytes; [`header`] writes what `numpy.save` writes, byte for
//! byte.
//!
//! The reader and the writer are our own. npyz, the usual crate, is not fit for untrusted
//! headers (0.9.1 multiplies the sizes unchecked, allocates by the length that the header
//! claims, and puts the whole header into its error texts), and writes headers only for element
//! types that it knows as Rust types.

mod descr;
mod error;
mod header;
mod scan;

use std::path::Path;

use minormajor_core::plan::ByteOrder;
use minormajor_core::{ArrayShape, ElementType, Layout};

use super::format::same_bytes;
use super::{Array, Contents, FileError, Format, Frame, Input, Kind, Refusal};

use descr::dtype_of;
pub use error::NpyError;
pub use header::{MAX_HEADER, MAX_RANK, NpyHeader, header, header_of_opaque, read_header};
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
            arrays: vec![array(input.stem(), header)],
            ..Contents::default()
        })
    }

    fn refuses(&self, array: &Array) -> Option<Refusal> {
        if array.view.is_some() {
            return Some(Refusal::Strided);
        }
        let shape = array.elements();
        let dimensions = shape.dimensions();
        if descr_of(array).is_none() {
            Some(Refusal::Type)
        } else if shape.rank() > MAX_RANK {
            Some(Refusal::Limit("at most 64 dimensions"))
        } else if dimensions.iter().any(|dimension| dimension.is_dynamic()) {
            Some(Refusal::Limit("sizes and no bounds"))
        } else if fortran_order(array).is_none() {
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
    let offset = header.data_offset as u64;
    let array = Array::new(name, header.shape, header.order, offset);
    Array {
        kind: match header.opaque {
            None => Kind::Known,
            Some(descr) => Kind::Opaque {
                descr,
                order: header.order,
            },
        },
        ..array
    }
}

/// The header of an array that is not refused.
pub(super) fn header_of(array: &Array) -> Vec<u8> {
    let shape = array.elements();
    let dimensions = shape.dimensions().iter();
    let sizes: Vec<i64> = dimensions.filter_map(|d| d.bound()).collect();
    let fortran_order = fortran_order(array) == Some(true);
    let descr = descr_of(array).unwrap_or_default();
    header::write(&descr, &sizes, fortran_order)
        .expect("an array of another type or rank is refused")
}

/// The byte order of elements of so many bytes that NumPy describes.
pub(super) fn order_of_descr(descr: &str, width: u64) -> Result<ByteOrder, NpyError> {
    let read = descr::read(descr.as_bytes())?;
    match read.width == width {
        true => Ok(read.order),
        false => Err(NpyError::DataType {
            dtype: descr.to_owned(),
            remedy: "the array's elements have another number of bytes",
        }),
    }
}

/// What NumPy says of an array's elements, where it has words for them.
fn descr_of(array: &Array) -> Option<String> {
    let element_type = array.shape.element_type();
    let known = || dtype_of(element_type, array.order);
    let text = match &array.kind {
        Kind::Opaque { descr, .. } => return Some(descr.clone()),
        Kind::Known => known()?,
        // What ml_dtypes' types are saved as; who reads it must say the type again.
        Kind::Named => known().or_else(|| match (element_type, array.order) {
            (ElementType::F8e5m2, _) => Some("<f1".to_owned()),
            (other, ByteOrder::Little) => Some(format!("<V{}", other.byte_width())),
            _ => None,
        })?,
    };
    Some(format!("'{text}'"))
}

/// Whether an array is in Fortran order, where it is in that or in C order; one that is in both
/// is called C, as NumPy does.
fn fortran_order(array: &Array) -> Option<bool> {
    let shape = array.elements();
    let plain = ArrayShape::new(shape.element_type(), shape.dimensions()).ok()?;
    let is = |order| {
        let ordered = plain.with_layout(order);
        let ordered = ordered.and_then(|ordered| array.with_elements(ordered));
        ordered.is_ok_and(|ordered| same_bytes(&array.shape, &ordered))
    };
    if is(Layout::descending(shape.rank())) {
        Some(false)
    } else if is(Layout::ascending(shape.rank())) {
        Some(true)
    } else {
        None
    }
}
