//! What chunks are compressed with.

use std::fmt;
use std::str::FromStr;

use minormajor_core::nearest;

/// What the chunks of a `.zarr` folder are compressed with.
///
/// ```
/// use minormajor::files::Compressor;
///
/// assert_eq!("zstd:3".parse(), Ok(Compressor::Zstd(3)));
/// assert_eq!("gzip".parse::<Compressor>().unwrap().to_string(), "gzip:5");
/// let error = "gzip:12".parse::<Compressor>().unwrap_err();
/// assert_eq!(error.to_string(), "expected a level of gzip from 0 to 9, found 12");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compressor {
    /// Chunks are as large as their elements.
    None,
    /// Zstandard of this level, -131072 to 22; 0 is its own choice.
    Zstd(i32),
    /// Gzip of this level, 0 to 9.
    Gzip(u32),
    /// Blosc of this level, 0 to 9: Zstandard behind a shuffle of the elements' bytes.
    Blosc(u32),
}

/// Why a text is no [`Compressor`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CompressorError(String);

impl FromStr for Compressor {
    type Err = CompressorError;

    /// A name, and behind a colon a level: `zstd:3`, `gzip:9`, `blosc`, `none`.
    fn from_str(text: &str) -> Result<Compressor, CompressorError> {
        let (name, level) = match text.split_once(':') {
            Some((name, level)) => (name, Some(level)),
            None => (text, None),
        };
        let level = |least: i32, most: i32, default: i32| match level {
            None => Ok(default),
            Some(level) => {
                let number = level.parse().ok();
                number
                    .filter(|number| (least..=most).contains(number))
                    .ok_or_else(|| {
                        CompressorError(format!(
                            "expected a level of {name} from {least} to {most}, found {level}"
                        ))
                    })
            }
        };
        Ok(match name {
            "none" if text == name => Compressor::None,
            "zstd" => Compressor::Zstd(level(-131_072, 22, 0)?),
            "gzip" => Compressor::Gzip(level(0, 9, 5)? as u32),
            "blosc" => Compressor::Blosc(level(0, 9, 5)? as u32),
            _ => {
                let meant = nearest(name, ["none", "zstd", "gzip", "blosc"]);
                let meant =
                    meant.map_or_else(String::new, |name| format!("; did you mean {name}?"));
                return Err(CompressorError(format!(
                    "expected none, zstd, gzip or blosc, such as zstd:3, found {text}{meant}"
                )));
            }
        })
    }
}

impl fmt::Display for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compressor::None => f.write_str("none"),
            Compressor::Zstd(level) => write!(f, "zstd:{level}"),
            Compressor::Gzip(level) => write!(f, "gzip:{level}"),
            Compressor::Blosc(level) => write!(f, "blosc:{level}"),
        }
    }
}
