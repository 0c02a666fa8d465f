//! What can be wrong with a sharding, or with a question to one.

use crate::error::ShapeError;
use crate::shape::ShapeIndex;

/// Why a sharding can't be built, does not fit a shape, or can't answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShardingError {
    /// A tile assignment without dimensions.
    #[error("the tile assignment has no dimensions; expected at least one")]
    NoDimensions,
    /// A dimension in fewer than one part.
    #[error("dimension {dimension} is cut into {parts} parts; expected 1 or more")]
    #[allow(missing_docs)]
    Parts { dimension: usize, parts: i64 },
    /// More tiles than 63 bits count.
    #[error("dimension {dimension} takes the number of {what} beyond 2^63 - 1")]
    #[allow(missing_docs)]
    Overflow {
        dimension: usize,
        what: &'static str,
    },
    /// As many devices as tiles were expected.
    #[error("{found} devices for {tiles} tiles; expected one for each")]
    #[allow(missing_docs)]
    DeviceCount { found: i64, tiles: i64 },
    /// A device number below 0 in a tile assignment.
    #[error("device {device} is negative; expected 0 or more")]
    #[allow(missing_docs)]
    NegativeDevice { place: usize, device: i64 },
    /// A device that stands for two tiles.
    #[error("device {device} stands in the list already; expected each once")]
    #[allow(missing_docs)]
    RepeatedDevice { place: usize, device: i64 },
    /// The devices have no iota form, and are too many to be listed.
    #[error("{devices} devices in an order that only a list can give; expected {limit} at most")]
    #[allow(missing_docs)]
    TooManyToList { devices: i64, limit: i64 },
    /// More subgroups than dimensions.
    #[error(
        "{found} subgroups for a tile assignment of {rank} dimensions; expected at most one for each"
    )]
    #[allow(missing_docs)]
    Subgroups { found: usize, rank: usize },
    /// As many names as dimensions were expected.
    #[error("{names} axis names for a mesh of {axes} axes; expected one for each")]
    #[allow(missing_docs)]
    AxisNames { names: usize, axes: usize },
    /// Two axes of one name.
    #[error("two axes of the mesh are called {name:?}; expected a name for each")]
    #[allow(missing_docs)]
    RepeatedAxis { name: String },
    /// A mesh whose device numbers are not 0, 1, 2 and so on, each once.
    #[error(
        "the mesh has {devices} devices, and {found} is one; expected each number from 0 to below {devices} once"
    )]
    #[allow(missing_docs)]
    MeshDevice { found: i64, devices: i64 },
    /// An axis that the mesh does not have.
    #[error("axis {axis} is not in the mesh, which has {axes} axes")]
    #[allow(missing_docs)]
    NoSuchAxis { axis: String, axes: usize },
    /// A part of an axis that it does not have.
    #[error(
        "({pre_size}){size} is no part of axis {axis} of size {axis_size}; expected a size from 2 to below it, and a product that divides it"
    )]
    #[allow(missing_docs)]
    SubAxis {
        axis: usize,
        pre_size: i64,
        size: i64,
        axis_size: i64,
    },
    /// Two axes that share devices, or whose parts do not line up.
    #[error(
        "axes {first} and {second} overlap or do not line up; expected each part of an axis once"
    )]
    #[allow(missing_docs)]
    Overlap { first: String, second: String },
    /// Two neighbours that are one part of an axis.
    #[error("axes {first} and {second} are one part of an axis; expected it as one")]
    #[allow(missing_docs)]
    Mergeable { first: String, second: String },
    /// Axes out of order.
    #[error("the {what} axes are not in the mesh's order: {second} stands behind {first}")]
    #[allow(missing_docs)]
    AxisOrder {
        what: &'static str,
        first: String,
        second: String,
    },
    /// A mesh of one device, or of none, with axes in use.
    #[error("a mesh without axes shards nothing; expected no {found}")]
    #[allow(missing_docs)]
    NoAxes { found: &'static str },
    /// Something that only one array's sharding has, asked of a tuple's.
    #[error("the sharding is that of a tuple; expected that of an array")]
    Tuple,
    /// Something that only a tuple's sharding has.
    #[error("the sharding is not that of a tuple")]
    NotATuple,
    /// Something that a tuple's sharding can't have: its elements have it.
    #[error("a tuple's sharding has {found}; expected it in the elements")]
    #[allow(missing_docs)]
    InTuple { found: &'static str },
    /// A sharding that does not say which tile a device has.
    #[error("a sharding that is {found} gives no tiles to devices")]
    #[allow(missing_docs)]
    NoTiles { found: &'static str },
    /// An array of another rank than the tile assignment's.
    #[error("the sharding cuts {tiled} dimensions, the array has {rank}")]
    #[allow(missing_docs)]
    Rank { tiled: usize, rank: usize },
    /// A device that the sharding does not use.
    #[error("device {device} has no tile")]
    #[allow(missing_docs)]
    NoSuchDevice { device: i64 },
    /// A tile that the assignment does not have.
    #[error("there is no tile {tile:?}: expected indices below {tiles:?}")]
    #[allow(missing_docs)]
    NoSuchTile { tile: Vec<i64>, tiles: Vec<i64> },
    /// An element that the array does not have.
    #[error("the array has no element {index:?}: expected indices below {sizes:?}")]
    #[allow(missing_docs)]
    NoSuchElement { index: Vec<i64>, sizes: Vec<i64> },
    /// A device number that the machine does not have.
    #[error("device {device} of {devices}; expected 0 to below {devices}")]
    #[allow(missing_docs)]
    DeviceRange { device: i64, devices: i64 },
    /// A sharding over another number of devices than the machine has.
    #[error("the sharding is over {found} devices; expected {devices}")]
    #[allow(missing_docs)]
    Devices { found: i64, devices: i64 },
    /// A tile assignment of one device, which says less than it could.
    #[error(
        "the tile assignment has a single device; expected {{replicated}} or {{maximal device=N}}"
    )]
    SingleDevice,
    /// As many shardings as leaves were expected.
    #[error("{found} shardings for {leaves} leaves; expected one for each")]
    #[allow(missing_docs)]
    Leaves { found: usize, leaves: usize },
    /// A tuple's sharding and another shape, or the other way around.
    #[error("the sharding is that of {sharding}, the shape is {shape}")]
    #[allow(missing_docs)]
    Kind {
        sharding: &'static str,
        shape: &'static str,
    },
    /// An element of a tuple whose sharding does not fit.
    #[error("element {index}: {error}")]
    #[allow(missing_docs)]
    Element {
        index: ShapeIndex,
        error: Box<ShardingError>,
    },
    /// What a text or proto says twice, or beside what excludes it.
    #[error("the sharding is {found}; expected {expected}")]
    #[allow(missing_docs)]
    Contradiction {
        found: &'static str,
        expected: &'static str,
    },
    /// The shape, or a permutation, is at fault.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}
