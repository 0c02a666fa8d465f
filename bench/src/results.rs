//! What was measured, as it is kept between runs: a JSON file.

use std::fs;
use std::path::Path;

use minormajor::Pages;
use minormajor::measure::Times;
use serde::{Deserialize, Serialize};

use crate::contest::{CACHED, KEPT, MEMCPY, PLANNED};
use crate::machine::Machine;

/// The rows that were measured on one machine at one state of the project.
#[derive(Debug, Serialize, Deserialize)]
pub struct Results {
    /// Where, and by what.
    pub setting: Setting,
    /// In the order in which they were measured.
    pub rows: Vec<Row>,
    /// Cases that were to be measured and were not, each with the reason.
    pub left_out: Vec<String>,
}

/// What must be the same for rows to stand in one table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The machine.
    pub machine: Machine,
    /// The project's commit, with `and changes` behind it where files differed.
    pub commit: String,
    /// Others that took part, with versions.
    pub peers: Vec<String>,
    /// Others that could not, with the reasons.
    pub missing: Vec<String>,
}

/// A case by a number of threads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The case's name.
    pub case: String,
    /// The suite's letters.
    pub suite: String,
    /// The shape moved from.
    pub source: String,
    /// The shape moved to.
    pub destination: String,
    /// Threads.
    pub threads: usize,
    /// Bytes that memcpy copied.
    pub bytes: usize,
    /// The kernel of the plan's first box.
    pub kernel: String,
    /// The part of the first destination that was on huge pages; none where the system doesn't say.
    pub huge_share: Option<f64>,
    /// The time that the plan expected, in seconds.
    pub predicted_s: f64,
    /// Everyone's times.
    pub entries: Vec<Entry>,
    /// The best peer known from another machine, with its ratio.
    pub known: Option<(String, f64)>,
    /// What else is to be said.
    pub notes: Vec<String>,
}

/// One contestant's times, in seconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Who.
    pub name: String,
    /// Whether on 4 KiB pages.
    pub small_pages: bool,
    /// Rounds.
    pub rounds: usize,
    /// The median.
    pub median_s: f64,
    /// The lower quartile.
    pub low_s: f64,
    /// The upper quartile.
    pub high_s: f64,
}

impl Entry {
    /// From the times of all rounds.
    pub fn new(name: &str, pages: Pages, times: &Times) -> Entry {
        let [low_s, high_s] = times.quartiles();
        Entry {
            name: name.to_owned(),
            small_pages: pages == Pages::Small,
            rounds: times.rounds(),
            median_s: times.median(),
            low_s,
            high_s,
        }
    }
}

impl Row {
    /// A contestant's times.
    pub fn entry(&self, name: &str, small_pages: bool) -> Option<&Entry> {
        self.entries
            .iter()
            .find(|entry| entry.name == name && entry.small_pages == small_pages)
    }

    /// Those that are neither minormajor nor memcpy.
    pub fn peers(&self) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(|entry| ![MEMCPY, KEPT, PLANNED, CACHED].contains(&entry.name.as_str()))
    }

    /// The fastest of them.
    pub fn best_peer(&self) -> Option<&Entry> {
        self.peers()
            .min_by(|a, b| a.median_s.total_cmp(&b.median_s))
    }

    /// memcpy's median over this contestant's.
    pub fn ratio_of(&self, entry: &Entry) -> Option<f64> {
        let memcpy = self.entry(MEMCPY, entry.small_pages)?;
        Some(memcpy.median_s / entry.median_s)
    }

    /// memcpy's median over minormajor's.
    pub fn ratio(&self, small_pages: bool) -> Option<f64> {
        self.ratio_of(self.entry(KEPT, small_pages)?)
    }

    /// The ratios between which half of the rounds lie, memcpy's median over the quartiles.
    pub fn spread(&self) -> Option<[f64; 2]> {
        let (memcpy, kept) = (self.entry(MEMCPY, false)?, self.entry(KEPT, false)?);
        Some([memcpy.median_s / kept.high_s, memcpy.median_s / kept.low_s])
    }

    /// By how much the best peer is faster, as a part of minormajor's time; none where it isn't.
    pub fn behind(&self) -> Option<(&Entry, f64)> {
        let (peer, kept) = (self.best_peer()?, self.entry(KEPT, false)?);
        let behind = kept.median_s / peer.median_s - 1.0;
        (behind > 0.0).then_some((peer, behind))
    }
}

impl Results {
    /// No rows yet.
    pub fn new(setting: Setting) -> Results {
        Results {
            setting,
            rows: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// What earlier runs kept.
    ///
    /// # Errors
    ///
    /// Where the file can't be read, or is none of this program's.
    pub fn read(path: &Path) -> Result<Results, String> {
        let shown = path.display();
        let text =
            fs::read_to_string(path).map_err(|error| format!("can't read {shown}: {error}"))?;
        serde_json::from_str(&text).map_err(|error| format!("{shown}: {error}"))
    }

    /// The same, to add to in this setting.
    ///
    /// # Errors
    ///
    /// Where it was measured on another machine or of another state of the project: such rows can't
    /// stand in one table.
    pub fn continued(mut self, setting: Setting) -> Result<Results, String> {
        let (before, now) = (&self.setting, &setting);
        if (&before.machine, &before.commit) != (&now.machine, &now.commit) {
            return Err(format!(
                "nothing can be added: the rows before are of commit {} on {}, and this is {} on {}; \
                 leave out --add to start anew",
                before.commit, before.machine.cpu, now.commit, now.machine.cpu
            ));
        }
        // A run without peers adds rows too.
        if !setting.peers.is_empty() {
            self.setting = setting;
        }
        Ok(self)
    }

    /// Says why a case has no row.
    pub fn leave_out(&mut self, case: &str, reason: &str) {
        if !self.rows.iter().any(|row| row.case == case) {
            self.left_out.push(format!("{case}: {reason}"));
        }
    }

    /// Whether a case has rows by all these numbers of threads, and with peers if they are wanted.
    pub fn has(&self, case: &str, threads: &[usize], peers: bool) -> bool {
        threads.iter().all(|&threads| {
            let of_case = |row: &&Row| row.case == case && row.threads == threads;
            let mut rows = self.rows.iter().filter(of_case);
            rows.any(|row| !peers || row.best_peer().is_some())
        })
    }

    /// Adds rows, in place of those of the same case and threads.
    pub fn add(&mut self, rows: Vec<Row>) {
        for row in rows {
            let same = |other: &Row| other.case == row.case && other.threads == row.threads;
            self.rows.retain(|other| !same(other));
            let left_out = format!("{}:", row.case);
            self.left_out.retain(|line| !line.starts_with(&left_out));
            self.rows.push(row);
        }
    }

    /// Keeps everything for a later run.
    ///
    /// # Errors
    ///
    /// Where the file can't be written.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            fs::write(path, text)
        };
        write().map_err(|error| format!("can't write {}: {error}", path.display()))
    }
}

/// The geometric mean; none of nothing.
pub fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let sum: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (!ratios.is_empty()).then(|| (sum / ratios.len() as f64).exp())
}
