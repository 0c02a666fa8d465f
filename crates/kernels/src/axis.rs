//! Several loops as one index.

use std::mem::MaybeUninit;

/// The most loops that one axis joins.
pub(crate) const JOINED: usize = 8;

/// An index over joined loops, the first of which runs fastest, with the byte offset that each value stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    /// The product of the extents.
    pub(crate) len: usize,
    /// Loops in use.
    count: usize,
    extents: [usize; JOINED],
    strides: [isize; JOINED],
}

impl Axis {
    pub(crate) fn new(extent: usize, stride: isize) -> Axis {
        let mut axis = Axis {
            len: extent,
            count: 1,
            extents: [1; JOINED],
            strides: [0; JOINED],
        };
        (axis.extents[0], axis.strides[0]) = (extent, stride);
        axis
    }

    /// Joins a loop outside those that are there. The caller has seen that there is room.
    pub(crate) fn join(&mut self, extent: usize, stride: isize) {
        (self.extents[self.count], self.strides[self.count]) = (extent, stride);
        self.count += 1;
        self.len *= extent;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.count == JOINED
    }

    /// The stride, if the axis is one loop.
    pub(crate) fn single_stride(&self) -> Option<isize> {
        (self.count == 1).then_some(self.strides[0])
    }

    /// The stride of the innermost loop.
    pub(crate) fn first_stride(&self) -> isize {
        self.strides[0]
    }

    /// How many values stand for places side by side, so many bytes apart.
    pub(crate) fn side_by_side(&self, bytes: usize) -> usize {
        if self.strides[0] == bytes as isize {
            self.extents[0]
        } else {
            1
        }
    }

    /// Whether every value stands for a multiple of this, apart from a constant.
    pub(crate) fn is_multiple_of(&self, bytes: isize) -> bool {
        self.strides[..self.count].iter().all(|s| s % bytes == 0)
    }

    /// The offsets of all values.
    pub(crate) fn offsets(&self) -> Box<[isize]> {
        let loops = std::iter::zip(self.extents, self.strides);
        offsets(loops.take(self.count))
    }

    /// The offsets of values `start` and on; before the first value its offset, past the last one that one's.
    pub(crate) fn read(&self, start: isize, out: &mut [isize]) {
        let before = start.min(0).unsigned_abs().min(out.len());
        out[..before].fill(0);
        if let Some(stride) = self.single_stride() {
            // No walk, and nothing to divide.
            let last = self.len as isize - 1;
            let at = start.clamp(0, last);
            let inside = ((last - at) as usize).min(out.len() - before);
            let (inside, behind) = out[before..].split_at_mut(inside);
            let mut offset = at * stride;
            for out in inside {
                *out = offset;
                offset += stride;
            }
            behind.fill(last * stride);
            return;
        }
        let mut cursor = self.cursor(start.clamp(0, self.len as isize - 1) as usize);
        let mut done = before;
        while done < out.len() {
            let mut some = Pointers::<64>::new();
            let count = (out.len() - done).min(64);
            // Counted from nowhere, a pointer is an offset.
            some.take(&mut cursor, std::ptr::null(), count);
            for (out, place) in std::iter::zip(&mut out[done..], some.iter()) {
                *out = *place as isize;
            }
            done += count;
        }
    }

    /// A walk along the axis from `start`, which is below `len`.
    pub(crate) fn cursor(&self, start: usize) -> Cursor<'_> {
        let mut cursor = Cursor {
            axis: self,
            left: 0,
            offset: 0,
            indices: [0; JOINED],
        };
        cursor.seek(start);
        cursor
    }
}

/// The offsets of all iterations of some loops, the first one fastest.
pub(crate) fn offsets(loops: impl Iterator<Item = (usize, isize)> + Clone) -> Box<[isize]> {
    let mut offsets = Vec::with_capacity(loops.clone().map(|(extent, _)| extent).product());
    offsets.push(0);
    for (extent, stride) in loops {
        let inner = offsets.len();
        for i in inner..inner * extent {
            offsets.push(offsets[i - inner] + stride);
        }
    }
    offsets.into_boxed_slice()
}

/// Room for pointers, of which those taken last count.
pub(crate) struct Pointers<const N: usize> {
    places: [MaybeUninit<*const u8>; N],
    /// The first so many places are written.
    len: usize,
}

