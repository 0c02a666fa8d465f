//! Many indices at once against one at a time.

use minormajor::{
    AddressMap, ArrayShape, BatchError, BatchMap, IndexError, Isa, Location, Shape, Stores, Tuning,
};
use minormajor_testing::{oracle, strategy};
use proptest::prelude::*;

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text.parse().unwrap();
    shape.as_array().unwrap().clone()
}

fn columns(rank: usize, indices: &[Vec<i64>]) -> Vec<Vec<i64>> {
    (0..rank)
        .map(|d| indices.iter().map(|index| index[d]).collect())
        .collect()
}

fn positions(map: &BatchMap, columns: &[Vec<i64>], count: usize) -> Result<Vec<i64>, BatchError> {
    let mut positions = vec![-9; count];
    let columns: Vec<&[i64]> = columns.iter().map(|column| &column[..]).collect();
    map.positions(&columns, &mut positions).map(|()| positions)
}

/// The columns, and how many positions are padding.
fn indices(
    map: &BatchMap,
    rank: usize,
    positions: &[i64],
) -> Result<(Vec<Vec<i64>>, usize), BatchError> {
    let mut found = vec![vec![-9; positions.len()]; rank];
    let mut columns: Vec<&mut [i64]> = found.iter_mut().map(|column| &mut column[..]).collect();
    let padding = map.indices(positions, &mut columns)?;
    Ok((found, padding))
}

/// What a map says of these positions, one by one.
fn located(map: &AddressMap, positions: &[i64]) -> (Vec<Vec<i64>>, usize) {
    let rank = map.sizes().len();
    let mut padding = 0;
    let found = positions
        .iter()
        .map(|&position| match map.location(position) {
            Ok(Location::Element(index)) => index,
            _ => {
                padding += 1;
                vec![-1; rank]
            }
        });
    let found: Vec<Vec<i64>> = found.collect();
    (columns(rank, &found), padding)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn batches_are_the_naive_ones(shape in strategy::array()) {
        let (map, batches) = (AddressMap::new(&shape).unwrap(), BatchMap::new(&shape).unwrap());
        let all = oracle::indices(&shape.sizes().unwrap());
        let expected: Vec<i64> = all.iter().map(|index| oracle::position(&shape, index)).collect();
        let rank = shape.rank();
        prop_assert_eq!(positions(&batches, &columns(rank, &all), all.len()), Ok(expected.clone()));
        prop_assert_eq!(indices(&batches, rank, &expected), Ok((columns(rank, &all), 0)));
        let every: Vec<i64> = (0..map.allocated_elements()).collect();
        prop_assert_eq!(indices(&batches, rank, &every), Ok(located(&map, &every)));

        let linear = BatchMap::linear(&shape).unwrap();
        let expected: Vec<i64> = all.iter().map(|index| shape.linear_index(index).unwrap()).collect();
        prop_assert_eq!(positions(&linear, &columns(rank, &all), all.len()), Ok(expected.clone()));
        prop_assert_eq!(indices(&linear, rank, &expected), Ok((columns(rank, &all), 0)));
    }
}

