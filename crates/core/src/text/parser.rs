//! Shapes and layouts from text, without recursion on the nesting.

use std::str::FromStr;

use smallvec::SmallVec;

use super::cursor::{Cursor, quote};
use super::{ParseError, ParseErrorReason};
use crate::array::ArrayShape;
use crate::error::{Part, ShapeError};
use crate::layout::{Layout, PaddingValue, SplitConfig, Tile, TileDimension};
use crate::shape::{MAX_NESTING, Shape, TupleShape};
use crate::{Dimension, UnknownElementType};

/// How to read a shape's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseOptions {
    /// Whether an array without a layout gets the default one, major to minor. (A scalar always
    /// does.) True unless set.
    pub fill_missing_layouts: bool,
}

impl Default for ParseOptions {
    fn default() -> Self {
        ParseOptions {
            fill_missing_layouts: true,
        }
    }
}

impl ParseOptions {
    /// Leaves layouts that the text does not give absent.
    pub fn keep_missing_layouts(mut self) -> Self {
        self.fill_missing_layouts = false;
        self
    }

    /// Reads a shape.
    ///
    /// # Errors
    ///
    /// [`ParseError`], with the column and what was expected there.
    ///
    /// ```
    /// use minormajor_core::ParseOptions;
    ///
    /// let shape = ParseOptions::default().keep_missing_layouts().parse("f32[2,3]")?;
    /// assert_eq!(shape.to_string(), "f32[2,3]");
    /// # Ok::<(), minormajor_core::ParseError>(())
    /// ```
    pub fn parse(self, text: &str) -> Result<Shape, ParseError> {
        let mut parser = Parser::new(Cursor::new(text)?, self);
        let shape = parser.shape()?;
        if !parser.cursor.at_end() {
            return Err(parser.cursor.unexpected("the end of the shape"));
        }
        Ok(shape)
    }
}

impl FromStr for Shape {
    type Err = ParseError;

    /// Reads a shape; arrays without a layout get the default one.
    fn from_str(text: &str) -> Result<Shape, ParseError> {
        ParseOptions::default().parse(text)
    }
}

impl FromStr for Layout {
    type Err = ParseError;

    /// Reads a layout with its braces: `{1,0:T(8,128)}`; `{}` is that of a scalar.
    fn from_str(text: &str) -> Result<Layout, ParseError> {
        let mut parser = Parser::new(Cursor::new(text)?, ParseOptions::default());
        parser
            .cursor
            .expect("{", "`{` before a layout such as {1,0}")?;
        let layout = parser.layout_behind_brace(None)?;
        if !parser.cursor.at_end() {
            return Err(parser.cursor.unexpected("the end of the layout"));
        }
        Ok(layout)
    }
}

/// Reads shapes from a cursor, which may stand in a longer text.
pub(crate) struct Parser<'a> {
    pub cursor: Cursor<'a>,
    /// Where the parts of the array being read stand, for errors that its constructors find.
    marks: Vec<(Part, usize)>,
    options: ParseOptions,
    /// Whether the shape stands in a module's text, where a `{` behind it may begin something
    /// else: it begins a layout if a dimension number or `:` follows.
    in_module: bool,
}

/// The properties in their order.
const PROPERTIES: [&str; 7] = ["T", "L", "E", "S", "SC", "M", "PAD"];

impl<'a> Parser<'a> {
    fn new(cursor: Cursor<'a>, options: ParseOptions) -> Self {
        Parser {
            cursor,
            marks: Vec::new(),
            options,
            in_module: false,
        }
    }

    /// Reads shapes inside a module's text; layouts that it does not give are absent.
    pub fn in_module(cursor: Cursor<'a>) -> Self {
        Parser {
            in_module: true,
            ..Parser::new(cursor, ParseOptions::default().keep_missing_layouts())
        }
    }

