//! `xla.NamedShardingProto` and its mesh, from bytes and to bytes.

use super::metadata::{read_metadata, string, write_metadata};
use crate::proto::ProtoError;
use crate::proto::decode::{message, number, numbers};
use crate::proto::wire::{Reader, Writer};
use crate::sharding::{
    Axis, DimensionSharding, Mesh, NamedSharding, OpMetadata, ShardingError, TileAssignment,
};

/// The fields of a `NamedShardingProto`.
#[derive(Default)]
pub(super) struct NamedFields {
    axes: Vec<(String, i64)>,
    devices: Vec<i64>,
    reshape: Vec<i64>,
    permutation: Vec<i64>,
    dimensions: Vec<DimensionSharding>,
    /// Replicated, unreduced, manual.
    lists: [Vec<Axis>; 3],
    pub metadata: Vec<OpMetadata>,
}

impl NamedFields {
    pub fn read(&mut self, mut reader: Reader<'_>) -> Result<(), ProtoError> {
        const MESSAGE: &str = "NamedShardingProto";
        while let Some(field) = reader.field()? {
            let list = match field.number {
                4 => 0,
                5 => 1,
                7 => 2,
                1 | 2 | 3 | 6 => {
                    let inside = message(&field, MESSAGE)?;
                    match field.number {
                        2 => self.read_mesh(inside)?,
                        3 => self.dimensions.push(read_dimension(inside)?),
                        6 => self.metadata.push(read_metadata(inside)?),
                        _ => {}
                    }
                    continue;
                }
                8 if number(&field, MESSAGE)? as i32 != 0 => {
                    return Err(ProtoError::Number {
                        what: "reduction of a named sharding that has a text",
                        number: number(&field, MESSAGE)?,
                    });
                }
                _ => continue,
            };
            self.lists[list].push(read_axis(message(&field, MESSAGE)?)?);
        }
        Ok(())
    }

