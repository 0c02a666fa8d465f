//! How a box of packed elements is brought from one side to the other.
//!
//! With `n` elements to a byte, a transpose of `n` rows by `n` columns takes the elements of every byte apart. So `n` rows
//! are [mixed](super::mix), before or behind an ordinary transpose of bytes, whichever side has the longer rows for it:
//!
//! - [`zip`](Bits::zip): rows of the source are mixed when they are read, and bytes then hold what one byte of the
//!   destination does;
//! - [`unzip`](Bits::unzip): rows of the destination are, when they are written;
//! - [`weave`](Bits::weave) and [`unweave`](Bits::unweave): the same for few rows that become one run, or one run that
//!   becomes few rows, where their number is no multiple of `n`: as many bytes as there are rows hold `n` columns;
//! - [`merge`](Bits::merge) and [`split`](Bits::split): rows of bytes become rows of packed elements, and back;
//! - a [`Panel`](super::panel::Panel) does so in strips, where it is large or odd;
//! - a [`Braid`](super::braid::Braid) is few rows, of a number that suits registers, and the runs that they become;
//! - [`shift`](Bits::shift): elements that keep their order, but not their place in a byte;
//! - [`one_by_one`](Bits::one_by_one): whatever there is, every element in a byte of its own.

use super::block::{Mid, Reading, Recipe, Writing};
use super::blocks::{Blocks, Limits};
use super::mix::{Blend, Mix};
use super::roles::Roles;
use super::stage::pitch;
use super::way::Way;
use crate::isa::Isa;
use crate::nest::Loop;
use crate::simd::LINE;

/// A box to be moved.
#[derive(Clone, Copy)]
pub(super) struct Bits<'a> {
    /// In bits, as a nest has them.
    pub(super) loops: &'a [Loop],
    /// Bits of an element on either side: 1, 2, 4 or 8, not 8 on both.
    pub(super) from: usize,
    pub(super) to: usize,
    /// Whether the first element is at the start of a byte of the destination.
    pub(super) on_byte: bool,
    pub(super) stream: bool,
    pub(super) isa: Isa,
}

