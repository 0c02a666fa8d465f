//! The classes `Sharding` and `Shard`.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{self, error};
use crate::layout::tuple;
use crate::shape::Shape;
use crate::text;

/// Which part of an array each device has: XLA's sharding.
///
/// >>> sharding = Sharding("{devices=[2,1]<=[2]}")
/// >>> sharding.shard_shape("f32[5,4]")
/// Shape('f32[3,4]{1,0}')
/// >>> [(s.device, s.offset, s.limit) for s in sharding.shards("f32[5,4]")]
/// [(0, (0, 0), (3, 4)), (1, (3, 0), (5, 4))]
#[pyclass(frozen, eq, hash, module = "minormajor")]
#[derive(PartialEq, Eq, Hash)]
pub struct Sharding(minormajor::Sharding);

/// The part of an array that a device has.
#[pyclass(frozen, eq, hash, module = "minormajor")]
#[derive(PartialEq, Eq, Hash)]
pub struct Shard {
    /// The device.
    #[pyo3(get)]
    device: i64,
    tile: Vec<i64>,
    offset: Vec<i64>,
    limit: Vec<i64>,
}

#[pymethods]
impl Sharding {
    #[new]
    #[pyo3(signature = (text, /))]
    fn new(py: Python<'_>, text: &str) -> PyResult<Sharding> {
        text.parse()
            .map(Sharding)
            .map_err(|found| error::parse(py, text, &found))
    }

    /// A sharding from the bytes of XLA's OpSharding.
    #[staticmethod]
    #[pyo3(signature = (data, /))]
    fn from_proto(data: &[u8]) -> PyResult<Sharding> {
        minormajor::Sharding::from_proto_bytes(data)
            .map(Sharding)
            .map_err(error)
    }

    /// The bytes of XLA's OpSharding.
    fn to_proto<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_proto_bytes())
    }

    /// What kind it is: 'replicated', 'maximal', 'tiled' ...
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind().name()
    }

    /// The number of devices; None where the sharding names none.
    #[getter]
    fn device_count(&self) -> PyResult<Option<i64>> {
        self.0.device_count().map_err(error)
    }

    /// The shape of the largest shard of an array.
    #[pyo3(signature = (shape, /))]
    fn shard_shape(&self, shape: &Bound<'_, PyAny>) -> PyResult<Shape> {
        let shape = text::shape(shape)?;
        self.0.shard_shape(&shape).map(Shape::wrap).map_err(error)
    }

    /// The shards of all devices, in the order of the tiles.
    ///
    /// A sharding of more than a million devices is refused: its list would fill memory.
    #[pyo3(signature = (shape, /))]
    fn shards(&self, py: Python<'_>, shape: &Bound<'_, PyAny>) -> PyResult<Vec<Py<Shard>>> {
        const MOST: usize = 1 << 20;
        let shape = text::shape(shape)?;
        let shards = self.0.shards(&shape).map_err(error)?;
        let count = shards.size_hint().0;
        if count > MOST {
            return Err(error(format!(
                "{count} shards; expected at most {MOST} in a list"
            )));
        }
        shards
            .map(|shard| {
                let made = Shard {
                    device: shard.device,
                    tile: shard.tile,
                    offset: shard.offset,
                    limit: shard.limit,
                };
                Py::new(py, made)
            })
            .collect()
    }

    /// The devices that have an element; None where every device has it.
    ///
    /// >>> Sharding("{devices=[2,1]<=[2]}").devices_of("f32[5,4]", (3, 0))
    /// [1]
    fn devices_of(&self, shape: &Bound<'_, PyAny>, index: Vec<i64>) -> PyResult<Option<Vec<i64>>> {
        let shape = text::shape(shape)?;
        let devices = self.0.devices_of_element(&shape, &index).map_err(error)?;
        Ok(devices.map(Iterator::collect))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Sharding({:?})", self.0.to_string())
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let rebuild = slf.get_type().getattr("from_proto")?;
        Ok((rebuild, (slf.get().to_proto(slf.py()),)))
    }
}

#[pymethods]
impl Shard {
    #[new]
    fn new(device: i64, tile: Vec<i64>, offset: Vec<i64>, limit: Vec<i64>) -> Shard {
        Shard {
            device,
            tile,
            offset,
            limit,
        }
    }

    /// The index of its tile, a number for each dimension.
    #[getter]
    fn tile<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        tuple(py, &self.tile)
    }

    /// The index of its first element.
    #[getter]
    fn offset<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        tuple(py, &self.offset)
    }

    /// The index behind its last element.
    #[getter]
    fn limit<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        tuple(py, &self.limit)
    }

    /// The part as slices: array[shard.slices] is what the device has.
    #[getter]
    fn slices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bounds = self.offset.iter().zip(&self.limit);
        let slices =
            bounds.map(|(&from, &to)| pyo3::types::PySlice::new(py, from as isize, to as isize, 1));
        Ok(pyo3::types::PyTuple::new(py, slices.collect::<Vec<_>>())?.into_any())
    }

    fn __repr__(&self) -> String {
        let Shard {
            device,
            tile,
            offset,
            limit,
        } = self;
        format!("Shard({device}, {tile:?}, {offset:?}, {limit:?})")
    }

    #[expect(clippy::type_complexity)]
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> (Bound<'py, PyAny>, (i64, Vec<i64>, Vec<i64>, Vec<i64>)) {
        let Shard {
            device,
            tile,
            offset,
            limit,
        } = slf.get();
        let parts = (*device, tile.clone(), offset.clone(), limit.clone());
        (slf.get_type().into_any(), parts)
    }
}
