//! Runs an operation on numbers, by a kernel whose name the program makes of the operation and the
//! type of the numbers: `cargo run -- square f64 1 2 3`.

use std::env;
use std::error::Error;
use std::fmt::Display;
use std::process::ExitCode;
use std::str::FromStr;

use offload_gpu::AnyArgument;
use offload_gpu::run::{Buffer, BufferItem, Device, RunError};

/// The pack, a function for each kernel of `kernels/elementwise.cu`, and `named`, which finds them.
mod kernels {
    offload_gpu::include_kernels!("elementwise");
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let device = Device::best_for(&kernels::PACK)?;
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => compare(&device),
        [operation, dtype, numbers @ ..] => {
            let name = format!("{operation}_{dtype}");
            match dtype.as_str() {
                "f32" => print::<f32>(&device, &name, numbers),
                "f64" => print::<f64>(&device, &name, numbers),
                // For an unknown type, the error is `named`'s.
                _ => print::<i32>(&device, &name, numbers),
            }
        }
        _ => Err("usage: kernels-by-name [affine|square f32|f64|i32 NUMBER...]".into()),
    }
}

/// A type of numbers that kernels take, alone and in buffers.
trait Number: AnyArgument + BufferItem + FromStr<Err: Error> + Display + From<i8> {}

impl Number for f32 {}
impl Number for f64 {}
impl Number for i32 {}

/// Prints the results of an operation on these numbers.
fn print<T: Number<Err: 'static>>(
    device: &Device,
    name: &str,
    numbers: &[String],
) -> Result<(), Box<dyn Error>> {
    let x: Vec<T> = numbers.iter().map(|number| number.parse()).collect::<Result<_, _>>()?;
    for result in apply(device, name, &x)?.to_vec()? {
        println!("{result}");
    }
    Ok(())
}

/// Applies the kernel of this name to numbers. The kernel's arguments are compared with its source
/// when the program runs.
fn apply<T: Number>(device: &Device, name: &str, x: &[T]) -> Result<Buffer<T>, RunError> {
    let (n, there, mut y) = (x.len() as u32, device.buffer(x)?, device.zeros(x.len())?);
    let mut call = kernels::named(name)?.arg(n)?;
    // Only `affine` has two more numbers: `2 * x + 1`.
    if name.starts_with("affine") {
        call = call.arg(T::from(2))?.arg(T::from(1))?;
    }
    let call = call.arg(&there)?.arg(&mut y)?;
    // SAFETY: each kernel touches the first `n` elements of both buffers, which is how many they
    // have.
    unsafe { call.launch(device, n.div_ceil(256).max(1), 256)? };
    Ok(y)
}

/// Compares the results of a kernel's function, whose arguments the compiler checks, with those of
/// the same kernel by its name.
fn compare(device: &Device) -> Result<(), Box<dyn Error>> {
    let x: Vec<f32> = (0..1000_u16).map(f32::from).collect();
    let (there, mut y) = (device.buffer(&x)?, device.zeros(x.len())?);
    // SAFETY: the kernel touches the first 1000 elements of both buffers, which is how many they
    // have.
    unsafe { kernels::affine_f32(1000, 2.0, 1.0, &there, &mut y).launch(device, 4, 256)? };
    let expected: Vec<f32> = x.iter().map(|x| 2.0 * x + 1.0).collect();
    if y.to_vec()? != expected || apply(device, "affine_f32", &x)?.to_vec()? != expected {
        return Err("wrong results".into());
    }
    let image = kernels::PACK.on(device)?.image();
    println!("The {} {} computed the same by function and by name.", image.target(), image.kind());
    Ok(())
}
