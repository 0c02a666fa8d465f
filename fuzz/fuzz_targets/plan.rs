//! Two layouts of one array, planned.
#![no_main]

use minormajor_fuzz::{Pair, check_plan};

libfuzzer_sys::fuzz_target!(|pair: Pair| check_plan(&pair));
