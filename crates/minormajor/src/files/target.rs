//! What an array of the input becomes in the output.

use std::path::Path;

use minormajor_core::{ArrayShape, Layout, ShapeError, StridedView};

use super::array::Within;
use super::{Array, FileError, Kind, RelayoutOptions, order_of};
use crate::rules::{Rules, Target};

/// Both files, for errors.
pub(super) struct Paths<'a> {
    pub input: &'a Path,
    pub output: &'a Path,
}

impl Paths<'_> {
    /// The rule of an array, the array with its dimensions in the rule's order, and the array in
    /// the output.
    pub fn target(
        &self,
        array: Array,
        options: &RelayoutOptions,
    ) -> Result<(Option<usize>, Array, Array), FileError> {
        let refused = |error: ShapeError| FileError::Shape {
            path: self.input.to_owned(),
            source: Box::new(error),
        };
        let elements = array.elements();
        let Target {
            rule,
            source,
            shape,
            ..
        } = options
            .rules
            .apply(&array.name, &elements)
            .map_err(|error| FileError::Rule {
                path: self.input.to_owned(),
                source: Box::new(error),
            })?;
        let array = self.permuted(array, source, rule, &options.rules)?;
        let kept = rule.is_some() || (!options.rules.is_empty() && options.layout.is_none());
        let shape = match (kept, &options.layout) {
            (true, _) => shape,
            (false, layout) => {
                let layout = layout
                    .clone()
                    .unwrap_or_else(|| Layout::descending(shape.rank()));
                let text = layout.to_string();
                shape
                    .with_layout(layout)
                    .map_err(|error| FileError::Layout {
                        path: self.input.to_owned(),
                        array: array.name.as_str().into(),
                        shape: Box::new(shape.clone()),
                        layout: text,
                        source: Box::new(error),
                    })?
            }
        };
        let kind = match (&array.kind, options.element_type) {
            (Kind::Opaque { .. }, Some(to)) => {
                return Err(FileError::Opaque {
                    path: self.input.to_owned(),
                    array: array.name.as_str().into(),
                    found: array.type_name(),
                    to,
                });
            }
            (_, Some(_)) => Kind::Named,
            (kind, None) => kind.clone(),
        };
        let element_type = options.element_type.unwrap_or(shape.element_type());
        let shape = shape.with_element_type(element_type).map_err(refused)?;
        let view = match &options.output_strides {
            Some(strides) => Some(strides.view(self.output, &shape)?),
            None => None,
        };
        let order = match (options.output_order, options.rules.is_empty()) {
            (Some(order), _) => Some(order),
            (None, true) => None,
            (None, false) => Some(array.order),
        };
        let target = Array {
            name: array.name.clone(),
            shape: array.with_elements(shape).map_err(refused)?,
            kind,
            within: match &array.within {
                Within::Another(path) => Within::Another(path.clone()),
                _ => Within::TheFile,
            },
            offset: 0,
            view,
            notes: array.notes.clone(),
            order: order_of(element_type, order),
            summed: None,
        };
        Ok((rule, array, target))
    }

    /// The same bytes, with the dimensions of the elements in the order of a rule: `source`.
    fn permuted(
        &self,
        array: Array,
        source: ArrayShape,
        rule: Option<usize>,
        rules: &Rules,
    ) -> Result<Array, FileError> {
        let permutation = rule.and_then(|rule| rules.rules()[rule].permutation());
        let Some(permutation) = permutation else {
            return Ok(array);
        };
        let view = match &array.view {
            None => None,
            Some(view) => {
                let places = permutation.as_slice().iter();
                let strides: Vec<_> = places.map(|&place| view.strides()[place]).collect();
                let view = StridedView::of_array(&source, &strides, view.offset());
                Some(view.map_err(|error| FileError::View {
                    path: self.input.to_owned(),
                    source: Box::new(error),
                })?)
            }
        };
        let shape = array
            .with_elements(source)
            .map_err(|error| FileError::Shape {
                path: self.input.to_owned(),
                source: Box::new(error),
            })?;
        Ok(Array {
            notes: array.notes.permuted(permutation.as_slice()),
            shape,
            view,
            ..array
        })
    }
}
