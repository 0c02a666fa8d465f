//! What a command line owes its users: completions, manual pages, colour where it is wanted, exit
//! codes, and errors that show what is wrong and what may have been meant.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{COMMANDS, command, finish, picture, run};

/// Whether there is such a program here; says what is left out where there is none.
fn there_is(program: &str) -> bool {
    let runs = Command::new(program).arg("--version").output().is_ok();
    if !runs {
        println!("skipped: there is no {program} here");
    }
    runs
}

/// The script of a shell, in a file.
fn script(folder: &Path, shell: &str) -> std::path::PathBuf {
    let path = folder.join(shell);
    let script = run(["completions", shell]).assert_done().out.clone();
    for command in COMMANDS {
        assert!(script.contains(command), "{shell}: {command}");
    }
    assert!(script.contains("--memory") || script.contains("-l memory"));
    fs::write(&path, script).unwrap();
    path
}

#[test]
fn shells_can_read_their_completions() {
    let folder = tempfile::tempdir().unwrap();
    for (shell, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let path = script(folder.path(), shell);
        if there_is(shell) {
            let output = Command::new(shell).arg(check).arg(path).output().unwrap();
            assert!(output.status.success(), "{shell}: {output:?}");
        }
    }
    for shell in ["powershell", "elvish"] {
        script(folder.path(), shell);
    }
}

#[test]
fn bash_completes_commands_and_options() {
    if !there_is("bash") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = script(folder.path(), "bash");
    for (words, expected) in [
        ("minormajor rel", "relayout"),
        ("minormajor describe --js", "--json"),
        ("minormajor relayout a b --src-endian bi", "big"),
        ("minormajor --color ne", "never"),
    ] {
        let last = words.split(' ').count() - 1;
        let (before, word) = words.rsplit_once(' ').unwrap();
        let before = before.rsplit(' ').next().unwrap();
        let line = format!(
            "source '{}'; COMP_WORDS=({words}); COMP_CWORD={last}; \
             _minormajor minormajor '{word}' '{before}'; echo \"${{COMPREPLY[@]}}\"",
            path.display()
        );
        let output = Command::new("bash").args(["-c", &line]).output().unwrap();
        let found = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(found.trim_end(), expected, "{words}: {output:?}");
    }
}

#[test]
fn manual_pages_are_for_all_commands_and_render() {
    let folder = tempfile::tempdir().unwrap();
    let manual = folder.path().join("share/man1");
    assert_eq!(
        run(["man".as_ref(), manual.as_os_str()]).assert_done().out,
        ""
    );
    let mut pages: Vec<_> = fs::read_dir(&manual)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    let mut expected: Vec<_> = COMMANDS
        .iter()
        .map(|command| format!("minormajor-{command}.1"))
        .chain(["minormajor.1".to_owned()])
        .collect();
    expected.sort();
    assert_eq!(pages, expected);
    if !there_is("groff") {
        return;
    }
    for page in pages {
        let output = Command::new("groff")
            .args(["-man", "-Tutf8", "-ww", "-P-cbou", "-rLL=100n"])
            .arg(manual.join(&page))
            .output()
            .unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{page}: {output:?}"
        );
        let text = String::from_utf8(output.stdout).unwrap();
        for heading in ["NAME", "SYNOPSIS", "OPTIONS", "EXIT STATUS"] {
            assert!(
                text.lines().any(|line| line == heading),
                "{page}: {heading}\n{text}"
            );
        }
        // Examples stand as in the help, behind the indent of a page.
        if page != "minormajor.1" {
            let name = page
                .trim_start_matches("minormajor-")
                .trim_end_matches(".1");
            let help = run([name, "--help"]).out;
            let examples = help.lines().skip_while(|line| !line.starts_with("Example"));
            for line in examples.filter(|line| line.starts_with("  ")) {
                let line = line.trim_end();
                assert!(
                    text.lines().any(|found| found.trim_end().ends_with(line)),
                    "{page}: {line:?}\n{text}"
                );
            }
        }
    }
}

