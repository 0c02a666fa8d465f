//! `sharding`: the shard of every device, for people and as JSON.

mod common;

use common::run;
use serde_json::{Value, json};

fn said(arguments: &[&str]) -> String {
    let mut all = vec!["sharding"];
    all.extend(arguments);
    run(all).assert_done().out.clone()
}

fn objects(arguments: &[&str]) -> Vec<Value> {
    let mut all = vec!["sharding"];
    all.extend(arguments);
    all.push("--json");
    run(all).assert_done().json()
}

#[test]
fn short_and_empty_tails_are_said() {
    let text = said(&["{devices=[6]<=[6]}", "f32[9]"]);
    assert!(
        text.contains("dimension 0  9 in 6 parts: 4 of 2, 1 of 1, 1 empty\n"),
        "{text}"
    );
    assert!(text.contains("     4  [4]   [8]     f32[1]{0}\n"), "{text}");
    assert!(text.contains("     5  [5]   [9]     f32[0]{0}\n"), "{text}");
    let text = said(&["{devices=[2,3]<=[6]}", "f32[4,0]"]);
    assert!(text.contains("dimension 0  4 in 2 parts of 2\n"), "{text}");
    assert!(
        text.contains("dimension 1  0 in 3 parts: 3 empty\n"),
        "{text}"
    );
    assert_eq!(
        said(&["{devices=[6]<=[6]}", "f32[9]", "--device", "5"]),
        "device 5 has nothing: tile [5] is f32[0]{0}\n"
    );
}

#[test]
fn subgroups_and_meshes_say_which_devices_share_a_tile() {
    let text = said(&[
        "{devices=[2,3,2]<=[12] last_tile_dims={manual, replicated}}",
        "f32[4]",
    ]);
    assert!(
        text.contains("tiles        2, each on 6 devices: 3 manual x 2 replicated\n"),
        "{text}"
    );
    let named = "{mesh['x'=2,'y'=3], [{'y'}]}";
    let text = said(&[named, "f32[6]"]);
    assert!(
        text.contains("in tiles     {devices=[3,2]<=[2,3]T(1,0) last_tile_dim_replicate}\n"),
        "{text}"
    );
    assert_eq!(
        said(&[named, "f32[6]", "--index", "3"]),
        "element [3] is on devices 1, 4, at [1] of the shard\n"
    );
}

