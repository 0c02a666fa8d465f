//! Which part of an array a device has, and which devices have an element.
//!
//! A dimension of size `n` in `p` parts has parts of `ceil(n / p)`; the last ones are shorter,
//! or empty. So part `i` goes from `min(i * ceil(n / p), n)` to `min((i + 1) * ceil(n / p), n)`.

use std::borrow::Cow;
use std::iter::FusedIterator;

use super::{Sharding, ShardingError, ShardingKind, TileAssignment, Tiling};
use crate::array::ArrayShape;
use crate::shape::Shape;
use crate::{Dimension, ShapeError};

/// Devices that share a tile.
#[derive(Clone, Debug)]
pub struct Devices {
    source: Source,
    at: i64,
    end: i64,
}

#[derive(Clone, Debug)]
enum Source {
    One(i64),
    Tiles(TileAssignment),
}

impl Iterator for Devices {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        if self.at == self.end {
            return None;
        }
        let place = self.at;
        self.at += 1;
        Some(match &self.source {
            Source::One(device) => *device,
            Source::Tiles(assignment) => assignment.at(place),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.end - self.at).ok();
        (left.unwrap_or(usize::MAX), left)
    }
}

impl FusedIterator for Devices {}

/// The bounds of a part: where it begins and ends.
fn bounds(size: i64, parts: i64, part: i64) -> (i64, i64) {
    let tile = ceil(size, parts);
    // Products beyond 63 bits are beyond the size.
    let bound = |part: i64| part.saturating_mul(tile).min(size);
    (bound(part), bound(part.saturating_add(1)))
}

/// The largest part.
fn ceil(size: i64, parts: i64) -> i64 {
    size / parts + i64::from(size % parts != 0)
}

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
        resized(shape, &tiling, |size, d| ceil(size, tiling.parts()[d]))
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
        resized(shape, &tiling, |size, d| {
            let (start, end) = bounds(size, tiling.parts()[d], tile[d]);
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
        let placement = self.placement()?;
        let sizes = shape.as_array()?.sizes()?;
        match placement {
            Placement::On(own) if own != device => Err(ShardingError::NoSuchDevice { device }),
            Placement::Everywhere | Placement::On(_) => Ok((vec![0; sizes.len()], sizes)),
            Placement::Tiles(tiling) => {
                same_rank(&tiling, sizes.len())?;
                let tile = tile_of(&tiling, device)?;
                let cut = sizes.iter().zip(tiling.parts()).zip(&tile);
                Ok(cut
                    .map(|((&size, &parts), &part)| bounds(size, parts, part))
                    .unzip())
            }
        }
    }

    /// Calls `visit` with every device in the order of the tiles, and where its shard begins and
    /// ends.
    ///
    /// # Errors
    ///
    /// Those of [`shard_offset`](Self::shard_offset), and [`ShardingError::NoTiles`] of a
    /// replicated sharding.
    #[doc(alias = "EachTile")]
    pub fn for_each_shard(
        &self,
        shape: &Shape,
        mut visit: impl FnMut(i64, &[i64], &[i64]),
    ) -> Result<(), ShardingError> {
        let sizes = shape.as_array()?.sizes()?;
        let tiling = match self.placement()? {
            Placement::Tiles(tiling) => tiling,
            Placement::On(device) => {
                visit(device, &vec![0; sizes.len()], &sizes);
                return Ok(());
            }
            Placement::Everywhere => {
                return Err(ShardingError::NoTiles {
                    found: "replicated",
                });
            }
        };
        same_rank(&tiling, sizes.len())?;
        let parts = tiling.parts();
        let shared = tiling.devices_per_tile();
        let mut tile = vec![0; parts.len()];
        for first in 0..tiling.tile_count() {
            let cut = sizes.iter().zip(parts).zip(&tile);
            let (start, end): (Vec<i64>, Vec<i64>) = cut
                .map(|((&size, &parts), &part)| bounds(size, parts, part))
                .unzip();
            for place in first * shared..(first + 1) * shared {
                visit(tiling.assignment().at(place), &start, &end);
            }
            for (part, &parts) in tile.iter_mut().zip(parts).rev() {
                *part += 1;
                if *part < parts {
                    break;
                }
                *part = 0;
            }
        }
        Ok(())
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
        let placement = self.placement()?;
        let sizes = shape.as_array()?.sizes()?;
        if let Placement::Tiles(tiling) = &placement {
            same_rank(tiling, sizes.len())?;
        }
        let inside = |(&i, &size): (&i64, &i64)| (0..size).contains(&i);
        if index.len() != sizes.len() || !index.iter().zip(&sizes).all(inside) {
            return Err(ShardingError::NoSuchElement {
                index: index.to_vec(),
                sizes,
            });
        }
        Ok(match placement {
            Placement::Everywhere => None,
            Placement::On(device) => Some(Devices {
                source: Source::One(device),
                at: 0,
                end: 1,
            }),
            Placement::Tiles(tiling) => {
                let cut = index.iter().zip(&sizes).zip(tiling.parts());
                // There is an element, so no size is 0.
                let tile: Vec<i64> = cut.map(|((&i, &n), &parts)| i / ceil(n, parts)).collect();
                let assignment = tiling.assignment();
                let at = assignment.place(&tile)?;
                Some(Devices {
                    at,
                    end: at + tiling.devices_per_tile(),
                    source: Source::Tiles(assignment.clone()),
                })
            }
        })
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
fn resized(
    shape: &Shape,
    tiling: &Tiling,
    size: impl Fn(i64, usize) -> i64,
) -> Result<Shape, ShardingError> {
    same_rank(tiling, shape.as_array()?.rank())?;
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
