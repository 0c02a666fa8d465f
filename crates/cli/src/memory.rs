//! Amounts of memory in arguments.

/// Bytes: a number, alone or with a unit.
pub fn bytes(text: &str) -> Result<usize, String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit.trim_start() {
        "" | "B" => Some(1),
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        "GiB" => Some(1 << 30),
        "kB" | "KB" => Some(1000),
        "MB" => Some(1_000_000),
        "GB" => Some(1_000_000_000),
        _ => None,
    };
    let bytes = scale.and_then(|scale: usize| number.parse::<usize>().ok()?.checked_mul(scale));
    bytes.ok_or_else(|| "expected bytes, such as 0, 4096, 64KiB, 1MiB or 2GB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn amounts_have_units_or_none() {
        for (text, expected) in [
            ("0", Some(0)),
            ("4096", Some(4096)),
            ("7B", Some(7)),
            ("64KiB", Some(65536)),
            ("1 MiB", Some(1 << 20)),
            ("3GiB", Some(3 << 30)),
            ("5kB", Some(5000)),
            ("2GB", Some(2_000_000_000)),
            ("", None),
            ("MiB", None),
            ("-1", None),
            ("1.5MiB", None),
            ("1mib", None),
            ("99999999999999999999", None),
            ("99999999999999GiB", None),
        ] {
            assert_eq!(bytes(text).ok(), expected, "{text}");
        }
    }
}
