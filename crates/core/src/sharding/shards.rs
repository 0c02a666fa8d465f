//! Devices and shards, one after another.

use std::iter::FusedIterator;
use std::ops::Range;

use super::{Cut, TileAssignment};

/// Devices in the order of the tiles that they have.
#[derive(Clone, Debug)]
pub struct Devices {
    source: Source,
    /// Places in the order of the tiles.
    at: i64,
    end: i64,
}

#[derive(Clone, Debug)]
enum Source {
    One(i64),
    Tiles(TileAssignment),
}

impl Devices {
    /// A single one.
    pub(super) fn one(device: i64) -> Devices {
        Devices {
            source: Source::One(device),
            at: 0,
            end: 1,
        }
    }

    /// Those at the places of a tile assignment.
    pub(super) fn of(assignment: &TileAssignment, places: Range<i64>) -> Devices {
        Devices {
            source: Source::Tiles(assignment.clone()),
            at: places.start,
            end: places.end,
        }
    }
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

/// The part of an array that a device has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shard {
    /// The device.
    pub device: i64,
    /// The index of its tile, one number a dimension; zeros where the array is whole.
    pub tile: Vec<i64>,
    /// The index of its first element.
    pub offset: Vec<i64>,
    /// The index behind its last element, in each dimension.
    pub limit: Vec<i64>,
}

/// The shards of an array in the order of the tiles; of a tile on several devices, one for each.
#[derive(Clone, Debug)]
pub struct Shards {
    cuts: Vec<Cut>,
    /// The devices of each tile.
    shared: i64,
    devices: Devices,
}

impl Shards {
    pub(super) fn new(cuts: Vec<Cut>, shared: i64, devices: Devices) -> Shards {
        Shards {
            cuts,
            shared,
            devices,
        }
    }
}

impl Iterator for Shards {
    type Item = Shard;

    fn next(&mut self) -> Option<Shard> {
        let mut left = self.devices.at / self.shared;
        let device = self.devices.next()?;
        let mut tile = vec![0; self.cuts.len()];
        for (part, cut) in tile.iter_mut().zip(&self.cuts).rev() {
            (*part, left) = (left % cut.parts(), left / cut.parts());
        }
        let bounds = self.cuts.iter().zip(&tile);
        let (offset, limit) = bounds.map(|(cut, &part)| cut.bounds(part)).unzip();
        Some(Shard {
            device,
            tile,
            offset,
            limit,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.devices.size_hint()
    }
}

impl FusedIterator for Shards {}
