//! Dense arrays whose dimensions get other extents.

use std::sync::Mutex;

use super::rows::once;
use super::{Crew, size};
use crate::error::{Buffer, NestError};
use crate::movement::Move;
use crate::nest::Loop;

/// A dense array of bytes whose dimensions get other extents, so that rows move up or down: all but the first
/// dimension only grow, or only shrink. What comes in is undefined.
///
/// Long rows are moved one by one, short ones together through scratch, by the kernels.
///
/// ```
/// use minormajor_kernels::Resize;
/// let mut rows = *b"abcdef..";
/// Resize::new(&[2, 3], &[2, 4], 16)?.run(&mut rows, &|work| work(&mut [0; 16]))?;
/// assert_eq!((&rows[..3], &rows[4..7]), (&b"abc"[..], &b"def"[..]));
/// # Ok::<(), minormajor_kernels::NestError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Resize {
    /// Dimensions outside what is moved at a time, major to minor: how many there are before and after, and the bytes
    /// of a step of each.
    outer: Vec<Loop>,
    /// What is moved at a time, in each iteration of the outer dimensions.
    windows: Windows,
    /// Of the buffer.
    needed: usize,
    grows: bool,
}

/// The windows of an iteration, one behind another.
#[derive(Debug, Clone)]
struct Windows {
    /// Bytes from one to the next, before and after.
    source: usize,
    destination: usize,
    /// How many whole ones there are.
    count: usize,
    whole: Window,
    /// A last one that is smaller.
    rest: Option<Window>,
}

/// Rows that move together.
#[derive(Debug, Clone)]
struct Window {
    /// Through scratch; absent for one row.
    by: Option<Box<Move>>,
    source: usize,
    destination: usize,
}

/// Rows that are at least so long are moved one by one.
const LONG: usize = 256;

impl Resize {
    /// From some extents to others, major to minor, the last one counting bytes; on threads that have so much scratch.
    ///
    /// # Errors
    ///
    /// [`NestError::Resize`] where there are not as many extents, or none, or some dimension but the first grows and
    /// another shrinks; [`NestError::Overflow`] beyond `isize::MAX` bytes.
    pub fn new(from: &[usize], to: &[usize], scratch: usize) -> Result<Resize, NestError> {
        let inner = || std::iter::zip(from, to).skip(1);
        let grows = inner().any(|(a, b)| a < b);
        let shrinks = inner().any(|(a, b)| a > b);
        if from.len() != to.len() || from.is_empty() || (grows && shrinks) {
            return Err(NestError::Resize);
        }
        let needed = size(from)?.max(size(to)?);
        let row = from[from.len() - 1].min(to[to.len() - 1]);
        let mut outer = (0..from.len() - 1)
            .map(|d| {
                let step = |extents: &[usize]| size(&extents[d + 1..]).map(|step| step as isize);
                Ok(Loop {
                    extent: from[d].min(to[d]),
                    source: step(from)?,
                    destination: step(to)?,
                })
            })
            .collect::<Result<Vec<Loop>, NestError>>()?;
        if row == 0 || outer.iter().any(|l| l.extent == 0) {
            // Nothing is moved: no iteration of one dimension.
            outer = vec![Loop {
                extent: 0,
                source: 0,
                destination: 0,
            }];
        }
        let windows = Windows::new(&mut outer, row, scratch)?;
        Ok(Resize {
            outer,
            windows,
            needed,
            grows,
        })
    }

    /// Moves the rows of the array that a buffer begins with.
    ///
    /// # Errors
    ///
    /// [`NestError::TooShort`] for a buffer that ends before the array does, before or after; then nothing has been
    /// moved. Also for a crew with less scratch than was said.
    pub fn run(&self, buffer: &mut [u8], crew: Crew<'_>) -> Result<(), NestError> {
        let got = buffer.len();
        let Some(buffer) = buffer.get_mut(..self.needed) else {
            return Err(NestError::TooShort {
                buffer: Buffer::Destination,
                needed: self.needed,
                got,
            });
        };
        let result = Mutex::new(Ok(()));
        once(crew, buffer, &|buffer, scratch| {
            let done = self.walk(&self.outer, 0, 0, &mut |source, destination| {
                self.windows
                    .run(buffer, scratch, source, destination, self.grows)
            });
            if let Ok(mut result) = result.lock() {
                *result = done;
            }
        });
        result.into_inner().unwrap_or(Ok(()))
    }

