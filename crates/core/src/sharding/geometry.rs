//! Which part of an array a device has, and which devices have an element.

use std::borrow::Cow;

use super::{Cut, Devices, Shard, Sharding, ShardingError, ShardingKind, Shards, Tiling};
use crate::array::ArrayShape;
use crate::shape::Shape;
use crate::{Dimension, ShapeError};

/// How one array's sharding gives parts to devices.
enum Placement<'a> {
    /// The whole array, on every device.
    Everywhere,
    /// The whole array, on one device.
    On(i64),
    Tiles(Cow<'a, Tiling>),
}

impl Sharding {
    /// The tiles of one array's sharding, if it is in tiles: of a named one, those of the second
    /// form.
    ///
    /// # Errors
    ///
    /// [`ShardingError::Tuple`], [`ShardingError::TooManyToList`].
    pub fn tiling(&self) -> Result<Option<Cow<'_, Tiling>>, ShardingError> {
        match &self.kind {
            ShardingKind::Tuple(_) => Err(ShardingError::Tuple),
            ShardingKind::Tiled(tiling) => Ok(Some(Cow::Borrowed(tiling))),
            ShardingKind::Named(_) => match self.to_tiled()?.kind {
                ShardingKind::Tiled(tiling) => Ok(Some(Cow::Owned(tiling))),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn placement(&self) -> Result<Placement<'_>, ShardingError> {
        if let Some(tiling) = self.tiling()? {
            return Ok(Placement::Tiles(tiling));
        }
        let found = if self.is_replicated() {
            return Ok(Placement::Everywhere);
        } else if let Some(device) = self.unique_device() {
            return Ok(Placement::On(device));
        } else if self.is_manual() {
            "manual"
        } else if self.is_unreduced() {
            "unreduced"
        } else {
            "unknown"
        };
        Err(ShardingError::NoTiles { found })
    }

    /// How the array is placed, and how each dimension is cut.
    fn placed(&self, shape: &Shape) -> Result<(Placement<'_>, Vec<Cut>), ShardingError> {
        let placement = self.placement()?;
        let sizes = shape.as_array()?.sizes()?;
        let cuts = match &placement {
            Placement::Tiles(tiling) => {
                same_rank(tiling, sizes.len())?;
                let parts = tiling.parts().iter();
                let cuts = sizes.iter().zip(parts);
                cuts.map(|(&size, &parts)| Cut::new(size, parts)).collect()
            }
            _ => sizes.iter().map(|&size| Cut::new(size, 1)).collect(),
        };
        Ok((placement, cuts))
    }

    /// The shape of the largest shard: each dimension divided by its parts, rounded up. The whole
    /// shape unless the sharding is in tiles. The layout, dynamic bounds and unbounded dimensions
    /// stay.
    ///
    /// # Errors
    ///
    /// [`ShardingError::Tuple`], a shape that is no array or has another rank, padded widths that
    /// do not fit.
    #[doc(alias = "TileShape")]
    pub fn shard_shape(&self, shape: &Shape) -> Result<Shape, ShardingError> {
        let Some(tiling) = self.tiling()? else {
            return Ok(shape.clone());
        };
        same_rank(&tiling, shape.as_array()?.rank())?;
        resized(shape, |size, d| Cut::new(size, tiling.parts()[d]).width())
    }

    /// The shape of a device's shard, which may be shorter than the largest, or empty.
    ///
    /// # Errors
    ///
    /// Those of [`shard_shape`](Self::shard_shape); a device without a tile.
    #[doc(alias = "TileShape")]
    pub fn shard_shape_on(&self, shape: &Shape, device: i64) -> Result<Shape, ShardingError> {
        let Some(tiling) = self.tiling()? else {
            return Ok(shape.clone());
        };
        let tile = tile_of(&tiling, device)?;
        same_rank(&tiling, shape.as_array()?.rank())?;
        resized(shape, |size, d| {
            let (start, end) = Cut::new(size, tiling.parts()[d]).bounds(tile[d]);
            end - start
        })
    }

    /// Where a device's shard begins in each dimension: zeros where it has the whole array.
    ///
    /// # Errors
    ///
    /// A sharding that gives no parts to devices; a shape that is no array, has another rank, or
    /// unbounded dimensions; a device without a tile.
    #[doc(alias = "TileOffsetForDevice")]
    pub fn shard_offset(&self, shape: &Shape, device: i64) -> Result<Vec<i64>, ShardingError> {
        Ok(self.shard_bounds(shape, device)?.0)
    }

    /// Where a device's shard ends in each dimension: the index behind its last.
    ///
    /// # Errors
    ///
    /// Those of [`shard_offset`](Self::shard_offset).
    #[doc(alias = "TileLimitForDevice")]
    pub fn shard_limit(&self, shape: &Shape, device: i64) -> Result<Vec<i64>, ShardingError> {
        Ok(self.shard_bounds(shape, device)?.1)
    }

    /// Where a device's shard begins and ends in each dimension.
    ///
    /// # Errors
    ///
    /// Those of [`shard_offset`](Self::shard_offset).
    ///
    /// ```
    /// use minormajor_core::{Shape, Sharding};
    ///
    /// // Six rows on four devices: two each, and none on the last.
    /// let sharding: Sharding = "{devices=[4]<=[4]}".parse()?;
    /// let shape: Shape = "f32[6]".parse()?;
    /// assert_eq!(sharding.shard_bounds(&shape, 2)?, (vec![4], vec![6]));
    /// assert_eq!(sharding.shard_bounds(&shape, 3)?, (vec![6], vec![6]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shard_bounds(
        &self,
        shape: &Shape,
        device: i64,
    ) -> Result<(Vec<i64>, Vec<i64>), ShardingError> {
        let (placement, cuts) = self.placed(shape)?;
        let tile = match &placement {
            Placement::On(own) if *own != device => {
                return Err(ShardingError::NoSuchDevice { device });
            }
            Placement::Everywhere | Placement::On(_) => vec![0; cuts.len()],
            Placement::Tiles(tiling) => tile_of(tiling, device)?,
        };
        let bounds = cuts.iter().zip(&tile).map(|(cut, &part)| cut.bounds(part));
        Ok(bounds.unzip())
    }

