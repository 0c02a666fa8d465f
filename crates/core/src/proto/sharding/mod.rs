//! `xla.OpSharding`, from bytes and to bytes.

mod metadata;
mod named;

use super::ProtoError;
use super::decode::{message, number, numbers};
use super::wire::{Reader, Writer};
use crate::sharding::{
    ListBudget, OpMetadata, ShardGroup, Sharding, ShardingError, ShardingKind, SubgroupType,
    TileAssignment,
};
use metadata::{read_metadata, write_metadata};
use named::{NamedFields, write_named};

/// Field numbers of `xla.OpSharding`.
mod field {
    pub const TYPE: u64 = 1;
    pub const TILE_ASSIGNMENT_DIMENSIONS: u64 = 3;
    pub const TILE_ASSIGNMENT_DEVICES: u64 = 4;
    pub const TUPLE_SHARDINGS: u64 = 5;
    pub const REPLICATE_ON_LAST_TILE_DIM: u64 = 6;
    pub const METADATA: u64 = 7;
    pub const LAST_TILE_DIMS: u64 = 8;
    pub const IOTA_RESHAPE_DIMS: u64 = 9;
    pub const IOTA_TRANSPOSE_PERM: u64 = 10;
    pub const IS_SHARD_GROUP: u64 = 11;
    pub const SHARD_GROUP_ID: u64 = 12;
    pub const SHARD_GROUP_TYPE: u64 = 13;
    pub const NAMED_SHARDING: u64 = 14;
}

/// Numbers of `xla.OpSharding.Type`.
mod kind {
    pub const REPLICATED: i64 = 0;
    pub const MAXIMAL: i64 = 1;
    pub const TUPLE: i64 = 2;
    pub const OTHER: i64 = 3;
    pub const MANUAL: i64 = 4;
    pub const UNKNOWN: i64 = 5;
    pub const UNREDUCED: i64 = 6;
}

const MESSAGE: &str = "OpSharding";

impl Sharding {
    /// Reads a serialized `xla.OpSharding`. Fields that are not known are passed over, as
    /// through XLA; those of metadata are kept.
    ///
    /// # Errors
    ///
    /// [`ProtoError`] where the bytes are no message of that type, or the message is no valid
    /// sharding.
    ///
    /// ```
    /// use minormajor_core::Sharding;
    ///
    /// let sharding: Sharding = "{devices=[2,2]<=[2,2]T(1,0)}".parse()?;
    /// assert_eq!(Sharding::from_proto_bytes(&sharding.to_proto_bytes())?, sharding);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_proto_bytes(bytes: &[u8]) -> Result<Sharding, ProtoError> {
        let mut budget = ListBudget::default();
        let mut fields = Fields::default();
        fields.read(Reader::new(bytes), true, &mut budget)?;
        fields.build(&mut budget)
    }

    /// The sharding as a serialized `xla.OpSharding`, byte for byte as XLA writes it.
    ///
    /// ```
    /// let sharding: minormajor_core::Sharding = "{maximal device=3}".parse()?;
    /// assert_eq!(sharding.to_proto_bytes(), [0x08, 1, 0x22, 1, 3]);
    /// # Ok::<(), minormajor_core::ParseError>(())
    /// ```
    pub fn to_proto_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        write(&mut writer, self);
        writer.finish()
    }
}

/// The fields of an `OpSharding` as they were read.
#[derive(Default)]
struct Fields {
    kind: i64,
    dimensions: Vec<i64>,
    devices: Vec<i64>,
    tuple: Vec<Sharding>,
    replicates: bool,
    metadata: Vec<OpMetadata>,
    types: Vec<i64>,
    reshape: Vec<i64>,
    permutation: Vec<i64>,
    in_group: bool,
    group: i64,
    group_type: i64,
    named: Option<NamedFields>,
}