    /// Calls `f` with where each iteration begins before and after: those first that move away from the others.
    fn walk(
        &self,
        outer: &[Loop],
        source: usize,
        destination: usize,
        f: &mut dyn FnMut(usize, usize) -> Result<(), NestError>,
    ) -> Result<(), NestError> {
        let Some((l, rest)) = outer.split_first() else {
            return f(source, destination);
        };
        (0..l.extent).try_for_each(|i| {
            let i = if self.grows { l.extent - 1 - i } else { i };
            self.walk(
                rest,
                source + i * l.source as usize,
                destination + i * l.destination as usize,
                f,
            )
        })
    }
}

impl Windows {
    /// Takes the inner dimensions whose rows go through scratch together, and those of the next one that do.
    fn new(outer: &mut Vec<Loop>, row: usize, scratch: usize) -> Result<Windows, NestError> {
        let mut whole = Window {
            by: None,
            source: row,
            destination: row,
        };
        let mut loops = vec![Loop {
            extent: row,
            source: 1,
            destination: 1,
        }];
        let mut cut = None;
        while row < LONG
            && let Some(&l) = outer.last()
            && l.extent > 0
        {
            let most = match scratch.checked_sub(whole.source) {
                Some(more) => l.extent.min(1 + more / (l.source as usize).max(1)),
                None => 0,
            };
            if most < l.extent {
                cut = (most > 1).then_some(most);
                break;
            }
            whole = whole.times(l);
            loops.push(l);
            outer.pop();
        }
        let made = |window: Window, loops: &[Loop]| -> Result<Window, NestError> {
            let by = (loops.len() > 1).then(|| Move::new(1, 0, 0, loops).map(Box::new));
            Ok(Window {
                by: by.transpose()?,
                ..window
            })
        };
        let (Some(together), Some(&l)) = (cut, outer.last()) else {
            return Ok(Windows {
                source: 0,
                destination: 0,
                count: 1,
                whole: made(whole, &loops)?,
                rest: None,
            });
        };
        outer.pop();
        let of = |extent: usize| {
            let some = Loop { extent, ..l };
            let loops: Vec<Loop> = loops.iter().copied().chain([some]).collect();
            made(whole.times(some), &loops)
        };
        let rest = l.extent % together;
        Ok(Windows {
            source: together * l.source as usize,
            destination: together * l.destination as usize,
            count: l.extent / together,
            whole: of(together)?,
            rest: (rest > 0).then(|| of(rest)).transpose()?,
        })
    }

    fn run(
        &self,
        buffer: &mut [u8],
        scratch: &mut [u8],
        source: usize,
        destination: usize,
        grows: bool,
    ) -> Result<(), NestError> {
        let mut run = |number: usize, window: &Window| {
            let (from, to) = (number * self.source, number * self.destination);
            window.run(buffer, scratch, source + from, destination + to)
        };
        if grows {
            if let Some(rest) = &self.rest {
                run(self.count, rest)?;
            }
            return (0..self.count)
                .rev()
                .try_for_each(|number| run(number, &self.whole));
        }
        (0..self.count).try_for_each(|number| run(number, &self.whole))?;
        self.rest
            .as_ref()
            .map_or(Ok(()), |rest| run(self.count, rest))
    }
}

impl Window {
    /// The bytes of a loop over the window.
    fn times(&self, l: Loop) -> Window {
        Window {
            by: None,
            source: (l.extent - 1) * l.source as usize + self.source,
            destination: (l.extent - 1) * l.destination as usize + self.destination,
        }
    }

    fn run(
        &self,
        buffer: &mut [u8],
        scratch: &mut [u8],
        source: usize,
        destination: usize,
    ) -> Result<(), NestError> {
        let from = source..source + self.source;
        let Some(by) = &self.by else {
            buffer.copy_within(from, destination);
            return Ok(());
        };
        let got = scratch.len();
        let Some(copy) = scratch.get_mut(..self.source) else {
            return Err(NestError::TooShort {
                buffer: Buffer::Source,
                needed: self.source,
                got,
            });
        };
        copy.copy_from_slice(&buffer[from]);
        by.run(
            copy,
            &mut buffer[destination..destination + self.destination],
        )
    }
}
