//! Tests launches that exceed limits, and launches exactly at the limits.

use super::part_of;
use crate::child::{self, How};
use crate::driver::{Driver, cuda};
use crate::report::{Result, Run, compare, finding};
use offload_gpu::run::{Cause, Device, Launch, Vendor};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::time::Duration;

pub mod kernels {
    offload_gpu::include_kernels!("runtime");
}

/// The shape of a launch.
struct Request {
    name: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
}

const fn request(name: &'static str, grid: [u32; 3], block: [u32; 3], shared: u32) -> Request {
    Request { name, grid, block, shared }
}

/// Requests beyond the limits of most devices.
const TOO_MUCH: [Request; 5] = [
    request("a block of 2048 threads", [1, 1, 1], [2048, 1, 1], 0),
    request("128 threads in z", [1, 1, 1], [1, 1, 128], 0),
    request("70000 blocks in y", [1, 70_000, 1], [1, 1, 1], 0),
    request("no block", [0, 1, 1], [256, 1, 1], 0),
    request("512 MiB of shared memory", [1, 1, 1], [1, 1, 1], 512 << 20),
];

/// Requests exactly at limits that all devices allow.
const JUST_RIGHT: [Request; 3] = [
    request("a block of 1024 threads", [1, 1, 1], [1024, 1, 1], 0),
    request("64 threads in z", [1, 1, 1], [4, 4, 64], 0),
    request("65535 blocks in y", [1, 65_535, 1], [1, 1, 1], 0),
];

pub fn run(run: &mut Run) -> Result<String> {
    let device = run.device.clone();
    // A driver may end the process instead of refusing a launch.
    let has_driver = !matches!(device.vendor(), Vendor::Cpu | Vendor::Intel);
    let ended = has_driver.then(|| part_of("limits", &device, &[], Duration::from_secs(20)));
    let answers = ended.iter().flat_map(|ended| ended.stdout.lines());
    let mut rows = Vec::new();
    for (requests, is_too_much) in [(&TOO_MUCH[..], true), (&JUST_RIGHT, false)] {
        for request in requests {
            let ours = launch(&device, request);
            let name = request.name;
            let prefix = format!("{name}\t");
            let theirs = answers.clone().find_map(|line| line.strip_prefix(&prefix));
            let theirs = theirs.map(|answer| match answer {
                "" => Ok(()),
                why => Err(why),
            });
            let driver_says = match &theirs {
                None if has_driver => "the driver gives no answer".to_owned(),
                None => "there is no driver".to_owned(),
                Some(Ok(())) => "the driver launches it".to_owned(),
                Some(Err(why)) => format!("the driver refuses it: {why}"),
            };
            let we_say = match &ours {
                Ok(()) => "launched".to_owned(),
                Err(why) => why.clone(),
            };
            rows.push(format!("{name}: {we_say}; {driver_says}"));
            match (&ours, &theirs) {
                (Err(why), _) if why.starts_with("driver: ") => {
                    run.finding(format!("{name} reaches the driver, which refuses it: {why}"));
                }
                // AMD's runtime reports limits that it does not enforce.
                (Err(why), Some(Ok(()))) if device.vendor() == Vendor::Nvidia => {
                    run.finding(format!("{name} is refused ({why}), but {driver_says}"));
                }
                (Err(why), _) if !is_too_much => {
                    run.finding(format!("{name} is refused: {why}; {driver_says}"));
                }
                _ => {}
            }
        }
    }
    run.figure("requests", rows);
    if let Some(ended) = &ended
        && ended.how != How::Status(0)
    {
        let text = format!("{}: {}", ended.how.words(), child::tail(&ended.stderr));
        run.figure("the process with the driver's own launches", text);
    }
    // Test the bound stated in the image. The launch must not reach the driver, whose behaviour
    // would be undefined.
    let (x, mut y) = (device.zeros::<f32>(512)?, device.zeros::<f32>(512)?);
    let shape = Launch::new(1, 512).shared_memory(2048);
    // SAFETY: the kernel accesses 512 elements of `x` and of `y`, and each has 512.
    let result = unsafe { kernels::turn(&x, &mut y).launch_as(&device, &shape) };
    // SPIR-V has no instruction for the bound.
    if !matches!(device.vendor(), Vendor::Cpu | Vendor::Intel)
        && !matches!(&result, Err(error) if matches!(error.cause(), Cause::Refused(_)))
    {
        run.finding(format!("a block beyond __launch_bounds__(256): {result:?}"));
    }
    super::readme::saxpy(&device, 1000)?;
    Ok(format!("{} requests, and all works after them", TOO_MUCH.len() + JUST_RIGHT.len() + 1))
}

