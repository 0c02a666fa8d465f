//! Checks of modules and memory reports, and of what is made of them.

use minormajor::ParseOptions;
use minormajor::hlo::{Analysis, Document, Memory, Module, Report, Unread, WrittenShape, page};

use crate::check_shape;

/// Reads any text as a module. What can't be read must be a place in the text, every shape must
/// be what its text says, and the analysis must hold together.
pub fn check_module(text: &str) {
    let module = Module::read(text);
    let lines: Vec<&str> = text.split('\n').collect();
    for unread in module.unread() {
        check_place(unread, &lines);
    }
    match Module::parse(text) {
        Ok(_) => assert!(module.unread().is_empty()),
        Err(error) => assert_eq!(Some(&error), module.unread().first()),
    }
    for shape in module.shapes() {
        check_written(shape, text);
    }
    for computation in module.computations() {
        assert!((1..=lines.len()).contains(&computation.line()));
        for instruction in computation.instructions() {
            let line = lines[instruction.line() - 1];
            let is_root = line.contains("ROOT");
            assert!(is_root || !instruction.is_root(), "{line}");
            assert!(!instruction.name().is_empty() && !instruction.opcode().is_empty());
        }
    }
    check_analysis(&Document::Module(module));
}

/// Reads any text as a log with memory reports.
pub fn check_report(text: &str) {
    let report = Report::read(text);
    let lines: Vec<&str> = text.split('\n').collect();
    for unread in report.unread() {
        assert!((1..=lines.len()).contains(&unread.line()));
    }
    let mut before = 0;
    for &(first, last) in report.other_lines() {
        assert!(before < first && first <= last && last <= lines.len());
        before = last;
    }
    for allocation in report.allocations() {
        assert!((1..=lines.len()).contains(&allocation.line()));
        if let Some(shape) = allocation.shape() {
            check_shape(shape);
        }
    }
    assert!(report.allocations().is_empty() || Report::is_in(text));
    check_analysis(&Document::Report(report));
    // Whatever it is, saying so must not fail.
    if let Ok(document) = Document::read(text) {
        check_analysis(&document);
    }
}

fn check_place(unread: &Unread, lines: &[&str]) {
    assert!(
        1 <= unread.first_line() && unread.first_line() <= unread.line(),
        "{unread}"
    );
    assert!(unread.line() <= lines.len(), "{unread}");
    let length = lines[unread.line() - 1].chars().count();
    assert!((1..=length + 1).contains(&unread.column()), "{unread}");
}

fn check_written(written: &WrittenShape<'_>, text: &str) {
    assert!(text.contains(written.text()));
    let options = ParseOptions::default().keep_missing_layouts();
    assert_eq!(options.parse(written.text()).as_ref(), Ok(written.shape()));
    check_shape(written.shape());
}

fn check_analysis(document: &Document<'_>) {
    let analysis = Analysis::of(document);
    let mut wasted = 0;
    for usage in analysis.usages() {
        if let (Some(dense), Some(allocated)) = (usage.dense_bytes(), usage.allocated_bytes()) {
            assert!(0 <= dense && dense <= allocated, "{:?}", usage.shape());
            if usage.takes_memory() {
                wasted += allocated - dense;
            }
        }
        for padded in usage.padded() {
            assert!(usage.takes_memory());
            for better in padded.better() {
                assert!(better.allocated_bytes() < padded.array().allocated_bytes());
                let transposed = better.in_physical_order();
                let transposed = transposed.expect("a layout that lies the same");
                assert_eq!(transposed.allocated_bytes(), better.allocated_bytes());
            }
        }
    }
    let sums = [Memory::Own, Memory::Argument].map(|memory| analysis.sum(memory));
    let padding = |sum: minormajor::hlo::Sum| sum.allocated_bytes - sum.dense_bytes;
    assert_eq!(sums.map(padding).iter().sum::<i128>(), wasted);
    assert_eq!(analysis.worst_first().len(), analysis.usages().len());
    let page = page(&analysis, "fuzz");
    assert!(page.ends_with("</html>\n"));
}
