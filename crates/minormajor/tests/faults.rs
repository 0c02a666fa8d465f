//! Files that are damaged, lie, or change while they are read, and targets that can't be written:
//! an error that names the file, no panic, and no part of an output.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use minormajor::files::{FileError, RelayoutOptions, inspect, npy, relayout_file};
use minormajor::plan::ByteOrder;
use minormajor::{ElementType, Layout};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        // Thousands of small files, each of which is waited for: in memory, where there is such a
        // place.
        let memory = Path::new("/dev/shm");
        Folder(match tempfile::tempdir_in(memory) {
            Ok(folder) => folder,
            Err(_) => tempfile::tempdir().unwrap(),
        })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// A file of one array of distinct numbers.
    fn npy(&self, name: &str, sizes: [i64; 2]) -> PathBuf {
        let mut bytes = npy::header(ElementType::F32, ByteOrder::Little, &sizes, false).unwrap();
        let count = (sizes[0] * sizes[1]) as u32;
        bytes.extend((0..count).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()));
        fs::write(self.at(name), bytes).unwrap();
        self.at(name)
    }
}

fn columns() -> RelayoutOptions {
    let mut options = RelayoutOptions::default();
    options.layout = Some(Layout::ascending(2));
    options
}

fn run(input: &Path, output: &Path, options: &RelayoutOptions) -> Result<(), FileError> {
    relayout_file(input, output, options, &|_, _| {}).map(drop)
}

