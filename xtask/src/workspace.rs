//! Where the project's files are, and cargo run on them.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::process;

/// Where the toolchain ships the address sanitizer.
const WITH_ADDRESS_SANITIZER: [&str; 4] = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
];

/// The folders of this clone, as absolute paths.
pub struct Workspace {
    root: PathBuf,
    target: PathBuf,
    cargo: OsString,
}

impl Workspace {
    /// The workspace that this program belongs to, whatever the working folder.
    pub fn find() -> Result<Workspace, Failure> {
        // cargo says at run time where the package is; the compile-time path serves
        // a binary that was started by hand.
        let package = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = match package.parent() {
            Some(root) if root.join("Cargo.toml").is_file() => root.to_owned(),
            _ => {
                return Err(Failure::new(format!(
                    "the workspace of {} is gone: start this as `cargo xtask` in a clone",
                    package.display()
                )));
            }
        };
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => std::path::absolute(&folder)
                .map_err(|error| Failure::io("resolve", Path::new(&folder), &error))?,
            None => root.join("target"),
        };
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Ok(Workspace {
            root,
            target,
            cargo,
        })
    }

    /// The folder that holds the workspace's `Cargo.toml`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where everything that is built goes; not under version control.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The cargo that started this program.
    pub fn cargo_program(&self) -> &OsString {
        &self.cargo
    }

    /// A cargo command in the root that builds into [`target`](Workspace::target).
    pub fn cargo(&self, subcommand: &str) -> Command {
        let mut command = Command::new(&self.cargo);
        command
            .arg(subcommand)
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target);
        command
    }

    /// The triple that the compiler itself runs on.
    pub fn host(&self) -> Result<String, Failure> {
        let mut command = self.cargo("--version");
        let text = process::output_of(command.arg("--verbose"))?;
        text.lines()
            .find_map(|line| line.strip_prefix("host: "))
            .map(str::to_owned)
            .ok_or_else(|| Failure::new("`cargo --version --verbose` doesn't name the host"))
    }

    /// Whether programs for this machine can be built with the address sanitizer.
    pub fn has_address_sanitizer(&self) -> Result<bool, Failure> {
        let host = self.host()?;
        Ok(WITH_ADDRESS_SANITIZER.contains(&host.as_str()))
    }

    /// The command line's release binary, which is there once it was built.
    pub fn release_binary(&self) -> PathBuf {
        self.program("release", "minormajor")
    }

    /// A program of the workspace, built in a profile's folder.
    pub fn program(&self, profile: &str, name: &str) -> PathBuf {
        let name = format!("{name}{}", env::consts::EXE_SUFFIX);
        self.target.join(profile).join(name)
    }

    /// `path` as a person in the root would write it.
    pub fn shown<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }
}
