//! Random shardings, as texts that know nothing of this project's types.

use proptest::prelude::*;
use proptest::sample::select;

/// Some numbers of parts whose product is small, and the same product in other numbers.
fn factors() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(select(vec![1i64, 2, 2, 2, 3, 4, 5, 6]), 1..5)
        .prop_filter("few devices", |sizes| sizes.iter().product::<i64>() <= 240)
}

/// The prime factors of a product in a random order, in random groups: other sizes of the same
/// product.
fn regrouped(product: i64) -> impl Strategy<Value = Vec<i64>> {
    let mut primes = Vec::new();
    let mut left = product;
    for prime in [2, 3, 5, 7] {
        while left % prime == 0 {
            primes.push(prime);
            left /= prime;
        }
    }
    let count = primes.len();
    (
        Just(primes).prop_shuffle(),
        prop::collection::vec(any::<bool>(), count),
        any::<bool>(),
    )
        .prop_map(|(primes, joined, one)| {
            let mut sizes = Vec::new();
            for (prime, joined) in primes.into_iter().zip(joined) {
                match sizes.last_mut() {
                    Some(last) if joined => *last *= prime,
                    _ => sizes.push(prime),
                }
            }
            if sizes.is_empty() || one {
                sizes.push(1);
            }
            sizes
        })
}

