//! How arrays are spread over devices: XLA's `HloSharding` in all its forms, with its text and
//! proto, and which device holds what.
//!
//! ```text
//! {replicated}  {manual}  {unknown}  {unreduced}  {maximal device=3}
//! {devices=[2,2]0,2,1,3}                                      a list of devices
//! {devices=[2,2]<=[2,2]T(1,0)}                                the same as an iota
//! {devices=[2,1,2]<=[4] last_tile_dim_replicate}              each tile on two devices
//! {devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}  subgroups
//! {mesh['a'=2,'b'=2], [{'a'}, {'b', ?}]}                      by the axes of a mesh
//! {{replicated}, {manual}}                                    of a tuple
//! ```
//!
//! Behind any of those of one array, but the named one, `shard_as N` or `shard_like N` ties it
//! to others, and `metadata={op_name="..."}` says where it comes from.

mod cut;
mod error;
mod forms;
mod geometry;
mod iota;
mod mesh;
mod metadata;
mod named;
mod parser;
mod printer;
mod shards;
mod tile_assignment;
mod tiling;
mod tuple;

pub use cut::Cut;
pub use error::ShardingError;
pub use mesh::{Axis, Mesh};
pub use metadata::OpMetadata;
pub use named::{DimensionSharding, NamedSharding};
pub use shards::{Devices, Shard, Shards};
pub use tile_assignment::TileAssignment;
pub use tiling::{SubgroupType, Tiling};

pub(crate) use tile_assignment::MAX_LISTED;
pub(crate) use tuple::ListBudget;

/// How an array, or a tuple of arrays, is spread over devices.
///
/// Two shardings are equal if they are of the same kind with the same parts; the devices of
/// tiles may be a list or an iota. Metadata has no part in equality.
/// [`same_placement`](Self::same_placement) compares across kinds.
///
/// ```
/// use minormajor_core::{Shape, Sharding};
///
/// let sharding: Sharding = "{devices=[2,2]<=[4]}".parse()?;
/// let shape: Shape = "f32[5,3]".parse()?;
/// sharding.validate(&shape, Some(4))?;
/// assert_eq!(sharding.shard_shape(&shape)?.to_string(), "f32[3,2]{1,0}");
/// // The last rows and columns are shorter.
/// assert_eq!(sharding.shard_shape_on(&shape, 3)?.to_string(), "f32[2,1]{1,0}");
/// assert_eq!(sharding.shard_offset(&shape, 3)?, [3, 2]);
/// let devices = sharding.devices_of_element(&shape, &[4, 0])?;
/// assert_eq!(devices.unwrap().collect::<Vec<_>>(), [2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "HloSharding")]
pub struct Sharding {
    kind: ShardingKind,
    /// Of one array, and not named.
    shard_group: Option<ShardGroup>,
    /// Of one array.
    metadata: Vec<OpMetadata>,
}

/// What a sharding says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ShardingKind {
    /// Every device has the whole array.
    Replicated,
    /// One device has the whole array. XLA reserves the numbers below 0: -1 is the host.
    Maximal(i64),
    /// The program spreads the array itself.
    Manual,
    /// Nothing is said yet.
    Unknown,
    /// Every device has a part of a sum that is not yet made.
    Unreduced,
    /// In tiles, one for each device or group of devices.
    Tiled(Tiling),
    /// In tiles, by the axes of a mesh.
    Named(NamedSharding),
    /// A sharding for each leaf of a tuple, none of them that of a tuple.
    Tuple(Vec<Sharding>),
}

/// Shardings that belong together, by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShardGroup {
    /// All of the group are sharded in exactly the same way.
    As(i64),
    /// All of the group are sharded alike.
    Like(i64),
}

impl From<NamedSharding> for Sharding {
    fn from(named: NamedSharding) -> Sharding {
        Sharding::of(ShardingKind::Named(named))
    }
}

