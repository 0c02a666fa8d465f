//! The header: 8 bytes that say its length, and an object in JSON.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::files::error::{Damage, excerpt};

/// Bytes of the number that says the header's length.
pub(super) const LENGTH: u64 = 8;

/// The longest header that is read or written, in bytes: the format's own limit.
pub(super) const MAX_HEADER: u64 = 100_000_000;

/// The key of the texts by name.
pub(super) const METADATA: &str = "__metadata__";

/// What a header says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// In the header's order, each name once.
    pub(super) tensors: Vec<Tensor>,
    pub(super) metadata: Vec<(String, String)>,
}

/// An array as the header says it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) dtype: String,
    pub(super) sizes: Vec<i64>,
    /// First byte and the one behind the last, from the end of the header.
    pub(super) range: [u64; 2],
}

/// The header's length, which the first bytes of a file of `file` bytes say.
pub(super) fn length(start: &[u8], file: u64) -> Result<u64, Damage> {
    let Ok(start) = <[u8; 8]>::try_from(start) else {
        let expected = "8 bytes with the header's length";
        return Err(Damage::new(0, expected, format!("{} bytes", start.len())));
    };
    let length = u64::from_le_bytes(start);
    // A file that starts so has 8 bytes.
    let most = MAX_HEADER.min(file - LENGTH);
    if length > most {
        let expected = format!("a header of at most {most} bytes");
        return Err(Damage::new(0, expected, format!("{length}")));
    }
    Ok(length)
}

impl Header {
    /// Reads the header's text.
    pub(super) fn read(text: &[u8]) -> Result<Header, Damage> {
        // The format asks for it; space before would be JSON too.
        if text.first() != Some(&b'{') {
            return Err(Damage::new(LENGTH, "{", excerpt(text, 20)));
        }
        serde_json::from_slice(text).map_err(|error| json_damage(&error, text, LENGTH))
    }

    /// The bytes before the arrays: the length, the object, and spaces up to a multiple of 8.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut text = String::from("{");
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        if !self.metadata.is_empty() {
            let pairs = self.metadata.iter();
            let pairs: Vec<_> = pairs
                .map(|(name, value)| format!("{}:{}", quoted(name), quoted(value)))
                .collect();
            text.push_str(&format!("\"{METADATA}\":{{{}}}", pairs.join(",")));
        }
        for tensor in &self.tensors {
            if text.len() > 1 {
                text.push(',');
            }
            let sizes: Vec<_> = tensor.sizes.iter().map(i64::to_string).collect();
            text.push_str(&format!(
                "{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                quoted(&tensor.name),
                tensor.dtype,
                sizes.join(","),
                tensor.range[0],
                tensor.range[1]
            ));
        }
        text.push('}');
        while !text.len().is_multiple_of(8) {
            text.push(' ');
        }
        [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
    }
}

/// Where a text that starts at a byte of its file is no JSON, or not the JSON that it should be.
pub(super) fn json_damage(error: &serde_json::Error, text: &[u8], start: u64) -> Damage {
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    let before: usize = lines
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    let at = start + before as u64 + error.column().saturating_sub(1) as u64;
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or_default();
    Damage::new(at, "the format's JSON", excerpt(said.as_bytes(), 120))
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Header, D::Error> {
        /// The entry of an array.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Entry {
            dtype: String,
            shape: Vec<i64>,
            data_offsets: [u64; 2],
        }

        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Header;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of arrays")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
                let mut header = Header::default();
                let mut names = HashSet::new();
                while let Some(name) = map.next_key::<String>()? {
                    if !names.insert(name.clone()) {
                        return Err(twice(&name));
                    }
                    if name == METADATA {
                        header.metadata = map.next_value::<Pairs>()?.0;
                        continue;
                    }
                    let entry: Entry = map.next_value()?;
                    header.tensors.push(Tensor {
                        name,
                        dtype: entry.dtype,
                        sizes: entry.shape,
                        range: entry.data_offsets,
                    });
                }
                Ok(header)
            }
        }

        input.deserialize_map(Entries)
    }
}

/// An object of texts, in its order, each name once.
#[derive(Debug, Default)]
pub(super) struct Pairs(pub(super) Vec<(String, String)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Pairs, D::Error> {
        struct Texts;

        impl<'de> Visitor<'de> for Texts {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Pairs::default();
                let mut names = HashSet::new();
                while let Some((name, value)) = map.next_entry::<String, String>()? {
                    if !names.insert(name.clone()) {
                        return Err(twice(&name));
                    }
                    pairs.0.push((name, value));
                }
                Ok(pairs)
            }
        }

        input.deserialize_map(Texts)
    }
}

fn twice<E: Error>(name: &str) -> E {
    E::custom(format_args!("the name {name:?} twice"))
}
