//! Checks of plans, and of running them, against both address maps and nothing else of
//! the library.

use minormajor::Relayout;
use minormajor_core::plan::{GeneralValue, PlanError};
use minormajor_core::{AddressMap, ArrayShape, Location, PaddingValue, Plan};

use crate::pair::Pair;

/// What a unit of the destination holds after the plan has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// Nothing was written.
    Left,
    /// The source's unit at this position.
    Moved(i64),
    /// These bytes, zeros behind the unit's own.
    Filled([u8; 16]),
}

/// Plans the pair, runs the plan on names of units in place of bytes, and compares every
/// unit of the destination with what both address maps say. No unit may be written twice.
/// Then the CPU runs it on bytes.
pub fn check_plan(pair: &Pair) {
    let Pair {
        source,
        destination,
    } = pair;
    let plan = match Plan::new(source, destination) {
        Ok(plan) => plan,
        Err(PlanError::Packed { .. } | PlanError::ElementSize { .. }) => return,
        Err(error) => panic!("{pair:?}: {error}"),
    };
    assert!(!plan.to_string().is_empty() && !plan.reason().is_empty());
    let expected = expected(source, destination, &plan);
    let found = run(&plan);
    assert_eq!(
        found.len(),
        expected.len(),
        "{pair:?}: units of the destination"
    );
    if let Some(at) = (0..found.len()).find(|&at| found[at] != expected[at]) {
        panic!(
            "{pair:?}: unit {at} is {:?}, expected {:?}, in\n{plan}",
            found[at], expected[at]
        );
    }
    let unit = plan.unit_bytes() as i64;
    let count = |is: fn(&Unit) -> bool| found.iter().filter(|unit| is(unit)).count() as i64;
    let moved = count(|unit| matches!(unit, Unit::Moved(_)));
    let left = count(|unit| *unit == Unit::Left);
    assert_eq!(plan.bytes_read(), moved * unit, "{pair:?}: bytes read");
    let written = (found.len() as i64 - left) * unit;
    assert_eq!(plan.bytes_written(), written, "{pair:?}: bytes written");
    check_bytes(pair, &plan, &expected);
}

/// What no source byte is, and what a byte of the destination is that nothing writes.
const SENTINEL: u8 = 0xee;

fn check_bytes(pair: &Pair, plan: &Plan, expected: &[Unit]) {
    let width = plan.unit_bytes();
    let source: Vec<u8> = (0..plan.source_bytes())
        // Neighbouring bytes and rows differ: the period is prime.
        .map(|at| (at % 233) as u8)
        .collect();
    let mut found = vec![SENTINEL; plan.destination_bytes() as usize];
    Relayout::new(plan)
        .and_then(|relayout| relayout.run(&source, &mut found))
        .unwrap_or_else(|error| panic!("{pair:?}: {error}"));
    for (at, (unit, bytes)) in expected.iter().zip(found.chunks(width)).enumerate() {
        let is_right = match *unit {
            Unit::Left => bytes.iter().all(|&byte| byte == SENTINEL),
            Unit::Moved(from) => source[from as usize * width..].starts_with(bytes),
            Unit::Filled(pattern) => pattern.starts_with(bytes),
        };
        assert!(
            is_right,
            "{pair:?}: unit {at} is {bytes:?}, expected {unit:?}, in\n{plan}"
        );
    }
}

