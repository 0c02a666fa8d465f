//! The Python package `minormajor`: what the crate `minormajor` does, with Python's manners.
//!
//! Everything here that touches an array's memory goes through [`memory`], the only module with
//! `unsafe` code. What is particular to PyTorch, JAX and others is Python, in `python/minormajor`.

mod array;
mod bitcast;
mod card;
mod dtype;
mod error;
mod files;
mod indices;
mod kept;
mod layout;
mod memory;
mod movement;
mod order;
mod packing;
mod plan;
mod prepared;
mod shape;
mod sharding;
mod tensor;
mod text;
mod view;

use pyo3::prelude::*;

/// The compiled part of the package `minormajor`, which has everything under its own name.
///
/// Moves of few bytes rely on Python's lock to be the only ones that write to their memory, see
/// [`memory`]: a Python without the lock takes it back when it imports this.
#[pymodule(gil_used = true)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::register(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<shape::Shape>()?;
    module.add_class::<layout::Layout>()?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<bitcast::Bitcast>()?;
    module.add_class::<sharding::Sharding>()?;
    module.add_class::<sharding::Shard>()?;
    module.add_class::<tensor::Tensor>()?;
    module.add_class::<card::OnCard>()?;
    module.add_class::<tensor::Device>()?;
    module.add_class::<tensor::Devices>()?;
    module.add_function(wrap_pyfunction!(tensor::devices, module)?)?;
    module.add_function(wrap_pyfunction!(card::on_card, module)?)?;
    module.add_function(wrap_pyfunction!(plan::plan, module)?)?;
    module.add_function(wrap_pyfunction!(bitcast::bitcast, module)?)?;
    module.add_function(wrap_pyfunction!(movement::relayout, module)?)?;
    module.add_function(wrap_pyfunction!(movement::transpose, module)?)?;
    module.add_function(wrap_pyfunction!(movement::ascontiguous, module)?)?;
    module.add_function(wrap_pyfunction!(packing::pack, module)?)?;
    module.add_function(wrap_pyfunction!(packing::unpack, module)?)?;
    module.add_function(wrap_pyfunction!(indices::ravel_index, module)?)?;
    module.add_function(wrap_pyfunction!(indices::unravel_index, module)?)?;
    module.add_function(wrap_pyfunction!(view::why_not_a_view, module)?)?;
    module.add_function(wrap_pyfunction!(files::inspect, module)?)?;
    module.add_function(wrap_pyfunction!(files::read_array, module)?)?;
    module.add_function(wrap_pyfunction!(files::save_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(files::relayout_file, module)?)?;
    Ok(())
}
