//! Tiles on devices, and groups of devices that share a tile.

use super::{ShardingError, ShardingKind, TileAssignment};
use crate::Permutation;

/// What the devices of a subgroup have in common: each has the same tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(alias = "OpSharding::Type")]
pub enum SubgroupType {
    /// One of them, as XLA's proto can say; XLA itself makes none.
    Maximal,
    /// The program says what each has of it.
    Manual,
    /// Each has a part of a sum.
    Unreduced,
    /// Each has all of it.
    Replicated,
}

impl SubgroupType {
    /// All types, in the order in which subgroups stand.
    pub const ALL: [SubgroupType; 4] = [
        SubgroupType::Maximal,
        SubgroupType::Manual,
        SubgroupType::Unreduced,
        SubgroupType::Replicated,
    ];

    /// The word in XLA's text.
    pub fn name(self) -> &'static str {
        match self {
            SubgroupType::Maximal => "maximal",
            SubgroupType::Manual => "manual",
            SubgroupType::Unreduced => "unreduced",
            SubgroupType::Replicated => "replicated",
        }
    }
}

/// A tile for each device, or for each group of devices: the first dimensions of the tile
/// assignment cut those of the array, the last are the subgroups.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tiling {
    assignment: TileAssignment,
    subgroups: Subgroups,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Subgroups {
    None,
    /// Only one, said as `last_tile_dim_replicate`.
    Replicate,
    /// Said as `last_tile_dims`; as many as the assignment has dimensions at most.
    Types(Vec<SubgroupType>),
}

impl Tiling {
    /// A tile for each device.
    pub(super) fn new(assignment: TileAssignment) -> Tiling {
        Tiling {
            assignment,
            subgroups: Subgroups::None,
        }
    }

    /// Which device has which tile.
    #[doc(alias = "tile_assignment")]
    pub fn assignment(&self) -> &TileAssignment {
        &self.assignment
    }

    /// The types of the last dimensions, in their order.
    #[doc(alias = "subgroup_types")]
    pub fn subgroups(&self) -> impl Iterator<Item = SubgroupType> + '_ {
        let types: &[SubgroupType] = match &self.subgroups {
            Subgroups::None => &[],
            Subgroups::Replicate => &[SubgroupType::Replicated],
            Subgroups::Types(types) => types,
        };
        types.iter().copied()
    }

    /// Whether the last dimension, and nothing else, says that tiles are on several devices.
    #[doc(alias = "ReplicateOnLastTileDim")]
    pub fn replicates_on_last_dimension(&self) -> bool {
        self.subgroups == Subgroups::Replicate
    }

    /// The number of dimensions of the array: those of the assignment without subgroups.
    #[doc(alias = "TiledDataRank")]
    pub fn data_rank(&self) -> usize {
        self.assignment.rank() - self.subgroups().count()
    }

    /// Into how many parts each dimension of the array is cut.
    pub fn parts(&self) -> &[i64] {
        &self.assignment.dimensions()[..self.data_rank()]
    }

    /// The dimension of the assignment that is the subgroup of this type.
    #[doc(alias = "SubgroupReplicationDim", alias = "SubgroupManualDim")]
    #[doc(alias = "SubgroupUnreducedDim")]
    pub fn subgroup_dimension(&self, subgroup: SubgroupType) -> Option<usize> {
        let place = self.subgroups().position(|own| own == subgroup)?;
        Some(self.data_rank() + place)
    }

    /// The number of tiles of which the array is made.
    #[doc(alias = "NumTiles")]
    pub fn tile_count(&self) -> i64 {
        self.parts().iter().product()
    }

    /// The number of devices that share a tile, over all subgroups.
    pub fn devices_per_tile(&self) -> i64 {
        self.assignment.dimensions()[self.data_rank()..]
            .iter()
            .product()
    }

    /// The number of devices that have the same of a tile.
    #[doc(alias = "ReplicationFactor")]
    pub fn replicas(&self) -> i64 {
        self.subgroup_dimension(SubgroupType::Replicated)
            .map_or(1, |dimension| self.assignment.dimensions()[dimension])
    }

    /// The same with the devices as a list, XLA's first form.
    ///
    /// # Errors
    ///
    /// [`ShardingError::TooManyToList`].
    pub fn to_list(&self) -> Result<Tiling, ShardingError> {
        Ok(Tiling {
            assignment: self.assignment.to_list()?,
            subgroups: self.subgroups.clone(),
        })
    }

    /// The same with the devices as an iota, XLA's second form, where there is one.
    pub fn to_iota(&self) -> Option<Tiling> {
        Some(Tiling {
            assignment: self.assignment.to_iota()?,
            subgroups: self.subgroups.clone(),
        })
    }
}

/// Tiles with subgroups, in their one form.
pub(super) fn with_subgroups(
    assignment: TileAssignment,
    types: &[SubgroupType],
) -> Result<ShardingKind, ShardingError> {
    let rank = assignment.rank();
    let Some(data_rank) = rank.checked_sub(types.len()) else {
        return Err(ShardingError::Subgroups {
            found: types.len(),
            rank,
        });
    };
    let sizes = assignment.dimensions();
    let is_whole = sizes[..data_rank].iter().all(|&parts| parts == 1);
    if let Some((&first, others)) = types.split_first()
        && is_whole
        && others.iter().all(|&other| other == first)
        && let Some(kind) = alone(first)
    {
        return Ok(kind);
    }
    // The subgroups' dimensions by type; those of size 1 at the end.
    let mut order: Vec<usize> = (0..data_rank).collect();
    let mut merged_sizes = sizes[..data_rank].to_vec();
    let mut merged = Vec::new();
    for subgroup in SubgroupType::ALL {
        let own = |&d: &usize| types[d - data_rank] == subgroup && sizes[d] != 1;
        let dimensions: Vec<usize> = (data_rank..rank).filter(own).collect();
        if !dimensions.is_empty() {
            merged_sizes.push(dimensions.iter().map(|&d| sizes[d]).product());
            merged.push(subgroup);
            order.extend(dimensions);
        }
    }
    order.extend((data_rank..rank).filter(|&d| sizes[d] == 1));
    if merged.is_empty() && data_rank == 0 {
        merged_sizes.push(1);
    }
    let permutation = Permutation::new(order.iter().map(|&d| d as i64))?;
    let mut assignment = assignment.transpose(&permutation)?.reshape(merged_sizes)?;
    let devices = assignment.device_count();
    let last = assignment.dimensions().last().copied().unwrap_or(1);
    if let [only] = merged[..]
        && last == devices
        && only != SubgroupType::Unreduced
        && let Some(kind) = alone(only)
    {
        return Ok(kind);
    }
    // The devices that have the same ascend.
    if merged.last() == Some(&SubgroupType::Replicated) {
        assignment = assignment.sort_groups(last)?;
    }
    let subgroups = match merged[..] {
        [] => Subgroups::None,
        [SubgroupType::Replicated] => Subgroups::Replicate,
        _ => Subgroups::Types(merged),
    };
    Ok(ShardingKind::Tiled(Tiling {
        assignment,
        subgroups,
    }))
}

/// What the whole array on the devices of one subgroup is.
fn alone(subgroup: SubgroupType) -> Option<ShardingKind> {
    match subgroup {
        SubgroupType::Replicated => Some(ShardingKind::Replicated),
        SubgroupType::Manual => Some(ShardingKind::Manual),
        SubgroupType::Unreduced => Some(ShardingKind::Unreduced),
        SubgroupType::Maximal => None,
    }
}
