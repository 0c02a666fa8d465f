//! `sharding`: which part of an array each device has.

mod json;
mod text;

use std::io::{self, Write};

use minormajor::sharding::{Cut, Devices, ShardingError, Shards, SubgroupType, Tiling};
use minormajor::{Shape, ShapeIndex, Sharding};

use crate::arguments;
use crate::error::{Outcome, RequestError, Stop};
use crate::output::Output;
use crate::request::{self, leading_space};

/// So many devices are shown of each array, unless asked for more.
const SHOWN: usize = 40;

/// Answers the request of the arguments.
pub fn run(arguments: &arguments::Sharding, output: &mut Output) -> Result<Outcome, Stop> {
    match answer(arguments, output) {
        Ok(done) => done.map(|()| Outcome::Done).map_err(Stop::from),
        Err(error) => {
            if arguments.json {
                error.write(output)?;
            }
            Err(error.into())
        }
    }
}

/// Writes the answer; the outer error is the request's, the inner one the output's.
fn answer(
    arguments: &arguments::Sharding,
    output: &mut Output,
) -> Result<io::Result<()>, RequestError> {
    let (text, shape) = (&arguments.sharding, &arguments.shape);
    let sharding: Sharding = text
        .parse()
        .map_err(|error| RequestError::parse(text, &error))?;
    let shape: Shape = shape
        .parse()
        .map_err(|error| RequestError::parse(shape, &error))?;
    let sharding = sharding.normalized_for(&shape);
    let misfit = |error| RequestError::new(text, leading_space(text) + 1, error);
    sharding.validate(&shape, None).map_err(misfit)?;
    if let Some(index) = &arguments.index {
        let found = Holders::of(arguments, &sharding, &shape, index)?;
        let top = shown(arguments, arguments.json);
        return Ok(match arguments.json {
            true => json::write(&found.json(top), output),
            false => writeln!(output, "{}", found.text(top)),
        });
    }
    let elements = sharding
        .tuple_elements()
        .unwrap_or(std::slice::from_ref(&sharding));
    let mut parts = Vec::new();
    for ((index, shape), sharding) in shape.leaves().zip(elements) {
        parts.push(Part::new(index, shape, sharding).map_err(misfit)?);
    }
    if let Some(device) = arguments.device {
        let shards = parts.iter().map(|part| Ok((part, part.shard(device)?)));
        let shards: Vec<_> = shards.collect::<Result<_, _>>().map_err(misfit)?;
        if shards.iter().all(|(_, shard)| shard.is_none()) {
            return Err(misfit(ShardingError::NoSuchDevice { device }));
        }
        return Ok(shards
            .iter()
            .try_for_each(|(part, shard)| match arguments.json {
                true => json::write(&json::OnDevice::of(part, device, shard.as_ref()), output),
                false => text::write_on_device(part, device, shard.as_ref(), output),
            }));
    }
    let top = shown(arguments, arguments.json);
    Ok(match arguments.json {
        true => parts
            .iter()
            .try_for_each(|part| json::write(&json::PartObject::of(part, top), output)),
        false => text::write(&sharding, &shape, &parts, top, output),
    })
}

/// How many devices to show.
fn shown(arguments: &arguments::Sharding, all: bool) -> usize {
    match arguments.top {
        Some(0) => usize::MAX,
        Some(top) => top,
        None if all => usize::MAX,
        None => SHOWN,
    }
}

/// One array, or another element of a tuple, and how it is spread.
struct Part<'a> {
    /// Where in the tuple it is; empty outside of one.
    index: ShapeIndex,
    shape: &'a Shape,
    sharding: &'a Sharding,
    /// In tiles, if it is; of a named one, those that it amounts to.
    tiling: Option<Tiling>,
    largest: Shape,
    /// What every device has; else why that is not known.
    shards: Result<(Vec<Cut>, Option<Shards>), ShardingError>,
}

/// What one device has of an array.
struct Held {
    /// Where the sharding is in tiles.
    tile: Option<Vec<i64>>,
    offset: Vec<i64>,
    limit: Vec<i64>,
    shape: Shape,
}

