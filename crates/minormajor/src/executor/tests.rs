use std::sync::atomic::{AtomicU64, Ordering};

use minormajor_core::{AddressMap, Location, PaddingValue, Shape};

use super::*;

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text.parse().unwrap();
    shape.as_array().unwrap().clone()
}

/// Pairs of layouts of every kind: sizes that no tile divides, padding of every value, widths
/// from 1 to 16 bytes, elements wider than their type, a tile that only the general way takes.
const PAIRS: [(&str, &str); 14] = [
    ("u8[7,11]{1,0}", "u8[7,11]{0,1}"),
    ("u16[7,11,3]{2,1,0}", "u16[7,11,3]{0,2,1:PAD(9,11,5)}"),
    (
        "f32[13,17]{1,0:T(4,8)}",
        "f32[13,17]{0,1:PAD(14,19;lowest)}",
    ),
    ("f32[13,17]{1,0:T(4,8)}", "f32[13,17]{1,0:T(3,5)(2,1)}"),
    ("f64[5,19]{1,0}", "f64[5,19]{1,0:T(4,8)(2,2)}"),
    ("c128[5,7]{0,1:PAD(6,7)}", "c128[5,7]{1,0:PAD(5,8;one)}"),
    ("s16[5,7]{0,1:PAD(6,7)}", "s16[5,7]{1,0:PAD(5,8;unknown)}"),
    ("pred[3,5,7]{1,2,0:T(2,2)}", "pred[3,5,7]{0,1,2}"),
    ("f32[7]{0:T(8)}", "f32[7]{0:T(4)}"),
    ("bf16[5,6]{1,0}", "bf16[5,6]{0,1:E(32)}"),
    ("f32[3,5,7]{2,1,0}", "f32[3,5,7]{2,1,0:T(*,4)}"),
    (
        "f32[3,5,7]{0,1,2:T(*,4)(2,1)}",
        "f32[3,5,7]{2,1,0:PAD(3,6,8;highest)}",
    ),
    ("u32[]", "u32[]"),
    ("u32[0,3]{1,0}", "u32[0,3]{0,1}"),
];

fn source(shape: &ArrayShape) -> Vec<u8> {
    let bytes = shape.allocated_bytes().unwrap() as usize;
    // Neighbours differ in every byte, and no element is like another for long.
    (0..bytes).map(|i| (i * 167 + i / 251) as u8).collect()
}

/// Position by position, as the address maps say.
fn expected(bytes: &[u8], from: &ArrayShape, to: &ArrayShape, sentinel: u8) -> Vec<u8> {
    let (source, destination) = (AddressMap::new(from).unwrap(), AddressMap::new(to).unwrap());
    let width = from.element_type().byte_width() as usize;
    let [source_step, step] = [from, to].map(|shape| shape.element_bits() as usize / 8);
    let value = to
        .layout()
        .unwrap()
        .padding_value()
        .unwrap_or(PaddingValue::Zero);
    let padding = to.element_type().padding_bytes(value);
    let mut expected = vec![sentinel; to.allocated_bytes().unwrap() as usize];
    for position in 0..destination.allocated_elements() {
        let slot = &mut expected[position as usize * step..][..step];
        let element = match destination.location(position).unwrap() {
            Location::Element(index) => {
                let from = source.position(&index).unwrap() as usize * source_step;
                Some(bytes[from..from + width].to_vec())
            }
            Location::Padding { .. } => padding.map(|bytes| bytes[..width].to_vec()),
        };
        if let Some(element) = element {
            slot.fill(0);
            slot[..width].copy_from_slice(&element);
        }
    }
    expected
}

#[test]
fn runs_agree_with_the_address_maps_whole_and_in_any_windows() {
    for (from, to) in PAIRS {
        let (from, to) = (array(from), array(to));
        let relayout = Relayout::new(&Plan::new(&from, &to).unwrap()).unwrap();
        let bytes = source(&from);
        let expected = expected(&bytes, &from, &to, 0xEE);
        let name = format!("{from} to {to}");

        let mut whole = vec![0xEE; expected.len()];
        relayout.run(&bytes, &mut whole).unwrap();
        assert_eq!(whole, expected, "{name}");

        let mut scratch = Scratch::default();
        for units in [1, 2, 3, 7, 64] {
            let mut cut = vec![0xEE; expected.len()];
            let size = units * relayout.unit_bytes.unwrap_or(expected.len().max(1));
            for (number, bytes_of) in cut.chunks_mut(size).enumerate() {
                let window = Window {
                    start: number * size,
                    bytes: bytes_of,
                };
                relayout.run_window(&bytes, window, &mut scratch).unwrap();
            }
            assert_eq!(cut, expected, "{name} in windows of {units}");
        }
    }
}

