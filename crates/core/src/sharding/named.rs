//! Shardings by the names of a mesh's axes.

use super::mesh::{Axis, Mesh};
use super::{ShardingError, SubgroupType, TileAssignment, Tiling};
use crate::Permutation;

/// The axes that cut one dimension of an array, the most major first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DimensionSharding {
    pub(super) axes: Vec<Axis>,
    pub(super) is_closed: bool,
}

impl DimensionSharding {
    /// A dimension cut by these axes. One that is not closed (`?`) may be cut further.
    pub fn new(axes: impl Into<Vec<Axis>>, is_closed: bool) -> DimensionSharding {
        DimensionSharding {
            axes: axes.into(),
            is_closed,
        }
    }

    /// The axes, the most major first.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Whether the dimension can't be cut further.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }
}

/// What XLA calls a named sharding, and its third form: each dimension of an array is cut by
/// axes of a mesh; other axes may be said to replicate, to hold parts of a sum that is not yet
/// made (*unreduced*), or to be the program's own affair (*manual*). Axes that are not mentioned
/// replicate.
///
/// ```
/// use minormajor_core::Sharding;
/// use minormajor_core::sharding::{DimensionSharding, Mesh, NamedSharding};
///
/// let mesh = Mesh::new([("a", 2), ("b", 4)])?;
/// let rows = DimensionSharding::new([mesh.axis("a").unwrap()], true);
/// let columns = DimensionSharding::new([], false);
/// let sharding = NamedSharding::new(mesh, [rows, columns])?;
/// assert_eq!(Sharding::from(sharding).to_string(), "{mesh['a'=2,'b'=4], [{'a'}, {?}]}");
/// # Ok::<(), minormajor_core::sharding::ShardingError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedSharding {
    mesh: Mesh,
    dimensions: Vec<DimensionSharding>,
    replicated: Vec<Axis>,
    unreduced: Vec<Axis>,
    manual: Vec<Axis>,
}

impl NamedSharding {
    /// Each dimension of an array cut by its axes.
    ///
    /// # Errors
    ///
    /// Axes that the mesh does not have, that overlap, or that two neighbours should be as one;
    /// dimensions in a mesh of a single device.
    pub fn new(
        mesh: Mesh,
        dimensions: impl Into<Vec<DimensionSharding>>,
    ) -> Result<NamedSharding, ShardingError> {
        NamedSharding::with_axes(mesh, dimensions, [], [], [])
    }

    /// With the axes that replicate, are unreduced, and are manual, each in the mesh's order.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new), and [`ShardingError::AxisOrder`].
    pub fn with_axes(
        mesh: Mesh,
        dimensions: impl Into<Vec<DimensionSharding>>,
        replicated: impl Into<Vec<Axis>>,
        unreduced: impl Into<Vec<Axis>>,
        manual: impl Into<Vec<Axis>>,
    ) -> Result<NamedSharding, ShardingError> {
        let sharding = NamedSharding {
            mesh,
            dimensions: dimensions.into(),
            replicated: replicated.into(),
            unreduced: unreduced.into(),
            manual: manual.into(),
        };
        sharding.check()?;
        Ok(sharding)
    }

    fn check(&self) -> Result<(), ShardingError> {
        let mesh = &self.mesh;
        if mesh.single_device().is_some() && !self.dimensions.is_empty() {
            return Err(ShardingError::NoAxes {
                found: "dimensions",
            });
        }
        let lists = self.lists();
        let mut all: Vec<Axis> = Vec::new();
        for (what, list) in lists {
            for (i, &axis) in list.iter().enumerate() {
                axis.check(mesh)?;
                if let Some(&before) = i.checked_sub(1).and_then(|before| list.get(before)) {
                    let (first, second) = (before.name(mesh), axis.name(mesh));
                    let place = |axis: Axis| (axis.number(), axis.pre_size(), axis.size_in(mesh));
                    if !what.is_empty() && place(before) > place(axis) {
                        return Err(ShardingError::AxisOrder {
                            what,
                            first,
                            second,
                        });
                    }
                    if before.can_merge(axis) {
                        return Err(ShardingError::Mergeable { first, second });
                    }
                }
                all.push(axis);
            }
        }
        // Axes that overlap, or do not line up, are neighbours in this order or share a number
        // with one that is: parts line up if every one's product divides the next one's.
        all.sort_by_key(|axis| (axis.number(), axis.pre_size(), axis.size_in(mesh)));
        match all.windows(2).find(|pair| !pair[0].can_coexist(pair[1])) {
            Some(pair) => Err(ShardingError::Overlap {
                first: pair[0].name(mesh),
                second: pair[1].name(mesh),
            }),
            None => Ok(()),
        }
    }

