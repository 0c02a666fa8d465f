//! What a list of steps amounts to, with its constants prepared.

use super::Step;
use super::number::Number;

/// What a list of steps amounts to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form<N: Number> {
    /// The sum of the inputs, of which there are some, times these factors.
    Sum(Vec<N>),
    /// The only input divided by all these one after the other. The last quotient goes to the output of this number.
    Chain(Vec<Divide<N>>, usize),
    /// Whatever the steps say, on so many registers.
    Steps(Vec<Ready<N>>, usize),
}

/// A division of a chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Divide<N: Number> {
    pub by: Divisor<N>,
    /// The number of the output that gets the remainder.
    pub output: usize,
}

/// A divisor, prepared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Divisor<N: Number> {
    divisor: N,
    inverse: N::Divisor,
}

impl<N: Number> Divisor<N> {
    /// Of 1 and more.
    pub fn new(divisor: i64) -> Divisor<N> {
        Divisor {
            divisor: N::new(divisor),
            inverse: N::divisor(divisor),
        }
    }

    /// The quotient and the remainder.
    #[inline(always)]
    pub fn divide(self, value: N) -> (N, N) {
        let quotient = value.quotient(self.inverse);
        (quotient, value.subtract(quotient.multiply(self.divisor)))
    }
}

/// A step with its constants prepared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Ready<N: Number> {
    Zero(usize),
    Add {
        from: usize,
        factor: N,
        to: usize,
    },
    Divide {
        value: usize,
        by: Divisor<N>,
        remainder: usize,
    },
    Check {
        value: usize,
        last: N,
    },
}

impl<N: Number> Ready<N> {
    fn new(step: Step) -> Ready<N> {
        match step {
            Step::Zero { to } => Ready::Zero(to),
            Step::Add { from, factor, to } => Ready::Add {
                from,
                factor: N::new(factor),
                to,
            },
            Step::Divide {
                value,
                divisor,
                remainder,
            } => Ready::Divide {
                value,
                by: Divisor::new(divisor),
                remainder,
            },
            Step::Check { value, bound } => Ready::Check {
                value,
                last: N::new(bound).subtract(N::new(1)),
            },
        }
    }
}

impl<N: Number> Form<N> {
    pub fn new(inputs: &[(usize, i64)], steps: &[Step], outputs: &[usize]) -> Form<N> {
        Form::sum(inputs, steps, outputs)
            .or_else(|| Form::chain(inputs, steps, outputs))
            .unwrap_or_else(|| {
                let used = steps.iter().flat_map(|step| step.registers());
                let used = used.chain(inputs.iter().map(|&(register, _)| register));
                let used = used.chain(outputs.iter().copied());
                let registers = used.max().map_or(0, |most| most + 1);
                Form::Steps(
                    steps.iter().map(|&step| Ready::new(step)).collect(),
                    registers,
                )
            })
    }

    fn sum(inputs: &[(usize, i64)], steps: &[Step], outputs: &[usize]) -> Option<Form<N>> {
        let ([zero, steps @ ..], &[sum]) = (steps, outputs) else {
            return None;
        };
        let is_input = |register| inputs.iter().position(|&(input, _)| input == register);
        let mut factors = vec![0i64; inputs.len()];
        for step in steps {
            match *step {
                Step::Add { from, factor, to } if to == sum => {
                    let known = &mut factors[is_input(from)?];
                    // Twice the same one would need another bound.
                    (*known == 0).then_some(())?;
                    *known = factor;
                }
                _ => return None,
            }
        }
        let starts = *zero == Step::Zero { to: sum } && is_input(sum).is_none();
        let factors = factors.into_iter().map(N::new).collect();
        (starts && !inputs.is_empty()).then_some(Form::Sum(factors))
    }

    fn chain(inputs: &[(usize, i64)], steps: &[Step], outputs: &[usize]) -> Option<Form<N>> {
        let &[(input, _)] = inputs else { return None };
        let output = |register| {
            let mut places = outputs
                .iter()
                .enumerate()
                .filter(|&(_, &output)| output == register);
            let (number, _) = places.next()?;
            places.next().is_none().then_some(number)
        };
        let divides = steps.iter().map(|step| match *step {
            Step::Divide {
                value,
                divisor,
                remainder,
            } if value == input => Some(Divide {
                by: Divisor::new(divisor),
                output: output(remainder)?,
            }),
            _ => None,
        });
        let divides: Vec<Divide<N>> = divides.collect::<Option<_>>()?;
        (outputs.len() == divides.len() + 1).then_some(())?;
        Some(Form::Chain(divides, output(input)?))
    }
}
