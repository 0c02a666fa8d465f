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
    /// The source's unit at this position; of units of other widths, the bits that both have.
    Moved(i64),
    /// This number, in as many bits as a unit has.
    Filled(u128),
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
        Err(PlanError::ElementSize { .. }) => return,
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
    let count = |is: fn(&Unit) -> bool| found.iter().filter(|unit| is(unit)).count() as i64;
    let moved = count(|unit| matches!(unit, Unit::Moved(_)));
    let left = count(|unit| *unit == Unit::Left);
    let bytes = |bits: i64| bits / 8 + i64::from(bits % 8 > 0);
    let read = bytes(moved * plan.source_unit_bits());
    assert_eq!(plan.bytes_read(), read, "{pair:?}: bytes read");
    let written = bytes((found.len() as i64 - left) * plan.destination_unit_bits());
    assert_eq!(plan.bytes_written(), written, "{pair:?}: bytes written");
    check_bytes(pair, &plan, &expected);
}

/// What no source byte is, and what a byte of the destination is that nothing writes.
const SENTINEL: u8 = 0xee;

fn check_bytes(pair: &Pair, plan: &Plan, expected: &[Unit]) {
    let source: Vec<u8> = (0..plan.source_bytes())
        // Neighbouring bytes and rows differ: the period is prime.
        .map(|at| (at % 233) as u8)
        .collect();
    let mut found = vec![SENTINEL; plan.destination_bytes() as usize];
    let sentinels = found.clone();
    Relayout::new(plan)
        .and_then(|relayout| relayout.run(&source, &mut found))
        .unwrap_or_else(|error| panic!("{pair:?}: {error}"));
    let [from, to] =
        [plan.source_unit_bits(), plan.destination_unit_bits()].map(|bits| bits as usize);
    for (at, unit) in expected.iter().enumerate() {
        let value = bits(&found, at * to, to);
        let right = match *unit {
            Unit::Left => bits(&sentinels, at * to, to),
            Unit::Moved(position) => bits(&source, position as usize * from, from.min(to)),
            Unit::Filled(pattern) => pattern,
        };
        assert_eq!(
            value, right,
            "{pair:?}: unit {at}, expected {unit:?}, in\n{plan}"
        );
    }
}

/// The bits `at..at + width` of a buffer as a number, the lowest of a byte first.
fn bits(buffer: &[u8], at: usize, width: usize) -> u128 {
    let bit = |at: usize| u128::from(buffer[at / 8] >> (at % 8) & 1);
    (0..width).map(|i| bit(at + i) << i).sum()
}

/// Runs the plan's boxes and fills.
fn run(plan: &Plan) -> Vec<Unit> {
    let units = 8 * plan.destination_bytes() / plan.destination_unit_bits();
    let source_units = 8 * plan.source_bytes() / plan.source_unit_bits();
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
        let unit = Unit::Filled(low(fill.pattern, plan));
        for_each(&loops, [fill.destination], &mut |[to]| write(to, unit));
    }
    if let Some(general) = plan.general() {
        general.for_each(0..units, |at, value| match value {
            GeneralValue::Source(from) => write(at, Unit::Moved(from)),
            GeneralValue::Fill(bytes) => write(at, Unit::Filled(low(bytes, plan))),
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
    let unit = plan.destination_unit_bits();
    let element_type = destination.element_type();
    let value_bits = (8 * i64::from(element_type.byte_width())).min(destination.element_bits());
    let value_units = value_bits / unit;
    let source_units = source.element_bits() / plan.source_unit_bits();
    let destination_units = destination.element_bits() / unit;
    let layout = destination.layout().expect("a pair has layouts");
    let padding_value = if layout.padded_dimensions().is_empty() {
        PaddingValue::Zero
    } else {
        layout.padding_value().unwrap_or(PaddingValue::Zero)
    };
    let padding = match padding_value {
        PaddingValue::Unknown => None,
        value => Some(u128::from_le_bytes(
            element_type.padding_bytes(value).unwrap_or([0; 16]),
        )),
    };

    let mut expected = Vec::new();
    for position in 0..to.allocated_elements() {
        let location = to.location(position).expect("an allocated position");
        for part in 0..destination_units {
            let is_rest = part >= value_units;
            expected.push(match (&location, padding) {
                (Location::Element(_), _) | (_, Some(_)) if is_rest => Unit::Filled(0),
                (Location::Element(index), _) => {
                    let at = from.position(index).expect("the index of an element");
                    Unit::Moved(at * source_units + part)
                }
                (Location::Padding { .. }, Some(value)) => Unit::Filled(bits(
                    &value.to_le_bytes(),
                    (part * unit) as usize,
                    unit as usize,
                )),
                (Location::Padding { .. }, None) => Unit::Left,
            });
        }
    }
    // What packed elements leave of the last byte.
    let units = 8 * plan.destination_bytes() / unit;
    expected.resize(units as usize, Unit::Filled(0));
    expected
}

/// The number that a fill's pattern is.
fn low(pattern: [u8; 16], plan: &Plan) -> u128 {
    bits(&pattern, 0, plan.destination_unit_bits() as usize)
}
