//! Dense arrays of bytes whose dimensions change places.

use smallvec::{SmallVec, smallvec};

use super::extents::{Extents, cut_place, cuts, product};

/// The numbers of dimensions.
pub(super) type Order = SmallVec<[usize; 8]>;

/// Dimension `k` of the result is dimension `order[k]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Transpose {
    pub extents: Extents,
    pub order: Order,
}

impl Transpose {
    /// The extents of the result.
    pub fn result(&self) -> Extents {
        self.order.iter().map(|&d| self.extents[d]).collect()
    }

    /// The way back.
    pub fn reversed(&self) -> Transpose {
        let mut order: Order = smallvec![0; self.order.len()];
        for (place, &d) in self.order.iter().enumerate() {
            order[d] = place;
        }
        Transpose {
            extents: self.result(),
            order,
        }
    }

    /// Without dimensions of extent 1, and with those as one that are neighbours on both sides;
    /// `None` where all stay in place.
    pub fn canonical(&self) -> Option<Transpose> {
        let wide: Order = self
            .order
            .iter()
            .copied()
            .filter(|&d| self.extents[d] != 1)
            .collect();
        // Numbers without gaps, in the order of the source.
        let number = |d: usize| wide.iter().filter(|&&other| other < d).count();
        let mut runs: SmallVec<[(usize, i64); 8]> = SmallVec::new();
        let mut next = None;
        for &d in &wide {
            match runs.last_mut() {
                Some((_, extent)) if next == Some(number(d)) => *extent *= self.extents[d],
                _ => runs.push((d, self.extents[d])),
            }
            next = Some(number(d) + 1);
        }
        if runs.len() < 2 {
            return None;
        }
        let first = |d: usize| runs.iter().filter(|&&(other, _)| other < d).count();
        let mut extents: Extents = smallvec![0; runs.len()];
        for &(d, extent) in &runs {
            extents[first(d)] = extent;
        }
        Some(Transpose {
            extents,
            order: runs.iter().map(|&(d, _)| first(d)).collect(),
        })
    }

    /// This and then another as one, where one array has the dimensions of both.
    pub fn then(&self, next: &Transpose) -> Option<Transpose> {
        let first = self.reversed().cut(&next.extents)?;
        let next = next.cut(&first.extents)?;
        let first = first.reversed();
        (first.result() == next.extents).then(|| Transpose {
            order: next.order.iter().map(|&d| first.order[d]).collect(),
            extents: first.extents,
        })
    }

    /// The same with dimensions cut in two where those of `like` begin; `None` where that does
    /// not divide them.
    fn cut(&self, like: &[i64]) -> Option<Transpose> {
        let Transpose {
            mut extents,
            mut order,
        } = self.clone();
        for cut in cuts(like) {
            if let Some((d, minor)) = cut_place(&extents, cut)? {
                extents[d] /= minor;
                extents.insert(d + 1, minor);
                for place in order.iter_mut().filter(|place| **place > d) {
                    *place += 1;
                }
                let at = order.iter().position(|&place| place == d)?;
                order.insert(at + 1, d + 1);
            }
        }
        Some(Transpose { extents, order })
    }

    /// The number of outermost dimensions that stay, of innermost ones that stay.
    pub fn fixed(&self) -> (usize, usize) {
        let stays = |(place, d): &(usize, &usize)| place == *d;
        let outer = self.order.iter().enumerate().take_while(stays).count();
        let inner = self
            .order
            .iter()
            .enumerate()
            .rev()
            .take_while(stays)
            .count();
        (outer, inner)
    }

    /// Bytes of the array.
    pub fn bytes(&self) -> i64 {
        product(&self.extents)
    }
}