impl From<TileAssignment> for Sharding {
    /// A tile for each device.
    fn from(assignment: TileAssignment) -> Sharding {
        Sharding::of(ShardingKind::Tiled(Tiling::new(assignment)))
    }
}

impl PartialEq for Sharding {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.shard_group == other.shard_group
    }
}

impl Eq for Sharding {}

impl std::hash::Hash for Sharding {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
        self.shard_group.hash(state);
    }
}

impl Sharding {
    /// Without a shard group and metadata; no element of a tuple's may be that of a tuple.
    pub(crate) fn of(kind: ShardingKind) -> Sharding {
        Sharding {
            kind,
            shard_group: None,
            metadata: Vec::new(),
        }
    }

    /// The whole array on every device.
    pub fn replicated() -> Sharding {
        Sharding::of(ShardingKind::Replicated)
    }

    /// The whole array on one device.
    #[doc(alias = "AssignDevice")]
    pub fn maximal(device: i64) -> Sharding {
        Sharding::of(ShardingKind::Maximal(device))
    }

    /// The array as the program itself spreads it.
    pub fn manual() -> Sharding {
        Sharding::of(ShardingKind::Manual)
    }

    /// Nothing said yet.
    pub fn unknown() -> Sharding {
        Sharding::of(ShardingKind::Unknown)
    }

    /// A part of a sum on every device.
    pub fn unreduced() -> Sharding {
        Sharding::of(ShardingKind::Unreduced)
    }

    /// The last dimension of the tile assignment counts the devices that share a tile.
    ///
    /// In XLA's one form of it: the devices that share a tile ascend; without a dimension that is
    /// cut, all is replicated; with one device a tile, the last dimension goes.
    ///
    /// # Errors
    ///
    /// [`ShardingError::TooManyToList`].
    pub fn partial_tile(assignment: TileAssignment) -> Result<Sharding, ShardingError> {
        Sharding::subgroups(assignment, &[SubgroupType::Replicated])
    }

    /// The last dimensions of the tile assignment are subgroups of these types.
    ///
    /// In XLA's one form of it: subgroups of size 1 go, those of one type become one, and they
    /// stand in the order maximal, manual, unreduced, replicated; what only replicates is a
    /// [`partial_tile`](Self::partial_tile), and what cuts nothing and has one type is that.
    ///
    /// ```
    /// use minormajor_core::Sharding;
    /// use minormajor_core::sharding::{SubgroupType::*, TileAssignment};
    ///
    /// let sharding = Sharding::subgroups(TileAssignment::new([2, 2, 3])?, &[Replicated, Manual])?;
    /// assert_eq!(
    ///     sharding.to_string(),
    ///     "{devices=[2,3,2]<=[2,2,3]T(0,2,1) last_tile_dims={manual, replicated}}"
    /// );
    /// # Ok::<(), minormajor_core::sharding::ShardingError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// More types than dimensions, and [`ShardingError::TooManyToList`].
    #[doc(alias = "Subgroup")]
    pub fn subgroups(
        assignment: TileAssignment,
        types: &[SubgroupType],
    ) -> Result<Sharding, ShardingError> {
        Ok(Sharding::of(tiling::with_subgroups(assignment, types)?))
    }

    /// What the sharding says.
    pub fn kind(&self) -> &ShardingKind {
        &self.kind
    }

    /// The named sharding of one array.
    pub fn named(&self) -> Option<&NamedSharding> {
        match &self.kind {
            ShardingKind::Named(named) => Some(named),
            _ => None,
        }
    }

    /// The group that the sharding belongs to.
    pub fn shard_group(&self) -> Option<ShardGroup> {
        self.shard_group
    }

    /// The same in a group, or in none.
    ///
    /// # Errors
    ///
    /// [`ShardingError::InTuple`] of a tuple's, [`ShardingError::Contradiction`] of a named one.
    pub fn with_shard_group(
        mut self,
        group: Option<ShardGroup>,
    ) -> Result<Sharding, ShardingError> {
        if group.is_some() {
            match self.kind {
                ShardingKind::Tuple(_) => {
                    return Err(ShardingError::InTuple {
                        found: "a shard group",
                    });
                }
                ShardingKind::Named(_) => {
                    return Err(ShardingError::Contradiction {
                        found: "named and in a shard group",
                        expected: "one or the other",
                    });
                }
                _ => {}
            }
        }
        self.shard_group = group;
        Ok(self)
    }

