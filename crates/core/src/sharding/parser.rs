//! Shardings from text.

use std::str::FromStr;

use super::{
    Axis, DimensionSharding, ListBudget, Mesh, NamedSharding, OpMetadata, ShardGroup, Sharding,
    ShardingError, ShardingKind, SubgroupType, TileAssignment,
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

    /// Reads `mesh['a'=2], [{'a'}], manual={'b'}` up to the closing brace.
    fn named(&mut self) -> Result<Sharding, ParseError> {
        let start = self.cursor.offset();
        let mesh = self.mesh()?;
        let mut dimensions = Vec::new();
        let mut lists: [Option<Vec<Axis>>; 3] = [None, None, None];
        let mut metadata = None;
        let mut more = mesh.single_device().is_none();
        if more {
            self.cursor
                .expect(",", "`,` and how the mesh is used behind it")?;
            let whole = || Some((0..mesh.axis_count()).map(Axis::whole).collect());
            match self.cursor.word() {
                "replicated" => more = false,
                "unreduced" => (lists[1], more) = (whole(), false),
                "manual" => (lists[2], more) = (whole(), false),
                _ => dimensions = self.dimensions(&mesh)?,
            }
            if !more {
                let at = self.cursor.offset();
                if self.cursor.take_word()? != "replicated" && mesh.axis_count() == 0 {
                    let found = "axes in use";
                    return Err(self.cursor.error_at(at, ShardingError::NoAxes { found }));
                }
            }
        }
        while !self.cursor.eat("}")? {
            self.cursor.expect(",", "`,` or `}`")?;
            let names = ["replicated", "unreduced", "manual"];
            let word = self.cursor.word();
            let place = names.iter().position(|&name| name == word);
            match place.and_then(|place| lists.get_mut(place)) {
                Some(list) if more && list.is_none() => {
                    self.cursor.take_word()?;
                    self.cursor.expect("=", "`=` behind the kind of axes")?;
                    *list = Some(self.axes(&mesh)?.axes);
                }
                None if word == "metadata" && metadata.is_none() => {
                    metadata = Some(self.metadata()?);
                }
                _ => {
                    let expected = "replicated=, unreduced=, manual= behind dimensions, or metadata=, each once";
                    return Err(self.cursor.unexpected(expected));
                }
            }
        }
        let [replicated, unreduced, manual] = lists.map(Option::unwrap_or_default);
        let named = NamedSharding::with_axes(mesh, dimensions, replicated, unreduced, manual)
            .map_err(|error| self.cursor.error_at(start, error))?;
        Ok(Sharding::from(named).with_metadata(&metadata.unwrap_or_default(), true))
    }

    fn mesh(&mut self) -> Result<Mesh, ParseError> {
        let start = self.cursor.offset();
        if self.cursor.take_word()? == "maximal_mesh" {
            self.cursor.expect("[", "`[` behind maximal_mesh")?;
            self.cursor.expect("device_id=", "`device_id=`")?;
            let device = self.cursor.integer("a device")?;
            self.cursor.expect("]", "`]` behind the device")?;
            return Ok(Mesh::single(device));
        }
        self.cursor.expect("[", "`[` behind mesh")?;
        let (mut names, mut sizes, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
        while !self.cursor.eat("]")? {
            if !names.is_empty() {
                self.cursor.expect(",", "`,` or `]` behind an axis")?;
            }
            offsets.push(self.cursor.offset());
            names.push(self.string("an axis in quotes: 'a'=2")?);
            self.cursor.expect("=", "`=` behind an axis")?;
            sizes.push(self.cursor.integer("the axis's size")?);
        }
        if names.is_empty() {
            return Ok(Mesh::empty());
        }
        // A `, device_ids=` may follow; other commas belong to what comes behind the mesh.
        let rest = self.cursor.rest();
        let behind = rest.strip_prefix(',').map(str::trim_start);
        let devices = if behind.is_some_and(|rest| rest.starts_with("device_ids=")) {
            self.cursor.eat(",")?;
            self.cursor.expect("device_ids=", "`device_ids=`")?;
            self.cursor.expect("(", "`(` behind device_ids=")?;
            if self.cursor.peek() == b'[' {
                let (reshape, permutation) = self.iota()?;
                self.cursor.expect(")", "`)` behind the devices")?;
                TileAssignment::iota(sizes, reshape, permutation)
            } else {
                let devices = self.integers(")", "a device")?.0;
                TileAssignment::list(sizes, devices)
            }
        } else {
            TileAssignment::new(sizes)
        };
        devices
            .and_then(|devices| Mesh::with_devices(names, devices))
            .map_err(|error| {
                let at = match error {
                    ShardingError::Parts { dimension, .. }
                    | ShardingError::Overflow { dimension, .. } => offsets.get(dimension),
                    _ => None,
                };
                self.cursor.error_at(at.copied().unwrap_or(start), error)
            })
    }

    fn dimensions(&mut self, mesh: &Mesh) -> Result<Vec<DimensionSharding>, ParseError> {
        self.cursor.expect(
            "[",
            "`[` before the dimensions' axes, or replicated, unreduced or manual",
        )?;
        let mut dimensions = Vec::new();
        if self.cursor.eat("]")? {
            return Ok(dimensions);
        }
        loop {
            dimensions.push(self.axes(mesh)?);
            if self.cursor.eat("]")? {
                return Ok(dimensions);
            }
            self.cursor.expect(",", "`,` or `]` behind a dimension")?;
        }
    }

    /// Reads `{'a', 'b':(1)2, ?}`.
    fn axes(&mut self, mesh: &Mesh) -> Result<DimensionSharding, ParseError> {
        self.cursor.expect("{", "`{` before axes")?;
        let mut dimension = DimensionSharding::new([], true);
        if self.cursor.eat("}")? {
            return Ok(dimension);
        }
        loop {
            if self.cursor.eat("?")? {
                dimension.is_closed = false;
                self.cursor.expect("}", "`}` behind `?`")?;
                return Ok(dimension);
            }
            dimension.axes.push(self.axis(mesh)?);
            if self.cursor.eat("}")? {
                return Ok(dimension);
            }
            self.cursor.expect(",", "`,` or `}` behind an axis")?;
        }
    }

    fn axis(&mut self, mesh: &Mesh) -> Result<Axis, ParseError> {
        let start = self.cursor.offset();
        let name = self.string("an axis in quotes")?;
        // By its name, else by its number.
        let number = name.parse().ok().filter(|&n: &usize| n < mesh.axis_count());
        let Some(axis) = mesh.axis(&name).or(number.map(Axis::whole)) else {
            let error = ShardingError::NoSuchAxis {
                axis: format!("{name:?}"),
                axes: mesh.axis_count(),
            };
            return Err(self.cursor.error_at(start, error));
        };
        if !self.cursor.eat(":")? {
            return Ok(axis);
        }
        self.cursor
            .expect("(", "`(` before a part of an axis: 'a':(2)4")?;
        let pre_size = self.cursor.integer("the sizes before the part")?;
        self.cursor.expect(")", "`)` before the part's size")?;
        let size = self.cursor.integer("the part's size")?;
        Axis::part(axis.number(), pre_size, size)
            .and_then(|part| part.check(mesh).map(|()| part))
            .map_err(|error| self.cursor.error_at(start, error))
    }

    /// Reads `metadata={op_name="a"}` or `metadata={{op_name="a"}, {op_name="b"}}`.
    fn metadata(&mut self) -> Result<Vec<OpMetadata>, ParseError> {
        self.cursor.take_word()?;
        self.cursor.expect("=", "`=` behind metadata")?;
        self.cursor.expect("{", "`{` behind metadata=")?;
        if self.cursor.peek() != b'{' {
            return Ok(vec![self.one_metadata()?]);
        }
        let mut list = Vec::new();
        loop {
            self.cursor.expect("{", "`{` before metadata")?;
            list.push(self.one_metadata()?);
            if self.cursor.eat("}")? {
                return Ok(list);
            }
            self.cursor.expect(",", "`,` or `}` behind metadata")?;
        }
    }

    fn one_metadata(&mut self) -> Result<OpMetadata, ParseError> {
        let mut metadata = OpMetadata::default();
        let mut seen: Vec<&str> = Vec::new();
        while !self.cursor.eat("}")? {
            let at = self.cursor.offset();
            let name = self.cursor.word();
            if seen.contains(&name) {
                let error = ShardingError::Contradiction {
                    found: "with metadata that says something twice",
                    expected: "it once",
                };
                return Err(self.cursor.error_at(at, error));
            }
            let expected = "what XLA's metadata has, such as op_name=\"add\", or `}`";
            let strings = [
                ("op_type", &mut metadata.op_type),
                ("op_name", &mut metadata.op_name),
                ("source_file", &mut metadata.source_file),
                ("deduplicated_name", &mut metadata.deduplicated_name),
                ("scheduling_name", &mut metadata.scheduling_name),
            ];
            let numbers = [
                ("source_line", &mut metadata.source_line),
                ("source_end_line", &mut metadata.source_end_line),
                ("source_column", &mut metadata.source_column),
                ("source_end_column", &mut metadata.source_end_column),
                ("stack_frame_id", &mut metadata.stack_frame_id),
            ];
            let equals = format!("{name}=");
            if name.is_empty() || !self.cursor.rest().starts_with(&equals) {
                return Err(self.cursor.unexpected(expected));
            }
            if let Some((_, text)) = strings.into_iter().find(|(own, _)| *own == name) {
                self.cursor.eat(&equals)?;
                *text = self.string("a string in quotes")?;
            } else if let Some((_, number)) = numbers.into_iter().find(|(own, _)| *own == name) {
                self.cursor.eat(&equals)?;
                *number = self.small("a number of 32 bits")?;
            } else if name == "profile_type" {
                self.cursor.eat(&equals)?;
                self.cursor.expect("{", "`{` before profile types")?;
                while !self.cursor.eat("}")? {
                    if !metadata.profile_types.is_empty() {
                        self.cursor.expect(",", "`,` or `}`")?;
                    }
                    let profile_type = self.small("a profile type's number")?;
                    metadata.profile_types.push(profile_type);
                }
            } else if name == "metadata_payload" {
                self.cursor.eat(&equals)?;
                metadata.metadata_payload = Some(self.string("a string in quotes")?);
            } else {
                return Err(self.cursor.unexpected(expected));
            }
            seen.push(name);
            if self.cursor.eat(",")? && self.cursor.peek() == b'}' {
                return Err(self.cursor.unexpected(expected));
            }
        }
        Ok(metadata)
    }

    fn small(&mut self, expected: &'static str) -> Result<i32, ParseError> {
        let at = self.cursor.offset();
        let number = self.cursor.integer(expected)?;
        i32::try_from(number).map_err(|_| {
            let error = ShardingError::Contradiction {
                found: "with a number beyond 32 bits in its metadata",
                expected: "one of 32 bits",
            };
            self.cursor.error_at(at, error)
        })
    }

    /// Reads a string in double or single quotes, with C's escapes.
    fn string(&mut self, expected: &'static str) -> Result<String, ParseError> {
        let start = self.cursor.offset();
        let rest = self.cursor.rest();
        let quote = self.cursor.peek();
        if !matches!(quote, b'"' | b'\'') {
            return Err(self.cursor.unexpected(expected));
        }
        let mut bytes = Vec::new();
        let mut at = 1;
        let wrong = |expected| ShardingError::Contradiction {
            found: "with a string that is broken off or no text",
            expected,
        };
        while let Some(&byte) = rest.as_bytes().get(at) {
            at += 1;
            match byte {
                byte if byte == quote => {
                    let text = String::from_utf8(bytes)
                        .map_err(|_| self.cursor.error_at(start, wrong("UTF-8 behind escapes")))?;
                    self.cursor.go_to(start + at)?;
                    return Ok(text);
                }
                b'\\' => match escape(&rest.as_bytes()[at..]) {
                    Some((byte, length)) => {
                        bytes.push(byte);
                        at += length;
                    }
                    None => {
                        let error = wrong("one of C's escapes, such as \\n or \\303");
                        return Err(self.cursor.error_at(start, error));
                    }
                },
                byte => bytes.push(byte),
            }
        }
        Err(self.cursor.error_at(start, wrong("a closing quote")))
    }
}

/// The byte that an escape stands for, and its length behind the backslash.
fn escape(text: &[u8]) -> Option<(u8, usize)> {
    let simple = match *text.first()? {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        byte @ (b'\\' | b'?' | b'\'' | b'"') => byte,
        b'x' | b'X' => {
            let digits = text[1..].iter().take_while(|b| b.is_ascii_hexdigit());
            let length = digits.count().min(2);
            let digits = std::str::from_utf8(&text[1..1 + length]).ok()?;
            return Some((u8::from_str_radix(digits, 16).ok()?, 1 + length));
        }
        b'0'..=b'7' => {
            let digits = text.iter().take_while(|b| (b'0'..=b'7').contains(b));
            let length = digits.count().min(3);
            let digits = std::str::from_utf8(&text[..length]).ok()?;
            return Some((u8::from_str_radix(digits, 8).ok()?, length));
        }
        _ => return None,
    };
    Some((simple, 1))
}
