//! What a misspelt word may have meant.

/// The word of a list that a misspelt one is nearest to, where there is one that is near and no
/// other is as near.
///
/// Near is what one slip makes of a word, and of words with more than five characters two: a
/// character too many, too few or another one, or two that changed places.
///
/// ```
/// use minormajor_core::nearest;
///
/// let formats = ["npy", "npz", "safetensors"];
/// assert_eq!(nearest("safetensor", formats), Some("safetensors"));
/// assert_eq!(nearest("nyp", formats), Some("npy"));
/// assert_eq!(nearest("npx", formats), None); // npy as well as npz
/// assert_eq!(nearest("csv", formats), None);
/// ```
pub fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut best = None;
    let mut least = usize::MAX;
    for candidate in words {
        let Some(slips) = slips(word, candidate) else {
            continue;
        };
        if slips < least {
            (best, least) = (Some(candidate), slips);
        } else if slips == least {
            best = None;
        }
    }
    best
}

/// How many slips make one word of the other, if few.
fn slips(word: &str, meant: &str) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (word.chars().collect(), meant.chars().collect());
    let limit = if b.len() > 5 { 2 } else { 1 };
    // A list that was read may hold any text; and of one character a slip leaves nothing.
    if a.len().abs_diff(b.len()) > limit || a.len() < 2 {
        return None;
    }
    // The usual table, a row for each character of `word`: its last two rows and the next.
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1; b.len() + 1];
        for j in 0..b.len() {
            let other = last[j] + usize::from(a[i] != b[j]);
            next[j + 1] = other.min(last[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                next[j + 1] = next[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut last, next);
    }
    (last[b.len()] <= limit).then_some(last[b.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        for (word, meant, expected) in [
            ("relayout", "relayout", Some(0)),
            ("relayuot", "relayout", Some(1)),
            ("rlayout", "relayout", Some(1)),
            ("rrelayout", "relayout", Some(1)),
            ("relaxout", "relayout", Some(1)),
            ("elaxout", "relayout", Some(2)),
            ("elaxuot", "relayout", None),
            ("f23", "f32", Some(1)),
            ("f99", "f32", None),
            ("f", "f4", None),
            ("", "f4", None),
            ("f\u{fc}r", "f\u{e4}r", Some(1)),
        ] {
            assert_eq!(slips(word, meant), expected, "{word} for {meant}");
        }
    }

    #[test]
    fn the_count_is_the_least() {
        // All words of two letters up to length 4, beside a search that tries every slip.
        let mut words = vec![String::new()];
        for from in 0..15 {
            for letter in ['a', 'b'] {
                words.push(format!("{}{letter}", words[from]));
            }
        }
        let one_slip = |word: &str| {
            let word: Vec<char> = word.chars().collect();
            let mut found = Vec::new();
            for at in 0..=word.len() {
                for letter in ['a', 'b'] {
                    let mut more = word.clone();
                    more.insert(at, letter);
                    found.push(more);
                    if at < word.len() {
                        let mut other = word.clone();
                        other[at] = letter;
                        found.push(other);
                    }
                }
                if at < word.len() {
                    let mut fewer = word.clone();
                    fewer.remove(at);
                    found.push(fewer);
                }
                if at + 1 < word.len() {
                    let mut swapped = word.clone();
                    swapped.swap(at, at + 1);
                    found.push(swapped);
                }
            }
            let found = found.into_iter().map(|word| word.into_iter().collect());
            found.collect::<Vec<String>>()
        };
        for word in words.iter().filter(|word| word.len() > 1) {
            let near = one_slip(word);
            for meant in &words {
                let expected = match word == meant {
                    true => Some(0),
                    false => near.contains(meant).then_some(1),
                };
                assert_eq!(slips(word, meant), expected, "{word} for {meant}");
            }
        }
    }
}
