//! A number in digits, each of a radix of its own.

/// The digits of a number in these radices, the most major first; of a number beyond the largest,
/// or below 0, those that its remainder has. XLA's `ToMixedRadix`.
///
/// `None` where a radix is not positive, or their product has more than 63 bits.
///
/// ```
/// use minormajor_core::to_mixed_radix;
///
/// assert_eq!(to_mixed_radix(23, &[2, 3, 4]).unwrap(), [1, 2, 3]);
/// assert_eq!(to_mixed_radix(24 + 5, &[2, 3, 4]).unwrap(), [0, 1, 1]);
/// assert_eq!(to_mixed_radix(5, &[2, 0]), None);
/// ```
#[doc(alias = "ToMixedRadix")]
pub fn to_mixed_radix(number: i64, radices: &[i64]) -> Option<Vec<i64>> {
    let product = radices.iter().try_fold(1_i64, |product, &radix| {
        product.checked_mul(radix).filter(|_| radix > 0)
    })?;
    let mut rest = number.rem_euclid(product);
    let mut digits = vec![0; radices.len()];
    for (digit, radix) in digits.iter_mut().zip(radices).rev() {
        *digit = rest % radix;
        rest /= radix;
    }
    Some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_make_up_the_number() {
        let radices = [3, 1, 5, 2];
        for number in 0..30 {
            let digits = to_mixed_radix(number, &radices).unwrap();
            let back = digits.iter().zip(radices);
            assert!(
                back.clone()
                    .all(|(digit, radix)| (0..radix).contains(digit))
            );
            assert_eq!(
                back.fold(0, |sum, (digit, radix)| sum * radix + digit),
                number
            );
            assert_eq!(to_mixed_radix(number - 30, &radices), Some(digits));
        }
        assert_eq!(to_mixed_radix(7, &[]), Some(vec![]));
    }

    #[test]
    fn bad_radices_have_no_digits() {
        for radices in [&[0][..], &[2, -3], &[1 << 40, 1 << 40]] {
            assert_eq!(to_mixed_radix(1, radices), None, "{radices:?}");
        }
    }
}
