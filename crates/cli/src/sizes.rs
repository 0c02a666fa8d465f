//! Sizes as the TPU tools print them: `1.17G`, `640.0K`, `1.50M (1.0x expansion)`.

/// A number of bytes as the TPU tools print it: divided by 1024 in integers while it is 2^20 or
/// more, then once in floating point; one decimal for K, two beyond, none for bytes.
pub fn size(bytes: i128) -> String {
    const UNITS: [&str; 7] = ["K", "M", "G", "T", "P", "E", "Z"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let mut rest = bytes;
    let mut unit = 0;
    while rest >= 1 << 20 && unit + 1 < UNITS.len() {
        rest /= 1024;
        unit += 1;
    }
    let number = rest as f64 / 1024.0;
    let decimals = if unit == 0 { 1 } else { 2 };
    format!("{number:.decimals$}{}", UNITS[unit])
}

/// What padding adds to `dense` bytes, as the TPU tools print it; `None` where there is nothing
/// to compare with.
pub fn expansion(dense: i128, allocated: i128) -> Option<String> {
    let ratio = ratio(dense, allocated)?;
    Some(format!(
        "{} ({ratio:.1}x expansion)",
        size(allocated - dense)
    ))
}

/// Allocated over dense bytes; `None` without dense bytes.
pub fn ratio(dense: i128, allocated: i128) -> Option<f64> {
    (dense != 0).then(|| allocated as f64 / dense as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_tools() {
        for (bytes, printed) in [
            (0, "0B"),
            (512, "512B"),
            (1023, "1023B"),
            (1024, "1.0K"),
            (655_360, "640.0K"),
            ((1 << 20) - 1, "1024.0K"),
            (1 << 20, "1.00M"),
            (1_262_254_080, "1.17G"),
            (34_359_738_368, "32.00G"),
            (1 << 40, "1.00T"),
            (i128::from(i64::MAX), "8.00E"),
        ] {
            assert_eq!(size(bytes), printed, "{bytes}");
        }
    }

    #[test]
    fn expansions_are_those_of_the_tools() {
        let million = 1 << 20;
        assert_eq!(
            expansion(122 * million + million / 2, 124 * million).unwrap(),
            "1.50M (1.0x expansion)"
        );
        assert_eq!(expansion(0, 4), None);
        assert_eq!(expansion(24, 60).unwrap(), "36B (2.5x expansion)");
    }
}
