//! Any text, read as a shape.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| minormajor_fuzz::check_text(text));
