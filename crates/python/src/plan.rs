//! The class `Plan` and the function that makes one.

use minormajor::plan::PlanClass;
use minormajor::{ArrayShape, Machine, Relayout, StridedView};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::Moved;
use crate::card::Given;
use crate::error::{self, error};
use crate::shape::Shape;
use crate::{dtype, order, text};

/// How an array moves from where it is to a layout, and why: what `relayout` and `pack` would do.
///
/// `plan` makes one of an array or a shape.
///
/// >>> p = plan("f32[32,3,224,224]", "{1,3,2,0}")
/// >>> p.kind, p.copies, p.bytes_read
/// ('permute', True, 19267584)
/// >>> p.boxes
/// [(0, 0, [(32, 150528, 150528), (3, 50176, 1), (50176, 1, 3)])]
#[pyclass(frozen, eq, module = "minormajor")]
pub struct Plan {
    plan: minormajor::Plan,
    relayout: Relayout,
    source: Source,
    destination: ArrayShape,
}

/// Where an array comes from.
#[derive(PartialEq)]
enum Source {
    Shape(ArrayShape),
    /// With gaps, repeated or backwards.
    Strided(StridedView),
}

impl PartialEq for Plan {
    fn eq(&self, other: &Plan) -> bool {
        self.source == other.source && self.destination == other.destination
    }
}

/// Plans a move without moving anything.
///
/// The source is an array, a Shape or its text; the destination a layout, or a shape of the same
/// sizes. Nothing of an array but its type, sizes and strides counts.
///
/// >>> import numpy
/// >>> plan(numpy.zeros((2, 3)), "{1,0}").copies  # it is in that order already
/// False
#[pyfunction]
#[pyo3(signature = (source, destination, threads = None))]
pub fn plan(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    destination: &Bound<'_, PyAny>,
    threads: Option<usize>,
) -> PyResult<Plan> {
    if source.is_instance_of::<Shape>() || source.extract::<&str>().is_ok() {
        let shape = text::shape(source)?;
        let shape = shape.as_array().map_err(error)?.clone();
        let destination = destination_of(py, destination, &shape)?;
        return Plan::new(Source::Shape(shape), destination, threads);
    }
    let place = Given::new(source)?.place();
    let (dtype, sizes, strides) = (&place.dtype, &place.sizes[..], &place.strides[..]);
    let (shape, view) = order::described(dtype, sizes, strides)?;
    let destination = destination_of(py, destination, &shape)?;
    let source = match order::shape_of(dtype, sizes, strides)? {
        Some(shape) => Source::Shape(shape),
        None => Source::Strided(view),
    };
    Plan::new(source, destination, threads)
}

impl Plan {
    fn new(source: Source, destination: ArrayShape, threads: Option<usize>) -> PyResult<Plan> {
        let plan = match &source {
            Source::Shape(shape) => minormajor::Plan::new(shape, &destination),
            Source::Strided(view) => minormajor::Plan::new(view, &destination),
        };
        let plan = plan.map_err(error::plan)?;
        let relayout = Relayout::new(&plan).map_err(error::plan)?;
        Ok(Plan {
            relayout: relayout.threads(threads.unwrap_or(0)),
            plan,
            source,
            destination,
        })
    }
}

/// A shape, or the source's shape in a layout.
pub fn destination_of(
    py: Python<'_>,
    argument: &Bound<'_, PyAny>,
    from: &ArrayShape,
) -> PyResult<ArrayShape> {
    let shape = match argument.cast::<Shape>() {
        Ok(shape) => shape.get().inner().clone(),
        Err(_) => match argument.extract::<&str>() {
            Ok(text) if !text.trim_start().starts_with('{') => text
                .parse()
                .map_err(|found| error::parse(py, text, &found))?,
            _ => {
                let layout = text::layout(argument)?;
                return from.with_layout(layout).map_err(error);
            }
        },
    };
    shape.as_array().map_err(error).cloned()
}

/// A box: from where, to where, and its loops, each of an extent, a stride of the source and one
/// of the destination, in units.
type Move = (i64, i64, Vec<(i64, i64, i64)>);

