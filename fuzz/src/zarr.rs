//! Checks of folders of Zarr's.

use std::fs;
use std::path::{Path, PathBuf};

use minormajor::files::{RelayoutOptions, inspect, relayout_file};

/// Arrays of more bytes are not unpacked: of a few bytes of metadata, most have very many.
const UNPACKED: i64 = 1 << 12;

/// Reads bytes as the metadata of an array and, behind the first zero, its first chunk; unpacks the
/// array if it is small. Errors must fit on a line, and leave no output.
pub fn check_zarr(bytes: &[u8]) {
    let folder = Folder::new();
    let (input, output) = (folder.0.join("a.zarr"), folder.0.join("a.npy"));
    let (metadata, chunk) = match bytes.iter().position(|&byte| byte == 0) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[][..]),
    };
    for (name, bytes) in [("zarr.json", metadata), ("c/0", chunk), ("c/0/0", chunk)] {
        let path = input.join(name);
        // The chunk is where the array has it, of one dimension or two.
        if name == "c/0/0" && !is_matrix(metadata) || name == "c/0" && is_matrix(metadata) {
            continue;
        }
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }
    let told = |text: String| assert!(!text.contains('\n') && text.len() < 4000, "{text}");
    let info = match inspect(&input) {
        Ok(info) => info,
        Err(error) => return told(error.to_string()),
    };
    let taken = info
        .arrays
        .iter()
        .map(|array| array.shape.allocated_bytes());
    let taken = taken.fold(0, |sum: i64, bytes| {
        sum.saturating_add(bytes.expect("a file gives every size"))
    });
    if taken > UNPACKED {
        return;
    }
    let mut options = RelayoutOptions::default();
    (options.memory, options.threads) = (Some(1 << 20), Some(1));
    if let Err(error) = relayout_file(&input, &output, &options, &|_, _| {}) {
        told(error.to_string());
        assert!(!output.exists());
    }
}

fn is_matrix(metadata: &[u8]) -> bool {
    let text = String::from_utf8_lossy(metadata);
    let shape = text.split_once("\"shape\"").map(|(_, rest)| rest);
    let shape = shape.and_then(|rest| rest.split(']').next());
    shape.is_some_and(|sizes| sizes.contains(','))
}

/// A folder for one input.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let folder = std::env::temp_dir().join(format!("minormajor-fuzz-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(Path::new(&self.0));
    }
}
