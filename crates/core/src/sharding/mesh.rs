//! Devices with named axes, and parts of axes.

use std::fmt;

use super::printer::print_name;
use super::{ShardingError, TileAssignment};

/// Devices as an array whose dimensions have names: `mesh['data'=2,'model'=4]`.
///
/// A mesh without axes is empty (`mesh[]`) or is one device (`maximal_mesh[device_id=3]`). Any
/// other has the devices 0, 1, 2 and so on, each once.
///
/// ```
/// use minormajor_core::sharding::Mesh;
///
/// let mesh = Mesh::new([("data", 2), ("model", 4)])?;
/// assert_eq!(mesh.to_string(), "mesh['data'=2,'model'=4]");
/// assert_eq!((mesh.axis_count(), mesh.device_count()), (2, 8));
/// # Ok::<(), minormajor_core::sharding::ShardingError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mesh {
    names: Vec<String>,
    devices: MeshDevices,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum MeshDevices {
    /// No axes and no devices.
    None,
    /// No axes.
    One(i64),
    /// One dimension for each axis.
    Axes(TileAssignment),
}

impl Mesh {
    /// The mesh without axes and devices.
    pub fn empty() -> Mesh {
        Mesh {
            names: Vec::new(),
            devices: MeshDevices::None,
        }
    }

    /// The mesh of a single device.
    pub fn single(device: i64) -> Mesh {
        Mesh {
            names: Vec::new(),
            devices: MeshDevices::One(device),
        }
    }

    /// Axes with their sizes, over the devices 0, 1, 2 and so on.
    ///
    /// # Errors
    ///
    /// No axes, a size below 1, a product beyond 63 bits, a name that stands twice.
    pub fn new<N: Into<String>>(
        axes: impl IntoIterator<Item = (N, i64)>,
    ) -> Result<Mesh, ShardingError> {
        let (names, sizes): (Vec<String>, Vec<i64>) = axes
            .into_iter()
            .map(|(name, size)| (name.into(), size))
            .unzip();
        Mesh::with_devices(names, TileAssignment::new(sizes)?)
    }

    /// Axes over an array of devices, one for each dimension.
    ///
    /// # Errors
    ///
    /// Another number of names than of dimensions, a name that stands twice, devices that are
    /// not 0, 1, 2 and so on in some order.
    pub fn with_devices(
        names: impl IntoIterator<Item = impl Into<String>>,
        devices: TileAssignment,
    ) -> Result<Mesh, ShardingError> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        if names.len() != devices.rank() {
            return Err(ShardingError::AxisNames {
                names: names.len(),
                axes: devices.rank(),
            });
        }
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(ShardingError::RepeatedAxis {
                name: pair[0].clone(),
            });
        }
        let count = devices.device_count();
        // A list is as long as it was given; each device stands in it once.
        if devices.iota_form().is_none()
            && let Some(found) = devices.devices().find(|&device| device >= count)
        {
            return Err(ShardingError::MeshDevice {
                found,
                devices: count,
            });
        }
        // 0, 1, 2 and so on are never a list.
        let in_order = devices.iota_form().is_none() && devices.devices().is_sorted();
        let devices = if in_order {
            TileAssignment::new(devices.dimensions())?
        } else {
            devices
        };
        Ok(Mesh {
            names,
            devices: MeshDevices::Axes(devices),
        })
    }

    /// The axes' names.
    pub fn axis_names(&self) -> &[String] {
        &self.names
    }

    /// The axes' sizes.
    pub fn axis_sizes(&self) -> &[i64] {
        self.device_assignment()
            .map_or(&[], TileAssignment::dimensions)
    }

    /// The number of axes.
    #[doc(alias = "num_axes")]
    pub fn axis_count(&self) -> usize {
        self.names.len()
    }

    /// The number of devices.
    pub fn device_count(&self) -> i64 {
        match &self.devices {
            MeshDevices::None => 0,
            MeshDevices::One(_) => 1,
            MeshDevices::Axes(devices) => devices.device_count(),
        }
    }

    /// The device, where the mesh is a single one.
    #[doc(alias = "IsSingleDevice", alias = "IsMaximal")]
    pub fn single_device(&self) -> Option<i64> {
        match self.devices {
            MeshDevices::One(device) => Some(device),
            _ => None,
        }
    }

    /// The devices, a dimension for each axis; `None` without axes.
    pub fn device_assignment(&self) -> Option<&TileAssignment> {
        match &self.devices {
            MeshDevices::Axes(devices) => Some(devices),
            _ => None,
        }
    }

    /// Whether both have the same devices in the same array, whatever the axes are called.
    #[doc(alias = "DeviceAssignmentEquals")]
    pub fn same_devices(&self, other: &Mesh) -> bool {
        self.devices == other.devices
    }

    /// The axis of this name.
    pub fn axis(&self, name: &str) -> Option<Axis> {
        let axis = self.names.iter().position(|own| own == name)?;
        Some(Axis::whole(axis))
    }

    /// Whether these are all axes in their order, those of size 1 aside.
    #[doc(alias = "ContainsAllMeshAxesInOrder")]
    pub(super) fn are_all(&self, axes: &[Axis]) -> bool {
        let sizes = self.axis_sizes();
        let larger = |axis: &usize| sizes[*axis] != 1;
        let used = axes.iter().filter(|axis| larger(&axis.axis));
        used.eq((0..sizes.len())
            .filter(larger)
            .map(Axis::whole)
            .collect::<Vec<_>>()
            .iter())
    }
}

/// An axis of a mesh, or a part of one.
///
/// `'a':(2)4` is the part of size 4 of axis `a`, 2 being the product of the sizes of all parts
/// that are more major.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    axis: usize,
    part: Option<AxisPart>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct AxisPart {
    pre_size: i64,
    size: i64,
}

