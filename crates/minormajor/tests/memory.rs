//! A large file streams through the memory that is allowed. Alone in its process, which is what
//! is measured.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use minormajor::files::{RelayoutOptions, npy, relayout_file};
use minormajor::plan::ByteOrder;
use minormajor::{ElementType, Layout};

/// Anonymous memory of this process, in KiB.
fn anonymous() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_large_file_takes_little_anonymous_memory() {
    const SIDE: u64 = 8192;
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (
        directory.path().join("in.npy"),
        directory.path().join("out.npy"),
    );
    let mut file = fs::File::create(&input).unwrap();
    file.write_all(
        &npy::header(
            ElementType::F32,
            ByteOrder::Little,
            &[SIDE as i64; 2],
            false,
        )
        .unwrap(),
    )
    .unwrap();
    for row in 0..SIDE {
        let row = (row * SIDE) as u32..((row + 1) * SIDE) as u32;
        file.write_all(&row.flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
            .unwrap();
    }

    let mut options = RelayoutOptions::default();
    options.layout = Some(Layout::ascending(2));
    options.memory = Some(32 << 20);
    let finished = AtomicBool::new(false);
    let peak = std::thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut peak = 0;
            while !finished.load(Ordering::Relaxed) {
                peak = peak.max(anonymous());
                std::thread::sleep(Duration::from_millis(1));
            }
            peak
        });
        relayout_file(&input, &output, &options, &|_, _| {}).unwrap();
        finished.store(true, Ordering::Relaxed);
        sampler.join().unwrap()
    });
    assert!(
        peak > 0 && peak < 36 << 10,
        "{peak} KiB of anonymous memory"
    );

    let bytes = fs::read(&output).unwrap();
    let data = &bytes[bytes.len() - (4 * SIDE * SIDE) as usize..];
    for (place, element) in data.chunks_exact(4).enumerate().step_by(4099) {
        let (column, row) = (place as u64 / SIDE, place as u64 % SIDE);
        let expected = (row * SIDE + column) as u32;
        assert_eq!(
            u32::from_le_bytes(element.try_into().unwrap()),
            expected,
            "at {place}"
        );
    }
}
