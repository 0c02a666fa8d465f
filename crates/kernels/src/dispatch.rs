//! From the instruction set that a value proves to the kernels compiled for it.

use crate::apart::{self, Apart};
use crate::gather::{self, Gathers};
use crate::hop::{self, Hop};
use crate::in_place::swap::{self, Strip};
use crate::isa::{Isa, Kind};
use crate::listed::{self, Listed};
use crate::plane::{self, At, Plane};
use crate::program::{self, Batch, OutOfBounds};
use crate::recode::{self, Mix, Place, Way};
use crate::repeat::{self, Repeat};
use crate::runs::{self, Rows, Runs};
use crate::sequence::stage;
use crate::sift;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::simd::NativeSet;
use crate::slim::{self, Slim};
use crate::spaced::{self, Spaced};
use crate::steps::{self, Steps};
use crate::weave::{self, Weave};
use crate::zip::{self, Zip};

use sets::Portable;
#[cfg(target_arch = "x86_64")]
use sets::{Avx2Set, Avx512Set, VbmiSet};

/// The sets that kernels are compiled for: each takes a compiler a minute or more. In place of one that a build leaves out
/// stands the target's own, for which they are compiled anyway; it is not [available](crate::Isa::available) then. Fuzzing and
/// models of threads look at other code than kernels, and are built for the target's own alone; tests, for what the machine has that
/// they are built on (`build.rs`).
pub(crate) mod sets {
    /// Whether there is a portable one. Where the target has vectors of its own it is there for tests alone.
    pub(crate) const PORTABLE: bool = cfg!(not(all(
        any(target_arch = "x86_64", target_arch = "aarch64"),
        any(not(debug_assertions), fuzzing, loom),
    )));
    /// Whether there are those that a CPU may lack.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const AVX2: bool = cfg!(not(any(fuzzing, loom)));
    #[cfg(target_arch = "x86_64")]
    pub(crate) const AVX512: bool = cfg!(not(any(fuzzing, loom, without_avx512)));

    #[cfg(all(
        any(target_arch = "x86_64", target_arch = "aarch64"),
        any(not(debug_assertions), fuzzing, loom),
    ))]
    pub(super) use crate::simd::NativeSet as Portable;
    #[cfg(not(all(
        any(target_arch = "x86_64", target_arch = "aarch64"),
        any(not(debug_assertions), fuzzing, loom),
    )))]
    pub(super) use crate::simd::Portable;

    #[cfg(all(target_arch = "x86_64", any(fuzzing, loom)))]
    pub(super) use crate::simd::NativeSet as Avx2Set;
    #[cfg(all(target_arch = "x86_64", any(fuzzing, loom, without_avx512)))]
    pub(super) use crate::simd::NativeSet as Avx512Set;
    #[cfg(all(target_arch = "x86_64", not(any(fuzzing, loom))))]
    pub(super) use crate::simd::x86::Avx2Set;
    #[cfg(all(target_arch = "x86_64", not(any(fuzzing, loom, without_avx512))))]
    pub(super) use crate::simd::x86::Avx512Set;
    #[cfg(target_arch = "x86_64")]
    pub(super) use crate::simd::x86::VbmiSet;
}

/// Calls a function that is generic over the set.
macro_rules! with_set {
    ($isa:expr, $module:ident::$kernel:ident($($argument:expr),*)) => {
        match $isa.kind() {
            Kind::Portable => $module::$kernel::<Portable>($($argument),*),
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            Kind::Native => $module::$kernel::<NativeSet>($($argument),*),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => $module::$kernel::<Avx2Set>($($argument),*),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 | Kind::Avx512Vbmi => $module::$kernel::<Avx512Set>($($argument),*),
        }
    };
}

/// Moves a box block by block.
///
/// # Safety
///
/// As [`hop::run`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn hop(isa: Isa, hop: &Hop, at: &At) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, hop::run(hop, at)) }
}

/// Moves a plane.
///
/// # Safety
///
/// As [`plane::run`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn plane(isa: Isa, plane: &Plane, width: usize, at: &At) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, plane::run(plane, width, at)) }
}

/// Moves runs with ordinary stores.
///
/// # Safety
///
/// As [`runs::rows`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn rows(isa: Isa, rows: &Rows, at: &At) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, runs::rows(rows, at)) }
}

/// Moves runs with streaming stores.
///
/// # Safety
///
/// As [`runs::run`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn runs(isa: Isa, runs: &Runs, at: &At) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, runs::run(runs, at)) }
}

/// Moves runs that few others lie beside.
///
/// # Safety
///
/// As [`apart::run`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn apart(isa: Isa, runs: &Apart, at: &At) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, apart::run(runs, at)) }
}