impl Fields {
    fn read(
        &mut self,
        mut reader: Reader<'_>,
        outermost: bool,
        budget: &mut ListBudget,
    ) -> Result<(), ProtoError> {
        use field::*;
        while let Some(field) = reader.field()? {
            let field = &field;
            match field.number {
                TYPE => self.kind = i64::from(number(field, MESSAGE)? as i32),
                TILE_ASSIGNMENT_DIMENSIONS => numbers(field, MESSAGE, &mut self.dimensions)?,
                TILE_ASSIGNMENT_DEVICES => numbers(field, MESSAGE, &mut self.devices)?,
                // A tuple's shardings are flat, so this is as deep as it goes.
                TUPLE_SHARDINGS if !outermost => {
                    let found = "a tuple's sharding inside";
                    return Err(ShardingError::InTuple { found }.into());
                }
                TUPLE_SHARDINGS => {
                    let mut element = Fields::default();
                    element.read(message(field, MESSAGE)?, false, budget)?;
                    self.tuple.push(element.build(budget)?);
                }
                REPLICATE_ON_LAST_TILE_DIM => self.replicates = number(field, MESSAGE)? != 0,
                METADATA => self.metadata.push(read_metadata(message(field, MESSAGE)?)?),
                LAST_TILE_DIMS => numbers(field, MESSAGE, &mut self.types)?,
                IOTA_RESHAPE_DIMS => numbers(field, MESSAGE, &mut self.reshape)?,
                IOTA_TRANSPOSE_PERM => numbers(field, MESSAGE, &mut self.permutation)?,
                IS_SHARD_GROUP => self.in_group = number(field, MESSAGE)? != 0,
                SHARD_GROUP_ID => self.group = number(field, MESSAGE)?,
                SHARD_GROUP_TYPE => self.group_type = i64::from(number(field, MESSAGE)? as i32),
                NAMED_SHARDING => {
                    let named = message(field, MESSAGE)?;
                    self.named.get_or_insert_default().read(named)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn build(mut self, budget: &mut ListBudget) -> Result<Sharding, ProtoError> {
        if let Some(mut named) = self.named.take() {
            let metadata = std::mem::take(&mut named.metadata);
            return Ok(Sharding::from(named.build()?).with_metadata(&metadata, true));
        }
        let sharding = match self.kind {
            kind::TUPLE if !self.metadata.is_empty() => {
                return Err(ShardingError::InTuple { found: "metadata" }.into());
            }
            kind::TUPLE => return Ok(Sharding::tuple(self.tuple)?),
            kind::REPLICATED => Sharding::replicated(),
            kind::MANUAL => Sharding::manual(),
            kind::UNKNOWN => Sharding::unknown(),
            kind::UNREDUCED => Sharding::unreduced(),
            kind::MAXIMAL => match self.devices[..] {
                [device] => Sharding::maximal(device),
                _ => {
                    return Err(ShardingError::DeviceCount {
                        found: self.devices.len() as i64,
                        tiles: 1,
                    }
                    .into());
                }
            },
            kind::OTHER => self.build_tiled(budget)?,
            number => {
                return Err(ProtoError::Number {
                    what: "kind of sharding",
                    number,
                });
            }
        };
        let group = match self.group_type {
            _ if !self.in_group => None,
            0 => Some(ShardGroup::As(self.group)),
            _ => Some(ShardGroup::Like(self.group)),
        };
        let sharding = sharding.with_metadata(&self.metadata, true);
        Ok(sharding.with_shard_group(group)?)
    }

    fn build_tiled(&mut self, budget: &mut ListBudget) -> Result<Sharding, ProtoError> {
        let was_iota = !self.reshape.is_empty();
        if was_iota && !self.devices.is_empty() {
            return Err(ShardingError::Contradiction {
                found: "a list of devices and an iota",
                expected: "one of them",
            }
            .into());
        }
        // On one device, XLA takes it for replicated.
        if self.reshape.iter().all(|&size| size == 1) && (was_iota || self.devices.len() == 1) {
            return Ok(Sharding::replicated());
        }
        let dimensions = std::mem::take(&mut self.dimensions);
        let devices = std::mem::take(&mut self.devices);
        let assignment = if was_iota {
            let reshape = std::mem::take(&mut self.reshape);
            let permutation = self.permutation.iter();
            TileAssignment::iota(
                dimensions,
                reshape,
                permutation.map(|&d| i64::from(d as i32)),
            )?
        } else {
            TileAssignment::list(dimensions, devices)?
        };
        if self.replicates && !self.types.is_empty() {
            return Err(ShardingError::Contradiction {
                found: "in subgroups said twice",
                expected: "`last_tile_dims` or `replicate_on_last_tile_dim`",
            }
            .into());
        }
        let types = match self.replicates {
            true => vec![SubgroupType::Replicated],
            false => self
                .types
                .iter()
                .map(|&number| subgroup(i64::from(number as i32)))
                .collect::<Result<_, _>>()?,
        };
        let sharding = Sharding::subgroups(assignment, &types)?;
        budget.spend(&sharding, was_iota)?;
        Ok(sharding)
    }
}

/// The number of a subgroup's type.
fn subgroup_number(subgroup: SubgroupType) -> i64 {
    match subgroup {
        SubgroupType::Replicated => kind::REPLICATED,
        SubgroupType::Maximal => kind::MAXIMAL,
        SubgroupType::Manual => kind::MANUAL,
        SubgroupType::Unreduced => kind::UNREDUCED,
    }
}

fn subgroup(number: i64) -> Result<SubgroupType, ProtoError> {
    let mut all = SubgroupType::ALL.into_iter();
    all.find(|&subgroup| subgroup_number(subgroup) == number)
        .ok_or(ProtoError::Number {
            what: "type of a subgroup",
            number,
        })
}

fn write(writer: &mut Writer, sharding: &Sharding) {
    use field::*;
    if let Some(named) = sharding.named() {
        let begin = writer.len();
        write_named(writer, named, sharding.metadata());
        return writer.enclose(NAMED_SHARDING, begin);
    }
    if let Some(group) = sharding.shard_group() {
        let (group, group_type) = match group {
            ShardGroup::As(group) => (group, 0),
            ShardGroup::Like(group) => (group, 1),
        };
        writer.number(SHARD_GROUP_TYPE, group_type);
        writer.number(SHARD_GROUP_ID, group);
        writer.number(IS_SHARD_GROUP, 1);
    }
    if let ShardingKind::Tiled(tiling) = sharding.kind()
        && let Some((sizes, permutation)) = tiling.assignment().iota_form()
    {
        let permutation = permutation.iter().map(|&d| d as i64);
        writer.packed(IOTA_TRANSPOSE_PERM, permutation);
        writer.packed(IOTA_RESHAPE_DIMS, sizes.iter().copied());
    }
    if let ShardingKind::Tiled(tiling) = sharding.kind()
        && !tiling.replicates_on_last_dimension()
    {
        let types: Vec<i64> = tiling.subgroups().map(subgroup_number).collect();
        writer.packed(LAST_TILE_DIMS, types.into_iter());
    }
    for metadata in sharding.metadata().iter().rev() {
        let begin = writer.len();
        write_metadata(writer, metadata);
        writer.enclose(METADATA, begin);
    }
    let kind = match sharding.kind() {
        ShardingKind::Replicated | ShardingKind::Named(_) => kind::REPLICATED,
        ShardingKind::Manual => kind::MANUAL,
        ShardingKind::Unknown => kind::UNKNOWN,
        ShardingKind::Unreduced => kind::UNREDUCED,
        ShardingKind::Maximal(device) => {
            writer.packed(TILE_ASSIGNMENT_DEVICES, [*device].into_iter());
            kind::MAXIMAL
        }
        ShardingKind::Tuple(elements) => {
            for element in elements.iter().rev() {
                let begin = writer.len();
                // No element is a tuple's.
                write(writer, element);
                writer.enclose(TUPLE_SHARDINGS, begin);
            }
            kind::TUPLE
        }
        ShardingKind::Tiled(tiling) => {
            let assignment = tiling.assignment();
            writer.number(
                REPLICATE_ON_LAST_TILE_DIM,
                i64::from(tiling.replicates_on_last_dimension()),
            );
            if assignment.iota_form().is_none() {
                let devices: Vec<i64> = assignment.devices().collect();
                writer.packed(TILE_ASSIGNMENT_DEVICES, devices.into_iter());
            }
            let dimensions = assignment.dimensions().iter().copied();
            writer.packed(TILE_ASSIGNMENT_DIMENSIONS, dimensions);
            kind::OTHER
        }
    };
    writer.number(TYPE, kind);
}
