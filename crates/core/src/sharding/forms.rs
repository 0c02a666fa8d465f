//! The same sharding in another of XLA's forms: in tiles, and by the axes of a mesh.

use super::{Mesh, NamedSharding, Sharding, ShardingError, ShardingKind, tiling};

impl Sharding {
    /// Whether both put the same on every device, said in whatever form: names and tiles are
    /// compared as tiles.
    ///
    /// # Errors
    ///
    /// [`ShardingError::TooManyToList`].
    ///
    /// ```
    /// use minormajor_core::Sharding;
    ///
    /// let named: Sharding = "{mesh['a'=2,'b'=2], [{'b'}, {'a'}]}".parse()?;
    /// let tiled: Sharding = "{devices=[2,2]0,2,1,3}".parse()?;
    /// assert!(named != tiled && named.same_placement(&tiled)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn same_placement(&self, other: &Sharding) -> Result<bool, ShardingError> {
        Ok(self == other || self.to_tiled()? == other.to_tiled()?)
    }

    /// The same in tiles (XLA's first and second forms), wherever it is named.
    ///
    /// # Errors
    ///
    /// [`ShardingError::TooManyToList`].
    #[doc(alias = "V3ToV2Sharding")]
    pub fn to_tiled(&self) -> Result<Sharding, ShardingError> {
        let kind = match &self.kind {
            ShardingKind::Tuple(elements) => ShardingKind::Tuple(
                elements
                    .iter()
                    .map(Sharding::to_tiled)
                    .collect::<Result<_, _>>()?,
            ),
            ShardingKind::Named(named) if named.is_replicated() => ShardingKind::Replicated,
            ShardingKind::Named(named) => match named.mesh().single_device() {
                Some(device) => ShardingKind::Maximal(device),
                None => {
                    let (assignment, types) = named.tiles()?;
                    tiling::with_subgroups(assignment, &types)?
                }
            },
            kind => kind.clone(),
        };
        Ok(Sharding {
            kind,
            shard_group: self.shard_group,
            metadata: self.metadata.clone(),
        })
    }

    /// The same by the axes of a mesh (XLA's third form), which are called `axis_0` and so on.
    /// Manual, unknown and unreduced shardings that name no devices stay as they are.
    ///
    /// # Errors
    ///
    /// Devices that are not 0, 1, 2 and so on; a subgroup that is maximal; a shard group.
    #[doc(alias = "ToV3Sharding")]
    pub fn to_named(&self) -> Result<Sharding, ShardingError> {
        let kind = match &self.kind {
            ShardingKind::Tuple(elements) => ShardingKind::Tuple(
                elements
                    .iter()
                    .map(Sharding::to_named)
                    .collect::<Result<_, _>>()?,
            ),
            ShardingKind::Replicated => ShardingKind::Named(NamedSharding::new(Mesh::empty(), [])?),
            ShardingKind::Maximal(device) => {
                ShardingKind::Named(NamedSharding::new(Mesh::single(*device), [])?)
            }
            ShardingKind::Tiled(tiling) => ShardingKind::Named(NamedSharding::of_tiles(tiling)?),
            kind => kind.clone(),
        };
        Sharding::of(kind)
            .with_metadata(&self.metadata, !self.is_tuple())
            .with_shard_group(self.shard_group)
    }
}
