//! Shardings by a mesh's named axes, from text.

use super::Parser;
use crate::sharding::{
    Axis, DimensionSharding, Mesh, NamedSharding, Sharding, ShardingError, TileAssignment,
};
use crate::text::ParseError;

impl Parser<'_> {
    /// Reads `mesh['a'=2], [{'a'}], manual={'b'}` up to the closing brace.
    pub(super) fn named(&mut self) -> Result<Sharding, ParseError> {
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
}
