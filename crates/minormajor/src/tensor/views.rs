//! Views: the same memory under other sizes.

use std::ops::Range;

use minormajor_core::bitcast::{Bitcast, Operation};
use minormajor_core::broadcast::check_stretches;
use minormajor_core::{ArrayShape, Layout, Permutation, StridedView, ViewError, resolve_dimension};

use super::{IntoSizes, Memory, Tensor, TensorError};

impl Tensor {
    /// The view whose dimension `i` is this one's dimension `dimensions[i]`; numbers may be
    /// negative, -1 being the last.
    ///
    /// # Errors
    ///
    /// [`TensorError::Shape`] unless each dimension is named once.
    ///
    /// ```
    /// use minormajor::{Device, Tensor};
    ///
    /// let a = Tensor::from_slice(&[1, 2, 3, 4, 5, 6], [2, 3], &Device::cpu())?;
    /// let b = a.transpose(&[-1, 0])?;
    /// assert!(b.shares_memory_with(&a));
    /// assert_eq!(b.to_vec::<i32>()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transpose(&self, dimensions: &[i64]) -> Result<Tensor, TensorError> {
        let resolve = |&dimension: &i64| resolve_dimension(dimension, self.rank());
        let places = dimensions
            .iter()
            .map(resolve)
            .collect::<Result<Vec<_>, _>>()?;
        let permutation = Permutation::new(places.iter().map(|&place| place as i64))?;
        Ok(self.view(match &self.memory {
            Memory::Array(shape) => Memory::Array(shape.permute_dimensions(&permutation)?),
            Memory::Strided(view) => {
                let sizes = permutation.apply(view.sizes())?;
                let strides = permutation.apply(view.strides())?;
                self.strided_memory(view, &sizes, &strides, view.offset())?
            }
        }))
    }

    /// The view with two dimensions exchanged.
    ///
    /// # Errors
    ///
    /// [`TensorError::Shape`] for a dimension that is not there.
    pub fn swap_dimensions(&self, one: i64, other: i64) -> Result<Tensor, TensorError> {
        let [one, other] = [one, other].map(|d| resolve_dimension(d, self.rank()));
        let mut order: Vec<i64> = (0..self.rank() as i64).collect();
        order.swap(one?, other?);
        self.transpose(&order)
    }

    /// The view of a range of a dimension.
    ///
    /// # Errors
    ///
    /// [`TensorError::Range`] for a range that is not in the dimension, [`TensorError::Shape`] for
    /// a dimension that is not there, [`TensorError::NotAView`] of a tiled tensor.
    pub fn slice(&self, dimension: i64, range: Range<i64>) -> Result<Tensor, TensorError> {
        self.slice_by(dimension, range, 1)
    }

    /// The view of every `step`th index of a range of a dimension; with a negative step from the
    /// range's last index down.
    ///
    /// # Errors
    ///
    /// As [`slice`](Tensor::slice), and [`TensorError::Range`] for a step of 0.
    ///
    /// ```
    /// use minormajor::{Device, Tensor};
    ///
    /// let a = Tensor::from_slice(&[0, 1, 2, 3, 4, 5], [6], &Device::cpu())?;
    /// assert_eq!(a.slice_by(0, 1..6, 2)?.to_vec::<i32>()?, [1, 3, 5]);
    /// assert_eq!(a.slice_by(0, 0..6, -4)?.to_vec::<i32>()?, [5, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slice_by(
        &self,
        dimension: i64,
        range: Range<i64>,
        step: i64,
    ) -> Result<Tensor, TensorError> {
        let dimension = resolve_dimension(dimension, self.rank())?;
        let size = self.sizes()[dimension];
        let Range { start, end } = range;
        if start < 0 || end < start || end > size || step == 0 {
            return Err(TensorError::Range {
                dimension,
                size,
                start,
                end,
                step,
            });
        }
        let whole = (start, end, step) == (0, size, 1);
        if whole {
            return Ok(self.clone());
        }
        let view = self.require_strided("slice")?;
        let (mut sizes, mut strides) = (view.sizes().to_vec(), view.strides().to_vec());
        let count = (end - start).unsigned_abs().div_ceil(step.unsigned_abs()) as i64;
        let first = if step > 0 { start } else { end - 1 };
        sizes[dimension] = count;
        // Of one element or none the stride is of no use; else it reaches inside of the range.
        let old = strides[dimension];
        strides[dimension] = if count > 1 { old * step } else { old };
        let moved = if count > 0 { first * old } else { 0 };
        Ok(self.view(self.strided_memory(&view, &sizes, &strides, view.offset() + moved)?))
    }

    /// The view of one index of a dimension, without that dimension.
    ///
    /// # Errors
    ///
    /// As [`slice`](Tensor::slice).
    pub fn index(&self, dimension: i64, index: i64) -> Result<Tensor, TensorError> {
        let place = resolve_dimension(dimension, self.rank())?;
        let row = self.slice(dimension, index..index.saturating_add(1))?;
        row.squeeze(place as i64)
    }

    /// The view with a dimension reversed.
    ///
    /// # Errors
    ///
    /// As [`slice`](Tensor::slice).
    pub fn flip(&self, dimension: i64) -> Result<Tensor, TensorError> {
        let place = resolve_dimension(dimension, self.rank())?;
        self.slice_by(dimension, 0..self.sizes()[place], -1)
    }

    /// The view of these sizes in which dimensions of size 1, and those that this one lacks, repeat.
    ///
    /// # Errors
    ///
    /// [`TensorError::Broadcast`] where sizes don't stretch, [`TensorError::NotAView`] of a tiled
    /// tensor.
    pub fn broadcast_to(&self, sizes: impl IntoSizes) -> Result<Tensor, TensorError> {
        let sizes = sizes.into_sizes();
        let own = self.sizes();
        check_stretches(&own, &sizes).map_err(|source| TensorError::Broadcast {
            operation: "broadcast_to",
            source,
        })?;
        if own == sizes {
            return Ok(self.clone());
        }
        let view = self.require_strided("broadcast_to")?;
        let mut strides = vec![0; sizes.len()];
        let ahead = sizes.len() - own.len();
        for (place, &size) in own.iter().enumerate() {
            if size == sizes[ahead + place] {
                strides[ahead + place] = view.strides()[place];
            }
        }
        Ok(self.view(self.strided_memory(&view, &sizes, &strides, view.offset())?))
    }

    /// The view of the same elements in row-major (logical) order with other sizes; one of them may
    /// be -1, for what is left. Never a copy.
    ///
    /// # Errors
    ///
    /// [`TensorError::NotAView`] where only a copy has these sizes, with what is in the way;
    /// [`TensorError::View`] for sizes of another number of elements.
    ///
    /// ```
    /// use minormajor::{Device, Order, Tensor};
    ///
    /// let a = Tensor::from_slice(&[1, 2, 3, 4, 5, 6], [2, 3], &Device::cpu())?;
    /// assert_eq!(a.reshape([3, -1])?.shape().to_string(), "s32[3,2]{1,0}");
    /// let b = a.transpose(&[1, 0])?;
    /// let error = b.reshape([6]).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "reshape of s32[3,2]{0,1} is no view: dimensions 0 and 1 can't become one: a step of \
    ///      dimension 0 is 4 bytes, the 2 steps of dimension 1 are 24; copy it first, with \
    ///      `contiguous`"
    /// );
    /// assert_eq!(b.contiguous(Order::RowMajor)?.reshape([6])?.to_vec::<i32>()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reshape(&self, sizes: impl IntoSizes) -> Result<Tensor, TensorError> {
        let sizes = sizes.into_sizes();
        if let (Memory::Array(shape), None) = (&self.memory, self.as_view()) {
            return self.reshape_tiled(shape, &sizes);
        }
        let view = self.require_strided("reshape")?;
        let made = view.reshape(&sizes).map_err(|error| match error {
            error @ ViewError::NotAView { .. } => self.no_view("reshape", error.to_string()),
            other => other.into(),
        })?;
        Ok(self.view(self.named(made)))
    }

    /// Reshapes where tiles are: the default layout, or the nearest one under which it is free.
    fn reshape_tiled(&self, shape: &ArrayShape, sizes: &[i64]) -> Result<Tensor, TensorError> {
        // Sizes are completed and checked as those of any view.
        let plain = StridedView::of_array(shape, &vec![0; shape.rank()], 0)?;
        let sizes = plain.reshape(sizes)?.sizes().to_vec();
        let bits = shape.require_layout()?.element_size_in_bits();
        let layout = Layout::descending(sizes.len()).with_element_size_in_bits(bits)?;
        let wanted = ArrayShape::new(shape.element_type(), sizes)?.with_layout(layout)?;
        let question = Bitcast::new(shape, &wanted, &Operation::Reshape)?;
        let Some(why_not) = question.why_not() else {
            return Ok(self.view(Memory::Array(wanted)));
        };
        match why_not.nearest_layout() {
            Some(nearest) => Ok(self.view(Memory::Array(nearest.shape.clone()))),
            None => Err(self.no_view("reshape", why_not.obstacle().to_string())),
        }
    }

    /// The view without a dimension of size 1.
    ///
    /// # Errors
    ///
    /// [`TensorError::NotAView`] for a dimension of another size; as [`reshape`](Tensor::reshape).
    pub fn squeeze(&self, dimension: i64) -> Result<Tensor, TensorError> {
        let place = resolve_dimension(dimension, self.rank())?;
        let mut sizes = self.sizes();
        let size = sizes.remove(place);
        if size != 1 {
            let reason = format!("dimension {place} has size {size}, expected 1");
            return Err(self.no_view("squeeze", reason));
        }
        match self.as_view() {
            None => self.reshape(sizes),
            Some(view) => {
                let mut strides = view.strides().to_vec();
                strides.remove(place);
                Ok(self.view(self.strided_memory(&view, &sizes, &strides, view.offset())?))
            }
        }
    }

    /// The view with a dimension of size 1 more, which gets this number; -1 puts it last.
    ///
    /// # Errors
    ///
    /// [`TensorError::Shape`] for a number that it can't get.
    pub fn unsqueeze(&self, dimension: i64) -> Result<Tensor, TensorError> {
        let place = resolve_dimension(dimension, self.rank() + 1)?;
        let mut sizes = self.sizes();
        sizes.insert(place, 1);
        match self.as_view() {
            None => self.reshape(sizes),
            Some(view) => {
                let mut strides = view.strides().to_vec();
                strides.insert(place, 0);
                Ok(self.view(self.strided_memory(&view, &sizes, &strides, view.offset())?))
            }
        }
    }

    /// The elements as a strided view; `None` where tiles are.
    fn as_view(&self) -> Option<StridedView> {
        match &self.memory {
            Memory::Strided(view) => Some(view.clone()),
            Memory::Array(shape) => {
                let strides = match shape.byte_strides() {
                    Some(strides) => strides,
                    // Packed elements have no bytes of their own, and strides in elements.
                    None => {
                        let layout = shape.layout()?;
                        let packed = shape.element_type().packs_in(shape.element_bits());
                        let plain = layout.tiles().is_empty() && packed;
                        let bytes = Layout::clone(layout).with_element_size_in_bits(8).ok()?;
                        let bytes = shape.with_layout(bytes).ok()?;
                        plain.then(|| bytes.byte_strides()).flatten()?
                    }
                };
                StridedView::of_array(shape, &strides, 0).ok()
            }
        }
    }

    fn require_strided(&self, operation: &'static str) -> Result<StridedView, TensorError> {
        self.as_view()
            .ok_or_else(|| self.no_view(operation, "tiles have no strides".to_owned()))
    }

    fn no_view(&self, operation: &'static str, reason: String) -> TensorError {
        TensorError::NotAView {
            operation,
            shape: self.shape().to_string(),
            reason,
        }
    }

    /// A part of a view's buffer.
    fn strided_memory(
        &self,
        of: &StridedView,
        sizes: &[i64],
        strides: &[i64],
        offset: i64,
    ) -> Result<Memory, TensorError> {
        let element_type = of.element_type();
        // Sizes that fit 63 bits together with the type's width: what a shape takes.
        ArrayShape::new(element_type, sizes.iter().copied())?;
        let view = match of.packed_bits() {
            None => StridedView::new(element_type, sizes, strides, offset),
            Some(bits) => StridedView::packed(element_type, bits, sizes, strides, offset),
        }?;
        Ok(self.named(view))
    }

    /// The array in a layout where the view is one: the whole storage, dense in some order.
    fn named(&self, view: StridedView) -> Memory {
        match self.dense_shape(&view) {
            Some(shape) => Memory::Array(shape),
            None => Memory::Strided(view),
        }
    }

    fn dense_shape(&self, view: &StridedView) -> Option<ArrayShape> {
        let sizes = view.sizes();
        if view.packed_bits().is_some() || view.offset() != 0 || sizes.contains(&0) {
            return None;
        }
        let element_type = view.element_type();
        let width = i64::from(element_type.byte_width());
        if self.storage.bytes() as i64 != view.elements() * width {
            return None;
        }
        let order = dense_order(sizes, view.strides(), width)?;
        let layout = Layout::new(order.into_iter().map(|dimension| dimension as i64)).ok()?;
        let shape = ArrayShape::new(element_type, sizes.iter().copied()).ok()?;
        shape.with_layout(layout).ok()
    }
}

/// The order, most minor first, in which these strides are dense from `unit` on. Dimensions of size
/// 1 may be anywhere: they stand where row-major order has them, before the next greater one.
pub(super) fn dense_order(sizes: &[i64], strides: &[i64], unit: i64) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..sizes.len()).rev().filter(|&d| sizes[d] > 1).collect();
    order.sort_by_key(|&d| strides[d]);
    let mut reach = unit;
    for &dimension in &order {
        if strides[dimension] != reach {
            return None;
        }
        reach = reach.checked_mul(sizes[dimension])?;
    }
    for dimension in (0..sizes.len()).rev().filter(|&d| sizes[d] == 1) {
        let place = order.iter().position(|&other| other < dimension);
        order.insert(place.unwrap_or(order.len()), dimension);
    }
    Some(order)
}
