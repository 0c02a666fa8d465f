//! Which device has which tile.

use std::hash::{Hash, Hasher};

use super::ShardingError;
use super::iota::Iota;
use crate::Permutation;

/// Devices that are listed one by one at most, where no iota form gives their order.
pub(crate) const MAX_LISTED: i64 = 1 << 17;

/// An array of devices: the device that has each tile.
///
/// Either a list (XLA's first form, `devices=[2,2]0,2,1,3`), or an *iota* (the second,
/// `devices=[2,2]<=[2,2]T(1,0)`): the numbers from 0 in an array of the sizes behind `<=`, its
/// dimensions permuted as `T` says, and the result taken as an array of the sizes before. An
/// iota takes no memory for its devices, however many there are.
///
/// Two assignments are equal if they have the same sizes and the same devices, in whatever form.
///
/// ```
/// use minormajor_core::sharding::TileAssignment;
///
/// let iota = TileAssignment::iota([2, 2], [2, 2], [1, 0])?;
/// let list = TileAssignment::list([2, 2], [0, 2, 1, 3])?;
/// assert_eq!(iota, list);
/// assert_eq!(iota.device(&[0, 1])?, 2);
/// assert_eq!(iota.index_of(1), Some(vec![1, 0]));
/// assert_eq!((iota.to_string(), list.to_string()), ("[2,2]<=[2,2]T(1,0)".into(), "[2,2]0,2,1,3".into()));
/// # Ok::<(), minormajor_core::sharding::ShardingError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TileAssignment {
    /// At least one, each at least 1; the product fits.
    dimensions: Vec<i64>,
    devices: Devices,
}

#[derive(Clone, Debug)]
enum Devices {
    /// Of as many devices as there are tiles.
    Iota(Iota),
    /// As many as there are tiles, each once, none negative.
    List(Vec<i64>),
}

impl TileAssignment {
    /// Devices 0, 1, 2 and so on over an array of these sizes.
    ///
    /// # Errors
    ///
    /// No sizes, one below 1, or a product beyond 63 bits.
    pub fn new(dimensions: impl Into<Vec<i64>>) -> Result<TileAssignment, ShardingError> {
        let dimensions = dimensions.into();
        let tiles = tiles(&dimensions, "tiles")?;
        TileAssignment::iota(dimensions, [tiles], [0])
    }

    /// The iota form: [`new`](Self::new) over `reshape`, permuted, over `dimensions`.
    ///
    /// # Errors
    ///
    /// Those of `new`, for both lists; no permutation of `reshape`; different products.
    #[doc(alias = "IotaTileAssignment::Create")]
    pub fn iota(
        dimensions: impl Into<Vec<i64>>,
        reshape: impl Into<Vec<i64>>,
        permutation: impl IntoIterator<Item = i64>,
    ) -> Result<TileAssignment, ShardingError> {
        let dimensions = dimensions.into();
        let tiles = tiles(&dimensions, "tiles")?;
        let iota = Iota::new(reshape.into(), permutation)?;
        TileAssignment::with_iota(dimensions, tiles, iota)
    }

    fn with_iota(
        dimensions: Vec<i64>,
        tiles: i64,
        iota: Iota,
    ) -> Result<TileAssignment, ShardingError> {
        let found = iota.len();
        if found != tiles {
            return Err(ShardingError::DeviceCount { found, tiles });
        }
        let devices = Devices::Iota(iota);
        Ok(TileAssignment {
            dimensions,
            devices,
        })
    }

    /// The devices in the order of the tiles, the last dimension's index running fastest.
    ///
    /// # Errors
    ///
    /// Those of `new`; another number of devices than of tiles; a device that is negative or
    /// stands there twice.
    pub fn list(
        dimensions: impl Into<Vec<i64>>,
        devices: impl Into<Vec<i64>>,
    ) -> Result<TileAssignment, ShardingError> {
        let (dimensions, devices) = (dimensions.into(), devices.into());
        let tiles = tiles(&dimensions, "tiles")?;
        let found = devices.len() as i64;
        if found != tiles {
            return Err(ShardingError::DeviceCount { found, tiles });
        }
        let mut places: Vec<usize> = (0..devices.len()).collect();
        places.sort_by_key(|&place| (devices[place], place));
        for (i, &place) in places.iter().enumerate() {
            let device = devices[place];
            if device < 0 {
                return Err(ShardingError::NegativeDevice { place, device });
            }
            if i > 0 && devices[places[i - 1]] == device {
                return Err(ShardingError::RepeatedDevice { place, device });
            }
        }
        let devices = Devices::List(devices);
        Ok(TileAssignment {
            dimensions,
            devices,
        })
    }

    /// Into how many parts each dimension is cut, subgroups last.
    pub fn dimensions(&self) -> &[i64] {
        &self.dimensions
    }

    /// The number of dimensions, subgroups included.
    #[doc(alias = "num_dimensions")]
    pub fn rank(&self) -> usize {
        self.dimensions.len()
    }