/// Runs the plan's boxes and fills.
fn run(plan: &Plan) -> Vec<Unit> {
    let units = plan.destination_bytes() / plan.unit_bytes() as i64;
    let source_units = plan.source_bytes() / plan.unit_bytes() as i64;
    let mut found = vec![Unit::Left; units as usize];
    let mut write = |at: i64, unit: Unit| {
        if let Unit::Moved(from) = unit {
            assert!((0..source_units).contains(&from), "unit {from} in\n{plan}");
        }
        assert!((0..units).contains(&at), "unit {at} in\n{plan}");
        let old = std::mem::replace(&mut found[at as usize], unit);
        assert_eq!(old, Unit::Left, "unit {at} is written twice in\n{plan}");
    };
    for part in plan.boxes() {
        let loops: Vec<_> = part
            .loops
            .iter()
            .map(|l| (l.extent, [l.source, l.destination]))
            .collect();
        for_each(&loops, [part.source, part.destination], &mut |[
            from,
            to,
        ]| {
            write(to, Unit::Moved(from));
        });
    }
    for fill in plan.fills() {
        let loops: Vec<_> = fill
            .loops
            .iter()
            .map(|l| (l.extent, [l.destination]))
            .collect();
        let unit = Unit::Filled(only(fill.pattern, plan.unit_bytes()));
        for_each(&loops, [fill.destination], &mut |[to]| write(to, unit));
    }
    if let Some(general) = plan.general() {
        general.for_each(0..units, |at, value| match value {
            GeneralValue::Source(from) => write(at, Unit::Moved(from)),
            GeneralValue::Fill(bytes) => {
                write(at, Unit::Filled(only(bytes, plan.unit_bytes())));
            }
            GeneralValue::Leave => {}
        });
    }
    found
}

/// Calls `visit` with both sides' positions for every iteration of a loop nest.
fn for_each<const N: usize>(
    loops: &[(i64, [i64; N])],
    base: [i64; N],
    visit: &mut dyn FnMut([i64; N]),
) {
    let Some(((extent, strides), inner)) = loops.split_first() else {
        visit(base);
        return;
    };
    for step in 0..*extent {
        let positions = std::array::from_fn(|side| base[side] + step * strides[side]);
        for_each(inner, positions, visit);
    }
}

/// What the destination must hold, position by position.
fn expected(source: &ArrayShape, destination: &ArrayShape, plan: &Plan) -> Vec<Unit> {
    let from = AddressMap::new(source).expect("a pair has layouts and sizes");
    let to = AddressMap::new(destination).expect("a pair has layouts and sizes");
    let unit = plan.unit_bytes();
    let element_type = destination.element_type();
    let value_units = element_type.byte_width() as usize / unit;
    let source_units = stored_bytes(source) / unit;
    let destination_units = stored_bytes(destination) / unit;
    let layout = destination.layout().expect("a pair has layouts");
    let padding_value = if layout.padded_dimensions().is_empty() {
        PaddingValue::Zero
    } else {
        layout.padding_value().unwrap_or(PaddingValue::Zero)
    };
    let padding = match padding_value {
        PaddingValue::Unknown => None,
        value => Some(element_type.padding_bytes(value).unwrap_or([0; 16])),
    };

    let mut expected = Vec::new();
    for position in 0..to.allocated_elements() {
        let location = to.location(position).expect("an allocated position");
        for part in 0..destination_units {
            let is_rest = part >= value_units;
            expected.push(match (&location, padding) {
                (Location::Element(_), _) | (_, Some(_)) if is_rest => Unit::Filled([0; 16]),
                (Location::Element(index), _) => {
                    let at = from.position(index).expect("the index of an element");
                    Unit::Moved(at * source_units as i64 + part as i64)
                }
                (Location::Padding { .. }, Some(bytes)) => {
                    let mut start = bytes;
                    start.rotate_left(part * unit);
                    Unit::Filled(only(start, unit))
                }
                (Location::Padding { .. }, None) => Unit::Left,
            });
        }
    }
    expected
}

/// Bytes from one element to the next.
fn stored_bytes(array: &ArrayShape) -> usize {
    let bits = array.element_bits();
    assert_eq!(bits % 8, 0, "{array}: planned though packed");
    (bits / 8) as usize
}

/// The first bytes, zeros behind them.
fn only(bytes: [u8; 16], count: usize) -> [u8; 16] {
    std::array::from_fn(|at| if at < count { bytes[at] } else { 0 })
}
