//! Tensors: arrays on a device.

mod order;

pub use order::Order;
