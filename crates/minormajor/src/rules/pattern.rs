//! Patterns of names.

/// One place of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// This character.
    Is(char),
    /// Any character.
    One,
    /// Any characters, also none.
    Many,
}

/// A pattern of names: `*` for any characters, `?` for one, a backslash before a character for
/// itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    parts: Vec<Part>,
}

impl Pattern {
    /// Of a text; `None` if it ends in the middle of an escape.
    pub(super) fn new(text: &str) -> Option<Pattern> {
        let mut parts = Vec::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            parts.push(match character {
                '*' => Part::Many,
                '?' => Part::One,
                '\\' => Part::Is(characters.next()?),
                other => Part::Is(other),
            });
        }
        Some(Pattern { parts })
    }

    /// Whether it stands for the whole name. Takes time of at most their lengths' product.
    pub(super) fn matches(&self, name: &str) -> bool {
        let parts = &self.parts[..];
        let (mut part, mut rest) = (0, name);
        // Behind the last `*`, and the name from where it was tried there: to try again one
        // character later is enough, since an earlier `*` could reach no more.
        let mut again: Option<(usize, &str)> = None;
        loop {
            let next = rest.chars().next();
            let fits = match (parts.get(part), next) {
                (Some(Part::Many), _) => {
                    part += 1;
                    again = Some((part, rest));
                    continue;
                }
                (None, None) => return true,
                (Some(Part::One), Some(_)) => true,
                (Some(Part::Is(wanted)), Some(found)) => *wanted == found,
                _ => false,
            };
            let Some(found) = next else {
                return false;
            };
            if fits {
                part += 1;
                rest = &rest[found.len_utf8()..];
                continue;
            }
            let Some((behind, tried)) = again else {
                return false;
            };
            let mut tried = tried.chars();
            if tried.next().is_none() {
                return false;
            }
            (part, rest) = (behind, tried.as_str());
            again = Some((behind, rest));
        }
    }
}
