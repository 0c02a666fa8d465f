//! Amounts of memory in arguments.

use minormajor::nearest;

use crate::error::RequestError;

/// The units, and how many bytes each is.
const UNITS: [(&str, usize); 9] = [
    ("", 1),
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1000),
    ("KB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
];

/// Bytes: a number, alone or with a unit.
pub fn bytes(text: &str) -> Result<usize, RequestError> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        let error = "expected bytes, such as 0, 4096, 64KiB, 1MiB or 2GB";
        return Err(RequestError::new(text, 1, error));
    }
    let unit = unit.trim_start();
    let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        let column = text[..text.len() - unit.len()].chars().count() + 1;
        let names = || UNITS.iter().map(|(name, _)| *name);
        let meant = names()
            .find(|name| name.eq_ignore_ascii_case(unit))
            .or_else(|| nearest(unit, names()));
        let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
        let error = format!("expected KiB, MiB, GiB, kB, MB, GB or nothing behind bytes{meant}");
        return Err(RequestError::new(text, column, error));
    };
    let bytes = number.parse().ok();
    bytes
        .and_then(|number: usize| number.checked_mul(*scale))
        .ok_or_else(|| RequestError::new(text, 1, "is more than any machine has"))
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn amounts_have_units_or_none() {
        for (text, expected) in [
            ("0", 0),
            ("4096", 4096),
            ("7B", 7),
            ("64KiB", 65536),
            ("1 MiB", 1 << 20),
            ("3GiB", 3 << 30),
            ("5kB", 5000),
            ("2GB", 2_000_000_000),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_has_a_column_and_what_was_meant() {
        for (text, column, said) in [
            ("", 1, "expected bytes, such as"),
            ("MiB", 1, "expected bytes, such as"),
            ("-1", 1, "expected bytes, such as"),
            ("1.5MiB", 2, "nothing behind bytes"),
            ("1mib", 2, "did you mean MiB?"),
            ("64 KIb", 4, "did you mean KiB?"),
            ("64KiBs", 3, "did you mean KiB?"),
            ("64K", 3, "nothing behind bytes"),
            ("99999999999999999999", 1, "more than any machine has"),
            ("99999999999999GiB", 1, "more than any machine has"),
        ] {
            let error = bytes(text).unwrap_err();
            assert_eq!(error.column, Some(column), "{text}: {}", error.error);
            assert!(error.error.contains(said), "{text}: {}", error.error);
        }
    }
}