    fn read_mesh(&mut self, mut reader: Reader<'_>) -> Result<(), ProtoError> {
        const MESSAGE: &str = "MeshProto";
        while let Some(field) = reader.field()? {
            match field.number {
                1 => {
                    let mut axis = (String::new(), 0);
                    let mut inside = message(&field, MESSAGE)?;
                    while let Some(field) = inside.field()? {
                        match field.number {
                            1 => axis.0 = string(&field, "MeshAxis")?,
                            2 => axis.1 = number(&field, "MeshAxis")?,
                            _ => {}
                        }
                    }
                    self.axes.push(axis);
                }
                2 => numbers(&field, MESSAGE, &mut self.devices)?,
                3 => {
                    let mut inside = message(&field, MESSAGE)?;
                    while let Some(field) = inside.field()? {
                        match field.number {
                            1 => numbers(&field, "IotaTransform", &mut self.reshape)?,
                            2 => numbers(&field, "IotaTransform", &mut self.permutation)?,
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub fn build(self) -> Result<NamedSharding, ProtoError> {
        let (names, sizes): (Vec<String>, Vec<i64>) = self.axes.into_iter().unzip();
        let mesh = if names.is_empty() {
            match self.devices[..] {
                [] => Mesh::empty(),
                [device] => Mesh::single(device),
                _ => {
                    return Err(ShardingError::DeviceCount {
                        found: self.devices.len() as i64,
                        tiles: 1,
                    }
                    .into());
                }
            }
        } else {
            let devices = if !self.devices.is_empty() {
                TileAssignment::list(sizes, self.devices)?
            } else if !self.reshape.is_empty() {
                TileAssignment::iota(sizes, self.reshape, self.permutation)?
            } else {
                TileAssignment::new(sizes)?
            };
            Mesh::with_devices(names, devices)?
        };
        let [replicated, unreduced, manual] = self.lists;
        Ok(NamedSharding::with_axes(
            mesh,
            self.dimensions,
            replicated,
            unreduced,
            manual,
        )?)
    }
}

fn read_dimension(mut reader: Reader<'_>) -> Result<DimensionSharding, ProtoError> {
    const MESSAGE: &str = "DimensionSharding";
    let (mut axes, mut is_closed) = (Vec::new(), false);
    while let Some(field) = reader.field()? {
        match field.number {
            1 => axes.push(read_axis(message(&field, MESSAGE)?)?),
            2 => is_closed = number(&field, MESSAGE)? != 0,
            _ => {}
        }
    }
    Ok(DimensionSharding::new(axes, is_closed))
}

fn read_axis(mut reader: Reader<'_>) -> Result<Axis, ProtoError> {
    const MESSAGE: &str = "AxisRefProto";
    let (mut axis, mut part) = (0, None);
    while let Some(field) = reader.field()? {
        match field.number {
            1 => axis = number(&field, MESSAGE)?,
            2 => {
                let (pre_size, size) = part.get_or_insert((0, 0));
                let mut inside = message(&field, MESSAGE)?;
                while let Some(field) = inside.field()? {
                    match field.number {
                        1 => *pre_size = number(&field, "SubAxis")?,
                        2 => *size = number(&field, "SubAxis")?,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    let number = usize::try_from(axis).map_err(|_| ShardingError::NoSuchAxis {
        axis: axis.to_string(),
        axes: 0,
    })?;
    Ok(match part {
        Some((pre_size, size)) => Axis::part(number, pre_size, size)?,
        None => Axis::whole(number),
    })
}

/// Writes the fields, the last first.
pub(super) fn write_named(writer: &mut Writer, named: &NamedSharding, metadata: &[OpMetadata]) {
    let axes = |writer: &mut Writer, number: u64, axes: &[Axis]| {
        for &axis in axes.iter().rev() {
            let begin = writer.len();
            write_axis(writer, axis);
            writer.enclose(number, begin);
        }
    };
    axes(writer, 7, named.manual_axes());
    for one in metadata.iter().rev() {
        let begin = writer.len();
        write_metadata(writer, one);
        writer.enclose(6, begin);
    }
    axes(writer, 5, named.unreduced_axes());
    axes(writer, 4, named.replicated_axes());
    for dimension in named.dimensions().iter().rev() {
        let begin = writer.len();
        writer.number(2, i64::from(dimension.is_closed()));
        axes(writer, 1, dimension.axes());
        writer.enclose(3, begin);
    }
    let begin = writer.len();
    write_mesh(writer, named.mesh());
    writer.enclose(2, begin);
}

fn write_mesh(writer: &mut Writer, mesh: &Mesh) {
    if let Some(device) = mesh.single_device() {
        return writer.packed(2, [device].into_iter());
    }
    if let Some(devices) = mesh.device_assignment() {
        match devices.iota_form() {
            // 0, 1, 2 and so on.
            Some((sizes, _)) if sizes.len() == 1 => {}
            Some((sizes, permutation)) => {
                let begin = writer.len();
                writer.packed(2, permutation.iter().map(|&d| d as i64));
                writer.packed(1, sizes.iter().copied());
                writer.enclose(3, begin);
            }
            None => {
                let devices: Vec<i64> = devices.devices().collect();
                writer.packed(2, devices.into_iter());
            }
        }
    }
    for (name, &size) in mesh.axis_names().iter().zip(mesh.axis_sizes()).rev() {
        let begin = writer.len();
        writer.number(2, size);
        if !name.is_empty() {
            writer.bytes(1, name.as_bytes());
        }
        writer.enclose(1, begin);
    }
}

fn write_axis(writer: &mut Writer, axis: Axis) {
    if let Some((pre_size, size)) = axis.sub_axis() {
        let begin = writer.len();
        writer.number(2, size);
        writer.number(1, pre_size);
        writer.enclose(2, begin);
    }
    writer.number(1, axis.number() as i64);
}
