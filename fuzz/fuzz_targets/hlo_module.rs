//! Any text, read as an HLO module.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| minormajor_fuzz::check_module(text));