fn list(numbers: &[i64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
    numbers.join(",")
}

/// An iota of so many devices: `[2,3]T(1,0)`.
fn iota(product: i64) -> impl Strategy<Value = String> {
    regrouped(product).prop_flat_map(|sizes| {
        let order: Vec<i64> = (0..sizes.len() as i64).collect();
        Just(order).prop_shuffle().prop_map(move |order| {
            if sizes.len() == 1 {
                format!("[{}]", list(&sizes))
            } else {
                format!("[{}]T({})", list(&sizes), list(&order))
            }
        })
    })
}

/// Devices in some order: a list.
fn devices(product: i64) -> impl Strategy<Value = String> {
    let order: Vec<i64> = (0..product).collect();
    prop_oneof![
        Just(order.clone()).boxed(),
        Just(order).prop_shuffle().boxed()
    ]
    .prop_map(|devices| list(&devices))
}

fn subgroups(rank: usize) -> impl Strategy<Value = String> {
    let subgroup = select(vec![
        "manual",
        "replicated",
        "unreduced",
        "manual",
        "replicated",
        "maximal",
    ]);
    prop_oneof![
        3 => Just(String::new()),
        3 => Just(" last_tile_dim_replicate".to_owned()),
        3 => prop::collection::vec(subgroup, 0..=rank)
            .prop_map(|types| format!(" last_tile_dims={{{}}}", types.join(", "))),
    ]
}

fn tiled() -> impl Strategy<Value = String> {
    factors().prop_flat_map(|sizes| {
        let product = sizes.iter().product();
        let devices = prop_oneof![
            devices(product).boxed(),
            iota(product).prop_map(|iota| format!("<={iota}")).boxed(),
            iota(product).prop_map(|iota| format!("<={iota}")).boxed(),
        ];
        (devices, subgroups(sizes.len()))
            .prop_map(move |(devices, types)| format!("devices=[{}]{devices}{types}", list(&sizes)))
    })
}

fn metadata() -> impl Strategy<Value = String> {
    let text = "[a-z/()\\[\\] .\u{e9}]{1,9}";
    let item = prop_oneof![
        text.prop_map(|t| format!("op_name=\"{t}\"")),
        text.prop_map(|t| format!("op_type=\"{t}\\n\\\"\"")),
        text.prop_map(|t| format!("source_file=\"{t}\" source_line=7")),
        (1..99).prop_map(|n| format!("stack_frame_id={n}")),
        Just("profile_type={1,2}".to_owned()),
        Just("source_column=2 source_end_line=-4".to_owned()),
        Just(String::new()),
    ];
    prop::collection::vec(item, 1..3).prop_map(|items| match &items[..] {
        [one] => format!("metadata={{{one}}}"),
        many => format!("metadata={{{{{}}}}}", many.join("}, {")),
    })
}

fn unnamed() -> impl Strategy<Value = String> {
    let kind = prop_oneof![
        select(vec!["replicated", "manual", "unknown", "unreduced"]).prop_map(str::to_owned),
        (-2i64..9).prop_map(|device| format!("maximal device={device}")),
        tiled(),
        tiled(),
        tiled(),
        tiled(),
    ];
    let group = prop_oneof![
        8 => Just(String::new()),
        1 => (0i64..9).prop_map(|group| format!(" shard_as {group}")),
        1 => (0i64..9).prop_map(|group| format!(" shard_like {group}")),
    ];
    let metadata =
        prop_oneof![4 => Just(String::new()), 1 => metadata().prop_map(|m| format!(" {m}"))];
    (kind, group, metadata)
        .prop_map(|(kind, group, metadata)| format!("{{{kind}{group}{metadata}}}"))
}

/// The axes of a mesh with their parts, in the places where they are used.
fn named() -> impl Strategy<Value = String> {
    let sizes = prop::collection::vec(select(vec![1i64, 2, 3, 4, 6, 8, 12]), 1..4)
        .prop_filter("few devices", |sizes| sizes.iter().product::<i64>() <= 240);
    sizes.prop_flat_map(|sizes| {
        let product: i64 = sizes.iter().product();
        let names = ["a", "b", "model"];
        // Every axis whole, or in two parts where it has two.
        let mut parts = Vec::new();
        for (axis, &size) in sizes.iter().enumerate() {
            let name = names[axis];
            parts.push(match size {
                4 | 6 | 8 => vec![format!("'{name}':(1)2"), format!("'{name}':(2){}", size / 2)],
                12 => vec![format!("'{name}':(1)2"), format!("'{name}':(2)2"), format!("'{name}':(4)3")],
                _ => vec![format!("'{name}'")],
            });
        }
        let whole: Vec<String> = (0..sizes.len()).map(|axis| format!("'{}'", names[axis])).collect();
        let axes: Vec<String> = (0..sizes.len())
            .map(|axis| format!("'{}'={}", names[axis], sizes[axis]))
            .collect();
        let mesh = format!("mesh[{}]", axes.join(","));
        let devices = prop_oneof![
            4 => Just(String::new()).boxed(),
            1 => devices(product).prop_map(|d| format!(", device_ids=({d})")).boxed(),
            1 => iota(product).prop_map(|d| format!(", device_ids=({d})")).boxed(),
        ];
        let used = prop_oneof![Just(whole.clone()), Just(parts.concat())];
        // Where each part is used: dimensions 0 to 2, replicated, unreduced, manual, not at all.
        let places = used.prop_flat_map(|used| {
            let count = used.len();
            (Just(used), prop::collection::vec(0usize..7, count))
        });
        let word = select(vec!["replicated", "manual", "unreduced"]);
        let rest = prop_oneof![
            1 => word.prop_map(str::to_owned).boxed(),
            6 => (places, any::<[bool; 3]>(), any::<[bool; 3]>(), any::<bool>()).prop_map(|((used, places), open, _, reverse)| {
                let mut lists = vec![Vec::new(); 7];
                for (part, place) in used.into_iter().zip(places) {
                    lists[place].push(part);
                }
                for (list, open) in lists.iter_mut().zip(open) {
                    if reverse {
                        list.reverse();
                    }
                    if open {
                        list.push("?".to_owned());
                    }
                }
                let joined: Vec<String> = lists.iter().map(|list| list.join(", ")).collect();
                let mut text = format!("[{{{}}}, {{{}}}, {{{}}}]", joined[0], joined[1], joined[2]);
                for (name, axes) in ["replicated", "unreduced", "manual"].iter().zip(&joined[3..]) {
                    if !axes.is_empty() {
                        text += &format!(", {name}={{{axes}}}");
                    }
                }
                text
            }).boxed(),
        ];
        let metadata = prop_oneof![5 => Just(String::new()), 1 => metadata().prop_map(|m| format!(", {m}"))];
        (devices, rest, metadata).prop_map(move |(devices, rest, metadata)| {
            format!("{{{mesh}{devices}, {rest}{metadata}}}")
        })
    })
}

/// A sharding of any form.
pub fn sharding() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        6 => unnamed(),
        3 => named(),
        1 => (-1i64..9).prop_map(|d| format!("{{maximal_mesh[device_id={d}]}}")),
    ]
    .boxed();
    prop_oneof![
        8 => leaf.clone(),
        1 => prop::collection::vec(leaf, 0..8).prop_map(|elements| format!("{{{}}}", elements.join(", "))),
    ]
}
