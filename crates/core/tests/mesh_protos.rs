//! The protos of meshes, axes and named shardings, byte by byte.

use minormajor_core::Sharding;
use minormajor_core::sharding::{Axis, Mesh, NamedSharding, TileAssignment};

/// A field that is a message, a string or packed numbers, of fewer than 128 bytes.
fn inside(number: u8, bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
}

/// A field that is a number below 128.
fn number(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

fn axis_of_mesh(name: &str, size: u8) -> Vec<u8> {
    inside(1, [inside(1, name), number(2, size)].concat())
}

/// An `OpSharding` with these fields of its named sharding behind the mesh.
fn named(mesh: &[Vec<u8>], rest: &[Vec<u8>]) -> Vec<u8> {
    inside(14, [inside(2, mesh.concat()), rest.concat()].concat())
}

fn leads_back(sharding: &Sharding, bytes: &[u8]) {
    assert_eq!(sharding.to_proto_bytes(), bytes, "{sharding}");
    assert_eq!(Sharding::from_proto_bytes(bytes).as_ref(), Ok(sharding));
}

/// XLA: MeshAndAxisTest.MeshToAndFromProtoIotaTiling
/// XLA: MeshAndAxisTest.MeshToProtoIotaTilingWithReshapeDims
/// XLA: MeshAndAxisTest.MeshToProtoNonIotaTiling
/// XLA: MeshAndAxisTest.MeshFromProtoNonIotaTiling
/// XLA: MeshAndAxisTest.MeshRoundtripProto
#[test]
fn meshes_lead_back() {
    let replicated = |mesh: Mesh| Sharding::from(NamedSharding::new(mesh, []).unwrap());
    let abc = Mesh::new([("a", 2), ("b", 3), ("c", 6)]).unwrap();
    let axes = [("a", 2), ("b", 3), ("c", 6)].map(|(name, size)| axis_of_mesh(name, size));
    leads_back(&replicated(abc), &named(&axes, &[]));

    let iota = TileAssignment::iota([4, 4, 1], [4, 2, 2], [1, 0, 2]).unwrap();
    let listed = [0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15];
    assert!(iota.devices().eq(listed));
    let mesh = Mesh::with_devices(["x", "y", "z"], iota).unwrap();
    let axes = [("x", 4), ("y", 4), ("z", 1)].map(|(name, size)| axis_of_mesh(name, size));
    let transform = inside(3, [inside(1, [4, 2, 2]), inside(2, [1, 0, 2])].concat());
    leads_back(
        &replicated(mesh),
        &named(&[&axes[..], &[transform]].concat(), &[]),
    );

    for devices in [[6, 3, 0, 1, 5, 2, 7, 4], [0, 1, 6, 3, 7, 4, 5, 2]] {
        let list = TileAssignment::list([4, 2], devices.map(i64::from)).unwrap();
        let mesh = Mesh::with_devices(["x", "y"], list).unwrap();
        let fields = [
            axis_of_mesh("x", 4),
            axis_of_mesh("y", 2),
            inside(2, devices),
        ];
        leads_back(&replicated(mesh), &named(&fields, &[]));
    }
    for text in [
        "{mesh['data'=5,'model'=3], replicated}",
        "{mesh['data'=5,'model'=3], device_ids=(14,7,6,12,0,8,11,10,5,1,9,3,2,13,4), replicated}",
    ] {
        let sharding: Sharding = text.parse().unwrap();
        let bytes = sharding.to_proto_bytes();
        assert_eq!(Sharding::from_proto_bytes(&bytes), Ok(sharding));
    }
    leads_back(&replicated(Mesh::empty()), &named(&[], &[]));
    leads_back(&replicated(Mesh::single(5)), &named(&[inside(2, [5])], &[]));
}

/// XLA: MeshAndAxisTest.FromProtoValidation
#[test]
fn meshes_that_are_none_are_errors() {
    for (mesh, cause) in [
        (
            &[axis_of_mesh("x", 1), inside(2, [0, 1])][..],
            "2 devices for 1 tiles",
        ),
        (
            &[axis_of_mesh("x", 0), inside(2, [0])],
            "dimension 0 is cut into 0 parts",
        ),
        (&[inside(2, [0, 1])], "2 devices for 1 tiles"),
    ] {
        let error = Sharding::from_proto_bytes(&named(mesh, &[])).unwrap_err();
        assert!(error.to_string().contains(cause), "{error}");
    }
}

/// XLA: MeshAndAxisTest.AxesToProto
/// XLA: MeshAndAxisTest.AxesToProtoWithSubAxis
/// XLA: MeshAndAxisTest.AxesFromProto
/// XLA: MeshAndAxisTest.AxesFromProtoWithSubAxis
/// XLA: NamedShardingTest.NamedShardingProtoConversion
#[test]
fn axes_lead_back() {
    let sharding: Sharding = "{mesh['a'=4,'b'=4,'c'=3,'d'=5], [{'a':(1)2}, {?}], \
        replicated={'b'}, unreduced={'d'}, manual={'a':(2)2, 'c'}}"
        .parse()
        .unwrap();
    assert_eq!(
        sharding.named().unwrap().manual_axes(),
        [Axis::part(0, 2, 2).unwrap(), Axis::whole(2)]
    );
    let mesh =
        [("a", 4), ("b", 4), ("c", 3), ("d", 5)].map(|(name, size)| axis_of_mesh(name, size));
    let sub_axis = |pre_size, size| inside(2, [number(1, pre_size), number(2, size)].concat());
    let rest = [
        inside(3, [inside(1, sub_axis(1, 2)), number(2, 1)].concat()),
        inside(3, []),
        inside(4, number(1, 1)),
        inside(5, number(1, 3)),
        inside(7, sub_axis(2, 2)),
        inside(7, number(1, 2)),
    ];
    leads_back(&sharding, &named(&mesh, &rest));
}
