//! What was prepared for a call, kept for the next one that is like it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

/// The most numbers of a key.
const WORDS: usize = 32;

/// All that the value depends on, as numbers.
#[derive(Clone)]
pub struct Key {
    words: [u64; WORDS],
    /// How many numbers there were. Where they were more than there is room for, the value is not kept.
    length: usize,
}

impl Key {
    pub fn new() -> Key {
        Key {
            words: [0; WORDS],
            length: 0,
        }
    }

    #[inline]
    pub fn push(&mut self, word: u64) {
        if let Some(place) = self.words.get_mut(self.length) {
            *place = word;
        }
        self.length += 1;
    }

    #[inline]
    pub fn extend(&mut self, words: impl IntoIterator<Item = u64>) {
        words.into_iter().for_each(|word| self.push(word));
    }

    /// Adds a text.
    #[inline]
    pub fn push_text(&mut self, text: &str) {
        self.push(text.len() as u64);
        let word = |bytes: &[u8]| {
            let shifted = |word: u64, &byte: &u8| word << 8 | u64::from(byte);
            bytes.iter().fold(0, shifted)
        };
        self.extend(text.as_bytes().chunks(8).map(word));
    }

    fn words(&self) -> Option<&[u64]> {
        self.words.get(..self.length)
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.words() == other.words()
    }
}

impl Eq for Key {}

/// For each number of a key one that has nothing to do with the others'.
const FACTORS: [u64; WORDS] = {
    let mut factors = [0; WORDS];
    let mut place = 0;
    while place < WORDS {
        // SplitMix64.
        let mut mixed = (place as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        factors[place] = (mixed ^ mixed >> 31) | 1;
        place += 1;
    }
    factors
};

impl Hash for Key {
    /// Numbers that nobody chooses to collide: multiplications that do not wait for each other.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let words = self.words().unwrap_or_default();
        let terms = words.iter().zip(FACTORS);
        let sum = terms.fold(0u64, |sum, (&word, factor)| {
            sum.wrapping_add(word.wrapping_mul(factor))
        });
        state.write_u64((sum ^ sum >> 32).wrapping_mul(FACTORS[0]));
    }
}

/// Passes the one number of a key's hash on.
#[derive(Default)]
pub struct Passed(u64);

impl Hasher for Passed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys write one number");
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word ^ word >> 32;
    }
}

/// More are forgotten, all at once: who needs so many different ones gains nothing from them.
const MOST: usize = 1 << 10;

/// Values by their keys.
pub struct Kept<V>(Mutex<Option<HashMap<Key, V, BuildHasherDefault<Passed>>>>);

impl<V: Clone> Kept<V> {
    pub const fn new() -> Kept<V> {
        Kept(Mutex::new(None))
    }

    pub fn get(&self, key: &Key) -> Option<V> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        key.words()?;
        kept.as_ref()?.get(key).cloned()
    }

    pub fn insert(&self, key: Key, value: V) {
        if key.words().is_none() {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.get_or_insert_default();
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(key, value);
    }
}
