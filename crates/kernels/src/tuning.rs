//! What a caller may decide about a move instead of leaving it to the kernels.

use std::sync::OnceLock;

use crate::isa::Isa;

/// Which stores write the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Stores {
    /// Streaming ones if the bytes moved are more than a part of the last-level cache.
    #[default]
    Auto,
    /// Ordinary ones: the destination passes through the caches.
    Plain,
    /// Streaming ones of whole cache lines, which leave the caches alone.
    Streaming,
}

/// Choices for [`Move::tuned`](crate::Move::tuned) and [`Fill::tuned`](crate::Fill::tuned). The default is what `new`
/// uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tuning {
    /// The instruction set.
    pub isa: Isa,
    /// The kind of stores.
    pub stores: Stores,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            isa: Isa::best(),
            stores: Stores::Auto,
        }
    }
}

impl Tuning {
    /// Whether a job that moves, or touches on a side, this many bytes, all threads together, streams.
    pub(crate) fn streams(&self, bytes: usize) -> bool {
        match self.stores {
            Stores::Auto => bytes >= Caches::of_this_cpu().streams_from(),
            Stores::Plain => false,
            Stores::Streaming => true,
        }
    }

    /// Whether threads that share a job of this size, which one alone would stream, leave it in the caches: each brings its
    /// own, and two together wait less for lines that are not there. On a Granite Rapids, among other moves of that size,
    /// f32[32,64,56,56] to T(16,1,1) took one thread 2.5 ms, and 2.0 streamed; two 1.2, and 1.8 streamed. On a Zen 5
    /// f32[8,256,28,28] to NHWC took two threads 161 us streamed, as much as one, and 84 not; with another array of that
    /// size in turn 175 and 117, with three others 180 and 200. On a Zen 4 229 and 91.
    pub(crate) fn keeps(&self, bytes: usize) -> bool {
        let from = Caches::of_this_cpu().streams_from();
        let below = match Maker::of_this_cpu() {
            Maker::Intel => from / 3 * 4,
            Maker::Zen3 | Maker::Zen | Maker::Zen5 => 2 * from,
            Maker::Other => 0,
        };
        self.stores == Stores::Auto && bytes < below
    }

    /// Bytes on a side below which a single thread, too, leaves in the caches what is written so. Both sides are then up to two
    /// thirds of the last-level cache.
    ///
    /// us on one thread of a Zen 5, streamed and not: u8[64,224,224,3] to PAD(64,230,230,3) 372 and 195; with another array of that
    /// size in turn 364 and 317, with three others 432 and 402. Back 230 and 175; f32[1001,100,16]{2,0,1} from row-major 290 and
    /// 115, f32[1200,1600] from T(8,128) 172 and 145. With the time in which another program writes such a source and reads such a
    /// destination, f32[1001,100,16] 529 and 290; with another array in turn 597 and 551, with three others 661 and 718. Columns
    /// that cut lines, as they are put together in whole lines before they are streamed: f32[1500,1500] to columns 427 and 246, 469
    /// and 451, 537 and 587.
    ///
    /// A Zen 4 gains by transposes, too: f32[1001,1803] to columns 506 and 251,
    /// bf16[2001,2001] 659 and 370, f64[1000,1000] 284 and 231, f32[8,256,28,28] to NHWC 239 and 183, f32[1501,1403] from transposed
    /// tiles 1300 and 328. With that other program: the last but one 638 and 415, with another array in turn 657 and 723, with three
    /// others 809 and 1121; f32[1500,1500] to columns 962 and 642, 1071 and 1090, 1395 and 1351. Of 20 sequences with padding or
    /// tiles geometric means, by one thread and two, of 909 and 967 with another array in turn, 1102 and 1332 with two others. Whole
    /// lines of 10 MB are faster streamed: f32[1568,1568] to columns 353 and 399.
    pub(crate) fn kept_by_one(&self, written: Written) -> usize {
        let from = Caches::of_this_cpu().streams_from();
        match (self.stores, Maker::of_this_cpu(), written) {
            (Stores::Auto, Maker::Zen3 | Maker::Zen | Maker::Zen5, Written::Ordered) => 2 * from,
            (Stores::Auto, Maker::Zen3 | Maker::Zen, Written::Cut) => 2 * from,
            (Stores::Auto, Maker::Zen3 | Maker::Zen, Written::Lines) => from / 3 * 5,
            _ => 0,
        }
    }

