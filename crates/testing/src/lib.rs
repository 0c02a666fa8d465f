//! What minormajor's tests stand on: oracles too simple to be wrong in the same way as the code,
//! strategies for random arrays, and the golden cases with XLA's own answers.

pub mod bitcasts;
pub mod golden;
pub mod hlo;
pub mod in_place;
pub mod large;
pub mod numbers;
pub mod oracle;
pub mod strategy;
pub mod tensors;
