//! What was prepared for a call, kept for the next one that is like it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;

/// All that the value depends on, as numbers.
pub type Key = SmallVec<[i64; 32]>;

/// Adds a text to a key.
pub fn write_text(text: &str, key: &mut Key) {
    key.push(text.len() as i64);
    key.extend(text.as_bytes().chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        i64::from_le_bytes(word)
    }));
}

/// More are forgotten, all at once: who needs so many different ones gains nothing from them.
const MOST: usize = 1 << 10;

/// Values by their keys.
pub struct Kept<V>(Mutex<Option<HashMap<Key, V, BuildHasherDefault<NumberHasher>>>>);

impl<V: Clone> Kept<V> {
    pub const fn new() -> Kept<V> {
        Kept(Mutex::new(None))
    }

    pub fn get(&self, key: &Key) -> Option<V> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref()?.get(key).cloned()
    }

    pub fn insert(&self, key: Key, value: V) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.get_or_insert_default();
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(key, value);
    }
}

/// A hash of numbers that nobody chooses to collide: a multiplication each.
#[derive(Default)]
struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for &word in words {
            self.write_u64(u64::from_le_bytes(word));
        }
        for &byte in rest {
            self.write_u64(byte.into());
        }
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}
