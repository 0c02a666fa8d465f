//! Plans: how an array moves from one layout to another.
//!
//! A plan is two address maps made comparable. Every dimension's index is followed along both
//! maps and cut where it must be until both positions are affine in it; what remains is a small
//! list of boxes, each a loop nest, and a list of boxes of padding to fill.

mod boxes;
mod change;
mod class;
mod cut;
mod dense;
mod digits;
mod elements;
mod fills;
mod general;
mod nest;
mod side;
pub(crate) mod tree;

use std::fmt;

use smallvec::SmallVec;

pub use boxes::{FillBox, MoveBox, SmallLoops};
pub use change::{ByteOrder, ByteOrders, Change, Encoding};
pub use class::PlanClass;
pub use elements::PlanError;
pub(crate) use elements::check_same_sizes;
pub use general::{GeneralMove, GeneralValue};
pub use nest::{FillLoop, Loop};

use crate::layout::PaddingValue;
use crate::view::Place;
use class::Facts;
use elements::Elements;
use fills::Region;
use nest::canonical;
use side::{Combined, Index, Side};
use tree::{TooManyPieces, common_pieces};

/// How an array moves from one layout to another: boxes to move and boxes to fill.
///
/// A plan holds no pointer and knows no machine; any executor can run it. Positions and strides
/// count in units, of [`source_unit_bits`](Plan::source_unit_bits) and
/// [`destination_unit_bits`](Plan::destination_unit_bits): whole elements, as long as the layouts
/// store an element in whole multiples of its own width. The two differ only where elements
/// [change](Plan::change). The first of several packed elements is in the lowest bits of its byte.
///
/// Every bit of the destination belongs to exactly one box or one fill, except padding whose
/// value is `unknown`, which belongs to none. What packed elements leave of an array's last byte
/// is filled with zero.
///
/// ```
/// use minormajor_core::plan::{Loop, Plan, PlanClass};
/// use minormajor_core::Shape;
///
/// // NCHW to NHWC: height and width merge, three loops remain.
/// let source: Shape = "f32[32,3,224,224]{3,2,1,0}".parse()?;
/// let destination: Shape = "f32[32,3,224,224]{1,3,2,0}".parse()?;
/// let plan = Plan::new(source.as_array()?, destination.as_array()?)?;
/// assert_eq!(plan.class(), PlanClass::Permute);
/// let loops: Vec<_> = plan.boxes()[0].loops.iter().map(|l| (l.extent, l.source, l.destination)).collect();
/// assert_eq!(loops, [(32, 150528, 150528), (3, 50176, 1), (50176, 1, 3)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    elements: Elements,
    source_bytes: i64,
    destination_bytes: i64,
    boxes: SmallVec<[MoveBox; 1]>,
    fills: Vec<FillBox>,
    general: Option<Box<GeneralMove>>,
    facts: Facts,
}

/// Most boxes, and most fills, that a plan may have: beyond them, the general way is taken.
const MAX_BOXES: usize = 1 << 16;

