//! Any bytes, read as a `.npz` file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| minormajor_fuzz::check_file("a.npz", bytes));
