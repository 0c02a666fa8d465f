//! The golden cases: text, proto, positions, sizes, moved bytes, rejected text.

use minormajor_core::{AddressMap, ArrayShape, Location, Plan, Shape};
use minormajor_testing::golden::{self, bytes, hex};
use minormajor_testing::oracle;

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text
        .parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    shape.as_array().expect("an array").clone()
}

/// Runs a check on every case and lists all that fail.
#[track_caller]
fn all<T>(cases: Vec<T>, least: usize, check: impl Fn(&T) -> Result<(), String>) {
    assert!(cases.len() >= least, "only {} cases", cases.len());
    let failures: Vec<String> = cases.iter().filter_map(|case| check(case).err()).collect();
    assert!(
        failures.is_empty(),
        "{} of {} cases fail:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}: found {found:?}, expected {expected:?}"))
}

#[test]
fn text_and_proto() {
    all(golden::text(), 1800, |case| {
        let input = &case.input;
        let shape: Shape = input.parse().map_err(|error| format!("{input}: {error}"))?;
        equal(input, shape.to_string(), case.xla_text.clone())?;
        equal(
            input,
            hex(&shape.to_proto_bytes()),
            case.xla_proto_hex.clone(),
        )?;
        let read = Shape::from_proto_bytes(&bytes(&case.xla_proto_hex));
        equal(input, read, Ok(shape))
    });
}

#[test]
fn sizes_and_positions() {
    all(golden::index(), 1800, |case| {
        let text = &case.shape;
        let shape = array(text);
        equal(text, shape.elements(), Some(case.elements))?;
        equal(
            text,
            shape.allocated_elements(),
            Some(case.allocated_elements),
        )?;
        equal(text, shape.allocated_bytes(), Some(case.bytes))?;
        equal(
            text,
            oracle::allocated_elements(&shape),
            case.allocated_elements,
        )?;
        let map = AddressMap::new(&shape).map_err(|error| error.to_string())?;
        for point in &case.points {
            equal(text, map.position(&point.index), Ok(point.linear))?;
            let location = Location::Element(point.index.clone());
            equal(text, map.location(point.linear), Ok(location))?;
            equal(text, oracle::position(&shape, &point.index), point.linear)?;
        }
        Ok(())
    });
}

#[test]
fn relayouts() {
    all(golden::relayout(), 200, |case| {
        let (from, to) = (array(&case.source), array(&case.destination));
        let what = format!("{} to {}", case.source, case.destination);
        let source = bytes(&case.source_hex);
        let before = vec![oracle::SENTINEL; case.destination_hex.len() / 2];
        let moved = oracle::relayout(&from, &source, &to, &before);
        equal(&what, hex(&moved), case.destination_hex.clone())?;
        let plan = Plan::new(&from, &to).map_err(|error| format!("{what}: {error}"))?;
        let (moved, _) = oracle::run(&plan, &source, &before);
        equal(&what, hex(&moved), case.destination_hex.clone())
    });
}

/// Prints a number of bytes as TPU compilers do.
fn tpu_size(bytes: i64) -> String {
    const UNITS: [&str; 5] = ["B", "K", "M", "G", "T"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 1 << 20 {
        value /= 1024;
        unit += 1;
    }
    match (value >= 1024, unit) {
        (false, 0) => format!("{value}B"),
        (false, _) => format!("{value}.00{}", UNITS[unit]),
        (true, 0) => format!("{:.1}K", value as f64 / 1024.0),
        (true, _) => format!("{:.2}{}", value as f64 / 1024.0, UNITS[unit + 1]),
    }
}

#[test]
fn tpu_memory() {
    all(golden::tpu_memory(), 38, |case| {
        let text = &case.shape;
        let shape = array(text);
        let padded = shape.allocated_bytes().ok_or("no size")?;
        let dense = shape.dense_bytes().ok_or("no size")?;
        let digits = case.size.trim_end_matches(" bytes").replace(',', "");
        let exact = match digits.strip_prefix("0x") {
            Some(hexadecimal) => i64::from_str_radix(hexadecimal, 16).ok(),
            None => digits.parse().ok(),
        };
        match exact {
            Some(size) => equal(text, padded, size)?,
            None => equal(text, tpu_size(padded), case.size.clone())?,
        }
        if !case.unpadded.is_empty() {
            equal(text, tpu_size(dense), case.unpadded.clone())?;
        }
        if !case.expansion.is_empty() {
            let ratio = padded as f64 / dense as f64;
            let expansion = format!("{} ({ratio:.1}x expansion)", tpu_size(padded - dense));
            equal(text, expansion, case.expansion.clone())?;
        }
        Ok(())
    });
}

#[test]
fn malformed() {
    all(golden::malformed(), 64, |case| {
        let input = &case.input;
        equal(input, case.must.as_str(), "reject")?;
        match input.parse::<Shape>() {
            Ok(shape) => Err(format!("{input}: accepted as {shape}")),
            Err(error) if (1..=input.chars().count() + 1).contains(&error.column()) => Ok(()),
            Err(error) => Err(format!("{input}: column {} is outside", error.column())),
        }
    });
}
