//! Random cases, as texts that know nothing of this project's types.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::shardings::sharding;

const TYPES: [&str; 36] = [
    "pred",
    "s1",
    "s2",
    "s4",
    "s8",
    "s16",
    "s32",
    "s64",
    "u1",
    "u2",
    "u4",
    "u8",
    "u16",
    "u32",
    "u64",
    "f16",
    "bf16",
    "f32",
    "f64",
    "c64",
    "c128",
    "f8e5m2",
    "f8e4m3",
    "f8e4m3fn",
    "f8e4m3b11fnuz",
    "f8e5m2fnuz",
    "f8e4m3fnuz",
    "f8e3m4",
    "f8e8m0fnu",
    "f4e2m1fn",
    "f6e3m2fn",
    "f6e2m3fn",
    "f32",
    "bf16",
    "s32",
    "u8",
];

/// An array's parts, so that two texts can differ in one of them.
#[derive(Clone, Debug)]
struct Array {
    element_type: &'static str,
    sizes: Vec<String>,
    order: Option<Vec<usize>>,
    properties: Vec<String>,
}

impl Array {
    fn text(&self) -> String {
        let sizes = self.sizes.join(",");
        let Array {
            element_type,
            order,
            properties,
            ..
        } = self;
        let Some(order) = order else {
            return format!("{element_type}[{sizes}]");
        };
        let order: Vec<String> = order.iter().map(usize::to_string).collect();
        let order = order.join(",");
        match properties.concat() {
            none if none.is_empty() && order.is_empty() => format!("{element_type}[{sizes}]"),
            none if none.is_empty() => format!("{element_type}[{sizes}]{{{order}}}"),
            some => format!("{element_type}[{sizes}]{{{order}:{some}}}"),
        }
    }
}

fn size() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (1i64..20).prop_map(|n| n.to_string()),
        3 => (1i64..5000).prop_map(|n| n.to_string()),
        1 => Just("0".to_owned()),
        2 => (1i64..64).prop_map(|n| format!("<={n}")),
        1 => Just("?".to_owned()),
    ]
}

fn tile() -> impl Strategy<Value = String> {
    let dimension = prop_oneof![
        9 => select(vec![1i64, 2, 4, 8, 16, 128, 3, 5]).prop_map(|n| n.to_string()),
        1 => Just("*".to_owned()),
    ];
    prop::collection::vec(dimension, 1..4).prop_map(|tile| format!("({})", tile.join(",")))
}

/// Properties in XLA's order, each of which may be missing.
fn properties(rank: usize) -> impl Strategy<Value = Vec<String>> {
    let some = |weight: f64, strategy: BoxedStrategy<String>| {
        prop::option::weighted(weight, strategy).prop_map(Option::unwrap_or_default)
    };
    let tiles =
        prop::collection::vec(tile(), 1..4).prop_map(|tiles| format!("T{}", tiles.concat()));
    let splits = (0..rank.max(1), 1i64..5, 1i64..9)
        .prop_map(|(d, first, more)| format!("SC({d}:{first},{})", first + more));
    (
        some(0.5, tiles.boxed()),
        some(0.15, (2i64..300).prop_map(|n| format!("L({n})")).boxed()),
        some(
            0.25,
            select(vec![1, 2, 4, 8, 16, 32, 64])
                .prop_map(|n: i64| format!("E({n})"))
                .boxed(),
        ),
        some(0.25, (1i64..10).prop_map(|n| format!("S({n})")).boxed()),
        some(if rank > 0 { 0.1 } else { 1e-9 }, splits.boxed()),
        some(0.1, (1i64..99).prop_map(|n| format!("M({n})")).boxed()),
    )
        .prop_map(|(t, l, e, s, sc, m)| vec![t, l, e, s, sc, m])
}

fn array() -> impl Strategy<Value = Array> {
    (select(TYPES.to_vec()), prop::collection::vec(size(), 0..6)).prop_flat_map(
        |(element_type, sizes)| {
            let order: Vec<usize> = (0..sizes.len()).collect();
            (
                prop::option::weighted(0.85, Just(order).prop_shuffle()),
                prop_oneof![2 => Just(Vec::new()), 3 => properties(sizes.len())],
            )
                .prop_map(move |(order, properties)| Array {
                    element_type,
                    sizes: sizes.clone(),
                    order,
                    properties,
                })
        },
    )
}

