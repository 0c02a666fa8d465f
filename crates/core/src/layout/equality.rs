//! Equality of layouts that overlooks some of their parts.

use super::Layout;

/// How to compare two layouts: everything counts unless told to be ignored.
///
/// `==` is the same as nothing ignored. XLA's never compares the metadata prefix `M(..)`; here
/// it counts until [ignored](Self::ignore_dynamic_shape_metadata_prefix).
///
/// ```
/// use minormajor_core::{Layout, LayoutEquality};
///
/// let tiled: Layout = "{1,0:T(8,128)S(1)}".parse()?;
/// let plain: Layout = "{1,0:S(1)}".parse()?;
/// assert!(!LayoutEquality::exact().equal(&tiled, &plain));
/// assert!(LayoutEquality::exact().ignore_tiles().equal(&tiled, &plain));
/// # Ok::<(), minormajor_core::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(alias = "Equal")]
pub struct LayoutEquality {
    tiles: Tiles,
    tail_padding: bool,
    element_size: bool,
    memory_space: bool,
    split_configs: bool,
    metadata_prefix: bool,
    padding: bool,
}

/// When tiles count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tiles {
    #[default]
    Always,
    WhereBoth,
    Never,
}

impl LayoutEquality {
    /// Everything counts.
    pub const fn exact() -> Self {
        LayoutEquality {
            tiles: Tiles::Always,
            tail_padding: false,
            element_size: false,
            memory_space: false,
            split_configs: false,
            metadata_prefix: false,
            padding: false,
        }
    }

    /// Only the order counts: everything else is ignored.
    pub const fn minor_to_major_only() -> Self {
        LayoutEquality {
            tiles: Tiles::Never,
            tail_padding: true,
            element_size: true,
            memory_space: true,
            split_configs: true,
            metadata_prefix: true,
            padding: true,
        }
    }

    /// Ignores tiles, `T(..)`.
    pub const fn ignore_tiles(mut self) -> Self {
        self.tiles = Tiles::Never;
        self
    }

    /// Ignores tiles, `T(..)`, where one of the layouts has none.
    #[doc(alias = "ignore_fully_empty_tiling")]
    pub const fn ignore_tiles_where_absent(mut self) -> Self {
        self.tiles = Tiles::WhereBoth;
        self
    }

    /// Ignores the tail padding alignment, `L(..)`.
    pub const fn ignore_tail_padding_alignment(mut self) -> Self {
        self.tail_padding = true;
        self
    }

    /// Ignores the element size, `E(..)`.
    pub const fn ignore_element_size(mut self) -> Self {
        self.element_size = true;
        self
    }

    /// Ignores the memory space, `S(..)`.
    pub const fn ignore_memory_space(mut self) -> Self {
        self.memory_space = true;
        self
    }

    /// Ignores split configurations, `SC(..)`.
    pub const fn ignore_split_configs(mut self) -> Self {
        self.split_configs = true;
        self
    }

    /// Ignores the metadata prefix, `M(..)`, as XLA always does.
    pub const fn ignore_dynamic_shape_metadata_prefix(mut self) -> Self {
        self.metadata_prefix = true;
        self
    }

    /// Ignores padded widths and the padding value, `PAD(..)`.
    pub const fn ignore_padding(mut self) -> Self {
        self.padding = true;
        self
    }

    /// Whether the layouts are equal in all that counts.
    pub fn equal(self, a: &Layout, b: &Layout) -> bool {
        let tiles_count = match self.tiles {
            Tiles::Always => true,
            Tiles::WhereBoth => !a.tiles.is_empty() && !b.tiles.is_empty(),
            Tiles::Never => false,
        };
        a.minor_to_major == b.minor_to_major
            && (!tiles_count || a.tiles == b.tiles)
            && (self.tail_padding || a.tail_padding_alignment == b.tail_padding_alignment)
            && (self.element_size || a.element_size_in_bits == b.element_size_in_bits)
            && (self.memory_space || a.memory_space == b.memory_space)
            && (self.split_configs || a.split_configs == b.split_configs)
            && (self.metadata_prefix
                || a.dynamic_shape_metadata_prefix_bytes == b.dynamic_shape_metadata_prefix_bytes)
            && (self.padding
                || (a.padded_dimensions == b.padded_dimensions
                    && a.padding_value == b.padding_value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> Layout {
        text.parse().unwrap()
    }

    /// XLA: LayoutTest.Equality
    #[test]
    fn every_part_counts_until_ignored() {
        let exact = LayoutEquality::exact();
        let plain = layout("{1,0}");
        assert_ne!(plain, layout("{0,1}"));
        assert_ne!(plain, layout("{0}"));
        assert!(!LayoutEquality::minor_to_major_only().equal(&plain, &layout("{0,1}")));
        for (other, ignoring) in [
            ("{1,0:T(2)}", exact.ignore_tiles()),
            ("{1,0:L(2)}", exact.ignore_tail_padding_alignment()),
            ("{1,0:E(2)}", exact.ignore_element_size()),
            ("{1,0:S(2)}", exact.ignore_memory_space()),
            ("{1,0:SC(0:2)}", exact.ignore_split_configs()),
            ("{1,0:M(2)}", exact.ignore_dynamic_shape_metadata_prefix()),
            ("{1,0:PAD(2,3;one)}", exact.ignore_padding()),
        ] {
            let other = layout(other);
            assert_ne!(plain, other);
            assert!(!exact.equal(&plain, &other));
            assert!(exact.equal(&other, &other));
            assert!(ignoring.equal(&plain, &other) && ignoring.equal(&other, &plain));
            assert!(LayoutEquality::minor_to_major_only().equal(&plain, &other));
            // No other part is ignored along with it.
            let moved = layout("{1,0:T(3)L(3)E(3)S(3)SC(0:3)M(3)PAD(3,3;lowest)}");
            assert!(!ignoring.equal(&other, &moved));
        }
        assert_ne!(layout("{1,0:T(2)(3)}"), layout("{1,0:T(3)(2)}"));
    }

    /// XLA: `f32[2]{0:M(4)} == f32[2]{0}` holds. Ours: it does not, unless told to ignore the
    /// prefix.
    #[test]
    fn the_metadata_prefix_counts() {
        let (with, without) = (layout("{0:M(4)}"), layout("{0}"));
        assert_ne!(with, without);
        let xla = LayoutEquality::exact().ignore_dynamic_shape_metadata_prefix();
        assert!(xla.equal(&with, &without));
    }
}
