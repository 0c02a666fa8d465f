//! Streams: relayouts block by block against the naive relayout of the whole.

use minormajor::stream::{Part, Stream, StreamError};
use minormajor::{ArrayShape, Plan, Relayout, Shape};
use minormajor_testing::{oracle, strategy};
use proptest::prelude::*;

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text.parse().unwrap();
    shape.as_array().unwrap().clone()
}

/// The bytes of a part, run by run.
fn places(part: &Part) -> Vec<usize> {
    let runs = part.runs.iter();
    assert_eq!(runs.len() as u64, part.runs.count());
    runs.flat_map(|(start, bytes)| start as usize..(start + bytes) as usize)
        .collect()
}

/// Moves all blocks; also returns how often each byte of the destination was written.
fn by_blocks(stream: &Stream, source: &[u8], before: &[u8]) -> (Vec<u8>, Vec<u32>) {
    let (mut destination, mut written) = (before.to_vec(), vec![0; before.len()]);
    for number in 0..stream.blocks() {
        let block = stream.block(number);
        let (from, to) = (places(&block.source), places(&block.destination));
        assert!((from.len() + to.len()) as u64 <= stream.block_bytes());
        assert_eq!(
            Some(from.len() as i64),
            block.source.shape.allocated_bytes()
        );
        assert_eq!(
            Some(to.len() as i64),
            block.destination.shape.allocated_bytes()
        );
        let small: Vec<u8> = from.iter().map(|&place| source[place]).collect();
        let mut moved: Vec<u8> = to.iter().map(|&place| before[place]).collect();
        let plan = Plan::new(&block.source.shape, &block.destination.shape).unwrap();
        Relayout::new(&plan)
            .unwrap()
            .threads(1)
            .run(&small, &mut moved)
            .unwrap();
        for (place, byte) in to.into_iter().zip(moved) {
            destination[place] = byte;
            written[place] += 1;
        }
    }
    (destination, written)
}

fn check(source: &ArrayShape, destination: &ArrayShape, memory: u64) -> Result<(), TestCaseError> {
    let stream = match Stream::new(source, destination, memory) {
        Ok(stream) => stream,
        Err(StreamError::TooLittle { least, given }) => {
            prop_assert_eq!(given, memory);
            prop_assert!(least > memory);
            // What it says is enough.
            Stream::new(source, destination, least).unwrap()
        }
        Err(StreamError::Whole { shape, .. }) => {
            prop_assert!(shape.layout().unwrap().tail_padding_alignment() > 1);
            return Ok(());
        }
        Err(error) => return Err(TestCaseError::fail(error.to_string())),
    };
    prop_assert!(stream.block_bytes() <= memory.max(stream.block_bytes()));
    let bytes = oracle::elements(source);
    let before = vec![0x5a; destination.allocated_bytes().unwrap() as usize];
    let (moved, written) = by_blocks(&stream, &bytes, &before);
    prop_assert!(written.iter().all(|&n| n == 1), "{:?}", written);
    prop_assert_eq!(
        moved,
        oracle::relayout(source, &bytes, destination, &before)
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn blocks_are_the_whole(
        (source, destination) in strategy::relayout(),
        memory in prop_oneof![0u64..64, 64u64..4096, 4096u64..100_000],
    ) {
        check(&source, &destination, memory)?;
    }
}

#[test]
fn blocks_of_tiles_and_padding_are_the_whole() {
    for (source, destination) in [
        ("f32[13,29]{1,0:T(4,8)}", "f32[13,29]{0,1:T(6,5)}"),
        ("f32[13,29]{1,0}", "f32[13,29]{1,0:PAD(17,32)}"),
        ("u16[7,11,5]{2,1,0:T(2,4)(2,1)}", "u16[7,11,5]{0,1,2}"),
        ("s4[6,10,3]{2,1,0:E(4)}", "s4[6,10,3]{0,1,2:E(4)}"),
        ("s4[5,7]{1,0:E(4)}", "s4[5,7]{0,1:E(4)}"),
        ("u8[0,5]", "u8[0,5]{0,1}"),
        ("u8[]", "u8[]"),
    ] {
        let (source, destination) = (array(source), array(destination));
        for memory in [0, 100, 300, 900, 5000] {
            check(&source, &destination, memory).unwrap();
        }
    }
}

#[test]
fn runs_are_long_on_both_sides_where_memory_is_scarce() {
    // What the system's cache holds is written in longer runs than it is read, and what a disk has is
    // read in longer ones.
    for (size, is_cached) in [(100, true), (150, false)] {
        let shape = |order: &str| array(&format!("f32[15,15,32,{size},15,80]{{{order}}}"));
        let stream = Stream::new(&shape("5,4,3,2,1,0"), &shape("0,1,2,3,4,5"), 8 << 20).unwrap();
        let (from, to) = (stream.source_run_bytes(), stream.destination_run_bytes());
        let (short, long) = (from.min(to), from.max(to));
        assert!(short >= 900 && long >= 2 * short, "{from} {to}");
        assert_eq!(to > from, is_cached, "{from} {to}");
        assert!(stream.block_bytes() <= 8 << 20);
    }
}
