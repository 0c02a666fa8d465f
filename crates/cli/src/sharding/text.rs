//! A sharding as facts and a table, for people.

use std::fmt::Display;
use std::io::{self, Write};

use minormajor::sharding::{Cut, ShardingKind};
use minormajor::{Shape, Sharding, sizes};

use super::{Held, Part};
use crate::describe::counted;
use crate::error::shown;
use crate::table::{Row, write_table};

/// Texts are shown up to so many characters: lists of devices can be very long.
const TEXT: usize = 100;

/// Writes everything about the arrays, with at most `top` devices of each.
pub fn write(
    sharding: &Sharding,
    shape: &Shape,
    parts: &[Part<'_>],
    top: usize,
    output: &mut impl Write,
) -> io::Result<()> {
    writeln!(
        output,
        "{} of {}",
        shown(&sharding.to_string(), TEXT),
        shown(&shape.to_string(), TEXT)
    )?;
    if let [part] = parts
        && !sharding.is_tuple()
    {
        return write_part(part, top, output);
    }
    for part in parts {
        let text = shown(&part.sharding.to_string(), TEXT);
        writeln!(output, "\n{} {text} of {}", part.index, part.shape)?;
        write_part(part, top, output)?;
    }
    Ok(())
}

fn write_part(part: &Part<'_>, top: usize, output: &mut impl Write) -> io::Result<()> {
    fact(output, "kind", kind(part.sharding))?;
    if let Ok(Some(devices)) = part.sharding.device_count() {
        fact(output, "devices", devices)?;
    }
    if let Some(tiling) = &part.tiling {
        let parts: Vec<String> = tiling.parts().iter().map(i64::to_string).collect();
        let tiles = match parts.is_empty() {
            true => "one".to_owned(),
            false => parts.join(" x "),
        };
        let devices = match tiling.devices_per_tile() {
            1 => "each on one device".to_owned(),
            more => {
                let groups = part.subgroups();
                let groups: Vec<String> = groups
                    .iter()
                    .map(|(subgroup, size)| format!("{size} {}", subgroup.name()))
                    .collect();
                format!("each on {more} devices: {}", groups.join(" x "))
            }
        };
        fact(output, "tiles", format_args!("{tiles}, {devices}"))?;
        if part.sharding.named().is_some()
            && let Ok(tiled) = part.sharding.to_tiled()
        {
            fact(output, "in tiles", shown(&tiled.to_string(), TEXT))?;
        }
    }
    let bytes = part.largest.as_array().ok();
    match bytes.and_then(|array| array.allocated_bytes()) {
        Some(bytes) => {
            let size = sizes::size(bytes.into());
            let bytes = counted(bytes.into(), "byte");
            fact(
                output,
                "shard",
                format_args!("{}, {bytes} ({size})", part.largest),
            )?;
        }
        None => fact(output, "shard", &part.largest)?,
    }
    let (cuts, shards) = match &part.shards {
        Ok(known) => known,
        // What the kind says.
        Err(_) if !part.sharding.is_tiled() => return Ok(()),
        Err(error) => return writeln!(output, "\n  no device's shard is known: {error}"),
    };
    for (d, cut) in cuts.iter().enumerate() {
        if cut.parts() > 1 {
            fact(output, &format!("dimension {d}"), cut_text(*cut))?;
        }
    }
    let Some(shards) = shards else {
        return Ok(());
    };
    let (all, _) = shards.size_hint();
    let rows: Vec<Row> = shards
        .clone()
        .take(top)
        .map(|shard| Row {
            cells: vec![
                shard.device.to_string(),
                format!("{:?}", shard.tile),
                format!("{:?}", shard.offset),
                match shard.shape(part.shape) {
                    Ok(shape) => shape.to_string(),
                    Err(error) => error.to_string(),
                },
            ],
            below: Vec::new(),
        })
        .collect();
    writeln!(output)?;
    write_table(&["device", "tile", "offset", "shard"], 1, &rows, output)?;
    match all - rows.len() {
        0 => Ok(()),
        more => writeln!(
            output,
            "  and {}; --top 0 shows all, --device N any of them",
            counted(more as i128, "more device")
        ),
    }
}

/// Writes what one device has.
pub fn write_on_device(
    part: &Part<'_>,
    device: i64,
    held: Option<&Held>,
    output: &mut impl Write,
) -> io::Result<()> {
    if !part.index.is_empty() {
        write!(output, "{} ", part.index)?;
    }
    let Some(held) = held else {
        return writeln!(output, "device {device} has no part");
    };
    let shape = &held.shape;
    let Some(tile) = &held.tile else {
        return writeln!(output, "device {device} has the whole array, {shape}");
    };
    let end = &held.limit;
    match held.offset.iter().zip(end).any(|(start, end)| start == end) {
        true => writeln!(
            output,
            "device {device} has nothing: tile {tile:?} is {shape}"
        ),
        false => writeln!(
            output,
            "device {device} has tile {tile:?}: {shape} from {:?} to below {end:?}",
            held.offset
        ),
    }
}

/// The kind of a sharding and what it means.
fn kind(sharding: &Sharding) -> String {
    let meaning = if sharding.is_replicated() {
        "every device has the whole array".to_owned()
    } else if let Some(device) = sharding.unique_device() {
        format!("device {device} has the whole array")
    } else if sharding.is_manual() {
        "the program spreads the array itself".to_owned()
    } else if sharding.is_unreduced() {
        "every device has a part of a sum that is not yet made".to_owned()
    } else if sharding.is_unknown() {
        "nothing is said yet".to_owned()
    } else if let ShardingKind::Named(_) = sharding.kind() {
        "in tiles by the axes of a mesh".to_owned()
    } else {
        return sharding.kind().name().to_owned();
    };
    format!("{}: {meaning}", sharding.kind().name())
}

/// Into what a dimension is cut: `9 in 6 parts: 4 of 2, 1 of 1, 1 empty`.
fn cut_text(cut: Cut) -> String {
    let (size, parts, width) = (cut.size(), cut.parts(), cut.width());
    if cut.is_even() && size > 0 {
        return format!("{size} in {parts} parts of {width}");
    }
    let mut pieces = Vec::new();
    if size > 0 {
        pieces.push(format!("{} of {width}", cut.whole()));
    }
    if cut.tail() > 0 {
        pieces.push(format!("1 of {}", cut.tail()));
    }
    if cut.empty() > 0 {
        pieces.push(format!("{} empty", cut.empty()));
    }
    format!("{size} in {parts} parts: {}", pieces.join(", "))
}

fn fact(output: &mut impl Write, name: &str, value: impl Display) -> io::Result<()> {
    writeln!(output, "  {name:NAMES$}{value}")
}

/// Columns that the names of the facts take.
const NAMES: usize = 13;
