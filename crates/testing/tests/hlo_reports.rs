//! Memory reports are explained: the sizes that they print follow from shapes and tiles.

use minormajor_core::hlo::{Analysis, Document, Explanation, Usage};
use minormajor_core::sizes::{self, PrintedSize};
use minormajor_testing::{golden, hlo};

#[test]
fn every_printed_size_is_explained() {
    let reports = hlo::reports();
    assert!(reports.len() >= 10);
    for (name, text) in reports {
        let document = Document::read(&text).unwrap();
        let Document::Report(report) = &document else {
            panic!("{name}: no report");
        };
        assert!(report.unread().is_empty(), "{name}: {:?}", report.unread());
        let analysis = Analysis::of(&document);
        assert_eq!(
            analysis.usages().len(),
            text.matches(". Size: ").count(),
            "{name}"
        );
        for usage in analysis.usages() {
            explained(&name, usage);
        }
    }
}

/// Within 0.01 of what is printed, in its unit.
fn explained(name: &str, usage: &Usage<'_>) {
    let allocation = usage.allocation().unwrap();
    let place = format!("{name}: {}", allocation.number());
    if allocation.shape_text().is_none() {
        assert_eq!(usage.explanation(), Some(&Explanation::NoShape), "{place}");
        return;
    }
    assert_ne!(usage.explanation(), Some(&Explanation::Nothing), "{place}");
    let allocated = usage.allocated_bytes().unwrap();
    let dense = usage.dense_bytes().unwrap();
    assert!(
        allocation.size().unwrap().is(allocated),
        "{place}: {allocated}"
    );
    let unpadded = PrintedSize::parse(allocation.unpadded_text().unwrap()).unwrap();
    assert!(unpadded.is(dense), "{place}: {dense}");
    match allocation.padding_text() {
        Some(padding) => assert_eq!(
            sizes::expansion(dense, allocated).unwrap(),
            padding,
            "{place}"
        ),
        None => assert_eq!(sizes::size(dense), sizes::size(allocated), "{place}"),
    }
}

/// What each entry of a report is explained by.
fn explanations(report: &str) -> Vec<(String, Vec<String>)> {
    let reports = hlo::reports();
    let (_, text) = reports.iter().find(|(name, _)| name == report).unwrap();
    let document = Document::read(text).unwrap();
    let analysis = Analysis::of(&document);
    let explanation = |usage: &Usage<'_>| {
        let explanation = usage.explanation().unwrap();
        (explanation.name().to_owned(), explanation.tiles())
    };
    analysis.usages().iter().map(explanation).collect()
}

#[test]
fn missing_tiles_are_named() {
    let old = explanations("segmentation.txt");
    assert_eq!(old[0].0, "tiles");
    assert_eq!(old[0].1[0], "T(8,128)");
    assert_eq!(old[1].1[0], "T(8,128)");
    let vmem = explanations("window.txt");
    assert_eq!(vmem[0], ("no shape".to_owned(), vec![]));
    assert_eq!(vmem[1].1[0], "T(8,128)");
    assert_eq!(vmem[3], ("layout".to_owned(), vec![]));
    assert_eq!(explanations("embedding.txt")[2].0, "index table");
    assert_eq!(explanations("kernel.txt")[0].1, ["T(16,128)(2,1)"]);
}

#[test]
fn logs_are_told_apart() {
    let (_, text) = &hlo::reports()[hlo::reports()
        .iter()
        .position(|(n, _)| n == "particles.txt")
        .unwrap()];
    let Ok(Document::Report(report)) = Document::read(text) else {
        panic!("no report");
    };
    assert_eq!(report.other_lines(), [(1, 3)]);
    let total = |name: &str| {
        let total = report.totals().iter().find(|total| total.name == name);
        total.and_then(|total| total.size)
    };
    assert_eq!(total("used"), PrintedSize::parse("41.74G"));
    assert_eq!(total("HLO temp"), PrintedSize::parse("41.19G"));
    assert_eq!(total("arguments"), None);
    let names: Vec<&str> = report.totals().iter().map(|total| total.name).collect();
    assert!(names.contains(&"arguments"), "{names:?}");
    let first = &report.allocations()[0];
    assert_eq!(
        (first.memory_space(), first.kind()),
        (Some("hbm"), Some("HLO temp"))
    );
    let label = first.label().unwrap();
    assert_eq!((label.name, label.opcode), ("copy.17", "copy"));
    let analysis_of = Document::read(text).unwrap();
    let analysis = Analysis::of(&analysis_of);
    let moved = analysis.relayouts();
    assert_eq!(moved.len(), 1);
    assert_eq!(
        moved[0].1.from().to_string(),
        "s32[8388608,8,4]{0,2,1:T(4,128)}"
    );
    assert_eq!(moved[0].1.written_bytes(), Some(32 << 30));
    let better = &analysis.worst_first()[0].padded()[0].better()[0];
    assert_eq!(better.to_string(), "s32[8388608,8,4]{0,1,2:T(8,128)}");
}

/// The facts that the golden file holds, each as a report of one entry; once more with the
/// tiles left out, as old compilers do.
#[test]
fn golden_sizes_are_explained() {
    let mut found = 0;
    for case in golden::tpu_memory() {
        if PrintedSize::parse(&case.size).is_none() {
            continue;
        }
        let text = format!("  1. Size: {}\n     Shape: {}\n", case.size, case.shape);
        let document = Document::read(&text).unwrap();
        let usage = Analysis::of(&document).usages()[0].clone();
        assert_eq!(usage.explanation().unwrap().name(), "layout", "{text}");

        let (before, tiles) = case.shape.split_once(":T").unwrap();
        let text = format!("  1. Size: {}\n     Shape: {before}}}\n", case.size);
        let document = Document::read(&text).unwrap();
        let usage = Analysis::of(&document).usages()[0].clone();
        let explanation = usage.explanation().unwrap();
        if case.expansion.is_empty() {
            assert_eq!(explanation.name(), "layout", "{text}");
        } else {
            assert_eq!(explanation.name(), "tiles", "{text}");
            let tiles = format!("T{}", tiles.trim_end_matches('}'));
            assert!(
                explanation.tiles().contains(&tiles),
                "{text}: {:?}",
                explanation.tiles()
            );
            found += 1;
        }
    }
    assert!(found >= 6, "{found}");
}
