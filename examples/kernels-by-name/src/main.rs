//! Calls kernels in three ways: through a function, through a generic function, and by a name that
//! the program composes from an operation and a number type. For example, `cargo run -- square f64
//! 1 2 3` calls the kernel `square_f64`.

use std::env;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::process::ExitCode;
use std::str::FromStr;

use offload_gpu::AnyArgument;
use offload_gpu::run::{BufferItem, Device, RunError};

/// The embedded pack, the functions and variables of `kernels/elementwise.cu`, and `named`, which
/// finds a kernel by its name.
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
        [] => typed(&device).map_err(Into::into),
        [operation, dtype, numbers @ ..] => {
            let name = format!("{operation}_{dtype}");
            match dtype.as_str() {
                "f32" => named::<f32>(&device, &name, numbers),
                "f64" => named::<f64>(&device, &name, numbers),
                // For an unknown type, `named` returns the error.
                _ => named::<i32>(&device, &name, numbers),
            }
        }
        _ => Err("usage: kernels-by-name [square f32|f64|i32 NUMBER...]".into()),
    }
}

/// Calls kernels whose arguments the compiler checks.
fn typed(device: &Device) -> Result<(), RunError> {
    let (x, mut y) = (device.buffer(&[1.0_f32, 2.0, 3.0])?, device.zeros(3)?);
    // SAFETY: the kernel accesses only the first 3 elements of each buffer, and each has 3.
    unsafe { kernels::square_f32(3, &x, &mut y).launch(device, 1, 256)? };
    println!("{}: the squares are {:?}", kernels::PACK.on(device)?.image().target(), y.to_vec()?);

    kernels::SLOPE.write(device, &0.5)?;
    println!("with a slope of {}:", kernels::SLOPE.read(device)?);
    relu(device, &[-1.0_f32, 2.0])?;
    relu(device, &[-3.0_f64, 4.0])
}

/// Calls the template's instance for `T`. The call compiles only for `f32` and `f64`.
fn relu<T: kernels::relu + BufferItem + Debug>(device: &Device, x: &[T]) -> Result<(), RunError> {
    let mut there = device.buffer(x)?;
    // SAFETY: as above.
    unsafe { kernels::relu::<T>(x.len() as u32, &mut there).launch(device, 1, 256)? };
    println!("  {x:?} becomes {:?}", there.to_vec()?);
    Ok(())
}

/// Calls the kernel called `name` with `numbers`, and prints the results. The arguments are checked
/// when the program runs.
fn named<T>(device: &Device, name: &str, numbers: &[String]) -> Result<(), Box<dyn Error>>
where
    T: AnyArgument + BufferItem + FromStr<Err: Error + 'static> + Display,
{
    let x: Vec<T> = numbers.iter().map(|number| number.parse()).collect::<Result<_, _>>()?;
    let (there, mut y) = (device.buffer(&x)?, device.zeros::<T>(x.len())?);
    let call = kernels::named(name)?.arg(x.len() as u32)?.arg(&there)?.arg(&mut y)?;
    // SAFETY: as above, but each buffer has as many elements as `x`.
    unsafe { call.launch(device, x.len().div_ceil(256).max(1) as u32, 256)? };
    y.to_vec()?.iter().for_each(|result| println!("{result}"));
    Ok(())
}
