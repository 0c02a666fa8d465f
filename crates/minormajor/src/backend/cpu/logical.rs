//! Results that are made in logical order first.

use minormajor_core::{ArrayShape, Plan, StridedView};

use super::Strided;

/// The plan from logical order to the result's, where they differ.
pub(super) fn plan(result: &Strided) -> Option<Plan> {
    if result.is_row_major() {
        return None;
    }
    let element_type = result.element_type();
    let width = i64::from(element_type.byte_width());
    let strides: Vec<i64> = result
        .strides()
        .iter()
        .map(|stride| stride * width)
        .collect();
    let from = ArrayShape::new(element_type, result.sizes().iter().copied());
    let to = StridedView::new(element_type, result.sizes(), &strides, 0);
    let plan = Plan::new(
        &from.expect("a result's sizes"),
        &to.expect("a dense result"),
    );
    Some(plan.expect("one array in two orders"))
}
