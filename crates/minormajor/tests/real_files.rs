//! Real files: all matrices of a model, and all images of a set, turned by a rule and back.
//!
//! `MINORMAJOR_REAL_FILES` names a folder of `.safetensors` and `.npz` files; without it there is
//! nothing to do. The files' own Python libraries read what is between, where Python has them.

mod python;

use std::fs;
use std::path::Path;

use minormajor::files::{RelayoutOptions, RelayoutReport, relayout_file};
use minormajor::plan::PlanClass;
use minormajor::rules::Rules;

/// Matrices and images; each rule turns back what the other did.
const THERE: [&str; 2] = ["*: OI -> IO", "*: HWC -> CHW"];
const BACK: [&str; 2] = ["*: IO -> OI", "*: CHW -> HWC"];

fn by(input: &Path, output: &Path, rules: &[&str]) -> RelayoutReport {
    let mut options = RelayoutOptions::default();
    options.rules = Rules::new(rules.iter().map(|rule| rule.parse().unwrap()));
    relayout_file(input, output, &options, &|_, _| {}).unwrap()
}

#[test]
fn what_is_turned_comes_back() {
    let Some(folder) = std::env::var_os("MINORMAJOR_REAL_FILES") else {
        eprintln!("skipped: MINORMAJOR_REAL_FILES names no folder of .safetensors and .npz files");
        return;
    };
    let python = python::python("numpy, safetensors");
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let input = entry.unwrap().path();
        let Some(format @ ("safetensors" | "npz")) = input.extension().and_then(|e| e.to_str())
        else {
            continue;
        };
        let scratch = tempfile::tempdir_in(input.parent().unwrap()).unwrap();
        let at = |name: &str| scratch.path().join(format!("{name}.{format}"));
        let report = by(&input, &at("turned"), &THERE);
        let arrays = report.arrays.iter();
        let moved = arrays.filter(|array| array.plan.class() != PlanClass::Identity);
        assert!(moved.count() > 0, "{}: nothing to turn", input.display());
        by(&at("turned"), &at("back"), &BACK);
        assert!(
            fs::read(at("back")).unwrap() == fs::read(&input).unwrap(),
            "{}",
            input.display()
        );
        if let Some(python) = &python {
            let script = format!(
                r#"
import numpy as np
from safetensors.numpy import load_file
def load(name):
    return load_file(name) if name.endswith("safetensors") else dict(np.load(name))
before, after = load({:?}), load({:?})
assert list(sorted(before)) == list(sorted(after))
for name, array in before.items():
    turned = {{2: (1, 0), 3: (2, 0, 1)}}.get(array.ndim, range(array.ndim))
    assert np.array_equal(array.transpose(turned), after[name]), name
"#,
                input,
                at("turned")
            );
            python::ask(python, scratch.path(), &script);
        }
        files += 1;
    }
    assert!(files > 0, "no .safetensors and no .npz file");
}
