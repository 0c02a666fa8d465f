//! Other libraries, on the same cases and in the same rounds.

mod python;
#[cfg(feature = "peers")]
mod rust;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use minormajor::Plan;

use crate::case::Case;
use crate::contest::Contestant;
use python::Python;

/// The libraries that Python environments have.
const IN_PYTHON: &str = "NumPy, PyTorch, JAX, oneDNN, MKL";

/// Everyone who takes part beside minormajor and memcpy.
#[derive(Default)]
pub struct Peers {
    /// Names and versions.
    pub present: Vec<String>,
    /// Who could not take part, with the reasons.
    pub missing: Vec<String>,
    #[cfg(feature = "peers")]
    rust: Option<rust::Libraries>,
    /// By the number of threads that they use.
    processes: BTreeMap<usize, Rc<RefCell<Python>>>,
}

impl Peers {
    /// The libraries in Rust, if this was built with them, and those of a Python environment.
    pub fn new(interpreter: Option<&Path>, threads: &[usize]) -> Peers {
        let mut peers = Peers::default();
        #[cfg(feature = "peers")]
        {
            peers.present = rust::versions();
            peers.rust = Some(rust::Libraries::default());
        }
        #[cfg(not(feature = "peers"))]
        peers.missing.push(
            "ndarray, candle, strided-perm, transpose: built without `--features peers`".to_owned(),
        );
        if let Err(cause) = peers.start_processes(interpreter, threads) {
            peers.processes.clear();
            peers.missing.push(format!("{IN_PYTHON}: {cause}"));
        }
        peers
    }

    fn start_processes(
        &mut self,
        interpreter: Option<&Path>,
        threads: &[usize],
    ) -> Result<(), String> {
        let interpreter = interpreter.ok_or("no Python environment")?;
        let mut found = python::Present::default();
        for &threads in threads {
            let (python, present) = Python::start(interpreter, threads)?;
            self.processes
                .insert(threads, Rc::new(RefCell::new(python)));
            found = present;
        }
        let texts = |found: BTreeMap<String, String>, between: &str| -> Vec<String> {
            let each = |(name, what): (String, String)| format!("{name}{between}{what}");
            found.into_iter().map(each).collect()
        };
        self.present.extend(texts(found.versions, " "));
        self.missing.extend(texts(found.missing, ": "));
        Ok(())
    }

    /// Those who can do a case, made ready for it. `source` is the array.
    ///
    /// # Errors
    ///
    /// Where a process is lost.
    pub fn invite<'a>(
        &mut self,
        case: &Case,
        plan: &Plan,
        source: &'a [u8],
        threads: usize,
    ) -> Result<Vec<Box<dyn Contestant + 'a>>, String> {
        let mut invited: Vec<Box<dyn Contestant + 'a>> = Vec::new();
        #[cfg(feature = "peers")]
        if let Some(rust) = &mut self.rust {
            invited.extend(rust.invite(plan, source, threads)?);
        }
        #[cfg(not(feature = "peers"))]
        let _ = source;
        if let Some(python) = self.processes.get(&threads) {
            for there in python::invite(python, case, plan)? {
                invited.push(there);
            }
        }
        Ok(invited)
    }
}
