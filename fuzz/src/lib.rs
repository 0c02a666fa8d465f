//! What must hold for everything that the fuzz targets build. A target turns bytes into
//! a value; the checks of that value are here.
#![warn(missing_docs)]

mod file;
mod hlo;
mod npy;
mod pair;
mod plan;
mod rules;
mod shape;
mod sharding;
mod zarr;

pub use file::check_file;
pub use hlo::{check_module, check_report};
pub use npy::check_npy;
pub use pair::Pair;
pub use plan::check_plan;
pub use rules::check_rules;
pub use shape::{check_proto, check_shape, check_text};
pub use sharding::check_sharding;
pub use zarr::check_zarr;
