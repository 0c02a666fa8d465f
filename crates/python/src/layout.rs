//! The class `Layout`.

use minormajor::TileDimension;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::error::error;
use crate::order::Order;

/// How an array's elements are placed in memory: XLA's layout.
///
/// >>> layout = Layout("{0,1:T(8,128)}")
/// >>> layout.minor_to_major, layout.tiles
/// ((0, 1), ((8, 128),))
#[pyclass(frozen, eq, hash, module = "minormajor")]
#[derive(PartialEq, Eq, Hash)]
pub struct Layout {
    layout: minormajor::Layout,
    /// Whether it says nothing but an order.
    is_order: bool,
}

impl Layout {
    pub fn wrap(layout: minormajor::Layout) -> Layout {
        let is_order = Order::of_layout(&layout).is_some();
        Layout { layout, is_order }
    }

    pub fn inner(&self) -> &minormajor::Layout {
        &self.layout
    }

    /// The order, where the layout says nothing else.
    pub fn order(&self) -> Option<&[usize]> {
        self.is_order.then(|| self.layout.minor_to_major())
    }
}

#[pymethods]
impl Layout {
    /// Layout(text: str | Sequence[int])
    #[new]
    #[pyo3(signature = (text, /))]
    fn new(text: &Bound<'_, PyAny>) -> PyResult<Layout> {
        crate::text::layout(text).map(Layout::wrap)
    }

    /// The default of a rank: the last dimension is the most minor.
    ///
    /// >>> Layout.descending(3)
    /// Layout('{2,1,0}')
    #[staticmethod]
    fn descending(rank: usize) -> Layout {
        Layout::wrap(minormajor::Layout::descending(rank))
    }

    /// The first dimension is the most minor, as Fortran has it.
    ///
    /// >>> Layout.ascending(3)
    /// Layout('{0,1,2}')
    #[staticmethod]
    fn ascending(rank: usize) -> Layout {
        Layout::wrap(minormajor::Layout::ascending(rank))
    }

    /// A layout from the bytes of XLA's LayoutProto.
    #[staticmethod]
    #[pyo3(signature = (data, /))]
    fn from_proto(data: &[u8]) -> PyResult<Layout> {
        minormajor::Layout::from_proto_bytes(data)
            .map(Layout::wrap)
            .map_err(error)
    }

    /// The bytes of XLA's LayoutProto.
    fn to_proto<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.layout.to_proto_bytes())
    }

    /// The number of dimensions.
    #[getter]
    fn rank(&self) -> usize {
        self.layout.rank()
    }

    /// The dimensions, the one whose elements are adjacent in memory first.
    #[getter]
    fn minor_to_major<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        tuple(py, self.layout.minor_to_major())
    }

    /// The tiles of every level, outermost first; None stands for `*`.
    #[getter]
    fn tiles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let sizes = |tile: &minormajor::Tile| -> Vec<Option<i64>> {
            let size = |dimension: &TileDimension| match dimension {
                TileDimension::Size(size) => Some(*size),
                _ => None,
            };
            tile.dimensions().iter().map(size).collect()
        };
        let tiles: Vec<_> = self.layout.tiles().iter().map(sizes).collect();
        let tiles = tiles.iter().map(|tile| tuple(py, tile));
        tuple(py, &tiles.collect::<PyResult<Vec<_>>>()?)
    }

    /// The width that each dimension is padded to; empty where the layout pads none.
    #[getter]
    fn padded_dimensions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        tuple(py, self.layout.padded_dimensions())
    }

    /// What padding holds: 'zero', 'one', 'lowest', 'highest' or 'unknown'; None where nothing is said.
    #[getter]
    fn padding_value(&self) -> Option<&'static str> {
        self.layout.padding_value().map(|value| value.name())
    }

    /// Bits of an element in memory; 0 for the type's own width.
    #[getter]
    fn element_size_in_bits(&self) -> i64 {
        self.layout.element_size_in_bits()
    }

    /// The number of the memory space: 0 for the default one.
    #[getter]
    fn memory_space(&self) -> i64 {
        self.layout.memory_space()
    }

    /// What the allocated elements are a multiple of.
    #[getter]
    fn tail_padding_alignment(&self) -> i64 {
        self.layout.tail_padding_alignment()
    }

    fn __str__(&self) -> String {
        self.layout.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Layout('{}')", self.layout)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let rebuild = slf.get_type().getattr("from_proto")?;
        Ok((rebuild, (slf.get().to_proto(slf.py()),)))
    }
}

/// A tuple of Python's.
pub fn tuple<'py, T>(py: Python<'py>, values: &[T]) -> PyResult<Bound<'py, PyAny>>
where
    T: Clone + IntoPyObject<'py>,
{
    let values = values.to_vec();
    Ok(PyTuple::new(py, values)?.into_any())
}
