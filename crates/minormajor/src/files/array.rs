//! Arrays in files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use minormajor_core::plan::ByteOrder;
use minormajor_core::{ArrayShape, ElementType, Place, ShapeError, StridedView};
use serde_json::{Map, Value};

use super::FileError;
use super::error::excerpt;
use super::format::Unpack;
use super::sources::INFLATE_HEAP;

/// What a file holds, or shall hold.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// In the file's order.
    pub(super) arrays: Vec<Array>,
    /// Texts by name that belong to no array, in the file's order.
    pub(super) metadata: Vec<(String, String)>,
    /// What the index of a set of files says beside where its arrays are.
    pub(super) index: serde_json::Map<String, serde_json::Value>,
    /// The metadata of each file of a set. Those of all of them together are `metadata`.
    pub(super) parts: BTreeMap<PathBuf, Vec<(String, String)>>,
}

impl Contents {
    /// Names the type of all opaque elements that are as wide.
    pub(super) fn name_opaque(
        &mut self,
        path: &Path,
        element_type: ElementType,
    ) -> Result<(), FileError> {
        let mut found = false;
        for array in &mut self.arrays {
            found |= array.shape.element_type() == element_type && array.kind == Kind::Known;
            if let Some(named) = array.named(element_type) {
                *array = named;
                found = true;
            }
        }
        match (found, self.arrays.first()) {
            (false, Some(array)) => Err(FileError::OtherType {
                path: path.to_owned(),
                given: element_type,
                found: array.type_name(),
            }),
            _ => Ok(()),
        }
    }
}

/// Which bytes hold an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Within {
    /// The file that names it.
    TheFile,
    /// Another file of the same set.
    Another(PathBuf),
    /// What a part of the file inflates to.
    Deflated(Deflated),
    /// What pieces that are kept elsewhere unpack to.
    #[cfg_attr(not(feature = "zarr"), allow(dead_code))]
    Packed(Packed),
}

impl Within {
    /// Whether it is put into a file of its own before it is read.
    pub(super) fn is_unpacked(&self) -> bool {
        matches!(self, Within::Deflated(_) | Within::Packed(_))
    }

    /// Bytes of heap that putting it there takes.
    pub(super) fn unpack_heap(&self) -> usize {
        match self {
            Within::TheFile | Within::Another(_) => 0,
            Within::Deflated(_) => INFLATE_HEAP,
            Within::Packed(Packed(pieces)) => pieces.heap(),
        }
    }
}

/// Pieces that hold an array.
#[derive(Clone, Debug)]
pub(super) struct Packed(pub(super) Arc<dyn Unpack>);

impl PartialEq for Packed {
    fn eq(&self, other: &Packed) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Packed {}

/// A deflated part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Deflated {
    /// Where it starts.
    pub(super) start: u64,
    /// Its bytes in the file.
    pub(super) packed: u64,
    /// The bytes that it inflates to.
    pub(super) size: u64,
    /// Their CRC-32.
    pub(super) crc: u32,
}

/// A part of a file whose CRC-32 is known: an array with its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Summed {
    /// Where it starts.
    pub(super) start: u64,
    /// Its bytes.
    pub(super) size: u64,
    /// Their CRC-32.
    pub(super) crc: u32,
}

/// What is known of an array's elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The file says their type.
    Known,
    /// The user says their type, so that formats may do that know only how wide it is.
    Named,
    /// They have no name in XLA, and move as bytes.
    Opaque {
        /// NumPy's description, as Python's text.
        descr: String,
        /// Of numbers, where they are some.
        order: ByteOrder,
    },
}

/// What a file says of an array beside its elements, for a file that can say it too.
#[derive(Clone, Debug, Default)]
#[cfg_attr(not(feature = "zarr"), allow(dead_code))]
pub(super) struct Notes {
    /// JSON by name.
    pub(super) attributes: Map<String, Value>,
    /// JSON, a text or null for each dimension, or nothing.
    pub(super) dimension_names: Vec<Value>,
    /// Sizes of its chunks, one a dimension, or nothing.
    pub(super) chunks: Vec<u64>,
    /// The same, the most major one first.
    pub(super) piece: Vec<u64>,
    /// How chunks are encoded: zarr's codecs behind a transpose.
    pub(super) codecs: Vec<Value>,
    /// The element that chunks which are not there have.
    pub(super) fill_value: Option<Value>,
    /// The type that these speak of.
    pub(super) element_type: Option<ElementType>,
}

impl Notes {
    /// Those of the array whose dimension `i` is dimension `order[i]` of this one.
    pub(super) fn permuted(&self, order: &[usize]) -> Notes {
        Notes {
            dimension_names: permuted(&self.dimension_names, order),
            chunks: permuted(&self.chunks, order),
            ..self.clone()
        }
    }

    /// What a format without a place for notes loses, in words behind the array's name.
    pub(super) fn lost(&self) -> Option<&'static str> {
        match (self.attributes.is_empty(), self.dimension_names.is_empty()) {
            (true, true) => None,
            (true, false) => Some("dimension names"),
            (false, true) => Some("attributes"),
            (false, false) => Some("attributes and dimension names"),
        }
    }
}

