//! Shardings of arrays and tuples: XLA's cases, and what each form says.

use std::collections::HashSet;

use minormajor_core::sharding::{
    OpMetadata, ShardGroup, Sharding, ShardingError, SubgroupType, TileAssignment,
};
use minormajor_core::{Shape, ShapeTree};

fn sharding(text: &str) -> Sharding {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn shape(text: &str) -> Shape {
    text.parse().unwrap()
}

/// XLA: HloShardingRepresentationTest.Replicate
#[test]
fn replicated_is_everywhere() {
    for text in [
        "{replicated}",
        "{mesh[], replicated}",
        "{mesh['a'=2], [{}]}",
    ] {
        let replicated = sharding(text);
        assert!(replicated.is_replicated() && replicated.is_maximal() && !replicated.is_tiled());
        assert!(replicated.uses_device(0) && replicated.uses_device(65535));
        assert_eq!(replicated.validate(&shape("u32[4]"), Some(2)), Ok(()));
        assert_eq!(replicated.unique_device(), None);
        assert_eq!(
            replicated.shard_shape(&shape("u32[4]")),
            Ok(shape("u32[4]"))
        );
        assert_eq!(
            replicated.shard_bounds(&shape("u32[4]"), 7),
            Ok((vec![0], vec![4]))
        );
        assert!(
            replicated
                .devices_of_element(&shape("u32[4]"), &[3])
                .unwrap()
                .is_none()
        );
    }
    assert_ne!(Sharding::replicated(), sharding("{mesh[], replicated}"));
    assert_eq!(
        Sharding::replicated().same_placement(&sharding("{mesh[], replicated}")),
        Ok(true)
    );
}

/// XLA: HloShardingRepresentationTest.DevicePlacement
#[test]
fn one_device_has_everything() {
    for text in ["{maximal device=5}", "{maximal_mesh[device_id=5]}"] {
        let one = sharding(text);
        assert!(!one.is_replicated() && one.is_maximal());
        assert!(!one.uses_device(0) && one.uses_device(5));
        assert_eq!(one.unique_device(), Some(5));
        assert_ne!(one, Sharding::replicated());
        assert_eq!(one.validate(&shape("u32[4]"), Some(6)), Ok(()));
        let error = one.validate(&shape("u32[4]"), Some(5)).unwrap_err();
        assert_eq!(
            error,
            ShardingError::DeviceRange {
                device: 5,
                devices: 5
            }
        );
        let tree = one.shape_tree(&shape("u32[4]")).unwrap();
        assert_eq!(tree.element(&[]), Ok(&one));
        assert!(tree.is_leaf(&[]));
    }
    assert!(
        sharding("{maximal device=-1}")
            .validate(&shape("f32[]"), None)
            .is_err()
    );
}

/// XLA: HloShardingTest.ProtoRoundTrip
/// XLA: HloShardingTest.IotaProtoRoundTrip
/// XLA: HloShardingTest.NamedShardingTupleProtoRoundTrip
#[test]
fn protos_lead_back() {
    for text in [
        r#"{{devices=[1,2]0,1 metadata={{op_name="a"}, {op_name="b"}}}, {replicated metadata={op_name="c"}}, {manual}}"#,
        r#"{{devices=[6,1]<=[3,2]T(1,0) metadata={{op_name="a"}, {op_name="b"}}}, {replicated metadata={op_name="c"}}, {manual}}"#,
        "{{mesh['a'=4,'b'=4], [{'a':(1)2}, {'b', ?}]}, {mesh['a'=4,'b'=4], [{'a':(2)2}, {'b', ?}]}}",
        "{mesh['a'=2,'b'=2], device_ids=([2,2]T(1,0)), [{'a'}, {'b'}]}",
        "{mesh['a'=2,'b'=2], device_ids=(0,3,1,2), [{'a'}], unreduced={'b'}}",
        "{maximal_mesh[device_id=-3]}",
        "{unreduced shard_like 4}",
        "{}",
    ] {
        let one = sharding(text);
        let again = Sharding::from_proto_bytes(&one.to_proto_bytes()).unwrap();
        assert_eq!(again, one);
        assert_eq!(again.to_string(), text);
    }
    for (bytes, part) in [
        (&[0x08, 9][..], "9 is no kind of sharding"),
        (&[0x08, 1], "0 devices for 1 tiles"),
        (&[0x08, 3], "no dimensions"),
        (
            &[0x08, 3, 0x1a, 2, 2, 2, 0x22, 3, 0, 1, 2],
            "3 devices for 4 tiles",
        ),
        (
            &[0x08, 2, 0x2a, 4, 0x08, 2, 0x2a, 0],
            "a tuple's sharding inside",
        ),
        (&[0x08, 2, 0x3a, 0], "a tuple's sharding has metadata"),
        (
            &[0x08, 3, 0x42, 1, 5, 0x1a, 1, 2, 0x22, 2, 0, 1],
            "5 is no type of a subgroup",
        ),
        (&[0x72, 4, 0x12, 2, 0x10], "byte"),
        (&[0x72, 6, 0x12, 4, 0x12, 2, 0, 1], "2 devices for 1 tiles"),
    ] {
        let error = Sharding::from_proto_bytes(bytes).unwrap_err().to_string();
        assert!(error.contains(part), "{bytes:x?}: {error}");
    }
}

/// XLA: TileTest.FailsWithDuplicateDeviceInTileAssignment
/// XLA: TileTest.FailsWhenDeviceUsedGreaterThanNumDevices
/// XLA: TileTest.FailsWhenNotAllDevicesArePresentInTileAssignment
#[test]
fn devices_must_be_those_of_the_machine() {
    // XLA builds this one, and only its validation finds the fault.
    let repeated = "{devices=[2,2]0,0,2,3}".parse::<Sharding>().unwrap_err();
    assert_eq!(
        repeated.to_string(),
        "column 17: device 0 stands in the list already; expected each once"
    );
    let array = shape("f32[4,6]");
    for text in [
        "{devices=[2,2]0,1,2,3}",
        "{devices=[2,2]<=[4]}",
        "{mesh['x'=2,'y'=2], [{'x'}, {'y'}]}",
    ] {
        let tiles = sharding(text);
        assert_eq!(tiles.validate(&array, Some(4)), Ok(()));
        assert_eq!(tiles.validate(&array, None), Ok(()));
        assert!(tiles.validate(&array, Some(2)).is_err());
        assert!(tiles.validate(&array, Some(5)).is_err());
        let error = tiles.validate(&shape("f32[4]"), Some(4)).unwrap_err();
        assert_eq!(error, ShardingError::Rank { tiled: 2, rank: 1 });
        assert!(tiles.validate(&shape("(f32[4,6])"), Some(4)).is_err());
        assert_eq!(tiles.validate(&shape("token[]"), Some(4)), Ok(()));
    }
    assert_eq!(
        sharding("{devices=[1,1]<=[1]}").validate(&array, None),
        Err(ShardingError::SingleDevice)
    );
}

/// XLA: HloShardingTest.V1V2TileEquivalence
/// XLA: HloShardingTest.V1V2PartialTileEquivalence
/// XLA: HloShardingTest.V1V2SubgroupEquivalence
/// XLA: HloShardingTest.Hash
#[test]
fn lists_and_iotas_are_equal_and_hash_alike() {
    for types in [
        "",
        " last_tile_dim_replicate",
        " last_tile_dims={manual, replicated}",
    ] {
        for (list, iota) in [
            ("[2,2]0,1,2,3", "[2,2]<=[4]"),
            ("[2,2]0,2,1,3", "[2,2]<=[2,2]T(1,0)"),
            ("[2,2,2]0,2,4,6,1,3,5,7", "[2,2,2]<=[2,2,2]T(2,0,1)"),
            ("[3,4]0,1,2,3,4,5,6,7,8,9,10,11", "[3,4]<=[12]"),
        ] {
            let one = sharding(&format!("{{devices={list}{types}}}"));
            let two = sharding(&format!("{{devices={iota}{types}}}"));
            assert_eq!(one, two);
            assert_eq!(HashSet::from([one, two]).len(), 1);
        }
    }
    let different = [
        "{replicated}",
        "{}",
        "{{replicated}}",
        "{{maximal device=0}}",
        "{maximal device=1}",
        "{maximal device=2}",
        "{devices=[2,2]0,3,2,1}",
        "{manual}",
        "{replicated shard_as 1}",
    ];
    assert_eq!(
        different.map(sharding).iter().collect::<HashSet<_>>().len(),
        different.len()
    );
    let tiling = sharding("{devices=[2,2]0,2,1,3}")
        .tiling()
        .unwrap()
        .unwrap()
        .into_owned();
    assert_eq!(
        tiling.to_iota().unwrap().to_string(),
        "devices=[2,2]<=[2,2]T(1,0)"
    );
    assert_eq!(tiling.to_iota().unwrap().to_list(), Ok(tiling));
}

/// XLA: HloShardingRepresentationTest.EmptySingleTuple
/// XLA: HloShardingRepresentationTest.EmptySingleTupleIsNotShardGroup
#[test]
fn empty_tuples_have_one_sharding() {
    for text in ["{maximal device=0}", "{maximal_mesh[device_id=0]}"] {
        let tuple = Sharding::single_tuple(&shape("()"), &sharding(text)).unwrap();
        assert_eq!(tuple.common(), Some(sharding(text)));
        assert!(!tuple.is_shard_group());
    }
    assert!(!sharding("{}").is_shard_group());
    let group = Sharding::replicated()
        .with_shard_group(Some(ShardGroup::As(1)))
        .unwrap();
    assert!(
        Sharding::single_tuple(&shape("(f32[], f32[])"), &group)
            .unwrap()
            .is_shard_group()
    );
}

/// XLA: HloShardingTest.NestedTuple
#[test]
fn nested_tuples_have_flat_shardings() {
    let nested = shape("(f32[], (f32[3]), f32[4,6])");
    let tuple = sharding("{{replicated}, {maximal device=0}, {devices=[1,2]0,1}}");
    let tree = tuple.shape_tree(&nested).unwrap();
    assert_eq!(tree.element(&[0]), Ok(&sharding("{replicated}")));
    assert_eq!(tree.element(&[1, 0]), Ok(&sharding("{maximal device=0}")));
    assert_eq!(tree.element(&[2]), Ok(&sharding("{devices=[1,2]0,1}")));
    assert_eq!(Sharding::of_tree(&tree), Ok(tuple.clone()));
    assert_eq!(tuple.validate(&nested, Some(2)), Ok(()));
    assert!(tuple.validate(&shape("()"), Some(5)).is_err());
    assert!(tuple.validate(&shape("f32[]"), Some(5)).is_err());
    let error = tuple
        .validate(&shape("(f32[], (f32[3]), f32[4])"), None)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "element {2}: the sharding cuts 2 dimensions, the array has 1"
    );
    assert_eq!(
        tuple.sub_sharding(&nested, &[1]).unwrap().to_string(),
        "{{maximal device=0}}"
    );
    assert_eq!(tuple.sub_sharding(&nested, &[]), Ok(tuple.clone()));
    assert!(tuple.sub_sharding(&nested, &[3]).is_err());
    assert_eq!(tuple.common(), None);
    assert_eq!(tuple.tuple_sharding(&nested), Ok(tuple.clone()));
    let one = Sharding::manual();
    assert_eq!(
        one.normalized_for(&nested).to_string(),
        "{{manual}, {manual}, {manual}}"
    );
    assert_eq!(one.normalized_for(&shape("f32[]")), one);
    assert!(Sharding::of_tuple(&nested, [one.clone(), one.clone()]).is_err());
    assert!(Sharding::tuple([tuple]).is_err());
    let empty = ShapeTree::new(&shape("()"), one);
    assert_eq!(Sharding::of_tree(&empty).unwrap().to_string(), "{{manual}}");
}

