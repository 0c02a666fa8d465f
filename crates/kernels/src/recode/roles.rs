//! What the loops of a box are to its rows and columns.

use super::recipe::Bits;
use crate::nest::Loop;

/// The loops of a box, by what they are: those that make up the runs of the destination and of the source, the innermost
/// first, and the others.
#[derive(Debug)]
pub(super) struct Roles {
    pub(super) rows: Vec<usize>,
    pub(super) columns: Vec<usize>,
    pub(super) others: Vec<usize>,
}

impl Bits<'_> {
    pub(super) fn roles(&self) -> Roles {
        Roles::of(self.loops, self.from, self.to)
    }

    /// Rows and columns.
    pub(super) fn sizes(&self, roles: &Roles) -> (usize, usize) {
        let count = |which: &[usize]| which.iter().map(|&i| self.loops[i].extent).product();
        (count(&roles.rows), count(&roles.columns))
    }
}

impl Roles {
    /// The roles of the loops of elements of so many bits on either side; a loop that would have two is of neither run.
    pub(super) fn of(loops: &[Loop], from: usize, to: usize) -> Roles {
        let chain = |stride: fn(&Loop) -> isize, bits: usize| {
            let mut chain = Vec::new();
            let mut run = bits;
            while let Some(i) = loops.iter().position(|l| stride(l) == run as isize) {
                chain.push(i);
                run *= loops[i].extent;
            }
            chain
        };
        let all_rows = chain(|l| l.destination, to);
        let all_columns = chain(|l| l.source, from);
        // Each ends where the other begins, or where both would go on with the same loop.
        let until = |chain: &[usize], other: &[usize]| -> Vec<usize> {
            let ends = |at: usize, i: &usize| match other.iter().position(|o| o == i) {
                Some(0) => true,
                Some(_) => at > 0,
                None => false,
            };
            let kept = chain.iter().enumerate().take_while(|&(at, i)| !ends(at, i));
            kept.map(|(_, &i)| i).collect()
        };
        let rows = until(&all_rows, &all_columns);
        let columns = until(&all_columns, &all_rows);
        let mut roles = Roles {
            rows,
            columns,
            others: Vec::new(),
        };
        roles.find_others(loops.len());
        roles
    }

    fn find_others(&mut self, count: usize) {
        let known = |i: &usize| self.rows.contains(i) || self.columns.contains(i);
        self.others = (0..count).filter(|i| !known(i)).collect();
    }

    fn changed(&self, change: impl FnOnce(&mut Roles)) -> Roles {
        let count = self.rows.len() + self.columns.len() + self.others.len();
        let mut roles = Roles {
            rows: self.rows.clone(),
            columns: self.columns.clone(),
            others: Vec::new(),
        };
        change(&mut roles);
        roles.find_others(count);
        roles
    }

    /// Only columns that begin on bytes where the first does.
    pub(super) fn with_whole_columns(&self, loops: &[Loop], per: usize) -> Roles {
        match loops[self.columns[0]].extent % per {
            0 => self.changed(|_| {}),
            _ => self.with_one_column(),
        }
    }

    /// Only rows that begin on bytes where the first does.
    pub(super) fn with_whole_rows(&self, loops: &[Loop], per: usize) -> Roles {
        match loops[self.rows[0]].extent % per {
            0 => self.changed(|_| {}),
            _ => self.with_one_row(),
        }
    }

    pub(super) fn with_one_column(&self) -> Roles {
        self.changed(|roles| roles.columns.truncate(1))
    }

    pub(super) fn with_one_row(&self) -> Roles {
        self.changed(|roles| roles.rows.truncate(1))
    }
}