fn launch(device: &Device, request: &Request) -> std::result::Result<(), String> {
    let shape = Launch::new(request.grid, request.block).shared_memory(request.shared as usize);
    let none = ptr::null_mut::<f32>();
    // SAFETY: the kernel accesses no element, because `n` is 0.
    let launched = unsafe { kernels::nothing(0, 1.0, none, none).launch_as(device, &shape) };
    launched.and_then(|()| device.synchronize()).map_err(|error| match error.cause() {
        Cause::Refused(why) => why.clone(),
        _ => format!("driver: {error}"),
    })
}

/// Makes each request with the driver's own function, and prints a line: a name, a tab, and the
/// error, if any. The requests beyond the limits come last, because a driver may end the process
/// instead of refusing one.
pub fn part(device: &Device) -> Result {
    let Some(driver) = Driver::of(device) else { return finding("the CPU has no driver") };
    let driver = driver?;
    for request in JUST_RIGHT.iter().chain(&TOO_MUCH) {
        let answer = launch_directly(&driver, request)?.err().unwrap_or_default();
        println!("{}\t{}", request.name, answer.replace('\n', " "));
    }
    Ok(())
}

/// Launches with the driver's own function. The inner result is the driver's answer to the launch;
/// the outer one reports any other error.
fn launch_directly(driver: &Driver, request: &Request) -> Result<std::result::Result<(), String>> {
    let loaded = kernels::PACK.on(driver.device())?;
    let function = loaded.raw_function(&kernels::PACK.kernel("nothing"))?;
    let (mut n, mut a, mut x) = (0_i32, 1.0_f32, ptr::null_mut::<f32>());
    let mut y = x;
    let mut arguments: [*mut c_void; 4] =
        [(&raw mut n).cast(), (&raw mut a).cast(), (&raw mut x).cast(), (&raw mut y).cast()];
    // SAFETY: the function's module stays loaded, and the arguments have the kernel's types. The
    // kernel accesses no element.
    let launched = unsafe {
        let shape = (request.grid, request.block, request.shared);
        driver.launch(function, shape, &mut arguments).and_then(|()| driver.synchronize())
    };
    Ok(launched.map_err(|error| error.to_string()))
}

/// Tests many sizes of dynamic shared memory, up to the device's limit.
pub fn shared_memory(run: &mut Run) -> Result<String> {
    let device = run.device.clone();
    let limit = limit(&device)?;
    run.figure("bytes that a block may have", limit);
    let sizes = [1024, 40_000, 48 << 10, 60_000, 50_000, 60_000, 90_000, 160_000, limit];
    let fitting: Vec<usize> = sizes.into_iter().filter(|size| *size <= limit).collect();
    for bytes in &fitting {
        let result = turn(&device, *bytes);
        run.part(&format!("{bytes} bytes"), result);
    }
    // Skip AMD: on gfx950, blocks may have more shared memory than on AMD's other GPUs.
    if device.vendor() == Vendor::Nvidia {
        match turn(&device, limit + 1) {
            Ok(()) => run.finding(format!("{} bytes are launched", limit + 1)),
            Err(stop) => run.figure("one more", format!("{stop:?}")),
        }
        turn(&device, 1024)?;
    }
    Ok(format!("{} sizes, up to {limit} bytes", fitting.len()))
}

/// Returns the driver's limit for a block, in bytes.
fn limit(device: &Device) -> Result<usize> {
    type Attribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
    // hipDeviceAttributeMaxSharedMemoryPerBlock has a different number in each version, so assume
    // 64 KiB, which all of AMD's GPUs have.
    let most = match device.vendor() {
        Vendor::Nvidia => None,
        Vendor::Amd => Some(64 << 10),
        _ => Some(160_000),
    };
    let (Some(driver), None) = (Driver::loaded(device).transpose()?, most) else {
        return Ok(most.unwrap_or_default());
    };
    const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: c_int = 97;
    let (handle, mut value) = (cuda::handle(&driver)?, 0);
    // SAFETY: the function has this type in cuda.h, and writes one number.
    unsafe {
        let attribute = driver.function::<Attribute>("cuDeviceGetAttribute")?;
        let code = attribute(&mut value, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, handle);
        driver.check("cuDeviceGetAttribute", code)?;
    }
    usize::try_from(value).or_else(|_| finding("the driver reports a negative limit"))
}

/// Reverses 256 elements with this many bytes of dynamic shared memory. The kernel uses 1024 bytes.
fn turn(device: &Device, bytes: usize) -> Result {
    let numbers: Vec<f32> = (0..256_u16).map(f32::from).collect();
    let (x, mut y) = (device.buffer(&numbers)?, device.zeros::<f32>(256)?);
    let shape = Launch::new(1, 256).shared_memory(bytes);
    // SAFETY: the kernel accesses 256 elements of `x`, `y` and the shared memory.
    unsafe { kernels::turn(&x, &mut y).launch_as(device, &shape)? };
    let expected: Vec<f32> = numbers.into_iter().rev().collect();
    compare("reversed", &y.to_vec()?, &expected)
}