impl Plan {
    /// The plan that moves an array from `source` to `destination`: shapes with their layouts,
    /// or strided views.
    ///
    /// Both have the same element type and sizes; a bounded dimension counts its bound.
    ///
    /// # Errors
    ///
    /// [`PlanError`] where the arrays differ, a layout or a size is missing, elements are
    /// stored in a way that can't be moved, or elements of a strided destination overlap.
    pub fn new<'a>(
        source: impl Into<Place<'a>>,
        destination: impl Into<Place<'a>>,
    ) -> Result<Plan, PlanError> {
        Plan::between(source.into(), destination.into(), None)
    }

    /// The plan that moves an array and converts its values on the way: into another byte order,
    /// from `f32`, `f16` or `bf16` to another of these, or both.
    ///
    /// Numbers are rounded to the nearest, ties to even; what is too large becomes an infinity.
    /// A NaN stays one: it is made quiet, and keeps its sign and as much of its payload as fits.
    ///
    /// # Errors
    ///
    /// As [`new`](Plan::new); [`PlanError::Conversion`] for two other types that differ.
    ///
    /// ```
    /// use minormajor_core::plan::{ByteOrder, ByteOrders, Change};
    /// use minormajor_core::{Plan, Shape};
    ///
    /// // Big-endian f32 in, little-endian bf16 in another layout out.
    /// let source: Shape = "f32[2,3]{1,0}".parse()?;
    /// let destination: Shape = "bf16[2,3]{0,1}".parse()?;
    /// let orders = ByteOrders { source: ByteOrder::Big, ..ByteOrders::default() };
    /// let plan = Plan::converting(source.as_array()?, destination.as_array()?, orders)?;
    /// assert!(matches!(plan.change(), Change::Values { .. }));
    /// assert_eq!((plan.bytes_read(), plan.bytes_written()), (24, 12));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn converting<'a>(
        source: impl Into<Place<'a>>,
        destination: impl Into<Place<'a>>,
        orders: ByteOrders,
    ) -> Result<Plan, PlanError> {
        Plan::between(source.into(), destination.into(), Some(orders))
    }

    fn between(
        source: Place<'_>,
        destination: Place<'_>,
        orders: Option<ByteOrders>,
    ) -> Result<Plan, PlanError> {
        if let (Place::Array(from), Place::Array(to), None) = (source, destination, orders)
            && let Some(plan) = Plan::dense(from, to)
        {
            return Ok(plan);
        }
        Plan::over_sides(source, destination, orders)
    }

    fn over_sides(
        source: Place<'_>,
        destination: Place<'_>,
        orders: Option<ByteOrders>,
    ) -> Result<Plan, PlanError> {
        let elements = Elements::new(source, destination, orders)?;
        let (mut from, mut to) = (Side::empty(), Side::empty());
        from.set(source, elements.source_units, elements.source_unit_bits)?;
        to.set(
            destination,
            elements.destination_units,
            elements.destination_unit_bits,
        )?;
        check_same_sizes(&from.sizes, &to.sizes)?;
        let value = to.padding_value();
        let element_type = destination.element_type();
        // A type without a zero (f8e8m0fnu) is padded with zero bytes where nothing is said.
        let padding = || match value {
            PaddingValue::Unknown => None,
            value => Some(elements.arranged(element_type.padding_bytes(value).unwrap_or([0; 16]))),
        };
        let mut plan = Plan {
            elements,
            source_bytes: from.buffer_bytes,
            destination_bytes: to.buffer_bytes,
            boxes: SmallVec::new(),
            fills: Vec::new(),
            general: None,
            facts: Facts::default(),
        };
        let found = plan
            .find_boxes(&from, &to)
            .and_then(|()| match to.has_padding().then(padding).flatten() {
                Some(pattern) => plan.find_fills(&to, pattern, value),
                None => Ok(()),
            })
            .and_then(|()| plan.find_rests())
            .map(|()| plan.find_tail(&to));
        if let Err(TooManyPieces) = found {
            plan.boxes.clear();
            plan.fills.clear();
            plan.general = Some(Box::new(GeneralMove::new(&from, &to, elements, padding())));
        }
        plan.facts = Facts::new(&plan, &from, &to, value);
        Ok(plan)
    }

    fn find_boxes(&mut self, from: &Side<'_>, to: &Side<'_>) -> Result<(), TooManyPieces> {
        if to.elements == 0 {
            return Ok(());
        }
        let boxes = &mut self.boxes;
        boxes.push(MoveBox {
            source: from.base,
            destination: to.base,
            loops: SmallLoops(SmallVec::new()),
        });
        for_common_indices(from, to, &mut |index, size| {
            if let (Some(source), Some(destination)) = (from.stride(index), to.stride(index)) {
                // The common case, without the detour.
                for made in boxes.iter_mut() {
                    made.loops.0.push(Loop {
                        extent: size,
                        source,
                        destination,
                    });
                }
                return Ok(());
            }
            let digits = from.digits(index).zip(to.digits(index));
            if let Some(digits) = digits.and_then(|(from, to)| from.common(&to, size)) {
                if boxes.len() * digits.pieces(size).count() > MAX_BOXES {
                    return Err(TooManyPieces);
                }
                digits.put_inside(size, boxes);
                return Ok(());
            }
            let pieces = common_pieces(&from.tree(index)?, &to.tree(index)?, size)?;
            if boxes.len() * pieces.len() > MAX_BOXES {
                return Err(TooManyPieces);
            }
            match &pieces[..] {
                [piece] => boxes.iter_mut().for_each(|made| made.add(piece)),
                _ => {
                    let all = boxes
                        .iter()
                        .flat_map(|made| pieces.iter().map(|piece| made.with(piece)));
                    *boxes = all.collect();
                }
            }
            Ok(())
        })?;
        let value = Loop {
            extent: self.elements.moved_units(),
            source: 1,
            destination: 1,
        };
        for made in boxes {
            made.loops.0.push(value);
            canonical(&mut made.loops.0);
        }
        Ok(())
    }

    fn find_fills(
        &mut self,
        to: &Side<'_>,
        pattern: [u8; 16],
        value: PaddingValue,
    ) -> Result<(), TooManyPieces> {
        let elements = self.elements;
        let Elements {
            value_units,
            destination_units,
            ..
        } = elements;
        // A pattern of several units is filled unit by unit, unless they are all alike.
        let first = elements.unit_of(&pattern, 0);
        let alike = (1..value_units).all(|unit| elements.unit_of(&pattern, unit) == first);
        let (units, run) = if alike {
            (1, value_units)
        } else {
            (value_units, 1)
        };
        let fills = &mut self.fills;
        let mut add = |region: &mut Region| {
            if fills.len() + units as usize > MAX_BOXES {
                return Err(TooManyPieces);
            }
            for unit in 0..units {
                let base = region.base * destination_units + unit;
                let pattern = match unit {
                    0 => first,
                    _ => elements.unit_of(&pattern, unit),
                };
                let loops = region.loops.iter().map(|l| FillLoop {
                    destination: l.destination * destination_units,
                    ..*l
                });
                fill(fills, base, loops, run, (pattern, value));
            }
            Ok(())
        };
        if to.elements == 0 {
            return fills::everything(to.allocated, &mut add);
        }
        to.padding(&mut add)
    }

    /// Zeros behind every value that is stored wider than its type.
    fn find_rests(&mut self) -> Result<(), TooManyPieces> {
        let Elements {
            value_units,
            destination_units,
            ..
        } = self.elements;
        let rest = destination_units - value_units;
        if rest == 0 {
            return Ok(());
        }
        // Each value's first unit is in one of these: boxes and fills of a value's later units
        // would repeat it. Loops inside a value, if it has several units, are left out.
        let mut rests = Vec::new();
        let mut behind = |base: i64, loops: &mut dyn Iterator<Item = FillLoop>| {
            let loops = loops.filter(|l| l.destination % destination_units == 0);
            zeros(&mut rests, base + value_units, loops, rest);
        };
        for made in &self.boxes {
            let mut strides = made.loops.iter().map(|l| FillLoop {
                extent: l.extent,
                destination: l.destination,
            });
            behind(made.destination, &mut strides);
        }
        for made in &self.fills {
            if made.destination % destination_units == 0 {
                behind(made.destination, &mut made.loops.iter().copied());
            }
        }
        self.fills.append(&mut rests);
        if self.fills.len() > MAX_BOXES {
            return Err(TooManyPieces);
        }
        Ok(())
    }

    /// Zeros behind the last packed element of a whole array, up to the end of its byte.
    fn find_tail(&mut self, to: &Side<'_>) {
        let units = self.units_in_tail(to);
        if units > 0 {
            let first = self.destination_units() - units;
            zeros(&mut self.fills, first, [], units);
        }
    }

    /// What packed elements leave of the last byte of a whole array.
    fn units_in_tail(&self, to: &Side<'_>) -> i64 {
        match to.array() {
            Some(_) if self.elements.destination_unit_bits < 8 => {
                self.destination_units() - to.allocated * self.elements.destination_units
            }
            _ => 0,
        }
    }

    /// What kind of work it is.
    pub fn class(&self) -> PlanClass {
        self.facts.class
    }

    /// Why it is of that class, for people.
    pub fn reason(&self) -> String {
        self.facts.reason(self)
    }

    /// Bytes of the unit that positions and strides of both sides count in, where elements do
    /// not change and are not packed: 1, 2, 4, 8 or 16. That is the width of the element type,
    /// or 1 where a layout stores elements in no whole multiple of it. Such a plan moves bytes
    /// and does nothing else.
    #[inline]
    pub fn unit_bytes(&self) -> Option<usize> {
        let bits = self.elements.destination_unit_bits;
        (self.elements.change == Change::None && bits % 8 == 0).then_some((bits / 8) as usize)
    }

    /// Bits of the unit that positions and strides of the source count in: those of a packed
    /// element, else of whole bytes.
    pub fn source_unit_bits(&self) -> i64 {
        self.elements.source_unit_bits
    }

    /// Bits of the unit that positions and strides of the destination count in, as those of the
    /// source. The same, unless elements change.
    pub fn destination_unit_bits(&self) -> i64 {
        self.elements.destination_unit_bits
    }

    /// Units that the destination's bytes hold.
    pub(super) fn destination_units(&self) -> i64 {
        // Bits of an array or a view fit 63 bits, and rounding up to bytes keeps below 2^63: what
        // does not fit was refused with the shape.
        (i128::from(self.destination_bytes) * 8 / i128::from(self.elements.destination_unit_bits))
            as i64
    }

    /// What becomes of a unit that is moved.
    pub fn change(&self) -> Change {
        self.elements.change
    }

    /// Bytes that the source buffer has.
    pub fn source_bytes(&self) -> i64 {
        self.source_bytes
    }

    /// Bytes that the destination buffer has.
    pub fn destination_bytes(&self) -> i64 {
        self.destination_bytes
    }

    /// Bytes of the source's array, padding included; of a strided view, of its elements without what lies between them.
    ///
    /// ```
    /// use minormajor_core::{ElementType, Plan, Shape, StridedView};
    ///
    /// // Every second column, to tiles.
    /// let columns = StridedView::new(ElementType::F32, &[3, 5], &[80, 8], 0)?;
    /// let tiles: Shape = "f32[3,5]{1,0:T(4,8)}".parse()?;
    /// let plan = Plan::new(&columns, tiles.as_array()?)?;
    /// assert_eq!((plan.source_bytes(), plan.source_array_bytes()), (196, 60));
    /// assert_eq!((plan.destination_bytes(), plan.destination_array_bytes()), (128, 128));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn source_array_bytes(&self) -> i64 {
        match self.facts.strided[0] {
            true => self.bytes_read(),
            false => self.source_bytes,
        }
    }

    /// The same of the destination.
    pub fn destination_array_bytes(&self) -> i64 {
        match self.facts.strided[1] {
            true => bytes(self.facts.elements * self.elements.destination_bits()),
            false => self.destination_bytes,
        }
    }

    /// Bytes that running the plan reads from the source, rounded up where elements are packed.
    pub fn bytes_read(&self) -> i64 {
        bytes(self.facts.elements * self.elements.source_value_bits)
    }

    /// Bytes that running the plan writes to the destination, padding included; rounded up where
    /// elements are packed.
    pub fn bytes_written(&self) -> i64 {
        if self.general.is_some() {
            return self.facts.general_bytes_written;
        }
        let filled: i64 = self.fills.iter().map(FillBox::units).sum();
        let units = self.facts.elements * self.elements.value_units + filled;
        bytes(units * self.elements.destination_unit_bits)
    }

    /// Whether 32-bit signed arithmetic is enough for every position of both buffers and for a
    /// buffer's end, in bytes and in units: an executor may use it only then.
    ///
    /// The proof: positions lie inside the buffers, and every partial sum of a box's offsets lies
    /// between positions of that box; both buffers have less than 2^31 bytes.
    ///
    /// ```
    /// use minormajor_core::{Plan, Shape};
    ///
    /// let plan = |source: &str, destination: &str| -> Result<Plan, Box<dyn std::error::Error>> {
    ///     let (source, destination): (Shape, Shape) = (source.parse()?, destination.parse()?);
    ///     Ok(Plan::new(source.as_array()?, destination.as_array()?)?)
    /// };
    /// assert!(plan("u8[46340,46340]{1,0}", "u8[46340,46340]{0,1}")?.fits_32_bits());
    /// assert!(!plan("u8[65536,32768]{1,0}", "u8[65536,32768]{0,1}")?.fits_32_bits());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fits_32_bits(&self) -> bool {
        let most = i64::from(i32::MAX);
        self.source_bytes <= most && self.destination_bytes <= most
    }

    /// The boxes to move, in no particular order.
    #[inline]
    pub fn boxes(&self) -> &[MoveBox] {
        &self.boxes
    }

    /// The boxes to fill, in no particular order.
    #[inline]
    pub fn fills(&self) -> &[FillBox] {
        &self.fills
    }

    /// The way element by element that stands in for boxes and fills where `*` in tiles ties
    /// dimensions together, or where there would be too many boxes.
    pub fn general(&self) -> Option<&GeneralMove> {
        self.general.as_deref()
    }
}

