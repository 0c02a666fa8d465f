//! Where XLA is known to be wrong, or to ask less of a text than a valid shape must hold.

use serde_json::Value;

use crate::ours::Ours;
use crate::xla::Answer;

/// The fault that explains a difference, if one on the list does.
pub fn of(case: &Value, xla: &Answer, ours: &Ours) -> Option<&'static str> {
    let text = case["text"].as_str().unwrap_or_default();
    match (xla, ours) {
        (Answer::Accepts(_), Err(error)) => LENIENT
            .iter()
            .find(|(_, said)| said.iter().any(|said| error.contains(said)))
            .map(|(fault, _)| *fault),
        (Answer::Rejects(error), Ok(_)) => STRICT
            .iter()
            .find(|(_, has, said)| text.contains(has) && error.contains(said))
            .map(|(fault, ..)| *fault),
        (Answer::Aborts, Ok(_)) => text
            .contains("device_ids=(0")
            .then_some("XLA aborts at a mesh whose devices are listed in order"),
        (Answer::Accepts(values), Ok(_)) if case["kind"] == "sharding" => values["text"]
            .as_str()
            .is_some_and(|text| text.contains("devices=[]"))
            .then_some("XLA leaves tiles without dimensions when all subgroups are of one device"),
        (Answer::Accepts(values), Ok(_)) => (values["equal"] == true
            && both(case).any(|text| text.contains("M(")))
        .then_some("XLA's equality leaves out the metadata prefix, `M`"),
        _ => None,
    }
}

/// The texts of a case.
fn both(case: &Value) -> impl Iterator<Item = &str> {
    ["text", "other"]
        .into_iter()
        .filter_map(|name| case[name].as_str())
}

/// What XLA takes though no valid shape has it, and what our error says of it.
const LENIENT: &[(&str, &[&str])] = &[
    (
        "XLA leaves unbounded dimensions out of sizes",
        &["so the array has no size yet"],
    ),
    (
        "XLA's parser takes orders that are no permutations",
        &["minor_to_major["],
    ),
    (
        "XLA's parser does not validate split configurations",
        &["split index", "split configuration"],
    ),
    (
        "XLA's parser does not ask for the `)` of a property",
        &[
            "expected `)` behind the number",
            "expected `,` or `)` behind a tile size",
        ],
    ),
    (
        "XLA's parser takes layout properties that its validator refuses",
        &[
            "is not supported: no valid shape has it",
            "expected at least one tile",
        ],
    ),
    (
        "XLA's parser takes tiles without sizes and unfinished ones",
        &["expected a tile size or `*`"],
    ),
    (
        "XLA's parser takes a property's name alone",
        &["expected `(` behind the property's name"],
    ),
    ("XLA's parser takes sizes that overflow", &["beyond 2^63"]),
    (
        "XLA's parser of shardings takes several kinds, and keeps one",
        &["of two kinds", "in two shard groups"],
    ),
    (
        "XLA's parser does not compare devices with tiles",
        &[
            "expected one for each",
            "stands in the list already",
            "is negative; expected 0",
        ],
    ),
    (
        "XLA's parser takes subgroups of what has no tiles",
        &["in subgroups without devices"],
    ),
    (
        "XLA's parser takes no comma, or two, behind a mesh",
        &[
            "expected `[` before the dimensions' axes",
            "expected `,` and how the mesh is used",
        ],
    ),
    (
        "XLA's parser takes parts and permutations that are none",
        &["parts; expected 1 or more", "permutation["],
    ),
];

/// What XLA refuses though it is valid: what the text has, and what its error says.
const STRICT: &[(&str, &str, &str)] = &[
    (
        "`*` in a tile does not survive XLA's own proto",
        "*",
        "layout.h:55) dimension >= 0",
    ),
    (
        "XLA compares split indices with the size that stands for an unknown one",
        "SC(",
        "Syntax error",
    ),
    (
        "XLA's parser knows the profile types of its own time only",
        "profile_type",
        "Syntax error",
    ),
];