impl<'a> Part<'a> {
    fn new(
        index: ShapeIndex,
        shape: &'a Shape,
        sharding: &'a Sharding,
    ) -> Result<Part<'a>, ShardingError> {
        let shards = sharding.cuts(shape).and_then(|cuts| {
            Ok(match sharding.is_replicated() {
                true => (cuts, None),
                false => (cuts, Some(sharding.shards(shape)?)),
            })
        });
        Ok(Part {
            index,
            shape,
            sharding,
            tiling: sharding.tiling()?.map(|tiling| tiling.into_owned()),
            largest: sharding.shard_shape(shape)?,
            shards,
        })
    }

    /// What a device has; `None` where it has no part.
    fn shard(&self, device: i64) -> Result<Option<Held>, ShardingError> {
        let (offset, limit) = match self.sharding.shard_bounds(self.shape, device) {
            Err(ShardingError::NoSuchDevice { .. }) => return Ok(None),
            bounds => bounds?,
        };
        let tile = match &self.tiling {
            Some(_) => Some(self.sharding.tile_index(device)?),
            None => None,
        };
        let shape = self.sharding.shard_shape_on(self.shape, device)?;
        Ok(Some(Held {
            tile,
            offset,
            limit,
            shape,
        }))
    }

    /// The types and sizes of the subgroups, in their order.
    fn subgroups(&self) -> Vec<(SubgroupType, i64)> {
        let Some(tiling) = &self.tiling else {
            return Vec::new();
        };
        let sizes = &tiling.assignment().dimensions()[tiling.data_rank()..];
        tiling.subgroups().zip(sizes.iter().copied()).collect()
    }
}

/// Which devices have an element.
struct Holders {
    index: Vec<i64>,
    /// None where every device has it.
    devices: Option<Devices>,
    /// Its index in the shard.
    local_index: Vec<i64>,
}

impl Holders {
    fn of(
        arguments: &arguments::Sharding,
        sharding: &Sharding,
        shape: &Shape,
        text: &str,
    ) -> Result<Holders, RequestError> {
        shape.as_array().map_err(|error| {
            let column = leading_space(&arguments.shape) + 1;
            RequestError::new(&arguments.shape, column, error)
        })?;
        let (index, columns) = request::index(text)
            .map_err(|(column, error)| RequestError::new(text, column, error))?;
        let failed = |error: ShardingError| match &error {
            ShardingError::NoSuchElement { sizes, .. } => {
                let inside = |(&i, &size): (&i64, &i64)| (0..size).contains(&i);
                let fits = index.iter().zip(sizes).take_while(|&pair| inside(pair));
                RequestError::new(text, columns[fits.count()], error)
            }
            ShardingError::Shape(_) => {
                let column = leading_space(&arguments.shape) + 1;
                RequestError::new(&arguments.shape, column, error)
            }
            _ => {
                let column = leading_space(&arguments.sharding) + 1;
                RequestError::new(&arguments.sharding, column, error)
            }
        };
        let devices = sharding.devices_of_element(shape, &index).map_err(failed)?;
        let first = devices.clone().and_then(|mut devices| devices.next());
        let local_index = match first {
            Some(device) => {
                let offset = sharding.shard_offset(shape, device).map_err(failed)?;
                index
                    .iter()
                    .zip(offset)
                    .map(|(i, start)| i - start)
                    .collect()
            }
            None => index.clone(),
        };
        Ok(Holders {
            index,
            devices,
            local_index,
        })
    }

    fn json(&self, top: usize) -> json::HoldersObject<'_> {
        json::HoldersObject {
            index: &self.index,
            devices: self
                .devices
                .clone()
                .map(|devices| devices.take(top).collect()),
            local_index: &self.local_index,
        }
    }

    fn text(&self, top: usize) -> String {
        let element = match self.index.is_empty() {
            true => "the scalar".to_owned(),
            false => format!("element {:?}", self.index),
        };
        let Some(devices) = self.devices.clone() else {
            return format!("{element} is on every device");
        };
        let (count, _) = devices.size_hint();
        let first: Vec<String> = devices.take(top).map(|device| device.to_string()).collect();
        let more = match count - first.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let noun = if count == 1 { "device" } else { "devices" };
        let place = match self.index.is_empty() {
            true => String::new(),
            false => format!(", at {:?} of the shard", self.local_index),
        };
        format!("{element} is on {noun} {}{more}{place}", first.join(", "))
    }
}
