//! `cargo xtask ptx`: the CUDA kernels' PTX, made of their sources and assembled for two cards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::process;
use crate::python;
use crate::workspace::Workspace;

/// Cards that PTX is assembled for: A100's and H100's.
const CARDS: [&str; 2] = ["sm_80", "sm_90"];

/// Compiles the kernels, and compares with the shipped PTX; `update` ships what was made. Assembles
/// it for every card, and fails where a kernel spills registers to memory.
///
/// # Errors
///
/// When the shipped PTX is another one, or a kernel can't be compiled.
pub fn run(workspace: &Workspace, update: bool) -> Result<(), Failure> {
    let crate_folder = workspace.root().join("crates/cuda");
    let shipped = crate_folder.join("kernels.ptx");
    let stamp = workspace.target().join("cuda-kernels-checked.txt");
    let inputs = inputs(&crate_folder, &shipped)?;
    if !update && fs::read_to_string(&stamp).is_ok_and(|checked| checked == inputs) {
        println!("the kernels are those that were checked last");
        return Ok(());
    }
    let Some(python) = python::cuda(workspace)? else {
        return Ok(());
    };
    let made = workspace.target().join("kernels.ptx");
    let mut compile = Command::new(python);
    compile.arg(crate_folder.join("ptx.py")).arg(&made);
    let ptxas = PathBuf::from(process::output_of(&mut compile)?.trim());
    if update {
        let copied = fs::copy(&made, &shipped);
        copied.map_err(|error| Failure::io("write", &shipped, &error))?;
    } else if read(&made)? != read(&shipped)? {
        return Err(Failure::new(format!(
            "{} is not what the sources give; run `cargo xtask ptx`",
            workspace.shown(&shipped)
        )));
    }
    for card in CARDS {
        let code = workspace.target().join(format!("kernels.{card}"));
        let mut assemble = Command::new(&ptxas);
        assemble.args(["--verbose", "--gpu-name", card]).arg(&made);
        let report = process::errors_of(assemble.arg("--output-file").arg(&code))?;
        println!("{card}: {}", summary(&report)?);
    }
    let checked = self::inputs(&crate_folder, &shipped)?;
    fs::write(&stamp, checked).map_err(|error| Failure::io("write", &stamp, &error))
}

/// All that the outcome depends on, as one text.
fn inputs(crate_folder: &Path, shipped: &Path) -> Result<String, Failure> {
    let folder = crate_folder.join("kernels");
    let listed = fs::read_dir(&folder).map_err(|error| Failure::io("list", &folder, &error))?;
    let mut files: Vec<PathBuf> = listed
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.sort();
    files.extend(["ptx.py", "requirements.txt"].map(|name| crate_folder.join(name)));
    let mut text = String::new();
    for file in &files {
        text += &read(file)?;
    }
    // Before the first update there is none.
    Ok(text + &fs::read_to_string(shipped).unwrap_or_default())
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::io("read", path, &error))
}

/// How many kernels ptxas has made, and what they take; an error for one that spills.
fn summary(report: &str) -> Result<String, Failure> {
    let (mut kernels, mut most, mut name) = (0, 0, "");
    for line in report.lines() {
        let number_before = |words: &str| -> Option<u32> {
            line.split_once(words)?
                .0
                .split_whitespace()
                .last()?
                .parse()
                .ok()
        };
        if let Some((_, rest)) = line.split_once("entry function '") {
            name = rest.split('\'').next().unwrap_or(rest);
            kernels += 1;
        }
        let spilled = number_before(" bytes spill stores").unwrap_or(0);
        if spilled > 0 {
            return Err(Failure::new(format!(
                "{name} spills {spilled} bytes of registers"
            )));
        }
        most = most.max(number_before(" registers").unwrap_or(0));
    }
    if kernels == 0 {
        return Err(Failure::new("ptxas named no kernel"));
    }
    Ok(format!(
        "{kernels} kernels, at most {most} registers, no spills"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
ptxas info    : Compiling entry function 'runs_1' for 'sm_80'
ptxas info    : Function properties for runs_1
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 26 registers, 2160 bytes cmem[0]
";

    #[test]
    fn reports_are_read() {
        let expected = "1 kernels, at most 26 registers, no spills";
        assert_eq!(summary(REPORT).unwrap(), expected);
        let spilling = REPORT.replace("0 bytes spill stores", "8 bytes spill stores");
        let failure = summary(&spilling).unwrap_err().to_string();
        assert_eq!(failure, "runs_1 spills 8 bytes of registers");
        assert!(summary("").is_err());
    }
}
