//! Matrices of blocks that are transposed in place.
//!
//! `rows` x `columns` blocks become `columns` x `rows`. What fits scratch goes through it; a square
//! is swapped in pairs; blocks that are long enough follow cycles. Anything else is cut:
//!
//! - into panels of columns: rows x (panels x columns of one), where first the panels' rows change
//!   places as longer blocks, and then each panel is a matrix of its own;
//! - into panels of rows, the other way round: first each panel, then their rows as longer blocks;
//! - where panels do not divide the matrix, the columns or rows left over are parted from it, a
//!   small matrix of their own, or joined to it at the end.
//!
//! Costs are in passes: moving all bytes of a matrix once from place to place in memory is 1, and
//! what every block costs besides is in bytes that could be moved meanwhile.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::step::Step;
use crate::plan::{Loop, SmallLoops};

/// Bytes that a cache near the core keeps, twice.
const NEAR: i64 = 512 << 10;

/// Bytes that some cache keeps, twice.
const FAR: i64 = 8 << 20;

/// How much deeper the matrix may be cut.
const DEPTH: u32 = 3;

/// A matrix of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Matrix {
    pub rows: i64,
    pub columns: i64,
    /// Bytes of a block.
    pub block: i64,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Nothing,
    Stage,
    Swap,
    Cycle,
    /// Panels of so many columns.
    Columns(i64),
    /// Panels of so many rows.
    Rows(i64),
}

/// Finds the cheapest ways in a given scratch.
pub(super) struct Exchanges {
    /// Bytes of scratch that a thread has.
    scratch: i64,
    known: HashMap<(Matrix, u32), (f64, Way)>,
}

impl Matrix {
    pub fn bytes(&self) -> i64 {
        self.rows * self.columns * self.block
    }

    fn with_columns(self, columns: i64) -> Matrix {
        Matrix { columns, ..self }
    }

    fn with_rows(self, rows: i64) -> Matrix {
        Matrix { rows, ..self }
    }
}

/// What moving bytes through scratch costs.
pub(super) fn stage_cost(bytes: i64) -> f64 {
    if bytes <= NEAR {
        1.0
    } else if bytes <= FAR {
        1.2
    } else {
        2.2
    }
}

/// What swapping blocks in pairs costs.
pub(super) fn swap_cost(block: i64) -> f64 {
    match block {
        1 | 2 | 4 | 8 | 16 => 1.2,
        block => 1.0 + 40.0 / block as f64,
    }
}

impl Exchanges {
    pub fn new(scratch: i64) -> Exchanges {
        Exchanges {
            scratch,
            known: HashMap::new(),
        }
    }

    pub fn scratch(&self) -> i64 {
        self.scratch
    }

    fn cycle_cost(&self, matrix: Matrix) -> f64 {
        // A bit for every block says whether it has moved, if there is room for them: else every
        // cycle is followed once more for each of its blocks, until an earlier one is met.
        let bits = matrix.rows * matrix.columns / 8 <= self.scratch / 2;
        let block = if bits { 60.0 } else { 400.0 };
        1.0 + block / matrix.block as f64
    }

    /// What parting or joining rows costs, of which the right part is the smaller one.
    fn part_cost(&self, rows: i64, left: i64, right: i64) -> f64 {
        let right = (rows * right) as f64;
        let all = (rows * left) as f64 + right;
        // The right parts that have been collected move on whenever scratch is full.
        1.1 + right * right / (2.0 * self.scratch as f64 * all)
    }

    /// The cost of the cheapest way.
    pub fn cost(&mut self, matrix: Matrix) -> f64 {
        self.best(matrix, DEPTH).0
    }

    fn best(&mut self, matrix: Matrix, depth: u32) -> (f64, Way) {
        let Matrix {
            rows,
            columns,
            block,
        } = matrix;
        if rows == 1 || columns == 1 {
            return (0.0, Way::Nothing);
        }
        if matrix.bytes() <= self.scratch.min(NEAR) {
            return (1.0, Way::Stage);
        }
        if let Some(&known) = self.known.get(&(matrix, depth)) {
            return known;
        }
        let mut best = (self.cycle_cost(matrix), Way::Cycle);
        let better = |best: &mut (f64, Way), cost: f64, way: Way| {
            if cost < best.0 {
                *best = (cost, way);
            }
        };
        if matrix.bytes() <= self.scratch {
            better(&mut best, stage_cost(matrix.bytes()), Way::Stage);
        }
        if rows == columns {
            better(&mut best, swap_cost(block), Way::Swap);
        }
        // Cutting costs two passes at least.
        if depth > 0 && best.0 > 2.0 {
            for panel in self.panels(columns, rows, block) {
                let rest = columns % panel;
                let (whole, share) = (columns - rest, (columns - rest) as f64 / columns as f64);
                let long = Matrix {
                    rows,
                    columns: whole / panel,
                    block: panel * block,
                };
                let mut cost = share
                    * (self.best(long, depth - 1).0
                        + self.best(matrix.with_columns(panel), depth - 1).0);
                if rest > 0 {
                    cost += self.part_cost(rows, whole * block, rest * block)
                        + (1.0 - share) * self.best(matrix.with_columns(rest), depth - 1).0;
                }
                better(&mut best, cost, Way::Columns(panel));
            }
            for panel in self.panels(rows, columns, block) {
                let rest = rows % panel;
                let (whole, share) = (rows - rest, (rows - rest) as f64 / rows as f64);
                let long = Matrix {
                    rows: whole / panel,
                    columns,
                    block: panel * block,
                };
                let mut cost = share
                    * (self.best(long, depth - 1).0
                        + self.best(matrix.with_rows(panel), depth - 1).0);
                if rest > 0 {
                    cost += self.part_cost(columns, whole * block, rest * block)
                        + (1.0 - share) * self.best(matrix.with_rows(rest), depth - 1).0;
                }
                better(&mut best, cost, Way::Rows(panel));
            }
        }
        self.known.insert((matrix, depth), best);
        best
    }

