//! A sharding as JSON objects, their fields in the order of the structs.

use std::io;

use minormajor::sharding::{Cut, Shards};
use serde::{Serialize, Serializer};

use super::{Held, Part};
use crate::output::Output;

/// Writes an object on one line.
pub fn write(object: &impl Serialize, output: &mut Output) -> io::Result<()> {
    serde_json::to_writer(&mut *output, object)?;
    io::Write::write_all(output, b"\n")
}

/// One array and all its shards.
#[derive(Serialize)]
pub struct PartObject<'a> {
    #[serde(skip_serializing_if = "<[usize]>::is_empty")]
    element: &'a [usize],
    sharding: String,
    shape: String,
    kind: &'static str,
    /// Absent where the sharding names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    devices: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tiles: Option<&'a [i64]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subgroups: Vec<SubgroupObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replicas: Option<i64>,
    shard_shape: String,
    /// One for each dimension; absent where no device's shard is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<Vec<CutObject>>,
    /// Absent where every device has the array, and where it isn't known what each has.
    #[serde(skip_serializing_if = "Option::is_none")]
    shards: Option<List<'a>>,
}

#[derive(Serialize)]
struct SubgroupObject {
    #[serde(rename = "type")]
    subgroup: &'static str,
    size: i64,
}

#[derive(Serialize)]
struct CutObject {
    size: i64,
    parts: i64,
    width: i64,
    whole: i64,
    tail: i64,
    empty: i64,
}

impl From<&Cut> for CutObject {
    fn from(cut: &Cut) -> CutObject {
        CutObject {
            size: cut.size(),
            parts: cut.parts(),
            width: cut.width(),
            whole: cut.whole(),
            tail: cut.tail(),
            empty: cut.empty(),
        }
    }
}

/// The first shards, which are not collected: there may be many.
struct List<'a> {
    part: &'a Part<'a>,
    shards: &'a Shards,
    top: usize,
}

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shards = self.shards.clone().take(self.top);
        serializer.collect_seq(shards.map(|shard| ShardObject {
            device: shard.device,
            shape: (shard.shape(self.part.shape)).map_or_else(|_| None, |s| Some(s.to_string())),
            tile: self.part.tiling.is_some().then_some(shard.tile),
            offset: shard.offset,
            limit: shard.limit,
        }))
    }
}

#[derive(Serialize)]
struct ShardObject {
    device: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tile: Option<Vec<i64>>,
    offset: Vec<i64>,
    limit: Vec<i64>,
    shape: Option<String>,
}

impl<'a> PartObject<'a> {
    pub fn of(part: &'a Part<'_>, top: usize) -> Self {
        let tiling = part.tiling.as_ref();
        let known = part.shards.as_ref().ok();
        PartObject {
            element: part.index.as_slice(),
            sharding: part.sharding.to_string(),
            shape: part.shape.to_string(),
            kind: part.sharding.kind().name(),
            devices: part.sharding.device_count().ok().flatten(),
            tiles: tiling.map(|tiling| tiling.parts()),
            subgroups: part
                .subgroups()
                .into_iter()
                .map(|(subgroup, size)| SubgroupObject {
                    subgroup: subgroup.name(),
                    size,
                })
                .collect(),
            replicas: tiling.map(|tiling| tiling.replicas()),
            shard_shape: part.largest.to_string(),
            dimensions: known.map(|(cuts, _)| cuts.iter().map(CutObject::from).collect()),
            shards: known
                .and_then(|(_, shards)| shards.as_ref())
                .map(|shards| List { part, shards, top }),
        }
    }
}

/// What one device has.
#[derive(Serialize)]
pub struct OnDevice<'a> {
    #[serde(skip_serializing_if = "<[usize]>::is_empty")]
    element: &'a [usize],
    device: i64,
    /// Null where it has no part.
    shape: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tile: Option<&'a [i64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<&'a [i64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'a [i64]>,
}

impl<'a> OnDevice<'a> {
    pub fn of(part: &'a Part<'_>, device: i64, held: Option<&'a Held>) -> Self {
        OnDevice {
            element: part.index.as_slice(),
            device,
            shape: held.map(|held| held.shape.to_string()),
            tile: held.and_then(|held| held.tile.as_deref()),
            offset: held.map(|held| &*held.offset),
            limit: held.map(|held| &*held.limit),
        }
    }
}

/// Which devices have an element.
#[derive(Serialize)]
pub struct HoldersObject<'a> {
    pub index: &'a [i64],
    /// Null where every device has it.
    pub devices: Option<Vec<i64>>,
    pub local_index: &'a [i64],
}
