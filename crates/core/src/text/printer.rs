//! Shapes and layouts as XLA prints them.

use std::fmt;

use crate::array::ArrayShape;
use crate::layout::{Layout, PaddingValue, SplitConfig, Tile, TileDimension};
use crate::shape::{Shape, ShapeKind, Step};

impl Shape {
    fn print(&self, f: &mut fmt::Formatter<'_>, layouts: bool) -> fmt::Result {
        // The number of elements printed in each open tuple.
        let mut printed: Vec<usize> = Vec::new();
        for step in self.walk() {
            if let (Step::Open(_) | Step::Leaf(_), Some(count)) = (&step, printed.last_mut()) {
                match *count {
                    0 => {}
                    index if index % 5 == 0 => write!(f, ", /*index={index}*/")?,
                    _ => f.write_str(", ")?,
                }
                *count += 1;
            }
            match step {
                Step::Open(_) => {
                    f.write_str("(")?;
                    printed.push(0);
                }
                Step::Close(_) => {
                    printed.pop();
                    f.write_str(")")?;
                }
                Step::Leaf(shape) => match shape.kind() {
                    ShapeKind::Array(array) => array.print(f, layouts)?,
                    ShapeKind::Buffer(array) => {
                        f.write_str("b(")?;
                        array.print(f, layouts)?;
                        f.write_str(")")?;
                    }
                    kind => write!(f, "{}[]", kind.name())?,
                },
            }
        }
        Ok(())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, true)
    }
}

impl ArrayShape {
    fn print(&self, f: &mut fmt::Formatter<'_>, layouts: bool) -> fmt::Result {
        write!(f, "{}[", self.element_type())?;
        list(f, self.dimensions())?;
        f.write_str("]")?;
        match self.layout() {
            Some(layout) if layouts && (layout.rank() > 0 || layout.has_properties()) => {
                write!(f, "{layout}")
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for ArrayShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, true)
    }
}

impl Layout {
    /// Whether anything but the order is printed.
    fn has_properties(&self) -> bool {
        !(self.tiles().is_empty()
            && self.tail_padding_alignment() == 1
            && self.element_size_in_bits() == 0
            && self.memory_space() == 0
            && self.split_configs().is_empty()
            && self.dynamic_shape_metadata_prefix_bytes() == 0
            && self.padded_dimensions().is_empty())
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        list(f, self.minor_to_major())?;
        if self.has_properties() {
            f.write_str(":")?;
        }
        if !self.tiles().is_empty() {
            f.write_str("T")?;
            self.tiles()
                .iter()
                .try_for_each(|tile| write!(f, "{tile}"))?;
        }
        if self.tail_padding_alignment() != 1 {
            write!(f, "L({})", self.tail_padding_alignment())?;
        }
        if self.element_size_in_bits() != 0 {
            write!(f, "E({})", self.element_size_in_bits())?;
        }
        if self.memory_space() != 0 {
            write!(f, "S({})", self.memory_space())?;
        }
        if !self.split_configs().is_empty() {
            f.write_str("SC")?;
            self.split_configs()
                .iter()
                .try_for_each(|split| write!(f, "{split}"))?;
        }
        if self.dynamic_shape_metadata_prefix_bytes() != 0 {
            write!(f, "M({})", self.dynamic_shape_metadata_prefix_bytes())?;
        }
        if !self.padded_dimensions().is_empty() {
            f.write_str("PAD(")?;
            list(f, self.padded_dimensions())?;
            match self.padding_value() {
                None | Some(PaddingValue::Zero) => f.write_str(")")?,
                Some(value) => write!(f, ";{value})")?,
            }
        }
        f.write_str("}")
    }
}

impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        list(f, self.dimensions())?;
        f.write_str(")")
    }
}

impl fmt::Display for TileDimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TileDimension::Size(size) => write!(f, "{size}"),
            TileDimension::Combine => f.write_str("*"),
        }
    }
}

impl fmt::Display for SplitConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}:", self.dimension())?;
        list(f, self.split_indices())?;
        f.write_str(")")
    }
}

/// The items with commas between them and no spaces.
fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            f.write_str(",")?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}