    /// Reads the shape at the cursor, which then stands behind it.
    pub fn shape(&mut self) -> Result<Shape, ParseError> {
        // Tuples that are open, each with the elements that it has so far.
        let mut open: Vec<Vec<Shape>> = Vec::new();
        loop {
            let mut shape = if self.cursor.peek() == b'(' {
                if open.len() == MAX_NESTING {
                    return Err(self
                        .cursor
                        .error(ShapeError::TooDeep { limit: MAX_NESTING }));
                }
                self.cursor.eat("(")?;
                if !self.cursor.eat(")")? {
                    open.push(Vec::new());
                    continue;
                }
                self.tuple(Vec::new())?
            } else {
                self.leaf()?
            };
            loop {
                let Some(elements) = open.last_mut() else {
                    return Ok(shape);
                };
                elements.push(shape);
                if self.cursor.eat(",")? {
                    break;
                }
                self.cursor.expect(")", "`,` or `)` in a tuple")?;
                let elements = open.pop().unwrap_or_default();
                shape = self.tuple(elements)?;
            }
        }
    }

    fn tuple(&self, elements: Vec<Shape>) -> Result<Shape, ParseError> {
        let tuple = TupleShape::new(elements).map_err(|error| self.cursor.error(error))?;
        Ok(tuple.into())
    }

    fn leaf(&mut self) -> Result<Shape, ParseError> {
        let start = self.cursor.offset();
        match self.cursor.word() {
            "token" | "opaque" => {
                let shape = match self.cursor.take_word()? {
                    "token" => Shape::token(),
                    _ => Shape::opaque(),
                };
                self.cursor.expect("[", "`[]` behind token or opaque")?;
                self.cursor
                    .expect("]", "`]`: token and opaque have no dimensions")?;
                if self.at_layout() {
                    return Err(self.cursor.unexpected("no layout behind token or opaque"));
                }
                Ok(shape)
            }
            "b" => {
                self.cursor.take_word()?;
                self.cursor
                    .expect("(", "`(` behind b, which wraps an array: b(f32[2])")?;
                let start = self.cursor.offset();
                let array = self.array(start)?;
                self.cursor.expect(")", "`)` behind the buffer's array")?;
                Ok(Shape::buffer(array))
            }
            _ => Ok(self.array(start)?.into()),
        }
    }

    fn array(&mut self, start: usize) -> Result<ArrayShape, ParseError> {
        let element_type = match self.cursor.word() {
            "" => {
                let expected = "an element type such as f32, bf16, s32, u8 or pred";
                return Err(self.cursor.unexpected(expected));
            }
            word => word.parse().map_err(|error: UnknownElementType| {
                self.cursor.error(ParseErrorReason::ElementType {
                    found: quote(word),
                    meant: error.meant,
                })
            })?,
        };
        self.cursor.take_word()?;
        self.marks.clear();
        self.cursor.expect("[", "`[` behind the element type")?;
        let mut dimensions: SmallVec<[Dimension; 6]> = SmallVec::new();
        if !self.cursor.eat("]")? {
            loop {
                self.mark(Part::Dimension(dimensions.len()));
                dimensions.push(self.dimension()?);
                if self.cursor.eat("]")? {
                    break;
                }
                self.cursor.expect(",", "`,` or `]` behind a dimension")?;
            }
        }
        let layout = if self.at_layout() {
            self.cursor.eat("{")?;
            if dimensions.is_empty() && self.cursor.peek() != b':' {
                return Err(self
                    .cursor
                    .unexpected("`:` and properties: a scalar's layout has no order"));
            }
            Some(self.layout_behind_brace(Some(dimensions.len()))?)
        } else if dimensions.is_empty() || self.options.fill_missing_layouts {
            Some(Layout::descending(dimensions.len()))
        } else {
            None
        };
        ArrayShape::checked(element_type, dimensions, layout)
            .map_err(|error| self.misbuilt(error, start))
    }

    fn at_layout(&self) -> bool {
        let inside = self.cursor.rest().strip_prefix('{');
        inside.is_some_and(|inside| {
            let begins = |c: char| c == ':' || c == '-' || c.is_ascii_digit();
            !self.in_module || inside.trim_start().starts_with(begins)
        })
    }