#[test]
fn long_tables_are_cut() {
    let many = "{devices=[4611686018427387904]<=[4611686018427387904]}";
    let text = said(&[many, "f32[5]"]);
    assert!(
        text.contains("and 4611686018427387864 more devices; --top 0 shows all"),
        "{text}"
    );
    assert_eq!(
        text.lines().filter(|line| line.contains("f32[0]")).count(),
        35
    );
    let text = said(&["{devices=[50]<=[50]}", "f32[50]", "--top", "0"]);
    assert!(text.contains("    49  [49]  [49]    f32[1]{0}\n"), "{text}");
    assert_eq!(
        objects(&[many, "f32[5]", "--top", "3"])[0]["shards"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(
        said(&[many, "f32[5]", "--index", "3"]),
        "element [3] is on device 3, at [0] of the shard\n"
    );
    let wide = "{devices=[1,2,1000000]<=[2000000] last_tile_dim_replicate}";
    assert_eq!(
        said(&[wide, "f32[2,2]", "--index", "0,1", "--top", "2"]),
        "element [0, 1] is on devices 1000000, 1000001 and 999998 more, at [0, 0] of the shard\n"
    );
}

#[test]
fn kinds_without_tiles_are_explained() {
    for (sharding, kind) in [
        (
            "{replicated}",
            "replicated: every device has the whole array",
        ),
        (
            "{maximal device=3}",
            "maximal: device 3 has the whole array",
        ),
        ("{manual}", "manual: the program spreads the array itself"),
        ("{unknown}", "unknown: nothing is said yet"),
        ("{unreduced}", "unreduced: every device has a part of a sum"),
        (
            "{mesh['a'=2], replicated}",
            "named: every device has the whole array",
        ),
    ] {
        let text = said(&[sharding, "f32[2]"]);
        assert!(text.contains(&format!("  kind         {kind}")), "{text}");
    }
    assert_eq!(
        said(&["{replicated}", "f32[2]", "--index", "1"]),
        "element [1] is on every device\n"
    );
    assert_eq!(
        said(&["{replicated}", "f32[2]", "--device", "7"]),
        "device 7 has the whole array, f32[2]{0}\n"
    );
    let text = said(&["{devices=[2]<=[2]}", "f32[?]"]);
    assert!(
        text.contains("no device's shard is known: dimension 0 is unbounded"),
        "{text}"
    );
    assert_eq!(
        said(&["{maximal device=2}", "f32[]", "--index", ""]),
        "the scalar is on device 2\n"
    );
}

#[test]
fn tuples_are_answered_leaf_by_leaf() {
    let (sharding, shape) = (
        "{{devices=[2]<=[2]}, {maximal device=0}}",
        "(f32[3], (s8[4]))",
    );
    let text = said(&[sharding, shape]);
    assert!(
        text.contains("\n{0} {devices=[2]<=[2]} of f32[3]{0}\n"),
        "{text}"
    );
    assert!(
        text.contains("\n{1,0} {maximal device=0} of s8[4]{0}\n"),
        "{text}"
    );
    assert_eq!(
        said(&[sharding, shape, "--device", "1"]),
        "{0} device 1 has tile [1]: f32[1]{0} from [2] to below [3]\n{1,0} device 1 has no part\n"
    );
    let objects = objects(&["{replicated}", shape]);
    assert_eq!(objects.len(), 2);
    assert_eq!(objects[1]["element"], json!([1, 0]));
    let text = said(&["{replicated}", "(f32[3], token[])"]);
    assert!(text.contains("\n{1} {replicated} of token[]\n"), "{text}");
}

#[test]
fn json_fields() {
    assert_eq!(
        objects(&["{devices=[2,1,2]<=[4] last_tile_dim_replicate}", "f32[3,2]"])[0],
        json!({
            "sharding": "{devices=[2,1,2]<=[4] last_tile_dim_replicate}",
            "shape": "f32[3,2]{1,0}",
            "kind": "tiled",
            "devices": 4,
            "tiles": [2, 1],
            "subgroups": [{"type": "replicated", "size": 2}],
            "replicas": 2,
            "shard_shape": "f32[2,2]{1,0}",
            "dimensions": [
                {"size": 3, "parts": 2, "width": 2, "whole": 1, "tail": 1, "empty": 0},
                {"size": 2, "parts": 1, "width": 2, "whole": 1, "tail": 0, "empty": 0},
            ],
            "shards": [
                {"device": 0, "tile": [0, 0], "offset": [0, 0], "limit": [2, 2], "shape": "f32[2,2]{1,0}"},
                {"device": 1, "tile": [0, 0], "offset": [0, 0], "limit": [2, 2], "shape": "f32[2,2]{1,0}"},
                {"device": 2, "tile": [1, 0], "offset": [2, 0], "limit": [3, 2], "shape": "f32[1,2]{1,0}"},
                {"device": 3, "tile": [1, 0], "offset": [2, 0], "limit": [3, 2], "shape": "f32[1,2]{1,0}"},
            ],
        })
    );
    assert_eq!(
        objects(&["{manual}", "f32[3]"])[0],
        json!({"sharding": "{manual}", "shape": "f32[3]{0}", "kind": "manual", "shard_shape": "f32[3]{0}"})
    );
    assert_eq!(
        objects(&["{devices=[2]<=[2]}", "f32[3]", "--index", "2"])[0],
        json!({"index": [2], "devices": [1], "local_index": [0]})
    );
    assert_eq!(
        objects(&["{replicated}", "f32[3]", "--index", "2"])[0],
        json!({"index": [2], "devices": null, "local_index": [2]})
    );
}

#[test]
fn what_does_not_fit_is_an_error_with_its_place() {
    for (arguments, column, cause) in [
        (
            &["{devices=[2]0,1,2}", "f32[2]"][..],
            10,
            "3 devices for 2 tiles",
        ),
        (&["{replicated", "f32[2]"], 12, ""),
        (&["{manual}", "f33[2]"], 1, "expected an element type"),
        (
            &["{devices=[2]<=[2]}", "f32[2,2]"],
            1,
            "the sharding cuts 1 dimensions, the array has 2",
        ),
        (
            &[" {{manual}}", "f32[2]"],
            2,
            "the sharding is that of a tuple",
        ),
        (
            &["{{manual}}", "(f32[2], f32[2])"],
            1,
            "1 shardings for 2 leaves",
        ),
        (
            &["{devices=[2]<=[2]}", "f32[2]", "--device", "2"],
            1,
            "device 2 has no tile",
        ),
        (
            &["{maximal device=-1}", "f32[2]"],
            1,
            "device -1 is negative",
        ),
        (
            &["{maximal device=1}", "f32[2]", "--device", "-1"],
            1,
            "device -1 has no tile",
        ),
        (
            &["{manual}", "f32[2]", "--device", "0"],
            1,
            "a sharding that is manual gives no tiles",
        ),
        (
            &["{manual}", "f32[2]", "--index", "0"],
            1,
            "a sharding that is manual gives no tiles",
        ),
        (
            &["{replicated}", "f32[2,3]", "--index", "1,3"],
            3,
            "the array has no element [1, 3]",
        ),
        (
            &["{replicated}", "f32[2,3]", "--index", "1"],
            2,
            "the array has no element [1]",
        ),
        (
            &["{replicated}", "f32[2,3]", "--index", "1,x"],
            3,
            "expected a number of the index",
        ),
        (
            &["{replicated}", "(f32[2])", "--index", "1"],
            1,
            "expected an array, found tuple",
        ),
        (
            &["{replicated}", "f32[?]", "--index", "1"],
            1,
            "dimension 0 is unbounded",
        ),
    ] {
        let mut all = vec!["sharding"];
        all.extend(arguments);
        let ran = run(&all);
        let said = ran.assert_failed();
        assert!(
            said.contains(&format!(": column {column}: {cause}")),
            "{arguments:?}: {said}"
        );
        assert_eq!(ran.out, "");
        all.push("--json");
        let ran = run(&all);
        ran.assert_failed();
        assert_eq!(ran.json()[0]["column"], column);
    }
}
