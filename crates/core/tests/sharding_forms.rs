//! Shardings by tiles and by axes of a mesh, made from each other.

use minormajor_core::sharding::Sharding;

fn sharding(text: &str) -> Sharding {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// XLA: HloShardingTest.ToNamedShardingTuple
/// XLA: HloShardingTest.ToNamedShardingReplicated
/// XLA: HloShardingTest.ToNamedShardingMaximal
/// XLA: HloShardingTest.ToNamedShardingTiled
/// XLA: HloShardingTest.ToNamedShardingPartialTile
/// XLA: HloShardingTest.ToNamedShardingIotaWithReshape
/// XLA: HloShardingTest.ToNamedShardingIotaWithReshapeTransposeToSingleDim
/// XLA: HloShardingTest.ToNamedShardingIotaWithReshapeAndTranspose
/// XLA: HloShardingTest.ToNamedShardingIotaWithReshapeTransposeToTwoDims
/// XLA: HloShardingTest.ToNamedShardingSubgroups
/// XLA: HloShardingV2ToV3ToV2RoundTripTest.RoundTrip
#[test]
fn tiles_by_axes_and_back() {
    for (tiled, named) in [
        (
            "{devices=[2,3]<=[6]}",
            "{mesh['axis_0'=2,'axis_1'=3], [{'axis_0'}, {'axis_1'}]}",
        ),
        (
            "{devices=[2,3]<=[6] last_tile_dim_replicate}",
            "{mesh['axis_0'=2,'axis_1'=3], [{'axis_0'}], replicated={'axis_1'}}",
        ),
        (
            "{devices=[2,4]<=[8]}",
            "{mesh['axis_0'=2,'axis_1'=4], [{'axis_0'}, {'axis_1'}]}",
        ),
        (
            "{devices=[4]<=[2,2]T(1,0)}",
            "{mesh['axis_0'=2,'axis_1'=2], [{'axis_1', 'axis_0'}]}",
        ),
        (
            "{devices=[2,2]<=[2,2]T(1,0)}",
            "{mesh['axis_0'=2,'axis_1'=2], [{'axis_1'}, {'axis_0'}]}",
        ),
        (
            "{devices=[6,35]<=[7,10,3]T(2,1,0)}",
            "{mesh['axis_0'=7,'axis_1'=2,'axis_2'=5,'axis_3'=3], \
             [{'axis_3', 'axis_1'}, {'axis_2', 'axis_0'}]}",
        ),
        (
            "{devices=[2,2,2]<=[8] last_tile_dims={manual, unreduced, replicated}}",
            "{mesh['axis_0'=2,'axis_1'=2,'axis_2'=2], [], replicated={'axis_2'}, \
             unreduced={'axis_1'}, manual={'axis_0'}}",
        ),
        (
            "{{maximal device=5}, {devices=[2,3]<=[6]}}",
            "{{maximal_mesh[device_id=5]}, \
             {mesh['axis_0'=2,'axis_1'=3], [{'axis_0'}, {'axis_1'}]}}",
        ),
    ] {
        let tiled = sharding(tiled);
        let found = tiled.to_named().unwrap();
        assert_eq!(found.to_string(), named);
        assert_eq!(found.to_tiled().unwrap(), tiled, "{tiled}");
    }
    for text in ["{replicated}", "{maximal device=3}"] {
        let found = sharding(text).to_named().unwrap();
        assert_eq!(found.to_tiled().unwrap().to_string(), text);
    }
}

/// XLA: HloShardingV3ToV2ToV3RoundTripTest.RoundTrip
/// XLA: HloShardingTest.V3ToV2ToV3RoundTripSubAxes
#[test]
fn axes_by_tiles_and_back() {
    for text in [
        "{mesh['axis_0'=2,'axis_1'=3], [{'axis_0'}, {'axis_1'}]}",
        "{mesh['axis_0'=2,'axis_1'=2], [{'axis_0'}, {'axis_1'}]}",
        "{mesh['axis_0'=4], [{'axis_0'}]}",
    ] {
        let tiled = sharding(text).to_tiled().unwrap();
        assert_eq!(tiled.to_named().unwrap().to_string(), text);
    }
    let part = sharding("{mesh['axis_0'=4], [{'axis_0':(1)2}]}")
        .to_tiled()
        .unwrap();
    assert_eq!(part.to_named().unwrap().to_tiled().unwrap(), part);
}
