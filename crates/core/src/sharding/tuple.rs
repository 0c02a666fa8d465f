//! Shardings of tuples, and whether a sharding fits a shape.

use super::{MAX_LISTED, Sharding, ShardingError, ShardingKind};
use crate::shape::{Shape, ShapeIndex, ShapeKind};
use crate::tree::ShapeTree;

/// How many shardings a tuple's has: one a leaf, and one where there are no leaves.
fn required(shape: &Shape) -> usize {
    shape.leaf_count().max(1)
}

impl Sharding {
    /// The sharding of a tuple from those of its leaves, in their order.
    ///
    /// # Errors
    ///
    /// [`ShardingError::InTuple`] where one is a tuple's.
    #[doc(alias = "FlatTuple")]
    pub fn tuple(elements: impl Into<Vec<Sharding>>) -> Result<Sharding, ShardingError> {
        let elements = elements.into();
        if elements.iter().any(Sharding::is_tuple) {
            return Err(ShardingError::InTuple {
                found: "a tuple's sharding inside",
            });
        }
        Ok(Sharding::of(ShardingKind::Tuple(elements)))
    }

    /// The sharding of a tuple of this shape from those of its leaves; of a tuple without
    /// leaves, none or one.
    ///
    /// # Errors
    ///
    /// Those of [`tuple`](Self::tuple), a shape that is no tuple, another number of leaves.
    #[doc(alias = "Tuple")]
    pub fn of_tuple(
        shape: &Shape,
        elements: impl Into<Vec<Sharding>>,
    ) -> Result<Sharding, ShardingError> {
        let sharding = Sharding::tuple(elements)?;
        shape.as_tuple()?;
        sharding.same_leaves(shape)?;
        Ok(sharding)
    }

    /// The sharding of a tuple with the same for every leaf; once, if there are none.
    ///
    /// # Errors
    ///
    /// A shape that is no tuple, a sharding that is a tuple's.
    #[doc(alias = "SingleTuple")]
    pub fn single_tuple(shape: &Shape, element: &Sharding) -> Result<Sharding, ShardingError> {
        shape.as_tuple()?;
        Sharding::tuple(vec![element.clone(); required(shape)])
    }

    /// The sharding itself for an array, and [`single_tuple`](Self::single_tuple) for a tuple.
    ///
    /// # Errors
    ///
    /// [`ShardingError::InTuple`] where a tuple's sharding is to be each leaf's.
    #[doc(alias = "Single")]
    pub fn for_shape(shape: &Shape, sharding: &Sharding) -> Result<Sharding, ShardingError> {
        match shape.as_tuple() {
            Ok(_) => Sharding::single_tuple(shape, sharding),
            Err(_) => Ok(sharding.clone()),
        }
    }

    /// The sharding of a tuple from a tree, whose leaves' values are the elements; of a tree
    /// without leaves, its root's value.
    ///
    /// # Errors
    ///
    /// [`ShardingError::InTuple`] where one is a tuple's.
    pub fn of_tree(tree: &ShapeTree<Sharding>) -> Result<Sharding, ShardingError> {
        let mut elements: Vec<Sharding> = tree.leaves().map(|(_, leaf)| leaf.clone()).collect();
        if elements.is_empty() {
            elements.extend(tree.iter().next().map(|(_, root)| root.clone()));
        }
        Sharding::tuple(elements)
    }

    /// The tree of a shape with the sharding of each leaf. Tuples have `{replicated}`, or the
    /// sharding itself where it is not a tuple's.
    ///
    /// # Errors
    ///
    /// [`ShardingError::Leaves`].
    #[doc(alias = "AsShapeTree")]
    pub fn shape_tree(&self, shape: &Shape) -> Result<ShapeTree<Sharding>, ShardingError> {
        let Some(elements) = self.tuple_elements() else {
            return Ok(ShapeTree::new(shape, self.clone()));
        };
        self.same_leaves(shape)?;
        let mut tree = ShapeTree::new(shape, Sharding::replicated());
        for ((_, leaf), element) in tree.leaves_mut().zip(elements) {
            leaf.clone_from(element);
        }
        Ok(tree)
    }

