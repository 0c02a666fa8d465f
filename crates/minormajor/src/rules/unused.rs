//! Rules that no array goes by, and why.

use std::fmt;

use super::Rules;

/// A rule that no array of a file goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnusedRule {
    /// Its number, from 0.
    pub rule: usize,
    /// Its text.
    pub text: String,
    /// Why none does.
    pub why: Unused,
}

/// Why no array goes by a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unused {
    /// None has a name that fits its pattern.
    Name,
    /// Those whose names fit have other numbers of dimensions.
    Rank {
        /// What it speaks of.
        expected: usize,
        /// What they have, each once, rising.
        found: Vec<usize>,
    },
    /// Earlier rules fit all that it fits; the first array's is this one, by its number from 0.
    Earlier {
        /// The rule's number.
        rule: usize,
    },
}

impl fmt::Display for UnusedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no array goes by the rule '{}': ", self.text)?;
        match &self.why {
            Unused::Name => f.write_str("none has such a name"),
            Unused::Rank { expected, found } => {
                let found: Vec<_> = found.iter().map(usize::to_string).collect();
                let found = match found.split_last() {
                    Some((last, [])) => last.clone(),
                    Some((last, others)) => format!("{} or {last}", others.join(", ")),
                    None => "no".to_owned(),
                };
                let plural = if found == "1" { "" } else { "s" };
                write!(
                    f,
                    "it is for {expected} dimension{}, and those of such names have {found} dimension{plural}",
                    if *expected == 1 { "" } else { "s" }
                )
            }
            Unused::Earlier { rule } => {
                write!(f, "earlier ones, such as number {}, come first", rule + 1)
            }
        }
    }
}

impl Rules {
    /// The rules that none of these arrays goes by, each array by its name and its number of
    /// dimensions: most are written by mistake.
    ///
    /// ```
    /// use minormajor::rules::Rules;
    ///
    /// let rules = Rules::new(["*.weight: OI -> IO".parse()?, "*.wieght: {0,1}".parse()?]);
    /// let unused = rules.unused(&[("dense.weight", 2), ("norm.weight", 1)]);
    /// assert_eq!(unused.len(), 1);
    /// assert_eq!(unused[0].to_string(), "no array goes by the rule '*.wieght: {0,1}': none has such a name");
    /// # Ok::<(), minormajor::rules::RuleError>(())
    /// ```
    pub fn unused(&self, arrays: &[(&str, usize)]) -> Vec<UnusedRule> {
        let mut used = vec![false; self.rules.len()];
        for &(name, rank) in arrays {
            if let Some(rule) = self.rules.iter().position(|rule| rule.fits(name, rank)) {
                used[rule] = true;
            }
        }
        let unused = self
            .rules
            .iter()
            .enumerate()
            .filter(|(rule, _)| !used[*rule]);
        let said = unused.map(|(number, rule)| {
            let named = |name: &str| rule.pattern.matches(name);
            let mut found: Vec<usize> = arrays
                .iter()
                .filter(|(name, _)| named(name))
                .map(|&(_, rank)| rank)
                .collect();
            found.sort_unstable();
            found.dedup();
            let before = arrays
                .iter()
                .find(|(name, rank)| rule.fits(name, *rank))
                .and_then(|(name, rank)| self.rules.iter().position(|rule| rule.fits(name, *rank)));
            UnusedRule {
                rule: number,
                text: rule.text.clone(),
                why: match (found.is_empty(), before) {
                    (true, _) => Unused::Name,
                    (false, Some(rule)) => Unused::Earlier { rule },
                    (false, None) => Unused::Rank {
                        expected: rule.rank,
                        found,
                    },
                },
            }
        });
        said.collect()
    }
}
