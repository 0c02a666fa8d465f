//! Checks of shardings read from text and from bytes.

use minormajor_core::{Shape, Sharding};

/// Reads any bytes as a serialized sharding, and as the text of one if they are text. An error
/// must point into the text; a sharding must be the same after its text and its proto, and every
/// query answers.
pub fn check_sharding(bytes: &[u8]) {
    if let Ok(sharding) = Sharding::from_proto_bytes(bytes) {
        check(&sharding);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match text.parse::<Sharding>() {
        Ok(sharding) => check(&sharding),
        Err(error) => {
            let end = text.chars().count() + 1;
            let column = error.column();
            assert!((1..=end).contains(&column), "{error}: past column {end}");
        }
    }
}

fn check(sharding: &Sharding) {
    // Tiles on one device are read as replicated from a proto, as by XLA.
    let bytes = sharding.to_proto_bytes();
    match Sharding::from_proto_bytes(&bytes) {
        Ok(again) => assert_eq!(
            again.to_string().parse().as_ref(),
            Ok(&again),
            "after its proto"
        ),
        Err(error) => panic!("the proto of {sharding} doesn't read back: {error}"),
    }
    // A list that came of an iota stands in the text, so it is read without a bound.
    let text = sharding.to_string();
    match text.parse::<Sharding>() {
        Ok(again) => assert_eq!(again.to_string(), text, "printed again"),
        // One device in tiles has no text that XLA reads.
        Err(_) if text.contains("]0") => {}
        Err(error) => panic!("{text} doesn't read back: {error}"),
    }
    for element in sharding
        .tuple_elements()
        .unwrap_or(std::slice::from_ref(sharding))
    {
        let _ = (element.to_named(), element.to_tiled());
        for shape in ["f32[]", "f32[5]", "f32[5,3]", "f32[7,1,<=4]"] {
            let shape: Shape = shape.parse().expect("a shape");
            let _ = (
                element.validate(&shape, Some(8)),
                element.shard_shape(&shape),
            );
            for device in [0, 1, 7, -1, i64::MAX] {
                let Ok((start, end)) = element.shard_bounds(&shape, device) else {
                    continue;
                };
                if start.iter().zip(&end).all(|(start, end)| start < end)
                    && let Ok(Some(mut devices)) = element.devices_of_element(&shape, &start)
                {
                    assert!(
                        devices.by_ref().take(1 << 10).any(|d| d == device)
                            || devices.next().is_some()
                    );
                }
            }
        }
    }
}