    fn dimension(&mut self) -> Result<Dimension, ParseError> {
        if self.cursor.eat("?")? {
            return Ok(Dimension::Unbounded);
        }
        if self.cursor.eat("<=")? {
            return Ok(Dimension::Bounded(
                self.cursor.integer("a bound behind `<=`")?,
            ));
        }
        let size = self.cursor.integer("a size, a bound (`<=8`) or `?`")?;
        Ok(Dimension::Static(size))
    }

    /// Reads a layout whose `{` is read, of an array of this rank where it is known.
    fn layout_behind_brace(&mut self, rank: Option<usize>) -> Result<Layout, ParseError> {
        let start = self.cursor.offset();
        let mut order: SmallVec<[i64; 6]> = SmallVec::new();
        if !matches!(self.cursor.peek(), b':' | b'}') {
            loop {
                self.mark(Part::Order(order.len()));
                order.push(self.cursor.integer("a dimension number, minor to major")?);
                if !self.cursor.eat(",")? {
                    break;
                }
            }
        }
        self.mark(Part::OrderEnd);
        if !matches!(self.cursor.peek(), b':' | b'}') {
            return Err(self
                .cursor
                .unexpected("`,`, `:` or `}` behind the minor-to-major order"));
        }
        let found = order.len();
        let layout = match rank {
            Some(rank) if rank != found => Err(ShapeError::LayoutRank { found, rank }),
            _ => Layout::new(order),
        };
        let mut layout = layout.map_err(|error| self.misbuilt(error, start))?;
        if self.cursor.eat("}")? {
            return Ok(layout);
        }
        self.cursor.eat(":")?;
        let mut before: Option<usize> = None;
        while !self.cursor.eat("}")? {
            let start = self.cursor.offset();
            let place = self.property(before)?;
            self.cursor.expect("(", "`(` behind the property's name")?;
            layout = self
                .property_behind_parenthesis(PROPERTIES[place], layout)?
                .map_err(|error| self.misbuilt(error, start))?;
            before = Some(place);
        }
        Ok(layout)
    }

    /// Takes the name of the next property, which must come behind the one `before`.
    fn property(&mut self, before: Option<usize>) -> Result<usize, ParseError> {
        let unsupported = |property, meaning| ParseErrorReason::Property { property, meaning };
        let word = self.cursor.word();
        let known = PROPERTIES.iter().position(|&name| name == word);
        let reason = match (word, self.cursor.peek(), known, before) {
            (_, _, Some(place), Some(before)) if place <= before => {
                ParseErrorReason::PropertyOrder {
                    property: PROPERTIES[place],
                    before: PROPERTIES[before],
                }
            }
            (_, _, Some(place), _) => {
                self.cursor.take_word()?;
                return Ok(place);
            }
            ("D", ..) => unsupported("D(..)", "the dimension level types of sparse arrays"),
            ("P", ..) => unsupported("P(..)", "a physical shape"),
            (_, b'#', ..) => unsupported("#(..)", "an index element type"),
            (_, b'*', ..) => unsupported("*(..)", "a pointer element type"),
            _ => {
                return Err(self
                    .cursor
                    .unexpected("a layout property (T, L, E, S, SC, M or PAD) or `}`"));
            }
        };
        Err(self.cursor.error(reason))
    }