    /// The number of tiles, which is that of the devices.
    #[doc(alias = "num_elements")]
    pub fn device_count(&self) -> i64 {
        // Fits: the constructors checked it.
        self.dimensions.iter().product()
    }

    /// The sizes and the permutation of an iota, in their one shortest form: no size of 1, and no
    /// two that could be one.
    pub fn iota_form(&self) -> Option<(&[i64], &[usize])> {
        match &self.devices {
            Devices::Iota(iota) => Some((iota.sizes(), iota.permutation())),
            Devices::List(_) => None,
        }
    }

    /// Whether the devices are 0, 1, 2 and so on, said by an iota.
    pub(crate) fn is_simple_iota(&self) -> bool {
        self.iota_form().is_some_and(|(sizes, _)| sizes.len() == 1)
    }

    /// The device at a place in the order of the tiles.
    pub(crate) fn at(&self, place: i64) -> i64 {
        match &self.devices {
            Devices::Iota(iota) => iota.at(place),
            Devices::List(devices) => devices[place as usize],
        }
    }

    /// The device that has a tile.
    ///
    /// # Errors
    ///
    /// [`ShardingError::NoSuchTile`].
    #[doc(alias = "value_at")]
    pub fn device(&self, tile: &[i64]) -> Result<i64, ShardingError> {
        Ok(self.at(self.place(tile)?))
    }

    /// The place of a tile, of which only the first numbers may be given; the others are 0.
    pub(crate) fn place(&self, tile: &[i64]) -> Result<i64, ShardingError> {
        let inside = |(&i, &parts): (&i64, &i64)| (0..parts).contains(&i);
        if tile.len() > self.rank() || !tile.iter().zip(&self.dimensions).all(inside) {
            return Err(ShardingError::NoSuchTile {
                tile: tile.to_vec(),
                tiles: self.dimensions.clone(),
            });
        }
        let numbers = tile.iter().copied().chain(std::iter::repeat(0));
        let places = self.dimensions.iter().zip(numbers);
        // Below the number of tiles.
        Ok(places.fold(0, |place, (&parts, i)| place * parts + i))
    }

    /// The tile that a device has; `None` where it has none.
    pub fn index_of(&self, device: i64) -> Option<Vec<i64>> {
        let mut place = match &self.devices {
            Devices::Iota(iota) => iota.place_of(device)?,
            Devices::List(devices) => devices.iter().position(|&d| d == device)? as i64,
        };
        let mut tile = vec![0; self.rank()];
        for (i, &parts) in tile.iter_mut().zip(&self.dimensions).rev() {
            *i = place % parts;
            place /= parts;
        }
        Some(tile)
    }

    /// Whether a device has a tile.
    pub fn uses_device(&self, device: i64) -> bool {
        match &self.devices {
            Devices::Iota(iota) => (0..iota.len()).contains(&device),
            Devices::List(devices) => devices.contains(&device),
        }
    }

