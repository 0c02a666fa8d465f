//! Any text and any bytes, read as a sharding.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| minormajor_fuzz::check_sharding(bytes));
