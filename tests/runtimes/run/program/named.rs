//! Finds kernels by their names, and launches them or prints the errors.

use super::{Result, by_path, kernels, modules};
use offload_gpu::CallError;
use offload_gpu::run::{Device, Launch, RunError};
use std::ffi::c_void;
use std::fmt::Debug;

#[allow(dead_code)]
mod named {
    offload_gpu::include_kernels!("named");
}

/// Launches a kernel by name on the chosen device: with the arguments as a tuple, and with the
/// arguments one by one. Prints the number of right elements for each launch.
pub fn saxpy() -> Result {
    let device = Device::best_for(&kernels::PACK)?;
    let numbers: Vec<f32> = (0..1000_u16).map(f32::from).collect();
    let x = device.buffer(&numbers)?;
    let kernel = kernels::named("saxpy")?;
    let right = |y: Vec<f32>| numbers.iter().zip(y).filter(|(x, y)| *x * 3.0 == *y).count();

    let mut y = device.zeros::<f32>(1000)?;
    let call = kernel.call((1000, 3.0_f32, &x, &mut y))?;
    // SAFETY: the kernel accesses the first 1000 elements of `x` and `y`, and each has 1000.
    unsafe { call.launch(&device, 4, 256)? };
    let as_tuple = right(y.to_vec()?);

    let mut y = device.zeros::<f32>(1000)?;
    let call = kernel.arg(x.len() as i32)?.arg(3.0_f32)?.arg(&x)?.arg(&mut y)?;
    // SAFETY: as above.
    unsafe { call.launch_as(&device, &Launch::new(4, 256))? };
    println!("{device}: {as_tuple} {} {}", right(y.to_vec()?), same_memory(&device)?);

    let missing = kernel.call((1000, 3.0_f32, &x)).err().map(|error| error.to_string());
    println!("{}", missing.unwrap_or_default());
    // SAFETY: the launch is refused, because an argument is missing.
    let error = unsafe { kernel.arg(1000)?.launch(&device, 1, 1) };
    println!("{}", error.err().map(|error| error.to_string()).unwrap_or_default());
    // The image for the CPU lacks this kernel.
    let mut one = device.zeros::<f32>(1)?;
    // SAFETY: the kernel writes one element.
    match unsafe { kernels::named("on_gpus_only")?.call((&mut one,))?.launch(&device, 1, 1) } {
        Ok(()) => println!("launched"),
        Err(error) => println!("{error}"),
    }
    Ok(())
}

/// Returns whether the arguments have the same bytes as those of the typed function.
fn same_memory(device: &Device) -> std::result::Result<bool, RunError> {
    let x = device.zeros::<f32>(1)?;
    let typed = kernels::saxpy(7, 2.5, &x, std::ptr::null_mut::<f32>());
    let call = kernels::named("saxpy")?.call((7, 2.5_f32, &x, 0_usize))?;
    let (start, size) = call.buffer()?;
    let offsets = |start: *const c_void, all: &[*mut c_void]| -> Vec<usize> {
        all.iter().map(|pointer| pointer.addr() - start.addr()).collect()
    };
    let same = offsets(start, &call.pointers()?) == offsets(typed.buffer().0, &typed.pointers());
    // SAFETY: the memory has `size` bytes, and all of them are set.
    let bytes =
        |start: *const c_void| unsafe { std::slice::from_raw_parts(start.cast::<u8>(), size) };
    Ok(same
        && size == typed.buffer().1
        && start.addr() % 128 == 0
        && bytes(start) == bytes(typed.buffer().0)
        && call.kernel().name() == typed.kernel().name())
}

