//! Going through an array's indices on several threads.

use std::sync::atomic::{AtomicBool, Ordering};

use minormajor_core::IndexSpace;
use rayon::prelude::*;

/// Parts for each thread, so that none waits long for a slower one.
const PARTS_PER_THREAD: usize = 4;

/// How many threads [`for_each_index_parallel`] runs: those of the rayon pool that the caller
/// runs in, or as many as the machine runs at once.
#[doc(alias = "GetForEachIndexParallelThreadCount")]
pub fn index_threads() -> usize {
    rayon::current_num_threads()
}

/// Calls `visit` with every index of a space and the number of the thread, from 0 to below
/// [`index_threads`]: once for each, in no order, from several threads at once.
///
/// The space is [cut into parts](IndexSpace::partition) along the dimensions that change
/// slowest, so each thread goes through neighbours. A space of one part is gone through here.
///
/// ```
/// use std::sync::atomic::{AtomicI64, Ordering};
/// use minormajor::{IndexSpace, Shape, for_each_index_parallel};
///
/// let shape: Shape = "f32[10,10]".parse()?;
/// let sum = AtomicI64::new(0);
/// for_each_index_parallel(&IndexSpace::new(shape.as_array()?)?, |index, _| {
///     sum.fetch_add(index[0] + index[1], Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 900);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "ForEachIndexParallel")]
pub fn for_each_index_parallel(space: &IndexSpace, visit: impl Fn(&[i64], usize) + Sync) {
    let _: Result<(), std::convert::Infallible> =
        try_for_each_index_parallel(space, |index, thread| {
            visit(index, thread);
            Ok(())
        });
}

/// As [`for_each_index_parallel`], up to the first error: the other threads end at their next
/// index.
///
/// # Errors
///
/// An error of `visit`.
#[doc(alias = "ForEachIndexParallelWithStatus")]
pub fn try_for_each_index_parallel<E: Send>(
    space: &IndexSpace,
    visit: impl Fn(&[i64], usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let threads = index_threads();
    let parts = match threads {
        1 => Vec::new(),
        _ => space.partition(PARTS_PER_THREAD * threads),
    };
    if parts.len() < 2 {
        return space.try_for_each(|index| visit(index, 0));
    }
    let failed = AtomicBool::new(false);
    // An error without a value is that of another thread.
    let run = |part: &IndexSpace| -> Result<(), Option<E>> {
        let thread = rayon::current_thread_index().unwrap_or(0);
        part.try_for_each(|index| match failed.load(Ordering::Relaxed) {
            true => Err(None),
            false => visit(index, thread).map_err(|error| {
                failed.store(true, Ordering::Relaxed);
                Some(error)
            }),
        })
    };
    match parts
        .par_iter()
        .find_map_any(|part| run(part).err().flatten())
    {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minormajor_core::Shape;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    fn space(text: &str) -> IndexSpace {
        let shape: Shape = text.parse().unwrap();
        IndexSpace::new(shape.as_array().unwrap()).unwrap()
    }

    /// How often each place of a 10 by 10 array is visited.
    fn visits(space: &IndexSpace) -> Vec<usize> {
        let counts: Vec<AtomicUsize> = (0..100).map(|_| AtomicUsize::new(0)).collect();
        for_each_index_parallel(space, |index, thread| {
            assert!(thread < index_threads());
            let place = (10 * index[0] + index[1]) as usize;
            counts[place].fetch_add(1, Ordering::Relaxed);
        });
        counts.into_iter().map(AtomicUsize::into_inner).collect()
    }

    fn expected(visited: impl Fn(usize, usize) -> bool) -> Vec<usize> {
        (0..100)
            .map(|place| usize::from(visited(place / 10, place % 10)))
            .collect()
    }

    /// XLA: ShapeUtilTest.GetForEachIndexParallelThreadCount
    /// XLA: ShapeUtilTest.ForEachIndexParallel
    #[test]
    fn every_index_once() {
        assert!(index_threads() > 0);
        for text in ["f32[10,10]{1,0}", "f32[10,10]{0,1}"] {
            assert_eq!(visits(&space(text)), expected(|_, _| true));
        }
    }

    /// XLA: ShapeUtilTest.ForEachIndexParallel_Rank0
    /// XLA: ShapeUtilTest.ForEachIndexParallel_Scalar
    #[test]
    fn a_scalar_once() {
        for (text, index) in [("f32[]", &[][..]), ("f32[1,1]", &[0, 0])] {
            let count = AtomicUsize::new(0);
            for_each_index_parallel(&space(text), |found, thread| {
                assert_eq!((found, thread), (index, 0));
                count.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(count.into_inner(), 1);
        }
    }

    /// XLA: ShapeUtilTest.ForEachIndexParallel_Empty
    #[test]
    fn nothing_of_nothing() {
        for text in ["f32[0]", "f32[2,0]", "f32[0,2]"] {
            for_each_index_parallel(&space(text), |_, _| unreachable!("there is no index"));
        }
    }

    /// XLA: ShapeUtilTest.ForEachIndexParallel_DimensionPinnedWithZeros
    #[test]
    fn a_pinned_dimension() {
        let shape: Shape = "f32[10,10]".parse().unwrap();
        let row = IndexSpace::boxed(shape.as_array().unwrap(), &[3, 0], &[0, 10], &[0, 1]);
        assert_eq!(visits(&row.unwrap()), expected(|row, _| row == 3));
    }

    /// XLA: ShapeUtilTest.ForEachIndexParallel_WithSkips
    /// XLA: ShapeUtilTest.ForEachIndexParallel_WithOddIncr
    #[test]
    fn steps() {
        let skips = space("f32[10,10]")
            .range(0, 2, 3)
            .unwrap()
            .range(1, 3, 4)
            .unwrap();
        assert_eq!(
            visits(&skips),
            expected(|row, column| (2..5).contains(&row) && (3..7).contains(&column))
        );
        let odd = space("f32[10,10]").step(0, 2).unwrap().step(1, 3).unwrap();
        assert_eq!(
            visits(&odd),
            expected(|row, column| row % 2 == 0 && column % 3 == 0)
        );
    }

    /// XLA: ShapeUtilTest.ForEachIndexParallel_CalledTwice
    /// XLA: ShapeUtilTest.ForEachIndexParallel_CalledFromMultipleThreads
    #[test]
    fn again_and_from_several_threads() {
        let space = space("f32[10,10]");
        for _ in 0..2 {
            assert_eq!(visits(&space), expected(|_, _| true));
        }
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(visits(&space), expected(|_, _| true)));
            }
        });
    }

    #[test]
    fn an_error_ends_it() {
        let space = space("f32[100,100]");
        let visited = AtomicUsize::new(0);
        let result = try_for_each_index_parallel(&space, |index, _| {
            visited.fetch_add(1, Ordering::Relaxed);
            if index == [0, 0] { Err("stop") } else { Ok(()) }
        });
        assert_eq!(result, Err("stop"));
        assert!(visited.into_inner() <= 10_000);
    }
}
