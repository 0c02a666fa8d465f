//! Text: what is read, how errors point, and input made to hurt.

use std::time::{Duration, Instant};

use minormajor_core::{Layout, ParseOptions, Shape};

/// Reads a text and prints it, or the column and the reason of the error.
fn read(text: &str) -> String {
    match text.parse::<Shape>() {
        Ok(shape) => shape.to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_read() {
    for (text, printed) in [
        ("f32[2,3]", "f32[2,3]{1,0}"),
        ("f32[]", "f32[]"),
        ("f32[]{:S(5)}", "f32[]{:S(5)}"),
        ("f32[2]{0:}", "f32[2]{0}"),
        ("f32[ <= 2, ?]{ 0 , 1 }", "f32[<=2,?]{0,1}"),
        ("/* a */ f32 [2] // end", "f32[2]{0}"),
        ("(f32[1], /*index=1*/ ())", "(f32[1]{0}, ())"),
        ("b(f32[2])", "b(f32[2]{0})"),
        ("f32[2]{0:S(-128)}", "f32[2]{0:S(-128)}"),
        ("f32[2]{0:S(300)}", "f32[2]{0:S(300)}"),
        ("f32[2]{0:L(1)E(0)S(0)M(0)}", "f32[2]{0}"),
        ("f32[2,3]{0,1:PAD(3,5)}", "f32[2,3]{0,1:PAD(3,5)}"),
        ("f32[2,3]{0,1:PAD(3,5;zero)}", "f32[2,3]{0,1:PAD(3,5)}"),
        (
            "f32[2,3]{0,1:T(2)S(1)PAD(3,5;lowest)}",
            "f32[2,3]{0,1:T(2)S(1)PAD(3,5;lowest)}",
        ),
        ("f32[2,3]{1,0:T(8,*)}", "f32[2,3]{1,0:T(8,*)}"),
        (
            "f32[150,200,100]{0,1,2:SC(0:30)(1:40,130)}",
            "f32[150,200,100]{0,1,2:SC(0:30)(1:40,130)}",
        ),
        // Valid whatever the order of the sizes; XLA rejects the second.
        (
            "f32[0,4611686018427387904,9]",
            "f32[0,4611686018427387904,9]{2,1,0}",
        ),
        (
            "f32[4611686018427387904,9,0]",
            "f32[4611686018427387904,9,0]{2,1,0}",
        ),
        ("f32[?,2]{1,0:T(8,128)}", "f32[?,2]{1,0:T(8,128)}"),
    ] {
        assert_eq!(read(text), printed, "{text}");
    }
}

#[test]
fn errors_point_at_the_place() {
    for (text, column, part) in [
        ("f32[2]{0:D(D)T(2)}", 10, "D(..)"),
        ("f32[2]{0:#(u32)}", 10, "#(..)"),
        ("f32[2]{0:T(2)*(u32)}", 14, "*(..)"),
        ("f32[2]{0:P(f32[2])}", 10, "P(..)"),
        ("f32[2]{0:T}", 11, "expected `(`"),
        ("f32[2]{0:T()}", 12, "a tile size"),
        ("f32[2]{0:S}", 11, "expected `(`"),
        ("f32[2]{0:SC(0:)}", 15, "an index"),
        ("f32[2]{0:T(2)T(2)}", 14, "can't follow T"),
        ("f32[2]{0:PAD(2)S(1)}", 16, "can't follow PAD"),
        ("f32[2]{0:PAD(1)}", 14, "less than its size 2"),
        ("f32[2]{0:PAD(2,2)}", 16, "2 padded dimensions"),
        ("f32[2]{0:PAD()}", 14, "a padded width"),
        ("f32[2]{0:PAD(2;big)}", 16, "found `big`"),
        ("f32[?]{0:PAD(2)}", 14, "unbounded"),
        ("c64[2]{0:PAD(2;lowest)}", 16, "c64 has no value lowest"),
        ("f8e8m0fnu[2]{0:PAD(2)}", 1, "no value zero"),
        ("(f32[2], f32[1,1]{0,0})", 21, "stands there already"),
        ("f32[2,3]{1;0}", 11, "found `;`"),
        ("f32[2] /* open", 8, "*/"),
        ("f32[4611686018427387904]{0:T(8)}", 5, "beyond 2^63 - 1"),
        (
            "u8[9000000000000000000]{0:T(4611686018427387904)}",
            4,
            "beyond 2^63 - 1",
        ),
        ("u8[9]{0:L(9223372036854775807)E(128)}", 4, "allocated bits"),
        ("\u{e9}\u{e9}", 1, "found `\u{e9}`"),
        ("f32[2]\u{e9}", 7, "the end of the shape"),
    ] {
        let error = text.parse::<Shape>().unwrap_err();
        assert_eq!(error.column(), column, "{text}: {error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
}

#[test]
fn layouts_alone_and_missing_layouts() {
    let layout: Layout = " {1,0:T(8,128)(2,1)} ".parse().unwrap();
    assert_eq!(layout.to_string(), "{1,0:T(8,128)(2,1)}");
    assert_eq!("{}".parse::<Layout>().unwrap(), Layout::descending(0));
    for (text, column) in [("", 1), ("1,0", 1), ("{1,0", 5), ("{0} x", 5), ("{1,1}", 4)] {
        assert_eq!(
            text.parse::<Layout>().unwrap_err().column(),
            column,
            "{text}"
        );
    }
    let keep = ParseOptions::default().keep_missing_layouts();
    let shape = keep.parse("(f32[2,3], f32[], f32[4]{0})").unwrap();
    assert_eq!(shape.to_string(), "(f32[2,3], f32[], f32[4]{0})");
    assert!(!shape.to_proto_bytes().is_empty());
}

/// Each of these is an error, or a shape, in well under a second and without a deep stack.
#[test]
fn hostile_text_is_quick() {
    let deep = 100_000;
    let tuples = |depth: usize| "(".repeat(depth) + &")".repeat(depth);
    let texts = [
        "(".repeat(deep),
        ")".repeat(deep),
        tuples(deep),
        tuples(8192),
        "b(".repeat(deep),
        format!("f32[{}]", "9".repeat(1 << 20)),
        format!("f32[{}]", "0".repeat(1 << 20)),
        format!("f32[{}1]", "1,".repeat(1 << 19)),
        format!("f32[{}1]{{0}}", "1,".repeat(1 << 19)),
        format!("f32[9]{{0:T{}}}", "(8)".repeat(300_000)),
        format!("f32[9]{{0:T{}}}", "(8,*)".repeat(200_000)),
        format!("f32[9]{{0:T({}2)}}", "2,".repeat(1 << 19)),
        format!(
            "f32[9]{{0:T{}}}",
            (1..150_000)
                .rev()
                .map(|n| format!("({n})"))
                .collect::<String>()
        ),
        format!(
            "f32[0]{{0:T({})}}",
            "9223372036854775807,".repeat(50_000) + "1"
        ),
        format!("f32[9]{{0:SC{}}}", "(0:1)".repeat(200_000)),
        format!("({}f32[1])", "f32[1],".repeat(150_000)),
        "/*".repeat(1 << 19),
        "/**/".repeat(1 << 18),
        " ".repeat(1 << 20),
        "\u{0}".repeat(1 << 20),
    ];
    let run = move || {
        for text in &texts {
            let start = Instant::now();
            if let Ok(shape) = text.parse::<Shape>() {
                let printed = shape.to_string();
                assert_eq!(printed.parse::<Shape>().as_ref(), Ok(&shape));
                assert_eq!(
                    Shape::from_proto_bytes(&shape.to_proto_bytes()).as_ref(),
                    Ok(&shape)
                );
            }
            let took = start.elapsed();
            let head: String = text.chars().take(20).collect();
            assert!(took < Duration::from_secs(5), "{head}: {took:?}");
        }
    };
    std::thread::Builder::new()
        .stack_size(256 << 10)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}
