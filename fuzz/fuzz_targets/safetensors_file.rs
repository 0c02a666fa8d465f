//! Any bytes, read as a `.safetensors` file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| minormajor_fuzz::check_file("a.safetensors", bytes));
