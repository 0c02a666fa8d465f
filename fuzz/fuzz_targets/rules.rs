//! Any text, read as a rule and as a file of rules.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| minormajor_fuzz::check_rules(text));
