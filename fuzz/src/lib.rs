//! What must hold for everything that the fuzz targets build. A target turns bytes into
//! a value; the checks of that value are here.
#![warn(missing_docs)]

mod file;
mod hlo;
mod npy;
mod pair;
mod plan;
mod shape;
mod sharding;

pub use file::check_file;
pub use hlo::{check_module, check_report};
pub use npy::check_npy;
pub use pair::Pair;
pub use plan::check_plan;
pub use shape::{check_proto, check_shape, check_text};
pub use sharding::check_sharding;
