//! Modules that JAX emits here are read whole: no line and no shape is left out.

use minormajor_core::ElementType;
use minormajor_core::hlo::{Analysis, Document, Module};
use minormajor_testing::hlo;

/// What a line of a dump is, by its look alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Empty,
    Module,
    Table,
    Entry,
    Begin,
    Instruction,
    End,
    Strange,
}

fn look(line: &str) -> Look {
    let line = line.trim();
    if line.is_empty() {
        Look::Empty
    } else if line.starts_with("HloModule ") {
        Look::Module
    } else if line.starts_with(|c: char| c.is_ascii_digit()) {
        Look::Entry
    } else if line == "}" || line.starts_with("}, ") {
        Look::End
    } else if line == "{" || (line.ends_with(" {") && !line.contains(" = ")) {
        Look::Begin
    } else if line.contains(" = ") {
        Look::Instruction
    } else if line == "???" {
        Look::Strange
    } else {
        assert!(line.chars().all(|c| c.is_ascii_alphabetic()), "{line}");
        Look::Table
    }
}

fn count(text: &str, look_of: Look) -> usize {
    text.lines().filter(|line| look(line) == look_of).count()
}

fn instructions(module: &Module<'_>) -> usize {
    module
        .computations()
        .iter()
        .map(|c| c.instructions().len())
        .sum()
}

/// The text without what stands in quotes.
fn unquoted(text: &str) -> String {
    text.split('"').step_by(2).collect()
}

#[test]
fn every_line_is_accounted_for() {
    let dumps = hlo::dumps();
    assert_eq!(dumps.len(), 7);
    for (name, text) in dumps {
        let module = Module::read(&text);
        assert!(module.unread().is_empty(), "{name}: {:?}", module.unread());
        assert!(Module::parse(&text).is_ok());
        assert_eq!(
            usize::from(module.name().is_some()),
            count(&text, Look::Module),
            "{name}"
        );
        assert_eq!(module.tables().len(), count(&text, Look::Table), "{name}");
        let entries: usize = module.tables().iter().map(|table| table.entries).sum();
        assert_eq!(entries, count(&text, Look::Entry), "{name}");
        assert_eq!(
            module.computations().len(),
            count(&text, Look::Begin),
            "{name}"
        );
        assert_eq!(
            module.computations().len(),
            count(&text, Look::End),
            "{name}"
        );
        assert_eq!(
            instructions(&module),
            count(&text, Look::Instruction),
            "{name}"
        );
        for computation in module.computations() {
            for instruction in computation.instructions() {
                let line = text.lines().nth(instruction.line() - 1).unwrap();
                let begins = [instruction.name(), " = ", instruction.shape().text(), " "].concat();
                assert!(
                    line.contains(&begins),
                    "{name}:{}: {begins}",
                    instruction.line()
                );
                assert_eq!(
                    instruction.is_root(),
                    line.contains("ROOT "),
                    "{name}: {line}"
                );
            }
        }
    }
}

#[test]
fn every_shape_is_printed_back_as_it_stood() {
    for (name, text) in hlo::dumps() {
        let module = Module::read(&text);
        let mut found = 0;
        for shape in module.shapes() {
            assert_eq!(shape.shape().to_string(), shape.text(), "{name}");
            found += arrays(shape.text());
        }
        let expected = arrays(&unquoted(&text));
        assert_eq!(found, expected, "{name}");
        assert!(found > 100, "{name}: {found}");
    }
}

