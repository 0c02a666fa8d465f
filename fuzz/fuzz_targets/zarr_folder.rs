//! Any bytes, read as the metadata of an array of Zarr's and a chunk of it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| minormajor_fuzz::check_zarr(bytes));