    /// All lists of axes, those that have an order with their name.
    fn lists(&self) -> impl Iterator<Item = (&'static str, &[Axis])> {
        let dimensions = self.dimensions.iter();
        dimensions.map(|dimension| ("", dimension.axes())).chain([
            ("replicated", &*self.replicated),
            ("unreduced", &*self.unreduced),
            ("manual", &*self.manual),
        ])
    }

    /// The mesh.
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// What cuts each dimension. None where nothing is said of the dimensions.
    #[doc(alias = "dim_shardings")]
    pub fn dimensions(&self) -> &[DimensionSharding] {
        &self.dimensions
    }

    /// The axes that are said to replicate.
    pub fn replicated_axes(&self) -> &[Axis] {
        &self.replicated
    }

    /// The axes along which values are still to be combined.
    pub fn unreduced_axes(&self) -> &[Axis] {
        &self.unreduced
    }

    /// The axes that the program handles itself.
    pub fn manual_axes(&self) -> &[Axis] {
        &self.manual
    }

    /// The axes, or parts of axes, that nothing is said of: they replicate too. None of size 1.
    ///
    /// ```
    /// use minormajor_core::Sharding;
    /// use minormajor_core::sharding::Axis;
    ///
    /// let sharding: Sharding = "{mesh['a'=8,'b'=9], [{'a':(1)2}], replicated={'a':(4)2}}".parse()?;
    /// let implicit = sharding.named().unwrap().implicitly_replicated_axes();
    /// assert_eq!(implicit, [Axis::part(0, 2, 2)?, Axis::whole(1)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "GetImplicitlyReplicatedAxes")]
    pub fn implicitly_replicated_axes(&self) -> Vec<Axis> {
        let mut parts = self.all_parts();
        // Parts are cut where those in use begin and end, so no two neighbours remain.
        parts.retain(|part| self.lists().all(|(_, axes)| !axes.contains(part)));
        parts
    }

    /// Into how many parts each dimension is cut.
    pub fn sharded_sizes(&self) -> Vec<i64> {
        let parts = |dimension: &DimensionSharding| {
            let sizes = dimension.axes.iter().map(|axis| axis.size_in(&self.mesh));
            // Parts of axes that do not overlap: below the number of devices.
            sizes.product()
        };
        self.dimensions.iter().map(parts).collect()
    }

    /// Whether no dimension is cut.
    fn is_whole(&self) -> bool {
        self.sharded_sizes().iter().all(|&parts| parts == 1)
    }

    /// Whether every device has the whole array.
    pub fn is_replicated(&self) -> bool {
        self.mesh.single_device().is_none()
            && self.is_whole()
            && self.unreduced.is_empty()
            && self.manual.is_empty()
    }

    /// Whether all axes are manual, those of size 1 aside.
    pub fn is_manual(&self) -> bool {
        !self.manual.is_empty() && self.mesh.are_all(&self.manual)
    }

    /// Whether all axes are unreduced, those of size 1 aside.
    pub fn is_unreduced(&self) -> bool {
        !self.unreduced.is_empty() && self.mesh.are_all(&self.unreduced)
    }

