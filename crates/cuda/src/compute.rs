//! Launches of operations on elements.

use minormajor::backend::{Binary, Distribution, Reduction, Scalar, Strided, Tolerance};

use crate::launch::{Card, Fields, Launch, LongDivisor, THREADS};
use crate::nest::{Nested, nest};
use crate::relayout::Unsupported;
use crate::walk::{Step, Walk, put_outer};

/// One side of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side<'a> {
    /// An array: the address of its storage, and its place there.
    Array(u64, &'a Strided),
    /// One number.
    Scalar(Scalar),
}

/// What a side is for an item: see the kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Vector = 0,
    Repeated = 1,
    Scalar = 2,
}

impl Side<'_> {
    fn strides(&self, rank: usize) -> Vec<i64> {
        match self {
            Side::Array(_, place) => place.strides().to_vec(),
            Side::Scalar(_) => vec![0; rank],
        }
    }

    /// The address of the first element.
    fn address(&self) -> u64 {
        match self {
            Side::Array(address, place) => first(*address, place),
            Side::Scalar(_) => 0,
        }
    }

    fn bits(&self) -> u64 {
        match self {
            Side::Array(..) => 0,
            Side::Scalar(value) => {
                let mut bytes = [0; 8];
                bytes[..value.bytes().len()].copy_from_slice(value.bytes());
                u64::from_le_bytes(bytes)
            }
        }
    }
}

/// The address of a place's first element in a storage.
pub(crate) fn first(storage: u64, place: &Strided) -> u64 {
    storage.wrapping_add_signed(place.offset() * width(place))
}

fn width(place: &Strided) -> i64 {
    i64::from(place.element_type().byte_width())
}

