//! This project's answers to the same cases.

use minormajor_core::hlo::Module;
use minormajor_core::{Layout, ProgramShape, Shape, Sharding};
use serde_json::{Value, json};

use crate::xla::Answer;

/// Our values, or our error.
pub type Ours = Result<Value, String>;

pub fn answer(case: &Value) -> Ours {
    let text = case["text"].as_str().unwrap_or_default();
    match case["kind"].as_str() {
        Some("shape") => {
            let shape = parse(text)?;
            let proto = hex(&shape.to_proto_bytes());
            Ok(json!({"text": shape.to_string(), "proto": proto}))
        }
        Some("equal") => {
            let other = parse(case["other"].as_str().unwrap_or_default())?;
            Ok(json!({"equal": parse(text)? == other}))
        }
        Some("size") => {
            let shape = parse(text)?;
            let bytes = shape.byte_size(None).map_err(|error| error.to_string())?;
            // What the runtime puts behind an array of dynamic sizes: each of them.
            let array = shape.as_array().map_err(|error| error.to_string())?;
            let sizes = if shape.is_dynamic() {
                4 * array.rank()
            } else {
                0
            };
            Ok(json!({"bytes": f64::from((bytes + sizes as i64) as f32)}))
        }
        Some("module") => module(text),
        Some("sharding") => sharding(text),
        kind => Err(format!("no case of kind {kind:?}")),
    }
}

fn parse(text: &str) -> Result<Shape, String> {
    text.parse()
        .map_err(|error: minormajor_core::ParseError| error.to_string())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A sharding's texts and proto, its devices, and what it becomes through its proto and in tiles.
fn sharding(text: &str) -> Ours {
    let sharding: Sharding = text
        .parse()
        .map_err(|error: minormajor_core::ParseError| error.to_string())?;
    let plain = |sharding: &Sharding| sharding.clone().without_metadata().to_string();
    let proto = sharding.to_proto_bytes();
    let back = Sharding::from_proto_bytes(&proto).map_err(|error| error.to_string())?;
    let mut values = json!({
        "text": plain(&sharding),
        "in_module": sharding.to_string(),
        "proto": hex(&proto),
        "back": plain(&back),
        "replicated": sharding.is_replicated(),
        "maximal": sharding.is_maximal(),
        "manual": sharding.is_manual(),
        "unknown": sharding.is_unknown(),
        "unreduced": sharding.is_unreduced(),
        "tiled": sharding.is_tiled(),
    });
    if sharding.named().is_some() {
        let tiled = sharding.to_tiled().map_err(|error| error.to_string())?;
        values["tiles"] = plain(&tiled).into();
    } else if !sharding.is_tuple()
        && let Some(tiling) = sharding.tiling().map_err(|error| error.to_string())?
    {
        let assignment = tiling.assignment();
        values["dimensions"] = assignment.dimensions().into();
        values["devices"] = assignment.devices().collect::<Vec<i64>>().into();
    }
    Ok(values)
}

/// The program shape of a module's entry, and the shapes in it.
fn module(text: &str) -> Ours {
    let module = Module::parse(text).map_err(|unread| format!("{unread:?}"))?;
    let entry = module.computations().iter().find(|c| c.is_entry());
    let entry = entry.ok_or("no entry")?;
    let mut parameters = Vec::new();
    let mut result = None;
    for instruction in entry.instructions() {
        if instruction.opcode() == "parameter" {
            parameters.push(laid_out(instruction.shape().shape())?);
        }
        if instruction.is_root() {
            result = Some(laid_out(instruction.shape().shape())?);
        }
    }
    let result = result.ok_or("no root")?;
    let named = parameters.iter().enumerate();
    let program = ProgramShape::new(
        named.map(|(i, shape)| (format!("p{i}"), shape.clone())),
        result.clone(),
    );
    let texts: Vec<String> = parameters.iter().map(Shape::to_string).collect();
    Ok(json!({
        "program": program.without_layout().to_string(),
        "parameters": texts,
        "result": result.to_string(),
    }))
}

/// The shape with the layouts that XLA gives to those that have none.
fn laid_out(shape: &Shape) -> Result<Shape, String> {
    shape
        .map_arrays(|array| match array.layout() {
            Some(_) => Ok::<_, minormajor_core::ShapeError>(array.clone()),
            None => array.with_layout(Layout::descending(array.rank())),
        })
        .map_err(|error| error.to_string())
}

/// Whether both say the same: the same values of all that we say, or both an error.
pub fn agree(xla: &Answer, ours: &Ours) -> bool {
    match (xla, ours) {
        (Answer::Accepts(values), Ok(own)) => {
            own.as_object()
                .is_some_and(|own| own.iter().all(|(name, value)| values[name] == *value))
                && reads_back(values)
        }
        (Answer::Rejects(_) | Answer::Aborts, Err(_)) => true,
        _ => false,
    }
}

/// Whether what XLA prints of a module is read whole, every shape as it stands.
fn reads_back(values: &Value) -> bool {
    let Some(text) = values["program"].as_str().and(values["text"].as_str()) else {
        return true;
    };
    match Module::parse(text) {
        Ok(module) => module.shapes().all(|written| {
            let shape = written.shape();
            written.text() == shape.to_string()
                || written.text() == shape.without_layout().to_string()
        }),
        Err(_) => false,
    }
}
