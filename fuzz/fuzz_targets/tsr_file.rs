//! Any bytes, read as a `.tsr` file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| minormajor_fuzz::check_file("a.tsr", bytes));