    /// Whether what is [repeated](crate::repeat), of so many bytes of the destination, is left in the caches, by one thread or by several. The
    /// source takes next to nothing of them, so there is room for more than of other moves.
    ///
    /// ms on a Zen 3, streamed and not, over and over, with another array in turn, and with three others: one thread f32[1000,5003] of a
    /// column 0.87 and 0.34, 0.87 and 0.69, 0.87 and 0.97, f32[1201,5003] 1.04 and 0.56, 1.04 and 0.92, 1.04 and 1.20, f32[2000,5003] 1.74 and
    /// 1.37, 1.73 and 1.86, 1.73 and 2.50. Two threads f32[2401,5003] 2.1 and 1.05, 2.1 and 1.6, 2.1 and 2.0, f32[4001,5003] 3.5 and 2.4,
    /// 3.5 and 3.1, 3.5 and 3.4, f32[12001,5003] 10.4 and 10.5, 10.4 and 11.0, 10.4 and 11.2.
    pub(crate) fn keeps_repeated(&self, bytes: usize, several: bool) -> bool {
        let last = Caches::of_this_cpu().last;
        let below = if several { 3 * last } else { last / 4 * 3 };
        self.stores == Stores::Auto && is_zen3() && bytes < below
    }

    /// Whether threads that share a move of a run to a few rows leave it in the caches beyond what they [keep](Tuning::keeps) of others.
    ///
    /// ms by two threads of a Zen 3, streamed and not, as above: f32[32,224,224,3] to NCHW 0.86 and 0.52, 0.88 and 0.87, 0.83 and 0.78,
    /// f32[32,64,56,56] from T(8,1,1) 1.18 and 0.90, 1.21 and 1.26, 1.25 and 1.17; of 38 MB, u8[256,224,224,3] to NCHW 1.75 and 1.59, with
    /// another one in turn 1.88 and 2.04.
    pub(crate) fn keeps_separated(&self, bytes: usize) -> bool {
        let below = Caches::of_this_cpu().last / 8 * 7;
        self.stores == Stores::Auto && is_zen3() && bytes < below
    }

    /// Whether one does whose columns lie on lines and push each other out of the nearer caches: see
    /// [`crowds`](crate::crowded::crowds). On Intel's CPUs u8[4096,4096] to columns takes twice as long by ordinary stores,
    /// though all of it is cached.
    pub(crate) fn streams_crowded(&self, bytes: usize) -> bool {
        let least = Caches::of_this_cpu().last.min(LAST) / 6;
        self.stores == Stores::Auto && waits() && bytes >= least
    }
}

/// How a destination is written, as far as it matters what its lines find in the caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// In runs, or in long columns that cut lines.
    Ordered,
    /// In other pieces that cut lines.
    Cut,
    /// In whole lines.
    Lines,
}

impl Written {
    /// All of them, each at its own place.
    pub(crate) const ALL: [Written; 3] = [Written::Ordered, Written::Cut, Written::Lines];
}

/// The sizes of one core's data caches and of the one that cores share, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Caches {
    /// The first-level data cache.
    pub first: usize,
    /// The second-level cache.
    pub second: usize,
    /// The last-level cache, as far as the cores share one and a program can count on it: of Intel's, which are as large
    /// as they are because dozens of cores share them, a quarter, or 24 MiB where that is more.
    pub last: usize,
}

/// The least last-level cache that a program can count on, where there is as much.
const LAST: usize = 24 << 20;

impl Caches {
    /// Those of this CPU, as far as it tells; otherwise 32 KiB, 1 MiB and 32 MiB.
    ///
    /// ```
    /// use minormajor_kernels::Caches;
    /// let caches = Caches::of_this_cpu();
    /// assert!(caches.first <= caches.second && caches.second <= caches.last);
    /// ```
    pub fn of_this_cpu() -> Caches {
        static CACHES: OnceLock<Caches> = OnceLock::new();
        *CACHES.get_or_init(|| {
            let told = ask_cpu();
            let first = told[0].filter(|&bytes| bytes >= 4 << 10);
            let first = first.unwrap_or(32 << 10);
            let second = told[1].filter(|&bytes| bytes >= 64 << 10);
            let second = second.unwrap_or(1 << 20).max(first);
            let last = told[2].filter(|&bytes| bytes >= 1 << 20);
            let last = last.unwrap_or(32 << 20);
            // On virtual machines of two cores, moves of 8 MiB found nothing of theirs in the 105 MiB of a Sapphire Rapids,
            // and moves of 40 MiB all in the 480 MiB of a Granite Rapids, but little when others of 40 MiB came between.
            let most = match Maker::of_this_cpu() {
                Maker::Intel => LAST.max(last / 4),
                Maker::Zen3 | Maker::Zen | Maker::Zen5 | Maker::Other => last,
            };
            let last = last.min(most).max(second);
            Caches {
                first,
                second,
                last,
            }
        })
    }

