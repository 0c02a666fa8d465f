//! Shardings as XLA prints them in modules, with metadata.

use std::fmt;

use super::{
    Axis, DimensionSharding, Mesh, NamedSharding, OpMetadata, ShardGroup, Sharding, ShardingKind,
    TileAssignment, Tiling,
};

impl fmt::Display for Sharding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        match &self.kind {
            ShardingKind::Tuple(elements) => {
                for (i, element) in elements.iter().enumerate() {
                    match i {
                        0 => {}
                        i if i % 5 == 0 => write!(f, ", /*index={i}*/")?,
                        _ => f.write_str(", ")?,
                    }
                    // Not deep: no element is a tuple's.
                    write!(f, "{element}")?;
                }
            }
            ShardingKind::Replicated => f.write_str("replicated")?,
            ShardingKind::Manual => f.write_str("manual")?,
            ShardingKind::Unknown => f.write_str("unknown")?,
            ShardingKind::Unreduced => f.write_str("unreduced")?,
            ShardingKind::Maximal(device) => write!(f, "maximal device={device}")?,
            ShardingKind::Tiled(tiling) => write!(f, "{tiling}")?,
            ShardingKind::Named(named) => write!(f, "{named}")?,
        }
        match self.shard_group {
            Some(ShardGroup::As(group)) => write!(f, " shard_as {group}")?,
            Some(ShardGroup::Like(group)) => write!(f, " shard_like {group}")?,
            None => {}
        }
        let is_named = self.named().is_some();
        match (&self.metadata[..], is_named) {
            ([], _) => {}
            ([one], false) => write!(f, " metadata={{{one}}}")?,
            (many, _) => {
                let comma = if is_named { "," } else { "" };
                write!(f, "{comma} metadata={{")?;
                let braced = |f: &mut fmt::Formatter<'_>, one: &OpMetadata| write!(f, "{{{one}}}");
                list(f, many, ", ", braced)?;
                f.write_str("}")?;
            }
        }
        f.write_str("}")
    }
}

impl fmt::Display for TileAssignment {
    /// The sizes and the devices: `[2,2]0,2,1,3` or `[2,2]<=[2,2]T(1,0)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        list(f, self.dimensions(), ",", display)?;
        f.write_str("]")?;
        if self.iota_form().is_some() {
            f.write_str("<=")?;
        }
        print_devices(f, self)
    }
}

/// The devices alone: `0,2,1,3` or `[2,2]T(1,0)`.
fn print_devices(f: &mut fmt::Formatter<'_>, assignment: &TileAssignment) -> fmt::Result {
    let Some((sizes, permutation)) = assignment.iota_form() else {
        for (place, device) in assignment.devices().enumerate() {
            if place > 0 {
                f.write_str(",")?;
            }
            write!(f, "{device}")?;
        }
        return Ok(());
    };
    f.write_str("[")?;
    list(f, sizes, ",", display)?;
    f.write_str("]")?;
    if sizes.len() > 1 {
        f.write_str("T(")?;
        list(f, permutation, ",", display)?;
        f.write_str(")")?;
    }
    Ok(())
}

impl fmt::Display for Tiling {
    /// Without braces: `devices=[2,2]<=[4] last_tile_dim_replicate`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "devices={}", self.assignment())?;
        if self.replicates_on_last_dimension() {
            return f.write_str(" last_tile_dim_replicate");
        }
        let types: Vec<&str> = self.subgroups().map(|subgroup| subgroup.name()).collect();
        if types.is_empty() {
            return Ok(());
        }
        write!(f, " last_tile_dims={{{}}}", types.join(", "))
    }
}

impl fmt::Display for Mesh {
    /// `mesh['a'=2,'b'=4]`, with `device_ids` where they are not in order.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(device) = self.single_device() {
            return write!(f, "maximal_mesh[device_id={device}]");
        }
        f.write_str("mesh[")?;
        let axes: Vec<(&String, &i64)> = self.axis_names().iter().zip(self.axis_sizes()).collect();
        list(f, &axes, ",", |f, (name, size)| {
            print_name(f, name)?;
            write!(f, "={size}")
        })?;
        f.write_str("]")?;
        match self.device_assignment() {
            Some(devices) if !devices.is_simple_iota() => {
                f.write_str(", device_ids=(")?;
                print_devices(f, devices)?;
                f.write_str(")")
            }
            _ => Ok(()),
        }
    }
}

/// A name in quotes; quotes, backslashes and control characters in it are escaped.
pub(super) fn print_name(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    f.write_str("'")?;
    for c in name.chars() {
        match c {
            '\'' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            c if c.is_ascii_control() => write!(f, "\\{:03o}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("'")
}

impl fmt::Display for NamedSharding {
    /// Without braces: `mesh['a'=2], [{'a'}, {?}]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mesh = self.mesh();
        write!(f, "{mesh}")?;
        if mesh.single_device().is_some() {
            return Ok(());
        }
        let lists = [
            ("replicated", self.replicated_axes()),
            ("unreduced", self.unreduced_axes()),
            ("manual", self.manual_axes()),
        ];
        if self.dimensions().is_empty() {
            // One word for the whole.
            if lists.iter().all(|(_, axes)| axes.is_empty()) {
                return f.write_str(", replicated");
            }
            if self.is_unreduced() {
                return f.write_str(", unreduced");
            }
            if self.is_manual() {
                return f.write_str(", manual");
            }
        }
        let axes = |f: &mut fmt::Formatter<'_>, axes: &[Axis]| {
            list(f, axes, ", ", |f, axis| axis.print(mesh, f))
        };
        f.write_str(", [")?;
        list(
            f,
            self.dimensions(),
            ", ",
            |f, dimension: &DimensionSharding| {
                f.write_str("{")?;
                axes(f, dimension.axes())?;
                match (dimension.is_closed(), dimension.axes()) {
                    (true, _) => {}
                    (false, []) => f.write_str("?")?,
                    (false, _) => f.write_str(", ?")?,
                }
                f.write_str("}")
            },
        )?;
        f.write_str("]")?;
        for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            write!(f, ", {name}={{")?;
            axes(f, list)?;
            f.write_str("}")?;
        }
        Ok(())
    }
}

fn display<T: fmt::Display>(f: &mut fmt::Formatter<'_>, item: &T) -> fmt::Result {
    write!(f, "{item}")
}

/// The items, each printed by `print`, with `separator` between them.
fn list<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    separator: &str,
    print: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            f.write_str(separator)?;
        }
        print(f, item)?;
    }
    Ok(())
}
