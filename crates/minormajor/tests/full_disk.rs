//! A full disk is an error and no signal, and leaves nothing behind.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::process::Command;

use minormajor::ElementType;
use minormajor::files::{FileError, RelayoutOptions, npy, relayout_file};
use minormajor::plan::ByteOrder;

/// A small file system of its own, unmounted when dropped.
struct Small(tempfile::TempDir);

impl Small {
    fn mount(bytes: u64) -> Option<Small> {
        let directory = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"])
            .arg(directory.path())
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Small(directory)),
            Ok(output) => {
                eprintln!(
                    "skipped: {}",
                    String::from_utf8_lossy(&output.stderr).trim()
                );
                None
            }
            Err(error) => {
                eprintln!("skipped: can't run mount: {error}");
                None
            }
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let Some(small) = Small::mount(1 << 20) else {
        return;
    };
    let plenty = tempfile::tempdir().unwrap();
    let input = plenty.path().join("in.npy");
    let mut file = fs::File::create(&input).unwrap();
    file.write_all(&npy::header(ElementType::U8, ByteOrder::Little, &[2, 1 << 20], false).unwrap())
        .unwrap();
    file.write_all(&vec![1; 2 << 20]).unwrap();
    let options = RelayoutOptions::default();
    for name in ["out.npy", "out.bin"] {
        let output = small.0.path().join(name);
        let error = relayout_file(&input, &output, &options, &|_, _| {}).unwrap_err();
        assert!(matches!(error, FileError::DiskFull { .. }), "{error:?}");
        let text = error.to_string();
        assert!(
            text.contains(name) && text.contains("free some space") && !text.contains('\n'),
            "{text}"
        );
        assert_eq!(fs::read_dir(small.0.path()).unwrap().count(), 0);
    }
    // A file that fits still does.
    let fits = plenty.path().join("fits.npy");
    let mut bytes = npy::header(ElementType::U8, ByteOrder::Little, &[3], false).unwrap();
    bytes.extend([1, 2, 3]);
    fs::write(&fits, bytes).unwrap();
    relayout_file(&fits, small.0.path().join("out.bin"), &options, &|_, _| {}).unwrap();
    assert_eq!(fs::read(small.0.path().join("out.bin")).unwrap(), [1, 2, 3]);
}
