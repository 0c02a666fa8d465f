//! Dense arrays of bytes whose dimensions get other extents.

use super::extents::{Extents, cut_place, cuts};

/// Every dimension gets another extent: what falls outside is dropped, what comes in is
/// undefined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resize {
    pub from: Extents,
    pub to: Extents,
}

impl Resize {
    pub fn reversed(&self) -> Resize {
        Resize {
            from: self.to.clone(),
            to: self.from.clone(),
        }
    }

    /// With those dimensions as one whose inner neighbour keeps its extent; `None` where all do.
    pub fn canonical(&self) -> Option<Resize> {
        let (mut from, mut to) = (Extents::new(), Extents::new());
        for (&a, &b) in self.from.iter().zip(&self.to) {
            match (from.last_mut(), to.last_mut()) {
                (Some(from), Some(to)) if a == b || (*from, *to) == (1, 1) => {
                    *from *= a;
                    *to *= b;
                }
                _ => {
                    from.push(a);
                    to.push(b);
                }
            }
        }
        (from != to).then_some(Resize { from, to })
    }

    /// This and then another as one, where one array has the dimensions of both.
    pub fn then(&self, next: &Resize) -> Option<Resize> {
        let first = self.reversed().cut(&next.from)?.reversed();
        let next = next.cut(&first.to)?;
        let mut both = Resize {
            from: Extents::new(),
            to: Extents::new(),
        };
        let (mut i, mut j) = (0, 0);
        // Both have the same cuts, but one may have dimensions of 1 that the other lacks.
        while i < first.to.len() || j < next.from.len() {
            let (a, b) = (first.to.get(i), next.from.get(j));
            let (from, to) = if a == b {
                (i, j) = (i + 1, j + 1);
                (first.from[i - 1], next.to[j - 1])
            } else if a == Some(&1) {
                i += 1;
                (first.from[i - 1], 1)
            } else if b == Some(&1) {
                j += 1;
                (1, next.to[j - 1])
            } else {
                return None;
            };
            both.from.push(from);
            both.to.push(to);
        }
        Some(both)
    }

    /// The same with dimensions cut in two where, before it, those of `like` begin; `None` where
    /// that does not divide them.
    fn cut(&self, like: &[i64]) -> Option<Resize> {
        let Resize { mut from, mut to } = self.clone();
        for cut in cuts(like) {
            if let Some((d, minor)) = cut_place(&from, cut)? {
                if to[d] % minor != 0 {
                    return None;
                }
                from[d] /= minor;
                from.insert(d + 1, minor);
                to[d] /= minor;
                to.insert(d + 1, minor);
            }
        }
        Some(Resize { from, to })
    }

    /// As one that only shrinks and then one that only grows, either of which may be absent. The
    /// most major dimension may do anything, since nothing lies behind it.
    pub fn parts(&self) -> impl Iterator<Item = Resize> {
        let inner = || self.from.iter().zip(&self.to).skip(1);
        let mixed = inner().any(|(a, b)| a < b) && inner().any(|(a, b)| a > b);
        let least: Extents = std::iter::zip(&self.from, &self.to)
            .map(|(&a, &b)| a.min(b))
            .collect();
        let middle = if mixed { least } else { self.to.clone() };
        let parts = [
            Resize {
                from: self.from.clone(),
                to: middle.clone(),
            },
            Resize {
                from: middle,
                to: self.to.clone(),
            },
        ];
        parts.into_iter().filter_map(|part| part.canonical())
    }
}