impl<const N: usize> Pointers<N> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Pointers {
            places: [MaybeUninit::uninit(); N],
            len: 0,
        }
    }

    /// Takes the next `len` pointers, past the end of the axis its last one again.
    #[inline(always)]
    pub(crate) fn take(&mut self, cursor: &mut Cursor<'_>, base: *const u8, len: usize) {
        cursor.take(base, &mut self.places[..len]);
        self.len = len;
    }

    /// Takes `len` pointers from place `start` of an axis on; before its start its first one, past its end its last.
    #[inline(always)]
    pub(crate) fn take_from(&mut self, axis: &Axis, start: isize, base: *const u8, len: usize) {
        let before = (-start).clamp(0, len as isize) as usize;
        let mut cursor = axis.cursor(start.max(0) as usize);
        cursor.take(base, &mut self.places[before..len]);
        self.places[..before].fill(MaybeUninit::new(base));
        self.len = len;
    }

    /// Puts others in place of the first ones.
    #[inline(always)]
    pub(crate) fn put<const M: usize>(&mut self, others: &Pointers<M>) {
        self.places[..others.len].copy_from_slice(&others.places[..others.len]);
    }

    #[inline(always)]
    pub(crate) fn clone_from(&mut self, other: &Self) {
        self.places[..other.len].copy_from_slice(&other.places[..other.len]);
        self.len = other.len;
    }
}

impl<const N: usize> std::ops::Deref for Pointers<N> {
    type Target = [*const u8];

    #[inline(always)]
    fn deref(&self) -> &[*const u8] {
        // SAFETY: the first `len` places are written, by the field's invariant, and `MaybeUninit` has the same layout.
        unsafe { std::slice::from_raw_parts(self.places.as_ptr().cast(), self.len) }
    }
}

/// A place on an axis.
pub(crate) struct Cursor<'a> {
    axis: &'a Axis,
    /// Values left in the innermost loop, this one included.
    left: usize,
    offset: isize,
    /// Indices of the loops outside the innermost.
    indices: [usize; JOINED],
}

impl Cursor<'_> {
    fn seek(&mut self, start: usize) {
        let axis = self.axis;
        if axis.count == 1 {
            self.left = axis.len - start;
            self.offset = start as isize * axis.strides[0];
            return;
        }
        if start == 0 {
            self.left = axis.extents[0];
            return;
        }
        let inner = start % axis.extents[0];
        self.left = axis.extents[0] - inner;
        self.offset = inner as isize * axis.strides[0];
        let mut rest = start / axis.extents[0];
        for i in 1..axis.count {
            self.indices[i] = rest % axis.extents[i];
            rest /= axis.extents[i];
            self.offset += self.indices[i] as isize * axis.strides[i];
        }
    }

    /// Writes `base` plus the offsets of this and the following values. Past the end of the axis the last value is
    /// repeated.
    #[inline(always)]
    fn take(&mut self, base: *const u8, out: &mut [MaybeUninit<*const u8>]) {
        let stride = self.axis.strides[0];
        let mut done = 0;
        loop {
            let run = self.left.min(out.len() - done);
            let mut offset = self.offset;
            for place in &mut out[done..done + run] {
                place.write(base.wrapping_offset(offset));
                offset = offset.wrapping_add(stride);
            }
            self.offset = offset;
            self.left -= run;
            done += run;
            if self.left == 0 && !self.carry() {
                let last = base.wrapping_offset(self.offset);
                out[done..].fill(MaybeUninit::new(last));
                return;
            }
            if done == out.len() {
                return;
            }
        }
    }

    /// Enters the next round of the innermost loop. At the end of the axis it steps back to the last value and says no.
    #[cold]
    fn carry(&mut self) -> bool {
        let axis = self.axis;
        let back = |i: usize| axis.extents[i] as isize * axis.strides[i];
        for i in 1..axis.count {
            if self.indices[i] + 1 < axis.extents[i] {
                self.offset = self
                    .offset
                    .wrapping_sub(back(0))
                    .wrapping_add(axis.strides[i]);
                for j in 1..i {
                    self.offset -= self.indices[j] as isize * axis.strides[j];
                    self.indices[j] = 0;
                }
                self.indices[i] += 1;
                self.left = axis.extents[0];
                return true;
            }
        }
        self.offset = self.offset.wrapping_sub(axis.strides[0]);
        self.left = 1;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{Axis, Pointers};

    #[test]
    fn a_walk_from_anywhere_gives_the_offsets_in_order_and_then_the_last() {
        let mut axis = Axis::new(3, 2);
        axis.join(2, 100);
        axis.join(4, -1000);
        let all: Vec<isize> = (0..24)
            .map(|i| i % 3 * 2 + i / 3 % 2 * 100 - i / 6 * 1000)
            .collect();
        for start in 0..24 {
            for step in [1, 2, 5, 7, 40] {
                let mut cursor = axis.cursor(start);
                let mut got = Vec::new();
                while got.len() < 40 {
                    let mut out = Pointers::<40>::new();
                    out.take(&mut cursor, std::ptr::null(), step);
                    got.extend(out.iter().map(|p| *p as isize));
                }
                for (i, g) in got.iter().enumerate() {
                    assert_eq!(
                        *g,
                        all[(start + i).min(23)],
                        "start {start}, step {step}, value {i}"
                    );
                }
            }
        }
    }
}