    /// Whether a tuple's sharding has one for each leaf.
    fn same_leaves(&self, shape: &Shape) -> Result<(), ShardingError> {
        let elements = self.tuple_elements().ok_or(ShardingError::NotATuple)?;
        let (found, leaves) = (elements.len(), shape.leaf_count());
        // A tuple without leaves may have one.
        if found == leaves || (leaves == 0 && found == 1) {
            Ok(())
        } else {
            Err(ShardingError::Leaves { found, leaves })
        }
    }

    /// The sharding of a part of a tuple: a leaf's, or that of the tuple at the end of the path.
    ///
    /// ```
    /// use minormajor_core::{Shape, Sharding};
    ///
    /// let shape: Shape = "(f32[2], (s8[3], s8[4]))".parse()?;
    /// let sharding: Sharding = "{{replicated}, {manual}, {maximal device=1}}".parse()?;
    /// assert_eq!(sharding.sub_sharding(&shape, &[1, 1])?.to_string(), "{maximal device=1}");
    /// assert_eq!(sharding.sub_sharding(&shape, &[1])?.to_string(), "{{manual}, {maximal device=1}}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShardingError::NotATuple`], [`ShardingError::Leaves`], a path that leads nowhere.
    #[doc(alias = "GetSubSharding")]
    pub fn sub_sharding(&self, shape: &Shape, index: &[usize]) -> Result<Sharding, ShardingError> {
        self.same_leaves(shape)?;
        let elements = self.tuple_elements().ok_or(ShardingError::NotATuple)?;
        let part = shape.subshape(index)?;
        let mut before = 0;
        let mut at = shape;
        for &element in index {
            let tuple = at.as_tuple()?;
            before += tuple.elements()[..element]
                .iter()
                .map(Shape::leaf_count)
                .sum::<usize>();
            at = &tuple.elements()[element];
        }
        let leaves = part.leaf_count();
        match part.as_tuple() {
            // What stands for a tuple without leaves is that of the whole.
            Ok(_) if shape.leaf_count() == 0 => Ok(self.clone()),
            Ok(_) => Sharding::tuple(&elements[before..before + leaves]),
            Err(_) => Ok(elements[before].clone()),
        }
    }

    /// A tuple's sharding for the shape: itself, or itself for every leaf.
    ///
    /// # Errors
    ///
    /// Those of [`single_tuple`](Self::single_tuple), [`ShardingError::Leaves`].
    #[doc(alias = "GetTupleSharding")]
    pub fn tuple_sharding(&self, shape: &Shape) -> Result<Sharding, ShardingError> {
        if self.is_tuple() {
            self.same_leaves(shape)?;
            return Ok(self.clone());
        }
        Sharding::single_tuple(shape, self)
    }

    /// Itself, or itself for every leaf where the shape is a tuple and it is not a tuple's.
    #[doc(alias = "NormalizeTupleSharding")]
    pub fn normalized_for(&self, shape: &Shape) -> Sharding {
        match self.is_tuple() {
            true => self.clone(),
            // Fails only on tuples' shardings.
            false => Sharding::for_shape(shape, self).unwrap_or_else(|_| self.clone()),
        }
    }

    /// The sharding that all leaves have: itself, if it is not a tuple's; `None` where they
    /// differ, or there is none.
    #[doc(alias = "ExtractSingleSharding")]
    pub fn common(&self) -> Option<Sharding> {
        match self.tuple_elements() {
            None => Some(self.clone()),
            Some([first, others @ ..]) => others
                .iter()
                .all(|other| other == first)
                .then(|| first.clone()),
            Some([]) => None,
        }
    }

