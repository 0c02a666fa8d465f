//! The texts of shardings: each form leads back, and what is wrong has its place.

use minormajor_core::sharding::Sharding;

fn sharding(text: &str) -> Sharding {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// XLA: HloShardingTest.ToStringReplicatedTest
/// XLA: HloReplicateShardingWithMetadataTest.ToStringTest
/// XLA: HloShardingTest.ToStringAssignDeviceTest
/// XLA: HloAssignDeviceShardingWithMetadataTest.ToStringTest
/// XLA: HloShardingTest.ToStringTiledTest
/// XLA: HloShardingTest.ToStringIotaTiledTest
/// XLA: HloTiledShardingWithMetadataTest.ToStringTest
/// XLA: HloShardingTest.ToStringTupleTest
/// XLA: HloShardingTest.ToStringTupleWithMetadataTest
/// XLA: HloShardingTest.ToStringWithNamedShardingTest
/// XLA: HloShardingTest.OstreamTest
/// XLA: HloParseShardingWithMetadataTest.ParseHloString
#[test]
fn texts_lead_back() {
    let forms = [
        "{replicated}",
        "{maximal device=7}",
        "{devices=[2,1,2]2,3,5,7}",
        "{devices=[1,1,2,2]0,1,2,3}",
        "{devices=[3,4]<=[2,2,3]T(2,1,0)}",
        "{mesh['a'=2,'b'=4], [{'a'}, {'b'}]}",
    ];
    for form in forms {
        assert_eq!(sharding(form).to_string(), form);
        for metadata in [r#"{op_name="a"}"#, r#"{{op_name="b"}, {op_name="c"}}"#] {
            let (comma, metadata) = match (form.contains("mesh"), metadata.contains("}}")) {
                (true, true) => (",", metadata.to_owned()),
                (true, false) => (",", format!("{{{metadata}}}")),
                _ => ("", metadata.to_owned()),
            };
            let text = format!("{}{comma} metadata={metadata}}}", &form[..form.len() - 1]);
            let with = sharding(&text);
            assert_eq!(with.to_string(), text);
            assert_eq!(with, sharding(form), "metadata has no part in equality");
            assert_eq!(with.without_metadata().to_string(), form);
        }
    }
    let tuple = r#"{{replicated metadata={op_name="d"}}, {devices=[1,2]3,5}, {maximal device=3 metadata={op_name="e"}}}"#;
    assert_eq!(sharding(tuple).to_string(), tuple);
    let long = format!("{{{}}}", ["{manual}"; 11].join(", "));
    assert!(
        sharding(&long)
            .to_string()
            .contains("{manual}, /*index=5*/{manual}, {manual}")
    );
    assert_eq!(sharding(&sharding(&long).to_string()), sharding(&long));
    // XLA prints this name unescaped, and can't read it again.
    let escaped = r"{mesh['a\'b'=2], [{'a\'b'}]}";
    assert_eq!(sharding(escaped).to_string(), escaped);
    let strings = r#"{replicated metadata={op_name="\303\251\n\"" scheduling_name="\""}}"#;
    assert_eq!(sharding(strings).to_string(), strings);
    assert_eq!(sharding(strings).metadata()[0].op_name, "\u{e9}\n\"");
}

#[test]
fn bad_texts_say_where_and_what() {
    for (text, column, part) in [
        ("", 1, "expected `{` before a sharding"),
        ("{replicated", 12, "found the end"),
        ("{replicated manual}", 13, "of two kinds"),
        ("{maximal}", 9, "`device=` behind maximal"),
        ("{devices=[2,2]0,1,2}", 10, "3 devices for 4 tiles"),
        ("{devices=[2,0]0,1}", 13, "dimension 1 is cut into 0 parts"),
        ("{devices=[2,2]<=[2,2]}", 22, "`T(` and a permutation"),
        ("{devices=[2,2]<=[2,2]T(0,0)}", 10, "permutation[1] is 0"),
        (
            "{devices=[2]0,1 last_tile_dims={manual, manual}}",
            2,
            "2 subgroups for a tile assignment of 1",
        ),
        (
            "{devices=[2]0,1 last_tile_dims={unknown}}",
            33,
            "a type of subgroup",
        ),
        (
            "{manual last_tile_dim_replicate}",
            2,
            "subgroups without devices",
        ),
        ("{devices=[1]0}", 10, "a single device"),
        ("{{{replicated}}}", 3, "replicated, manual"),
        ("{{replicated},}", 15, "`{` before an element"),
        ("{replicated} x", 14, "the end of the sharding"),
        (
            "{mesh['a'=2], [{'b'}]}",
            17,
            "axis \"b\" is not in the mesh",
        ),
        (
            "{mesh['a'=0], [{'a'}]}",
            7,
            "dimension 0 is cut into 0 parts",
        ),
        (
            "{mesh['a'=2,'a'=2], [{'a'}]}",
            2,
            "two axes of the mesh are called",
        ),
        (
            "{mesh['a'=4], [{'a':(1)4}]}",
            17,
            "(1)4 is no part of axis 0 of size 4",
        ),
        ("{mesh['a'=4], [{'a':(0)2}]}", 17, "(0)2 is no part"),
        (
            "{mesh['a'=4], [{'a':(1)2, 'a':(2)2}]}",
            2,
            "are one part of an axis",
        ),
        ("{mesh['a'=2], [{'a'}, {'a'}]}", 2, "overlap"),
        (
            "{mesh['a'=2,'b'=2], [{}], manual={'b', 'a'}}",
            2,
            "not in the mesh's order",
        ),
        (
            "{mesh['a'=2,'b'=2], device_ids=(0,1,2,4), [{}]}",
            2,
            "4 is one",
        ),
        ("{mesh[], manual}", 10, "a mesh without axes"),
        ("{replicated metadata={op_name=\"a}}", 31, "a closing quote"),
        (
            "{replicated metadata={foo=1}}",
            23,
            "what XLA's metadata has",
        ),
        ("{devices=[9223372036854775807,2]<=[4]}", 31, "beyond 2^63"),
    ] {
        let error = text.parse::<Sharding>().expect_err(text);
        assert_eq!(error.column(), column, "{text}: {error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
    // No text makes lists much longer than itself.
    let wide = "{devices=[2,500000009]<=[2,500000009]T(1,0) last_tile_dim_replicate}";
    assert!(
        wide.parse::<Sharding>()
            .unwrap_err()
            .to_string()
            .contains("only a list can give")
    );
    let many = format!(
        "{{{}}}",
        vec!["{devices=[2,50001]<=[2,50001]T(1,0) last_tile_dim_replicate}"; 20].join(",")
    );
    assert!(many.parse::<Sharding>().is_err());
}