    /// The tiles of the second form: a dimension for each of the array's, then one for each
    /// subgroup.
    ///
    /// # Errors
    ///
    /// [`ShardingError::TooManyToList`].
    pub(super) fn tiles(&self) -> Result<(TileAssignment, Vec<SubgroupType>), ShardingError> {
        let mesh = &self.mesh;
        let Some(devices) = mesh.device_assignment() else {
            return Err(ShardingError::NoTiles {
                found: "over a mesh without axes",
            });
        };
        // The parts of all axes, and those that are used in the order in which they are.
        let parts = self.all_parts();
        let place = |axis: &Axis| parts.iter().position(|part| part == axis);
        let mut order: Vec<usize> = Vec::new();
        let mut dimensions = self.sharded_sizes();
        let mut types = Vec::new();
        for dimension in &self.dimensions {
            order.extend(dimension.axes.iter().filter_map(place));
        }
        let groups = [
            (&self.manual, SubgroupType::Manual),
            (&self.unreduced, SubgroupType::Unreduced),
        ];
        for (axes, subgroup) in groups {
            if !axes.is_empty() {
                types.push(subgroup);
                dimensions.push(axes.iter().map(|axis| axis.size_in(mesh)).product());
                order.extend(axes.iter().filter_map(place));
            }
        }
        let rest: Vec<usize> = (0..parts.len()).filter(|p| !order.contains(p)).collect();
        let replicas: i64 = rest.iter().map(|&part| parts[part].size_in(mesh)).product();
        if replicas > 1 || dimensions.is_empty() {
            types.push(SubgroupType::Replicated);
            dimensions.push(replicas);
        }
        order.extend(rest);
        let mut sizes: Vec<i64> = parts.iter().map(|part| part.size_in(mesh)).collect();
        if sizes.is_empty() {
            (sizes, order) = (vec![1], vec![0]);
        }
        let permutation = Permutation::new(order.iter().map(|&part| part as i64))?;
        let tiles = devices.reshape(sizes)?.transpose(&permutation)?;
        Ok((tiles.reshape(dimensions)?, types))
    }

    /// All axes, cut where any part in use begins or ends; none of size 1.
    fn all_parts(&self) -> Vec<Axis> {
        let mut parts = Vec::new();
        for (number, &size) in self.mesh.axis_sizes().iter().enumerate() {
            let mut cuts = vec![1, size];
            let lists = self.lists().flat_map(|(_, axes)| axes);
            for (pre_size, size) in lists
                .filter(|axis| axis.number() == number)
                .filter_map(|axis| axis.sub_axis())
            {
                cuts.extend([pre_size, pre_size * size]);
            }
            cuts.sort_unstable();
            cuts.dedup();
            for cut in cuts.windows(2) {
                parts.push(match cuts.len() {
                    2 => Axis::whole(number),
                    _ => Axis::part(number, cut[0], cut[1] / cut[0]).unwrap_or(Axis::whole(number)),
                });
            }
        }
        parts
    }

    /// The named form of tiles: axes called `axis_0`, `axis_1` and so on.
    pub(super) fn of_tiles(tiling: &Tiling) -> Result<NamedSharding, ShardingError> {
        let assignment = tiling.assignment();
        let (axes, are_parts) = assignment.axes();
        let devices = match are_parts {
            // Parts of the iota's sizes in their order: the devices are 0, 1, 2 and so on.
            true => {
                let sizes: Vec<i64> = axes.iter().map(|axis| axis.size).collect();
                TileAssignment::new(if sizes.is_empty() { vec![1] } else { sizes })?
            }
            false => assignment.clone(),
        };
        let names = (0..devices.rank()).map(|axis| format!("axis_{axis}"));
        let mesh = Mesh::with_devices(names, devices)?;
        // The axes of a dimension, in the order of the mesh.
        let of = |dimension: usize| -> Vec<usize> {
            let of_dimension = |&axis: &usize| axes[axis].dimension == dimension;
            (0..axes.len()).filter(of_dimension).collect()
        };
        let rank = tiling.data_rank();
        let cut = |d: usize| {
            let mut cut = of(d);
            cut.sort_by_key(|&axis| axes[axis].place);
            DimensionSharding::new(cut.into_iter().map(Axis::whole).collect::<Vec<_>>(), true)
        };
        let dimensions: Vec<DimensionSharding> = (0..rank).map(cut).collect();
        let mut lists = [const { Vec::new() }; 3];
        for (i, subgroup) in tiling.subgroups().enumerate() {
            let list = match subgroup {
                SubgroupType::Replicated => 0,
                SubgroupType::Unreduced => 1,
                SubgroupType::Manual => 2,
                SubgroupType::Maximal => {
                    return Err(ShardingError::Contradiction {
                        found: "maximal in a subgroup",
                        expected: "replicated, manual or unreduced ones in the named form",
                    });
                }
            };
            lists[list].extend(of(rank + i).into_iter().map(Axis::whole));
        }
        let [replicated, unreduced, manual] = lists;
        NamedSharding::with_axes(mesh, dimensions, replicated, unreduced, manual)
    }
}