#[test]
fn threads_agree_with_one_run_over_all() {
    for (from, to) in [
        (
            "c128[1021,1021]{1,0}",
            "c128[1021,1021]{0,1:PAD(1024,1025)}",
        ),
        ("u8[4099,4001]{1,0}", "u8[4099,4001]{1,0:T(8,128)}"),
        ("u32[61,127,601]{2,1,0:T(8,128)}", "u32[61,127,601]{0,1,2}"),
        (
            "u4[4099,4001]{1,0:E(4)}",
            "u4[4099,4001]{0,1:E(4)PAD(4100,4003;one)}",
        ),
        ("u1[8195,8195]{1,0:E(1)}", "u1[8195,8195]{0,1:E(1)}"),
        ("u2[4099,4001]{1,0:E(2)}", "u2[4099,4001]{0,1}"),
    ] {
        let (from, to) = (array(from), array(to));
        let relayout = Relayout::new(&Plan::new(&from, &to).unwrap()).unwrap();
        let bytes = source(&from);
        let mut expected = vec![0xEE; relayout.destination_bytes()];
        relayout.run_whole(&bytes, &mut expected).unwrap();
        for threads in [1, 2, 5] {
            // Starts off the page, with bytes behind the array.
            let mut buffer = vec![0xEE; expected.len() + 64];
            let (seen, total) = (AtomicU64::new(0), expected.len() as u64);
            let relayout = relayout.clone().threads(threads);
            relayout
                .run_with_progress(&bytes, &mut buffer[16..], &|done, all| {
                    assert!(seen.swap(done, Ordering::Relaxed) < done && all == total);
                })
                .unwrap();
            assert!(
                buffer[16..][..expected.len()] == expected,
                "{from} to {to}, {threads}"
            );
            assert_eq!(buffer[..16], [0xEE; 16]);
            assert_eq!(buffer[16 + expected.len()..], [0xEE; 48]);
            assert_eq!(seen.into_inner(), total);
        }
    }
}

#[test]
fn threads_share_packed_matrices_by_whole_columns() {
    let shared = |from: &str, to: &str| -> Option<Vec<usize>> {
        let plan = Plan::new(&array(from), &array(to)).unwrap();
        let relayout = Relayout::new(&plan).unwrap().threads(2);
        match relayout.sharing(|| 0, false) {
            Sharing::Steps {
                recode, windows, ..
            } => Some(recode.cuts(windows).collect()),
            _ => None,
        }
    };
    for (from, to, column, windows) in [
        // Five lines of columns, and more than half of another.
        (
            "u1[100003,3000]{1,0:E(1)}",
            "u1[100003,3000]{0,1:E(1)}",
            100_003 * 64,
            5,
        ),
        // Bits behind the last column, and padding, are written by the same windows.
        (
            "u1[20003,3001]{1,0:E(1)}",
            "u1[20003,3001]{0,1:E(1)}",
            20_003 * 64,
            5,
        ),
        (
            "u4[4099,4001]{1,0:E(4)}",
            "u4[4099,4001]{0,1:E(4)PAD(4100,4003;one)}",
            2050 * 128,
            7,
        ),
    ] {
        let cuts = shared(from, to).unwrap();
        assert_eq!(cuts.len(), windows - 1, "{from} to {to}");
        assert!(cuts.iter().all(|cut| cut % column == 0), "{cuts:?}");
        // No window has more than a step more than another.
        let steps = [0].iter().chain(&cuts).zip(&cuts);
        let steps = steps.map(|(start, end)| (end - start) / column);
        let (least, most) = (steps.clone().min(), steps.max());
        assert!(most.unwrap() <= least.unwrap() + 1, "{cuts:?}");
    }
    // The first of two columns is no whole bytes.
    assert_eq!(
        shared("u1[20000003,2]{1,0:E(1)}", "u1[20000003,2]{0,1:E(1)}"),
        None
    );
}

#[test]
fn what_one_thread_is_done_with_at_once_is_not_shared() {
    let shares = |from: &str, to: &str| {
        let plan = Plan::new(&array(from), &array(to)).unwrap();
        let relayout = Relayout::new(&plan).unwrap().threads(2);
        !matches!(relayout.sharing(|| 0, false), Sharing::Whole)
    };
    // Of 0.8 MB, and of 1.2 MB.
    assert!(!shares("f32[400,500]{1,0}", "f32[400,500]{0,1}"));
    assert!(shares("f32[600,500]{1,0}", "f32[600,500]{0,1}"));
}

#[test]
fn short_buffers_are_errors_and_stay_as_they_were() {
    let (from, to) = (array("f32[3,5]{1,0}"), array("f32[3,5]{0,1:PAD(4,5)}"));
    let relayout = Relayout::new(&Plan::new(&from, &to).unwrap()).unwrap();
    assert_eq!(
        (relayout.source_bytes(), relayout.destination_bytes()),
        (60, 80)
    );
    let mut destination = [7; 80];
    assert_eq!(
        relayout.run(&[0; 59], &mut destination),
        Err(RunError::SourceTooShort {
            expected: 60,
            found: 59
        })
    );
    assert_eq!(
        relayout.run(&[0; 60], &mut destination[..79]),
        Err(RunError::DestinationTooShort {
            expected: 80,
            found: 79
        })
    );
    assert_eq!(destination, [7; 80]);
}

#[test]
fn results_that_no_memory_holds_are_errors() {
    let bytes = i64::MAX / 8;
    let to = array(&format!("u8[2]{{0:PAD({bytes})}}"));
    let result = super::relayout(&[0; 2], &array("u8[2]"), &to);
    assert_eq!(result, Err(RunError::TooLarge { bytes }.into()));
}

#[test]
fn a_prepared_relayout_can_be_shared() {
    fn shared<T: Send + Sync>() {}
    shared::<Relayout>();
}
