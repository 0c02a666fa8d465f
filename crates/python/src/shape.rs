//! The class `Shape`.

use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use minormajor::{
    AddressMap, ArrayShape, BatchMap, Dimension, Location, ParseOptions, Permutation, Picture,
};
use numpy::PyArrayDescr;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::dtype;
use crate::error::{self, error};
use crate::layout::{Layout, tuple};
use crate::{order, text};

/// A shape as XLA writes it: an array's element type, sizes and layout, a tuple of shapes, a token.
///
/// Arrays without a layout get the default one, major to minor, unless default_layout is False.
/// A dimension number counts from the end where it is negative.
///
/// >>> shape = Shape("f32[2,3]{0,1:T(8,128)}")
/// >>> shape.sizes, shape.layout, shape.allocated_bytes
/// ((2, 3), Layout('{0,1:T(8,128)}'), 4096)
/// >>> Shape("f32[2,3")
/// Traceback (most recent call last):
///   ...
/// minormajor.ParseError: f32[2,3: column 8: expected `,` or `]` behind a dimension, found the end
#[pyclass(frozen, eq, hash, module = "minormajor")]
pub struct Shape {
    shape: minormajor::Shape,
    /// Made when it is first asked for.
    map: OnceLock<BatchMap>,
}

impl PartialEq for Shape {
    fn eq(&self, other: &Shape) -> bool {
        self.shape == other.shape
    }
}

impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.shape.hash(state);
    }
}

impl Shape {
    pub fn wrap(shape: impl Into<minormajor::Shape>) -> Shape {
        Shape {
            shape: shape.into(),
            map: OnceLock::new(),
        }
    }

    pub fn inner(&self) -> &minormajor::Shape {
        &self.shape
    }

    fn array(&self) -> PyResult<&ArrayShape> {
        self.shape.as_array().map_err(error)
    }

    fn edited(made: Result<ArrayShape, minormajor::ShapeError>) -> PyResult<Shape> {
        made.map(Shape::wrap).map_err(error)
    }

    /// The map of many indices at once.
    pub fn batch_map(&self) -> PyResult<&BatchMap> {
        if let Some(map) = self.map.get() {
            return Ok(map);
        }
        let map = BatchMap::new(self.array()?).map_err(error)?;
        Ok(self.map.get_or_init(|| map))
    }
}

#[pymethods]
impl Shape {
    #[new]
    #[pyo3(signature = (text, /, *, default_layout = true))]
    fn new(py: Python<'_>, text: &str, default_layout: bool) -> PyResult<Shape> {
        let options = match default_layout {
            true => ParseOptions::default(),
            false => ParseOptions::default().keep_missing_layouts(),
        };
        let shape = options.parse(text);
        shape
            .map(Shape::wrap)
            .map_err(|found| error::parse(py, text, &found))
    }

