//! What a sharding says of the operations behind it, from text.

use super::Parser;
use crate::sharding::{OpMetadata, ShardingError};
use crate::text::ParseError;

impl Parser<'_> {
    /// Reads `metadata={op_name="a"}` or `metadata={{op_name="a"}, {op_name="b"}}`.
    pub(super) fn metadata(&mut self) -> Result<Vec<OpMetadata>, ParseError> {
        self.cursor.take_word()?;
        self.cursor.expect("=", "`=` behind metadata")?;
        self.cursor.expect("{", "`{` behind metadata=")?;
        if self.cursor.peek() != b'{' {
            return Ok(vec![self.one_metadata()?]);
        }
        let mut list = Vec::new();
        loop {
            self.cursor.expect("{", "`{` before metadata")?;
            list.push(self.one_metadata()?);
            if self.cursor.eat("}")? {
                return Ok(list);
            }
            self.cursor.expect(",", "`,` or `}` behind metadata")?;
        }
    }

    fn one_metadata(&mut self) -> Result<OpMetadata, ParseError> {
        let mut metadata = OpMetadata::default();
        let mut seen: Vec<&str> = Vec::new();
        while !self.cursor.eat("}")? {
            let at = self.cursor.offset();
            let name = self.cursor.word();
            if seen.contains(&name) {
                let error = ShardingError::Contradiction {
                    found: "with metadata that says something twice",
                    expected: "it once",
                };
                return Err(self.cursor.error_at(at, error));
            }
            let expected = "what XLA's metadata has, such as op_name=\"add\", or `}`";
            let strings = [
                ("op_type", &mut metadata.op_type),
                ("op_name", &mut metadata.op_name),
                ("source_file", &mut metadata.source_file),
                ("deduplicated_name", &mut metadata.deduplicated_name),
                ("scheduling_name", &mut metadata.scheduling_name),
            ];
            let numbers = [
                ("source_line", &mut metadata.source_line),
                ("source_end_line", &mut metadata.source_end_line),
                ("source_column", &mut metadata.source_column),
                ("source_end_column", &mut metadata.source_end_column),
                ("stack_frame_id", &mut metadata.stack_frame_id),
            ];
            let equals = format!("{name}=");
            if name.is_empty() || !self.cursor.rest().starts_with(&equals) {
                return Err(self.cursor.unexpected(expected));
            }
            if let Some((_, text)) = strings.into_iter().find(|(own, _)| *own == name) {
                self.cursor.eat(&equals)?;
                *text = self.string("a string in quotes")?;
            } else if let Some((_, number)) = numbers.into_iter().find(|(own, _)| *own == name) {
                self.cursor.eat(&equals)?;
                *number = self.small("a number of 32 bits")?;
            } else if name == "profile_type" {
                self.cursor.eat(&equals)?;
                self.cursor.expect("{", "`{` before profile types")?;
                while !self.cursor.eat("}")? {
                    if !metadata.profile_types.is_empty() {
                        self.cursor.expect(",", "`,` or `}`")?;
                    }
                    let profile_type = self.small("a profile type's number")?;
                    metadata.profile_types.push(profile_type);
                }
            } else if name == "metadata_payload" {
                self.cursor.eat(&equals)?;
                metadata.metadata_payload = Some(self.string("a string in quotes")?);
            } else {
                return Err(self.cursor.unexpected(expected));
            }
            seen.push(name);
            if self.cursor.eat(",")? && self.cursor.peek() == b'}' {
                return Err(self.cursor.unexpected(expected));
            }
        }
        Ok(metadata)
    }

    fn small(&mut self, expected: &'static str) -> Result<i32, ParseError> {
        let at = self.cursor.offset();
        let number = self.cursor.integer(expected)?;
        i32::try_from(number).map_err(|_| {
            let error = ShardingError::Contradiction {
                found: "with a number beyond 32 bits in its metadata",
                expected: "one of 32 bits",
            };
            self.cursor.error_at(at, error)
        })
    }
}