/// The number of arrays and tokens that a text writes: `f32[`, `token[` and so on.
fn arrays(text: &str) -> usize {
    let names = ElementType::ALL
        .iter()
        .map(|t| t.name())
        .chain(["token", "opaque"]);
    let written = |name: &str| {
        let pattern = format!("{name}[");
        text.match_indices(&pattern)
            .filter(|(at, _)| {
                !text[..*at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            })
            .count()
    };
    names.map(written).sum()
}

#[test]
fn operands_and_computations_are_found() {
    for (name, text) in hlo::dumps() {
        let module = Module::read(&text);
        let entry = module
            .computations()
            .iter()
            .filter(|c| c.is_entry())
            .count();
        assert_eq!(entry, 1, "{name}");
        for computation in module.computations() {
            let mut known: Vec<&str> = Vec::new();
            for instruction in computation.instructions() {
                for operand in instruction.operands() {
                    let operand = operand.name().expect("a name");
                    assert!(known.contains(&operand), "{name}: {operand}");
                }
                for called in instruction.called() {
                    assert!(
                        module.computation(&called.computation).is_some(),
                        "{name}: {called:?}"
                    );
                }
                known.push(instruction.name());
            }
            let roots = computation
                .instructions()
                .iter()
                .filter(|i| i.is_root())
                .count();
            assert_eq!(roots, 1, "{name}: {}", computation.name());
        }
    }
}

/// Any line that is spoilt is reported, and only that one is lost.
#[test]
fn a_spoilt_line_is_reported() {
    let (name, text) = hlo::dumps().swap_remove(2);
    assert_eq!(name, "fourier.after.txt");
    let whole = instructions(&Module::read(&text));
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        if look(line) != Look::Instruction {
            continue;
        }
        // Cut in the middle of the shape, or with something strange behind.
        let cut = line.find(" = ").unwrap() + 7;
        for spoilt in [
            line[..cut].to_owned(),
            format!("{line}; what?"),
            "???".to_owned(),
        ] {
            let mut lines = lines.clone();
            lines[at] = &spoilt;
            let text = lines.join("\n");
            let module = Module::read(&text);
            let unread = module.unread();
            assert!(!unread.is_empty(), "{spoilt}");
            assert_eq!(
                (unread[0].first_line(), unread[0].line()),
                (at + 1, at + 1),
                "{spoilt}: {unread:?}"
            );
            // A shape that is cut off may still be one, and go on in the next line.
            assert!(unread.len() == 1 || (unread.len() == 2 && unread[1].line() == at + 2));
            assert!(instructions(&module) + unread.len() >= whole, "{spoilt}");
        }
    }
}

/// A line that means nothing is always reported, wherever it stands.
#[test]
fn a_strange_line_is_reported() {
    let (_, text) = hlo::dumps().swap_remove(2);
    let lines: Vec<&str> = text.lines().collect();
    for at in 0..=lines.len() {
        let mut lines = lines.clone();
        lines.insert(at, "???");
        let text = lines.join("\n");
        let module = Module::read(&text);
        let reported =
            |u: &minormajor_core::hlo::Unread| (u.first_line()..=u.line()).contains(&(at + 1));
        assert!(
            module.unread().iter().any(reported),
            "{at}: {:?}",
            module.unread()
        );
        assert_eq!(
            instructions(&module),
            count(&text, Look::Instruction),
            "{at}"
        );
    }
}

/// Forms of the syntax that the dumps do not have.
#[test]
fn rarer_forms_are_read() {
    let text = r#"HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }, replica_count=2

%sum (a: f32[], b: f32[]) -> f32[] { %a = f32[] parameter(0) %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b) }, execution_thread="host"

ENTRY main { // without a signature
  p = (f32[8,4]{1,0:T(8,128)S(1)}, token[], b(u8[3]{0})) parameter(0)
  x = f32[8,4]{1,0} get-tuple-element(p), index=0
  y = f32[8,16]{1,0} all-gather(x), replica_groups=mesh['a'=2,'b'=4] {'b'}, dimensions={1}
  k = s32[2,2]{1,0} constant({
    {1, 2}, /*i0=1*/
    {3, 4} })
  z = f32[<=8,?] custom-call(x, f32[] /*no name*/), custom_call_target="a \"quoted\" } name", operand_layout_constraints={f32[8,4]{1,0}, f32[]}, backend_config={"a":[1,{"b":"}"}]}
  i = pred[] constant(true)
  ROOT r = f32[] conditional(i, p, p), branch_computations={
    { q = (f32[], token[]) parameter(0)
      ROOT g = f32[] get-tuple-element(q), index=0 },
    { q = (f32[], token[]) parameter(0)
      h = f32[] constant(nan)
      ROOT g = f32[] negate(h), metadata={op_name="a\\"} } }, sharding={replicated}
}
"#;
    let module = Module::parse(text).unwrap();
    let names: Vec<&str> = module.computations().iter().map(|c| c.name()).collect();
    let nested = ["r.branch_computations.0", "r.branch_computations.1"];
    assert_eq!(names, [&["sum", "main"], &nested[..]].concat());
    let main = &module.computations()[1];
    assert_eq!(main.instructions().len(), 7);
    let named = |name: &str| {
        main.instructions()
            .iter()
            .find(|i| i.name() == name)
            .unwrap()
    };
    assert_eq!(
        named("y").attribute("replica_groups"),
        Some("mesh['a'=2,'b'=4] {'b'}")
    );
    assert_eq!(named("y").attribute("dimensions"), Some("{1}"));
    assert!(named("k").literal().unwrap().ends_with("{3, 4} }"));
    assert_eq!(named("z").operands()[1].name(), None);
    assert_eq!(named("z").layout_constraints()[0].text(), "f32[8,4]{1,0}");
    let called: Vec<&str> = named("r")
        .called()
        .iter()
        .map(|c| &*c.computation)
        .collect();
    assert_eq!(called, nested);
    assert_eq!(named("r").attribute("sharding"), Some("{replicated}"));
    assert!(module.computations()[2].is_nested());
    assert_eq!(module.computations()[3].instructions().len(), 3);
    assert_eq!(module.computations()[0].attributes()[0].value, "\"host\"");
    for shape in module.shapes() {
        assert_eq!(shape.shape().to_string(), shape.text());
    }
}

