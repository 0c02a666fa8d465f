//! Checks of whole files of arrays.

use std::io::Cursor;

use minormajor::files::inspect_reader;

/// Reads any bytes as the file that a name says. An error must fit on a line; the arrays must be
/// in the file.
pub fn check_file(name: &str, bytes: &[u8]) {
    let info = match inspect_reader(name, Cursor::new(bytes)) {
        Ok(info) => info,
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains('\n') && text.len() < 2000, "{text}");
            return;
        }
    };
    for array in info.arrays {
        let shape = &array.shape;
        let taken = shape.allocated_bytes().expect("a file gives every size") as u64;
        let end = array.offset.checked_add(taken).expect("no file is so long");
        let deflated = array.compressed && end / 1032 <= bytes.len() as u64;
        assert!(
            deflated || end <= bytes.len() as u64,
            "{shape} at {}",
            array.offset
        );
    }
}
