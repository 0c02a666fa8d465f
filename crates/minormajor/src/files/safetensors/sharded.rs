//! Sets of files: an index in JSON says in which file each array is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use serde::Deserialize;

use super::header::{Pairs, json_damage};
use super::{Safetensors, read};
use crate::files::array::Within;
use crate::files::error::{Damage, excerpt};
use crate::files::input::open;
use crate::files::{Array, Contents, FileError, Format, Frame, Input, Refusal};

/// The longest index that is read, in bytes.
const MAX_INDEX: u64 = 100_000_000;

/// The index of a set of files.
pub(in crate::files) struct Sharded;

/// What an index says; its own metadata (the set's size) is made anew by whoever writes one.
#[derive(Deserialize)]
struct Index {
    weight_map: Pairs,
}

impl Format for Sharded {
    fn extension(&self) -> &'static str {
        "safetensors.index.json"
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Contents, FileError> {
        input.check_not_strided(self.extension())?;
        let damaged = |damage: Damage| damage.in_file(input.path, self.extension());
        if input.length() > MAX_INDEX {
            let expected = format!("at most {MAX_INDEX} bytes");
            return Err(damaged(Damage::new(
                0,
                expected,
                input.length().to_string(),
            )));
        }
        let path = input.path.to_owned();
        let damaged = |damage: Damage| damage.in_file(&path, self.extension());
        let text = input.read(0, MAX_INDEX as usize)?;
        let index: Index = serde_json::from_slice(&text)
            .map_err(|error| damaged(json_damage(&error, &text, 0)))?;
        let mut shards: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (array, shard) in &index.weight_map.0 {
            shards.entry(shard).or_default().insert(array);
        }
        let directory = path.parent().unwrap_or(Path::new(""));
        let mut contents = Contents::default();
        for (shard, names) in shards {
            // A name that climbs out of the directory, or is a path, is nobody's shard.
            let mut parts = Path::new(shard).components();
            let plain = matches!(
                (parts.next(), parts.next()),
                (Some(Component::Normal(_)), None)
            );
            if !plain || shard.contains(['/', '\\']) {
                let found = excerpt(shard.as_bytes(), 60);
                return Err(damaged(Damage::new(
                    0,
                    "names of files beside the index",
                    found,
                )));
            }
            let shard = directory.join(shard);
            let found = read_shard(&shard)?;
            let held: BTreeSet<_> = found.arrays.iter().map(|array| &*array.name).collect();
            if let Some(other) = held.symmetric_difference(&names).next() {
                let (has, lacks) = match held.contains(other) {
                    true => ("the file", "the index"),
                    false => ("the index", "the file"),
                };
                let expected = format!("the same arrays as in {}", shard.display());
                let found = format!("{other:?}, which {has} has and {lacks} lacks");
                return Err(damaged(Damage::new(0, expected, found)));
            }
            for pair in found.metadata {
                match contents.metadata.iter().find(|(name, _)| *name == pair.0) {
                    None => contents.metadata.push(pair),
                    Some((_, value)) if *value == pair.1 => {}
                    Some((name, value)) => {
                        let expected = format!("one value of {name:?} in all files, {value:?}");
                        let found = format!("{:?} in {}", pair.1, shard.display());
                        return Err(damaged(Damage::new(0, expected, found)));
                    }
                }
            }
            contents
                .arrays
                .extend(found.arrays.into_iter().map(|array| Array {
                    within: Within::Another(shard.clone()),
                    ..array
                }));
        }
        Ok(contents)
    }

    fn refuses(&self, _: &Array) -> Option<Refusal> {
        Some(Refusal::ReadOnly)
    }

    fn holds_one(&self) -> bool {
        false
    }

    fn frame(&self, _: &Path, _: &Contents) -> Result<Frame, FileError> {
        unreachable!("every array is refused")
    }
}

fn read_shard(path: &Path) -> Result<Contents, FileError> {
    let mut file = &open(path)?;
    read(&mut Input::new(path, &mut file)?)?
        .map_err(|damage| damage.in_file(path, Safetensors.extension()))
}
