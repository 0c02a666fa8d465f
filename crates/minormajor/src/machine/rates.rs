//! What each kind of work takes at one level: what is measured of a machine.

/// Nanoseconds that each kind of work takes for a byte moved, at one level.
#[derive(Clone, Debug, Default)]
pub(super) struct Rates {
    /// `memcpy`.
    pub copy: Rate,
    /// Long runs.
    pub long: Rate,
    /// Runs of [`PIECE`] bytes, by where they are written.
    pub pieces: Lined,
    /// Runs of [`RUN`] bytes,
    pub runs: Rate,
    /// and of [`SHORT`].
    pub short: Rate,
    /// Single lines that are read from [`APART`] bytes one behind the other.
    pub apart: Rate,
    /// By the logarithm of the element's width.
    pub transpose: [Lined; 5],
    /// The same where rows and columns lie pages apart; 0 where a level has no room for so many.
    pub paged: [Rate; 5],
    pub weave: [Rate; 5],
    /// A weave of 4-byte elements, of more rows than three, which have [`IMAGE`] bytes each.
    pub images: Rate,
    /// A transpose of 4-byte elements, of which rows or columns have [`ROW`] bytes,
    pub rows: Rate,
    /// or a line, on lines and one after another.
    pub blocks: Rate,
    /// Blocks of 4-byte elements.
    pub gather: Rate,
    /// Packed elements that become bytes.
    pub bits: Rewrites,
    /// Packed elements that stay so, in another order, by the logarithm of their bits.
    pub packed: [Lined; 3],
    /// Few rows of them that become runs.
    pub braid: Rate,
    pub numbers: Rewrites,
    /// Elements some steps apart, which come to lie side by side.
    pub steps: Rate,
    /// A position of a plan without boxes.
    pub position: f64,
}

/// Elements that are written anew.
#[derive(Clone, Debug, Default)]
pub(super) struct Rewrites {
    /// In the same order.
    pub runs: Rate,
    /// In another order.
    pub blocks: Rate,
}

/// By whether rows begin on lines of a cache.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lined {
    pub on: Rate,
    pub off: Rate,
}

/// Nanoseconds for a byte.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rate {
    /// On one thread.
    pub one: f64,
    /// On all threads together.
    pub all: f64,
}

/// Bytes of the shortest run, but for those that are elements of another width,
pub(super) const SHORT: usize = 3;
/// of a short one,
pub(super) const RUN: usize = 80;
/// of one that is as long as a row of a tile,
pub(super) const PIECE: usize = 512;
/// and of a long one.
pub(super) const WHOLE: usize = 32 << 10;
/// Bytes of a line of a cache,
pub(super) const LINE: usize = 64;
/// and of what is read a line of, where these lie apart.
pub(super) const APART: usize = 4 * LINE;
/// Bytes of a short row of a transpose,
pub(super) const ROW: usize = 24;
/// and of one that is not short.
pub(super) const LONG: usize = 2 * ROW;
/// Bytes of a row of an image whose few rows are woven or separated, each image by itself,
pub(super) const IMAGE: usize = 2000;
/// and the rows that cost no more than three where they are long.
pub(super) const FEW: usize = 4;
/// Bytes of rows or columns that are as fast as those of a line, where they lie on lines and follow one another.
pub(super) const BLOCK: std::ops::RangeInclusive<usize> = 32..=128;

impl Rates {
    /// All of them, in one order.
    pub(super) fn all(&mut self) -> Vec<&mut f64> {
        let Rates {
            copy,
            long,
            pieces,
            runs,
            short,
            apart,
            transpose,
            paged,
            weave,
            images,
            rows,
            blocks,
            gather,
            bits,
            packed,
            braid,
            numbers,
            steps,
            position,
        } = self;
        let single = [
            copy, long, runs, short, apart, images, rows, blocks, gather, braid, steps,
        ];
        let rewrites = [bits, numbers].into_iter();
        let rewrites = rewrites.flat_map(|of| [&mut of.runs, &mut of.blocks]);
        let lined = transpose.iter_mut().chain(packed).chain([pieces]);
        let lined = lined.flat_map(|of| [&mut of.on, &mut of.off]);
        let all = single
            .into_iter()
            .chain(weave)
            .chain(paged)
            .chain(rewrites)
            .chain(lined);
        all.flat_map(|rate| [&mut rate.one, &mut rate.all])
            .chain([position])
            .collect()
    }

    /// Of each of them the middle one: a prediction is what is to be expected, not the best that can happen.
    pub(super) fn middle([mut a, mut b, mut c]: [Rates; 3]) -> Rates {
        for ((a, b), c) in a.all().into_iter().zip(b.all()).zip(c.all()) {
            let mut sorted = [*a, *b, *c];
            sorted.sort_unstable_by(f64::total_cmp);
            *a = sorted[1];
        }
        a
    }

    /// Gives transposes of rows and columns pages apart what they take beside others in memory, where this level has no room for them.
    pub(super) fn complete(&mut self, memory: &Rates) {
        for (i, paged) in self.paged.iter_mut().enumerate() {
            if paged.one > 0.0 {
                continue;
            }
            let (on, far, far_on) = (
                self.transpose[i].on,
                memory.paged[i],
                memory.transpose[i].on,
            );
            *paged = match far.one > 0.0 {
                true => Rate {
                    one: on.one * (far.one / far_on.one),
                    all: on.all * (far.all / far_on.all),
                },
                false => on,
            };
        }
    }
}