impl Axis {
    /// The whole axis of this number.
    pub fn whole(axis: usize) -> Axis {
        Axis { axis, part: None }
    }

    /// A part of an axis.
    ///
    /// # Errors
    ///
    /// [`ShardingError::SubAxis`] where `pre_size` is below 1, `size` below 2, or their product
    /// beyond 63 bits.
    pub fn part(axis: usize, pre_size: i64, size: i64) -> Result<Axis, ShardingError> {
        if pre_size < 1 || size < 2 || pre_size.checked_mul(size).is_none() {
            return Err(ShardingError::SubAxis {
                axis,
                pre_size,
                size,
                axis_size: i64::MAX,
            });
        }
        let part = Some(AxisPart { pre_size, size });
        Ok(Axis { axis, part })
    }

    /// The number of the mesh's axis.
    #[doc(alias = "mesh_axis_index")]
    pub fn number(self) -> usize {
        self.axis
    }

    /// The product of the sizes of all more major parts, and the size; `None` of a whole axis.
    #[doc(alias = "sub_axis_info")]
    pub fn sub_axis(self) -> Option<(i64, i64)> {
        self.part.map(|part| (part.pre_size, part.size))
    }

    /// The product of the sizes of all more major parts: 1 of a whole axis.
    pub fn pre_size(self) -> i64 {
        self.part.map_or(1, |part| part.pre_size)
    }

    /// The size in a mesh.
    ///
    /// # Errors
    ///
    /// Those of [`check`](Self::check).
    pub fn size(self, mesh: &Mesh) -> Result<i64, ShardingError> {
        self.check(mesh)?;
        Ok(self.size_in(mesh))
    }

    /// The size in a mesh that has the axis.
    pub(super) fn size_in(self, mesh: &Mesh) -> i64 {
        self.part
            .map_or_else(|| mesh.axis_sizes()[self.axis], |part| part.size)
    }

    /// Whether the mesh has this axis, and the axis this part.
    ///
    /// # Errors
    ///
    /// [`ShardingError::NoSuchAxis`], [`ShardingError::SubAxis`].
    #[doc(alias = "Validate")]
    pub fn check(self, mesh: &Mesh) -> Result<(), ShardingError> {
        let Some(&axis_size) = mesh.axis_sizes().get(self.axis) else {
            return Err(ShardingError::NoSuchAxis {
                axis: self.axis.to_string(),
                axes: mesh.axis_count(),
            });
        };
        match self.part {
            // The product was checked to fit when the part was made.
            Some(AxisPart { pre_size, size })
                if size >= axis_size || axis_size % (pre_size * size) != 0 =>
            {
                Err(ShardingError::SubAxis {
                    axis: self.axis,
                    pre_size,
                    size,
                    axis_size,
                })
            }
            _ => Ok(()),
        }
    }

    /// Whether both can stand in one sharding: they share no devices' places, and where they are
    /// parts of one axis, the parts between them are whole.
    #[doc(alias = "CanCoexistWithoutOverlap")]
    pub fn can_coexist(self, other: Axis) -> bool {
        if self.axis != other.axis {
            return true;
        }
        let (Some(one), Some(two)) = (self.part, other.part) else {
            return false;
        };
        let (major, minor) = if one.pre_size <= two.pre_size {
            (one, two)
        } else {
            (two, one)
        };
        let next = major.pre_size * major.size;
        next <= minor.pre_size && minor.pre_size % next == 0
    }

    /// Whether the other is the part that comes next behind this.
    pub fn can_merge(self, other: Axis) -> bool {
        match (self.part, other.part) {
            (Some(one), Some(two)) => {
                self.axis == other.axis && one.pre_size * one.size == two.pre_size
            }
            _ => false,
        }
    }

    /// Both as one, if the other is the part that comes next behind this; the whole axis, if
    /// that is what they are.
    ///
    /// ```
    /// use minormajor_core::sharding::{Axis, Mesh};
    ///
    /// let mesh = Mesh::new([("a", 16)])?;
    /// let merged = Axis::part(0, 1, 2)?.merge(Axis::part(0, 2, 4)?, &mesh);
    /// assert_eq!(merged, Some(Axis::part(0, 1, 8)?));
    /// assert_eq!(merged.unwrap().merge(Axis::part(0, 8, 2)?, &mesh), Some(Axis::whole(0)));
    /// # Ok::<(), minormajor_core::sharding::ShardingError>(())
    /// ```
    pub fn merge(self, other: Axis, mesh: &Mesh) -> Option<Axis> {
        if !self.can_merge(other) || other.check(mesh).is_err() {
            return None;
        }
        let (pre_size, size) = self.sub_axis()?;
        let size = size.checked_mul(other.sub_axis()?.1)?;
        if mesh.axis_sizes()[self.axis] == size {
            return Some(Axis::whole(self.axis));
        }
        Axis::part(self.axis, pre_size, size).ok()
    }

    /// As XLA prints it of a mesh: `'a'` or `'a':(2)4`.
    pub(super) fn print(self, mesh: &Mesh, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_name(f, &mesh.names[self.axis])?;
        self.print_part(f)
    }

    fn print_part(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Some(part) => write!(f, ":({}){}", part.pre_size, part.size),
            None => Ok(()),
        }
    }

    /// The name in a mesh that has the axis, for messages.
    pub(super) fn name(self, mesh: &Mesh) -> String {
        struct Named<'a>(Axis, &'a Mesh);
        impl fmt::Display for Named<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.print(self.1, f)
            }
        }
        Named(self, mesh).to_string()
    }
}

impl fmt::Display for Axis {
    /// The axis by its number: `2:(3)4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.axis)?;
        self.print_part(f)
    }
}
