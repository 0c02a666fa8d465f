//! Meshes, axes, and shardings by their names.

use minormajor_core::sharding::{Axis, Mesh, Sharding, TileAssignment};

fn sharding(text: &str) -> Sharding {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn part(axis: usize, pre_size: i64, size: i64) -> Axis {
    Axis::part(axis, pre_size, size).unwrap()
}

/// XLA: V3ToV2Sharding.Replicated
/// XLA: V3ToV2Sharding.Maximal
/// XLA: V3ToV2Sharding.SimpleIotaTile
/// XLA: V3ToV2Sharding.MeshWithIotaReshapeTranspose
/// XLA: V3ToV2Sharding.ResultantMeshWithIotaReshapeTranspose
/// XLA: V3ToV2Sharding.MeshWithDeviceList
/// XLA: V3ToV2Sharding.PartialTile
/// XLA: V3ToV2Sharding.TransposedIota1
/// XLA: V3ToV2Sharding.TransposedIota2
/// XLA: V3ToV2Sharding.PartialWithTranspose
/// XLA: V3ToV2Sharding.Unreduced
/// XLA: V3ToV2Sharding.Manual
/// XLA: V3ToV2Sharding.MultipleSubgroups
/// XLA: V3ToV2ShardingSplitAxesTest.SplitAxes1
/// XLA: V3ToV2ShardingSplitAxesTest.SplitAxes2
/// XLA: V3ToV2ShardingSplitAxesTest.SplitAxes3
/// XLA: V3ToV2ShardingSplitAxesTest.AllSubgroupTypesWithSplitAxes
/// XLA: HloShardingTest.DeviceAssignmentTiledSharding
/// XLA: HloShardingTest.DeviceAssignmentNamedSharding
#[test]
fn names_become_tiles() {
    for (named, tiled) in [
        (
            "{mesh['a'=2,'b'=4,'c'=3,'d'=8], replicated}",
            "{replicated}",
        ),
        ("{maximal_mesh[device_id=5]}", "{maximal device=5}"),
        ("{mesh['a'=16], [{'a'}, {}]}", "{devices=[16,1]<=[16]}"),
        (
            "{mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)), [{'b'}, {'a'}]}",
            "{devices=[4,2]<=[8]}",
        ),
        (
            "{mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)), [{'a'}, {'b'}]}",
            "{devices=[2,4]<=[4,2]T(1,0)}",
        ),
        (
            "{mesh['a'=2,'b'=2,'c'=2], device_ids=(0,2,4,6,1,3,5,7), [{'c'}, {'a', 'b'}]}",
            "{devices=[2,4]0,4,1,5,2,6,3,7}",
        ),
        (
            "{mesh['a'=2,'b'=4,'c'=4], [{}, {'a'}], replicated={'c'}}",
            "{devices=[1,2,16]<=[32] last_tile_dim_replicate}",
        ),
        (
            "{mesh['a'=2,'b'=4,'c'=4], [{'c'}, {'a', 'b'}]}",
            "{devices=[4,8]<=[8,4]T(1,0)}",
        ),
        (
            "{mesh['a'=2,'b'=4,'c'=4], [{'b'}, {'a', 'c'}]}",
            "{devices=[4,8]<=[2,4,4]T(1,0,2)}",
        ),
        (
            "{mesh['a'=2,'b'=4,'c'=4], [{}, {'a', 'c'}], replicated={'b'}}",
            "{devices=[1,8,4]<=[2,4,4]T(0,2,1) last_tile_dim_replicate}",
        ),
        (
            "{mesh['a'=2,'b'=2], [{'a'}, {}], unreduced={'b'}}",
            "{devices=[2,1,2]<=[4] last_tile_dims={unreduced}}",
        ),
        (
            "{mesh['a'=2,'b'=2], [{'a'}, {}], manual={'b'}}",
            "{devices=[2,1,2]<=[4] last_tile_dims={manual}}",
        ),
        (
            "{mesh['a'=2,'b'=3,'c'=4,'d'=5], [{'a'}], replicated={'d'}, unreduced={'c'}, manual={'b'}}",
            "{devices=[2,3,4,5]<=[120] last_tile_dims={manual, unreduced, replicated}}",
        ),
        (
            "{mesh['a'=16,'b'=4], [{'b', 'a':(1)2}]}",
            "{devices=[8,8]<=[2,8,4]T(2,0,1) last_tile_dim_replicate}",
        ),
        (
            "{mesh['a'=16,'b'=4], [{'b', 'a':(2)4}]}",
            "{devices=[16,4]<=[2,4,2,4]T(3,1,0,2) last_tile_dim_replicate}",
        ),
        (
            "{mesh['a'=16,'b'=4], [{'a':(1)2, 'a':(8)2}, {'a':(2)4, 'b'}]}",
            "{devices=[4,16]<=[2,4,2,4]T(0,2,1,3)}",
        ),
        (
            "{mesh['a'=16,'b'=4], [{}, {}], replicated={'a':(2)4}, unreduced={'a':(1)2}, manual={'a':(8)2, 'b'}}",
            "{devices=[1,1,8,2,4]<=[2,4,8]T(2,0,1) last_tile_dims={manual, unreduced, replicated}}",
        ),
    ] {
        let one = sharding(named);
        assert_eq!(one.to_tiled().unwrap(), sharding(tiled), "{named}");
        assert_eq!(one.same_placement(&sharding(tiled)), Ok(true));
        // And back, by names of our own.
        let back = sharding(tiled).to_named().unwrap();
        assert_eq!(back.same_placement(&one), Ok(true), "{back}");
    }
}

/// XLA: MeshAndAxisTest.MeshToString
/// XLA: MeshAndAxisTest.EmptyMesh
/// XLA: MeshAndAxisTest.MaximalMesh
/// XLA: MeshAndAxisTest.ValidatesMesh
/// XLA: MeshAndAxisTest.MeshEquality
/// XLA: MeshAndAxisTest.DeviceAssignmentEquality
#[test]
fn meshes_are_arrays_of_devices() {
    assert_eq!(Mesh::empty().to_string(), "mesh[]");
    assert_eq!(Mesh::single(5).to_string(), "maximal_mesh[device_id=5]");
    assert_eq!(Mesh::single(5).single_device(), Some(5));
    assert_ne!(Mesh::empty(), Mesh::single(5));
    let mesh = Mesh::new([("u", 10), ("v", 12), ("w", 15)]).unwrap();
    assert_eq!(mesh.to_string(), "mesh['u'=10,'v'=12,'w'=15]");
    let other = Mesh::new([("a", 10), ("b", 12), ("c", 15)]).unwrap();
    assert!(mesh != other && mesh.same_devices(&other));
    let iota = TileAssignment::iota([2, 4, 4, 2], [1, 4, 1, 16], [2, 3, 0, 1]).unwrap();
    let mesh = Mesh::with_devices(["a", "b", "c", "d"], iota).unwrap();
    assert_eq!(
        mesh.to_string(),
        "mesh['a'=2,'b'=4,'c'=4,'d'=2], device_ids=([4,16]T(1,0))"
    );
    // XLA aborts at a list that is in order; it is the mesh without one.
    let list = TileAssignment::list([2, 2], [0, 1, 2, 3]).unwrap();
    assert_eq!(
        Mesh::with_devices(["a", "b"], list),
        Mesh::new([("a", 2), ("b", 2)])
    );
    let list = TileAssignment::list([2], [10, 11]).unwrap();
    assert!(Mesh::with_devices(["a"], list).is_err());
    assert!(Mesh::new([("a", 2), ("a", 3)]).is_err());
    assert!(Mesh::with_devices(["a"], TileAssignment::new([2, 3]).unwrap()).is_err());
}

/// XLA: MeshAndAxisTest.AxisRefToString
/// XLA: MeshAndAxisTest.AxisRefEquality
/// XLA: MeshAndAxisTest.AxisRefSize
/// XLA: MeshAndAxisTest.AxisRefCanMerge
/// XLA: MeshAndAxisTest.AxisRefMerge
/// XLA: MeshAndAxisTest.ValidatesAxisRef
/// XLA: MeshAndAxisTest.ValidateAxisForMesh
/// XLA: MeshAndAxisTest.AxisRefCanCoexistWithoutOverlap
#[test]
fn axes_have_parts() {
    assert_eq!(
        (Axis::whole(1).to_string(), part(2, 3, 4).to_string()),
        ("1".into(), "2:(3)4".into())
    );
    assert_ne!(Axis::whole(0), part(0, 1, 2));
    assert!(Axis::part(3, 0, 2).is_err() && Axis::part(0, 1, 1).is_err());
    let mesh = Mesh::new([("a", 14), ("b", 33), ("c", 65)]).unwrap();
    assert_eq!(Axis::whole(2).size(&mesh), Ok(65));
    assert_eq!(part(1, 3, 11).size(&mesh), Ok(11));
    for wrong in [
        Axis::whole(3),
        part(0, 5, 19),
        part(0, 2, 5),
        part(1, 1, 33),
    ] {
        assert!(wrong.check(&mesh).is_err(), "{wrong}");
    }
    for (one, two, coexist) in [
        (Axis::whole(0), part(1, 2, 2), true),
        (part(0, 1, 2), part(0, 2, 4), true),
        (part(0, 1, 2), part(0, 6, 2), true),
        (part(0, 1, 4), part(0, 8, 2), true),
        (Axis::whole(0), Axis::whole(0), false),
        (Axis::whole(0), part(0, 2, 4), false),
        (part(0, 1, 4), part(0, 2, 2), false),
        (part(0, 1, 2), part(0, 3, 2), false),
        (part(0, 1, 3), part(0, 2, 3), false),
        (part(0, 2, 8), part(0, 4, 2), false),
    ] {
        assert_eq!(one.can_coexist(two), coexist, "{one} {two}");
        assert_eq!(two.can_coexist(one), coexist, "{two} {one}");
    }
    assert!(part(0, 2, 4).can_merge(part(0, 8, 2)) && !part(0, 8, 2).can_merge(part(0, 2, 4)));
    assert!(!Axis::whole(0).can_merge(part(0, 1, 2)));
    let sixteen = Mesh::new([("a", 16)]).unwrap();
    assert_eq!(
        part(0, 2, 2).merge(part(0, 4, 4), &sixteen),
        Some(part(0, 2, 8))
    );
    assert_eq!(part(0, 2, 4).merge(part(0, 1, 2), &sixteen), None);
}
