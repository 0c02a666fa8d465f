//! The texts in this crate's `hlo` folder: modules that JAX emits, and memory reports.

use std::path::PathBuf;

/// The dumps: their names and texts.
pub fn dumps() -> Vec<(String, String)> {
    texts("hlo")
}

/// The reports: their names and texts.
pub fn reports() -> Vec<(String, String)> {
    texts("hlo/reports")
}

fn texts(folder: &str) -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut texts: Vec<(String, String)> = entries
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let text = std::fs::read_to_string(&path);
            (name.into_owned(), text.expect("a text in UTF-8"))
        })
        .collect();
    texts.sort();
    texts
}
