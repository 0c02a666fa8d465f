//! The story of a product, told with `cuda:0` where there is one: see the example `tensor_story`.

#[path = "../../minormajor/examples/tensor_story.rs"]
mod story;

use std::error::Error;
use std::io::stdout;

use minormajor::Devices;

fn main() -> Result<(), Box<dyn Error>> {
    let alter = std::env::args().any(|argument| argument == "--alter");
    let mut devices = Devices::new();
    minormajor_cuda::register(&mut devices)?;
    story::tell(&devices, alter, &mut stdout())
}
