//! Array shapes and memory layouts, exactly: XLA's shapes and layouts with their text and proto,
//! where every element lies in memory, and plans that move any layout to any other.
//!
//! Pure arithmetic: nothing here touches an array's memory, does I/O or spawns a thread.
#![forbid(unsafe_code)]

mod address;
mod array;
pub mod bitcast;
pub mod broadcast;
mod compact_shape;
mod computation_layout;
mod dimension;
mod element_type;
mod error;
pub mod hlo;
mod in_place;
mod indices;
mod layout;
mod orders;
mod packing;
mod padding_config;
mod permutation;
pub mod plan;
mod proto;
mod shape;
mod shape_layout;
pub mod sharding;
pub mod sizes;
mod spelling;
pub mod stream;
mod text;
mod tree;
mod view;
mod window;

pub use address::{AddressMap, Conversion, ConversionStep, IndexError, Location};
pub use array::ArrayShape;
pub use compact_shape::{CompactShape, CompactShapeError};
pub use computation_layout::ComputationLayout;
pub use dimension::{Dimension, dimension_names, non_contracting_dimensions, resolve_dimension};
pub use element_type::{
    ElementKind, ElementType, FloatFormat, NativeElement, SpecialValues, UnknownElementType,
};
pub use error::ShapeError;
pub use in_place::{ElementMove, InPlacePlan, PackedElements, Step};
pub use indices::{IndexSpace, Indices, ShapePartition, to_mixed_radix};
pub use layout::{Layout, LayoutEquality, PaddingValue, SplitConfig, Tile, TileDimension};
pub use packing::{PackingError, pack_bits, unpack_bits};
pub use padding_config::{DimensionPadding, Padding, PaddingConfig, WindowError};
pub use permutation::{Permutation, move_element};
pub use plan::Plan;
pub use proto::ProtoError;
pub use shape::{
    MAX_NESTING, PostOrder, ProgramShape, Shape, ShapeEquality, ShapeIndex, ShapeKind, Subshapes,
    TupleShape,
};
pub use shape_layout::ShapeLayout;
pub use sharding::Sharding;
pub use spelling::nearest;
pub use stream::Stream;
pub use text::{ParseError, ParseErrorReason, ParseOptions};
pub use tree::{ShapeTree, TreeError, TupleTree};
pub use view::{Place, StridedView, ViewError};
pub use window::{Window, WindowDimension, dilated_bound, strided_bound};
