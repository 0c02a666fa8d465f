//! Plans.
/// A plan.
pub struct Plan;
