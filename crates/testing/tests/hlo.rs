//! Modules that JAX emits here, read whole.

use std::path::PathBuf;

use minormajor_core::hlo::Module;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("hlo")
}

/// The dumps: their names and texts.
fn dumps() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let mut dumps: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    dumps.sort();
    assert_eq!(dumps.len(), 7, "{:?}", folder());
    dumps
}

#[test]
fn nothing_is_left_unread() {
    for (name, text) in dumps() {
        let module = Module::read(&text);
        assert!(module.unread().is_empty(), "{name}: {:?}", module.unread());
        println!(
            "{name} {:?} {} {} {:?}",
            module.name(),
            module.computations().len(),
            module
                .computations()
                .iter()
                .map(|c| c.instructions().len())
                .sum::<usize>(),
            module.tables()
        );
    }
}
