//! Where a sharding comes from.

use std::fmt;

use crate::proto::UnknownFields;

/// Where an operation, or its sharding, comes from: XLA's `OpMetadata`, as far as its text has it.
///
/// Empty strings, zeros and empty lists are not printed.
///
/// ```
/// use minormajor_core::sharding::OpMetadata;
///
/// let mut metadata = OpMetadata::named("jit(f)/add");
/// metadata.source_line = 7;
/// assert_eq!(metadata.to_string(), r#"op_name="jit(f)/add" source_line=7"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct OpMetadata {
    pub op_type: String,
    pub op_name: String,
    pub source_file: String,
    pub source_line: i32,
    pub source_end_line: i32,
    pub source_column: i32,
    pub source_end_column: i32,
    /// Numbers of XLA's enum of profile types.
    pub profile_types: Vec<i32>,
    pub deduplicated_name: String,
    pub scheduling_name: String,
    pub stack_frame_id: i32,
    /// The name in the payload; absent without one.
    pub metadata_payload: Option<String>,
    pub(crate) unknown: UnknownFields,
}

impl OpMetadata {
    /// That of an operation of this name.
    pub fn named(op_name: impl Into<String>) -> OpMetadata {
        OpMetadata {
            op_name: op_name.into(),
            ..OpMetadata::default()
        }
    }
}

impl fmt::Display for OpMetadata {
    /// As XLA prints it, without braces.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let mut item = |f: &mut fmt::Formatter<'_>, name: &str, value: &dyn fmt::Display| {
            write!(f, "{separator}{name}={value}")?;
            separator = " ";
            Ok(())
        };
        let strings = [
            ("op_type", &self.op_type),
            ("op_name", &self.op_name),
            ("source_file", &self.source_file),
        ];
        for (name, text) in strings.into_iter().filter(|(_, text)| !text.is_empty()) {
            item(f, name, &Quoted(text))?;
        }
        let numbers = [
            ("source_line", self.source_line),
            ("source_end_line", self.source_end_line),
            ("source_column", self.source_column),
            ("source_end_column", self.source_end_column),
        ];
        for (name, number) in numbers.into_iter().filter(|(_, number)| *number != 0) {
            item(f, name, &number)?;
        }
        if !self.profile_types.is_empty() {
            let types: Vec<String> = self.profile_types.iter().map(i32::to_string).collect();
            item(f, "profile_type", &format_args!("{{{}}}", types.join(",")))?;
        }
        if !self.deduplicated_name.is_empty() {
            item(f, "deduplicated_name", &Quoted(&self.deduplicated_name))?;
        }
        if !self.scheduling_name.is_empty() {
            item(f, "scheduling_name", &Quoted(&self.scheduling_name))?;
        }
        if self.stack_frame_id != 0 {
            item(f, "stack_frame_id", &self.stack_frame_id)?;
        }
        match &self.metadata_payload {
            Some(payload) => item(f, "metadata_payload", &Quoted(payload)),
            None => Ok(()),
        }
    }
}

/// A string in quotes, escaped as C does it, with octal numbers for what is no printable ASCII.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for byte in self.0.bytes() {
            match byte {
                b'\n' => f.write_str("\\n")?,
                b'\r' => f.write_str("\\r")?,
                b'\t' => f.write_str("\\t")?,
                b'"' | b'\'' | b'\\' => write!(f, "\\{}", char::from(byte))?,
                b' '..=b'~' => write!(f, "{}", char::from(byte))?,
                _ => write!(f, "\\{byte:03o}")?,
            }
        }
        f.write_str("\"")
    }
}
