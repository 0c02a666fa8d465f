//! Any text, read as a log with a TPU compiler's memory report.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| minormajor_fuzz::check_report(text));
