//! Quotients, and programs of all forms.

use super::number::Number;
use super::*;
use crate::{Isa, Stores};

fn quotient<N: Number>(value: i64, divisor: i64) -> i64 {
    N::new(value).quotient(N::divisor(divisor)).value()
}

/// Numbers where rounding would show: around multiples of the divisor, and the ends.
fn hard(divisor: i64, limit: i64) -> impl Iterator<Item = i64> {
    let most = (limit - 1) / divisor;
    let multiples = [0, 1, 2, 3, most / 3, most / 2, most - 1, most];
    let powers = (0..62).map(move |bits| (1i64 << bits) / divisor);
    let near = multiples.into_iter().chain(powers).flat_map(move |times| {
        (-2..=2).filter_map(move |more| times.checked_mul(divisor)?.checked_add(more))
    });
    near.chain([limit - 2, limit - 1])
        .filter(move |value| (0..limit).contains(value))
}

fn divisors(limit: i64) -> impl Iterator<Item = i64> {
    let powers = (1..63).flat_map(|bits| (-2..=2).map(move |more| (1i64 << bits) + more));
    let scattered =
        (1..2000u64).map(|k| (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (1 + k % 60)) as i64);
    let more = [limit / 3, limit / 2, limit / 2 + 1, limit - 1];
    powers
        .chain(scattered)
        .chain(more)
        .filter(move |&d| (1..limit).contains(&d))
}

#[test]
fn quotients_of_small_numbers_are_all_exact() {
    for divisor in 1..400 {
        for value in 0..2000 {
            assert_eq!(quotient::<Short>(value, divisor), value / divisor);
            assert_eq!(quotient::<Real>(value, divisor), value / divisor);
            assert_eq!(quotient::<Natural>(value, divisor), value / divisor);
        }
    }
}

#[test]
fn quotients_are_exact_up_to_the_limits() {
    for divisor in divisors(SHORT_LIMIT) {
        for value in hard(divisor, SHORT_LIMIT) {
            let found = quotient::<Short>(value, divisor);
            assert_eq!(found, value / divisor, "{value} / {divisor}");
        }
    }
    for divisor in divisors(REAL_LIMIT) {
        for value in hard(divisor, REAL_LIMIT) {
            let found = quotient::<Real>(value, divisor);
            assert_eq!(found, value / divisor, "{value} / {divisor}");
        }
    }
    for divisor in divisors(i64::MAX) {
        for value in hard(divisor, i64::MAX).chain([i64::MAX]) {
            let found = quotient::<Natural>(value, divisor);
            assert_eq!(found, value / divisor, "{value} / {divisor}");
        }
    }
}

fn tunings() -> impl Iterator<Item = Tuning> {
    let isas = Isa::available().iter();
    isas.flat_map(|&isa| [Stores::Plain, Stores::Streaming].map(|stores| Tuning { isa, stores }))
}

/// One of each kind of numbers.
const LIMITS: [i64; 3] = [1 << 20, 1 << 40, i64::MAX];

const STEPS: [Step; 6] = [
    Step::Divide {
        value: 0,
        divisor: 7,
        remainder: 2,
    },
    Step::Divide {
        value: 0,
        divisor: 1,
        remainder: 3,
    },
    Step::Check { value: 2, bound: 6 },
    Step::Add {
        from: 1,
        factor: 3,
        to: 3,
    },
    Step::Add {
        from: 0,
        factor: 100,
        to: 3,
    },
    Step::Zero { to: 1 },
];