    /// Where the sharding comes from.
    pub fn metadata(&self) -> &[OpMetadata] {
        &self.metadata
    }

    /// The same with this metadata, in the elements of a tuple's; what has some keeps its own
    /// unless `overwrite`.
    pub fn with_metadata(mut self, metadata: &[OpMetadata], overwrite: bool) -> Sharding {
        let set = |sharding: &mut Sharding| {
            if overwrite || sharding.metadata.is_empty() {
                sharding.metadata = metadata.to_vec();
            }
        };
        match &mut self.kind {
            ShardingKind::Tuple(elements) => elements.iter_mut().for_each(set),
            _ => set(&mut self),
        }
        self
    }

    /// The same without metadata, in tuples' elements too.
    pub fn without_metadata(self) -> Sharding {
        self.with_metadata(&[], true)
    }

    /// The elements of a tuple's sharding: those of the tuple's leaves in their order.
    pub fn tuple_elements(&self) -> Option<&[Sharding]> {
        match &self.kind {
            ShardingKind::Tuple(elements) => Some(elements),
            _ => None,
        }
    }

    /// Whether it is the sharding of a tuple.
    pub fn is_tuple(&self) -> bool {
        self.tuple_elements().is_some()
    }

    /// Whether a question is true of one array's sharding, or of all elements of a tuple's.
    fn every(&self, holds: impl Fn(&ShardingKind) -> bool) -> bool {
        match &self.kind {
            ShardingKind::Tuple(elements) => elements.iter().all(|element| holds(&element.kind)),
            kind => holds(kind),
        }
    }

    /// Whether every device has the whole array; in tuples, of each leaf.
    pub fn is_replicated(&self) -> bool {
        self.every(ShardingKind::is_replicated)
    }

    /// Whether a shard is the whole array: replicated, or on one device. In tuples, whether all
    /// leaves are the one, or all the other.
    #[doc(alias = "IsTileMaximal")]
    pub fn is_maximal(&self) -> bool {
        self.is_replicated() || self.every(|kind| kind.single_device().is_some())
    }

    /// Whether the program spreads the array itself.
    pub fn is_manual(&self) -> bool {
        self.every(ShardingKind::is_manual)
    }

    /// Whether nothing is said.
    pub fn is_unknown(&self) -> bool {
        self.every(|kind| *kind == ShardingKind::Unknown)
    }

    /// Whether every device has a part of a sum.
    pub fn is_unreduced(&self) -> bool {
        self.every(ShardingKind::is_unreduced)
    }

    /// Whether the array is in tiles; of a tuple, whether none of the above is true of all.
    pub fn is_tiled(&self) -> bool {
        !(self.is_maximal() || self.is_manual() || self.is_unreduced() || self.is_unknown())
    }

    /// Whether the sharding, or all elements of a tuple's (and there is one), are in a group.
    pub fn is_shard_group(&self) -> bool {
        match &self.kind {
            ShardingKind::Tuple(elements) => {
                !elements.is_empty() && elements.iter().all(|e| e.shard_group.is_some())
            }
            _ => self.shard_group.is_some(),
        }
    }

