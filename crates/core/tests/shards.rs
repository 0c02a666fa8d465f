//! Which device has which part of an array.

use minormajor_core::Shape;
use minormajor_core::sharding::Sharding;

fn sharding(text: &str) -> Sharding {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn shape(text: &str) -> Shape {
    text.parse().unwrap()
}

/// XLA: TileTest.PassesValidationAndMatchesTileInfo
#[test]
fn every_device_has_its_tile() {
    let array = shape("u32[4,5]");
    for text in [
        "{devices=[2,2]0,3,2,1}",
        "{mesh['x'=2,'y'=2], device_ids=(0,3,2,1), [{'x'}, {'y'}]}",
    ] {
        let tiles = sharding(text);
        assert_eq!(tiles.validate(&shape("f32[3,5]"), Some(4)), Ok(()));
        for (device, start, end) in [
            (0, [0, 0], [2, 3]),
            (3, [0, 3], [2, 5]),
            (2, [2, 0], [4, 3]),
            (1, [2, 3], [4, 5]),
        ] {
            assert_eq!(tiles.shard_offset(&array, device), Ok(start.to_vec()));
            assert_eq!(tiles.shard_limit(&array, device), Ok(end.to_vec()));
        }
        assert_eq!(tiles.unique_device(), None);
        let order = tiles.shards(&array).unwrap().map(|shard| shard.device);
        assert_eq!(order.collect::<Vec<_>>(), [0, 3, 2, 1]);
    }
}

/// XLA: HloShardingComparisonTest.TileEquivalence
/// XLA: HloShardingTest.EachTile
#[test]
fn forms_of_one_placement_agree_on_every_shard() {
    for (one, two, array, equal) in [
        (
            "{devices=[2,2]<=[4]}",
            "{mesh['a'=2,'b'=2], [{'a'}, {'b'}]}",
            "u32[2,3]",
            true,
        ),
        (
            "{devices=[2,2]<=[4]}",
            "{mesh['a'=2,'b'=2], [{'b'}, {'a'}]}",
            "u32[2,3]",
            false,
        ),
        (
            "{devices=[2,2]<=[2,2]T(1,0)}",
            "{mesh['a'=2,'b'=2], [{'b'}, {'a'}]}",
            "u32[2,3]",
            true,
        ),
        (
            "{devices=[6]<=[6]}",
            "{mesh['a'=2,'b'=3], [{'a', 'b'}]}",
            "u32[13]",
            true,
        ),
        (
            "{devices=[6]<=[6]}",
            "{mesh['a'=2,'b'=3], [{'b', 'a'}]}",
            "u32[13]",
            false,
        ),
        (
            "{devices=[6]<=[2,3]T(1,0)}",
            "{mesh['a'=2,'b'=3], [{'b', 'a'}]}",
            "u32[13]",
            true,
        ),
        (
            "{devices=[6,1]<=[6]}",
            "{mesh['x'=6], [{'x'}, {}]}",
            "u32[11,20]",
            true,
        ),
        (
            "{devices=[2,1,3]<=[6] last_tile_dim_replicate}",
            "{mesh['x'=2,'y'=3], [{'x'}, {}], replicated={'y'}}",
            "u32[10,20]",
            true,
        ),
    ] {
        let (one, two, array) = (sharding(one), sharding(two), shape(array));
        let count = one.device_count().unwrap().unwrap();
        assert_eq!(one.validate(&array, Some(count)), Ok(()));
        assert_eq!(two.validate(&array, Some(count)), Ok(()));
        let shard = |sharding: &Sharding, device| {
            (
                sharding.tile_index(device).unwrap(),
                sharding.shard_bounds(&array, device).unwrap(),
                sharding.shard_shape_on(&array, device).unwrap(),
            )
        };
        let same = (0..count).all(|device| shard(&one, device) == shard(&two, device));
        assert_eq!(same, equal, "{one} {two}");
        assert_eq!(one.same_placement(&two), Ok(equal));
        for sharding in [one, two] {
            let shards: Vec<_> = sharding.shards(&array).unwrap().collect();
            assert_eq!(shards.len() as i64, count);
            for shard in shards {
                assert_eq!(sharding.tile_index(shard.device).unwrap(), shard.tile);
                assert_eq!(
                    sharding.shard_shape_on(&array, shard.device),
                    shard.shape(&array)
                );
                let bounds = sharding.shard_bounds(&array, shard.device);
                assert_eq!(bounds, Ok((shard.offset, shard.limit)));
            }
        }
    }
}

#[test]
fn tails_are_short_or_empty() {
    let tiles = sharding("{devices=[4,2]<=[8]}");
    let array = shape("f32[9,<=3]{0,1:T(8,128)}");
    assert_eq!(
        tiles.shard_shape(&array).unwrap().to_string(),
        "f32[3,<=2]{0,1:T(8,128)}"
    );
    assert_eq!(
        tiles.shard_shape_on(&array, 7).unwrap().to_string(),
        "f32[0,<=1]{0,1:T(8,128)}"
    );
    assert_eq!(tiles.shard_bounds(&array, 7), Ok((vec![9, 2], vec![9, 3])));
    assert_eq!(
        tiles.shard_shape(&shape("f32[9,?]")).unwrap().to_string(),
        "f32[3,?]{1,0}"
    );
    assert!(tiles.shard_offset(&shape("f32[9,?]"), 0).is_err());
    assert!(tiles.shard_offset(&array, 8).is_err());
    assert!(tiles.devices_of_element(&array, &[9, 0]).is_err());
    assert!(sharding("{manual}").shard_offset(&array, 0).is_err());
    assert!(sharding("{{manual}}").shard_shape(&array).is_err());
    // As many parts as 63 bits count.
    let many = sharding("{devices=[4611686018427387904]<=[4611686018427387904]}");
    let last = 4611686018427387903;
    assert_eq!(
        many.shard_bounds(&shape("f32[5]"), last),
        Ok((vec![5], vec![5]))
    );
    assert_eq!(many.device_of_tile(&[last]), Ok(last));
}