    /// The devices in the order of the tiles.
    pub fn devices(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.device_count()).map(|place| self.at(place))
    }

    /// The same devices over an array of other sizes.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new), and another number of tiles.
    pub fn reshape(
        &self,
        dimensions: impl Into<Vec<i64>>,
    ) -> Result<TileAssignment, ShardingError> {
        let dimensions = dimensions.into();
        let (tiles, found) = (tiles(&dimensions, "tiles")?, self.device_count());
        if tiles != found {
            return Err(ShardingError::DeviceCount { found, tiles });
        }
        Ok(TileAssignment {
            dimensions,
            devices: self.devices.clone(),
        })
    }

    /// The same devices with the dimensions in another order: dimension `i` of the result is
    /// `permutation[i]` of this. An iota stays one wherever it can.
    ///
    /// # Errors
    ///
    /// A permutation of another length, and [`ShardingError::TooManyToList`] where an iota
    /// becomes a list that is too long.
    pub fn transpose(&self, permutation: &Permutation) -> Result<TileAssignment, ShardingError> {
        let dimensions = permutation.apply(&self.dimensions)?;
        let moved = permutation.as_slice().iter();
        if moved.filter(|&&d| self.dimensions[d] != 1).is_sorted() {
            let devices = self.devices.clone();
            return Ok(TileAssignment {
                dimensions,
                devices,
            });
        }
        if let Devices::Iota(iota) = &self.devices
            && let Some(iota) = iota.transpose(&self.dimensions, permutation)
        {
            let devices = Devices::Iota(iota);
            return Ok(TileAssignment {
                dimensions,
                devices,
            });
        }
        let mut strides = vec![1; self.rank()];
        for d in (1..self.rank()).rev() {
            strides[d - 1] = strides[d] * self.dimensions[d];
        }
        let strides = permutation.apply(&strides)?;
        let devices = self.listed(|place| {
            let mut from = 0;
            let mut left = place;
            for (&parts, &stride) in dimensions.iter().zip(&strides).rev() {
                from += left % parts * stride;
                left /= parts;
            }
            from
        })?;
        Ok(TileAssignment {
            dimensions,
            devices,
        })
    }

    /// The same with the devices of each group of `size` neighbours in ascending order.
    pub(crate) fn sort_groups(&self, size: i64) -> Result<TileAssignment, ShardingError> {
        if let Devices::Iota(iota) = &self.devices
            && let Some(iota) = iota.sort_groups(size)
        {
            let dimensions = self.dimensions.clone();
            return TileAssignment::with_iota(dimensions, self.device_count(), iota);
        }
        let mut devices = self.listed(|place| place)?;
        if let Devices::List(devices) = &mut devices {
            devices
                .chunks_mut(size.max(1) as usize)
                .for_each(<[i64]>::sort_unstable);
        }
        Ok(TileAssignment {
            dimensions: self.dimensions.clone(),
            devices,
        })
    }

    /// The devices at the places that `from` gives for each place. A list is as long as one that
    /// exists, or as the limit.
    fn listed(&self, from: impl Fn(i64) -> i64) -> Result<Devices, ShardingError> {
        let (devices, limit) = (self.device_count(), MAX_LISTED);
        if devices > limit && matches!(self.devices, Devices::Iota(_)) {
            return Err(ShardingError::TooManyToList { devices, limit });
        }
        let list = (0..devices).map(|place| self.at(from(place)));
        Ok(Devices::List(list.collect()))
    }

    /// The first form: the list of the devices.
    ///
    /// # Errors
    ///
    /// [`ShardingError::TooManyToList`].
    pub fn to_list(&self) -> Result<TileAssignment, ShardingError> {
        Ok(TileAssignment {
            dimensions: self.dimensions.clone(),
            devices: self.listed(|place| place)?,
        })
    }

    /// The second form, where the devices have it.
    ///
    /// ```
    /// use minormajor_core::sharding::TileAssignment;
    ///
    /// let list = TileAssignment::list([4, 2], [0, 4, 1, 5, 2, 6, 3, 7])?;
    /// assert_eq!(list.to_iota().unwrap().to_string(), "[4,2]<=[2,4]T(1,0)");
    /// assert!(TileAssignment::list([3], [0, 2, 1])?.to_iota().is_none());
    /// # Ok::<(), minormajor_core::sharding::ShardingError>(())
    /// ```
    pub fn to_iota(&self) -> Option<TileAssignment> {
        let iota = match &self.devices {
            Devices::Iota(iota) => iota.clone(),
            Devices::List(devices) => Iota::of(devices)?,
        };
        Some(TileAssignment {
            dimensions: self.dimensions.clone(),
            devices: Devices::Iota(iota),
        })
    }
}

/// An axis of which the dimensions of a tile assignment are made.
pub(super) struct TileAxis {
    /// The dimension that it is a part of.
    pub dimension: usize,
    pub size: i64,
    /// Its place among all axes, from the most major of the first dimension.
    pub place: usize,
}

impl TileAssignment {
    /// The axes of a mesh that cut the dimensions: parts of the iota's sizes in their order where
    /// its boundaries fit those of the dimensions (then true), else the dimensions themselves.
    pub(super) fn axes(&self) -> (Vec<TileAxis>, bool) {
        if let Devices::Iota(iota) = &self.devices
            && let Some(parts) = iota.parts(&self.dimensions)
        {
            let mut order: Vec<usize> = (0..parts.len()).collect();
            order.sort_by_key(|&part| (parts[part].size_of, part));
            let axis = |&place: &usize| TileAxis {
                dimension: parts[place].dimension,
                size: parts[place].size,
                place,
            };
            return (order.iter().map(axis).collect(), true);
        }
        let dimensions = self.dimensions.iter().enumerate();
        let axis = |(place, &size)| TileAxis {
            dimension: place,
            size,
            place,
        };
        (dimensions.map(axis).collect(), false)
    }
}

impl PartialEq for TileAssignment {
    fn eq(&self, other: &Self) -> bool {
        self.dimensions == other.dimensions
            && match (&self.devices, &other.devices) {
                (Devices::Iota(one), Devices::Iota(two)) => one == two,
                (Devices::List(one), Devices::List(two)) => one == two,
                // As long as the list.
                _ => self.devices().eq(other.devices()),
            }
    }
}

impl Eq for TileAssignment {}

impl Hash for TileAssignment {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Some devices, the same in both forms; an iota may have more than can be gone through.
        self.dimensions.hash(state);
        self.devices()
            .take(16)
            .for_each(|device| device.hash(state));
    }
}

/// The number of tiles, or of whatever `what` says.
pub(super) fn tiles(dimensions: &[i64], what: &'static str) -> Result<i64, ShardingError> {
    if dimensions.is_empty() {
        return Err(ShardingError::NoDimensions);
    }
    let mut product: i64 = 1;
    for (dimension, &parts) in dimensions.iter().enumerate() {
        if parts < 1 {
            return Err(ShardingError::Parts { dimension, parts });
        }
        product = product
            .checked_mul(parts)
            .ok_or(ShardingError::Overflow { dimension, what })?;
    }
    Ok(product)
}