/// Moves a plane of few columns.
///
/// # Safety
///
/// As [`slim::run`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn slim(isa: Isa, slim: &Slim, width: usize, at: &At) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, slim::run(slim, width, at)) }
}

/// Joins few rows to columns with a gap behind each.
///
/// # Safety
///
/// As [`spaced::run`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn spaced(isa: Isa, spaced: &Spaced, width: usize, at: &At) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, spaced::run(spaced, width, at)) }
}

/// Interleaves or separates rows.
///
/// # Safety
///
/// As [`weave::run`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn weave(isa: Isa, weave: &Weave, at: &At) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if weave.picks() && matches!(isa.kind(), Kind::Avx512Vbmi) {
            return weave::pick::<VbmiSet>(weave, at);
        }
        with_set!(isa, weave::run(weave, at))
    }
}

/// Interleaves or separates two or four rows.
///
/// # Safety
///
/// As [`zip::run`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn zip(isa: Isa, zip: &Zip, at: &At) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, zip::run(zip, at)) }
}

/// Puts blocks together.
///
/// # Safety
///
/// As [`gather::run`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn gather(isa: Isa, gathers: &Gathers, at: &At) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, gather::run(gathers, at)) }
}

/// Puts blocks of runs in order.
///
/// # Safety
///
/// As [`listed::run`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn listed(isa: Isa, listed: &Listed, at: &At) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, listed::run(listed, at)) }
}

/// Picks blocks.
///
/// # Safety
///
/// As [`sift::run`]; `isa` [picks](Isa::picks).
pub(crate) unsafe fn sift(isa: Isa, sift: &sift::Sift, at: &At) {
    debug_assert!(isa.picks());
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        sift::run::<VbmiSet>(sift, at);
    }
    // No other set picks, so nothing is sifted.
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (sift, at);
}

/// Bytes of the widest register.
pub(crate) fn widest(isa: Isa) -> usize {
    with_set!(isa, gather::widest())
}

/// Repeats an element.
///
/// # Safety
///
/// As [`repeat::repeat`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn repeat(isa: Isa, repeat: &Repeat, at: &At) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, repeat::repeat(repeat, at)) }
}

/// Does what is left to do beside a kernel.
///
/// # Safety
///
/// As [`stage::finish`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn aside(isa: Isa, aside: &mut stage::Aside) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, stage::finish(aside)) }
}

/// Moves lines of elements.
///
/// # Safety
///
/// As [`steps::run`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn steps(isa: Isa, steps: &Steps, at: &At) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, steps::run(steps, at)) }
}

/// Swaps what lies opposite.
///
/// # Safety
///
/// As [`swap::run`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn swap(isa: Isa, strip: Strip) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, swap::run(strip)) }
}

/// Writes runs of elements anew.
///
/// # Safety
///
/// As [`recode::rewrite`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn rewrite(
    isa: Isa,
    way: Way,
    runs: recode::Runs,
    from: Place<*const u8>,
    to: Place<*mut u8>,
) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, recode::rewrite(way, runs, from, to)) }
}

/// Moves a panel of packed elements.
///
/// # Safety
///
/// As [`recode::panel`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn panel(isa: Isa, run: recode::PanelRun<'_>) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, recode::panel(run)) }
}

/// Moves few rows of packed elements to runs, or the other way round.
///
/// # Safety
///
/// As [`recode::braid`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn braid(isa: Isa, run: recode::BraidRun<'_>) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, recode::braid(run)) }
}

/// Reads rows of memory into a stage and mixes them.
///
/// # Safety
///
/// As [`recode::read_mixed`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn read_mixed(
    isa: Isa,
    mix: &Mix,
    from: Place<*const u8>,
    to: *mut u8,
    next: isize,
) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, recode::read_mixed(mix, from, to, next)) }
}

/// Mixes rows of a stage and writes them to memory.
///
/// # Safety
///
/// As [`recode::write_mixed`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn write_mixed(
    isa: Isa,
    mix: &Mix,
    from: *const u8,
    to: Place<*mut u8>,
    piece: *mut u8,
    stream: bool,
) {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, recode::write_mixed(mix, from, to, piece, stream)) }
}

/// Runs a program on a batch.
///
/// # Safety
///
/// As [`program::run`]; that the CPU has the set is proved by `isa`.
pub(crate) unsafe fn program(isa: Isa, batch: Batch<'_, '_>) -> Result<usize, OutOfBounds> {
    // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
    unsafe { with_set!(isa, program::run(batch)) }
}
