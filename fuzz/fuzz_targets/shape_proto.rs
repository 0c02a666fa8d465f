//! Any bytes, read as a serialized shape.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| minormajor_fuzz::check_proto(bytes));
