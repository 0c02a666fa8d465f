//! `draw`: the seeds' pictures, elision, colour, SVG.

mod common;

use std::time::{Duration, Instant};

use common::{command, finish, run};

fn draw(shape: &str) -> String {
    run(["draw", shape, "--width", "80"])
        .assert_done()
        .out
        .clone()
}

/// The text as written here: margins of the source are taken away.
fn text(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_seeds_rows() {
    assert_eq!(
        draw("f32[2,3]{1,0}"),
        text(&[
            "f32[2,3]{1,0}",
            "dim 0 is major, 6 elements, 24 bytes",
            "",
            "  the array, y down, x across    positions in memory, y down, x across",
            "     0 1 2                          0 1 2",
            "  0  a b c                       0  0 1 2",
            "  1  d e f                       1  3 4 5",
            "",
            "  memory (brackets run along x)",
            "  a b c d e f",
            "  └───┘ └───┘",
            "  0     3",
        ])
    );
}

#[test]
fn the_seeds_columns() {
    assert_eq!(
        draw("f32[2,3]{0,1}"),
        text(&[
            "f32[2,3]{0,1}",
            "dim 0 is minor, 6 elements, 24 bytes",
            "",
            "  the array, y down, x across    positions in memory, y down, x across",
            "     0 1 2                          0 1 2",
            "  0  a b c                       0  0 2 4",
            "  1  d e f                       1  1 3 5",
            "",
            "  memory (brackets run along y)",
            "  a d b e c f",
            "  └─┘ └─┘ └─┘",
            "  0   2   4",
        ])
    );
}

#[test]
fn the_seeds_padded_columns() {
    assert_eq!(
        draw("f32[2,3]{0,1:PAD(3,5)}"),
        text(&[
            "f32[2,3]{0,1:PAD(3,5)}",
            "dim 0 is minor, padded to [3, 5] with zero, 6 elements in 15 positions, 60 bytes",
            "",
            "  the array, y down, x across    positions in memory, y down, x across",
            "     0 1 2 3 4                      0 1 2 3 4",
            "  0  a b c 0 0                   0  0 3 6 · ·",
            "  1  d e f 0 0                   1  1 4 7 · ·",
            "  2  0 0 0 0 0                   2  · · · · ·",
            "",
            "  memory (brackets run along y; 0 is padding)",
            "  a d 0 b e 0 c f 0 0 0 0 0 0 0",
            "  └───┘ └───┘ └───┘ └───┘ └───┘",
            "  0     3     6     9     12",
        ])
    );
}

#[test]
fn tiles_are_seen_in_the_array_and_in_memory() {
    assert_eq!(
        draw("f32[3,5]{1,0:T(2,2)}"),
        text(&[
            "f32[3,5]{1,0:T(2,2)}",
            "dim 0 is major, tiles (2,2), 15 elements in 24 positions, 96 bytes",
            "",
            "  the array, y down, x across    positions in memory, y down, x across",
            "     0 1   2 3   4 5                 0  1    2  3    4  5",
            "  0  a b │ c d │ e ·             0   0  1 │  4  5 │  8  ·",
            "  1  f g │ h i │ j ·             1   2  3 │  6  7 │ 10  ·",
            "     ────┼─────┼────                ──────┼───────┼──────",
            "  2  k l │ m n │ o ·             2  12 13 │ 16 17 │ 20  ·",
            "  3  · · │ · · │ · ·             3   ·  · │  ·  · │  ·  ·",
            "",
            "  memory (brackets are tiles; · is padding)",
            "  a b f g c d h i e · j · k l · · m n · · o · · ·",
            "  └─────┘ └─────┘ └─────┘ └─────┘ └─────┘ └─────┘",
            "  0       4       8       12      16      20",
        ])
    );
}

#[test]
fn slices_have_headings() {
    let drawn = draw("f32[2,2,3]{0,2,1}");
    for line in [
        "  [0, :, :]                      [0, :, :]",
        "  1  j k l                       1   7  9 11",
    ] {
        assert!(drawn.lines().any(|found| found == line), "{drawn}");
    }
    assert!(drawn.contains("  a g b h c i d j e k f l\n"), "{drawn}");
}

#[test]
fn letters_far_apart_are_all_shown() {
    let drawn = draw("f32[3,5]{1,0:T(8,128)}");
    assert!(
        drawn.contains("  a b c d e · … f g h i j · … k l m n o · … ·\n"),
        "{drawn}"
    );
    assert!(
        drawn.contains("  0             128           256           1023\n"),
        "{drawn}"
    );
}

#[test]
fn scalars_and_arrays_of_nothing() {
    assert!(draw("f32[]").contains("  memory\n  a\n  0\n"));
    assert!(draw("f32[0,3]").contains("no elements"));
    let padded = draw("f32[0,3]{1,0:PAD(2,3)}");
    assert!(
        padded.contains("  · · · · · ·\n") || padded.contains("\u{b7}"),
        "{padded}"
    );
}

#[test]
fn any_array_is_drawn_at_once_and_within_the_width() {
    let rank_ten = format!("f32[{}]", ["3"; 10].join(","));
    let rank_thousand = format!("f32[{}]", vec!["1"; 1000].join(","));
    for shape in [
        "f32[1000000,1000000]",
        "f32[1000000,1000000]{0,1:T(8,128)(2,1)}",
        "u8[1152921504606846975]",
        "u8[9223372036854775807,0,9223372036854775807,0,7]",
        "u8[1,1]{1,0:T(1,1152921504606846975)}",
        "u8[2,3]{1,0:L(576460752303423488)}",
        "u8[2,3]{1,0:PAD(1037000499,1037000499)}",
        "f32[3,5,7]{0,2,1:T(*,4)(2,*)}",
        "u1[100,100]{1,0:T(8,16)E(1)}",
        &rank_ten,
        &rank_thousand,
    ] {
        for width in ["1", "20", "80", "300"] {
            let started = Instant::now();
            let drawn = run(["draw", shape, "--width", width])
                .assert_done()
                .out
                .clone();
            assert!(started.elapsed() < Duration::from_secs(10), "{shape}");
            assert!(drawn.lines().count() < 120, "{shape} {width}\n{drawn}");
            let picture = drawn.lines().skip(3);
            let widest = picture.map(|line| line.chars().count()).max().unwrap();
            if width == "80" && !shape.contains("[1,1,1") && !shape.contains("PAD") {
                assert!(widest <= 80, "{shape}: {widest}\n{drawn}");
            }
            assert!(drawn.lines().all(|line| line.trim_end() == line), "{drawn}");
        }
    }
}

#[test]
fn colour_is_for_terminals_and_on_demand() {
    let shape = "f32[2,3]{0,1:PAD(3,5)}";
    let plain = draw(shape);
    assert!(!plain.contains('\u{1b}'));
    let coloured = run(["draw", shape, "--width", "80", "--color", "always"]).out;
    assert!(coloured.contains("\u{1b}[36ma\u{1b}[0m"), "{coloured:?}");
    let mut stripped = String::new();
    for (place, part) in coloured.split('\u{1b}').enumerate() {
        stripped += if place == 0 {
            part
        } else {
            part.split_once('m').unwrap().1
        };
    }
    assert_eq!(stripped, plain);
    let asked = finish(
        command()
            .env("NO_COLOR", "1")
            .args(["draw", shape, "--color", "always"]),
        b"",
    );
    assert!(asked.out.contains('\u{1b}'));
}

/// On a pseudo-terminal, where there is `script`.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_has_colour_unless_no_color_says_otherwise() {
    let on_terminal = |no_color: &str| {
        let line = format!("{} draw 'f32[2,3]'", env!("CARGO_BIN_EXE_minormajor"));
        let output = std::process::Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .env("NO_COLOR", no_color)
            .env("TERM", "xterm")
            .stdin(std::process::Stdio::null())
            .output();
        output
            .ok()
            .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let Some(coloured) = on_terminal("") else {
        return;
    };
    assert!(coloured.contains("\u{1b}[36ma"), "{coloured:?}");
    assert!(!on_terminal("1").unwrap().contains("\u{1b}[36m"));
}

#[test]
fn the_width_comes_from_the_environment_without_a_terminal() {
    let shape = "f32[1000,1000]";
    let narrow = finish(command().env("COLUMNS", "40").args(["draw", shape]), b"").out;
    let wide = run(["draw", shape]).out;
    let widest = |text: &str| {
        text.lines()
            .skip(3)
            .map(|line| line.chars().count())
            .max()
            .unwrap()
    };
    assert!(
        widest(&narrow) <= 40 && (60..=80).contains(&widest(&wide)),
        "{narrow}{wide}"
    );
}

#[test]
fn svg_is_written_whole_and_well_formed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seed.svg");
    for shape in [
        "f32[2,3]{0,1:PAD(3,5)}",
        "f32[<=1000,1000,3]{1,0,2:T(8,128)}",
        "f32[]",
        "f32[0]",
    ] {
        let ran = run([
            "draw".as_ref(),
            shape.as_ref(),
            "-o".as_ref(),
            path.as_os_str(),
        ]);
        assert_eq!(ran.assert_done().out, "");
        let svg = std::fs::read_to_string(&path).unwrap();
        assert!(
            svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 "),
            "{svg}"
        );
        assert!(svg.ends_with("</svg>\n"));
        let escaped = shape.replace('<', "&lt;");
        assert!(svg.contains(&format!("<title>{escaped}")), "{svg}");
        assert_well_formed(&svg);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    for bad in [
        folder.path().to_path_buf(),
        folder.path().join("no/such/x.svg"),
    ] {
        run([
            "draw".as_ref(),
            "f32[2]".as_ref(),
            "-o".as_ref(),
            bad.as_os_str(),
        ])
        .assert_failed();
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_svg_of_the_seed_shows_letters_in_memory_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seed.svg");
    run([
        "draw".as_ref(),
        "f32[2,3]{0,1:PAD(3,5)}".as_ref(),
        "-o".as_ref(),
        path.as_os_str(),
    ])
    .assert_done();
    let svg = std::fs::read_to_string(&path).unwrap();
    let letters: String = svg
        .lines()
        .filter(|line| line.starts_with("<text class=\"big"))
        .map(|line| line.split(['<', '>']).nth(2).unwrap())
        .collect();
    assert_eq!(letters, "abc00def0000000ad0be0cf0000000");
}

/// Every element that opens closes, in order.
fn assert_well_formed(svg: &str) {
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("every tag ends");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap());
        }
    }
    assert!(open.is_empty());
}

#[test]
fn what_can_t_be_drawn_is_an_error() {
    for (shape, cause) in [
        ("(f32[2])", "column 1: expected an array, found tuple"),
        ("f32[?]", "column 5: dimension 0 is unbounded"),
        ("f32[2", "column 6: expected"),
    ] {
        let ran = run(["draw", shape]);
        assert!(ran.assert_failed().contains(cause), "{}", ran.err);
    }
}
