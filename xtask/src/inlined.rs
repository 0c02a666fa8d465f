//! Whether the kernels are compiled for their instruction sets: an intrinsic that was left as a function of its own is
//! called from code that was not, with vectors in memory. That is right, and slow: such a kernel took twice its time
//! before anyone looked.
//!
//! A program's symbols say which functions it has.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::failure::Failure;

/// What precedes the name of an intrinsic's module in a symbol.
const MODULES: &[u8] = b"core_arch3x86";
/// Part of the symbols of every program that has kernels.
const KERNELS: &[u8] = b"minormajor_kernels";

/// Fails where a program has intrinsics of AVX, AVX2 or AVX-512 that are functions of their own.
///
/// # Errors
///
/// Those, and where the program can't be read or has no symbols.
pub fn check(program: &Path) -> Result<(), Failure> {
    let bytes = fs::read(program).map_err(|error| Failure::io("read", program, &error))?;
    if !bytes.windows(KERNELS.len()).any(|part| part == KERNELS) {
        let program = program.display();
        return Err(Failure::new(format!(
            "{program}: expected the symbols of kernels, found none"
        )));
    }
    let calls = left_over(&bytes);
    if calls.is_empty() {
        println!("All intrinsics are compiled into the kernels that use them.");
        return Ok(());
    }
    Err(Failure::new(format!(
        "these intrinsics are functions of their own, so what calls them was not compiled for its instruction set:\n  {}\n\
         `objdump -dC {}` shows who calls them; mostly a closure that needs `#[inline(always)]`, or to be a function",
        calls.into_iter().collect::<Vec<_>>().join("\n  "),
        program.display()
    )))
}

/// The intrinsics that are named in symbols, as `avx512f::_mm512_loadu_si512`.
fn left_over(bytes: &[u8]) -> BTreeSet<String> {
    let places = bytes.windows(MODULES.len()).enumerate();
    let ends = places.filter(|(_, part)| *part == MODULES);
    ends.filter_map(|(at, _)| {
        let (module, rest) = name(&bytes[at + MODULES.len()..])?;
        let (intrinsic, _) = name(rest)?;
        (module.starts_with("avx") && intrinsic.starts_with("_mm"))
            .then(|| format!("{module}::{intrinsic}"))
    })
    .collect()
}

/// A name with its length before it, as symbols have them, and what follows. Names that begin with `_` have another one
/// before in the newer kind of symbols.
fn name(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let length: usize = str::from_utf8(&bytes[..digits]).ok()?.parse().ok()?;
    let rest = &bytes[digits..];
    let rest = match rest {
        [b'_', rest @ ..] if rest.starts_with(b"_") => rest,
        rest => rest,
    };
    let (name, rest) = rest.split_at_checked(length)?;
    Some((str::from_utf8(name).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intrinsics_are_found_in_both_kinds_of_symbols() {
        let old = b"\0_ZN4core9core_arch3x867avx512f18_mm512_loadu_si51217h0123456789abcdefE\0";
        let new = b"\0_RNvNtNtNtCs1_4core9core_arch3x864avx219__mm256_extract_epi8\0";
        let found = left_over(&[&old[..], new].concat());
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(
            found,
            ["avx2::_mm256_extract_epi8", "avx512f::_mm512_loadu_si512"]
        );
    }

    #[test]
    fn others_are_not() {
        for symbol in [
            "_ZN4core9core_arch3x865xsave7_xgetbv17h0123456789abcdefE",
            "_ZN4core9core_arch3x865ssse317_mm_shuffle_epi817h0123456789abcdefE",
            "_ZN64_$LT$core..core_arch..x86..__m256i$u20$as$u20$core..fmt..Debug$GT$3fmt17hE",
            "core_arch3x86",
            "core_arch3x867avx512f99_mm",
        ] {
            assert_eq!(left_over(symbol.as_bytes()), BTreeSet::new(), "{symbol}");
        }
    }
}
