//! What named shardings answer, and when two of them are alike.

use minormajor_core::Sharding;
use minormajor_core::sharding::{Axis, DimensionSharding, Mesh, NamedSharding};

fn sharding(text: &str) -> Sharding {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn part(axis: usize, pre_size: i64, size: i64) -> Axis {
    Axis::part(axis, pre_size, size).unwrap()
}

/// XLA: NamedShardingTest.AxisNameCtor
#[test]
fn axes_are_found_by_their_names() {
    let mesh = Mesh::new([("a", 2), ("b", 4), ("c", 3), ("d", 8), ("e", 2)]).unwrap();
    let axis = |name: &str| mesh.axis(name).unwrap();
    let cut = |names: &[&str]| {
        let axes: Vec<Axis> = names.iter().map(|name| axis(name)).collect();
        DimensionSharding::new(axes, true)
    };
    let text = "{mesh['a'=2,'b'=4,'c'=3,'d'=8,'e'=2]";
    let one = NamedSharding::with_axes(
        mesh.clone(),
        [cut(&["c"]), cut(&["b"])],
        [axis("a")],
        [axis("d")],
        [axis("e")],
    );
    assert_eq!(
        sharding(&format!(
            "{text}, [{{'c'}}, {{'b'}}], replicated={{'a'}}, unreduced={{'d'}}, manual={{'e'}}}}"
        )),
        one.unwrap().into()
    );
    let two = NamedSharding::with_axes(
        mesh.clone(),
        [cut(&["c", "a"]), cut(&[]), cut(&["b"])],
        [axis("d")],
        [axis("e")],
        [],
    );
    assert_eq!(
        sharding(&format!(
            "{text}, [{{'c', 'a'}}, {{}}, {{'b'}}], replicated={{'d'}}, unreduced={{'e'}}}}"
        )),
        two.unwrap().into()
    );
}

/// Equal in XLA is of one placement here; names and what is said of replication aside, it is also
/// `==`.
///
/// XLA: NamedShardingEqualityTest.BaseEquality
/// XLA: NamedShardingEqualityTest.EqualEvenWithDifferentMeshAxisNames
/// XLA: NamedShardingEqualityTest.EqualEvenWithDifferentMetadata
/// XLA: NamedShardingEqualityTest.DifferentDimShardings
/// XLA: NamedShardingEqualityTest.IgnoresReplicatedAxes
/// XLA: NamedShardingEqualityTest.IgnoresReplicatedAxesWithImplicitAndExplicitReplication
/// XLA: NamedShardingEqualityTest.DifferentUnreducedAxes
/// XLA: NamedShardingEqualityTest.DifferentManualAxes
/// XLA: NamedShardingEqualityTest.DifferentMeshShape
/// XLA: NamedShardingTest.ReplicatedEquality
#[test]
fn placements_are_compared_without_names() {
    let mesh = "mesh['a'=2,'b'=4,'c'=3,'d'=8,'e'=2]";
    let cut = "[{'a', 'b':(2)2}, {'d':(4)2, 'c'}]";
    let base = sharding(&format!(
        "{{{mesh}, {cut}, replicated={{'e'}}, unreduced={{'b':(1)2}}}}"
    ));
    let same = |other: &str| base.same_placement(&sharding(other)).unwrap();
    assert_eq!(
        base,
        sharding(&format!(
            "{{{mesh}, {cut}, replicated={{'e'}}, unreduced={{'b':(1)2}}, metadata={{{{op_name=\"foo\"}}}}}}"
        ))
    );
    assert!(same(
        "{mesh['c'=2,'a'=4,'d'=3,'b'=8,'e'=2], [{'c', 'a':(2)2}, {'b':(4)2, 'd'}], replicated={'e'}, unreduced={'a':(1)2}}"
    ));
    assert!(same(&format!(
        "{{{mesh}, {cut}, replicated={{'d':(1)4}}, unreduced={{'b':(1)2}}}}"
    )));
    let open = sharding(&format!(
        "{{{mesh}, [{{'a', 'b':(2)2, ?}}, {{'d':(4)2, 'c'}}], replicated={{'e'}}, unreduced={{'b':(1)2}}}}"
    ));
    assert_ne!(base, open);
    for other in [
        format!(
            "{{{mesh}, [{{'d':(4)2, 'c'}}, {{'a', 'b':(2)2}}], replicated={{'e'}}, unreduced={{'b':(1)2}}}}"
        ),
        format!("{{{mesh}, [{{'a', 'b':(2)2}}], replicated={{'e'}}, unreduced={{'b':(1)2}}}}"),
        format!("{{{mesh}, {cut}, replicated={{'e'}}, unreduced={{'d':(1)4}}}}"),
        format!(
            "{{{mesh}, {cut}, replicated={{'e'}}, unreduced={{'b':(1)2}}, manual={{'d':(1)4}}}}"
        ),
        format!(
            "{{mesh['a'=2,'b'=4,'c'=3,'d'=16,'e'=2], {cut}, replicated={{'e'}}, unreduced={{'b':(1)2}}}}"
        ),
    ] {
        assert!(base != sharding(&other) && !same(&other), "{other}");
    }
    let implicit = sharding("{mesh['d'=2,'f'=2,'e'=2,'c'=1], [{'f'}, {}, {}]}");
    let explicit = sharding("{mesh['d'=2,'f'=2,'e'=2,'c'=1], [{'f'}, {}, {}], replicated={'d'}}");
    assert_eq!(implicit.same_placement(&explicit), Ok(true));
    let replicated = [
        "{mesh[], replicated}",
        "{mesh['a'=2,'b'=2], replicated}",
        "{mesh['x'=4,'y'=4], replicated}",
        "{mesh['a'=2,'b'=2], [{}, {}]}",
        "{mesh['x'=4,'y'=4], [{}, {}, {}]}",
    ];
    let cut = sharding("{mesh['a'=2,'b'=2], [{'a'}]}");
    for one in replicated {
        for two in replicated {
            assert_eq!(sharding(one).same_placement(&sharding(two)), Ok(true));
        }
        assert_eq!(sharding(one).same_placement(&cut), Ok(false));
    }
}

/// XLA: NamedShardingTest.ToString
/// XLA: NamedShardingTest.ToStringReplicated
/// XLA: NamedShardingTest.ToStringUnreduced
/// XLA: NamedShardingTest.ToStringManual
#[test]
fn texts_say_all_or_what_is_said() {
    for text in [
        "{mesh['a'=2,'b'=4,'c'=3,'d'=8], [{'c'}, {'a', 'b':(2)2, ?}, {}, {?}]}",
        "{maximal_mesh[device_id=5]}",
        "{mesh['a'=2,'b'=4,'c'=4,'d'=2], device_ids=([4,16]T(1,0)), [{'a'}]}",
        "{mesh['a'=2,'b'=4,'c'=3,'d'=8], [{'a'}], replicated={'c'}, unreduced={'d':(4)2}, manual={'b':(2)2}, metadata={{op_name=\"foo\"}, {op_name=\"bar\"}}}",
        "{mesh[], replicated}",
        "{mesh['a'=2,'b'=8], [{}, {}]}",
        "{mesh['a'=2,'b'=8], replicated}",
        "{mesh['a'=2,'b'=8], [], replicated={'b'}}",
        "{mesh['a'=2,'b'=8], unreduced}",
        "{mesh['a'=2,'b'=8], [{}, {}], unreduced={'a', 'b'}}",
        "{mesh['a'=2,'b'=8], [{}, {}], unreduced={'b':(4)2}}",
        "{mesh['a'=2,'b'=8], manual}",
        "{mesh['a'=2,'b'=8], [{}, {}], manual={'a', 'b'}}",
        "{mesh['a'=2,'b'=8], [{}], manual={'b':(4)2}}",
    ] {
        assert_eq!(sharding(text).to_string(), text);
    }
}

/// XLA: NamedShardingTest.GetShardedSize
/// XLA: NamedShardingTest.Dimension
/// XLA: NamedShardingTest.Dimensions
/// XLA: NamedShardingTest.NumDevices
#[test]
fn dimensions_are_cut_by_the_product_of_their_axes() {
    let cut = sharding(
        "{mesh['a'=2,'b'=4,'c'=3,'d'=8], [{'a', 'b':(2)2}, {'d':(4)2, 'c'}, {'b':(1)2}, {}]}",
    );
    assert_eq!(cut.named().unwrap().sharded_sizes(), [4, 6, 2, 1]);
    assert_eq!(cut.device_count(), Ok(Some(192)));
    let whole = sharding("{mesh['a'=2,'b'=4,'c'=3,'d'=8], replicated}");
    assert!(whole.named().unwrap().sharded_sizes().is_empty());
    for (text, count) in [
        ("{mesh['a'=2,'b'=4,'c'=3,'d'=8], replicated}", 192),
        ("{maximal_mesh[device_id=5]}", 1),
        ("{mesh[], replicated}", 0),
    ] {
        let count_of = |sharding: &Sharding| sharding.named().unwrap().mesh().device_count();
        assert_eq!(count_of(&sharding(text)), count);
    }
}

/// XLA: NamedShardingTest.ValidSharding
/// XLA: NamedShardingTest.ValidShardingWithSubAxes
/// XLA: NamedShardingTest.InvalidAxisIndex
/// XLA: NamedShardingTest.OverlappingAxesSameDimValidation
/// XLA: NamedShardingTest.OverlappingAxesDifferentDimsValidation
/// XLA: NamedShardingTest.OverlappingAxesDimAndReplicatedValidation
/// XLA: NamedShardingTest.OverlappingAxesDimAndUnreducedValidation
/// XLA: NamedShardingTest.OverlappingAxesDimAndManualValidation
/// XLA: NamedShardingTest.OverlappingSubAxesValidation
/// XLA: NamedShardingTest.MergeableAxesValidation
/// XLA: NamedShardingTest.SplitAxesValidation
/// XLA: NamedShardingTest.UnsortedReplicatedAxesValidation
/// XLA: NamedShardingTest.UnsortedUnreducedAxesValidation
/// XLA: NamedShardingTest.InvalidSubAxisDivisibility
#[test]
fn what_does_not_fit_the_mesh_is_an_error() {
    for text in [
        "{mesh['a'=2,'b'=4], [{'a'}], replicated={'b'}}",
        "{mesh['a'=4], [{'a':(1)2}], replicated={'a':(2)2}}",
        "{mesh['a'=4], [{'a':(2)2, 'a':(1)2}]}",
    ] {
        assert_eq!(sharding(text).to_string(), text);
    }
    let mesh = Mesh::new([("a", 2)]).unwrap();
    let error = NamedSharding::new(mesh, [DimensionSharding::new([Axis::whole(1)], true)]);
    assert_eq!(
        error.unwrap_err().to_string(),
        "axis 1 is not in the mesh, which has 1 axes"
    );
    for (text, cause) in [
        ("{mesh['a'=2], [{'a', 'a'}]}", "overlap"),
        ("{mesh['a'=2], [{'a'}, {'a'}]}", "overlap"),
        ("{mesh['a'=2], [{'a'}], replicated={'a'}}", "overlap"),
        ("{mesh['a'=2], [{'a'}], unreduced={'a'}}", "overlap"),
        ("{mesh['a'=2], [{'a'}], manual={'a'}}", "overlap"),
        (
            "{mesh['a'=4], [{'a':(1)4}], replicated={'a':(1)2}}",
            "(1)4 is no part of axis 0 of size 4",
        ),
        (
            "{mesh['a'=4], [{'a':(1)2, 'a':(2)2}]}",
            "'a':(1)2 and 'a':(2)2 are one part",
        ),
        (
            "{mesh['a'=2,'b'=2], [], replicated={'b', 'a'}}",
            "the replicated axes are not in the mesh's order",
        ),
        (
            "{mesh['a'=2,'b'=2], [], unreduced={'b', 'a'}}",
            "the unreduced axes are not in the mesh's order",
        ),
        (
            "{mesh['a'=12], [{'a':(2)4}]}",
            "(2)4 is no part of axis 0 of size 12",
        ),
    ] {
        let error = text.parse::<Sharding>().expect_err(text).to_string();
        assert!(error.contains(cause), "{text}: {error}");
    }
}

/// XLA: NamedShardingPredicatesTest.IsReplicated
/// XLA: NamedShardingPredicatesTest.IsReplicatedWithAxisOfSize1
/// XLA: NamedShardingPredicatesTest.IsSingleDevice
/// XLA: NamedShardingPredicatesTest.IsUnreduced
/// XLA: NamedShardingPredicatesTest.IsUnreducedDoesntContainAllAxes
/// XLA: NamedShardingPredicatesTest.IsUnreducedWithAxisOfSize1
/// XLA: NamedShardingPredicatesTest.IsUnreducedOnSize1Mesh
/// XLA: NamedShardingPredicatesTest.IsManual
/// XLA: NamedShardingPredicatesTest.IsManualDoesntContainAllAxes
/// XLA: NamedShardingPredicatesTest.IsManualWithAxisOfSize1
/// XLA: NamedShardingPredicatesTest.IsManualOnSize1Mesh
#[test]
fn axes_of_size_1_say_nothing() {
    for (text, kind) in [
        ("{mesh['a'=2,'b'=2], replicated}", "replicated"),
        ("{mesh[], replicated}", "replicated"),
        ("{mesh['a'=1,'b'=2], [{'a'}]}", "replicated"),
        ("{maximal_mesh[device_id=1]}", "single"),
        ("{mesh['a'=2,'b'=2], [], unreduced={'a', 'b'}}", "unreduced"),
        ("{mesh['a'=2,'b'=2], [], unreduced={'a'}}", ""),
        (
            "{mesh['a'=2,'b'=1,'c'=2], [], unreduced={'a', 'c'}}",
            "unreduced",
        ),
        (
            "{mesh['a'=2,'b'=1,'c'=2], [], unreduced={'a', 'b', 'c'}}",
            "unreduced",
        ),
        ("{mesh['a'=2,'b'=1,'c'=2], [], unreduced={'a'}}", ""),
        ("{mesh['a'=1], []}", "replicated"),
        ("{mesh['a'=1], [], unreduced={'a'}}", "unreduced"),
        ("{mesh['a'=2,'b'=2], [], manual={'a', 'b'}}", "manual"),
        ("{mesh['a'=2,'b'=2], [], manual={'a'}}", ""),
        ("{mesh['a'=2,'b'=1,'c'=2], [], manual={'a', 'c'}}", "manual"),
        (
            "{mesh['a'=2,'b'=1,'c'=2], [], manual={'a', 'b', 'c'}}",
            "manual",
        ),
        ("{mesh['a'=2,'b'=1,'c'=2], [], manual={'a'}}", ""),
        ("{mesh['a'=1], [], manual={'a'}}", "manual"),
    ] {
        let sharding = sharding(text);
        let named = sharding.named().unwrap();
        assert_eq!(named.is_replicated(), kind == "replicated", "{text}");
        assert_eq!(named.is_unreduced(), kind == "unreduced", "{text}");
        assert_eq!(named.is_manual(), kind == "manual", "{text}");
        assert_eq!(
            named.mesh().single_device().is_some(),
            kind == "single",
            "{text}"
        );
    }
}

/// XLA: NamedShardingPredicatesTest.HasPartialReplication_Maximal
/// XLA: NamedShardingPredicatesTest.HasPartialReplication_FullyReplicated
/// XLA: NamedShardingPredicatesTest.HasPartialReplication_FullyReplicatedWithMesh
/// XLA: NamedShardingPredicatesTest.HasPartialReplication_ShardedOnAllAxes
/// XLA: NamedShardingPredicatesTest.HasPartialReplication_ShardedOnOneImplicitOnOther
/// XLA: NamedShardingPredicatesTest.HasPartialReplication_ExplicitReplicated
/// XLA: NamedShardingPredicatesTest.HasPartialReplication_UnreducedCoveringRemaining
/// XLA: NamedShardingPredicatesTest.HasPartialReplication_ManualCoveringRemaining
/// XLA: NamedShardingPredicatesTest.HasPartialReplication_ImplicitReplicationWithSubAxes
/// XLA: NamedShardingPredicatesTest.HasPartialReplication_ExplicitReplicationWithSubAxes
/// XLA: NamedShardingPredicatesTest.HasPartialReplication_UnreducedWithSubAxes
#[test]
fn axes_that_are_left_replicate() {
    for (text, replicates) in [
        ("{maximal_mesh[device_id=5]}", false),
        ("{mesh[], replicated}", false),
        ("{mesh['a'=2,'b'=2], replicated}", false),
        ("{mesh['a'=2,'b'=2], [{'a'}, {'b'}]}", false),
        ("{mesh['a'=2,'b'=2], [{'a'}]}", true),
        ("{mesh['a'=2,'b'=2], [{'a'}], replicated={'b'}}", true),
        ("{mesh['a'=2,'b'=2], [{'a'}], unreduced={'b'}}", false),
        ("{mesh['a'=2,'b'=2], [{'a'}], manual={'b'}}", false),
        ("{mesh['a'=4], [{'a':(2)2}]}", true),
        ("{mesh['a'=4], [{'a':(2)2}], replicated={'a':(1)2}}", true),
        ("{mesh['a'=4], [{'a':(2)2}], unreduced={'a':(1)2}}", false),
    ] {
        let sharding = sharding(text);
        assert_eq!(sharding.has_partial_replication(), replicates, "{text}");
    }
}

/// XLA: NamedShardingTest.GetImplicitlyReplicatedAxes_FullyExplicitlySharded
/// XLA: NamedShardingTest.GetImplicitlyReplicatedAxes_PartiallySharded
/// XLA: NamedShardingTest.GetImplicitlyReplicatedAxes_MixedWithOtherAxes
/// XLA: NamedShardingTest.GetImplicitlyReplicatedAxes_PartialShardingWithReplicated
/// XLA: NamedShardingTest.GetImplicitlyReplicatedAxes_WithSubAxes_MissingMiddleSubAxis
/// XLA: NamedShardingTest.GetImplicitlyReplicatedAxes_WithSubAxes_MissingOuterSubAxes
#[test]
fn implicit_replication_is_what_nothing_is_said_of() {
    let whole = Axis::whole;
    for (text, implicit) in [
        (
            "{mesh['a'=2,'b'=4,'c'=3,'d'=5], [{'a', 'b'}, {'c'}, {'d'}]}",
            &[][..],
        ),
        (
            "{mesh['a'=2,'b'=4,'c'=3,'d'=5], [{'a'}]}",
            &[whole(1), whole(2), whole(3)],
        ),
        (
            "{mesh['a'=2,'b'=4,'c'=3,'d'=5], [{'a'}], replicated={'b'}, unreduced={'c'}, manual={'d'}}",
            &[],
        ),
        (
            "{mesh['a'=2,'b'=4,'c'=3,'d'=5], [{'a'}], replicated={'d'}}",
            &[whole(1), whole(2)],
        ),
        (
            "{mesh['a'=8,'b'=9], [{'a':(1)2}], replicated={'a':(4)2}}",
            &[part(0, 2, 2), whole(1)],
        ),
        (
            "{mesh['a'=8,'b'=9], [{'a':(2)2}], unreduced={'b':(3)3}}",
            &[part(0, 1, 2), part(0, 4, 2), part(1, 1, 3)],
        ),
    ] {
        let sharding = sharding(text);
        let found = sharding.named().unwrap().implicitly_replicated_axes();
        assert_eq!(found, implicit, "{text}");
    }
}
