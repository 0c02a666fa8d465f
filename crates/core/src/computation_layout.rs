//! The layouts of a program's parameters and result.

use std::fmt;

use crate::error::ShapeError;
use crate::shape::{ProgramShape, Shape};
use crate::shape_layout::ShapeLayout;

/// The layouts that a computation wants its parameters in and gives its result in, each set or
/// not yet. XLA's `ComputationLayout`.
///
/// Prints as the header of a module has it, as `entry_computation_layout`.
///
/// ```
/// use minormajor_core::{ComputationLayout, ProgramShape, Shape};
///
/// let x: Shape = "f32[2,3]{0,1}".parse()?;
/// let y = "f32[3,2]".parse::<Shape>()?.without_layout();
/// let mut layout = ComputationLayout::new(&ProgramShape::new([("x", x)], y));
/// assert!(!layout.is_set());
/// layout.set_to_default_layout_if_empty()?;
/// assert_eq!(layout.to_string(), "(f32[2,3]{0,1}) => f32[3,2]{1,0}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ComputationLayout {
    /// Of each parameter, in order.
    pub parameters: Vec<ShapeLayout>,
    /// Of the result.
    pub result: ShapeLayout,
}

impl ComputationLayout {
    /// The layouts that the program's shapes have, as far as they have some.
    pub fn new(program: &ProgramShape) -> ComputationLayout {
        let parameters = program.parameters().iter();
        ComputationLayout {
            parameters: parameters
                .map(|(_, shape)| ShapeLayout::new(shape.clone()))
                .collect(),
            result: ShapeLayout::new(program.result().clone()),
        }
    }

    /// The default layout everywhere, whatever layouts the program's shapes have.
    ///
    /// # Errors
    ///
    /// Those of [`Shape::with_default_layout`].
    pub fn with_default_layout(program: &ProgramShape) -> Result<ComputationLayout, ShapeError> {
        let mut layout = ComputationLayout::new(program);
        layout.set_to_default_layout()?;
        Ok(layout)
    }

    /// Whether every array has a layout.
    #[doc(alias = "LayoutIsSet")]
    pub fn is_set(&self) -> bool {
        self.all().all(ShapeLayout::is_set)
    }

    /// Gives every array the default layout.
    ///
    /// # Errors
    ///
    /// Those of [`Shape::with_default_layout`].
    #[doc(alias = "SetToDefaultLayout")]
    pub fn set_to_default_layout(&mut self) -> Result<(), ShapeError> {
        self.all_mut()
            .try_for_each(ShapeLayout::set_to_default_layout)
    }

    /// Gives the parameters and the result of which not all arrays have a layout the default one.
    ///
    /// # Errors
    ///
    /// Those of [`Shape::with_default_layout`].
    #[doc(alias = "SetToDefaultLayoutIfEmpty")]
    pub fn set_to_default_layout_if_empty(&mut self) -> Result<(), ShapeError> {
        self.all_mut()
            .filter(|layout| !layout.is_set())
            .try_for_each(ShapeLayout::set_to_default_layout)
    }

    /// The shapes with these layouts, of parameters without names.
    #[doc(alias = "ComputeProgramShape")]
    pub fn program_shape(&self) -> ProgramShape {
        let parameters = self.parameters.iter();
        let unnamed = parameters.map(|layout| ("", layout.shape().clone()));
        ProgramShape::new(unnamed, self.result.shape().clone())
    }

    fn all(&self) -> impl Iterator<Item = &ShapeLayout> {
        self.parameters.iter().chain([&self.result])
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut ShapeLayout> {
        self.parameters.iter_mut().chain([&mut self.result])
    }
}

impl fmt::Display for ComputationLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters: Vec<&Shape> = self.parameters.iter().map(ShapeLayout::shape).collect();
        f.write_str("(")?;
        for (place, shape) in parameters.iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{shape}")?;
        }
        write!(f, ") => {}", self.result.shape())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> ProgramShape {
        let shape = |text: &str| text.parse::<Shape>().unwrap();
        ProgramShape::new(
            [
                ("a", shape("(f32[2,3]{0,1:T(8,128)}, s8[4])")),
                ("b", shape("bf16[5,7]{0,1}")),
            ],
            shape("f32[3,2]").without_layout(),
        )
    }

    #[test]
    fn layouts_are_set_where_some_are_missing() {
        let mut layout = ComputationLayout::new(&program());
        assert!(layout.parameters[0].is_set() && !layout.result.is_set());
        assert!(!layout.is_set());
        layout.set_to_default_layout_if_empty().unwrap();
        assert!(layout.is_set());
        assert_eq!(
            layout.to_string(),
            "((f32[2,3]{0,1:T(8,128)}, s8[4]{0}), bf16[5,7]{0,1}) => f32[3,2]{1,0}"
        );
        let all = ComputationLayout::with_default_layout(&program()).unwrap();
        assert_ne!(layout, all);
        assert_eq!(all.parameters[1].shape().to_string(), "bf16[5,7]{1,0}");
    }

    #[test]
    fn the_program_has_the_layouts() {
        let layout = ComputationLayout::with_default_layout(&program()).unwrap();
        let shape = layout.program_shape();
        assert!(shape.has_layout());
        assert_eq!(shape.parameters().len(), 2);
        assert_eq!(shape.result().to_string(), "f32[3,2]{1,0}");
        assert_eq!(ComputationLayout::new(&shape), layout);
    }
}