/// A fill: from where, the value's name, and its loops, each of an extent and a stride, in units.
type Fill = (i64, &'static str, Vec<(i64, i64)>);

#[pymethods]
impl Plan {
    /// The plan of an array that lies at strides in bytes from its first element on.
    ///
    /// >>> Plan.of_strides("u8", (2, 3), (-3, 1), "{1,0}").kind
    /// 'copy'
    #[staticmethod]
    #[pyo3(signature = (dtype, sizes, strides, destination, threads = None))]
    fn of_strides(
        py: Python<'_>,
        dtype: &Bound<'_, PyAny>,
        sizes: Vec<usize>,
        strides: Vec<isize>,
        destination: &Bound<'_, PyAny>,
        threads: Option<usize>,
    ) -> PyResult<Plan> {
        let element_type = dtype::from_argument(dtype)?;
        if sizes.len() != strides.len() {
            return Err(text::unequal(sizes.len(), strides.len()));
        }
        let moved = Moved::new(&sizes, &strides, element_type.byte_width() as usize);
        let view = moved.view_as(element_type)?;
        let shape = ArrayShape::new(element_type, sizes.iter().map(|&size| size as i64))
            .and_then(|shape| shape.with_default_layout())
            .map_err(error)?;
        let destination = destination_of(py, destination, &shape)?;
        let source = match order::shape_at(element_type, &sizes, &strides)? {
            Some(shape) => Source::Shape(shape),
            None => Source::Strided(view),
        };
        Plan::new(source, destination, threads)
    }

    /// 'identity', 'retag', 'copy', 'permute', 'retile' or 'general'.
    #[getter]
    fn kind(&self) -> &'static str {
        self.plan.class().name()
    }

    /// Whether bytes are moved; where not, the same memory serves.
    #[getter]
    fn copies(&self) -> bool {
        matches!(self.source, Source::Strided(_)) || self.plan.class() != PlanClass::Identity
    }

    /// Why it is of its kind.
    #[getter]
    fn reason(&self) -> String {
        self.plan.reason()
    }

    /// The source; without a layout where it has gaps, repeats or goes backwards.
    #[getter]
    fn source(&self) -> PyResult<Shape> {
        match &self.source {
            Source::Shape(shape) => Ok(Shape::wrap(shape.clone())),
            Source::Strided(view) => {
                let sizes = view.sizes().iter().copied();
                let shape = ArrayShape::new(view.element_type(), sizes);
                shape.map(Shape::wrap).map_err(error)
            }
        }
    }

    /// The destination.
    #[getter]
    fn destination(&self) -> Shape {
        Shape::wrap(self.destination.clone())
    }

    /// Bytes that are read.
    #[getter]
    fn bytes_read(&self) -> i64 {
        self.plan.bytes_read()
    }

    /// Bytes that are written, padding included.
    #[getter]
    fn bytes_written(&self) -> i64 {
        self.plan.bytes_written()
    }

    /// Bytes of memory beside source and destination, at most.
    #[getter]
    fn extra_bytes(&self) -> usize {
        self.relayout.extra_memory().heap
    }

    /// Bits of the unit that boxes count in.
    #[getter]
    fn unit_bits(&self) -> i64 {
        self.plan.destination_unit_bits()
    }

    /// The boxes that are moved: (source, destination, loops), each loop (extent, source stride,
    /// destination stride), outermost first, in units.
    #[getter]
    fn boxes(&self) -> Vec<Move> {
        let of_box = |part: &minormajor::plan::MoveBox| {
            let loops = part.loops.iter();
            let loops = loops.map(|l| (l.extent, l.source, l.destination));
            (part.source, part.destination, loops.collect())
        };
        self.plan.boxes().iter().map(of_box).collect()
    }

    /// The boxes of padding that are filled: (destination, value, loops), each loop (extent, stride).
    #[getter]
    fn fills(&self) -> Vec<Fill> {
        let of_fill = |part: &minormajor::plan::FillBox| {
            let loops = part.loops.iter().map(|l| (l.extent, l.destination));
            (part.destination, part.value.name(), loops.collect())
        };
        self.plan.fills().iter().map(of_fill).collect()
    }

    /// What was chosen for this machine, and how long it will take: measures the machine for a
    /// fraction of a second, the first time.
    fn explain(&self, py: Python<'_>) -> String {
        py.detach(|| self.relayout.explain(Machine::this()).to_string())
    }

    /// How many seconds it will take on this machine, about.
    fn predict(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.relayout.predict(Machine::this()).as_secs_f64())
    }

    fn __str__(&self) -> String {
        let source = match &self.source {
            Source::Shape(shape) => shape.to_string(),
            Source::Strided(view) => format!(
                "{}{:?} at strides {:?}",
                view.element_type(),
                view.sizes(),
                view.strides()
            ),
        };
        let verdict = match self.copies() {
            true => format!("moves {} bytes", self.plan.bytes_read()),
            false => "moves nothing".to_owned(),
        };
        let (destination, reason) = (&self.destination, self.plan.reason());
        format!(
            "{source} to {destination}: {verdict}\n{reason}\n{}",
            self.plan
        )
    }

    fn __repr__(&self) -> String {
        let destination = &self.destination;
        match &self.source {
            Source::Shape(shape) => format!("plan('{shape}', '{destination}')"),
            Source::Strided(view) => format!(
                "Plan.of_strides('{}', {:?}, {:?}, '{destination}')",
                view.element_type(),
                view.sizes(),
                view.strides(),
            ),
        }
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let (plan, destination) = (slf.get(), slf.get().destination());
        match &plan.source {
            Source::Shape(_) => Ok((
                py.import("minormajor")?.getattr("plan")?,
                (plan.source()?, destination).into_pyobject(py)?,
            )),
            Source::Strided(view) => {
                let (sizes, strides) = (view.sizes().to_vec(), view.strides().to_vec());
                let name = view.element_type().name();
                Ok((
                    slf.get_type().getattr("of_strides")?,
                    (name, sizes, strides, destination).into_pyobject(py)?,
                ))
            }
        }
    }
}