/// A zip archive of one entry, deflated if it shall be.
fn zip(name: &str, bytes: &[u8], deflated: bool) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    let packed = match deflated {
        false => bytes.to_vec(),
        true => {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Default::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
    };
    let common = |file: &mut Vec<u8>| {
        file.extend([20, 0, 0, 0]);
        file.extend([if deflated { 8 } else { 0 }, 0, 0, 0, 0x21, 0]);
        file.extend(crc.sum().to_le_bytes());
        file.extend((packed.len() as u32).to_le_bytes());
        file.extend((bytes.len() as u32).to_le_bytes());
        file.extend((name.len() as u16).to_le_bytes());
        file.extend([0, 0]);
    };
    let mut file = b"PK\x03\x04".to_vec();
    common(&mut file);
    file.extend(name.bytes());
    file.extend(&packed);
    let start = file.len() as u32;
    file.extend(b"PK\x01\x02\x14\x00");
    common(&mut file);
    file.extend([0; 14]);
    file.extend(name.bytes());
    let length = file.len() as u32 - start;
    file.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    file.extend(length.to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}

/// A small file of each format, and what must be beside it.
fn one_of_each(folder: &Folder) -> Vec<PathBuf> {
    let whole = folder.npy("whole.npy", [113, 97]);
    let mut files = vec![whole.clone()];
    for name in ["stored.npz", "one.safetensors", "one.tsr", "one.bin"] {
        run(&whole, &folder.at(name), &RelayoutOptions::default()).unwrap();
        files.push(folder.at(name));
    }
    let deflated = zip("a.npy", &fs::read(&whole).unwrap(), true);
    fs::write(folder.at("deflated.npz"), deflated).unwrap();
    files.push(folder.at("deflated.npz"));
    let index = r#"{"metadata": {}, "weight_map": {"whole": "one.safetensors"}}"#;
    fs::write(folder.at("set.safetensors.index.json"), index).unwrap();
    files.push(folder.at("set.safetensors.index.json"));
    files
}

/// A damaged copy of a file in a folder of its own, with what belongs to it.
fn damaged(good: &Path, bytes: &[u8]) -> (Folder, PathBuf) {
    let folder = Folder::new();
    let beside = good.parent().unwrap();
    for other in ["one.bin.shape", "one.safetensors"] {
        fs::copy(beside.join(other), folder.at(other)).unwrap();
    }
    let input = folder.at(good.file_name().unwrap().to_str().unwrap());
    fs::write(&input, bytes).unwrap();
    (folder, input)
}

/// Runs on a damaged file: an error names it and leaves nothing, and what is no error leaves one
/// whole file.
fn moved(folder: &Folder, input: &Path) -> Result<(), FileError> {
    let before = folder.names();
    let output = folder.at("out.npy");
    let result = run(input, &output, &columns());
    match &result {
        Err(error) => {
            let text = error.to_string();
            let folder = input.parent().unwrap().to_str().unwrap();
            assert!(text.contains(folder) && !text.contains('\n'), "{text}");
        }
        Ok(()) => {
            assert!(inspect(&output).is_ok());
            fs::remove_file(&output).unwrap();
        }
    }
    assert_eq!(folder.names(), before, "{result:?}");
    result
}

#[test]
fn truncated_files_are_errors() {
    let good = Folder::new();
    for file in one_of_each(&good) {
        let bytes = fs::read(&file).unwrap();
        let cuts = (0..bytes.len()).step_by(4096).chain([bytes.len() - 1]);
        for cut in cuts {
            let (folder, input) = damaged(&file, &bytes[..cut]);
            let result = moved(&folder, &input);
            assert!(result.is_err(), "{} cut at {cut}", file.display());
        }
        let (folder, input) = damaged(&file, &bytes);
        moved(&folder, &input).unwrap();
    }
    // A file of a set, too.
    let whole = fs::read(good.at("one.safetensors")).unwrap();
    for cut in (0..whole.len()).step_by(4096) {
        let index = good.at("set.safetensors.index.json");
        let (folder, input) = damaged(&index, &fs::read(&index).unwrap());
        fs::write(folder.at("one.safetensors"), &whole[..cut]).unwrap();
        let error = moved(&folder, &input).unwrap_err().to_string();
        assert!(error.contains("one.safetensors"), "{error}");
    }
}

#[test]
fn flipped_bytes_of_headers_never_panic() {
    let good = Folder::new();
    for file in one_of_each(&good) {
        let bytes = fs::read(&file).unwrap();
        let ends = (0..bytes.len().min(160)).chain(bytes.len().saturating_sub(100)..bytes.len());
        let mut refused = 0;
        for at in ends {
            let mut flipped = bytes.clone();
            flipped[at] ^= [0x01, 0x80, 0xff, 0x20][at % 4];
            let (folder, input) = damaged(&file, &flipped);
            refused += usize::from(moved(&folder, &input).is_err());
        }
        // Raw bytes have no header.
        let raw = file.extension().is_some_and(|extension| extension == "bin");
        assert!(raw || refused > 10, "{}: {refused}", file.display());
    }
}

#[test]
fn an_entry_that_is_not_what_it_claims_is_found_when_verified() {
    let folder = Folder::new();
    let whole = fs::read(folder.npy("whole.npy", [113, 97])).unwrap();
    let mut archive = zip("a.npy", &whole, false);
    archive[5000] ^= 4;
    let input = folder.at("in.npz");
    fs::write(&input, &archive).unwrap();
    let mut options = columns();
    options.verify = true;
    let error = run(&input, &folder.at("out.npy"), &options).unwrap_err();
    assert!(matches!(error, FileError::EntryChecksum { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("in.npz: \"a\": its checksum is "),
        "{error}"
    );
    assert_eq!(folder.names(), ["in.npz", "whole.npy"]);
    archive[5000] ^= 4;
    fs::write(&input, &archive).unwrap();
    run(&input, &folder.at("out.npy"), &options).unwrap();
}

#[test]
fn names_that_climb_are_only_names() {
    let outer = Folder::new();
    fs::create_dir(outer.at("inner")).unwrap();
    let whole = fs::read(outer.npy("whole.npy", [3, 5])).unwrap();
    let inner = outer.at("inner");
    for name in ["../climbed.npy", "/climbed.npy", "a/../../climbed.npy"] {
        fs::write(inner.join("in.npz"), zip(name, &whole, false)).unwrap();
        for output in ["out.npy", "out.npz", "out.safetensors", "out.bin"] {
            let _ = run(
                &inner.join("in.npz"),
                &inner.join(output),
                &RelayoutOptions::default(),
            );
        }
        assert_eq!(outer.names(), ["inner", "whole.npy"]);
        assert!(!Path::new("/climbed.npy").exists());
    }
    let index = r#"{"weight_map": {"whole": "../whole.safetensors"}}"#;
    run(
        &outer.at("whole.npy"),
        &outer.at("whole.safetensors"),
        &RelayoutOptions::default(),
    )
    .unwrap();
    let set = inner.join("set.safetensors.index.json");
    fs::write(&set, index).unwrap();
    let error = run(&set, &inner.join("set.npy"), &RelayoutOptions::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("names of files beside the index"),
        "{error}"
    );
}

/// The input changes when the first block is done; with so little memory there are more.
fn changing(change: impl Fn(&File) + Sync) {
    let folder = Folder::new();
    let input = folder.npy("in.npy", [1021, 1031]);
    let mut options = columns();
    options.memory = Some(1 << 20);
    options.threads = Some(1);
    let changed = AtomicBool::new(false);
    let progress = |done: u64, total: u64| {
        assert!(done <= total);
        if !changed.swap(true, Ordering::Relaxed) {
            assert!(done < total);
            change(&File::options().write(true).open(&input).unwrap());
        }
    };
    let error = relayout_file(&input, folder.at("out.npy"), &options, &progress).unwrap_err();
    assert!(matches!(error, FileError::Changed { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("in.npy: changed while it was read"),
        "{error}"
    );
    assert_eq!(folder.names(), ["in.npy"]);
}

#[test]
fn an_input_that_shrinks_while_it_is_read_is_an_error() {
    changing(|file| file.set_len(1 << 20).unwrap());
}

#[test]
fn an_input_that_grows_while_it_is_read_is_an_error() {
    changing(|file| file.set_len(1 << 30).unwrap());
}

#[test]
fn read_only_targets_stay() {
    let folder = Folder::new();
    let input = folder.npy("in.npy", [3, 5]);
    let output = folder.at("out.npy");
    fs::write(&output, "kept").unwrap();
    let mut permissions = fs::metadata(&output).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&output, permissions).unwrap();
    let error = run(&input, &output, &columns()).unwrap_err();
    assert!(
        error.to_string().contains("out.npy: is read-only"),
        "{error}"
    );
    assert_eq!(fs::read(&output).unwrap(), b"kept");
    assert_eq!(folder.names(), ["in.npy", "out.npy"]);
}

#[cfg(unix)]
#[test]
fn links_to_inputs_are_followed_and_links_at_outputs_replaced() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    let input = folder.npy("in.npy", [3, 5]);
    symlink(&input, folder.at("link.npy")).unwrap();
    fs::write(folder.at("other"), "kept").unwrap();
    symlink(folder.at("other"), folder.at("out.npy")).unwrap();
    run(&folder.at("link.npy"), &folder.at("out.npy"), &columns()).unwrap();
    assert_eq!(fs::read(folder.at("other")).unwrap(), b"kept");
    assert!(
        !folder
            .at("out.npy")
            .symlink_metadata()
            .unwrap()
            .is_symlink()
    );
    // A link to the input is the input.
    let error = run(&input, &folder.at("link.npy"), &columns()).unwrap_err();
    assert!(matches!(error, FileError::OutputIsInput { .. }), "{error}");
    // And one that leads nowhere is replaced.
    symlink(folder.at("nowhere"), folder.at("dangling.npy")).unwrap();
    run(&input, &folder.at("dangling.npy"), &columns()).unwrap();
    assert!(!folder.at("nowhere").exists());
}