    /// How each dimension of an array is cut: into a single part where a shard is the whole array.
    ///
    /// # Errors
    ///
    /// Those of [`shard_offset`](Self::shard_offset).
    pub fn cuts(&self, shape: &Shape) -> Result<Vec<Cut>, ShardingError> {
        Ok(self.placed(shape)?.1)
    }

    /// The shards of all devices, one after another in the order of the tiles.
    ///
    /// # Errors
    ///
    /// Those of [`shard_offset`](Self::shard_offset), and [`ShardingError::NoTiles`] of a
    /// replicated sharding.
    ///
    /// ```
    /// use minormajor_core::{Shape, Sharding};
    ///
    /// let sharding: Sharding = "{devices=[2]1,0}".parse()?;
    /// let shape: Shape = "f32[3]".parse()?;
    /// let shards: Vec<_> = sharding.shards(&shape)?.collect();
    /// assert_eq!((shards[0].device, &*shards[0].offset, &*shards[0].limit), (1, &[0][..], &[2][..]));
    /// assert_eq!((shards[1].device, &*shards[1].offset, &*shards[1].limit), (0, &[2][..], &[3][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "EachTile")]
    pub fn shards(&self, shape: &Shape) -> Result<Shards, ShardingError> {
        let (placement, cuts) = self.placed(shape)?;
        Ok(match placement {
            Placement::Tiles(tiling) => {
                let assignment = tiling.assignment();
                let all = Devices::of(assignment, 0..assignment.device_count());
                Shards::new(cuts, tiling.devices_per_tile(), all)
            }
            Placement::On(device) => Shards::new(cuts, 1, Devices::one(device)),
            Placement::Everywhere => {
                return Err(ShardingError::NoTiles {
                    found: "replicated",
                });
            }
        })
    }

    /// Which tile a device has: its index in each dimension, without subgroups.
    ///
    /// # Errors
    ///
    /// A sharding that is not in tiles, a device without one.
    #[doc(alias = "TileIndexForDevice")]
    pub fn tile_index(&self, device: i64) -> Result<Vec<i64>, ShardingError> {
        match self.placement()? {
            Placement::Tiles(tiling) => tile_of(&tiling, device),
            Placement::Everywhere | Placement::On(_) => Err(ShardingError::NoTiles {
                found: "whole on its devices",
            }),
        }
    }

