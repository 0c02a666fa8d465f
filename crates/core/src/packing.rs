//! Values narrower than a byte, several to a byte and back.

/// Why values can't be packed or unpacked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackingError {
    /// A width that does not divide a byte.
    #[error("values of {bits} bits are not packed into bytes; expected 1, 2 or 4")]
    #[allow(missing_docs)]
    Bits { bits: u32 },
    /// More or fewer packed bytes than the values take.
    #[error("{values} values of {bits} bits take {expected} bytes packed, found {found}")]
    #[allow(missing_docs)]
    Length {
        values: usize,
        bits: u32,
        expected: usize,
        found: usize,
    },
}

/// Packs values of 1, 2 or 4 bits, each given in the low bits of a byte, into whole bytes: value
/// 0 in the lowest bits of byte 0. Higher bits of a value are dropped; those of the last byte
/// that no value takes are zero.
///
/// # Errors
///
/// [`PackingError::Bits`] for another width.
///
/// ```
/// assert_eq!(minormajor_core::pack_bits(4, &[0x1, 0xf2, 0x3])?, [0x21, 0x03]);
/// # Ok::<(), minormajor_core::PackingError>(())
/// ```
#[doc(alias = "PackIntN")]
pub fn pack_bits(bits: u32, values: &[u8]) -> Result<Vec<u8>, PackingError> {
    let (per_byte, mask) = geometry(bits)?;
    let pack = |group: &[u8]| {
        let values = group.iter().rev();
        values.fold(0u8, |byte, value| byte << bits | (value & mask))
    };
    Ok(values.chunks(per_byte).map(pack).collect())
}

/// The values of 1, 2 or 4 bits that [`pack_bits`] packed, each in the low bits of a byte; with
/// `signed`, the bits above repeat the highest, so the byte is the value as an `i8`.
///
/// # Errors
///
/// [`PackingError::Bits`] for another width, [`PackingError::Length`] unless `packed` has the
/// bytes of `count` values.
///
/// ```
/// use minormajor_core::unpack_bits;
///
/// assert_eq!(unpack_bits(4, &[0x21, 0x0e], 3, false)?, [1, 2, 0xe]);
/// assert_eq!(unpack_bits(4, &[0x21, 0x0e], 3, true)?, [1, 2, 0xfe]);
/// # Ok::<(), minormajor_core::PackingError>(())
/// ```
#[doc(alias = "UnpackIntN")]
pub fn unpack_bits(
    bits: u32,
    packed: &[u8],
    count: usize,
    signed: bool,
) -> Result<Vec<u8>, PackingError> {
    let (per_byte, mask) = geometry(bits)?;
    let expected = count.div_ceil(per_byte);
    if packed.len() != expected {
        return Err(PackingError::Length {
            values: count,
            bits,
            expected,
            found: packed.len(),
        });
    }
    let value = |place: usize| {
        let value = packed[place / per_byte] >> (bits as usize * (place % per_byte)) & mask;
        match signed && value >> (bits - 1) == 1 {
            true => value | !mask,
            false => value,
        }
    };
    Ok((0..count).map(value).collect())
}

/// Values in a byte, and the mask of one.
fn geometry(bits: u32) -> Result<(usize, u8), PackingError> {
    match bits {
        1 | 2 | 4 => Ok(((8 / bits) as usize, (1 << bits) - 1)),
        _ => Err(PackingError::Bits { bits }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XLA: UtilTest.PackInt4
    /// XLA: UtilTest.PackInt2
    /// XLA: UtilTest.PackInt1
    #[test]
    fn low_bits_first() {
        assert_eq!(pack_bits(4, &[1, 2, 3, 4]), Ok(vec![0x21, 0x43]));
        assert_eq!(pack_bits(4, &[0xf1, 0x52, 0xff]), Ok(vec![0x21, 0x0f]));
        assert_eq!(pack_bits(2, &[1, 2, 3, 0, 2]), Ok(vec![0b00_11_10_01, 2]));
        assert_eq!(
            pack_bits(1, &[1, 0, 0, 1, 1, 0, 1, 0, 1]),
            Ok(vec![0b0101_1001, 1])
        );
        assert_eq!(pack_bits(4, &[]), Ok(vec![]));
        assert_eq!(pack_bits(3, &[1]), Err(PackingError::Bits { bits: 3 }));
    }

    /// XLA: UtilTest.UnpackInt4
    /// XLA: UtilTest.UnpackInt2
    /// XLA: UtilTest.UnpackInt1
    #[test]
    fn unpacked_is_what_was_packed() {
        for bits in [1, 2, 4] {
            let values: Vec<u8> = (0..19).map(|i| (i * 11 + 3) % (1 << bits)).collect();
            for count in 0..=values.len() {
                let values = &values[..count];
                let packed = pack_bits(bits, values).unwrap();
                assert_eq!(unpack_bits(bits, &packed, count, false).unwrap(), values);
                let signed = unpack_bits(bits, &packed, count, true).unwrap();
                for (&value, &signed) in values.iter().zip(&signed) {
                    let shift = 8 - bits;
                    assert_eq!(signed as i8, (value << shift) as i8 >> shift);
                }
            }
        }
        assert_eq!(
            unpack_bits(2, &[0, 0], 4, false).unwrap_err().to_string(),
            "4 values of 2 bits take 1 bytes packed, found 2"
        );
        assert!(unpack_bits(8, &[0], 1, false).is_err());
    }
}
