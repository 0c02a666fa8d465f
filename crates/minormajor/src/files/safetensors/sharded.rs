//! Sets of files: an index in JSON says in which file each array is.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::path::{Component, Path};

use serde::Deserialize;

use super::header::{Pairs, json_damage};
use super::{Safetensors, read};
use crate::files::array::Within;
use crate::files::error::{Damage, excerpt};
use crate::files::format::NewFile;
use crate::files::input::open;
use crate::files::{Array, Contents, FileError, Format, Frame, Input, Refusal};

/// The longest index that is read, in bytes.
const MAX_INDEX: u64 = 100_000_000;

/// The index of a set of files.
pub(in crate::files) struct Sharded;

/// What an index says.
#[derive(Deserialize)]
struct Index {
    /// The size of all arrays, which is made anew by whoever writes one, and what else is there.
    #[serde(default)]
    metadata: serde_json::Map<String, serde_json::Value>,
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
        let mut contents = Contents {
            index: index.metadata,
            ..Contents::default()
        };
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
            for pair in &found.metadata {
                match contents.metadata.iter().find(|(name, _)| *name == pair.0) {
                    None => contents.metadata.push(pair.clone()),
                    Some((_, value)) if *value == pair.1 => {}
                    Some(first @ (name, value)) => {
                        let mut parts = contents.parts.iter();
                        let other = parts.find(|(_, pairs)| pairs.contains(first));
                        let other = other.map_or(shard.as_path(), |(path, _)| path);
                        let expected = format!(
                            "one value of {name:?} in all files, {value:?} as in {}",
                            other.display()
                        );
                        let found = format!("{:?} in {}", pair.1, shard.display());
                        return Err(damaged(Damage::new(0, expected, found)));
                    }
                }
            }
            contents.parts.insert(shard.clone(), found.metadata);
            contents
                .arrays
                .extend(found.arrays.into_iter().map(|array| Array {
                    within: Within::Another(shard.clone()),
                    ..array
                }));
        }
        Ok(contents)
    }

    fn refuses(&self, array: &Array) -> Option<Refusal> {
        Safetensors.refuses(array)
    }

    fn holds_one(&self) -> bool {
        false
    }

    fn holds_metadata(&self) -> bool {
        true
    }

    /// The index alone: what [`files`](Format::files) puts behind the files that it names.
    fn frame(&self, path: &Path, contents: &Contents) -> Result<Frame, FileError> {
        let text = index(path, contents).into_bytes();
        Ok(Frame {
            length: text.len() as u64,
            pieces: vec![(0, text)],
            ..Frame::default()
        })
    }

    /// As many files as the arrays come from, and the index.
    fn files(&self, path: &Path, contents: &Contents) -> Result<Vec<NewFile>, FileError> {
        let mut names = HashSet::new();
        for array in &contents.arrays {
            if !names.insert(&array.name) {
                return Err(FileError::ArrayName {
                    path: path.to_owned(),
                    format: self.extension(),
                    name: array.name.clone(),
                });
            }
        }
        let mut files = Vec::new();
        for (name, arrays) in shards(path, contents) {
            let path = path.with_file_name(name);
            let own = match &contents.arrays[arrays.start].within {
                Within::Another(part) => contents.parts.get(&**part),
                _ => None,
            };
            let held = Contents {
                arrays: contents.arrays[arrays.clone()].to_vec(),
                metadata: own.unwrap_or(&contents.metadata).clone(),
                ..Contents::default()
            };
            files.push(NewFile {
                frame: Safetensors.frame(&path, &held)?,
                path,
                arrays,
            });
        }
        let end = contents.arrays.len();
        files.push(NewFile {
            path: path.to_owned(),
            arrays: end..end,
            frame: self.frame(path, contents)?,
        });
        Ok(files)
    }
}

/// The files of a set, by the names that are usual for them, and which arrays each holds: those
/// that were in one file stay so.
fn shards(path: &Path, contents: &Contents) -> Vec<(String, Range<usize>)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = &name[..name.len() - Sharded.extension().len() - 1];
    let mut parts: Vec<Range<usize>> = Vec::new();
    for (place, array) in contents.arrays.iter().enumerate() {
        match parts.last_mut() {
            Some(last) if contents.arrays[last.start].within == array.within => {
                last.end = place + 1;
            }
            _ => parts.push(place..place + 1),
        }
    }
    let count = parts.len();
    let parts = parts.into_iter().enumerate();
    let named = parts.map(|(number, arrays)| {
        let name = format!("{stem}-{:05}-of-{count:05}.safetensors", number + 1);
        (name, arrays)
    });
    named.collect()
}

/// The text of an index, as transformers writes it: keys in order, with the bytes of all arrays.
fn index(path: &Path, contents: &Contents) -> String {
    let mut metadata = contents.index.clone();
    let bytes: u64 = contents.arrays.iter().map(Array::bytes).sum();
    metadata.insert("total_size".to_owned(), bytes.into());
    let mut files = serde_json::Map::new();
    for (name, arrays) in shards(path, contents) {
        for array in &contents.arrays[arrays] {
            files.insert(array.name.clone(), name.clone().into());
        }
    }
    let mut index = serde_json::json!({ "metadata": metadata, "weight_map": files });
    // Whether a map keeps its order is a feature that another crate may turn on.
    index.sort_all_objects();
    format!("{index:#}\n")
}

fn read_shard(path: &Path) -> Result<Contents, FileError> {
    let mut file = &open(path)?;
    read(&mut Input::new(path, &mut file)?)?
        .map_err(|damage| damage.in_file(path, Safetensors.extension()))
}
