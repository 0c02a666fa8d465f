//! The naive oracle, and data that can't hide a mistake.
#![allow(dead_code)] // each test file uses a part

#[cfg(target_os = "linux")]
pub mod guarded;

use minormajor_kernels::{FillLoop, Isa, Loop, Stores, Tuning};
use proptest::prelude::*;

/// The byte that no source holds at the place where it would be expected: what gaps keep.
pub const SENTINEL: u8 = 0xA5;

/// Calls `f` with the source and destination byte offset of every element, in any order.
pub fn elements(
    source: isize,
    destination: isize,
    loops: &[Loop],
    f: &mut dyn FnMut(usize, usize),
) {
    match loops.split_first() {
        None => f(source as usize, destination as usize),
        Some((l, rest)) => {
            for i in 0..l.extent as isize {
                elements(
                    source + i * l.source,
                    destination + i * l.destination,
                    rest,
                    f,
                );
            }
        }
    }
}

/// What a move makes of a destination: element by element.
pub fn oracle(
    width: usize,
    source: usize,
    destination: usize,
    loops: &[Loop],
    from: &[u8],
    to: &mut [u8],
) {
    elements(source as isize, destination as isize, loops, &mut |s, d| {
        to[d..d + width].copy_from_slice(&from[s..s + width]);
    });
}

/// Bytes of which no two within 251 are equal, except where a block of 251 begins; equal ones further apart differ in
/// their neighbours.
pub fn distinct(length: usize) -> Vec<u8> {
    (0..length)
        .map(|i| {
            ((i % 251) as u8)
                .wrapping_add((i / 251) as u8)
                .wrapping_mul(167)
                ^ (i / 64009) as u8
        })
        .collect()
}

/// The bytes that each side needs.
pub fn lengths(width: usize, source: usize, destination: usize, loops: &[Loop]) -> (usize, usize) {
    let (mut s, mut d) = (source as isize, destination as isize);
    if loops.iter().any(|l| l.extent == 0) {
        return (0, 0);
    }
    for l in loops {
        s += (l.extent as isize - 1) * l.source.max(0);
        d += (l.extent as isize - 1) * l.destination.max(0);
    }
    (s as usize + width, d as usize + width)
}

/// A loop: extent, source stride, destination stride.
pub fn l(extent: usize, source: isize, destination: isize) -> Loop {
    Loop {
        extent,
        source,
        destination,
    }
}

/// A case: width, offsets, loops, in bytes.
#[derive(Debug, Clone)]
pub struct Case {
    pub width: usize,
    pub source: usize,
    pub destination: usize,
    pub loops: Vec<Loop>,
}

/// Nests with distinct destination places: the destination is a permutation of the loops with gaps between, the source
/// another permutation with gaps, repeats and reversals; negative destination strides too.
pub fn case() -> impl Strategy<Value = Case> {
    let extent = prop_oneof![3 => 1usize..6, 3 => prop::sample::select(vec![7, 8, 13, 15, 16, 17, 24, 31, 33]), 1 => 60usize..140];
    let loops = prop::collection::vec(
        (
            extent,
            any::<u32>(),
            any::<u32>(),
            0usize..4,
            0usize..4,
            0u8..12,
            0u8..12,
        ),
        0..6,
    );
    (
        prop::sample::select(vec![1usize, 2, 4, 8, 16]),
        loops,
        0usize..70,
        0usize..70,
    )
        .prop_map(|(width, mut loops, source, destination)| {
            // Keep a case at some ten thousand elements.
            while loops.iter().map(|l| l.0).product::<usize>() > 20_000 {
                loops.pop();
            }
            let strides = |key: &dyn Fn(usize) -> u32, gap: &dyn Fn(usize) -> usize| {
                let mut order: Vec<usize> = (0..loops.len()).collect();
                order.sort_by_key(|&i| key(i));
                let mut strides = vec![0isize; loops.len()];
                let mut next = width;
                for i in order {
                    // Most loops follow one another closely, so that merging and contiguous runs happen.
                    next += [0, 0, 1, width][gap(i)];
                    strides[i] = next as isize;
                    next *= loops[i].0;
                }
                strides
            };
            let s = strides(&|i| loops[i].1, &|i| loops[i].3);
            let d = strides(&|i| loops[i].2, &|i| loops[i].4);
            let mut case = Case {
                width,
                source,
                destination,
                loops: Vec::new(),
            };
            for (i, &(extent, _, _, _, _, source_kind, destination_kind)) in
                loops.iter().enumerate()
            {
                let (mut s, mut d) = (s[i], d[i]);
                match source_kind {
                    0 => s = 0,
                    1 => {
                        case.source += (extent - 1) * s as usize;
                        s = -s;
                    }
                    _ => {}
                }
                if destination_kind == 0 {
                    case.destination += (extent - 1) * d as usize;
                    d = -d;
                }
                case.loops.push(l(extent, s, d));
            }
            case
        })
}

