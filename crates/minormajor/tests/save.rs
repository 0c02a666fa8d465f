//! Arrays from memory to a file, beside the same arrays from a file.

use std::fs;
use std::path::Path;

use minormajor::files::{
    FileError, MemoryArray, OpenArray, RelayoutOptions, npy, relayout_file, save_arrays,
};
use minormajor::plan::ByteOrder;
use minormajor::{ElementType, Shape, StridedView};

/// Eighteen numbers whose bytes all differ, as rows of six with a gap of one behind each.
fn numbers() -> (StridedView, Vec<u8>, Vec<u8>) {
    let rows: Vec<u8> = (0..42).collect();
    let dense = rows.chunks(14).flat_map(|row| row[..12].to_vec()).collect();
    let view = StridedView::new(ElementType::U16, &[3, 6], &[14, 2], 0).unwrap();
    (view, rows, dense)
}

fn options(layout: Option<&str>) -> RelayoutOptions {
    let mut options = RelayoutOptions::default();
    options.layout = layout.map(|text| text.parse().unwrap());
    options
}

#[test]
fn the_file_is_what_a_file_becomes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (view, bytes, dense) = numbers();
    for (order, given) in [(ByteOrder::Little, "<"), (ByteOrder::Big, ">")] {
        let mut file = npy::header(ElementType::U16, order, &[3, 6], false).unwrap();
        file.extend(&dense);
        fs::write(at("in.npy"), file).unwrap();
        for ending in ["npy", "npz", "safetensors", "tsr", "bin"] {
            for layout in [None, Some("{1,0}"), Some("{0,1}"), Some("{0,1:T(2,4)}")] {
                let options = options(layout);
                fs::create_dir_all(at("theirs")).unwrap();
                fs::create_dir_all(at("ours")).unwrap();
                let (theirs, ours) = (format!("theirs/x.{ending}"), format!("ours/x.{ending}"));
                let expected = relayout_file(at("in.npy"), at(&theirs), &options, &|_, _| {});
                let array = MemoryArray::new("in", &view, order, &bytes);
                let found = save_arrays(at(&ours), &[array], &options);
                let case = format!("{given} {ending} {layout:?}");
                match (expected, found) {
                    (Ok(expected), Ok(shapes)) => {
                        assert_eq!(shapes, [expected.arrays[0].destination.clone()], "{case}");
                        let same = fs::read(at(&theirs)).unwrap() == fs::read(at(&ours)).unwrap();
                        assert!(same, "{case}");
                    }
                    (expected, found) => {
                        assert!(expected.is_err() && found.is_err(), "{case}: {found:?}");
                        assert!(!at(&ours).exists(), "{case}");
                    }
                }
                fs::remove_dir_all(at("theirs")).unwrap();
                fs::remove_dir_all(at("ours")).unwrap();
            }
        }
    }
}

#[test]
fn many_arrays_are_read_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npz");
    let (view, bytes, dense) = numbers();
    let columns: Shape = "u16[3,6]{0,1}".parse().unwrap();
    let dates = StridedView::new(ElementType::U8, &[2, 8], &[-8, 1], 8).unwrap();
    let arrays = [
        MemoryArray::new("rows", &view, ByteOrder::Little, &bytes),
        MemoryArray::new(
            "columns",
            columns.as_array().unwrap(),
            ByteOrder::Little,
            &dense,
        ),
        MemoryArray::opaque("dates", &dates, "'<M8[ns]'", &bytes).unwrap(),
    ];
    save_arrays(&path, &arrays, &options(None)).unwrap();
    let read = |name: &str| {
        let array = OpenArray::open(&path, name, None).unwrap()?;
        let mut bytes = vec![0; array.bytes() as usize];
        array.read_into(&mut bytes).unwrap();
        Some(bytes)
    };
    assert_eq!(read("rows").unwrap(), dense);
    let element = |row: usize, column: usize| &dense[2 * (3 * column + row)..][..2];
    let turned: Vec<u8> = (0..18)
        .flat_map(|k| element(k / 6, k % 6).to_vec())
        .collect();
    assert_eq!(read("columns").unwrap(), turned);
    assert_eq!(
        read("dates").unwrap(),
        [&bytes[8..16], &bytes[..8]].concat()
    );
    assert_eq!(read("other"), None);
}

#[test]
fn errors_leave_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    fs::write(&path, b"before").unwrap();
    let (view, bytes, _) = numbers();
    let array = || MemoryArray::new("x", &view, ByteOrder::Little, &bytes);
    let save = |path: &Path, arrays: &[MemoryArray<'_>], layout| {
        save_arrays(path, arrays, &options(layout)).unwrap_err()
    };
    let two = save(&path, &[array(), array()], None);
    assert!(
        matches!(two, FileError::ManyArrays { found: 2, .. }),
        "{two}"
    );
    let layout = save(&path, &[array()], Some("{0}"));
    assert!(matches!(layout, FileError::Layout { .. }), "{layout}");
    let short = MemoryArray::new("x", &view, ByteOrder::Little, &bytes[..20]);
    let short = save(&path, &[short], None);
    assert!(matches!(short, FileError::Run { .. }), "{short}");
    let no_folder = save(&folder.path().join("none/x.npy"), &[array()], None);
    assert!(
        matches!(no_folder, FileError::NoDirectory { .. }),
        "{no_folder}"
    );
    let mut chunked = options(None);
    chunked.chunks = Some(vec![2, 2]);
    let chunks = save_arrays(&path, &[array()], &chunked).unwrap_err();
    assert!(matches!(chunks, FileError::NoChunks { .. }), "{chunks}");
    let wide = StridedView::new(ElementType::U8, &[2, 4], &[4, 1], 0).unwrap();
    assert!(MemoryArray::opaque("x", &wide, "'<M8[ns]'", &bytes).is_err());
    assert!(MemoryArray::opaque("x", &wide, "nonsense", &bytes).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"before");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