    /// Panels worth trying, of a side of `extent` beside one of `other`: those that fit scratch,
    /// that are squares or leave a square of panels, and that make blocks of a handy size; each
    /// also as a divisor nearby.
    fn panels(&self, extent: i64, other: i64, block: i64) -> SmallVec<[i64; 24]> {
        let handy = [64, 256, 1024, 4096, 16384].map(|bytes| bytes / block);
        let scratch = self.scratch / (other * block).max(1);
        let mut panels: SmallVec<[i64; 24]> = SmallVec::new();
        for wanted in handy
            .into_iter()
            .chain([scratch, scratch / 2, other, extent / other])
        {
            let least = (wanted / 2).max(wanted - 512).max(2);
            let divisor = (least..=wanted).rev().find(|panel| extent % panel == 0);
            for panel in [Some(wanted), divisor].into_iter().flatten() {
                if (2..extent).contains(&panel) && !panels.contains(&panel) {
                    panels.push(panel);
                }
            }
        }
        panels
    }

    /// The steps of the cheapest way, for batches of the matrix from `offset` on.
    pub fn steps(&mut self, matrix: Matrix, batches: i64, offset: i64, steps: &mut Vec<Step>) {
        self.emit(matrix, DEPTH, batches, offset, steps);
    }

    fn emit(
        &mut self,
        matrix: Matrix,
        depth: u32,
        batches: i64,
        offset: i64,
        steps: &mut Vec<Step>,
    ) {
        let Matrix {
            rows,
            columns,
            block,
        } = matrix;
        let deeper = depth.saturating_sub(1);
        let (_, way) = self.best(matrix, depth);
        match way {
            Way::Nothing => {}
            Way::Stage => {
                let bytes = |extent, source, destination| Loop {
                    extent,
                    source,
                    destination,
                };
                let loops = [
                    bytes(rows, columns * block, block),
                    bytes(columns, block, rows * block),
                    bytes(block, 1, 1),
                ];
                steps.push(self.stage(offset, batches, matrix.bytes(), loops[..].into()));
            }
            Way::Swap => steps.push(Step::Swap {
                offset,
                batches,
                side: rows,
                middle: 1,
                block,
            }),
            Way::Cycle => steps.push(Step::Cycle {
                offset,
                batches,
                rows,
                columns,
                block,
            }),
            // What is left over is parted from each batch on its own.
            Way::Columns(panel) | Way::Rows(panel)
                if batches > 1
                    && match way {
                        Way::Columns(_) => columns % panel > 0,
                        _ => rows % panel > 0,
                    } =>
            {
                let mut inner = Vec::new();
                self.emit(matrix, depth, 1, 0, &mut inner);
                steps.push(Step::Each {
                    source: offset,
                    destination: offset,
                    count: batches,
                    before: matrix.bytes(),
                    after: matrix.bytes(),
                    steps: inner,
                });
            }
            Way::Columns(panel) => {
                let rest = columns % panel;
                let whole = columns - rest;
                let long = Matrix {
                    rows,
                    columns: whole / panel,
                    block: panel * block,
                };
                if rest > 0 {
                    steps.push(Step::Part {
                        offset,
                        rows,
                        left: whole * block,
                        right: rest * block,
                    });
                }
                self.emit(long, deeper, batches, offset, steps);
                let panels = batches * long.columns;
                self.emit(matrix.with_columns(panel), deeper, panels, offset, steps);
                if rest > 0 {
                    let behind = offset + rows * whole * block;
                    self.emit(matrix.with_columns(rest), deeper, 1, behind, steps);
                }
            }
            Way::Rows(panel) => {
                let rest = rows % panel;
                let whole = rows - rest;
                let long = Matrix {
                    rows: whole / panel,
                    columns,
                    block: panel * block,
                };
                let panels = batches * long.rows;
                self.emit(matrix.with_rows(panel), deeper, panels, offset, steps);
                self.emit(long, deeper, batches, offset, steps);
                if rest > 0 {
                    let behind = offset + whole * columns * block;
                    self.emit(matrix.with_rows(rest), deeper, 1, behind, steps);
                    steps.push(Step::Join {
                        offset,
                        rows: columns,
                        left: whole * block,
                        right: rest * block,
                    });
                }
            }
        }
    }

    /// Batches through scratch, small ones together.
    pub fn stage(&self, offset: i64, batches: i64, batch: i64, loops: SmallVec<[Loop; 6]>) -> Step {
        const TOGETHER: i64 = 16 << 10;
        Step::Stage {
            offset,
            batches,
            batch,
            together: (TOGETHER.min(self.scratch) / batch).clamp(1, batches),
            loops: SmallLoops::canonical(loops),
        }
    }
}