fn shape() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        8 => array().prop_map(|array| array.text()),
        1 => Just("token[]".to_owned()),
        1 => Just("opaque[]".to_owned()),
        1 => array().prop_map(|array| format!("b({})", array.text())),
    ];
    leaf.prop_recursive(3, 16, 7, |inner| {
        prop::collection::vec(inner, 0..7).prop_map(|elements| {
            let mut text = String::from("(");
            for (i, element) in elements.iter().enumerate() {
                if i > 0 {
                    text.push_str(", ");
                }
                // The parser skips comments, and the printer writes these.
                if i > 0 && i % 5 == 0 {
                    text.push_str(&format!("/*index={i}*/"));
                }
                text.push_str(element);
            }
            text + ")"
        })
    })
}

/// A text with some characters lost, doubled or replaced by some of these.
fn damaged(
    text: impl Strategy<Value = String>,
    characters: &[u8],
) -> impl Strategy<Value = String> {
    let damage = (
        any::<prop::sample::Index>(),
        0..4,
        select(characters.to_vec()),
    );
    (text, prop::collection::vec(damage, 1..3)).prop_map(|(text, damages)| {
        let mut bytes = text.into_bytes();
        for (place, what, byte) in damages {
            if bytes.is_empty() {
                break;
            }
            let at = place.index(bytes.len());
            match what {
                0 => drop(bytes.remove(at)),
                1 => bytes.insert(at, bytes[at]),
                2 => bytes.insert(at, byte),
                _ => bytes[at] = byte,
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Two arrays that are alike, or differ in one part.
fn pair() -> impl Strategy<Value = (String, String)> {
    (array(), array(), 0..6usize).prop_map(|(one, another, part)| {
        let mut two = one.clone();
        match part {
            0 => two.element_type = another.element_type,
            1 => {
                two.order = one
                    .order
                    .as_ref()
                    .map(|order| order.iter().rev().copied().collect())
            }
            2 if one.sizes.len() == another.sizes.len() => two.sizes = another.sizes,
            3 => {
                for (i, property) in another.properties.iter().enumerate() {
                    if let Some(own) = two.properties.get_mut(i)
                        && !own.starts_with("SC")
                        && !property.starts_with("SC")
                    {
                        own.clone_from(property);
                    }
                }
            }
            4 => two.order = None,
            _ => {}
        }
        (one.text(), two.text())
    })
}

/// A module whose entry takes and gives arrays of any layout.
fn module() -> impl Strategy<Value = String> {
    let known = array().prop_filter("no unbounded sizes", |a| !a.sizes.contains(&"?".to_owned()));
    prop::collection::vec(known, 1..5).prop_map(|arrays| {
        let mut text = String::from("HloModule random\n\nENTRY entry {\n");
        for (i, array) in arrays.iter().enumerate() {
            text += &format!("  p{i} = {} parameter({i})\n", array.text());
        }
        for (i, array) in arrays.iter().enumerate() {
            text += &format!("  c{i} = {} copy(p{i})\n", array.text());
        }
        let shapes: Vec<String> = arrays.iter().map(Array::text).collect();
        let names: Vec<String> = (0..arrays.len()).map(|i| format!("c{i}")).collect();
        text + &format!(
            "  ROOT t = ({}) tuple({})\n}}\n",
            shapes.join(", "),
            names.join(", ")
        )
    })
}

/// One case of any kind, as the process with XLA reads it.
pub fn case() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => shape().prop_map(|text| json!({"kind": "shape", "text": text})),
        4 => damaged(shape(), b"0159,:{}()[]TLESCMP*<=? f")
            .prop_map(|text| json!({"kind": "shape", "text": text})),
        2 => pair().prop_map(|(text, other)| json!({"kind": "equal", "text": text, "other": other})),
        2 => array().prop_map(|array| json!({"kind": "size", "text": array.text()})),
        2 => module().prop_map(|text| json!({"kind": "module", "text": text})),
        3 => sharding().prop_map(|text| json!({"kind": "sharding", "text": text})),
        1 => damaged(sharding(), b"0124,:{}()[]T'<=? ab")
            .prop_map(|text| json!({"kind": "sharding", "text": text})),
    ]
}
