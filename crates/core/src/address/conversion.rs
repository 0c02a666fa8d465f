//! Both ways of an address map as lists of steps, to be done for many indices at once.

use super::{AddressMap, NodeId, Part};

/// The arithmetic from indices to positions, or back, as steps on registers, which hold one number
/// for each index of a batch. It looks at no data: every index takes the same steps.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conversion {
    /// What is read: a register, and the bound below which its numbers must be.
    pub inputs: Vec<(usize, i64)>,
    /// What is done, in order.
    pub steps: Vec<ConversionStep>,
    /// What comes out: registers.
    pub outputs: Vec<usize>,
    /// Above every number that comes up where the inputs are in bounds.
    pub limit: i64,
}

/// A step of a [`Conversion`]. No step names a register twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ConversionStep {
    /// `to` = 0
    Zero { to: usize },
    /// `to` += `from` * `factor`
    Add { from: usize, factor: i64, to: usize },
    /// `remainder` = `value` % `divisor`, then `value` /= `divisor`
    Divide {
        value: usize,
        divisor: i64,
        remainder: usize,
    },
    /// Where `value` is not below `bound`, there is no element.
    Check { value: usize, bound: i64 },
}

impl AddressMap {
    /// The steps from an index, an input for each dimension, to its position.
    ///
    /// ```
    /// use minormajor_core::{AddressMap, ConversionStep, Shape};
    ///
    /// let shape: Shape = "f32[10,20]".parse()?;
    /// let conversion = AddressMap::new(shape.as_array()?)?.index_to_position();
    /// assert_eq!(conversion.inputs, [(0, 10), (1, 20)]);
    /// assert_eq!(conversion.outputs, [2]);
    /// assert_eq!(conversion.steps, [
    ///     ConversionStep::Zero { to: 2 },
    ///     ConversionStep::Add { from: 0, factor: 20, to: 2 },
    ///     ConversionStep::Add { from: 1, factor: 1, to: 2 },
    /// ]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn index_to_position(&self) -> Conversion {
        let rank = self.sizes.len();
        let groups = self.expansion.groups.len();
        let mut scatter = Scatter {
            map: self,
            position: rank,
            free: rank + 1 + groups,
            steps: Vec::new(),
        };
        for to in rank..=rank + groups {
            scatter.steps.push(ConversionStep::Zero { to });
        }
        for (dimension, root) in self.expansion.roots.iter().enumerate() {
            if let Some(root) = *root {
                scatter.add(root, dimension);
            }
        }
        for (number, group) in self.expansion.groups.iter().enumerate() {
            // Members of others are at their positions already.
            if self.expansion.linear_stride(group.root).is_none() {
                scatter.add(group.root, rank + 1 + number);
            }
        }
        Conversion {
            inputs: self.sizes.iter().copied().enumerate().collect(),
            steps: scatter.steps,
            outputs: vec![rank],
            limit: self.limit(),
        }
    }

    /// The steps from an allocated position to its index, an output for each dimension.
    pub fn position_to_index(&self) -> Conversion {
        let expansion = &self.expansion;
        let mut gather = Gather {
            map: self,
            registers: vec![0; expansion.nodes.len()],
            free: 1,
            steps: Vec::new(),
        };
        if self.elements == 0 {
            gather.check(0, 0);
        } else if self.allocated > expansion.expanded {
            // The tail alignment.
            gather.check(0, expansion.expanded);
        }
        gather.divide(
            0,
            expansion
                .digits
                .iter()
                .map(|&digit| (digit, self.extent(digit))),
        );
        for group in expansion.groups.iter().rev() {
            let combined = gather.value(group.root, true);
            gather.divide(combined, group.members.iter().copied());
        }
        for &extra in &expansion.extra {
            gather.value(extra, true);
        }
        let outputs = expansion.roots.iter().map(|root| match *root {
            Some(root) if self.elements > 0 => gather.value(root, true),
            _ => gather.zero(),
        });
        let outputs = outputs.collect();
        Conversion {
            inputs: vec![(0, self.allocated)],
            steps: gather.steps,
            outputs,
            limit: self.limit(),
        }
    }

    /// Positions, sizes, strides and extents of digits are all at most what is allocated, and so
    /// are combined indices, which come from one position.
    fn limit(&self) -> i64 {
        self.allocated.saturating_add(1)
    }

    fn extent(&self, digit: NodeId) -> i64 {
        match self.expansion.nodes[digit].part {
            Part::Digit { extent, .. } => extent,
            _ => self.expansion.nodes[digit].bound,
        }
    }
}

