//! Moves inside one buffer against naive ones: every instruction set, one thread and more, scratch of every size.

mod common;

use common::distinct;
use minormajor_kernels::{
    Crew, Cycle, Isa, Loop, NestError, Resize, Rows, Stage, Stores, Swap, Tuning,
};
use proptest::prelude::*;

/// Runs on so many threads, each with so many bytes of scratch.
fn with_crew<T>(threads: usize, scratch: usize, run: impl FnOnce(Crew<'_>) -> T) -> T {
    run(&|work| {
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| work(&mut vec![0x5a; scratch]));
            }
            work(&mut vec![0x5a; scratch]);
        });
    })
}

/// The buffer after every byte has gone to its place.
fn moved(buffer: &[u8], place: impl Fn(usize) -> usize) -> Vec<u8> {
    let mut after = buffer.to_vec();
    for (at, byte) in buffer.iter().enumerate() {
        after[place(at)] = *byte;
    }
    after
}

fn crews() -> impl Strategy<Value = (usize, usize)> {
    (
        1usize..4,
        prop_oneof![Just(1usize), 2usize..40, 40usize..3000, Just(1 << 16)],
    )
}

/// Sizes of matrices: primes, ends, and those of vectors and tiles.
fn side(most: usize) -> impl Strategy<Value = usize> {
    prop_oneof![
        3 => 1usize..8,
        4 => prop::sample::select(vec![11usize, 13, 15, 16, 17, 31, 32, 33, 61, 64, 67, 127, 128, 131, 193]),
    ]
    .prop_map(move |side| side.min(most))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn swaps(
        n in side(200),
        middle in 1usize..4,
        block in prop::sample::select(vec![1usize, 2, 4, 8, 16, 3, 12, 40]),
        batches in 0usize..3,
        threads in 1usize..4,
    ) {
        let array = n * middle * n * block;
        let buffer = distinct(array * batches);
        let want = moved(&buffer, |at| {
            let (batch, rest) = (at / array, at % array);
            let (byte, rest) = (rest % block, rest / block);
            let (k, rest) = (rest % n, rest / n);
            let (j, i) = (rest % middle, rest / middle);
            batch * array + ((k * middle + j) * n + i) * block + byte
        });
        for &isa in Isa::available() {
            let swap = Swap::tuned(n, middle, block, &Tuning { isa, stores: Stores::Plain }).unwrap();
            let mut got = buffer.clone();
            with_crew(threads, 0, |crew| swap.run(&mut got, crew)).unwrap();
            prop_assert!(got == want, "{isa}");
        }
    }

    #[test]
    fn cycles(
        rows in side(70),
        columns in side(70),
        block in prop_oneof![1usize..20, prop::sample::select(vec![64usize, 100, 257, 1000])],
        batches in 0usize..3,
        (threads, scratch) in crews(),
    ) {
        let matrix = rows * columns * block;
        let buffer = distinct(matrix * batches);
        let want = moved(&buffer, |at| {
            let (batch, rest) = (at / matrix, at % matrix);
            let (byte, rest) = (rest % block, rest / block);
            let (j, i) = (rest % columns, rest / columns);
            batch * matrix + (j * rows + i) * block + byte
        });
        let cycle = Cycle::new(rows, columns, block).unwrap();
        let mut got = buffer;
        with_crew(threads, scratch, |crew| cycle.run(&mut got, crew)).unwrap();
        prop_assert!(got == want);
    }

    #[test]
    fn rows_are_parted_and_joined(
        rows in 0usize..60,
        left in 0usize..90,
        right in 0usize..50,
        (threads, scratch) in crews(),
    ) {
        let row = left + right;
        let mut buffer = distinct(rows * row + 7);
        let before = buffer.clone();
        let want = moved(&buffer, |at| {
            if at >= rows * row {
                at
            } else if at % row < left {
                at / row * left + at % row
            } else {
                rows * left + at / row * right + at % row - left
            }
        });
        let cut = Rows::new(rows, left, right).unwrap();
        with_crew(threads, scratch, |crew| cut.part(&mut buffer, crew)).unwrap();
        prop_assert!(buffer == want);
        with_crew(threads, scratch, |crew| cut.join(&mut buffer, crew)).unwrap();
        prop_assert!(buffer == before);
    }

    #[test]
    fn resizes(
        small in prop::collection::vec(0usize..12, 1..5),
        more in prop::collection::vec(0usize..6, 4),
        last in prop_oneof![1usize..9, 200usize..400],
        first in 0usize..9,
        grow in any::<bool>(),
        (threads, scratch) in crews(),
    ) {
        let mut small = small;
        small.push(last);
        let mut large: Vec<usize> = small.iter().zip(more.iter().chain([&3])).map(|(a, b)| a + b).collect();
        // The first dimension may do anything.
        (small[0], large[0]) = (small[0] + first, large[0]);
        let (from, to) = if grow { (&small, &large) } else { (&large, &small) };
        let bytes = |extents: &[usize]| extents.iter().product::<usize>();
        let mut buffer = distinct(bytes(from).max(bytes(to)) + 5);
        let before = buffer.clone();
        let resize = Resize::new(from, to, scratch).unwrap();
        with_crew(threads, scratch, |crew| resize.run(&mut buffer, crew)).unwrap();
        let at = |extents: &[usize], index: &[usize]| {
            extents.iter().zip(index).fold(0, |at, (extent, value)| at * extent + value)
        };
        let both: Vec<usize> = from.iter().zip(to).map(|(a, b)| *a.min(b)).collect();
        for number in 0..bytes(&both) {
            let mut rest = number;
            let mut index = vec![0; both.len()];
            for d in (0..both.len()).rev() {
                (index[d], rest) = (rest % both[d], rest / both[d]);
            }
            prop_assert_eq!(buffer[at(to, &index)], before[at(from, &index)], "{:?} to {:?} at {:?}", from, to, index);
        }
        // What is behind both stays.
        let end = before.len() - 5;
        prop_assert_eq!(&buffer[end..], &before[end..]);
    }

    #[test]
    fn stages(
        extents in prop::collection::vec(1usize..7, 1..4),
        order in any::<u32>(),
        run in 1usize..20,
        batches in 0usize..9,
        together in 1usize..5,
        threads in 1usize..4,
    ) {
        let batch = extents.iter().product::<usize>() * run;
        let strides = |order: &[usize]| {
            let mut strides = vec![0; extents.len()];
            let mut next = run;
            for &d in order.iter().rev() {
                strides[d] = next;
                next *= extents[d];
            }
            strides
        };
        let straight: Vec<usize> = (0..extents.len()).collect();
        let mut other = straight.clone();
        other.sort_by_key(|d| order.rotate_left(7 * *d as u32) % 11);
        let (from, to) = (strides(&straight), strides(&other));
        let mut loops: Vec<Loop> = (0..extents.len())
            .map(|d| Loop { extent: extents[d], source: from[d] as isize, destination: to[d] as isize })
            .collect();
        loops.push(Loop { extent: run, source: 1, destination: 1 });
        let buffer = distinct(batch * batches);
        let want = moved(&buffer, |at| {
            let rest = at % batch;
            let mut place = at - rest + rest % run;
            for d in 0..extents.len() {
                place += rest / from[d] % extents[d] * to[d];
            }
            place
        });
        let stage = Stage::new(batch, together, &loops, 0, 0).unwrap();
        let mut got = buffer;
        with_crew(threads, batch * together, |crew| stage.run(&mut got, crew)).unwrap();
        prop_assert!(got == want);
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    with_crew(1, 10, |crew| {
        let short = NestError::TooShort {
            buffer: minormajor_kernels::Buffer::Source,
            needed: 12,
            got: 10,
        };
        let stage = Stage::new(12, 1, &[], 0, 0).unwrap();
        assert_eq!(stage.run(&mut [0; 24], crew), Err(short));
        let batches = NestError::Batches {
            length: 13,
            batch: 12,
        };
        assert_eq!(stage.run(&mut [0; 13], crew), Err(batches.clone()));
        assert_eq!(
            Cycle::new(2, 3, 2).unwrap().run(&mut [0; 13], crew),
            Err(batches.clone())
        );
        assert_eq!(
            Swap::new(2, 1, 3).unwrap().run(&mut [0; 13], crew),
            Err(batches)
        );
        let rows = Rows::new(2, 3, 4).unwrap();
        assert!(rows.part(&mut [0; 13], crew).is_err());
        assert!(
            Resize::new(&[2, 3], &[2, 7], 10)
                .unwrap()
                .run(&mut [0; 13], crew)
                .is_err()
        );
    });
    assert!(Swap::new(usize::MAX, 2, 2).is_err());
    assert!(Cycle::new(usize::MAX, 2, 2).is_err());
    assert!(Rows::new(2, usize::MAX, 2).is_err());
    assert!(Rows::new(usize::MAX, 1, 2).is_err());
    assert!(Stage::new(usize::MAX, 2, &[], 0, 0).is_err());
    let outside = Loop {
        extent: 13,
        source: 1,
        destination: 1,
    };
    assert!(Stage::new(12, 1, &[outside], 0, 0).is_err());
    assert_eq!(
        Resize::new(&[2, 3, 4], &[2, 4, 3], 10).unwrap_err(),
        NestError::Resize
    );
    assert_eq!(
        Resize::new(&[2, 3], &[2], 10).unwrap_err(),
        NestError::Resize
    );
    assert_eq!(Resize::new(&[], &[], 10).unwrap_err(), NestError::Resize);
    assert!(Resize::new(&[2, usize::MAX], &[1, usize::MAX], 10).is_err());
}

/// Crews that do not do as they are told move less, and touch nothing else.
#[test]
fn a_crew_that_never_works_moves_nothing() {
    let idle: Crew<'_> = &|_| {};
    let mut buffer = distinct(16);
    Swap::new(4, 1, 1).unwrap().run(&mut buffer, idle).unwrap();
    Cycle::new(2, 8, 1).unwrap().run(&mut buffer, idle).unwrap();
    assert_eq!(buffer, distinct(16));
    let twice: Crew<'_> = &|work| {
        work(&mut [0; 8]);
        work(&mut []);
    };
    Cycle::new(2, 8, 1)
        .unwrap()
        .run(&mut buffer, twice)
        .unwrap();
    assert_eq!(buffer, moved(&distinct(16), |at| at % 8 * 2 + at / 8));
}