/// A list of one item a dimension in another order of these.
fn permuted<T: Clone>(list: &[T], order: &[usize]) -> Vec<T> {
    let items = order.iter().filter_map(|&place| list.get(place).cloned());
    items.collect()
}

/// An array in a file.
#[derive(Clone, Debug)]
pub(super) struct Array {
    pub(super) name: String,
    /// Opaque elements are bytes along one more dimension, the last and most minor one.
    pub(super) shape: ArrayShape,
    pub(super) kind: Kind,
    /// Which bytes hold it.
    pub(super) within: Within,
    /// How many of them stand before it.
    pub(super) offset: u64,
    /// Where its elements lie, if not in a layout.
    pub(super) view: Option<StridedView>,
    /// Little where elements have one byte.
    pub(super) order: ByteOrder,
    /// What else is known of it.
    pub(super) notes: Notes,
    /// A checksum that the file has of it.
    pub(super) summed: Option<Summed>,
}

impl Array {
    /// An array in its shape's layout.
    pub(super) fn new(name: String, shape: ArrayShape, order: ByteOrder, offset: u64) -> Array {
        Array {
            name,
            order: order_of(shape.element_type(), Some(order)),
            shape,
            kind: Kind::Known,
            within: Within::TheFile,
            offset,
            view: None,
            notes: Notes::default(),
            summed: None,
        }
    }

    /// What a plan is made from.
    pub(super) fn place(&self) -> Place<'_> {
        match &self.view {
            Some(view) => view.into(),
            None => (&self.shape).into(),
        }
    }

    /// Its shape, where it lies in its layout.
    pub(super) fn in_layout(&self) -> Option<&ArrayShape> {
        match self.view {
            Some(_) => None,
            None => Some(&self.shape),
        }
    }

    /// Its shape, without a layout where it lies in none.
    pub(super) fn described(&self) -> ArrayShape {
        match self.in_layout() {
            Some(shape) => shape.clone(),
            None => self.shape.without_layout(),
        }
    }

    /// Its element type in words.
    pub(super) fn type_name(&self) -> String {
        match &self.kind {
            Kind::Opaque { descr, .. } => excerpt(descr.as_bytes(), 60),
            _ => self.shape.element_type().to_string(),
        }
    }

    /// Its shape as its users know it: without the dimension of an opaque element's bytes.
    pub(super) fn elements(&self) -> ArrayShape {
        match self.kind {
            // The dimension is there.
            Kind::Opaque { .. } => self.shape.delete_dimension(-1),
            _ => Ok(self.shape.clone()),
        }
        .unwrap_or_else(|_| self.shape.clone())
    }

    /// The shape of bytes, given another one of the elements.
    pub(super) fn with_elements(&self, elements: ArrayShape) -> Result<ArrayShape, ShapeError> {
        match (&self.kind, self.shape.dimensions().last()) {
            (Kind::Opaque { .. }, Some(&bytes)) => elements.append_minor_dimension(bytes),
            _ => Ok(elements),
        }
    }

    /// The array with its opaque elements as a type that its user names, where they are so wide.
    fn named(&self, element_type: ElementType) -> Option<Array> {
        let Kind::Opaque { order, .. } = &self.kind else {
            return None;
        };
        let width = self.shape.dimensions().last()?.bound()?;
        if width != i64::from(element_type.byte_width()) {
            return None;
        }
        Some(Array {
            shape: self.elements().with_element_type(element_type).ok()?,
            kind: Kind::Named,
            order: order_of(element_type, Some(*order)),
            ..self.clone()
        })
    }

    /// The bytes that it takes in a file.
    pub(super) fn bytes(&self) -> u64 {
        match &self.view {
            Some(view) => view.buffer_bytes() as u64,
            // Readers and writers check that there is a size; it is never negative.
            None => self.shape.allocated_bytes().unwrap_or(0) as u64,
        }
    }
}

/// Where the elements of an array lie in a raw file, in place of a layout.
///
/// ```
/// use minormajor::files::FileStrides;
///
/// // Rows of 3 elements of 4 bytes, every 16 bytes, behind a header of 64.
/// let rows = FileStrides { strides: vec![16, 4], offset: 64 };
/// # let _ = rows;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStrides {
    /// From an element to the next one of each dimension: in bytes, or in elements where the
    /// array's layout packs them. 0 repeats, negative walks back.
    pub strides: Vec<i64>,
    /// Where in the file the element of index 0, 0, .. begins, counted as strides are.
    pub offset: i64,
}

impl FileStrides {
    /// The array in the file.
    pub(super) fn view(&self, path: &Path, shape: &ArrayShape) -> Result<StridedView, FileError> {
        StridedView::of_array(shape, &self.strides, self.offset).map_err(|source| FileError::View {
            path: path.to_owned(),
            source: Box::new(source),
        })
    }
}

/// A byte order of elements; those of one byte have none.
pub(super) fn order_of(element_type: ElementType, order: Option<ByteOrder>) -> ByteOrder {
    match element_type.byte_width() {
        1 => ByteOrder::Little,
        _ => order.unwrap_or_default(),
    }
}
