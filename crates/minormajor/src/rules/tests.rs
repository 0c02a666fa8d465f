use super::*;

fn shape(text: &str) -> ArrayShape {
    let shape: minormajor_core::Shape = text.parse().unwrap();
    shape.as_array().unwrap().clone()
}

fn rule(text: &str) -> Rule {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What a pattern means, said slowly.
fn matches_naively(pattern: &[char], name: &[char]) -> bool {
    match pattern {
        [] => name.is_empty(),
        ['*', rest @ ..] => (0..=name.len()).any(|at| matches_naively(rest, &name[at..])),
        ['?', rest @ ..] => !name.is_empty() && matches_naively(rest, &name[1..]),
        [first, rest @ ..] => name.first() == Some(first) && matches_naively(rest, &name[1..]),
    }
}

/// All texts of these characters up to a length.
fn texts(characters: &[char], length: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..length {
        last = last
            .iter()
            .flat_map(|text| characters.iter().map(move |c| format!("{text}{c}")))
            .collect();
        all.extend(last.iter().cloned());
    }
    all
}

#[test]
fn patterns_match_as_they_should() {
    let names = texts(&['a', '\u{e4}'], 5);
    for text in texts(&['a', '\u{e4}', '*', '?'], 5) {
        let pattern = Pattern::new(&text).unwrap();
        let characters: Vec<char> = text.chars().collect();
        for name in &names {
            let expected = matches_naively(&characters, &name.chars().collect::<Vec<_>>());
            assert_eq!(pattern.matches(name), expected, "{text} of {name}");
        }
    }
    for (text, name, expected) in [
        ("model.layers.*.weight", "model.layers.11.mlp.weight", true),
        (
            "model.layers.*.weight",
            "model.layers.11.mlp.weight_scale",
            false,
        ),
        ("a\\*", "a*", true),
        ("a\\*", "ab", false),
        ("\\\\", "\\", true),
        ("[x]{y}", "[x]{y}", true),
    ] {
        assert_eq!(
            Pattern::new(text).unwrap().matches(name),
            expected,
            "{text} of {name}"
        );
    }
    assert_eq!(Pattern::new("a\\"), None);
    // Not exponential.
    let text = "a*".repeat(200) + "b";
    assert!(!Pattern::new(&text).unwrap().matches(&"a".repeat(2000)));
}

#[test]
fn rules_say_where_arrays_go() {
    for (text, name, source, expected_source, expected) in [
        (
            "*: {0,1}",
            "w",
            "f32[3,5]{1,0}",
            "f32[3,5]{1,0}",
            "f32[3,5]{0,1}",
        ),
        (
            "*: OI -> IO",
            "w",
            "f32[3,5]{1,0}",
            "f32[5,3]{0,1}",
            "f32[5,3]{1,0}",
        ),
        (
            "*: OI -> IO",
            "w",
            "f32[3,5]{0,1}",
            "f32[5,3]{1,0}",
            "f32[5,3]{0,1}",
        ),
        (
            "*: OI->IO {0,1}",
            "w",
            "f32[3,5]{1,0}",
            "f32[5,3]{0,1}",
            "f32[5,3]{0,1}",
        ),
        (
            " conv*:0 : OIHW -> HWIO ",
            "conv/kernel:0",
            "bf16[2,3,5,7]{3,2,1,0}",
            "bf16[5,7,3,2]{1,0,2,3}",
            "bf16[5,7,3,2]{3,2,1,0}",
        ),
        (
            "x: batch seq head -> head batch seq",
            "x",
            "u8[2,3,5]{2,1,0}",
            "u8[5,2,3]{0,2,1}",
            "u8[5,2,3]{2,1,0}",
        ),
        (
            "a{b}: {1,0:T(8,128)(2,1)}",
            "a{b}",
            "bf16[16,256]{1,0}",
            "bf16[16,256]{1,0}",
            "bf16[16,256]{1,0:T(8,128)(2,1)}",
        ),
        ("*: {}", "w", "f32[]", "f32[]", "f32[]"),
    ] {
        let target = Rules::new([rule(text)])
            .apply(name, &shape(source))
            .unwrap();
        let found = (target.source.to_string(), target.shape.to_string());
        assert_eq!(
            found,
            (expected_source.to_owned(), expected.to_owned()),
            "{text}"
        );
        assert_eq!(target.rule, Some(0));
    }
}

#[test]
fn the_first_rule_that_fits_counts_and_others_are_left_alone() {
    let rules = Rules::new([
        rule("*.norm.weight: {0}"),
        rule("a.*: {0,1}"),
        rule("*: OI -> IO"),
    ]);
    let number = |name: &str, text: &str| rules.apply(name, &shape(text)).unwrap().rule;
    assert_eq!(number("a.norm.weight", "f32[3]{0}"), Some(0));
    // The first rule's pattern fits, but it speaks of vectors.
    assert_eq!(number("a.norm.weight", "f32[3,5]{1,0}"), Some(1));
    assert_eq!(number("b.norm.weight", "f32[3,5]{1,0}"), Some(2));
    let kept = rules.apply("b.bias", &shape("f32[3,5,7]{0,2,1}")).unwrap();
    assert_eq!(kept.rule, None);
    assert_eq!(kept.source, kept.shape);
    assert_eq!(kept.shape.to_string(), "f32[3,5,7]{0,2,1}");
}

#[test]
fn a_layout_that_an_array_can_t_have_is_an_error_that_names_both() {
    let rules = Rules::new([rule("w*: {1,0:PAD(2,8)}")]);
    let text = rules
        .apply("w1", &shape("f32[3,5]{1,0}"))
        .unwrap_err()
        .to_string();
    for part in [
        "'w*: {1,0:PAD(2,8)}' fits \"w1\"",
        "f32[3,5]{1,0}",
        "dimension 0",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn errors_say_the_column() {
    for (text, column, part) in [
        ("", 1, "a colon"),
        ("*.weight", 9, "a colon"),
        ("*.weight {0,1}", 10, "a colon"),
        (": {0,1}", 1, "a pattern"),
        ("  : {0,1}", 3, "a pattern"),
        ("a\\: {0}", 3, "behind the backslash"),
        ("a:", 3, "a layout such as {0,1}"),
        ("a:  OI", 5, "a layout such as {0,1}"),
        ("\u{e4}: {0,x}", 7, "expected"),
        ("a: {0,0}", 7, "each dimension once"),
        ("a: OI -> ", 9, "found nothing"),
        ("a: -> OI", 3, "found nothing"),
        ("a: OI -> I-", 11, "letters, digits and _, found -"),
        ("a: OO -> OO", 5, "found O again"),
        ("a: OI -> IX", 11, "a dimension of the left side, found X"),
        ("a: OI -> IOI", 12, "once, found I again"),
        ("a: OI -> I", 11, "expected O too"),
        ("a: in out -> out in in", 21, "found in again"),
        (
            "a: OI -> IO {0}",
            13,
            "a layout of 2 dimensions, found one of 1",
        ),
    ] {
        let error = text.parse::<Rule>().unwrap_err();
        assert_eq!(error.column(), column, "{text}: {error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
}

#[test]
fn files_of_rules_say_the_line() {
    let rules = Rules::from_toml("# ours\nrules = ['a: {0}', \"b: OI -> IO\"]\n").unwrap();
    let texts: Vec<_> = rules.rules().iter().map(Rule::to_string).collect();
    assert_eq!(texts, ["a: {0}", "b: OI -> IO"]);
    assert_eq!(Rules::from_toml("rules = []").unwrap(), Rules::default());
    for (text, expected) in [
        ("", "line 1: missing field `rules`"),
        ("rules = 3", "line 1: invalid type"),
        ("rules = [\n", "line 1: unclosed array"),
        ("rule = []", "line 1: unknown field `rule`"),
        (
            "rules = [\n'a: {0}',\n\n'b: {',\n]",
            "line 4: b: {: column 4: ",
        ),
        ("rules = []\nrules = []", "line 2: duplicate key"),
    ] {
        let text = Rules::from_toml(text).unwrap_err().to_string();
        assert!(text.starts_with(expected) && !text.contains('\n'), "{text}");
    }
}

#[test]
fn rules_that_no_array_goes_by_are_said() {
    let rules = Rules::new(
        [
            "*.weight: {0,1}",
            "b.*: OI -> IO",
            "none: {0}",
            "*.bias: {1,0}",
            "*: {0,1}",
        ]
        .map(rule),
    );
    let arrays = [
        ("a.weight", 2),
        ("b.weight", 2),
        ("a.bias", 1),
        ("b.bias", 3),
        ("x", 0),
    ];
    let unused = rules.unused(&arrays);
    let said: Vec<_> = unused.iter().map(ToString::to_string).collect();
    let no = "no array goes by the rule";
    assert_eq!(
        said,
        [
            format!("{no} 'b.*: OI -> IO': earlier ones, such as number 1, come first"),
            format!("{no} 'none: {{0}}': none has such a name"),
            format!(
                "{no} '*.bias: {{1,0}}': it is for 2 dimensions, and those of such names have 1 or 3 dimensions"
            ),
            format!("{no} '*: {{0,1}}': earlier ones, such as number 1, come first"),
        ]
    );
    assert_eq!(
        unused.iter().map(|unused| unused.rule).collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    assert_eq!(rules.unused(&[]).len(), 5);
    assert_eq!(Rules::default().unused(&arrays), []);
}