    /// The shape of an array: an element type (XLA's name or anything that NumPy takes for a type),
    /// sizes and a layout, the default one where none is given.
    ///
    /// >>> Shape.array("bf16", (2, 3), "{0,1}")
    /// Shape('bf16[2,3]{0,1}')
    #[staticmethod]
    #[pyo3(name = "array", signature = (dtype, sizes, layout = None))]
    fn of_array(
        dtype: &Bound<'_, PyAny>,
        sizes: Vec<i64>,
        layout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Shape> {
        let layout = match layout {
            Some(layout) => text::layout(layout)?,
            None => minormajor::Layout::descending(sizes.len()),
        };
        let sizes = sizes.into_iter().map(Dimension::Static);
        let array = ArrayShape::new(dtype::from_argument(dtype)?, sizes).map_err(error)?;
        Shape::edited(array.with_layout(layout))
    }

    /// The shape of an array at these strides in bytes, its layout the order of memory; None where
    /// that is none: with gaps, repeated or backwards.
    ///
    /// >>> Shape.of_strides("f32", (2, 3), (4, 8))
    /// Shape('f32[2,3]{0,1}')
    #[staticmethod]
    fn of_strides(
        dtype: &Bound<'_, PyAny>,
        sizes: Vec<usize>,
        strides: Vec<isize>,
    ) -> PyResult<Option<Shape>> {
        if sizes.len() != strides.len() {
            return Err(text::unequal(sizes.len(), strides.len()));
        }
        let shape = order::shape_at(dtype::from_argument(dtype)?, &sizes, &strides)?;
        Ok(shape.map(Shape::wrap))
    }

    /// The shape of a tuple of these.
    ///
    /// >>> Shape.tuple([Shape("f32[2]"), Shape("s32[]")])
    /// Shape('(f32[2]{0}, s32[])')
    #[staticmethod]
    #[pyo3(name = "tuple")]
    fn of_tuple(elements: Vec<PyRef<'_, Shape>>) -> PyResult<Shape> {
        let elements = elements.iter().map(|element| element.shape.clone());
        minormajor::Shape::tuple(elements)
            .map(Shape::wrap)
            .map_err(error)
    }

    /// A shape from the bytes of XLA's ShapeProto.
    #[staticmethod]
    #[pyo3(signature = (data, /))]
    fn from_proto(data: &[u8]) -> PyResult<Shape> {
        minormajor::Shape::from_proto_bytes(data)
            .map(Shape::wrap)
            .map_err(error)
    }

    /// The bytes of XLA's ShapeProto.
    fn to_proto<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.shape.to_proto_bytes())
    }

    /// 'array', 'tuple', 'token', 'opaque' or 'buffer'.
    #[getter]
    fn kind(&self) -> &'static str {
        self.shape.kind().name()
    }

    /// The shapes in a tuple.
    #[getter]
    fn elements<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let elements = self.shape.as_tuple().map_err(error)?.elements().iter();
        let elements = elements.map(|element| Bound::new(py, Shape::wrap(element.clone())));
        Ok(pyo3::types::PyTuple::new(py, elements.collect::<PyResult<Vec<_>>>()?)?.into_any())
    }

    /// The name of the element type: 'f32'.
    #[getter]
    fn element_type(&self) -> PyResult<&'static str> {
        Ok(self.array()?.element_type().name())
    }

    /// NumPy's type for the elements; types that NumPy lacks are those of ml_dtypes.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDescr>> {
        dtype::dtype_of(py, self.array()?.element_type())
    }

    /// The sizes; a bounded dimension counts its bound.
    #[getter]
    fn sizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        tuple(py, &self.array()?.sizes().map_err(error)?)
    }

    /// The number of dimensions.
    #[getter]
    fn rank(&self) -> PyResult<usize> {
        Ok(self.array()?.rank())
    }

    /// Whether each dimension's size is known only when a program runs.
    #[getter]
    fn dynamic_dimensions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let dimensions = self.array()?.dimensions().iter();
        let is_dynamic = |dimension: &Dimension| !matches!(dimension, Dimension::Static(_));
        tuple(py, &dimensions.map(is_dynamic).collect::<Vec<_>>())
    }

    /// The layout; None where the shape has none.
    #[getter]
    fn layout(&self) -> PyResult<Option<Layout>> {
        Ok(self.array()?.layout().cloned().map(Layout::wrap))
    }

    /// The number of elements, padding aside; None where a dimension has no bound.
    #[getter]
    fn size(&self) -> PyResult<Option<i64>> {
        Ok(self.array()?.elements())
    }

    /// Bytes that the elements alone need.
    #[getter]
    fn dense_bytes(&self) -> PyResult<Option<i64>> {
        Ok(self.array()?.dense_bytes())
    }

    /// Bytes of the buffer: all padding and every level of tiles counted.
    #[getter]
    fn allocated_bytes(&self) -> PyResult<Option<i64>> {
        Ok(self.array()?.allocated_bytes())
    }

    /// Positions in the buffer, in elements.
    #[getter]
    fn allocated_elements(&self) -> PyResult<Option<i64>> {
        Ok(self.array()?.allocated_elements())
    }

    /// Bytes from an element to the next one of each dimension; None where tiles or packed elements
    /// leave no such number.
    #[getter]
    fn byte_strides<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.array()?.byte_strides() {
            Some(strides) => tuple(py, &strides).map(Some),
            None => Ok(None),
        }
    }

    /// The same array in another layout.
    ///
    /// >>> Shape("f32[2,3]").with_layout("{0,1}")
    /// Shape('f32[2,3]{0,1}')
    #[pyo3(signature = (layout, /))]
    fn with_layout(&self, layout: &Bound<'_, PyAny>) -> PyResult<Shape> {
        Shape::edited(self.array()?.with_layout(text::layout(layout)?))
    }

    /// The same shape without layouts.
    fn without_layout(&self) -> Shape {
        Shape::wrap(self.shape.without_layout())
    }

    /// The same shape of another element type.
    #[pyo3(signature = (dtype, /))]
    fn with_element_type(&self, dtype: &Bound<'_, PyAny>) -> PyResult<Shape> {
        Shape::edited(
            self.array()?
                .with_element_type(dtype::from_argument(dtype)?),
        )
    }

    /// The shape of a transposed view: dimension i is dimension axes[i] of this one; all of them
    /// backwards where no axes are given.
    ///
    /// >>> Shape("f32[2,3]{1,0}").transpose()
    /// Shape('f32[3,2]{0,1}')
    #[pyo3(signature = (axes = None))]
    fn transpose(&self, axes: Option<Vec<i64>>) -> PyResult<Shape> {
        let array = self.array()?;
        let rank = array.rank();
        let axes = match axes {
            Some(axes) => axes,
            None => (0..rank as i64).rev().collect(),
        };
        let axes = resolved(&axes, rank)?;
        let permutation = Permutation::new(axes).map_err(error)?;
        Shape::edited(array.permute_dimensions(&permutation))
    }

    /// Where the element with this index lies in the buffer, counted in elements.
    ///
    /// >>> Shape("f32[3,5]{1,0:T(2,2)}").position((2, 3))
    /// 17
    #[pyo3(signature = (index, /))]
    fn position(&self, index: Vec<i64>) -> PyResult<i64> {
        let map = AddressMap::new(self.array()?).map_err(error)?;
        map.position(&index).map_err(error)
    }

    /// The index of the element at a position; None where that is padding.
    ///
    /// >>> shape = Shape("f32[3,5]{1,0:T(2,2)}")
    /// >>> shape.index(17), shape.index(9)
    /// ((2, 3), None)
    #[pyo3(signature = (position, /))]
    fn index<'py>(&self, py: Python<'py>, position: i64) -> PyResult<Option<Bound<'py, PyAny>>> {
        let map = AddressMap::new(self.array()?).map_err(error)?;
        match map.location(position).map_err(error)? {
            Location::Element(index) => tuple(py, &index).map(Some),
            Location::Padding { .. } => Ok(None),
        }
    }

    /// A picture of the array and its memory, as text of at most so many columns.
    ///
    /// >>> print(Shape("f32[2,3]{0,1}").draw())
    /// f32[2,3]{0,1}
    /// ...
    #[pyo3(signature = (width = 100))]
    fn draw(&self, width: usize) -> PyResult<String> {
        let picture = Picture::new(self.array()?).map_err(error)?;
        Ok(picture.to_text(width, false))
    }

    /// The picture as an SVG document.
    fn svg(&self) -> PyResult<String> {
        Ok(Picture::new(self.array()?).map_err(error)?.to_svg())
    }

    /// The picture in a notebook; None for what has none.
    fn _repr_svg_(&self) -> Option<String> {
        self.svg().ok()
    }

    fn __str__(&self) -> String {
        self.shape.to_string()
    }

    fn __repr__(&self) -> String {
        // A text without a layout reads as one with the default layout, unless asked not to.
        match self.shape.require_layouts() {
            Ok(()) => format!("Shape('{}')", self.shape),
            Err(_) => format!("Shape('{}', default_layout=False)", self.shape),
        }
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let rebuild = slf.get_type().getattr("from_proto")?;
        Ok((rebuild, (slf.get().to_proto(slf.py()),)))
    }

    fn __len__(&self) -> PyResult<usize> {
        match &self.shape.as_tuple() {
            Ok(tuple) => Ok(tuple.len()),
            Err(_) => Ok(self.array()?.rank()),
        }
    }
}

/// Dimension numbers from 0 on.
pub fn resolved(axes: &[i64], rank: usize) -> PyResult<Vec<i64>> {
    axes.iter()
        .map(|&axis| minormajor::resolve_dimension(axis, rank).map(|axis| axis as i64))
        .collect::<Result<_, _>>()
        .map_err(error)
}