    /// Whether the sharding fits a shape and, if given, a number of devices: every device of
    /// tiles exists and has one, tiles cut as many dimensions as there are, tuples have as many
    /// leaves. Anything fits a token.
    ///
    /// # Errors
    ///
    /// What does not fit; in a tuple, with the element's path.
    pub fn validate(&self, shape: &Shape, devices: Option<i64>) -> Result<(), ShardingError> {
        if *shape.kind() == ShapeKind::Token {
            return Ok(());
        }
        let Some(elements) = self.tuple_elements() else {
            return match shape.as_tuple() {
                Ok(_) => Err(ShardingError::Kind {
                    sharding: "no tuple",
                    shape: "one",
                }),
                Err(_) => self.validate_leaf(shape, devices),
            };
        };
        if shape.as_tuple().is_err() {
            return Err(ShardingError::Kind {
                sharding: "a tuple",
                shape: "none",
            });
        }
        self.same_leaves(shape)?;
        for ((index, leaf), element) in shape.leaves().zip(elements) {
            element
                .validate_leaf(leaf, devices)
                .map_err(|error| within(index, error))?;
        }
        Ok(())
    }

    fn validate_leaf(&self, shape: &Shape, devices: Option<i64>) -> Result<(), ShardingError> {
        if let Some(device) = self.unique_device() {
            return in_range(device, devices);
        }
        if !self.is_tiled() {
            return Ok(());
        }
        let rank = shape.as_array().map_or(0, |array| array.rank());
        let (tiled, found) = match &self.kind {
            ShardingKind::Tiled(tiling) => (tiling.data_rank(), tiling.assignment().device_count()),
            ShardingKind::Named(named) => (named.dimensions().len(), named.mesh().device_count()),
            _ => return Ok(()),
        };
        if found == 1 {
            return Err(ShardingError::SingleDevice);
        }
        if tiled != rank {
            return Err(ShardingError::Rank { tiled, rank });
        }
        let Some(devices) = devices else {
            return Ok(());
        };
        if let ShardingKind::Tiled(tiling) = &self.kind
            && tiling.assignment().iota_form().is_none()
        {
            // A list: as long as its text.
            let mut all = tiling.assignment().devices();
            if let Some(device) = all.find(|&device| device >= devices) {
                return in_range(device, Some(devices));
            }
        }
        if found == devices {
            Ok(())
        } else {
            Err(ShardingError::Devices { found, devices })
        }
    }
}

fn in_range(device: i64, devices: Option<i64>) -> Result<(), ShardingError> {
    match devices {
        Some(devices) if !(0..devices).contains(&device) => {
            Err(ShardingError::DeviceRange { device, devices })
        }
        None if device < 0 => Err(ShardingError::NegativeDevice { place: 0, device }),
        _ => Ok(()),
    }
}

fn within(index: ShapeIndex, error: ShardingError) -> ShardingError {
    ShardingError::Element {
        index,
        error: Box::new(error),
    }
}

/// Devices that may be listed where a text or proto gave an iota: no more in all than this, so
/// that what is read takes memory by its own length and a constant.
pub(crate) struct ListBudget(i64);

impl Default for ListBudget {
    fn default() -> Self {
        ListBudget(8 * MAX_LISTED)
    }
}

impl ListBudget {
    /// Counts the list that came of an iota, if one did.
    pub fn spend(&mut self, sharding: &Sharding, was_iota: bool) -> Result<(), ShardingError> {
        let ShardingKind::Tiled(tiling) = &sharding.kind else {
            return Ok(());
        };
        if !was_iota || tiling.assignment().iota_form().is_some() {
            return Ok(());
        }
        let devices = tiling.assignment().device_count();
        self.0 -= devices;
        if self.0 < 0 {
            let limit = 8 * MAX_LISTED;
            return Err(ShardingError::TooManyToList { devices, limit });
        }
        Ok(())
    }
}
