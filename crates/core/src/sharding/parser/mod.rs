//! Shardings from text.

mod metadata;
mod named;
mod quoted;

use std::str::FromStr;

use super::{
    ListBudget, ShardGroup, Sharding, ShardingError, ShardingKind, SubgroupType, TileAssignment,
};
use crate::text::{Cursor, ParseError};

impl FromStr for Sharding {
    type Err = ParseError;

    /// Reads a sharding with its braces, in any of XLA's forms.
    ///
    /// Lists of devices are as long as they stand there. Where groups of an iota's devices can
    /// only be told by a list, that is made, of a bounded length.
    fn from_str(text: &str) -> Result<Sharding, ParseError> {
        let mut parser = Parser {
            cursor: Cursor::new(text)?,
            budget: ListBudget::default(),
        };
        let sharding = parser.sharding()?;
        if !parser.cursor.at_end() {
            return Err(parser.cursor.unexpected("the end of the sharding"));
        }
        Ok(sharding)
    }
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    budget: ListBudget,
}

/// Devices as they stand in a text.
struct DeviceText {
    /// Where each number stands: the sizes, then the devices or what stands behind `<=`.
    sizes: Vec<usize>,
    devices: Vec<usize>,
    assignment: TileAssignment,
    /// Whether the text gave an iota.
    is_iota: bool,
}

const KINDS: &str = "replicated, manual, unknown, unreduced, maximal, devices=, mesh, `}`";