/// An operation on elements; the result has some.
pub(crate) fn binary(
    operation: Binary,
    sides: [Side<'_>; 2],
    address: u64,
    result: &Strided,
    card: Card,
) -> Result<Launch, Unsupported> {
    let (rank, width) = (result.rank(), width(result));
    let strides = sides.each_ref().map(|side| side.strides(rank));
    let mut loops = nest(result.sizes(), [result.strides(), &strides[0], &strides[1]]);
    let vector = 16 / width;
    let addresses = sides.each_ref().map(Side::address);
    // Neighbours of the result that are neighbours, or one element, on both sides.
    let is_wide = loops.split_first().is_some_and(|(run, others)| {
        run.extent % vector == 0
            && [1, 2].into_iter().all(|side| match run.strides[side] {
                0 => true,
                1 => {
                    addresses[side - 1].is_multiple_of(16)
                        && others.iter().all(|l| l.strides[side] % vector == 0)
                }
                _ => false,
            })
    });
    let kind = |side: usize| match sides[side] {
        Side::Scalar(_) => Kind::Scalar,
        Side::Array(..) if is_wide && loops[0].strides[side + 1] == 0 => Kind::Repeated,
        Side::Array(..) => Kind::Vector,
    };
    let kinds = [kind(0), kind(1)];
    if is_wide {
        loops[0].extent /= vector;
        loops[0].strides = loops[0].strides.map(|stride| stride * vector);
    }
    let walk = walk(&loops, width, |l| [l.strides[1], l.strides[2]])?;
    let mut fields = Fields::default();
    fields
        .u64(addresses[0])
        .u64(addresses[1])
        .u64(address)
        .u64(sides[0].bits())
        .u64(sides[1].bits())
        .u32(kinds[0] as u32)
        .u32(kinds[1] as u32)
        .u32(match operation {
            Binary::Add => 0,
            Binary::Subtract => 1,
            Binary::Multiply => 2,
            Binary::Divide => 3,
            Binary::Minimum => 4,
            Binary::Maximum => 5,
        })
        .u32(0);
    walk.put(&mut fields);
    let name = if is_wide { "binary_wide" } else { "binary" };
    Ok(Launch {
        kernel: format!("{name}_{}", result.element_type()).into(),
        blocks: card.blocks(walk.work),
        shared_bytes: 0,
        parameters: fields.finish(),
    })
}

/// Whether neighbours of a dense result are far apart in an operand that has others side by side.
pub(crate) fn is_scattered(place: &Strided, result: &Strided) -> bool {
    let loops = nest(result.sizes(), [result.strides(), place.strides()]);
    let repeats = loops.iter().any(|l| l.strides[1] == 0);
    !repeats
        && loops.first().is_some_and(|l| l.strides[1].abs() > 1)
        && loops.iter().any(|l| l.strides[1].abs() == 1)
}

fn walk<const N: usize>(
    loops: &[Nested<N>],
    width: i64,
    strides: impl Fn(&Nested<N>) -> [i64; 2],
) -> Result<Walk, Unsupported> {
    Walk::new(loops.iter().map(|l| Step {
        extent: l.extent as u64,
        strides: strides(l).map(|stride| stride * width),
    }))
}

/// Makes the number at `flag` 1 where two elements are not close; there are some.
pub(crate) fn close(
    left: (u64, &Strided),
    right: (u64, &Strided),
    tolerance: Tolerance,
    flag: u64,
    card: Card,
) -> Result<Launch, Unsupported> {
    let (a, b) = (left.1, right.1);
    let loops = nest(a.sizes(), [a.strides(), b.strides()]);
    let walk = walk(&loops, width(a), |l| l.strides)?;
    let mut fields = Fields::default();
    fields
        .u64(first(left.0, a))
        .u64(first(right.0, b))
        .u64(flag)
        .f64(tolerance.relative)
        .f64(tolerance.absolute);
    walk.put(&mut fields);
    Ok(Launch {
        kernel: format!("close_{}", a.element_type()).into(),
        blocks: card.blocks(walk.work),
        shared_bytes: 0,
        parameters: fields.finish(),
    })
}

/// A reduction in steps: partial results go from each to the next.
#[derive(Debug)]
pub(crate) struct Reduce {
    operation: Reduction,
    outputs: u64,
    reduced: u64,
    /// Of the operand, fastest first, strides in bytes.
    kept: Vec<Step>,
    along: Vec<Step>,
    lanes: u32,
    across: bool,
    length: u64,
    /// Parts that what is reduced to one output is cut into.
    pub segments: u64,
    kernel: String,
    /// Bytes of a partial result.
    pub partial_bytes: u64,
    /// The kernel that makes results of sums.
    finish: Option<String>,
    partial_kernel: String,
}

/// Most loops of what is kept and of what is reduced.
const LOOPS: usize = 20;

impl Reduce {
    /// Of a result with some elements.
    pub fn new(
        operation: Reduction,
        place: &Strided,
        kept: usize,
        result: &Strided,
        card: Card,
    ) -> Result<Reduce, Unsupported> {
        let element_type = place.element_type();
        let width = width(place);
        let reduced: i64 = match place.sizes()[kept..].contains(&0) {
            true => 0,
            false => place.sizes()[kept..].iter().product(),
        };
        let strides = place.strides();
        let of_kept = nest(&place.sizes()[..kept], [result.strides(), &strides[..kept]]);
        let of_kept: Vec<Step> = of_kept
            .iter()
            .map(|l| step(l.extent, l.strides[1] * width))
            .collect();
        let along: Vec<Step> = match reduced {
            0 => Vec::new(),
            _ => nest(&place.sizes()[kept..], [&strides[kept..]])
                .iter()
                .map(|l| step(l.extent, l.strides[0] * width))
                .collect(),
        };
        if let Some(loops) = [of_kept.len(), along.len()]
            .into_iter()
            .find(|&n| n > LOOPS)
        {
            return Err(Unsupported::Loops { loops });
        }
        let is_float = element_type.is_floating_point();
        let sum = match () {
            () if is_float => "f64",
            () if element_type.is_signed_integral() => "s64",
            () => "u64",
        };
        let (name, partial_bytes, partial_kernel) = match operation {
            Reduction::Max => ("max", width as u64, format!("max_{element_type}")),
            Reduction::Sum | Reduction::Mean => ("sum", 8, format!("sum_{sum}")),
        };
        let finish = (name == "sum" && is_float).then(|| format!("finish_{element_type}"));
        let mut made = Reduce {
            operation,
            outputs: result.elements() as u64,
            reduced: reduced as u64,
            kept: of_kept,
            along,
            lanes: 0,
            across: false,
            length: 0,
            segments: 1,
            kernel: format!("{name}_{element_type}"),
            partial_bytes,
            finish,
            partial_kernel,
        };
        made.share(card);
        Ok(made)
    }

    /// Decides who works at what.
    fn share(&mut self, card: Card) {
        let stride = |loops: &[Step]| match loops.first().map(|l| l.strides[0]) {
            None | Some(0) => u64::MAX,
            Some(stride) => stride.unsigned_abs(),
        };
        self.across = stride(&self.kept) < stride(&self.along);
        let threads = u64::from(THREADS);
        let most = self.reduced.max(1).next_power_of_two().min(threads);
        let lanes = match self.across {
            true => (threads / self.outputs.next_power_of_two().min(threads)).min(most),
            false => most,
        };
        self.lanes = lanes.trailing_zeros();
        let groups = self.outputs.div_ceil(threads / lanes);
        // Enough work for all blocks, but no thread with next to none.
        let wanted = (u64::from(card.multiprocessors) * 8).div_ceil(groups);
        let segments = wanted.min(self.reduced.div_ceil(lanes * 16)).max(1);
        self.length = self
            .reduced
            .div_ceil(segments)
            .next_multiple_of(lanes)
            .max(1);
        self.segments = self.reduced.div_ceil(self.length).max(1);
    }

    /// How many elements the result has.
    pub fn outputs(&self) -> u64 {
        self.outputs
    }

    /// Whether sums have yet to be rounded to the result's type.
    pub fn has_finish(&self) -> bool {
        self.finish.is_some()
    }

    /// From the operand's first element to partial results, `segments` for each output.
    pub fn start(&self, source: u64, result: u64, card: Card) -> Launch {
        self.launch(self.kernel.clone(), source, result, card)
    }

    /// From those to one for each output, if there are several.
    pub fn join(&self, source: u64, result: u64, card: Card) -> Launch {
        let bytes = self.partial_bytes as i64;
        let mut joined = Reduce {
            reduced: self.segments,
            kept: vec![step(self.outputs as i64, self.segments as i64 * bytes)],
            along: vec![step(self.segments as i64, bytes)],
            kernel: String::new(),
            partial_kernel: String::new(),
            finish: None,
            ..*self
        };
        joined.share(Card { multiprocessors: 0 });
        joined.launch(self.partial_kernel.clone(), source, result, card)
    }

    fn launch(&self, kernel: String, source: u64, result: u64, card: Card) -> Launch {
        let groups = self.outputs.div_ceil(u64::from(THREADS) >> self.lanes);
        let work = groups * self.segments;
        let by_segments = LongDivisor::new(self.segments);
        let mut fields = Fields::default();
        fields
            .u64(source)
            .u64(result)
            .u64(work)
            .u64(self.outputs)
            .u64(self.reduced)
            .u64(self.length)
            .u64(self.segments)
            .u64(by_segments.magic)
            .u32(by_segments.shift)
            .u32(self.lanes)
            .u32(u32::from(self.across))
            .u32(self.kept.len() as u32)
            .u32(self.along.len() as u32)
            .u32(0);
        put_outer(&mut fields, &self.kept, LOOPS);
        put_outer(&mut fields, &self.along, LOOPS);
        Launch {
            kernel: kernel.into(),
            blocks: card.blocks(work),
            shared_bytes: THREADS * self.partial_bytes as u32,
            parameters: fields.finish(),
        }
    }

    /// From sums to the result's numbers.
    pub fn finish(&self, source: u64, result: u64, card: Card) -> Option<Launch> {
        let count = match self.operation {
            Reduction::Mean => self.reduced as f64,
            _ => 1.0,
        };
        let work = self.outputs.div_ceil(u64::from(THREADS));
        let mut fields = Fields::default();
        fields
            .u64(source)
            .u64(result)
            .u64(work)
            .u64(self.outputs)
            .f64(count);
        Some(Launch {
            kernel: self.finish.clone()?.into(),
            blocks: card.blocks(work),
            shared_bytes: 0,
            parameters: fields.finish(),
        })
    }
}

fn step(extent: i64, stride: i64) -> Step {
    Step {
        extent: extent as u64,
        strides: [stride, 0],
    }
}

/// Random numbers in row-major order.
pub(crate) fn random(
    distribution: Distribution,
    seed: u64,
    address: u64,
    result: &Strided,
    card: Card,
) -> Launch {
    let element_type = result.element_type();
    let elements = result.elements() as u64;
    let (mut integers, mut floats) = ([0; 2], [0.0; 3]);
    let (kernel, block) = match distribution {
        Distribution::Normal => (format!("normal_{element_type}"), 4),
        Distribution::Uniform {
            low,
            width,
            highest,
        } => {
            floats = [low, width, highest];
            (format!("uniform_{element_type}"), 4)
        }
        Distribution::Integers { low, range } => {
            integers = [low, range];
            (format!("integers_{}", element_type.bit_width()), 2)
        }
    };
    // Of a block's four words, 64-bit numbers take two each.
    let block = if element_type.bit_width() == 64 {
        2
    } else {
        block
    };
    let work = elements.div_ceil(u64::from(THREADS) * block);
    let mut fields = Fields::default();
    fields.u64(address).u64(work).u64(elements).u64(seed);
    for value in integers {
        fields.u64(value);
    }
    for value in floats {
        fields.f64(value);
    }
    Launch {
        kernel: kernel.into(),
        blocks: card.blocks(work),
        shared_bytes: 0,
        parameters: fields.finish(),
    }
}
