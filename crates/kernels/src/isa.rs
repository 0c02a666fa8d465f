//! The instruction sets that this CPU has been seen to have.

use std::fmt;
use std::sync::OnceLock;

use crate::dispatch::sets;

/// An instruction set of this CPU. Holding one proves that the CPU has it: values come only from
/// [`available`](Isa::available) and [`best`](Isa::best), which ask the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Isa(Kind);

/// Never made for a set that was not detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Portable,
    /// The target's own 16-byte vectors: SSE2 or NEON.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    Native,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// With permutations of bytes across registers.
    #[cfg(target_arch = "x86_64")]
    Avx512Vbmi,
}

impl Isa {
    /// All instruction sets that this CPU has and the kernels are compiled for, the narrowest first. `portable` is one of them
    /// where the target has no vectors of its own, and in builds with debug assertions; such builds lack AVX-512's where the machine
    /// does that they are built on.
    ///
    /// ```
    /// use minormajor_kernels::Isa;
    /// let portable = Isa::available()[0].to_string() == "portable";
    /// assert!(portable || cfg!(not(debug_assertions)));
    /// ```
    pub fn available() -> &'static [Isa] {
        static AVAILABLE: OnceLock<Vec<Isa>> = OnceLock::new();
        AVAILABLE.get_or_init(|| {
            let mut all = Vec::new();
            if sets::PORTABLE {
                all.push(Isa(Kind::Portable));
            }
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            all.push(Isa(Kind::Native));
            // Only x86-64 has some that a CPU may lack.
            #[cfg(target_arch = "x86_64")]
            if sets::AVX2 {
                let avx2 =
                    std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("f16c");
                if avx2 {
                    all.push(Isa(Kind::Avx2));
                }
                if avx2
                    && sets::AVX512
                    && std::is_x86_feature_detected!("avx512f")
                    && std::is_x86_feature_detected!("avx512bw")
                    && std::is_x86_feature_detected!("avx512vl")
                    && std::is_x86_feature_detected!("avx512dq")
                {
                    all.push(Isa(Kind::Avx512));
                    if std::is_x86_feature_detected!("avx512vbmi") {
                        all.push(Isa(Kind::Avx512Vbmi));
                    }
                }
            }
            all
        })
    }

    /// The one that moves use unless told otherwise: the widest available, or the one that the environment variable
    /// `MINORMAJOR_ISA` names (read once; a name that is not available is ignored).
    pub fn best() -> Isa {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| {
            let all = Isa::available();
            let named = std::env::var("MINORMAJOR_ISA").ok();
            let named = named.and_then(|name| all.iter().find(|isa| isa.name() == name));
            *named.unwrap_or(&all[all.len() - 1])
        })
    }

    /// The name: `portable`, `sse2`, `neon`, `avx2`, `avx512` or `avx512vbmi`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable => "portable",
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            Kind::Native => {
                if cfg!(target_arch = "x86_64") {
                    "sse2"
                } else {
                    "neon"
                }
            }
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512Vbmi => "avx512vbmi",
        }
    }

    pub(crate) fn kind(self) -> Kind {
        self.0
    }

    /// Whether its widest vectors are [`Picks`](crate::simd::Picks).
    pub(crate) fn picks(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return matches!(self.0, Kind::Avx512Vbmi);
        #[cfg(not(target_arch = "x86_64"))]
        false
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