    /// Whether there is a subgroup of this type; in tuples, in each leaf.
    #[doc(alias = "IsManualSubgroup", alias = "IsUnreducedSubgroup")]
    pub fn has_subgroup(&self, subgroup: SubgroupType) -> bool {
        self.every(|kind| match kind {
            ShardingKind::Tiled(tiling) => tiling.subgroups().any(|own| own == subgroup),
            ShardingKind::Named(named) => match subgroup {
                SubgroupType::Manual => !named.manual_axes().is_empty(),
                SubgroupType::Unreduced => !named.unreduced_axes().is_empty(),
                SubgroupType::Replicated => {
                    let parts: i64 = named.sharded_sizes().iter().product();
                    let mesh = named.mesh();
                    let others = named.manual_axes().iter().chain(named.unreduced_axes());
                    let others: i64 = others.map(|axis| axis.size_in(mesh)).product();
                    mesh.axis_count() > 0 && parts * others < mesh.device_count()
                }
                SubgroupType::Maximal => false,
            },
            _ => false,
        })
    }

    /// Whether tiles are on several devices.
    #[doc(alias = "HasPartialReplication")]
    pub fn has_partial_replication(&self) -> bool {
        !self.is_maximal() && self.has_subgroup(SubgroupType::Replicated)
    }

    /// The number of devices, where the sharding says which: in tiles, or one.
    ///
    /// # Errors
    ///
    /// [`ShardingError::Tuple`].
    pub fn device_count(&self) -> Result<Option<i64>, ShardingError> {
        Ok(match &self.kind {
            ShardingKind::Tuple(_) => return Err(ShardingError::Tuple),
            ShardingKind::Maximal(_) => Some(1),
            ShardingKind::Tiled(tiling) => Some(tiling.assignment().device_count()),
            ShardingKind::Named(named) if named.mesh().device_count() > 0 => {
                Some(named.mesh().device_count())
            }
            _ => None,
        })
    }

    /// Whether a device has any part, in any leaf of a tuple.
    pub fn uses_device(&self, device: i64) -> bool {
        let uses = |kind: &ShardingKind| match kind {
            kind if kind.is_replicated() || kind.is_manual() => true,
            ShardingKind::Maximal(own) => *own == device,
            ShardingKind::Tiled(tiling) => tiling.assignment().uses_device(device),
            ShardingKind::Named(named) => match named.mesh().single_device() {
                Some(own) => own == device,
                None => (0..named.mesh().device_count()).contains(&device),
            },
            _ => false,
        };
        match &self.kind {
            ShardingKind::Tuple(elements) => elements.iter().any(|element| uses(&element.kind)),
            kind => uses(kind),
        }
    }

    /// The one device that has everything, if there is one: all leaves of a tuple are on it.
    pub fn unique_device(&self) -> Option<i64> {
        match &self.kind {
            ShardingKind::Tuple(elements) => {
                let mut devices = elements.iter().map(|element| element.kind.single_device());
                let first = devices.next()??;
                devices.all(|device| device == Some(first)).then_some(first)
            }
            kind => kind.single_device(),
        }
    }
}

impl ShardingKind {
    /// The word for it: XLA's, or `tiled`, `named`, `tuple`.
    pub fn name(&self) -> &'static str {
        match self {
            ShardingKind::Replicated => "replicated",
            ShardingKind::Maximal(_) => "maximal",
            ShardingKind::Manual => "manual",
            ShardingKind::Unknown => "unknown",
            ShardingKind::Unreduced => "unreduced",
            ShardingKind::Tiled(_) => "tiled",
            ShardingKind::Named(_) => "named",
            ShardingKind::Tuple(_) => "tuple",
        }
    }

    fn is_replicated(&self) -> bool {
        match self {
            ShardingKind::Named(named) => named.is_replicated(),
            kind => *kind == ShardingKind::Replicated,
        }
    }

    fn is_manual(&self) -> bool {
        match self {
            ShardingKind::Named(named) => named.is_manual(),
            kind => *kind == ShardingKind::Manual,
        }
    }

    fn is_unreduced(&self) -> bool {
        match self {
            ShardingKind::Named(named) => named.is_unreduced(),
            kind => *kind == ShardingKind::Unreduced,
        }
    }

    fn single_device(&self) -> Option<i64> {
        match self {
            ShardingKind::Maximal(device) => Some(*device),
            ShardingKind::Named(named) => named.mesh().single_device(),
            _ => None,
        }
    }
}