impl Parser<'_> {
    fn sharding(&mut self) -> Result<Sharding, ParseError> {
        let cursor = &mut self.cursor;
        cursor.expect("{", "`{` before a sharding such as {replicated}")?;
        match cursor.peek() {
            b'}' => {
                cursor.eat("}")?;
                Ok(Sharding::of(ShardingKind::Tuple(Vec::new())))
            }
            b'{' => {
                let mut elements = Vec::new();
                loop {
                    self.cursor
                        .expect("{", "`{` before an element's sharding")?;
                    elements.push(self.behind_brace()?);
                    if !self.cursor.eat(",")? {
                        break;
                    }
                }
                self.cursor
                    .expect("}", "`,` or `}` behind an element's sharding")?;
                Ok(Sharding::of(ShardingKind::Tuple(elements)))
            }
            _ => self.behind_brace(),
        }
    }

    /// One array's sharding whose `{` is read.
    fn behind_brace(&mut self) -> Result<Sharding, ParseError> {
        match self.cursor.word() {
            "mesh" | "maximal_mesh" => self.named(),
            _ => self.unnamed(),
        }
    }

    fn unnamed(&mut self) -> Result<Sharding, ParseError> {
        let start = self.cursor.offset();
        let mut kind: Option<ShardingKind> = None;
        let mut devices: Option<DeviceText> = None;
        let mut types: Option<Vec<SubgroupType>> = None;
        let mut group = None;
        let mut metadata = None;
        while !self.cursor.eat("}")? {
            let at = self.cursor.offset();
            let once = |found, expected| ShardingError::Contradiction { found, expected };
            let word = self.cursor.word();
            let said = match word {
                "replicated" => Some(ShardingKind::Replicated),
                "manual" => Some(ShardingKind::Manual),
                "unknown" => Some(ShardingKind::Unknown),
                "unreduced" => Some(ShardingKind::Unreduced),
                "maximal" => Some(ShardingKind::Maximal(0)),
                _ => None,
            };
            match (word, said) {
                (_, Some(said)) => {
                    if kind.is_some() || devices.is_some() {
                        let error = once("of two kinds", "one");
                        return Err(self.cursor.error_at(at, error));
                    }
                    self.cursor.take_word()?;
                    kind = Some(match said {
                        ShardingKind::Maximal(_) => {
                            self.cursor.expect("device=", "`device=` behind maximal")?;
                            ShardingKind::Maximal(self.cursor.integer("a device")?)
                        }
                        said => said,
                    });
                }
                ("devices", _) => {
                    if kind.is_some() || devices.is_some() {
                        let error = once("of two kinds", "one");
                        return Err(self.cursor.error_at(at, error));
                    }
                    self.cursor.expect("devices=", "`=` behind devices")?;
                    devices = Some(self.devices()?);
                }
                ("last_tile_dim_replicate" | "last_tile_dims", _) => {
                    if types.is_some() {
                        let error = once("in subgroups twice", "`last_tile_dims` once");
                        return Err(self.cursor.error_at(at, error));
                    }
                    types = Some(self.subgroups()?);
                }
                ("shard_as" | "shard_like", _) => {
                    if group.is_some() {
                        let error = once("in two shard groups", "one");
                        return Err(self.cursor.error_at(at, error));
                    }
                    self.cursor.take_word()?;
                    let number = self.cursor.integer("the shard group's number")?;
                    group = Some(match word {
                        "shard_as" => ShardGroup::As(number),
                        _ => ShardGroup::Like(number),
                    });
                }
                ("metadata", _) if metadata.is_none() => metadata = Some(self.metadata()?),
                _ => return Err(self.cursor.unexpected(KINDS)),
            }
        }
        let sharding = match (kind, devices, types) {
            (Some(kind), _, None) => Sharding::of(kind),
            (None, Some(devices), types) => self.tiled(start, devices, types)?,
            (None, None, _) => {
                let error = ShardingError::Contradiction {
                    found: "of no kind",
                    expected: KINDS,
                };
                return Err(self.cursor.error_at(start, error));
            }
            (Some(_), _, Some(_)) => {
                let error = ShardingError::Contradiction {
                    found: "in subgroups without devices",
                    expected: "`devices=` beside them",
                };
                return Err(self.cursor.error_at(start, error));
            }
        };
        let sharding = sharding.with_metadata(&metadata.unwrap_or_default(), true);
        sharding
            .with_shard_group(group)
            .map_err(|error| self.cursor.error_at(start, error))
    }

    fn tiled(
        &mut self,
        start: usize,
        devices: DeviceText,
        types: Option<Vec<SubgroupType>>,
    ) -> Result<Sharding, ParseError> {
        let was_iota = devices.is_iota;
        Sharding::subgroups(devices.assignment, &types.unwrap_or_default())
            .and_then(|sharding| {
                self.budget.spend(&sharding, was_iota)?;
                Ok(sharding)
            })
            .map_err(|error| self.cursor.error_at(start, error))
    }

    /// Reads `[2,2]0,1,2,3` or `[2,2]<=[2,2]T(1,0)`.
    fn devices(&mut self) -> Result<DeviceText, ParseError> {
        let start = self.cursor.offset();
        self.cursor.expect("[", "`[` before the numbers of parts")?;
        let (parts, sizes) = self.integers("]", "a number of parts")?;
        let mut text = DeviceText {
            sizes,
            devices: Vec::new(),
            assignment: TileAssignment::new([1]).map_err(|e| self.cursor.error(e))?,
            is_iota: self.cursor.eat("<=")?,
        };
        let built = if text.is_iota {
            let (reshape, permutation) = self.iota()?;
            TileAssignment::iota(parts, reshape, permutation)
        } else {
            let mut devices = Vec::new();
            loop {
                text.devices.push(self.cursor.offset());
                devices.push(self.cursor.integer("a device, or `<=` before an iota")?);
                if !self.cursor.eat(",")? {
                    break;
                }
            }
            if devices.len() == 1 {
                return Err(self.cursor.error_at(start, ShardingError::SingleDevice));
            }
            TileAssignment::list(parts, devices)
        };
        text.assignment = built.map_err(|error| {
            let at = match error {
                ShardingError::Parts { dimension, .. }
                | ShardingError::Overflow { dimension, .. } => text.sizes.get(dimension),
                ShardingError::RepeatedDevice { place, .. }
                | ShardingError::NegativeDevice { place, .. } => text.devices.get(place),
                _ => None,
            };
            self.cursor.error_at(at.copied().unwrap_or(start), error)
        })?;
        Ok(text)
    }

    /// Reads `[2,2]T(1,0)`, an iota's sizes and permutation.
    fn iota(&mut self) -> Result<(Vec<i64>, Vec<i64>), ParseError> {
        self.cursor.expect("[", "`[` before an iota's sizes")?;
        let (sizes, _) = self.integers("]", "a size")?;
        let mut permutation = vec![0];
        if sizes.len() > 1 {
            self.cursor
                .expect("T", "`T(` and a permutation behind several sizes")?;
            self.cursor.expect("(", "`(` behind T")?;
            permutation = self.integers(")", "a number of the permutation")?.0;
        }
        Ok((sizes, permutation))
    }

    /// Integers up to a closing bracket, and where each stands.
    fn integers(
        &mut self,
        close: &'static str,
        expected: &'static str,
    ) -> Result<(Vec<i64>, Vec<usize>), ParseError> {
        let (mut numbers, mut offsets) = (Vec::new(), Vec::new());
        loop {
            offsets.push(self.cursor.offset());
            numbers.push(self.cursor.integer(expected)?);
            if self.cursor.eat(close)? {
                return Ok((numbers, offsets));
            }
            self.cursor.expect(",", "`,` or the closing bracket")?;
        }
    }

    /// Reads `last_tile_dim_replicate` or `last_tile_dims={manual, replicated}`.
    fn subgroups(&mut self) -> Result<Vec<SubgroupType>, ParseError> {
        if self.cursor.take_word()? == "last_tile_dim_replicate" {
            return Ok(vec![SubgroupType::Replicated]);
        }
        self.cursor.expect("=", "`=` behind last_tile_dims")?;
        self.cursor.expect("{", "`{` before types of subgroups")?;
        let mut types = Vec::new();
        if self.cursor.eat("}")? {
            return Ok(types);
        }
        loop {
            let word = self.cursor.word();
            let known = SubgroupType::ALL.into_iter().find(|t| t.name() == word);
            types.push(known.ok_or_else(|| {
                self.cursor
                    .unexpected("a type of subgroup: replicated, manual, unreduced or maximal")
            })?);
            self.cursor.take_word()?;
            if self.cursor.eat("}")? {
                return Ok(types);
            }
            self.cursor
                .expect(",", "`,` or `}` behind a type of subgroup")?;
        }
    }
}