    /// Reads a property's values; the inner result says whether they fit the layout.
    fn property_behind_parenthesis(
        &mut self,
        property: &str,
        layout: Layout,
    ) -> Result<Result<Layout, ShapeError>, ParseError> {
        Ok(match property {
            "T" => layout.with_tiles(self.tiles()?),
            "L" => {
                let alignment = self.number(Part::TailPadding, "a number of elements")?;
                layout.with_tail_padding_alignment(alignment)
            }
            "E" => {
                let bits = self.number(Part::ElementSize, "a number of bits")?;
                layout.with_element_size_in_bits(bits)
            }
            "S" => Ok(layout.with_memory_space(self.number(Part::Whole, "a memory space")?)),
            "SC" => layout.with_split_configs(self.split_configs()?),
            "M" => {
                let bytes = self.number(Part::MetadataPrefix, "a number of bytes")?;
                layout.with_dynamic_shape_metadata_prefix_bytes(bytes)
            }
            _ => {
                let (padded, value) = self.padding()?;
                layout.with_padding(padded, value)
            }
        })
    }

    fn number(&mut self, part: Part, expected: &'static str) -> Result<i64, ParseError> {
        self.mark(part);
        let number = self.cursor.integer(expected)?;
        self.cursor.expect(")", "`)` behind the number")?;
        Ok(number)
    }

    fn tiles(&mut self) -> Result<Vec<Tile>, ParseError> {
        let mut tiles = Vec::new();
        loop {
            let mut dimensions: SmallVec<[TileDimension; 4]> = SmallVec::new();
            loop {
                self.mark(Part::Tile(tiles.len(), dimensions.len()));
                dimensions.push(if self.cursor.eat("*")? {
                    TileDimension::Combine
                } else {
                    TileDimension::Size(self.cursor.integer("a tile size or `*`")?)
                });
                if self.cursor.eat(")")? {
                    break;
                }
                self.cursor.expect(",", "`,` or `)` behind a tile size")?;
            }
            tiles.push(Tile::new(dimensions));
            if !self.cursor.eat("(")? {
                return Ok(tiles);
            }
        }
    }

    fn split_configs(&mut self) -> Result<Vec<SplitConfig>, ParseError> {
        let mut configs = Vec::new();
        loop {
            self.mark(Part::Split(configs.len()));
            let dimension = self
                .cursor
                .integer("a physical dimension, 0 being the most major")?;
            self.cursor
                .expect(":", "`:` behind the physical dimension")?;
            let mut indices: Vec<i64> = Vec::new();
            loop {
                self.mark(Part::SplitIndex(configs.len(), indices.len()));
                indices.push(self.cursor.integer("an index to split before")?);
                if self.cursor.eat(")")? {
                    break;
                }
                self.cursor.expect(",", "`,` or `)` behind a split index")?;
            }
            configs.push(SplitConfig::new(dimension, indices));
            if !self.cursor.eat("(")? {
                return Ok(configs);
            }
        }
    }

    fn padding(&mut self) -> Result<(Vec<i64>, PaddingValue), ParseError> {
        let mut padded = Vec::new();
        let mut value = PaddingValue::Zero;
        loop {
            self.mark(Part::Padded(padded.len()));
            padded.push(self.cursor.integer("a padded width")?);
            if !self.cursor.eat(",")? {
                break;
            }
        }
        self.mark(Part::PaddedEnd);
        if self.cursor.eat(";")? {
            self.mark(Part::PaddingValue);
            let word = self.cursor.word();
            value = *PaddingValue::ALL
                .iter()
                .find(|value| value.name() == word)
                .ok_or_else(|| {
                    self.cursor
                        .unexpected("a padding value: zero, one, lowest, highest or unknown")
                })?;
            self.cursor.take_word()?;
        }
        self.cursor
            .expect(")", "`,`, `;` or `)` behind a padded width")?;
        Ok((padded, value))
    }

    /// Remembers that a part of the array stands at the cursor.
    fn mark(&mut self, part: Part) {
        self.marks.push((part, self.cursor.offset()));
    }

    /// The error of a constructor, at the part of the text that it is about; `start` if the text
    /// has none such.
    fn misbuilt(&self, error: ShapeError, start: usize) -> ParseError {
        let part = error.part();
        let marked = self.marks.iter().rev().find(|(marked, _)| *marked == part);
        let offset = marked.map_or(start, |&(_, offset)| offset);
        self.cursor.error_at(offset, error)
    }
}
