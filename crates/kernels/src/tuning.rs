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
    /// Whether a job of this many bytes, all threads together, streams.
    pub(crate) fn streams(&self, bytes: usize) -> bool {
        match self.stores {
            Stores::Auto => bytes >= last_level_cache() / 4,
            Stores::Plain => false,
            Stores::Streaming => true,
        }
    }
}

/// The bytes of the last-level cache that this CPU shares between its cores, as far as it tells; otherwise 32 MiB.
pub fn last_level_cache() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        ask_cpu()
            .filter(|&bytes| bytes >= 1 << 20)
            .unwrap_or(32 << 20)
    })
}

#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe)] // `cpuid` is safe in newer toolchains
fn ask_cpu() -> Option<usize> {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    // SAFETY: every x86-64 CPU has the instruction.
    let (basic, extended) = unsafe { (__cpuid(0).eax, __cpuid(0x8000_0000).eax) };
    // The same table under two numbers: 4 on Intel, 0x8000001D on AMD.
    [(4, basic), (0x8000_001d, extended)]
        .into_iter()
        .filter(|&(leaf, highest)| leaf <= highest)
        .flat_map(|(leaf, _)| {
            (0..8).map_while(move |i| {
                // SAFETY: the leaf exists.
                let cache = unsafe { __cpuid_count(leaf, i) };
                (cache.eax & 0x1f != 0).then(|| {
                    let part = |shift: u32, bits: u32| {
                        ((cache.ebx >> shift) & ((1 << bits) - 1)) as usize + 1
                    };
                    part(22, 10) * part(12, 10) * part(0, 12) * (cache.ecx as usize + 1)
                })
            })
        })
        .max()
}

#[cfg(not(target_arch = "x86_64"))]
fn ask_cpu() -> Option<usize> {
    None
}