impl Bits<'_> {
    /// Packed elements in a byte.
    pub(super) fn per_byte(&self) -> usize {
        8 / self.from.min(self.to)
    }

    /// Every element by itself: unpacked when it is read, packed when it is written.
    pub(super) fn one_by_one(&self) -> Blocks {
        let limits = Limits {
            bits: [self.from, 8, self.to],
            multiples: vec![1; self.loops.len()],
        };
        self.blocks(&limits, |inside| Recipe {
            reading: match self.from {
                8 => Reading::Ways(vec![Way::Keep], 8),
                bits => Reading::Ways(vec![Way::Unpack(bits)], bits),
            },
            width: 1,
            middle: inside.iter().map(mid).collect(),
            writing: match self.to {
                8 => Writing::Direct,
                bits => Writing::Ways(vec![Way::Pack(bits)], bits, 0),
            },
        })
    }

    /// Elements in the same order on both sides, whose runs are whole bytes but lie at any bit. `unit` is their loop.
    pub(super) fn shift(&self, unit: usize, from_byte: bool, to_byte: bool) -> Blocks {
        let per = self.per_byte();
        let mut limits = Limits {
            bits: [self.from, self.from, self.to],
            multiples: vec![1; self.loops.len()],
        };
        limits.multiples[unit] = per;
        self.blocks(&limits, |inside| {
            let mut middle: Vec<Mid> = inside.iter().map(mid).collect();
            middle[unit] = Mid {
                extent: inside[unit].extent / per,
                source: 8,
                destination: 8,
            };
            Recipe {
                reading: match from_byte {
                    true => Reading::Direct,
                    false => Reading::Ways(vec![Way::Keep], 8),
                },
                width: 1,
                middle,
                writing: match to_byte {
                    true => Writing::Direct,
                    false => Writing::Ways(vec![Way::Keep], 8, 0),
                },
            }
        })
    }

    /// Rows of the source are mixed when they are read. The innermost column loop is a multiple of the elements in a byte.
    pub(super) fn zip(&self, roles: &Roles) -> Blocks {
        let roles = &roles.with_whole_columns(self.loops, self.per_byte());
        let direct = self.writes_bytes(roles);
        self.blocks(&self.limits(roles), |inside| {
            let per = self.per_byte();
            let rows = offsets(inside, &roles.rows, |l| l.source);
            let count = rows.len().div_ceil(per);
            let bytes = product(inside, &roles.columns) / per;
            let pitch = rows_apart(bytes);
            let (mut memory, mut stage) = (Vec::new(), Vec::new());
            for (number, other) in offsets(inside, &roles.others, |l| l.source)
                .iter()
                .enumerate()
            {
                for k in 0..count {
                    for i in 0..per {
                        // A last group that is not whole has its last row again.
                        memory.push(other + rows[(k * per + i).min(rows.len() - 1)]);
                        stage.push(((number * per + i) * count + k) * pitch);
                    }
                }
            }
            let mut middle = vec![Mid {
                extent: count,
                source: pitch as isize,
                destination: 8,
            }];
            let first = &inside[roles.columns[0]];
            middle.push(Mid {
                extent: per,
                source: (count * pitch) as isize,
                destination: first.destination,
            });
            middle.push(Mid {
                extent: first.extent / per,
                source: 1,
                destination: per as isize * first.destination,
            });
            let mut step = first.extent / per;
            for &i in &roles.columns[1..] {
                middle.push(staged(&inside[i], &mut step, true));
            }
            let mut step = per * count * pitch;
            for &i in &roles.others {
                middle.push(staged(&inside[i], &mut step, true));
            }
            Recipe {
                reading: Reading::Mix(Mix {
                    blend: Blend::Swap(self.from),
                    memory,
                    stage,
                    bits: bytes * 8,
                    bytes,
                }),
                width: 1,
                middle,
                writing: self.written(direct, count * 8 - rows.len() * self.to),
            }
        })
    }

    /// Rows of bytes become packed rows when they are read.
    pub(super) fn merge(&self, roles: &Roles) -> Blocks {
        let direct = self.writes_bytes(roles);
        self.blocks(&self.limits(roles), |inside| {
            let per = self.per_byte();
            let rows = offsets(inside, &roles.rows, |l| l.source);
            let count = rows.len().div_ceil(per);
            let bytes = product(inside, &roles.columns);
            let pitch = rows_apart(bytes);
            let (mut memory, mut stage) = (Vec::new(), Vec::new());
            for other in offsets(inside, &roles.others, |l| l.source) {
                for k in 0..count {
                    let row = |i: usize| rows[(k * per + i).min(rows.len() - 1)];
                    memory.extend((0..per).map(|i| other + row(i)));
                    stage.push(stage.len() * pitch);
                }
            }
            let mut middle = vec![Mid {
                extent: count,
                source: pitch as isize,
                destination: 8,
            }];
            let mut step = 1;
            for &i in &roles.columns {
                middle.push(staged(&inside[i], &mut step, true));
            }
            let mut step = count * pitch;
            for &i in &roles.others {
                middle.push(staged(&inside[i], &mut step, true));
            }
            Recipe {
                reading: Reading::Mix(Mix {
                    blend: Blend::Merge(self.to),
                    memory,
                    stage,
                    bits: bytes * 8,
                    bytes,
                }),
                width: 1,
                middle,
                writing: self.written(direct, count * 8 - rows.len() * self.to),
            }
        })
    }

    /// Rows of the destination are mixed when they are written. The innermost loops of rows and of columns are multiples
    /// of the elements in a byte.
    pub(super) fn unzip(&self, roles: &Roles) -> Blocks {
        let per = self.per_byte();
        let roles = &roles
            .with_whole_columns(self.loops, per)
            .with_whole_rows(self.loops, per);
        self.blocks(&self.limits(roles), |inside| {
            let count = product(inside, &roles.rows) / per;
            let pitch = rows_apart(count);
            let first = &inside[roles.rows[0]];
            let mut middle = vec![
                Mid {
                    extent: per,
                    source: first.source,
                    destination: pitch as isize,
                },
                Mid {
                    extent: first.extent / per,
                    source: per as isize * first.source,
                    destination: 1,
                },
            ];
            let mut step = first.extent / per;
            for &i in &roles.rows[1..] {
                middle.push(staged(&inside[i], &mut step, false));
            }
            let groups = self.columns_to_rows(inside, roles, per * pitch, &mut middle);
            let each = inside[roles.columns[0]].destination;
            Recipe {
                reading: Reading::Ways(vec![Way::Keep], 8),
                width: 1,
                middle,
                writing: Writing::Mix(Mix {
                    blend: Blend::Swap(self.to),
                    memory: groups
                        .iter()
                        .flat_map(|group| (0..per).map(move |j| group + j as isize * each))
                        .collect(),
                    stage: (0..groups.len() * per).map(|row| row * pitch).collect(),
                    bits: count * 8,
                    bytes: count,
                }),
            }
        })
    }

    /// Packed rows become rows of bytes when they are written. The innermost column loop is a multiple of the elements in
    /// a byte.
    pub(super) fn split(&self, roles: &Roles) -> Blocks {
        let per = self.per_byte();
        let roles = &roles.with_whole_columns(self.loops, per);
        self.blocks(&self.limits(roles), |inside| {
            let count = product(inside, &roles.rows);
            let pitch = rows_apart(count);
            let mut middle = Vec::new();
            let mut step = 1;
            for &i in &roles.rows {
                middle.push(staged(&inside[i], &mut step, false));
            }
            let groups = self.columns_to_rows(inside, roles, pitch, &mut middle);
            let each = inside[roles.columns[0]].destination;
            Recipe {
                reading: Reading::Ways(vec![Way::Keep], 8),
                width: 1,
                middle,
                writing: Writing::Mix(Mix {
                    blend: Blend::Split(self.from),
                    memory: groups
                        .iter()
                        .flat_map(|group| (0..per).map(move |j| group + j as isize * each))
                        .collect(),
                    stage: (0..groups.len()).map(|row| row * pitch).collect(),
                    bits: count * 8,
                    bytes: count,
                }),
            }
        })
    }

    /// The loops over bytes of the source's columns and over the others, which go to groups of rows `step` bytes apart.
    /// Returns the destination's offsets of the groups.
    fn columns_to_rows(
        &self,
        inside: &[Loop],
        roles: &Roles,
        mut step: usize,
        middle: &mut Vec<Mid>,
    ) -> Vec<isize> {
        let per = self.per_byte();
        let mut loops = inside.to_vec();
        let first = &mut loops[roles.columns[0]];
        *first = Loop {
            extent: first.extent / per,
            source: 8,
            destination: first.destination * per as isize,
        };
        let all: Vec<usize> = roles.columns.iter().chain(&roles.others).copied().collect();
        for &i in &all {
            middle.push(staged(&loops[i], &mut step, false));
        }
        offsets(&loops, &all, |l| l.destination)
    }

    pub(super) fn blocks(&self, limits: &Limits, recipe: impl Fn(&[Loop]) -> Recipe) -> Blocks {
        Blocks::new(self.loops, limits, self.stream, self.isa, recipe)
    }

    /// Rows and columns are cut between bytes.
    pub(super) fn limits(&self, roles: &Roles) -> Limits {
        let mut multiples = vec![1; self.loops.len()];
        let firsts = [roles.rows.first(), roles.columns.first()];
        for &i in firsts.into_iter().flatten() {
            multiples[i] = self.per_byte();
        }
        Limits {
            bits: [self.from, self.from.min(self.to), self.to],
            multiples,
        }
    }

    /// Whether all runs of the destination are whole bytes.
    pub(super) fn writes_bytes(&self, roles: &Roles) -> bool {
        self.on_byte
            && self.loops[roles.rows[0]]
                .extent
                .is_multiple_of(self.per_byte())
            && (0..self.loops.len())
                .filter(|&i| i != roles.rows[0])
                .all(|i| self.loops[i].destination % 8 == 0)
    }

    /// Bytes to the destination, of which a run's last one lacks some bits.
    pub(super) fn written(&self, direct: bool, lacking: usize) -> Writing {
        match direct {
            true => Writing::Direct,
            false => Writing::Ways(vec![Way::Keep], 8, lacking),
        }
    }
}