/// Nests whose innermost loops cover a block of bytes on both sides, in another order, and blocks of a few elements of
/// sources that go on elsewhere; with gaps between blocks or without.
pub fn blocks() -> impl Strategy<Value = Case> {
    let inside = prop::collection::vec(2usize..10, 1..4);
    let order = (Just(vec![0usize, 1, 2]).prop_shuffle(), 0usize..3);
    (
        prop::sample::select(vec![1usize, 2, 4, 8]),
        inside,
        order,
        (1usize..30, 1usize..9),
        (0usize..3, 0usize..3),
        any::<bool>(),
    )
        .prop_map(
            |(width, inside, (order, apart), (many, few), gaps, turned)| {
                let block = inside.iter().product::<usize>() * width;
                let (mut s, mut d) = (width * (1 + apart), width);
                let mut loops: Vec<Loop> = inside.iter().map(|&extent| l(extent, 0, 0)).collect();
                for inner in loops.iter_mut() {
                    inner.destination = d as isize;
                    d *= inner.extent;
                }
                for &i in order.iter().filter(|&&i| i < inside.len()) {
                    loops[i].source = s as isize;
                    s *= inside[i];
                }
                let (s, d) = (s + gaps.0 * width, block + gaps.1 * width);
                let other = |a: usize, b: usize| if turned { (b, 1) } else { (1, a) };
                let ((s_many, s_few), (d_few, d_many)) = (other(many, few), other(few, many));
                loops.push(l(many, (s * s_many) as isize, (d * d_many) as isize));
                loops.push(l(few, (s * s_few) as isize, (d * d_few) as isize));
                Case {
                    width,
                    source: 3,
                    destination: 64 - width,
                    loops,
                }
            },
        )
}

pub fn expected(case: &Case) -> (Vec<u8>, Vec<u8>) {
    let (s, d) = lengths(case.width, case.source, case.destination, &case.loops);
    let from = distinct(s);
    let mut to = vec![SENTINEL; d + 5];
    oracle(
        case.width,
        case.source,
        case.destination,
        &case.loops,
        &from,
        &mut to,
    );
    (from, to)
}

/// Every instruction set of this machine, with both kinds of stores.
pub fn tunings() -> impl Iterator<Item = Tuning> {
    let stores = [Stores::Plain, Stores::Streaming];
    Isa::available()
        .iter()
        .flat_map(move |&isa| stores.map(|stores| Tuning { isa, stores }))
}

