//! Sizes as the TPU tools print them: `1.17G`, `640.0K`, `1.50M (1.0x expansion)`.

const UNITS: [&str; 7] = ["K", "M", "G", "T", "P", "E", "Z"];

/// A number of bytes as the TPU tools print it: divided by 1024 in integers while it is 2^20 or
/// more, then once in floating point; one decimal for K, two beyond, none for bytes.
///
/// ```
/// assert_eq!(minormajor_core::sizes::size(1_262_254_080), "1.17G");
/// ```
pub fn size(bytes: i128) -> String {
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
///
/// ```
/// use minormajor_core::sizes::expansion;
///
/// assert_eq!(expansion(1 << 30, 1 << 35).unwrap(), "31.00G (32.0x expansion)");
/// ```
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

/// A size that a tool printed: a number with its unit, so any number of bytes near it.
///
/// ```
/// use minormajor_core::sizes::PrintedSize;
///
/// let printed = PrintedSize::parse("1.17G").unwrap();
/// assert!(printed.is(1_262_254_080) && !printed.is(1_200_000_000));
/// assert_eq!(PrintedSize::parse("unknown size"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrintedSize {
    /// In hundredths of the unit.
    hundredths: i64,
    /// 1024 to this power is the unit; 0 means bytes.
    power: u32,
}

impl PrintedSize {
    /// Reads a size such as `512B`, `640.0K` or `1.17G`; `None` if it is none.
    pub fn parse(text: &str) -> Option<PrintedSize> {
        let unit = text.chars().next_back()?;
        let number = &text[..text.len() - unit.len_utf8()];
        let power = match unit {
            'B' => 0,
            unit => 1 + UNITS.iter().position(|&name| name.starts_with(unit))? as u32,
        };
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(decimals) || decimals.len() > 2 || whole.len() > 15 {
            return None;
        }
        let tenfold = if decimals.len() == 1 { 10 } else { 1 };
        let hundredths =
            100 * whole.parse::<i64>().ok()? + tenfold * decimals.parse::<i64>().ok()?;
        Some(PrintedSize { hundredths, power })
    }

    /// The number of bytes that the text says literally; the true one is near it.
    pub fn bytes(self) -> i128 {
        i128::from(self.hundredths) * 1024_i128.pow(self.power) / 100
    }

    /// Whether `bytes` would be printed so, or within 0.01 of it in its unit.
    pub fn is(self, bytes: i128) -> bool {
        let unit = 1024_i128.pow(self.power);
        let off = (bytes * 100 - i128::from(self.hundredths) * unit).abs();
        // One decimal is printed of K, so that may be rounded by more.
        let rounded = PrintedSize::parse(&size(bytes)) == Some(self);
        rounded || (self.power > 0 && off <= unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_sizes_stand_for_what_prints_so() {
        for bytes in [0, 512, 1024, 1536, 655_360, 1_262_254_080, 1 << 40, 3 << 60] {
            let printed = PrintedSize::parse(&size(bytes)).unwrap();
            assert!(printed.is(bytes), "{bytes}");
            assert!((printed.bytes() - bytes).abs() * 100 <= bytes, "{bytes}");
            assert!(!printed.is(bytes * 2 + 1), "{bytes}");
        }
        let bytes = PrintedSize::parse("512B").unwrap();
        assert!(bytes.is(512) && !bytes.is(513));
        for text in [
            "",
            "B",
            "1",
            "1.2.3G",
            "1.234G",
            "-1G",
            "+1G",
            "1.G",
            ".5G",
            "1 G",
            "9999999999999999G",
        ] {
            assert_eq!(PrintedSize::parse(text), None, "{text}");
        }
    }

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