/// A loop of the move as it is in memory.
fn mid(l: &Loop) -> Mid {
    Mid {
        extent: l.extent,
        source: l.source,
        destination: l.destination,
    }
}

/// A loop whose iterations lie `step` bytes apart in the stage that the move reads, or that it writes; behind them, the
/// next loop's do.
pub(super) fn staged(l: &Loop, step: &mut usize, read: bool) -> Mid {
    let here = *step as isize;
    *step *= l.extent;
    match read {
        true => Mid {
            source: here,
            ..mid(l)
        },
        false => Mid {
            destination: here,
            ..mid(l)
        },
    }
}

/// Bytes from one row of a stage to the next, where rows are written in whole lines.
pub(super) fn rows_apart(bytes: usize) -> usize {
    pitch(bytes.next_multiple_of(LINE))
}

fn product(loops: &[Loop], which: &[usize]) -> usize {
    which.iter().map(|&i| loops[i].extent).product()
}

/// The offsets of all iterations of some loops, the first of them fastest.
pub(super) fn offsets(loops: &[Loop], which: &[usize], stride: fn(&Loop) -> isize) -> Vec<isize> {
    which.iter().fold(vec![0], |offsets, &i| {
        let l = &loops[i];
        (0..l.extent as isize)
            .flat_map(|n| offsets.iter().map(move |offset| offset + n * stride(l)))
            .collect()
    })
}
