//! What was prepared for a call, kept for the next one that is like it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use rustc_hash::FxBuildHasher;

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
    /// Without a call of a function that compares memory, which takes longer for so few numbers.
    #[inline]
    fn eq(&self, other: &Key) -> bool {
        let pairs = self.words.iter().zip(&other.words).take(self.length);
        let differing = pairs.fold(0, |differing, (one, other)| differing | (one ^ other));
        self.length == other.length && differing == 0
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.words().hash(state);
    }
}

/// More are forgotten, all at once: who needs so many different ones gains nothing from them.
const MOST: usize = 1 << 10;

/// Values by their keys: one thread's, so that nobody waits for another's, nor for a count that threads
/// share.
pub struct Kept<V>(RefCell<Values<V>>);

struct Values<V> {
    all: HashMap<Key, V, FxBuildHasher>,
    /// The one that was asked for last, which mostly is the next one too.
    last: Option<(Key, V)>,
}

impl<V: Clone> Kept<V> {
    pub const fn new() -> Kept<V> {
        Kept(RefCell::new(Values {
            all: HashMap::with_hasher(FxBuildHasher),
            last: None,
        }))
    }

    #[inline]
    pub fn get(&self, key: &Key) -> Option<V> {
        let mut kept = self.0.borrow_mut();
        match &kept.last {
            Some((known, value)) if known == key => Some(value.clone()),
            _ => kept.find(key),
        }
    }

    pub fn insert(&self, key: Key, value: V) {
        let mut kept = self.0.borrow_mut();
        if key.words().is_none() {
            return;
        }
        if kept.all.len() >= MOST {
            kept.all.clear();
        }
        kept.all.insert(key, value);
    }
}

impl<V: Clone> Values<V> {
    #[inline(never)]
    fn find(&mut self, key: &Key) -> Option<V> {
        let value = self.all.get(key)?.clone();
        self.last = Some((key.clone(), value.clone()));
        Some(value)
    }
}