#[test]
fn every_instruction_set_does_every_step() {
    for limit in LIMITS {
        let program = Program::new(&[(0, 1000), (1, 50)], &STEPS, &[3, 2, 1], limit);
        for tuning in tunings() {
            for rows in [0, 1, 7, 255, 256, 257, 1000] {
                let a: Vec<i64> = (0..rows).collect();
                let b: Vec<i64> = (0..rows).map(|k| k % 50).collect();
                let mut to = vec![vec![-9; rows as usize]; 3];
                let mut columns: Vec<&mut [i64]> = to.iter_mut().map(|c| &mut c[..]).collect();
                let void = program
                    .run(&[(&a).into(), (&b).into()], &mut columns, &tuning)
                    .unwrap();
                assert_eq!(void, a.iter().filter(|&a| a % 7 == 6).count());
                for row in 0..rows as usize {
                    let found = [to[0][row], to[1][row], to[2][row]];
                    let expected = match a[row] % 7 {
                        6 => [-1; 3],
                        rest => [3 * b[row] + 100 * (a[row] / 7), rest, 0],
                    };
                    assert_eq!(found, expected, "{tuning:?}, row {row} of {rows}");
                }
            }
        }
    }
}

/// Another way to the same 6.
const SUM: [Step; 3] = [
    Step::Zero { to: 3 },
    Step::Add {
        from: 0,
        factor: 2,
        to: 3,
    },
    Step::Add {
        from: 1,
        factor: 2,
        to: 3,
    },
];

fn is_sum(program: &Program) -> bool {
    use AnyForm::*;
    let form = &program.form;
    matches!(
        form,
        Short(Form::Sum(_)) | Real(Form::Sum(_)) | Natural(Form::Sum(_))
    )
}

fn is_chain(program: &Program) -> bool {
    use AnyForm::*;
    let form = &program.form;
    matches!(
        form,
        Short(Form::Chain(..)) | Real(Form::Chain(..)) | Natural(Form::Chain(..))
    )
}

