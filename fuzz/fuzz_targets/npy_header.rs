//! Any bytes, read as the start of a `.npy` file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| minormajor_fuzz::check_npy(bytes));
