//! Units of a buffer that take some bits of a byte, the lowest first, or whole bytes.

/// The low bits of a byte.
pub(crate) fn low(byte: u8, bits: usize) -> u8 {
    byte & (0xff >> (8 - bits.min(8)))
}

/// The unit of at most 8 bits at a bit, in one byte.
pub(crate) fn get(from: &[u8], bit: usize, unit: usize) -> u8 {
    low(from[bit / 8] >> (bit % 8), unit)
}

/// Writes a unit of at most 8 bits, the low bits of a byte.
pub(crate) fn put(to: &mut [u8], bit: usize, unit: usize, byte: u8) {
    let place = &mut to[bit / 8];
    let mask = low(0xff, unit) << (bit % 8);
    *place = *place & !mask | low(byte, unit) << (bit % 8);
}

/// Writes a unit: the low bits of one byte, or whole bytes.
pub(crate) fn put_unit(to: &mut [u8], bit: usize, unit: usize, byte: impl Fn(usize) -> u8) {
    if unit < 8 {
        return put(to, bit, unit, byte(0));
    }
    for (i, place) in to[bit / 8..][..unit / 8].iter_mut().enumerate() {
        *place = byte(i);
    }
}
