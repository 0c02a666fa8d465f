//! The story of a product on a device: made on the host, moved there, multiplied there, moved back,
//! and close to the host's own.
//!
//! The device is `cuda:0` where the given devices have one. Without it the story is told with a
//! second backend of the host that keeps its matrices in columns, as a GPU's does, so that
//! everything is moved and relaid on its way.
//!
//! `--alter` changes one element of the result, to see that closeness is of every element.

use std::error::Error;
use std::io::{Write, stdout};

use minormajor::{CompactShape, Device, Devices, ElementType, Tensor};

#[allow(dead_code)] // Tests tell the story too, and bring their own devices.
fn main() -> Result<(), Box<dyn Error>> {
    let alter = std::env::args().any(|argument| argument == "--alter");
    let mut devices = Devices::new();
    devices.register_missing("cuda", "this program is built without minormajor-cuda");
    tell(&devices, alter, &mut stdout())
}

/// Tells it with these devices.
pub fn tell(devices: &Devices, alter: bool, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let cpu = Device::cpu();
    let device = match devices.get("cuda:0") {
        Ok(device) => device,
        Err(error) => {
            writeln!(out, "{error}")?;
            writeln!(
                out,
                "the story is told with a backend of the host that stores columns"
            )?;
            Device::cpu_columns()
        }
    };
    writeln!(out, "{device}: {}", device.description())?;
    let show = |out: &mut dyn Write, name: &str, tensor: &Tensor| {
        writeln!(out, "{name}: {} on {}", tensor.shape(), tensor.device())
    };

    // Row-major on the host.
    let cpu_a = Tensor::randn(
        ElementType::F32,
        CompactShape::matrix(1024, 2048)?,
        42,
        &cpu,
    )?;
    let cpu_b = Tensor::randn(ElementType::F32, CompactShape::matrix(2048, 512)?, 43, &cpu)?;
    show(out, "a", &cpu_a)?;
    show(out, "b", &cpu_b)?;

    // To the device: row-major becomes column-major.
    if let Some(transfer) = cpu_a.transfer_to(&device)? {
        writeln!(out, "a to {device}: {transfer}")?;
    }
    let device_a = device.from_cpu(&cpu_a)?;
    let device_b = device.from_cpu(&cpu_b)?;
    show(out, "a", &device_a)?;
    show(out, "b", &device_b)?;

    // The product there, of columns.
    let device_result = device.mm(&device_a, &device_b)?;
    show(out, "a b", &device_result)?;

    // And back: column-major becomes row-major.
    let mut result = device.to_cpu(&device_result)?;
    show(out, "a b", &result)?;
    if alter {
        let mut elements = result.to_vec::<f32>()?;
        elements[77_777] += 1.0;
        result = Tensor::from_slice(&elements, result.sizes(), &cpu)?;
        writeln!(out, "element {:?} is altered", [77_777 / 512, 77_777 % 512])?;
    }

    // The same values as the host's own product. Sums of 2048 products are added in another order
    // there: 1e-3 is far more than that changes, and far less than any mistake.
    let own = cpu.mm(&cpu_a, &cpu_b)?;
    writeln!(out, "close: {}", cpu.is_close(&result, &own, 1e-3)?)?;
    Ok(())
}