/// XLA: HloShardingTest.NormalizeTrivialSubgroupToManual
#[test]
fn subgroups_have_one_form() {
    let manual = Sharding::subgroups(
        TileAssignment::list([1, 2, 1], [0, 1]).unwrap(),
        &[SubgroupType::Manual, SubgroupType::Replicated],
    );
    assert_eq!(manual, Ok(Sharding::manual()));
    for (text, form) in [
        (
            "{devices=[2,2]1,0,3,2 last_tile_dim_replicate}",
            "{devices=[2,2]0,1,2,3 last_tile_dim_replicate}",
        ),
        (
            "{devices=[2,1]0,1 last_tile_dim_replicate}",
            "{devices=[2]0,1}",
        ),
        ("{devices=[1,2]0,1 last_tile_dim_replicate}", "{replicated}"),
        (
            "{devices=[2,6]<=[2,2,3]T(1,2,0) last_tile_dim_replicate}",
            "{devices=[2,6]<=[2,2,3]T(1,0,2) last_tile_dim_replicate}",
        ),
        (
            "{devices=[2,3]<=[2,3]T(1,0) last_tile_dim_replicate}",
            "{devices=[2,3]0,1,3,2,4,5 last_tile_dim_replicate}",
        ),
        (
            "{devices=[2,2,3]<=[12] last_tile_dims={replicated, manual}}",
            "{devices=[2,3,2]<=[2,2,3]T(0,2,1) last_tile_dims={manual, replicated}}",
        ),
        (
            "{devices=[2,2,3]<=[12] last_tile_dims={manual, manual}}",
            "{devices=[2,6]<=[12] last_tile_dims={manual}}",
        ),
        (
            "{devices=[2,3,2]<=[2,6]T(1,0) last_tile_dims={replicated, manual}}",
            "{devices=[2,2,3]<=[2,2,3]T(1,0,2) last_tile_dims={manual, replicated}}",
        ),
        (
            "{devices=[6]<=[6] last_tile_dims={unreduced}}",
            "{unreduced}",
        ),
    ] {
        assert_eq!(sharding(text).to_string(), form);
    }
    let tiles = sharding("{devices=[2,3,2]<=[12] last_tile_dims={manual, replicated}}");
    assert!(tiles.has_subgroup(SubgroupType::Manual) && tiles.has_partial_replication());
    let tiling = tiles.tiling().unwrap().unwrap();
    assert_eq!(
        (tiling.data_rank(), tiling.tile_count(), tiling.replicas()),
        (1, 2, 2)
    );
    assert_eq!(tiling.subgroup_dimension(SubgroupType::Replicated), Some(2));
    assert_eq!(tiling.subgroup_dimension(SubgroupType::Unreduced), None);
    assert_eq!(tiles.device_of_tile(&[1]), Ok(6));
    assert_eq!(tiles.device_of_tile(&[1, 2, 1]), Ok(11));
    assert!(tiles.device_of_tile(&[1, 2]).is_err() && tiles.device_of_tile(&[2]).is_err());
}

/// XLA: HloShardingTest.WithMetadataNoOverwrite
/// XLA: HloShardingTest.WithMetadataOverwrite
/// XLA: HloShardingTest.WithoutMetadata
#[test]
fn metadata_is_set_in_the_leaves() {
    let (one, two) = (
        [OpMetadata::named("a")],
        [OpMetadata::named("b"), OpMetadata::named("c")],
    );
    let placed = Sharding::maximal(7).with_metadata(&one, false);
    assert_eq!(placed.metadata(), one);
    assert_eq!(placed.clone().with_metadata(&two, false).metadata(), one);
    assert_eq!(placed.clone().with_metadata(&two, true).metadata(), two);
    let tuple = Sharding::tuple([placed, Sharding::replicated()]).unwrap();
    let lengths = |sharding: &Sharding| -> Vec<usize> {
        let elements = sharding.tuple_elements().unwrap();
        elements
            .iter()
            .map(|element| element.metadata().len())
            .collect()
    };
    assert_eq!(lengths(&tuple.clone().with_metadata(&two, false)), [1, 2]);
    assert_eq!(lengths(&tuple.clone().with_metadata(&two, true)), [2, 2]);
    assert_eq!(lengths(&tuple.without_metadata()), [0, 0]);
}
