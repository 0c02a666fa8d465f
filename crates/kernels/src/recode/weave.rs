//! Few rows that become one run, and one run that becomes few rows.

use super::block::{Mid, Reading, Recipe, Writing};
use super::blocks::Blocks;
use super::mix::{Blend, Mix, Table};
use super::recipe::{Bits, offsets, rows_apart, staged};
use super::roles::Roles;
use super::way::Way;

impl Bits<'_> {
    /// Few rows become one run. All of them are in a block, and the columns, the destination's next loop, are a multiple
    /// of the elements in a byte.
    pub(super) fn weave(&self, roles: &Roles) -> Blocks {
        let roles = &roles.with_one_column();
        let mut limits = self.limits(roles);
        roles.rows.iter().for_each(|&i| limits.multiples[i] = 0);
        let direct = self.on_byte
            && (0..self.loops.len())
                .filter(|i| !roles.rows.contains(i) && roles.columns[0] != *i)
                .all(|i| self.loops[i].destination % 8 == 0);
        self.blocks(&limits, |inside| {
            let per = self.per_byte();
            let rows = offsets(inside, &roles.rows, |l| l.source);
            let columns = &inside[roles.columns[0]];
            let bytes = columns.extent / per;
            let pitch = rows_apart(bytes);
            let others = offsets(inside, &roles.others, |l| l.source);
            let count = rows.len();
            let mut middle = vec![
                Mid {
                    extent: count,
                    source: pitch as isize,
                    destination: 8,
                },
                Mid {
                    extent: bytes,
                    source: 1,
                    destination: count as isize * 8,
                },
            ];
            let mut step = count * pitch;
            for &i in &roles.others {
                middle.push(staged(&inside[i], &mut step, true));
            }
            let memory = others
                .iter()
                .flat_map(|other| rows.iter().map(move |row| other + row));
            Recipe {
                reading: Reading::Mix(Mix {
                    blend: Blend::Table(Table {
                        rows: count,
                        bits: self.from,
                        from: (0..count * per)
                            .map(|at| (at % count, at / count * self.from))
                            .collect(),
                    }),
                    memory: memory.collect(),
                    stage: (0..others.len() * count).map(|row| row * pitch).collect(),
                    bits: bytes * 8,
                    bytes,
                }),
                width: 1,
                middle,
                writing: self.written(direct, 0),
            }
        })
    }

    /// One run becomes few rows of the destination. All columns are in a block, and the rows, the source's next loop, are
    /// a multiple of the elements in a byte.
    pub(super) fn unweave(&self, roles: &Roles) -> Blocks {
        let roles = &roles.with_one_row();
        let mut limits = self.limits(roles);
        roles.columns.iter().for_each(|&i| limits.multiples[i] = 0);
        self.blocks(&limits, |inside| {
            let per = self.per_byte();
            let columns = offsets(inside, &roles.columns, |l| l.destination);
            let bytes = inside[roles.rows[0]].extent / per;
            let pitch = rows_apart(bytes);
            let others = offsets(inside, &roles.others, |l| l.destination);
            let count = columns.len();
            let mut middle = vec![
                Mid {
                    extent: count,
                    source: 8,
                    destination: pitch as isize,
                },
                Mid {
                    extent: bytes,
                    source: count as isize * 8,
                    destination: 1,
                },
            ];
            let mut step = count * pitch;
            for &i in &roles.others {
                middle.push(staged(&inside[i], &mut step, false));
            }
            let memory = others
                .iter()
                .flat_map(|other| columns.iter().map(move |c| other + c));
            let place = |column: usize, row: usize| {
                let at = row * count + column;
                (at / per, at % per * self.from)
            };
            Recipe {
                reading: Reading::Ways(vec![Way::Keep], 8),
                width: 1,
                middle,
                writing: Writing::Mix(Mix {
                    blend: Blend::Table(Table {
                        rows: count,
                        bits: self.from,
                        from: (0..count)
                            .flat_map(|column| (0..per).map(move |row| place(column, row)))
                            .collect(),
                    }),
                    memory: memory.collect(),
                    stage: (0..others.len() * count).map(|row| row * pitch).collect(),
                    bits: bytes * 8,
                    bytes,
                }),
            }
        })
    }
}