/// Tiles of interleaved rows and plain rows, both ways: rows of every length, on and off lines, more of them than there
/// are lines kept, tiles that follow one another or do not.
pub fn interleaved() -> impl Iterator<Item = Case> {
    let kinds = [
        (1usize, 2usize),
        (1, 4),
        (2, 2),
        (2, 4),
        (4, 2),
        (1, 3),
        // 16 bytes and more.
        (4, 4),
        (8, 2),
        (1, 37),
        (2, 9),
        (4, 6),
        (8, 7),
        (16, 3),
    ];
    let sizes = [
        (3usize, 4usize, 128usize, 0usize),
        (9, 4, 128, 0),
        (2, 20, 96, 0),
        (5, 3, 100, 4),
        (1, 2, 1500, 3),
        (3, 2, 37, 1),
        (4, 1, 5, 0),
        (40, 3, 16, 0),
    ];
    kinds.into_iter().flat_map(move |(width, rows)| {
        sizes
            .into_iter()
            .flat_map(move |(tiles, groups, len, gap)| {
                [false, true].map(|join| {
                    let run = rows * len * width;
                    let tile = groups * run + gap * width;
                    let row = tiles * len * width + gap * width;
                    // Tiles, groups of rows, rows of a group, elements, and all of it twice.
                    let tiled = [0, tile, run, width, rows * width];
                    let plain = [0, len * width, rows * row, row, width];
                    let extents = [2, tiles, groups, rows, len];
                    let far = [tiles * tile, rows * groups * row];
                    let loops = (0..5)
                        .map(|i| {
                            let (t, p) = match i {
                                0 => (far[0] as isize, far[1] as isize),
                                _ => (tiled[i] as isize, plain[i] as isize),
                            };
                            if join {
                                l(extents[i], p, t)
                            } else {
                                l(extents[i], t, p)
                            }
                        })
                        .collect();
                    Case {
                        width,
                        source: 5,
                        destination: if gap == 0 { 0 } else { 7 * width },
                        loops,
                    }
                })
            })
    })
}

/// Source, destination and loops of a move; destination and loops of a fill.
pub type Part = (usize, usize, Vec<Loop>);
pub type Gap = (usize, Vec<FillLoop>);

/// Rows in tiles of `tile` rows and columns, ragged at both ends, with what is left of the tiles filled; and the other
/// way, without fills.
pub fn retile(
    width: usize,
    rows: usize,
    columns: usize,
    tile: (usize, usize),
    slices: usize,
    back: bool,
) -> (Vec<Part>, Vec<Gap>) {
    let (high, low) = tile;
    let across = columns.div_ceil(low);
    let down = rows.div_ceil(high);
    let plain = |r: usize, c: usize| (r * columns + c) * width;
    let tiled = |r: usize, c: usize| ((r * across + c) * high * low) * width;
    let (slice, tiles) = (rows * columns * width, down * across * high * low * width);
    let (mut parts, mut gaps) = (Vec::new(), Vec::new());
    for (r, count_r, high_r) in [(0, rows / high, high), (rows / high, 1, rows % high)] {
        for (c, count_c, low_c) in [(0, columns / low, low), (columns / low, 1, columns % low)] {
            let here = [slices, count_r, count_c, high_r, low_c];
            if here.contains(&0) {
                continue;
            }
            let p = [slice, plain(high, 0), plain(0, low), plain(1, 0), width];
            let t = [tiles, tiled(1, 0), tiled(0, 1), low * width, width];
            let loops = |s: [usize; 5], d: [usize; 5]| {
                (0..5)
                    .map(|i| Loop {
                        extent: here[i],
                        source: s[i] as isize,
                        destination: d[i] as isize,
                    })
                    .collect()
            };
            let (at_p, at_t) = (plain(r * high, c * low), tiled(r, c));
            parts.push(if back {
                (at_t, at_p, loops(t, p))
            } else {
                (at_p, at_t, loops(p, t))
            });
            if back {
                continue;
            }
            let mut gap = |at: usize, extents: [usize; 5]| {
                if !extents.contains(&0) {
                    let loops = (0..5).map(|i| FillLoop {
                        extent: extents[i],
                        destination: t[i] as isize,
                    });
                    gaps.push((at, loops.collect()));
                }
            };
            gap(
                at_t + low_c * width,
                [slices, count_r, count_c, high_r, low - low_c],
            );
            gap(
                at_t + high_r * low * width,
                [slices, count_r, count_c, high - high_r, low],
            );
        }
    }
    (parts, gaps)
}