/// Places of faults: lines and columns, from 1.
#[test]
fn faults_have_a_place() {
    let unread = |text: &str| {
        let error = Module::parse(text).unwrap_err();
        (error.line(), error.column(), error.reason().to_string())
    };
    for (text, line, column, reason) in [
        (
            "x = f32[2]{0} add(x",
            1,
            20,
            "expected `,` or `)` behind an operand, found the end",
        ),
        (
            "x = f32[2]{0} add(x,)",
            1,
            21,
            "expected an operand: its shape, its name, or both, found `)`",
        ),
        (
            "x = f32[2]{0,1} add(x)",
            1,
            14,
            "the minor-to-major order has 2 dimensions, the shape has 1",
        ),
        (
            "\n x = f32[2]{0} (x)",
            2,
            16,
            "expected an opcode behind the shape, found `(`",
        ),
        (
            "x = add(y)",
            1,
            5,
            "expected an element type such as f32, bf16, s32, u8 or pred, found `add`",
        ),
        (
            "x = f32[] add(), a={[}",
            1,
            20,
            "expected what closes this somewhere behind it, found something else, or the end",
        ),
        (
            "x = f32[] add(), a=\"b",
            1,
            20,
            "expected what closes this somewhere behind it, found something else, or the end",
        ),
        (
            "x = f32[] constant(1",
            1,
            19,
            "expected what closes this somewhere behind it, found something else, or the end",
        ),
        (
            "e {\n x = f32[] add()\n",
            1,
            1,
            "expected `}` behind the computation that begins here, found the end",
        ),
        (
            "}",
            1,
            1,
            "expected a computation, which this would end, found `}`",
        ),
        (
            "HloModule m, entry_computation_layout={(f32[])}",
            1,
            47,
            "expected `->` before the result's shape, found `}`",
        ),
        (
            "\u{fc}",
            1,
            1,
            "expected an instruction, a computation, or the end of one, found `\u{fc}`",
        ),
        (
            "%x = f32[] add(/* x",
            1,
            16,
            "expected `*/` somewhere behind this comment's start",
        ),
    ] {
        assert_eq!(unread(text), (line, column, reason.to_owned()), "{text}");
    }
}

/// Which instructions only move elements, and which of them move none.
#[test]
fn relayouts_are_told_from_bitcasts() {
    let text = "ENTRY e {
  p = f32[16,128]{1,0:T(8,128)} parameter(0)
  squeezed = f32[1,16,128]{2,1,0:T(8,128)} reshape(p)
  split = f32[2,8,128]{2,1,0:T(8,128)} reshape(p)
  cut = f32[4,4,128]{2,1,0:T(8,128)} reshape(p)
  flat = f32[2048]{0} reshape(p)
  turned = f32[128,16]{0,1:T(8,128)} transpose(p), dimensions={1,0}
  moved = f32[128,16]{1,0:T(8,128)} transpose(p), dimensions={1,0}
  same = f32[16,128]{1,0:T(8,128)} copy(p)
  near = f32[16,128]{1,0:T(8,128)S(1)} copy(p)
  bits = s32[16,128]{1,0:T(8,128)} bitcast-convert(p)
  named = f32[2048]{0} bitcast(p)
  start = (f32[16,128]{0,1}, f32[16,128]{1,0:T(8,128)}, u32[]) copy-start(p)
  done = f32[16,128]{0,1} copy-done(start)
  ROOT sum = f32[16,128]{1,0:T(8,128)} add(p, same)
}";
    let document = Document::read(text).unwrap();
    let analysis = Analysis::of(&document);
    let found: Vec<(&str, bool)> = analysis
        .usages()
        .iter()
        .filter_map(|usage| Some((usage.name()?, usage.relayout()?.is_bitcast())))
        .collect();
    let expected = [
        ("squeezed", true),
        ("split", true),
        ("cut", false),
        ("flat", true),
        ("turned", true),
        ("moved", false),
        ("same", true),
        ("near", false),
        ("bits", true),
        ("named", true),
        ("start", false),
    ];
    assert_eq!(found, expected);
}
