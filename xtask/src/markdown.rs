//! Fenced code blocks of a Markdown text, and the transcripts in them.

/// One fenced block.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// The opening fence's line, counted from 1.
    pub line: usize,
    /// The words after the opening fence, the language first; empty where there is
    /// none.
    pub info: Vec<String>,
    /// What stands between the fences, without the fence's own indentation.
    pub lines: Vec<String>,
}

impl Block {
    /// The language, empty where none is said.
    pub fn language(&self) -> &str {
        self.info.first().map_or("", String::as_str)
    }

    /// Whether `word` follows the language.
    pub fn is_marked(&self, word: &str) -> bool {
        self.info.iter().skip(1).any(|mark| mark == word)
    }
}

/// The fenced blocks of `text`, in order.
///
/// # Errors
///
/// The line of an opening fence that nothing closes.
pub fn blocks(text: &str) -> Result<Vec<Block>, usize> {
    let mut blocks = Vec::new();
    let mut open: Option<(Fence, Block)> = None;
    for (index, line) in text.lines().enumerate() {
        match open.take() {
            None => {
                open = Fence::opened_by(line).map(|(fence, info)| {
                    let block = Block {
                        line: index + 1,
                        info: info.split_whitespace().map(str::to_owned).collect(),
                        lines: Vec::new(),
                    };
                    (fence, block)
                });
            }
            Some((fence, block)) if fence.is_closed_by(line) => blocks.push(block),
            Some((fence, mut block)) => {
                block.lines.push(fence.without_indentation(line).to_owned());
                open = Some((fence, block));
            }
        }
    }
    match open {
        None => Ok(blocks),
        Some((_, block)) => Err(block.line),
    }
}

/// The fence that opened a block.
struct Fence {
    indentation: usize,
    mark: char,
    length: usize,
}

impl Fence {
    /// The fence that `line` is and the text after it. Any indentation will do,
    /// since a block may stand in a list.
    fn opened_by(line: &str) -> Option<(Fence, &str)> {
        let text = line.trim_start_matches(' ');
        let indentation = line.len() - text.len();
        let mark = text.chars().next().filter(|&c| c == '`' || c == '~')?;
        let info = text.trim_start_matches(mark);
        let length = text.len() - info.len();
        // A line such as ```` ```x``` ```` is inline code.
        if length < 3 || (mark == '`' && info.contains('`')) {
            return None;
        }
        let fence = Fence {
            indentation,
            mark,
            length,
        };
        Some((fence, info))
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let text = line.trim();
        text.len() >= self.length && text.chars().all(|c| c == self.mark)
    }

    fn without_indentation<'a>(&self, line: &'a str) -> &'a str {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        &line[spaces.min(self.indentation)..]
    }
}

/// A command of a `console` block and what it prints.
#[derive(Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The command's line in the document, counted from 1.
    pub line: usize,
    /// The command, its `> ` continuation lines included.
    pub command: String,
    /// The lines shown below it.
    pub expected: Vec<String>,
}

/// The commands of a `console` block: lines after `$ `, continued by lines after
/// `> ` that follow at once.
///
/// # Errors
///
/// The line of output that no command stands before.
pub fn transcript(block: &Block) -> Result<Vec<Exchange>, usize> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    for (index, text) in block.lines.iter().enumerate() {
        let line = block.line + 1 + index;
        if let Some(command) = text.strip_prefix("$ ") {
            exchanges.push(Exchange {
                line,
                command: command.to_owned(),
                expected: Vec::new(),
            });
            continue;
        }
        let Some(last) = exchanges.last_mut() else {
            if text.trim().is_empty() {
                continue;
            }
            return Err(line);
        };
        match text.strip_prefix("> ") {
            Some(more) if last.expected.is_empty() => {
                last.command.push('\n');
                last.command.push_str(more);
            }
            _ => last.expected.push(text.clone()),
        }
    }
    Ok(exchanges)
}

