//! Measures times, which are reported as figures and never as findings.

use super::limits::kernels as runtime;
use super::readme::kernels as affine;
use super::this;
use crate::child;
use crate::driver::Driver;
use crate::report::{Result, Run, finding};
use offload_gpu::run::{Device, Vendor};
use offload_gpu::select;
use std::ffi::c_void;
use std::hint::black_box;
use std::time::{Duration, Instant};

mod compressed {
    offload_gpu::include_kernels!("compressed");
}
mod ptx {
    offload_gpu::include_kernels!("ptx");
}

pub fn run(run: &mut Run) -> Result<String> {
    let device = run.device.clone();
    affine::PACK.on(&device)?;
    let on = nanoseconds(20_000, || {
        drop(black_box(affine::PACK.on(black_box(&device))));
        Ok(())
    })?;
    run.figure("on() again, ns", on);
    let select = nanoseconds(20_000, || {
        drop(black_box(affine::PACK.select(black_box(device.info()))));
        Ok(())
    })?;
    run.figure(format!("selection of {}, ns", affine::PACK.images().len()), select);
    launches(run, &device)?;
    if device.vendor() == Vendor::Nvidia
        && let Err(stop) = cudarc_launches(run)
    {
        run.figure("cudarc", format!("{stop:?}"));
    }
    for form in ["plain", "compressed", "ptx"] {
        // Start a new process without the driver's cache, so that the PTX is not compiled yet.
        let mut load = this(&["part", "load", "--device", &device.name(), form]);
        let ended = child::run(load.env("CUDA_CACHE_DISABLE", "1"), Duration::from_secs(20));
        match ended.stdout.trim().parse::<f64>() {
            Ok(time) => run.figure(format!("first load, {form}, us"), time),
            Err(_) => run.figure(format!("first load, {form}"), child::tail(&ended.stderr)),
        }
    }
    Ok(format!("on() again takes {on:.0} ns, selection {select:.0} ns"))
}

/// Returns the time of one call in nanoseconds: the minimum of several rounds.
fn nanoseconds(calls: u32, mut call: impl FnMut() -> Result) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..calls {
            call()?;
        }
        least = least.min(start.elapsed().as_nanos() as f64 / f64::from(calls));
    }
    Ok(least)
}

/// How many launches fit into a driver's queue, so that none waits for the GPU.
const LAUNCHES: u32 = 500;

fn launches(run: &mut Run, device: &Device) -> Result {
    let (x, mut y) = (device.zeros::<f32>(1)?, device.zeros::<f32>(1)?);
    let ours = nanoseconds_of_launches(device, || {
        // SAFETY: the kernel accesses no element, because `n` is 0.
        unsafe { runtime::nothing(0, 1.0, &x, &mut y).launch(device, 1, 1)? };
        Ok(())
    })?;
    run.figure("a launch, ns", ours);
    let Some(driver) = Driver::of(device).transpose()? else { return Ok(()) };
    // The driver has made its context current, so measure our launch again with that context.
    let current = nanoseconds_of_launches(device, || {
        // SAFETY: the kernel accesses no element, because `n` is 0.
        unsafe { runtime::nothing(0, 1.0, &x, &mut y).launch(device, 1, 1)? };
        Ok(())
    })?;
    run.figure("a launch with its context current, ns", current);
    let loaded = runtime::PACK.on(device)?;
    let function = loaded.raw_function(&runtime::PACK.kernel("nothing"))?;
    let call = runtime::nothing(0, 1.0, &x, &mut y);
    let mut pointers: [*mut c_void; 4] = call.pointers();
    let raw = nanoseconds_of_launches(device, || {
        // SAFETY: the function's module stays loaded, and `call` contains the function's arguments.
        unsafe { driver.launch(function, ([1, 1, 1], [1, 1, 1], 0), &mut pointers)? };
        Ok(())
    })?;
    run.figure("the driver's own launch, ns", raw);
    Ok(())
}

fn nanoseconds_of_launches(device: &Device, mut launch: impl FnMut() -> Result) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..5 {
        device.synchronize()?;
        least = least.min(nanoseconds(LAUNCHES / 5, &mut launch)?);
    }
    device.synchronize()?;
    Ok(least)
}

/// Measures cudarc's launches of the same kernel, from the pack's PTX.
fn cudarc_launches(run: &mut Run) -> Result {
    use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
    let device = run.device.clone();
    let context = CudaContext::new(usize::try_from(device.ordinal())?)?;
    let mut images = runtime::PACK.images();
    let image = images.find(|image| {
        image.target().starts_with("compute_") && select::judge(image, device.info()).is_ok()
    });
    let Some(image) = image else { return crate::report::skip("the pack has no PTX that fits") };
    let text = String::from_utf8(image.decompress()?.bytes().to_vec())?;
    let text = text.trim_end_matches('\0').to_owned();
    let module = context.load_module(cudarc::nvrtc::Ptx::from_src(text))?;
    let function = module.load_function("nothing")?;
    let stream = context.default_stream();
    let (x, mut y) = (stream.alloc_zeros::<f32>(1)?, stream.alloc_zeros::<f32>(1)?);
    let shape = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
    let time = nanoseconds_of_launches(&device, || {
        let mut launch = stream.launch_builder(&function);
        launch.arg(&0_i32).arg(&1.0_f32).arg(&x).arg(&mut y);
        // SAFETY: the arguments have the types of the kernel, which accesses no element.
        unsafe { launch.launch(shape)? };
        Ok(())
    })?;
    run.figure("cudarc's launch, ns", time);
    Ok(())
}

/// Prints how many microseconds the first load of an image in this process takes.
pub fn load(form: &str, device: &Device) -> Result {
    // Create the context first, because that is slow.
    device.buffer(&[1_u8])?;
    device.synchronize()?;
    let start = Instant::now();
    match form {
        "plain" => drop(affine::PACK.on(device)?),
        "compressed" => drop(compressed::PACK.on(device)?),
        "ptx" => drop(ptx::PACK.on(device)?),
        _ => return finding(format!("no form {form}")),
    }
    println!("{}", start.elapsed().as_nanos() as f64 / 1e3);
    Ok(())
}