const ESCAPE: char = '\u{1b}';

/// Errors of ours and of the parser of arguments.
const WRONG: [&[&str]; 4] = [
    &["describe", "f33[2]"],
    &["relayuot"],
    &["describe", "--jsno", "f32[2]"],
    &["plan", "f32[2]", "{0}", "--threads", "x"],
];

#[test]
fn colour_is_for_terminals_and_on_demand() {
    for arguments in WRONG {
        for asked in [&[][..], &["--color=never"], &["--color", "auto"]] {
            let ran = run(asked.iter().chain(arguments));
            assert!(
                !ran.err.is_empty() && !ran.err.contains(ESCAPE),
                "{:?}",
                ran.err
            );
        }
        for asked in [&["--color=always"][..], &["--color", "always"]] {
            let ran = run(asked.iter().chain(arguments));
            assert!(ran.err.contains(ESCAPE), "{arguments:?}: {:?}", ran.err);
            let asked = command()
                .env("NO_COLOR", "1")
                .args(asked.iter().chain(arguments))
                .output()
                .unwrap();
            assert_eq!(asked.stderr, ran.err.as_bytes());
        }
    }
    // What --color says belongs to no other option, and nothing behind -- is an option.
    let ran = run(["--color", "always", "describe", "--", "--color=never"]);
    assert!(ran.err.contains(ESCAPE), "{:?}", ran.err);
}

/// On a pseudo-terminal, where there is `script`.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_has_colour_unless_no_color_says_otherwise() {
    if !there_is("script") {
        return;
    }
    for arguments in WRONG {
        let on_terminal = |no_color: &str, more: &str| {
            let mut line = format!("{} {more}", env!("CARGO_BIN_EXE_minormajor"));
            for argument in arguments {
                line.push_str(&format!(" '{argument}'"));
            }
            let output = Command::new("script")
                .args(["-qc", &line, "/dev/null"])
                .env("NO_COLOR", no_color)
                .env("TERM", "xterm")
                .stdin(Stdio::null())
                .output()
                .unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let plain = on_terminal("1", "");
        assert!(!plain.is_empty() && !plain.contains(ESCAPE), "{plain:?}");
        assert!(on_terminal("", "").contains(ESCAPE), "{arguments:?}");
        assert!(!on_terminal("", "--color never").contains(ESCAPE));
        // The parser's own messages quote what is wrong; ours underline it.
        let ours = !plain.contains("For more information");
        assert_eq!(ours, plain.contains("  ^"), "{plain}");
    }
}

/// The line below the text, without colours.
fn underline(arguments: &[&str]) -> (String, String) {
    let ran = run(["--color=always"].iter().chain(arguments));
    let lines: Vec<String> = ran.err.lines().map(anstream_free).collect();
    assert_eq!(lines.len(), 3, "{:?}", ran.err);
    (lines[1].clone(), lines[2].clone())
}

fn anstream_free(line: &str) -> String {
    let mut plain = String::new();
    for (place, part) in line.split(ESCAPE).enumerate() {
        plain += match place {
            0 => part,
            _ => part.split_once('m').unwrap().1,
        };
    }
    plain
}

