//! The shapes of a program's parameters and result.

use std::fmt;

use super::Shape;
use crate::error::ShapeError;
use crate::proto::UnknownFields;

/// What a program takes and gives: its parameters, each with a name that may be empty, and its
/// result.
///
/// Prints as XLA prints it, without layouts.
///
/// ```
/// use minormajor_core::{ProgramShape, Shape};
///
/// let (x, y): (Shape, Shape) = ("f32[2,3]".parse()?, "s8[]".parse()?);
/// let program = ProgramShape::new([("x", x.clone()), ("", y)], x);
/// assert_eq!(program.to_string(), "(x: f32[2,3], (unknown): s8[]) -> f32[2,3]");
/// # Ok::<(), minormajor_core::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProgramShape {
    parameters: Vec<(String, Shape)>,
    result: Shape,
    pub(crate) unknown: UnknownFields,
}

impl ProgramShape {
    /// A program with these parameters, each with its name, and this result.
    #[doc(alias = "MakeProgramShape")]
    pub fn new<N: Into<String>>(
        parameters: impl IntoIterator<Item = (N, Shape)>,
        result: Shape,
    ) -> ProgramShape {
        ProgramShape {
            parameters: parameters
                .into_iter()
                .map(|(name, shape)| (name.into(), shape))
                .collect(),
            result,
            unknown: UnknownFields::default(),
        }
    }

    /// The parameters in order, each with its name.
    pub fn parameters(&self) -> &[(String, Shape)] {
        &self.parameters
    }

    /// The result.
    pub fn result(&self) -> &Shape {
        &self.result
    }

    /// Whether every array of the parameters and the result has a layout.
    pub fn has_layout(&self) -> bool {
        let mut parameters = self.parameters.iter();
        self.result.has_layout() && parameters.all(|(_, shape)| shape.has_layout())
    }

    /// The program with every shape replaced by what `edit` makes of it.
    ///
    /// # Errors
    ///
    /// The first error of `edit`.
    pub fn map_shapes<E>(
        &self,
        mut edit: impl FnMut(&Shape) -> Result<Shape, E>,
    ) -> Result<ProgramShape, E> {
        let parameters = self.parameters.iter();
        Ok(ProgramShape {
            parameters: parameters
                .map(|(name, shape)| Ok((name.clone(), edit(shape)?)))
                .collect::<Result<_, E>>()?,
            result: edit(&self.result)?,
            unknown: self.unknown.clone(),
        })
    }

    /// The program with the default order in all its arrays: see [`Shape::with_default_layout`].
    ///
    /// # Errors
    ///
    /// Those of [`Shape::with_default_layout`].
    #[doc(alias = "SetToDefaultLayout")]
    pub fn with_default_layout(&self) -> Result<ProgramShape, ShapeError> {
        self.map_shapes(Shape::with_default_layout)
    }

    /// The program without layouts.
    #[doc(alias = "ClearLayout")]
    pub fn without_layout(&self) -> ProgramShape {
        self.map_shapes(|shape| Ok::<_, std::convert::Infallible>(shape.without_layout()))
            .unwrap_or_else(|never| match never {})
    }
}

impl fmt::Display for ProgramShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (place, (name, shape)) in self.parameters.iter().enumerate() {
            let name = if name.is_empty() { "(unknown)" } else { name };
            let separator = if place > 0 { ", " } else { "" };
            write!(f, "{separator}{name}: {}", shape.without_layout())?;
        }
        write!(f, ") -> {}", self.result.without_layout())
    }
}
