//! Protobuf's wire format: reading forwards, writing backwards.

use super::ProtoError;

/// Wire types.
pub(super) const VARINT: u8 = 0;
pub(super) const FIXED64: u8 = 1;
pub(super) const BYTES: u8 = 2;
pub(super) const FIXED32: u8 = 5;

/// Reads fields from a part of a buffer; offsets in errors count from the buffer's start.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    buffer: &'a [u8],
    pub at: usize,
    pub end: usize,
}

/// A field as it stands in a message.
pub(super) struct Field<'a> {
    pub number: u64,
    pub value: Value<'a>,
    /// Where its value starts.
    pub offset: usize,
    /// The whole field, tag included.
    pub bytes: &'a [u8],
}

/// A field's value by wire type.
pub(super) enum Value<'a> {
    Varint(u64),
    Bytes(Reader<'a>),
    Fixed(u8),
}

impl Value<'_> {
    pub fn wire_type(&self) -> u8 {
        match *self {
            Value::Varint(_) => VARINT,
            Value::Bytes(_) => BYTES,
            Value::Fixed(wire_type) => wire_type,
        }
    }
}

impl<'a> Reader<'a> {
    pub fn new(buffer: &'a [u8]) -> Self {
        Reader {
            buffer,
            at: 0,
            end: buffer.len(),
        }
    }

    /// The bytes that are left.
    pub fn rest(self) -> &'a [u8] {
        &self.buffer[self.at..self.end]
    }

    fn error(&self, offset: usize, expected: &'static str) -> ProtoError {
        ProtoError::Wire { offset, expected }
    }

    pub fn varint(&mut self) -> Result<u64, ProtoError> {
        let start = self.at;
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            if self.at == self.end {
                return Err(self.error(self.at, "more bytes of a varint"));
            }
            let byte = self.buffer[self.at];
            self.at += 1;
            // The tenth byte has room for one bit; further ones are dropped, as protobuf does.
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.error(start, "a varint of at most 10 bytes"))
    }

    fn skip(&mut self, bytes: u64) -> Result<usize, ProtoError> {
        let start = self.at;
        match usize::try_from(bytes) {
            Ok(bytes) if bytes <= self.end - self.at => {
                self.at += bytes;
                Ok(start)
            }
            _ => Err(self.error(start, "as many bytes as the field says")),
        }
    }

    /// The next field; `None` at the end of the message.
    pub fn field(&mut self) -> Result<Option<Field<'a>>, ProtoError> {
        if self.at == self.end {
            return Ok(None);
        }
        let start = self.at;
        let tag = self.varint()?;
        let offset = self.at;
        let (number, wire_type) = (tag >> 3, (tag & 7) as u8);
        if number == 0 || number >= 1 << 29 {
            return Err(self.error(start, "a field number from 1 to 536870911"));
        }
        let value = match wire_type {
            VARINT => Value::Varint(self.varint()?),
            FIXED64 => {
                self.skip(8)?;
                Value::Fixed(FIXED64)
            }
            FIXED32 => {
                self.skip(4)?;
                Value::Fixed(FIXED32)
            }
            BYTES => {
                let length = self.varint()?;
                let at = self.skip(length)?;
                Value::Bytes(Reader {
                    buffer: self.buffer,
                    at,
                    end: self.at,
                })
            }
            // Groups, which XLA's messages do not use and protobuf has given up.
            _ => return Err(self.error(start, "a wire type of 0, 1, 2 or 5")),
        };
        Ok(Some(Field {
            number,
            value,
            offset,
            bytes: &self.buffer[start..self.at],
        }))
    }
}

/// Writes a message from its last field to its first, so that the length of every part is known
/// when its prefix is written.
#[derive(Default)]
pub(super) struct Writer {
    reversed: Vec<u8>,
}

impl Writer {
    pub fn len(&self) -> usize {
        self.reversed.len()
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.reversed.reverse();
        self.reversed
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.reversed.extend(bytes.iter().rev());
    }

    fn varint(&mut self, mut value: u64) {
        let mut bytes = [0; 10];
        let mut length = 0;
        loop {
            bytes[length] = (value & 0x7f) as u8;
            value >>= 7;
            length += 1;
            if value == 0 {
                break;
            }
            bytes[length - 1] |= 0x80;
        }
        self.raw(&bytes[..length]);
    }

    fn tag(&mut self, field: u64, wire_type: u8) {
        self.varint(field << 3 | u64::from(wire_type));
    }

    /// A number; left out where it is 0, the default.
    pub fn number(&mut self, field: u64, value: i64) {
        if value != 0 {
            self.varint(value as u64);
            self.tag(field, VARINT);
        }
    }

    /// Bytes, also where there are none.
    pub fn bytes(&mut self, field: u64, bytes: &[u8]) {
        let end = self.len();
        self.raw(bytes);
        self.enclose(field, end);
    }

    /// Numbers in packed form; left out where there are none.
    pub fn packed(&mut self, field: u64, values: impl DoubleEndedIterator<Item = i64>) {
        let end = self.len();
        let mut any = false;
        for value in values.rev() {
            self.varint(value as u64);
            any = true;
        }
        if any {
            self.enclose(field, end);
        }
    }

    /// Makes all that was written since `end` bytes were there the bytes of a field.
    pub fn enclose(&mut self, field: u64, end: usize) {
        self.varint((self.len() - end) as u64);
        self.tag(field, BYTES);
    }
}