    /// The bytes from which on a move streams; one of single or double bytes, to columns a multiple of a page apart, may do
    /// so from fewer on.
    ///
    /// Both sides are twice this. If they fill a third of the cache, mostly some of it must come from memory and go there, at
    /// twice the time of streaming; if all were cached, streaming would take a third longer.
    pub fn streams_from(&self) -> usize {
        self.last / 6
    }
}

/// How many rows may be walked side by side, a line of each in turn, with the CPU's own prefetcher following all of
/// them; `usize::MAX` where it is not known to lose any.
///
/// Intel's fetches lines into the second-level cache ahead of 32 streams, at most one in a page of 4 KiB (Intel 64 and
/// IA-32 Architectures Optimization Reference Manual, "Data Prefetch to the L2 and Last Level Cache"). Beyond those,
/// lines are asked for by loads and prefetches alone, of which a core has too few under way: a Sapphire Rapids reads 14
/// to 16 GB/s in 32 rows and 3 GB/s in 128.
pub(crate) fn followed() -> usize {
    match Maker::of_this_cpu() {
        Maker::Intel => 32,
        Maker::Zen3 | Maker::Zen | Maker::Zen5 | Maker::Other => usize::MAX,
    }
}

/// As [`followed`], of rows that are asked for line by line, each some way ahead.
///
/// On a virtual machine with an Emerald Rapids 64 rows are read so as fast as 32, a line in 3.2 to 3.4 ns; of 96 it takes 4.3, of 128
/// up to 8.
pub(crate) fn walked() -> usize {
    match Maker::of_this_cpu() {
        Maker::Intel => 64,
        Maker::Zen3 | Maker::Zen | Maker::Zen5 | Maker::Other => usize::MAX,
    }
}

/// As [`followed`], of rows that lie [`FAR`] apart, or that are short pieces.
///
/// AMD's manuals tell no number. On a Zen 5, f32[48,28,28,28,48] reversed took 24 ms in strips of 48 rows and more, and 17 in
/// strips of 32; f32[15,15,32,15,32,16], whose runs of 64 bytes change places, 26 and 16. On a Zen 3, f32[96,75,75,96] reversed
/// 28 ms in strips of 96 rows and 22 in strips of 32, by two threads 18 and 14, u16[480,150001] to columns 26 and 12, 14 and 10.
pub(crate) fn followed_far() -> usize {
    match Maker::of_this_cpu() {
        Maker::Intel | Maker::Zen3 | Maker::Zen5 => 32,
        Maker::Zen | Maker::Other => usize::MAX,
    }
}

/// How many rows are read side by side, a run of each in turn, where runs are whole lines of the destination, and where they are not:
/// two strips then have a part each of the line where they meet, and the more rows they have the fewer such lines there are.
///
/// A Zen 3 reads 16 rows at the speed of memory, and 32 at half of it, whether or not their lines are asked for. ms by 32 rows and by
/// 8, one thread: f32[48,28,28,48,32] to {4,0,2,3,1} 37 and 19, f32[96,75,96,80] to {3,0,1,2} 26 and 16, f32[1000,700,32] to {2,0,1}
/// 12.7 and 6.2; two threads 23 and 13, 16 and 13, 8.1 and 5.7. Runs that cut lines, by 32, 16 and 8: seven arrays reached 0.71, 0.74
/// and 0.66 of memcpy; two threads 0.93, 0.97 and 0.83.
pub(crate) fn followed_runs(whole_lines: bool) -> usize {
    match Maker::of_this_cpu() {
        Maker::Zen3 if whole_lines => 8,
        Maker::Zen3 => 16,
        Maker::Intel | Maker::Zen | Maker::Zen5 | Maker::Other => followed_far(),
    }
}

/// Bytes between rows that lie far apart.
pub(crate) const FAR: usize = 256 << 10;

/// Whether lines that are written in part by ordinary stores, among streaming ones, should be asked for before.
///
/// Intel's stores leave the core in order, so one that waits for its line holds up all streaming ones behind it: on a
/// Sapphire Rapids, pieces of 760 bytes that cut lines took 28 ms, and 18 ms where their first and last lines had been
/// asked for.
pub(crate) fn waits() -> bool {
    is_intel()
}

/// As [`waits`], of runs that go right from the source to the destination. On a Zen 3 f32[300,300,277] to {2,0,1} reaches 1.34 of memcpy
/// without and 1.53 so, f32[500,700,77] 0.91 and 1.08. Runs that are staged and columns of a few rows gain nothing, and separated rows
/// lose a tenth.
pub(crate) fn asks_for_edges() -> bool {
    waits() || is_zen3()
}

