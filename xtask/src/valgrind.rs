//! Finding valgrind, and installing it where that is a matter of one command.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::process;

/// Why valgrind can't be used here; nothing where it can, after it was installed if need be.
///
/// # Errors
///
/// In CI, where nothing may be left out, the reason is a failure.
pub fn missing() -> Result<Option<String>, Failure> {
    let reason = match try_to_have() {
        Ok(()) => return Ok(None),
        Err(reason) => reason,
    };
    if process::is_ci() {
        return Err(Failure::new(reason));
    }
    Ok(Some(reason))
}

/// A program under valgrind with these options. Its CPU has no AVX-512, so the instruction set is
/// named.
pub fn command(options: &[&str], isa: &str, program: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command
        .args(options)
        .arg(program)
        .env("MINORMAJOR_ISA", isa)
        .env_remove("VALGRIND_OPTS");
    command
}

fn try_to_have() -> Result<(), String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        let (system, cpu) = (env::consts::OS, env::consts::ARCH);
        return Err(format!(
            "they are for Linux on x86-64, and this is {system} on {cpu}"
        ));
    }
    if !has_avx2() {
        return Err("they need a CPU with AVX2".to_owned());
    }
    let version = || process::output_of(Command::new("valgrind").arg("--version"));
    if version().is_ok() {
        return Ok(());
    }
    install().map_err(|cause| {
        format!("valgrind was not found, and {cause}; install it (Debian: valgrind)")
    })?;
    version()
        .map(drop)
        .map_err(|failure| format!("valgrind doesn't run: {failure}"))
}

fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Installs it with the system's package manager, where that is apt and this is root.
fn install() -> Result<(), String> {
    let user = process::output_of(Command::new("id").arg("-u"));
    if !user.is_ok_and(|id| id.trim() == "0") {
        return Err("only root may install it".to_owned());
    }
    println!("installing valgrind with apt-get");
    for arguments in [&["update"][..], &["install", "--yes", "valgrind"][..]] {
        let mut command = Command::new("apt-get");
        command
            .arg("--quiet=2")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null());
        process::output_of(&mut command).map_err(|failure| failure.to_string())?;
    }
    Ok(())
}
