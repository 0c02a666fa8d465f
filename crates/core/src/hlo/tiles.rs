//! The tiles that TPU compilers use, for reports that print none.

use crate::ElementType;
use crate::array::ArrayShape;
use crate::layout::{Layout, Tile};
use crate::sizes::PrintedSize;

/// The same array under each of the usual TPU tiles that make its size what was printed, the
/// most usual first. Its own layout has no tiles.
///
/// The second most minor dimension is cut by 8, or by 2 or 4 where it is that small; narrow
/// elements lie interleaved in words of 32 bits; `pred` may be stored in 32 bits; vectors and
/// scalars are padded to 128 or more.
///
/// ```
/// use minormajor_core::hlo::usual_tiles;
/// use minormajor_core::{Shape, sizes::PrintedSize};
///
/// let shape: Shape = "f32[256,512,128,2]{3,2,1,0}".parse()?;
/// let tiled = usual_tiles(shape.as_array()?, PrintedSize::parse("8.00G").unwrap());
/// assert_eq!(tiled[0].to_string(), "f32[256,512,128,2]{3,2,1,0:T(8,128)}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn usual_tiles(array: &ArrayShape, printed: PrintedSize) -> Vec<ArrayShape> {
    let Some(layout) = array.layout() else {
        return Vec::new();
    };
    let in_layout = |(tiles, bits): (Vec<Tile>, i64)| {
        let tiled = layout.clone().with_tiles(tiles).ok()?;
        let tiled = tiled.with_element_size_in_bits(bits).ok()?;
        array.with_layout(tiled).ok()
    };
    let explains = |tiled: &ArrayShape| {
        let bytes = tiled.allocated_bytes();
        bytes.is_some_and(|bytes| printed.is(bytes.into()))
    };
    let candidates = candidates(array, layout).into_iter();
    candidates.filter_map(in_layout).filter(explains).collect()
}

/// The usual tiles for an array, with the bits of an element, the most usual first.
fn candidates(array: &ArrayShape, layout: &Layout) -> Vec<(Vec<Tile>, i64)> {
    let own = layout.element_size_in_bits();
    let is_pred = array.element_type() == ElementType::Pred;
    let bits = match own {
        0 => 8 * i64::from(array.element_type().byte_width()),
        bits => bits,
    };
    // How many elements lie interleaved in a word of 32 bits.
    let packed = if (1..32).contains(&bits) {
        32 / bits
    } else {
        1
    };
    let mut candidates = Vec::new();
    match layout.minor_to_major() {
        [] | [_] => {
            let lengths = [1024, 512, 256, 128];
            if packed > 1 {
                let words = [Tile::new([128]), Tile::new([packed, 1])];
                let tiles = |length| [&[Tile::new([length])], &words[..]].concat();
                candidates.extend(lengths.map(|length| (tiles(length), own)));
            }
            let plain = |bits| lengths.map(|length| (vec![Tile::new([length])], bits));
            candidates.extend(plain(own));
            if is_pred && own == 0 {
                candidates.extend(plain(32));
            }
        }
        [_, second, ..] => {
            let rows = match array.dimensions()[*second].bound() {
                Some(..=2) => [2, 8, 4, 1],
                Some(3..=4) => [4, 8, 2, 1],
                _ => [8, 4, 2, 1],
            };
            if packed > 1 {
                let tiles = |rows| vec![Tile::new([rows, 128]), Tile::new([packed, 1])];
                candidates.extend(rows.map(|rows| (tiles(rows), own)));
                candidates.push((tiles(8 * packed), own));
            }
            let plain = |bits| rows.map(|rows| (vec![Tile::new([rows, 128])], bits));
            candidates.extend(plain(own));
            if is_pred && own == 0 {
                candidates.extend(plain(32));
            }
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    /// The tiles found, as they are printed in a layout.
    fn found(shape: &str, printed: &str) -> Vec<String> {
        let shape: Shape = shape.parse().unwrap();
        let tiled = usual_tiles(
            shape.as_array().unwrap(),
            PrintedSize::parse(printed).unwrap(),
        );
        let text = |shape: &ArrayShape| {
            let text = shape.layout().unwrap().to_string();
            text[text.find('T').unwrap()..]
                .trim_end_matches('}')
                .to_owned()
        };
        tiled.iter().map(text).collect()
    }

    #[test]
    fn the_usual_tiles_are_found() {
        assert_eq!(found("f32[128,3]{1,0}", "64.0K")[0], "T(8,128)");
        assert_eq!(
            found("bf16[100,10,10]{2,1,0}", "400.0K")[0],
            "T(8,128)(2,1)"
        );
        assert_eq!(found("s8[100,10,10]{2,1,0}", "200.0K")[0], "T(8,128)(4,1)");
        assert_eq!(found("s8[100,10,10]{2,1,0}", "400.0K"), ["T(32,128)(4,1)"]);
        assert_eq!(found("f32[1000,1,100]{2,1,0}", "1000.0K")[0], "T(2,128)");
        assert_eq!(found("f32[1000,3,100]{2,1,0}", "1.95M")[0], "T(4,128)");
        assert_eq!(found("pred[100,10,10]{2,1,0}", "800.0K"), ["T(8,128)E(32)"]);
        assert_eq!(
            found("s4[1000,1000]{1,0:E(4)}", "500.0K")[0],
            "T(8,128)(8,1)E(4)"
        );
        assert_eq!(found("f32[100]{0}", "4.0K"), ["T(1024)"]);
        assert_eq!(found("u8[4096]{0}", "4.0K")[0], "T(1024)(128)(4,1)");
        assert_eq!(found("f32[]", "512B"), ["T(128)"]);
        assert_eq!(found("f32[128,3]{1,0}", "63.0K"), [""; 0]);
    }
}