/// Runs kernels with many types of parameters, and one kernel under each of its names.
pub fn types() -> Result {
    let device = Device::best_for(&named::PACK)?;
    for name in ["scale_float", "scale<float>", "_Z5scaleIfEviT_PS0_"] {
        let mut y = device.buffer(&[1.0_f32, 2.0])?;
        // SAFETY: the kernel accesses two elements.
        unsafe { named::named(name)?.call((2, 3.0_f32, &mut y))?.launch(&device, 1, 2)? };
        println!("{name}: {:?}", y.to_vec()?);
    }
    for dtype in ["double", "int"] {
        let kernel = named::named(&format!("scale_{dtype}"))?;
        let mut call = kernel.arg(2)?;
        let (mut doubles, mut ints) =
            (device.buffer(&[1.0_f64, 2.0])?, device.buffer(&[1_i32, 2])?);
        call = match dtype {
            "int" => call.arg(5)?.arg(&mut ints)?,
            _ => call.arg(5.0)?.arg(&mut doubles)?,
        };
        // SAFETY: as above.
        unsafe { call.launch(&device, 1, 2)? };
        println!("{:?} {:?}", doubles.to_vec()?, ints.to_vec()?);
    }
    let mut y = device.zeros::<i32>(4)?;
    let range = named::Range { first: 1, count: 2 };
    let x = device.buffer(&[1_i32, 2, 3, 4])?;
    // In a call of the typed function, `y.len()` after `&mut y` would be an error.
    let call = named::named("copy_bytes")?.arg(&x)?.arg(&mut y)?.arg(4 * y.len() as u32)?;
    // SAFETY: both buffers have this many bytes.
    unsafe { call.launch(&device, 1, 1)? };
    // SAFETY: the kernel writes elements 1 and 2.
    unsafe { named::named("fill")?.call((range, 9, &mut y))?.launch(&device, 1, 1)? };
    // SAFETY: the kernel does nothing.
    unsafe { named::named("nothing")?.call(())?.launch(&device, 1, 1)? };
    println!("{:?}", y.to_vec()?);
    // Pass structs by pointer, and an empty struct by value.
    let particles = device.buffer(&[named::Particle { mass: 1.5, cell: 3 }; 2])?;
    let mut moved = device.zeros::<named::Particle>(2)?;
    let call = named::named("move_on")?.call((named::Next, 2, &particles, &mut moved))?;
    // SAFETY: the kernel accesses two elements of both buffers, and both have two.
    unsafe { call.launch(&device, 1, 1)? };
    println!("{:?}", moved.to_vec()?[1]);
    // SAFETY: the kernels write one element.
    unsafe {
        named::named("named_")?.call((&mut y,))?.launch(&device, 1, 1)?;
        print!("{} ", y.to_vec()?[0]);
        named::named_(&mut y).launch(&device, 1, 1)?;
        named::named("many")?
            .call((1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, &mut y))?
            .launch(&device, 1, 1)?;
        print!("{} ", y.to_vec()?[0]);
        // Find kernels in two modules of one pack.
        modules::first::named("value")?.call((&mut y,))?.launch(&device, 1, 1)?;
        print!("{} ", y.to_vec()?[0]);
        modules::second::named("other")?.call((&mut y,))?.launch(&device, 1, 1)?;
    }
    println!("{}", y.to_vec()?[0]);
    Ok(())
}

/// Prints the errors for wrong names and wrong arguments.
pub fn errors() -> Result {
    let device = Device::cpu();
    let (floats, mut doubles) = (device.zeros::<f32>(1)?, device.zeros::<f64>(1)?);
    for name in [
        "scale_flaot",
        "scale",
        "ns::over",
        "fill ",
        "",
        "tanh",
        "_Z5scaleIfEviT_PS1_",
        "differs",
        "scale<half>",
    ] {
        show(named::named(name));
    }
    show(modules::first::named("other"));
    show(modules::second::named("othr"));
    show(by_path::named("keep"));
    show(by_path::named("valeu"));
    let scale = named::named("scale_float")?;
    show(scale.call((2, 3.0, &floats)));
    show(scale.call((2_usize, 3.0_f32, &floats)));
    show(scale.call((2, 3.0_f32, &floats)));
    show(scale.call((2, 3.0_f32, &mut doubles)));
    show(scale.call((2, 3.0_f32, std::ptr::null::<f32>())));
    show(scale.call((2, 3.0_f32)));
    show(scale.call(()));
    show(scale.call((2, 3.0_f32, &floats, 1)));
    show(scale.arg(2)?.arg(3.0_f32)?.arg(&mut device.zeros::<f32>(1)?)?.arg(1));
    show(scale.arg(2)?.pointers());
    show(scale.arg(2)?.buffer());
    show(named::named("nothing")?.arg(1_u8));
    show(named::named("fill")?.arg(named::Wide { lanes: [0.0; 4] }));
    show(named::named("copy_bytes")?.arg(&floats)?.arg(&floats));
    show(named::named("move_on")?.arg(named::Next)?.arg(1)?.arg(&floats));
    show(named::named("copy_bytes")?.arg(1_u64));
    show(by_path::named("value")?.arg(&floats));
    let wide = named::named("wide")?.call((named::Wide { lanes: [0.0; 4] }, &mut doubles))?;
    println!("{}", wide.pointers()?.len());
    show(wide.buffer());
    // A function can return either error.
    let error = RunError::from(scale.call(()).unwrap_err());
    println!("{error}\n{:?}", error.cause());
    Ok(())
}

fn show<T: Debug>(result: std::result::Result<T, CallError>) {
    match result {
        Ok(value) => println!("no error: {value:?}"),
        Err(error) => println!("{error}"),
    }
}
