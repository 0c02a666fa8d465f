//! Shards of random arrays against the naive answer: every element asked for every device.

use std::collections::HashMap;

use minormajor_core::sharding::TileAssignment;
use minormajor_core::{Shape, Sharding};
use minormajor_testing::oracle;
use proptest::prelude::*;

/// The devices of every element, by walking over the tiles one by one.
fn devices_of_elements(
    sizes: &[i64],
    parts: &[i64],
    shared: usize,
    devices: &[i64],
) -> HashMap<Vec<i64>, Vec<i64>> {
    let mut owners = HashMap::new();
    for (number, tile) in oracle::indices(parts).into_iter().enumerate() {
        for index in oracle::indices(sizes) {
            let inside = (0..sizes.len()).all(|d| {
                let width = (sizes[d] + parts[d] - 1) / parts[d];
                index[d] / width == tile[d]
            });
            if inside {
                owners.insert(
                    index,
                    devices[number * shared..(number + 1) * shared].to_vec(),
                );
            }
        }
    }
    owners
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shards_are_the_naive_ones(
        cut in prop::collection::vec((0i64..8, 1i64..5), 1..4),
        shared in 1i64..4,
        seed in any::<prop::sample::Index>(),
    ) {
        let (sizes, parts): (Vec<i64>, Vec<i64>) = cut.into_iter().unzip();
        let count = parts.iter().product::<i64>() * shared;
        // Some permutation of the devices; the groups that share a tile ascend.
        let step = (1..count.max(2)).filter(|s| gcd(*s, count) == 1).collect::<Vec<_>>();
        let step = step[seed.index(step.len())];
        let mut devices: Vec<i64> = (0..count).map(|i| i * step % count).collect();
        devices.chunks_mut(shared as usize).for_each(<[i64]>::sort_unstable);
        let dimensions: Vec<i64> = parts.iter().copied().chain([shared]).collect();
        let assignment = TileAssignment::list(dimensions, devices.clone()).unwrap();
        let sharding = Sharding::partial_tile(assignment).unwrap();
        prop_assume!(sharding.is_tiled());
        let text: Vec<String> = sizes.iter().map(i64::to_string).collect();
        let shape: Shape = format!("f32[{}]", text.join(",")).parse().unwrap();
        let owners = devices_of_elements(&sizes, &parts, shared as usize, &devices);
        for (index, expected) in &owners {
            let found = sharding.devices_of_element(&shape, index).unwrap().unwrap();
            prop_assert_eq!(&found.collect::<Vec<_>>(), expected);
        }
        let shards: Vec<_> = sharding.shards(&shape).unwrap().collect();
        prop_assert_eq!(shards.iter().map(|shard| shard.device).collect::<Vec<_>>(), devices);
        for shard in &shards {
            let bounds = sharding.shard_bounds(&shape, shard.device).unwrap();
            prop_assert_eq!((&shard.offset, &shard.limit), (&bounds.0, &bounds.1));
            prop_assert_eq!(&shard.tile, &sharding.tile_index(shard.device).unwrap());
            prop_assert_eq!(shard.shape(&shape), sharding.shard_shape_on(&shape, shard.device));
        }
        for (d, cut) in sharding.cuts(&shape).unwrap().into_iter().enumerate() {
            let widths: Vec<i64> = (0..parts[d])
                .map(|part| (0..sizes[d]).filter(|i| i / ((sizes[d] + parts[d] - 1) / parts[d]) == part).count() as i64)
                .collect();
            prop_assert_eq!(cut.width(), widths[0]);
            // Of a dimension of size 0, the whole parts are the empty ones.
            prop_assert_eq!(cut.whole(), widths.iter().filter(|&&width| width == widths[0]).count() as i64);
            prop_assert_eq!(cut.empty(), widths.iter().filter(|&&width| width == 0).count() as i64);
            prop_assert_eq!(cut.is_even(), widths.iter().all(|&width| width == widths[0]));
            let tail = widths.iter().find(|&&width| 0 < width && width < widths[0]);
            prop_assert_eq!(cut.tail(), tail.copied().unwrap_or(0));
        }
        let again: Sharding = sharding.to_string().parse().unwrap();
        prop_assert_eq!(&again, &sharding);
        for device in 0..count {
            let (start, end) = sharding.shard_bounds(&shape, device).unwrap();
            let elements: i64 = start.iter().zip(&end).map(|(start, end)| end - start).product();
            let expected = owners.values().filter(|owners| owners.contains(&device)).count();
            prop_assert_eq!(elements, expected as i64);
            let shard = sharding.shard_shape_on(&shape, device).unwrap();
            prop_assert_eq!(shard.as_array().unwrap().sizes().unwrap().iter().product::<i64>(), elements);
        }
        prop_assert!(sharding.to_named().is_ok_and(|named| named.same_placement(&sharding) == Ok(true)));
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
