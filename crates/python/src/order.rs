//! Orders of memory that strided arrays can have, and the shapes of arrays that have one.

use minormajor::{ArrayShape, ElementType, Layout, StridedView};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::array::Moved;
use crate::dtype;
use crate::error::error;

/// Strides in bytes.
pub type Strides = SmallVec<[isize; 8]>;

/// An order of memory that a strided array can have: no tiles, no padding.
pub struct Order(SmallVec<[usize; 8]>);

impl Order {
    /// The order of a layout that says nothing else.
    ///
    /// # Errors
    ///
    /// A layout of another rank, or with tiles, padding or other things that strides can't say.
    pub fn new(layout: &Layout, rank: usize) -> PyResult<Order> {
        if layout.rank() != rank {
            return Err(error(format!(
                "the layout {layout} has {} dimensions, the array {rank}",
                layout.rank()
            )));
        }
        Order::of_layout(layout).ok_or_else(|| {
            error(format!(
                "the layout {layout} says more than an order, which strides can't express; \
                 `pack` makes a buffer in it"
            ))
        })
    }

    /// The order of a layout that says nothing else.
    pub fn of_layout(layout: &Layout) -> Option<Order> {
        let order = layout.minor_to_major();
        let plain = Layout::new(order.iter().map(|&dimension| dimension as i64));
        (plain.as_ref() == Ok(layout)).then(|| Order(order.into()))
    }

    /// The dimensions, the most minor first.
    pub fn minor_to_major(&self) -> &[usize] {
        &self.0
    }

    /// Row-major for `C`, column-major for `F`.
    pub fn of_letter(letter: &str, rank: usize) -> PyResult<Order> {
        match letter {
            "C" => Ok(Order((0..rank).rev().collect())),
            "F" => Ok(Order((0..rank).collect())),
            _ => Err(error(format!(
                "expected the order 'C' or 'F', found {letter:?}"
            ))),
        }
    }

    /// The strides of an array without gaps in this order.
    pub fn strides(&self, sizes: &[usize], width: usize) -> PyResult<Strides> {
        let mut strides = Strides::from_elem(0, sizes.len());
        let mut next = isize::try_from(width).ok();
        for &dimension in &self.0 {
            let stride = next.ok_or_else(|| error("the array is larger than the address space"))?;
            strides[dimension] = stride;
            let size = isize::try_from(sizes[dimension].max(1)).ok();
            next = size.and_then(|size| stride.checked_mul(size));
        }
        Ok(strides)
    }

    /// The shape of an array without gaps in this order.
    pub fn shape(&self, element_type: ElementType, sizes: &[usize]) -> PyResult<ArrayShape> {
        let layout = Layout::new(self.0.iter().map(|&d| d as i64)).map_err(error)?;
        let sizes = sizes.iter().map(|&size| size as i64);
        let shape = ArrayShape::new(element_type, sizes).map_err(error)?;
        shape.with_layout(layout).map_err(error)
    }

    /// Whether an array has its elements in this order, without gaps.
    pub fn is_met_by(&self, array: &Bound<'_, PyUntypedArray>) -> bool {
        self.is_order_at(array.shape(), array.strides(), array.dtype().itemsize())
    }

    /// As [`is_met_by`](Order::is_met_by), for elements at strides in bytes.
    pub fn is_order_at(&self, sizes: &[usize], strides: &[isize], width: usize) -> bool {
        if sizes.contains(&0) {
            return true;
        }
        let mut expected = width as isize;
        self.0.iter().all(|&dimension| {
            let size = sizes[dimension] as isize;
            let is_next = size == 1 || strides[dimension] == expected;
            // Where it overflows there is no such array: what it is compared with is no matter.
            expected = expected.wrapping_mul(size);
            is_next
        })
    }
}

/// The array's shape, with the order of its memory as its layout; `None` where there are gaps,
/// where elements repeat or go backwards, or where XLA has no name for the type.
pub fn shape_of(
    dtype: &Bound<'_, PyArrayDescr>,
    sizes: &[usize],
    strides: &[isize],
) -> PyResult<Option<ArrayShape>> {
    match dtype::element_type(dtype)? {
        Some(element_type) => shape_at(element_type, sizes, strides),
        None => Ok(None),
    }
}

/// The shape of an array at these strides, in bytes, as [`shape_of`].
pub fn shape_at(
    element_type: ElementType,
    sizes: &[usize],
    strides: &[isize],
) -> PyResult<Option<ArrayShape>> {
    let (rank, width) = (sizes.len(), element_type.byte_width() as usize);
    let mut sorted: Vec<usize> = (0..rank).rev().collect();
    // Where strides don't tell, the last dimension is the most minor.
    sorted.sort_by_key(|&dimension| strides[dimension]);
    let orders = [(0..rank).rev().collect(), (0..rank).collect(), sorted];
    let mut orders = orders.into_iter().map(|order| Order(order.into()));
    let target = orders.find(|order| order.is_order_at(sizes, strides, width));
    let shape = target.map(|order| order.shape(element_type, sizes));
    shape.transpose()
}

/// An array's type and sizes in the default layout, and where its elements are.
///
/// # Errors
///
/// A type that has no name in XLA.
pub fn described(
    dtype: &Bound<'_, PyArrayDescr>,
    sizes: &[usize],
    strides: &[isize],
) -> PyResult<(ArrayShape, StridedView)> {
    let element_type = dtype::named_element_type(dtype)?;
    let shape = ArrayShape::new(element_type, sizes.iter().map(|&size| size as i64));
    let shape = shape.and_then(|shape| shape.with_default_layout());
    let moved = Moved::new(sizes, strides, dtype.itemsize());
    Ok((shape.map_err(error)?, moved.view_as(element_type)?))
}