/// Steps from the parts of an index to its position.
struct Scatter<'a> {
    map: &'a AddressMap,
    /// The position's register; those of the groups follow.
    position: usize,
    /// Registers from here on hold nothing.
    free: usize,
    steps: Vec<ConversionStep>,
}

impl Scatter<'_> {
    /// Adds what a node's value, in a register of its own, adds to the position.
    fn add(&mut self, node: NodeId, from: usize) {
        let expansion = &self.map.expansion;
        let position = self.position;
        let mut add = |factor, to| self.steps.push(ConversionStep::Add { from, factor, to });
        if let Some(stride) = expansion.linear_stride(node) {
            return add(stride, position);
        }
        match expansion.nodes[node].part {
            Part::Digit { stride, .. } => add(stride, position),
            Part::Joined { group, place } => add(place, position + 1 + group),
            Part::Split { tile, high, low } => {
                let remainder = self.free;
                self.steps.push(ConversionStep::Divide {
                    value: from,
                    divisor: tile,
                    remainder,
                });
                self.free += 1;
                self.add(low, remainder);
                self.free -= 1;
                self.add(high, from);
            }
        }
    }
}

/// Steps from digits to indices.
struct Gather<'a> {
    map: &'a AddressMap,
    /// Of digits and of members of groups.
    registers: Vec<usize>,
    /// Registers from here on were not used.
    free: usize,
    steps: Vec<ConversionStep>,
}

impl Gather<'_> {
    fn register(&mut self) -> usize {
        self.free += 1;
        self.free - 1
    }

    fn zero(&mut self) -> usize {
        let to = self.register();
        self.steps.push(ConversionStep::Zero { to });
        to
    }

    fn check(&mut self, value: usize, bound: i64) {
        self.steps.push(ConversionStep::Check { value, bound });
    }

    /// Takes a register apart into nodes with their extents, major to minor.
    fn divide(&mut self, value: usize, parts: impl DoubleEndedIterator<Item = (NodeId, i64)>) {
        let mut parts = parts.rev().peekable();
        while let Some((node, divisor)) = parts.next() {
            if parts.peek().is_none() {
                self.registers[node] = value;
                break;
            }
            let remainder = self.register();
            self.registers[node] = remainder;
            self.steps.push(ConversionStep::Divide {
                value,
                divisor,
                remainder,
            });
        }
    }

    /// The register that gets a node's value from its parts. `check` is false where a value beyond
    /// the node's bound is found elsewhere.
    fn value(&mut self, node: NodeId, check: bool) -> usize {
        let expansion = &self.map.expansion;
        let bound = expansion.nodes[node].bound;
        let (register, exceeds) = match expansion.nodes[node].part {
            Part::Digit { extent, .. } => (self.registers[node], bound < extent),
            Part::Joined { group, .. } => {
                let members = &expansion.groups[group].members;
                let room = members.iter().find(|(member, _)| *member == node);
                let room = room.map_or(bound, |&(_, extent)| extent);
                (self.registers[node], bound < room)
            }
            Part::Split { tile, high, low } => {
                // The high part's bound is this one's, divided and rounded up.
                let exceeds = bound % tile != 0;
                let from = self.value(high, !(check && exceeds));
                let to = self.value(low, true);
                self.steps.push(ConversionStep::Add {
                    from,
                    factor: tile,
                    to,
                });
                (to, exceeds)
            }
        };
        if check && exceeds {
            self.check(register, bound);
        }
        register
    }
}
