//! The machine that measures, as far as it tells.

use std::fs;
use std::process::Command;
use std::thread;

use serde::{Deserialize, Serialize};

/// The project's folder.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// What a reader must know of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The CPU's name.
    pub cpu: String,
    /// Threads that run at once.
    pub threads: usize,
    /// The caches of the first core: `L1 32K, L2 1024K, L3 32768K`.
    pub caches: String,
    /// Memory, in GiB.
    pub memory_gib: u64,
    /// The system and its C library, whose memcpy it is.
    pub system: String,
    /// The compiler.
    pub rustc: String,
}

impl Machine {
    /// This one.
    pub fn this() -> Machine {
        let first = |path: &str, key: &str| {
            let table = fs::read_to_string(path).ok()?;
            let line = table.lines().find_map(|line| line.strip_prefix(key))?;
            Some(line.trim_start_matches([' ', '\t', ':']).trim().to_owned())
        };
        let unknown = || "unknown".to_owned();
        let memory = first("/proc/meminfo", "MemTotal")
            .and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
        let system = [
            said(&["uname", "-sr"]),
            said(&["getconf", "GNU_LIBC_VERSION"]),
        ];
        Machine {
            cpu: first("/proc/cpuinfo", "model name").unwrap_or_else(unknown),
            threads: thread::available_parallelism().map_or(1, usize::from),
            caches: caches().unwrap_or_else(unknown),
            memory_gib: memory.unwrap_or(0).div_ceil(1 << 20),
            system: system.into_iter().flatten().collect::<Vec<_>>().join(", "),
            rustc: said(&["rustc", "--version"]).unwrap_or_else(unknown),
        }
    }
}

/// What a command prints, if it runs.
fn said(command: &[&str]) -> Option<String> {
    let (program, arguments) = command.split_first()?;
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn caches() -> Option<String> {
    let folder = "/sys/devices/system/cpu/cpu0/cache";
    let mut caches = Vec::new();
    for entry in fs::read_dir(folder).ok()? {
        let path = entry.ok()?.path();
        let read = |name: &str| fs::read_to_string(path.join(name)).ok();
        let (Some(level), Some(kind), Some(size)) = (read("level"), read("type"), read("size"))
        else {
            continue;
        };
        if kind.trim() != "Instruction" {
            caches.push(format!("L{} {}", level.trim(), size.trim()));
        }
    }
    caches.sort();
    Some(caches.join(", "))
}

/// The project's state, as git names it.
pub fn commit() -> String {
    let git = |arguments: &[&str]| said(&[&["git", "-C", ROOT], arguments].concat());
    // What is written by measuring is no change.
    let changed = [
        "status",
        "--porcelain",
        "--",
        "crates",
        "bench/src",
        "bench/Cargo.toml",
        "Cargo.toml",
    ];
    match (git(&["rev-parse", "--short", "HEAD"]), git(&changed)) {
        (Some(commit), Some(changes)) if changes.is_empty() => commit,
        (Some(commit), _) => format!("{commit} and changes"),
        _ => "unknown".to_owned(),
    }
}

/// The part of a buffer that is on huge pages, where the system says.
pub fn huge_share(buffer: &[u8]) -> Option<f64> {
    let table = fs::read_to_string("/proc/self/smaps").ok()?;
    let range = buffer.as_ptr_range();
    let (start, end) = (range.start as usize, range.end as usize);
    let (mut is_inside, mut huge) = (false, 0.0);
    for line in table.lines() {
        let Some((head, rest)) = line.split_once(' ') else {
            continue;
        };
        if let Some((from, to)) = head.split_once('-') {
            let number = |text| usize::from_str_radix(text, 16);
            if let (Ok(from), Ok(to)) = (number(from), number(to)) {
                is_inside = from < end && start < to;
            }
        } else if head == "AnonHugePages:" && is_inside {
            let kibibytes = rest.trim().trim_end_matches(" kB").parse::<f64>();
            huge += kibibytes.unwrap_or(0.0) * 1024.0;
        }
    }
    // Neighbouring maps of one kind are one line, so a buffer may share it.
    (!buffer.is_empty()).then(|| (huge / buffer.len() as f64).min(1.0))
}
