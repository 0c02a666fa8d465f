//! A plan in place, run word for word: every step on a copy of what it reads.

use minormajor_core::{ElementMove, InPlacePlan, Step};

use crate::oracle::{self, indices};

/// Runs a plan in place on a buffer of its size. What no step says is [`oracle::SENTINEL`]
/// afterwards, so that nothing can rest on it.
pub fn run(plan: &InPlacePlan, buffer: &mut [u8]) {
    for step in plan.steps() {
        run_step(step, buffer);
    }
    let moved = buffer.to_vec();
    // The padding is that of the ordinary plan, run on a source that nobody looks at.
    let bytes = plan.plan().destination_bytes() as usize;
    let source = vec![oracle::SENTINEL; plan.plan().source_bytes() as usize];
    let (filled, _) = oracle::run(plan.plan(), &source, &buffer[..bytes]);
    let (touched, _) = oracle::run(
        plan.plan(),
        &vec![!oracle::SENTINEL; source.len()],
        &buffer[..bytes],
    );
    for at in 0..bytes {
        // Every bit of an element shows which source it came from; those of a fill do not.
        let elements = filled[at] ^ touched[at];
        buffer[at] = moved[at] & elements | filled[at] & !elements;
    }
}

fn run_step(step: &Step, buffer: &mut [u8]) {
    let before = buffer.to_vec();
    match step {
        Step::Stage {
            offset,
            batches,
            batch,
            loops,
            ..
        } => {
            let extents: Vec<i64> = loops.iter().map(|l| l.extent).collect();
            assert_eq!(extents.iter().product::<i64>(), *batch);
            for number in 0..*batches {
                let start = offset + number * batch;
                for index in indices(&extents) {
                    let (mut from, mut to) = (start, start);
                    for (value, l) in index.iter().zip(loops.iter()) {
                        from += value * l.source;
                        to += value * l.destination;
                    }
                    buffer[to as usize] = before[from as usize];
                }
            }
        }
        Step::Swap {
            offset,
            batches,
            side,
            middle,
            block,
        } => {
            for index in indices(&[*batches, *side, *middle, *side, *block]) {
                let at = |[n, i, j, k, b]: [i64; 5]| {
                    (offset + ((((n * side + i) * middle + j) * side + k) * block) + b) as usize
                };
                let [n, i, j, k, b] = index[..] else {
                    unreachable!()
                };
                buffer[at([n, k, j, i, b])] = before[at([n, i, j, k, b])];
            }
        }
        Step::Cycle {
            offset,
            batches,
            rows,
            columns,
            block,
        } => {
            for index in indices(&[*batches, *rows, *columns, *block]) {
                let [n, i, j, b] = index[..] else {
                    unreachable!()
                };
                let start = offset + n * rows * columns * block;
                let from = start + (i * columns + j) * block + b;
                let to = start + (j * rows + i) * block + b;
                buffer[to as usize] = before[from as usize];
            }
        }
        Step::Part {
            offset,
            rows,
            left,
            right,
        }
        | Step::Join {
            offset,
            rows,
            left,
            right,
        } => {
            for row in 0..*rows {
                for byte in 0..left + right {
                    let joined = offset + row * (left + right) + byte;
                    let parted = if byte < *left {
                        offset + row * left + byte
                    } else {
                        offset + rows * left + row * right + byte - left
                    };
                    if let Step::Part { .. } = step {
                        buffer[parted as usize] = before[joined as usize];
                    } else {
                        buffer[joined as usize] = before[parted as usize];
                    }
                }
            }
        }
        Step::Elements(elements) => {
            let width = elements.bits() as usize;
            let (positions, stored) = elements.source();
            let value = |at: i64| oracle::bits(&before, (at * stored) as usize, width);
            let mut values: Vec<u128> = (0..positions).map(value).collect();
            let (positions, stored) = elements.destination();
            values.resize(values.len().max(positions as usize), 0);
            let mut kept = None;
            elements.for_each(|step| match step {
                ElementMove::Keep(from) => {
                    assert_eq!(kept.replace(values[from as usize]), None);
                }
                ElementMove::To(from, to) => values[to as usize] = values[from as usize],
                ElementMove::Put(to) => values[to as usize] = kept.take().unwrap(),
            });
            buffer.fill(oracle::SENTINEL);
            for (at, &value) in values.iter().take(positions as usize).enumerate() {
                oracle::set_bits(buffer, at * stored as usize, stored.min(8) as usize, value);
            }
        }
        Step::Resize { from, to } => {
            let bytes = |extents: &[i64]| extents.iter().product::<i64>() as usize;
            buffer[..bytes(from).max(bytes(to))].fill(oracle::SENTINEL);
            let both: Vec<i64> = std::iter::zip(from, to).map(|(&a, &b)| a.min(b)).collect();
            let at = |extents: &[i64], index: &[i64]| {
                let digits = extents.iter().zip(index);
                digits.fold(0, |at, (extent, value)| at * extent + value) as usize
            };
            for index in indices(&both) {
                buffer[at(to, &index)] = before[at(from, &index)];
            }
        }
        Step::Each {
            source,
            destination,
            count,
            before: from,
            after: to,
            steps,
        } => {
            let most = *from.max(to) as usize;
            let end = (source + count * from).max(destination + count * to) as usize;
            buffer[(*source.min(destination)) as usize..end].fill(oracle::SENTINEL);
            for number in 0..*count {
                let mut window = vec![oracle::SENTINEL; most];
                let start = (source + number * from) as usize;
                window[..*from as usize].copy_from_slice(&before[start..start + *from as usize]);
                for step in steps {
                    run_step(step, &mut window);
                }
                let start = (destination + number * to) as usize;
                buffer[start..start + *to as usize].copy_from_slice(&window[..*to as usize]);
            }
        }
        _ => panic!("a step that the oracle does not know"),
    }
}
