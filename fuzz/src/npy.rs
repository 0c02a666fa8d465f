//! Checks of `.npy` headers.

use minormajor::files::npy::{header, header_of_opaque, read_header};

/// Reads any bytes as the start of a `.npy` file. An error must fit on a line; an array
/// must be the same when its header is written and read again.
pub fn check_npy(bytes: &[u8]) {
    let read = match read_header(bytes) {
        Ok(read) => read,
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains('\n') && text.len() < 1000, "{text}");
            return;
        }
    };
    let shape = &read.shape;
    assert!(
        read.data_offset <= bytes.len(),
        "{shape}: starts behind the end"
    );
    let mut sizes = shape.sizes().expect("a header gives every size");
    let order = shape
        .layout()
        .expect("a header gives the order")
        .minor_to_major();
    // Opaque elements are bytes along the last dimension, the most minor one.
    let order = &order[usize::from(read.opaque.is_some())..];
    let is_fortran = order.len() > 1 && order.is_sorted();
    assert!(is_fortran || order.iter().rev().is_sorted(), "{shape}");

    let written = match &read.opaque {
        None => header(shape.element_type(), read.order, &sizes, is_fortran),
        Some(descr) => {
            sizes.pop();
            header_of_opaque(descr, &sizes, is_fortran)
        }
    };
    let written = written.unwrap_or_else(|| panic!("{shape} was read and can't be written"));
    let again = read_header(&written).unwrap_or_else(|error| panic!("{shape}: {error}"));
    assert_eq!((&again.shape, again.order), (shape, read.order));
    assert_eq!(again.opaque, read.opaque);
    assert_eq!(again.data_offset, written.len(), "{shape}");
}