#[test]
fn rows_before_the_first_out_of_bounds_are_written() {
    let inputs = [(0, 1000), (1, 50)];
    for limit in LIMITS {
        let programs = [
            Program::new(&inputs, &STEPS, &[3], limit),
            Program::new(&inputs, &SUM, &[3], limit),
        ];
        assert!(is_sum(&programs[1]));
        for tuning in tunings() {
            for bad in [-1, 1000, i64::MIN, i64::MAX, 1 << 52] {
                for (row, column) in [(0, 0), (5, 1), (16, 1), (256, 0), (299, 0)] {
                    let mut from = [vec![1; 300], vec![2; 300]];
                    from[column][row] = bad;
                    from[1 - column][299] = bad;
                    for program in &programs {
                        let mut to = [-9; 300];
                        let found = program.run(
                            &[(&from[0]).into(), (&from[1]).into()],
                            &mut [&mut to],
                            &tuning,
                        );
                        assert_eq!(found, Err(OutOfBounds { row, column }));
                        assert!(to[..row].iter().all(|&to| to == 6), "{to:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn chains_stop_at_the_first_out_of_bounds() {
    let steps = [5, 7].map(|divisor| Step::Divide {
        value: 0,
        divisor,
        remainder: divisor as usize,
    });
    for limit in LIMITS {
        let program = Program::new(&[(0, 1000)], &steps, &[0, 7, 5], limit);
        assert!(is_chain(&program));
        for tuning in tunings() {
            for row in [0, 15, 16, 255, 256, 600] {
                let mut from: Vec<i64> = (0..640).collect();
                from[row] = 1000;
                let mut to = [[-9; 640]; 3];
                let [a, b, c] = &mut to;
                let found = program.run(&[(&from).into()], &mut [a, b, c], &tuning);
                assert_eq!(found, Err(OutOfBounds { row, column: 0 }));
                let [a, b, c] = to;
                for (k, ((a, b), c)) in a.into_iter().zip(b).zip(c).enumerate() {
                    if k < row {
                        let k = k as i64;
                        assert_eq!([a, b, c], [k / 35, k / 5 % 7, k % 5]);
                    }
                }
            }
        }
    }
}

/// The numbers of a column, placed in memory in all ways: dense or not, aligned or not, backwards.
fn placed(numbers: &[i64], way: usize) -> (Vec<u8>, Width, usize, isize) {
    let (width, bytes) = match way % 2 {
        0 => (Width::Eight, 8),
        _ => (Width::Four, 4),
    };
    let step: isize = [bytes, -bytes, 3 * bytes, bytes + 1, -5 * bytes][way / 2 % 5];
    let shift = [0, 3][way / 10 % 2];
    let reach = step.unsigned_abs() * numbers.len().saturating_sub(1);
    let mut memory = vec![0x55; shift + reach + 8];
    let first = shift + if step < 0 { reach } else { 0 };
    for (row, &number) in numbers.iter().enumerate() {
        let at = first.checked_add_signed(row as isize * step).unwrap();
        match width {
            Width::Eight => memory[at..at + 8].copy_from_slice(&number.to_ne_bytes()),
            Width::Four => memory[at..at + 4].copy_from_slice(&(number as i32).to_ne_bytes()),
        }
    }
    (memory, width, first, step)
}

/// Sums of up to nine columns, and the same numbers taken apart again.
#[test]
fn sums_and_chains_of_all_columns() {
    for limit in LIMITS {
        for rank in 1..=9 {
            let sizes: Vec<i64> = (0..rank).map(|d| [3, 1, 4, 2, 5][(d + rank) % 5]).collect();
            let factors: Vec<i64> = (0..rank).map(|d| sizes[d + 1..].iter().product()).collect();
            let inputs: Vec<(usize, i64)> = sizes.iter().copied().enumerate().collect();
            let zero = [Step::Zero { to: rank }];
            let adds = factors.iter().enumerate().map(|(from, &factor)| Step::Add {
                from,
                factor,
                to: rank,
            });
            let steps: Vec<Step> = zero.into_iter().chain(adds).collect();
            let together = Program::new(&inputs, &steps, &[rank], limit);
            assert!(is_sum(&together));
            let total: i64 = sizes.iter().product();
            let divides = (1..rank).rev().map(|d| Step::Divide {
                value: 0,
                divisor: sizes[d],
                remainder: d,
            });
            let divides: Vec<Step> = divides.collect();
            let outputs: Vec<usize> = (0..rank).collect();
            let apart = Program::new(&[(0, total)], &divides, &outputs, limit);
            assert!(is_chain(&apart));
            for (place, tuning) in tunings().enumerate() {
                for rows in [1, 8, 255, 256, 259, 700] {
                    let numbers: Vec<Vec<i64>> = (0..rank)
                        .map(|d| (0..rows).map(|k| (k * 7 + d as i64) % sizes[d]).collect())
                        .collect();
                    let expected: Vec<i64> = (0..rows as usize)
                        .map(|k| (0..rank).map(|d| numbers[d][k] * factors[d]).sum())
                        .collect();
                    let all: Vec<_> = numbers
                        .iter()
                        .enumerate()
                        .map(|(d, numbers)| placed(numbers, d + place + rank))
                        .collect();
                    let columns: Vec<Column<'_>> = all
                        .iter()
                        .map(|(memory, width, first, step)| {
                            Column::new(memory, *width, *first, *step, rows as usize).unwrap()
                        })
                        .collect();
                    let mut sums = vec![-9; rows as usize];
                    together.run(&columns, &mut [&mut sums], &tuning).unwrap();
                    assert_eq!(sums, expected, "{tuning:?}, {sizes:?}");

                    let (memory, width, first, step) = placed(&sums, place + rank);
                    let sums = Column::new(&memory, width, first, step, rows as usize).unwrap();
                    let mut found = vec![vec![-9; rows as usize]; rank];
                    let mut to: Vec<&mut [i64]> = found.iter_mut().map(|c| &mut c[..]).collect();
                    apart.run(&[sums], &mut to, &tuning).unwrap();
                    assert_eq!(found, numbers, "{tuning:?}, {sizes:?}");
                }
            }
        }
    }
}

/// Rows of memory with a number of every column, which are transposed on their way: whole, with gaps between them,
/// backwards, and with a number that is out of bounds.
#[test]
fn columns_of_rows() {
    const SIZES: [i64; 9] = [3, 7, 4, 2, 5, 11, 3, 6, 2];
    for rank in 1..=SIZES.len() {
        let sizes = &SIZES[..rank];
        let factors: Vec<i64> = (0..rank).map(|d| sizes[d + 1..].iter().product()).collect();
        let inputs: Vec<(usize, i64)> = sizes.iter().copied().enumerate().collect();
        let adds = (0..rank).map(|from| Step::Add {
            from,
            factor: factors[from],
            to: rank,
        });
        let steps: Vec<Step> = [Step::Zero { to: rank }].into_iter().chain(adds).collect();
        let together = Program::new(&inputs, &steps, &[rank], 1 << 30);
        assert!(is_sum(&together));
        for (tuning, width) in tunings().flat_map(|t| [Width::Four, Width::Eight].map(|w| (t, w))) {
            for (rows, gap, shift) in [(1, 0, 0), (3, 1, 4), (7, 0, 1), (130, 0, 0), (301, 2, 5)] {
                let bytes = width.bytes();
                let step = bytes * (rank + gap);
                let number = |row: usize, d: usize| ((row * 7 + d * 5) % sizes[d] as usize) as i64;
                let mut memory = vec![0x55; shift + rows * step];
                for (row, d) in (0..rows).flat_map(|row| (0..rank).map(move |d| (row, d))) {
                    let at = shift + row * step + d * bytes;
                    match width {
                        Width::Four => memory[at..at + 4]
                            .copy_from_slice(&(number(row, d) as i32).to_ne_bytes()),
                        Width::Eight => {
                            memory[at..at + 8].copy_from_slice(&number(row, d).to_ne_bytes());
                        }
                    }
                }
                for backwards in [false, true] {
                    let row = |k: usize| if backwards { rows - 1 - k } else { k };
                    let step = if backwards {
                        -(step as isize)
                    } else {
                        step as isize
                    };
                    let columns = |memory| -> Vec<Column<'_>> {
                        let first = |d| shift + row(0) * step.unsigned_abs() + d * bytes;
                        let column = |d| Column::new(memory, width, first(d), step, rows);
                        (0..rank).map(|d| column(d).unwrap()).collect()
                    };
                    let mut sums = vec![-9; rows];
                    together
                        .run(&columns(&memory), &mut [&mut sums], &tuning)
                        .unwrap();
                    let sum = |k| {
                        (0..rank)
                            .map(|d| number(row(k), d) * factors[d])
                            .sum::<i64>()
                    };
                    let expected: Vec<i64> = (0..rows).map(sum).collect();
                    assert_eq!(sums, expected, "{tuning:?}, {width:?}, {rank}, {rows}");

                    let (bad, column) = (rows * 2 / 3, rank / 2);
                    let at = shift + row(bad) * step.unsigned_abs() + column * bytes;
                    let mut memory = memory.clone();
                    memory[at..at + bytes].fill(0xFF);
                    let found = together.run(&columns(&memory), &mut [&mut sums], &tuning);
                    assert_eq!(found, Err(OutOfBounds { row: bad, column }));
                    assert_eq!(sums[..bad], expected[..bad]);
                }
            }
        }
    }
}

#[test]
fn columns_are_in_their_memory() {
    let memory = [0; 40];
    let is_in = |width, first, step, rows| Column::new(&memory, width, first, step, rows).is_some();
    assert!(is_in(Width::Eight, 0, 8, 5));
    assert!(is_in(Width::Eight, 32, -8, 5));
    assert!(is_in(Width::Four, 36, 0, usize::MAX >> 1));
    assert!(is_in(Width::Four, 99, 1, 0));
    assert!(!is_in(Width::Eight, 0, 8, 6));
    assert!(!is_in(Width::Eight, 1, 8, 5));
    assert!(!is_in(Width::Eight, 32, -8, 6));
    assert!(!is_in(Width::Four, 37, 0, 1));
    assert!(!is_in(Width::Four, usize::MAX, 1, 1));
    assert!(!is_in(Width::Four, 0, isize::MAX, 3));
    assert!(!is_in(Width::Four, 0, 4, usize::MAX));
}
