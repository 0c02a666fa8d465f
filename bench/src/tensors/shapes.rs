//! Compact shapes: nanoseconds of what is asked of one very often.

use std::hint::black_box;
use std::time::{Duration, Instant};

use minormajor::CompactShape;
use minormajor::measure::interleave;

/// One question, to one library.
type Question = (&'static str, &'static str, Box<dyn Fn()>);

const CALLS: u32 = 10_000;

fn question(what: &'static str, who: &'static str, ask: impl Fn() + 'static) -> Question {
    (what, who, Box::new(move || (0..CALLS).for_each(|_| ask())))
}

fn compact(sizes: [i32; 4]) -> CompactShape {
    CompactShape::new(&sizes).expect("a shape")
}

/// Prints nanoseconds, the libraries in turns.
pub fn compare() {
    let (a, b) = (compact([8, 3, 224, 224]), compact([8, 3, 224, 224]));
    let one = compact([1, 3, 1, 1]);
    let weights = CompactShape::matrix(256, 128).expect("a shape");
    let input = CompactShape::matrix(128, 64).expect("a shape");
    let ours = "CompactShape";
    #[allow(unused_mut)]
    let mut questions = vec![
        question("creation", ours, || {
            let _ = black_box(CompactShape::new(black_box(&[8, 3, 224, 224])));
        }),
        question("comparison", ours, move || {
            black_box(black_box(&a) == black_box(&b));
        }),
        question("numel", ours, move || {
            black_box(black_box(&a).numel());
        }),
        question("dim", ours, move || {
            let _ = black_box(black_box(&a).dim(black_box(1)));
        }),
        question("broadcast check", ours, move || {
            black_box(black_box(&one).is_broadcastable_to(black_box(a)));
        }),
        question("matmul check", ours, move || {
            black_box(black_box(&weights).is_matmul_compatible(black_box(input)));
        }),
    ];
    #[cfg(feature = "peers")]
    questions.extend(peers());
    let times = interleave(7, Duration::from_millis(500), questions.len(), |number| {
        let start = Instant::now();
        questions[number].2();
        start.elapsed().as_secs_f64() / f64::from(CALLS)
    });
    println!("shapes of four dimensions, nanoseconds");
    for ((what, who, _), times) in questions.iter().zip(times) {
        println!("{what:<16} {who:<14} {:>7.2}", times.median() * 1e9);
    }
}

#[cfg(feature = "peers")]
fn peers() -> Vec<Question> {
    use candle_core::Shape;
    use ndarray::{ArrayView, Dimension, IxDyn};

    let (theirs, candle) = ("ndarray IxDyn", "candle Shape");
    let dynamic = || IxDyn(&[8, 3, 224, 224]);
    let (a, b, c) = (dynamic(), dynamic(), dynamic());
    let shape = || Shape::from(vec![8usize, 3, 224, 224]);
    let (x, y, z, w, v) = (shape(), shape(), shape(), shape(), shape());
    let one = Shape::from(vec![1usize, 3, 1, 1]);
    // A view of four dimensions is what ndarray asks whether it stretches.
    let values = [0u8; 3];
    vec![
        question("creation", theirs, || {
            black_box(IxDyn(black_box(&[8, 3, 224, 224])));
        }),
        question("comparison", theirs, move || {
            black_box(black_box(&a) == black_box(&b));
        }),
        question("numel", theirs, move || {
            black_box(black_box(&c).size());
        }),
        question("broadcast check", theirs, move || {
            let view = ArrayView::from_shape(IxDyn(&[1, 3, 1, 1]), black_box(&values[..]));
            black_box(
                view.expect("a view")
                    .broadcast(black_box(dynamic()))
                    .is_some(),
            );
        }),
        question("creation", candle, || {
            black_box(Shape::from(black_box(&[8usize, 3, 224, 224][..])));
        }),
        question("comparison", candle, move || {
            black_box(black_box(&x) == black_box(&y));
        }),
        question("numel", candle, move || {
            black_box(black_box(&z).elem_count());
        }),
        question("dim", candle, move || {
            let _ = black_box(black_box(&w).dim(black_box(1usize)));
        }),
        question("broadcast check", candle, move || {
            let _ = black_box(black_box(&one).broadcast_shape_binary_op(black_box(&v), "add"));
        }),
    ]
}