#[test]
fn what_is_wrong_is_underlined() {
    for (arguments, text, mark) in [
        (&["describe", "f33[2]"][..], "f33[2]", "^^^"),
        (
            &["describe", "f32[2]{0:TT(8)}"],
            "f32[2]{0:TT(8)}",
            "         ^^",
        ),
        (&["plan", "f32[2,3]", "{0,17}"], "{0,17}", "   ^^"),
        (
            &["index", "f32[2,3]", "1,-22"],
            "f32[2,3] 1,-22",
            "           ^^^",
        ),
        (
            &["plan", "f32[2]", "{0}", "--in-place", "--memory", "64kib"],
            "64kib",
            "  ^^^",
        ),
        (
            &["plan", "f32[2]", "{0}", "--threads", "many"],
            "many",
            "^^^^",
        ),
        (
            &["relayout", "a.npy", "b.npy", "--type", "flaot32"],
            "flaot32",
            "^^^^^^^",
        ),
        (
            &["relayout", "a.npy", "b.npy", "--to", "{0,1:X}"],
            "{0,1:X}",
            "     ^",
        ),
        (
            &["plan", "f32[2,3]", "{0,1}", "--src-strides", "4,x"],
            "4,x",
            "  ^",
        ),
        (
            &["sharding", "{devices=[2]}", "f32[4]"],
            "{devices=[2]}",
            "            ^",
        ),
    ] {
        let (line, below) = underline(arguments);
        assert_eq!(
            (line, below),
            (format!("  {text}"), format!("  {mark}")),
            "{arguments:?}"
        );
        // Elsewhere an error is one line.
        assert_eq!(run(arguments).err.lines().count(), 1);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.npzz");
    let path = path.to_str().unwrap();
    fs::write(path, "x").unwrap();
    let (line, below) = underline(&["inspect", path]);
    assert_eq!(line, format!("  {path}"));
    assert_eq!(below.find('^'), line.find("npzz"));
    assert!(below.ends_with(" ^^^^"));
}

#[test]
fn the_misspelt_is_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.npzz");
    fs::write(&path, "x").unwrap();
    let path = path.to_str().unwrap();
    for (arguments, said) in [
        (&["relayuot"][..], "'relayout'"),
        (&["describe", "--jsno", "f32[2]"], "'--json'"),
        (&["draw", "f32[2]", "--color", "alway"], "'always'"),
        (&["completions", "bush"], "'bash'"),
        (&["describe", "f33[2]"], "did you mean f32?"),
        (&["describe", "bfloat16[2]"], "did you mean bf16?"),
        (
            &["relayout", "a.npy", "b.npy", "--type", "float16"],
            "did you mean f16?",
        ),
        (
            &["plan", "f32[2]", "{0}", "--in-place", "--memory", "1mib"],
            "did you mean MiB?",
        ),
        (&["inspect", path], "did you mean .npz?"),
    ] {
        let ran = run(arguments);
        assert!(
            ran.code != 0 && ran.err.contains(said),
            "{arguments:?}: {}",
            ran.err
        );
    }
}

#[test]
fn exit_codes_say_what_kind_of_thing_went_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let none = folder.path().join("none.npy");
    let none = none.to_str().unwrap();
    let picture = picture();
    let picture = picture.to_str().unwrap();
    for (arguments, code) in [
        (&["describe", "f32[2]"][..], 0),
        (&["--help"], 0),
        (&["--version"], 0),
        (&["describe", "f33[2]"], 1),
        (&["inspect", none], 1),
        (&["inspect", picture, none], 1),
        (&["relayout", picture, none, "--to", "{0,1}"], 1),
        (&[], 2),
        (&["relayuot"], 2),
        (&["describe"], 2),
        (&["describe", "--jsno", "f32[2]"], 2),
        (&["relayout", picture, none, "--type", "f33"], 2),
        (&["relayout", picture, none, "--memory", "many"], 2),
    ] {
        assert_eq!(run(arguments).code, code, "{arguments:?}");
    }
    assert!(run(["--help"]).out.contains("The exit code is 0"));
}

#[test]
fn pipes_see_no_progress_and_the_quiet_say_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("columns.npy");
    let run = |more: &[&str]| {
        let mut command = command();
        command.arg("relayout").arg(picture()).arg(&output);
        finish(command.args(["--to", "{0,1,2}"]).args(more), b"")
    };
    assert_eq!(run(&[]).assert_done().out.lines().count(), 1);
    for quiet in ["--quiet", "-q"] {
        assert_eq!(run(&[quiet]).assert_done().out, "");
    }
}