/// Whether the lines that came are those that are shown: spaces at the ends of lines
/// and empty lines at the end of all don't count, and `...` alone on a line stands
/// for any number of lines.
pub fn is_as_shown(expected: &[String], actual: &[String]) -> bool {
    let expected = tidied(expected);
    let mut rest = tidied(actual);
    let mut parts: Vec<&[&str]> = expected.split(|&line| line == "...").collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    if parts.is_empty() {
        return rest == last;
    }
    // With `...` between them the parts may be sought greedily: the first must stand
    // at the start, the last at the end, each other one as early as it can.
    let mut is_first = true;
    for part in parts {
        let found = if is_first {
            rest.starts_with(part).then_some(0)
        } else {
            position(&rest, part)
        };
        let Some(start) = found else { return false };
        rest.drain(..start + part.len());
        is_first = false;
    }
    rest.ends_with(last)
}

fn tidied(lines: &[String]) -> Vec<&str> {
    let mut lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines
}

fn position(lines: &[&str], part: &[&str]) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    lines.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(line: usize, info: &[&str], lines: &[&str]) -> Block {
        Block {
            line,
            info: info.iter().map(|&word| word.to_owned()).collect(),
            lines: owned(lines),
        }
    }

    fn owned(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|&line| line.to_owned()).collect()
    }

    #[test]
    fn blocks_of_a_document() {
        let text = "\
# Title

```sh
minormajor describe 'f32[2]'

echo done
```

Text with ```inline``` code.

```
no language
```

1. In a list:

   ~~~console no-run
   $ ls
     two more spaces
   ```
  less
   ~~~~

````text
```sh
not a block
```
````
";
        let expected = [
            block(
                3,
                &["sh"],
                &["minormajor describe 'f32[2]'", "", "echo done"],
            ),
            block(11, &[], &["no language"]),
            block(
                17,
                &["console", "no-run"],
                &["$ ls", "  two more spaces", "```", "less"],
            ),
            block(24, &["text"], &["```sh", "not a block", "```"]),
        ];
        let blocks = blocks(text).unwrap();
        assert_eq!(blocks, expected);
        assert_eq!(blocks[1].language(), "");
        assert_eq!(blocks[2].language(), "console");
        assert!(blocks[2].is_marked("no-run"));
        assert!(!blocks[2].is_marked("console"));
    }

    #[test]
    fn an_open_fence_is_an_error() {
        assert_eq!(blocks("a\n\n```sh\nls\n"), Err(3));
        assert_eq!(blocks("````sh\n```\n"), Err(1));
        assert_eq!(blocks("``sh\n"), Ok(vec![]));
    }

    #[test]
    fn transcripts() {
        let text = block(
            10,
            &["console"],
            &[
                "$ first --flag \\",
                ">   second line",
                "output",
                "> quoted output",
                "",
                "$ silent",
                "$ last",
                "  indented",
            ],
        );
        let exchange = |line, command: &str, expected: &[&str]| Exchange {
            line,
            command: command.to_owned(),
            expected: owned(expected),
        };
        let expected = vec![
            exchange(
                11,
                "first --flag \\\n  second line",
                &["output", "> quoted output", ""],
            ),
            exchange(16, "silent", &[]),
            exchange(17, "last", &["  indented"]),
        ];
        assert_eq!(transcript(&text), Ok(expected));
        let orphan = block(10, &["console"], &["", "output", "$ late"]);
        assert_eq!(transcript(&orphan), Err(12));
    }

    #[test]
    fn shown_output() {
        // (expected, actual, whether they agree), lines separated by `/`.
        let cases = [
            ("", "", true),
            ("", "a", false),
            ("a", "", false),
            ("a/b", "a/b", true),
            ("a/b", "a  /b\t//", true),
            ("a/b//", "a/b", true),
            ("a/b", "a/ b", false),
            ("a/b", "a//b", false),
            ("...", "", true),
            ("...", "a/b", true),
            ("a/...", "a", true),
            ("a/...", "b/a", false),
            ("a/.../c", "a/b/b/c", true),
            ("a/.../c", "a/c", true),
            ("a/.../c", "a/c/d", false),
            ("a/.../a", "a", false),
            (".../b/.../b", "a/b/c/b", true),
            (".../b/.../b", "a/b", false),
            (".../b/c/...", "b/b/c", true),
            ("a/.../.../b", "a/b", true),
            ("a ... b", "a x b", false),
        ];
        let lines = |text: &str| -> Vec<String> { text.split('/').map(str::to_owned).collect() };
        let wrong: Vec<_> = cases
            .iter()
            .filter(|(expected, actual, agree)| {
                is_as_shown(&lines(expected), &lines(actual)) != *agree
            })
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