/// Whole bytes of so many bits.
fn bytes(bits: i64) -> i64 {
    bits / 8 + i64::from(bits % 8 != 0)
}

/// Adds a fill of runs of units, at the start of every iteration of loops over units.
fn fill(
    fills: &mut Vec<FillBox>,
    destination: i64,
    loops: impl IntoIterator<Item = FillLoop>,
    run: i64,
    (pattern, value): ([u8; 16], PaddingValue),
) {
    let at = fills.len();
    // In its place from the start, as it is large.
    fills.push(FillBox {
        destination,
        loops: SmallLoops(SmallVec::new()),
        pattern,
        value,
    });
    let made = &mut fills[at].loops.0;
    loops.into_iter().for_each(|l| made.push(l));
    made.push(FillLoop {
        extent: run,
        destination: 1,
    });
    canonical(made);
}

/// Adds a fill of runs of units with zeros.
fn zeros(
    fills: &mut Vec<FillBox>,
    destination: i64,
    loops: impl IntoIterator<Item = FillLoop>,
    run: i64,
) {
    fill(
        fills,
        destination,
        loops,
        run,
        ([0; 16], PaddingValue::Zero),
    );
}

/// What is done with an index that both sides can be followed by, of such a size.
type Visit<'a> = &'a mut dyn FnMut(Index<'_>, i64) -> Result<(), TooManyPieces>;

/// Visits every index that both sides can be followed by: dimensions, or those that `*` combines on
/// either side. An error where two combinations overlap.
fn for_common_indices(
    from: &Side<'_>,
    to: &Side<'_>,
    visit: Visit<'_>,
) -> Result<(), TooManyPieces> {
    let mut groups: Vec<Combined> = from.combined()?;
    for group in to.combined()? {
        let shares = |known: &Combined| group.iter().any(|d| known.contains(d));
        match groups.iter().find(|known| shares(known)) {
            None => groups.push(group),
            Some(known) if *known == group => {}
            Some(_) => return Err(TooManyPieces),
        }
    }
    for (dimension, &size) in to.sizes.iter().enumerate() {
        if size > 1 && !groups.iter().any(|group| group.contains(&dimension)) {
            visit(Index::Dimension(dimension), size)?;
        }
    }
    for group in &groups {
        let size = group.iter().map(|&d| to.sizes[d]).product();
        visit(Index::Combined(group), size)?;
    }
    Ok(())
}

/// A unit's size for people: `4 bytes`, `4 bits`.
fn unit_name(bits: i64) -> String {
    match bits {
        1 => "1 bit".to_owned(),
        ..8 => format!("{bits} bits"),
        8 => "1 byte".to_owned(),
        _ => format!("{} bytes", bits / 8),
    }
}

impl fmt::Display for Plan {
    /// The class, then a line a box and a line a fill; positions and strides in units.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] = [self.source_unit_bits(), self.destination_unit_bits()].map(unit_name);
        match self.change() {
            Change::None => write!(f, "{}, units of {to}", self.class())?,
            _ => write!(f, "{}, units of {from} to units of {to}", self.class())?,
        }
        for part in &self.boxes {
            write!(f, "\n  move {part}")?;
        }
        for fill in &self.fills {
            write!(f, "\n  fill {fill}")?;
        }
        if self.general.is_some() {
            write!(f, "\n  move element by element")?;
        }
        Ok(())
    }
}