/// Whether this is one of Intel's: what was measured on an Emerald Rapids, or on those around it.
pub(crate) fn is_intel() -> bool {
    Maker::of_this_cpu() == Maker::Intel
}

/// Whether this is a Zen 5, or a later one: what differs there from what other CPUs of AMD's, measured on a Zen 4, do best.
pub(crate) fn is_zen5() -> bool {
    Maker::of_this_cpu() == Maker::Zen5
}

/// Whether this is a Zen 3, or an earlier one: what differs there from what was measured on a Zen 4.
pub(crate) fn is_zen3() -> bool {
    Maker::of_this_cpu() == Maker::Zen3
}

/// Whether this is one of AMD's: what was measured on a Zen 4 and a Zen 5, and does best on both. A Zen 3 has it too, where nothing
/// else was measured there.
pub(crate) fn is_zen() -> bool {
    matches!(Maker::of_this_cpu(), Maker::Zen3 | Maker::Zen | Maker::Zen5)
}

/// Whose CPU this is, as far as kernels differ.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
enum Maker {
    Intel,
    /// AMD's that have no vectors of 64 bytes.
    Zen3,
    /// AMD's before the next.
    Zen,
    /// AMD's, from family 1Ah on.
    Zen5,
    Other,
}

impl Maker {
    fn of_this_cpu() -> Maker {
        static MAKER: OnceLock<Maker> = OnceLock::new();
        *MAKER.get_or_init(Maker::ask_cpu)
    }

    #[cfg(target_arch = "x86_64")]
    #[allow(unused_unsafe)] // `cpuid` is safe in newer toolchains
    fn ask_cpu() -> Maker {
        // SAFETY: every x86-64 CPU has the instruction and these two leaves.
        let (vendor, version) = unsafe {
            (
                std::arch::x86_64::__cpuid(0),
                std::arch::x86_64::__cpuid(1).eax,
            )
        };
        let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        match name.as_flattened() {
            b"GenuineIntel" => Maker::Intel,
            b"AuthenticAMD" if family(version) >= 0x1a => Maker::Zen5,
            b"AuthenticAMD" if !std::arch::is_x86_feature_detected!("avx512f") => Maker::Zen3,
            b"AuthenticAMD" => Maker::Zen,
            _ => Maker::Other,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn ask_cpu() -> Maker {
        Maker::Other
    }
}

/// The family in a CPU's version: what 4 bits hold, and where that is most, 8 more (AMD64 Architecture Programmer's Manual,
/// volume 3, "Family, Model, Stepping Identifiers").
#[cfg(target_arch = "x86_64")]
fn family(version: u32) -> u32 {
    match version >> 8 & 0xf {
        0xf => 0xf + (version >> 20 & 0xff),
        base => base,
    }
}

/// Bytes of the data or unified caches of levels 1 to 3; a fourth level counts as the third.
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe)] // `cpuid` is safe in newer toolchains
fn ask_cpu() -> [Option<usize>; 3] {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    const INSTRUCTIONS: u32 = 2;
    let mut levels = [None; 3];
    // SAFETY: every x86-64 CPU has the instruction.
    let (basic, extended) = unsafe { (__cpuid(0).eax, __cpuid(0x8000_0000).eax) };
    // The same table under two numbers: 4 on Intel, 0x8000001D on AMD.
    for (leaf, highest) in [(4, basic), (0x8000_001d, extended)] {
        for i in 0..if leaf <= highest { 8 } else { 0 } {
            // SAFETY: the leaf exists.
            let cache = unsafe { __cpuid_count(leaf, i) };
            let (kind, level) = (cache.eax & 0x1f, cache.eax >> 5 & 7);
            if kind == 0 {
                break;
            }
            if kind == INSTRUCTIONS || level == 0 {
                continue;
            }
            let part =
                |shift: u32, bits: u32| ((cache.ebx >> shift) & ((1 << bits) - 1)) as usize + 1;
            let bytes = part(22, 10) * part(12, 10) * part(0, 12) * (cache.ecx as usize + 1);
            let known = &mut levels[(level as usize).min(3) - 1];
            *known = (*known).max(Some(bytes));
        }
    }
    levels
}

#[cfg(not(target_arch = "x86_64"))]
fn ask_cpu() -> [Option<usize>; 3] {
    [None; 3]
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::family;

    #[test]
    fn families_are_those_that_makers_name() {
        // A Sapphire Rapids is of family 6; a Zen 4 (Genoa) of 19h, a Zen 5 (Turin) of 1Ah.
        assert_eq!(family(0x000806f8), 6);
        assert_eq!(family(0x00a10f11), 0x19);
        assert_eq!(family(0x00b00f21), 0x1a);
    }
}
