//! Prints the file of the library that stands in for the driver; nothing where there is none.

fn main() {
    println!("{}", minormajor_cuda_emulator::LIBRARY);
}