    /// The device that has a tile: the first of those that share it, or the one that the numbers
    /// of the subgroups behind the tile's say.
    ///
    /// # Errors
    ///
    /// A sharding that gives no parts to devices; a tile that is not there.
    #[doc(alias = "DeviceForTileIndex")]
    pub fn device_of_tile(&self, tile: &[i64]) -> Result<i64, ShardingError> {
        match self.placement()? {
            Placement::On(device) => Ok(device),
            Placement::Everywhere => Err(ShardingError::NoTiles {
                found: "replicated",
            }),
            Placement::Tiles(tiling) => {
                let assignment = tiling.assignment();
                if tile.len() != tiling.data_rank() && tile.len() != assignment.rank() {
                    return Err(ShardingError::NoSuchTile {
                        tile: tile.to_vec(),
                        tiles: assignment.dimensions().to_vec(),
                    });
                }
                assignment.device(tile)
            }
        }
    }

    /// The devices that have an element: all that share its tile, whatever the type of their
    /// subgroup. `None` where every device has it.
    ///
    /// # Errors
    ///
    /// A sharding that gives no parts to devices; a shape that is no array, has another rank or
    /// unbounded dimensions; an element that is not there.
    ///
    /// ```
    /// use minormajor_core::{Shape, Sharding};
    ///
    /// let sharding: Sharding = "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}".parse()?;
    /// let shape: Shape = "f32[4,3]".parse()?;
    /// let devices = sharding.devices_of_element(&shape, &[3, 1])?.unwrap();
    /// assert_eq!(devices.collect::<Vec<_>>(), [1, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn devices_of_element(
        &self,
        shape: &Shape,
        index: &[i64],
    ) -> Result<Option<Devices>, ShardingError> {
        let (placement, cuts) = self.placed(shape)?;
        let inside = |(&i, cut): (&i64, &Cut)| (0..cut.size()).contains(&i);
        if index.len() != cuts.len() || !index.iter().zip(&cuts).all(inside) {
            return Err(ShardingError::NoSuchElement {
                index: index.to_vec(),
                sizes: cuts.iter().map(|cut| cut.size()).collect(),
            });
        }
        Ok(match placement {
            Placement::Everywhere => None,
            Placement::On(device) => Some(Devices::one(device)),
            Placement::Tiles(tiling) => {
                let tile = cuts.iter().zip(index).map(|(cut, &i)| cut.part_of(i));
                let assignment = tiling.assignment();
                let at = assignment.place(&tile.collect::<Vec<_>>())?;
                Some(Devices::of(assignment, at..at + tiling.devices_per_tile()))
            }
        })
    }
}

impl Shard {
    /// The shape of the shard of an array of this shape: its layout and dynamic bounds stay.
    ///
    /// # Errors
    ///
    /// A shape that is no array or has another rank, padded widths that do not fit.
    pub fn shape(&self, of: &Shape) -> Result<Shape, ShardingError> {
        let (tiled, rank) = (self.offset.len(), of.as_array()?.rank());
        if tiled != rank {
            return Err(ShardingError::Rank { tiled, rank });
        }
        resized(of, |_, d| self.limit[d] - self.offset[d])
    }
}

/// The tile of a device, without subgroups.
fn tile_of(tiling: &Tiling, device: i64) -> Result<Vec<i64>, ShardingError> {
    let mut tile = tiling
        .assignment()
        .index_of(device)
        .ok_or(ShardingError::NoSuchDevice { device })?;
    tile.truncate(tiling.data_rank());
    Ok(tile)
}

fn same_rank(tiling: &Tiling, rank: usize) -> Result<(), ShardingError> {
    let tiled = tiling.data_rank();
    if tiled == rank {
        Ok(())
    } else {
        Err(ShardingError::Rank { tiled, rank })
    }
}

/// The array with other sizes, given the old ones and their dimensions.
fn resized(shape: &Shape, size: impl Fn(i64, usize) -> i64) -> Result<Shape, ShardingError> {
    let resize = |array: &ArrayShape| -> Result<ArrayShape, ShapeError> {
        let dimensions = array.dimensions().iter().enumerate();
        let resized = dimensions.map(|(d, dimension)| match *dimension {
            Dimension::Static(n) => Dimension::Static(size(n, d)),
            Dimension::Bounded(n) => Dimension::Bounded(size(n, d)),
            Dimension::Unbounded => Dimension::Unbounded,
        });
        let mut array = array.clone();
        for (d, dimension) in resized.collect::<Vec<_>>().into_iter().enumerate() {
            array = array.with_dimension(d as i64, dimension)?;
        }
        Ok(array)
    };
    Ok(shape.map_arrays(resize)?)
}