/// Numbers below a bound: the ends, and some between that nothing divides.
fn below(bound: i64, place: usize) -> i64 {
    let scattered = (place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1;
    match place % 5 {
        0 => bound - 1,
        1 => (place as i64 / 5).min(bound - 1),
        2 => bound - 1 - (place as i64).min(bound - 1),
        _ => scattered as i64 % bound,
    }
}

/// Positions around 2^31, 2^32, 2^49 (where arithmetic changes), 2^60 and up to 2^63.
#[test]
fn large_arrays() {
    for text in [
        "u8[46349,46337]",
        "u8[65536,65536]{0,1}",
        "u8[65537,65537,3]{0,2,1:T(8,128)}",
        "u8[1048583,1048589]{1,0:T(8,128)(4,1)}",
        "u8[562949953421311]",
        "u8[562949953421312]",
        "u8[23726567,23726561]",
        "u8[1125899906842623]",
        "u8[1125899906842624]",
        "u8[1125899906842625]",
        "u8[33554432,33554432]",
        "u8[33554432,33554433]",
        "u1[2147483648,2147483647]{1,0:E(1)}",
        "u1[2147483647,2147483647]{0,1:T(8,128)E(1)}",
        "u8[3,5,7,10980204805779493]",
        "u1[2147483629,3,1073741789]{1,0,2:T(2,2)E(1)}",
        "u1[1000003,4611686018427]{1,0:E(1)PAD(1000003,4611686018428)}",
        "u1[9223372036854775807]{0:E(1)}",
        "u1[1000000007,4000000007]{1,0:T(*,128)E(1)}",
        "u1[1000000007,400000007,2]{1,0,2:T(*,3)(5)E(1)}",
    ] {
        let shape = array(text);
        for tuning in tunings() {
            let map = AddressMap::new(&shape).unwrap();
            let batches = BatchMap::new(&shape).unwrap().tuned(tuning);
            let all: Vec<Vec<i64>> = (0..1000)
                .map(|k| {
                    let sizes = map.sizes().iter().enumerate();
                    sizes.map(|(d, &size)| below(size, k + 7 * d)).collect()
                })
                .collect();
            let expected: Vec<i64> = all
                .iter()
                .map(|index| map.position(index).unwrap())
                .collect();
            let by_dimension = columns(shape.rank(), &all);
            assert_eq!(
                positions(&batches, &by_dimension, 1000),
                Ok(expected.clone()),
                "{text}"
            );
            assert_eq!(
                indices(&batches, shape.rank(), &expected),
                Ok((by_dimension, 0)),
                "{text}"
            );
            let some: Vec<i64> = (0..1000)
                .map(|k| below(map.allocated_elements(), k))
                .collect();
            let (found, expected) = (indices(&batches, shape.rank(), &some), located(&map, &some));
            assert_eq!(found, Ok(expected), "{text}");
        }
    }
}

fn tunings() -> impl Iterator<Item = Tuning> {
    Isa::available().iter().flat_map(|&isa| {
        [Stores::Plain, Stores::Streaming].map(|stores| {
            let mut tuning = Tuning::default();
            (tuning.isa, tuning.stores) = (isa, stores);
            tuning
        })
    })
}

#[test]
fn scalars_and_nothing() {
    let scalar = BatchMap::new(&array("f32[]")).unwrap();
    assert_eq!(positions(&scalar, &[], 3), Ok(vec![0; 3]));
    assert_eq!(indices(&scalar, 0, &[0, 0]), Ok((vec![], 0)));
    let aligned = BatchMap::new(&array("f32[]{:L(4)}")).unwrap();
    assert_eq!(indices(&aligned, 0, &[0, 3, 1]), Ok((vec![], 2)));
    for text in ["f32[0,3]", "f32[0,3]{1,0:PAD(2,3)}", "f32[3,0]{1,0:T(2,2)}"] {
        let shape = array(text);
        let map = BatchMap::new(&shape).unwrap();
        assert_eq!(positions(&map, &[vec![], vec![]], 0), Ok(vec![]));
        assert!(positions(&map, &[vec![0], vec![0]], 1).is_err(), "{text}");
        let allocated = AddressMap::new(&shape).unwrap().allocated_elements();
        let all: Vec<i64> = (0..allocated).collect();
        let nothing = vec![vec![-1; all.len()]; 2];
        assert_eq!(indices(&map, 2, &all), Ok((nothing, all.len())), "{text}");
    }
    let bounded = BatchMap::new(&array("f32[<=4,2]")).unwrap();
    assert_eq!(positions(&bounded, &[vec![3], vec![1]], 1), Ok(vec![7]));
    assert!(BatchMap::new(&array("f32[?,2]")).is_err());
}

#[test]
fn errors_name_the_first_at_fault() {
    let map = BatchMap::new(&array("f32[10,20]{1,0:T(8,128)}")).unwrap();
    let error = |found: Result<(), BatchError>| found.unwrap_err().to_string();
    let mut out = [0; 2];
    assert_eq!(
        error(map.positions(&[&[1, 1]], &mut out)),
        "the batch has 1 columns, the array has 2 dimensions"
    );
    assert_eq!(
        error(map.positions(&[&[1, 1][..], &[1]], &mut out)),
        "the column of dimension 1 has 1 numbers, beside 2 positions"
    );
    assert_eq!(
        error(map.positions(&[&[9, 9], &[19, 20]], &mut out)),
        "number 1 of the batch, from 0: index 20 is outside dimension 1, whose size is 20"
    );
    assert_eq!(out[0], 1024 + 128 + 19);
    let mut long = vec![vec![1; 1000]; 2];
    (long[0][700], long[1][700], long[0][800]) = (-1, 20, 10);
    assert_eq!(
        positions(&map, &long, 1000),
        Err(BatchError::OutOfRange {
            place: 700,
            error: IndexError::OutOfRange {
                dimension: 0,
                index: -1,
                size: 10
            }
        })
    );
    let mut columns = ([0; 3], [0; 3]);
    let found = map.indices(&[0, 2048, 1], &mut [&mut columns.0, &mut columns.1]);
    assert_eq!(
        error(found.map(drop)),
        "number 1 of the batch, from 0: position 2048 is outside the array's 2048 allocated elements"
    );
}
