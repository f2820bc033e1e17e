//! Runs the function that its first argument names, on the device that the run time chooses, and
//! prints the result.

use offload_gpu::DeviceBuffer;
use offload_gpu::run::{Device, Vendor, Launch, RunError, devices};
use std::cell::RefCell;
use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Display;
use std::process::{Command, ExitCode};
use std::sync::{Mutex, OnceLock};
use std::{env, fs, panic, thread};

/// Declares a Rust module with the kernels of each pack.
macro_rules! packs {
    ($($module:ident: $pack:tt,)*) => { $(mod $module { offload_gpu::include_kernels!($pack); })* };
}
packs! {
    kernels: "math", one: "one", two: "two", modules: "modules", for_gpus: "for_gpus",
    traced: "traced", some_empty: "some_empty", compressed: "compressed",
    stacks: "stacks", divided: "divided", deep: "deep", small: "small",
}
mod by_path {
    offload_gpu::include_kernels!(path = "$OUT_DIR/offload/two.pack", extern {
        fn value(y: *mut i32);
    });
}
mod trusted {
    offload_gpu::include_kernels!(path = "$OUT_DIR/offload/two.pack", unsafe(cpu), extern {
        fn value(y: *mut i32);
    });
}

mod named;
mod stack_limits;
mod templates;
mod variables;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    panic::set_hook(Box::new(|panicked| {
        eprintln!("{panicked}");
        std::process::abort();
    }));
    // The alarm ends a program that hangs.
    alarm(60);
    let arguments: Vec<String> = env::args().skip(1).collect();
    let result = match &*arguments[0] {
        "devices" => list(),
        "saxpy" => saxpy(),
        "all" => all(),
        "threads" => threads(arguments[1].parse().unwrap()),
        "limits" => limits(),
        "errors" => errors(),
        "no-image" => no_image(),
        "shared-memory" => shared_memory(),
        "shared-memory-threads" => shared_memory_threads(),
        "static-shared-memory" => static_shared_memory(),
        "bits" => bits(),
        "elsewhere" => elsewhere(),
        "in-turn" => in_turn(),
        "modules" => several_modules(),
        "empty-modules" => empty_modules(),
        "compressed" => compressed(),
        "lacking" => lacking(),
        "by-path" => by_path(),
        "debug" => debug(),
        "fork" => fork(),
        "static" => in_static(),
        "thread-local" => in_thread_local(),
        "late" => late(),
        "named" => named::saxpy(),
        "named-types" => named::types(),
        "templates" => templates::run(),
        "named-errors" => named::errors(),
        "variables" => variables::copy(),
        "variable-errors" => variables::errors(),
        "variable-threads" => variables::threads(),
        "many" => stack_limits::many(arguments[1].parse().unwrap()),
        "waiting" => stack_limits::waiting(),
        "own-handler" => stack_limits::own_handler(&arguments[1]),
        "unload" => stack_limits::unload(&arguments[1]),
        "nested" => stack_limits::nested(arguments[1].parse().unwrap()),
        "deep-enough" => stack_limits::deep_enough(),
        "overflow" => stack_limits::overflow(&arguments[1]),
        "overflow-on-bare-thread" => stack_limits::overflow_on_bare_thread(),
        "refused" => stack_limits::refused(),
        "kept" => stack_limits::kept(),
        other => Err(format!("no such command: {other}").into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all kernels run on the device. Stand-ins for a driver only log most launches.
fn computes(device: &Device) -> bool {
    matches!(device.vendor(), Vendor::Cpu | Vendor::Intel)
}

fn print(name: &str, result: std::result::Result<impl Display, RunError>) {
    match result {
        Ok(value) => println!("{name}: {value}"),
        Err(error) => println!("{name}: {error}"),
    }
}

fn list() -> Result {
    let devices = devices();
    for device in devices.list() {
        println!("{device}: {}, {:?} bytes", device.info(), device.memory());
    }
    for absent in devices.absent() {
        println!("no {} device: {}", absent.vendor.driver(), absent.why);
    }
    Ok(())
}

/// Computes 1000 elements on the chosen device. If AMD's own runtime runs on a stand-in for the
/// GPU, no kernel runs, so no element is computed.
fn saxpy() -> Result {
    let device = Device::best_for(&kernels::PACK)?;
    let right = saxpy_on(&device)?;
    let image = kernels::PACK.on(&device)?.image();
    println!("{device}: the {} {} computed {right} of 1000", image.target(), image.kind());
    Ok(())
}

fn saxpy_on(device: &Device) -> std::result::Result<usize, RunError> {
    let numbers: Vec<f32> = (0..1000_u16).map(f32::from).collect();
    let x = device.buffer(&numbers)?;
    let mut y = device.zeros::<f32>(1000)?;
    // SAFETY: the kernel accesses the first 1000 elements of `x` and `y`, and each has 1000.
    unsafe { kernels::saxpy(1000, 3.0, &x, &mut y).launch(device, 4, 256)? };
    device.synchronize()?;
    let y = y.to_vec()?;
    Ok(numbers.iter().zip(y).filter(|(x, y)| *x * 3.0 == *y).count())
}

/// Does everything that a device can do, so that the run time calls each function of the driver.
fn all() -> Result {
    let device = Device::best_for(&kernels::PACK)?;
    let loaded = kernels::PACK.on(&device)?;
    println!("{}", loaded.raw_module()?.is_null());
    println!("{}", loaded.raw_function(&kernels::PACK.kernel("saxpy"))?.is_null());
    println!("{}", saxpy_on(&device)?);
    kernels::OFFSET.write(&device, &0.5)?;
    println!("{}", kernels::OFFSET.read(&device)?);
    reverse(&device, 60_000)?;
    println!("done");
    Ok(())
}

/// Uses all GPUs, with 8 threads for each GPU and 100 loads in each thread. `right` is the expected
/// number of correct elements.
fn threads(right: usize) -> Result {
    let devices = devices();
    let gpus: Vec<&Device> =
        devices.list().iter().filter(|device| device.vendor() != Vendor::Cpu).collect();
    let loads = Mutex::new(0);
    let work = |gpu: &Device| -> std::result::Result<(), RunError> {
        for _ in 0..100 {
            let loaded = kernels::PACK.on(gpu)?;
            assert!(!loaded.raw_function(&kernels::PACK.kernel("saxpy"))?.is_null());
            *loads.lock().unwrap() += 1;
        }
        // The result on this GPU must stay correct while other threads load modules on other GPUs.
        assert_eq!(saxpy_on(gpu)?, right);
        Ok(())
    };
    thread::scope(|scope| {
        let started: Vec<_> =
            gpus.iter().flat_map(|gpu| (0..8).map(|_| scope.spawn(|| work(gpu)))).collect();
        started.into_iter().try_for_each(|thread| thread.join().unwrap())
    })?;
    println!("{} loads on {} devices", loads.lock().unwrap(), gpus.len());
    Ok(())
}

fn limits() -> Result {
    let device = Device::best_for(&kernels::PACK)?;
    let x = device.zeros::<f32>(1)?;
    let mut y = device.zeros::<f32>(1)?;
    let launches = [
        ("a wide block", Launch::new(1, 2048)),
        ("a deep block", Launch::new(1, (1, 1, 128))),
        ("a tall grid", Launch::new((1, 70_000), 1)),
        ("an empty grid", Launch::new(0, 256)),
        ("shared memory", Launch::new(1, 1).shared_memory(5 << 30)),
    ];
    for (name, launch) in launches {
        // SAFETY: the kernel accesses no element, because it gets 0 as the number of elements.
        let result = unsafe { kernels::saxpy(0, 1.0, &x, &mut y).launch_as(&device, &launch) };
        print(name, result.map(|()| "launched"));
    }
    let x = device.zeros::<f32>(512)?;
    let mut y = device.zeros::<f32>(512)?;
    // SAFETY: the kernel accesses 512 elements of `x` and of `y`, and each has 512.
    let result = unsafe {
        kernels::reverse(&x, &mut y).launch_as(&device, &Launch::new(1, 512).shared_memory(2048))
    };
    print("launch bounds", result.map(|()| "launched"));
    Ok(())
}

/// Prints the results of requests that a device may refuse: too many bytes, no bytes, a second CPU,
/// and a stream on the CPU.
fn errors() -> Result {
    let device = Device::best_for(&kernels::PACK)?;
    const NONE: &str = "no error";
    print("more bytes than addresses", device.zeros::<f64>(usize::MAX / 4).map(|_| NONE));
    print("no bytes", device.zeros::<f32>(0).and_then(|buffer| buffer.to_vec()).map(|_| NONE));
    let elements = device.zeros::<()>(usize::MAX).and_then(|all| all.to_vec());
    print("no bytes each", elements.map(|_| NONE));
    print("a number", Device::named("cpu:1").map(|_| NONE));
    if device.vendor() == Vendor::Cpu {
        let x = device.zeros::<f32>(1)?;
        let mut y = device.zeros::<f32>(1)?;
        let launch = Launch::new(1, 1).stream(std::ptr::without_provenance_mut(1));
        // SAFETY: the kernel accesses no element, because it gets 0 as the number of elements.
        let result = unsafe { kernels::saxpy(0, 1.0, &x, &mut y).launch_as(&device, &launch) };
        print("a stream", result.map(|()| NONE));
    }
    Ok(())
}

/// Uses a pack without an image for the CPU.
fn no_image() -> Result {
    let device = Device::best_for(&for_gpus::PACK)?;
    for_gpus::PACK.on(&device)?;
    println!("{device}");
    Ok(())
}

fn reverse(device: &Device, bytes: usize) -> std::result::Result<bool, RunError> {
    let numbers: Vec<f32> = (0..256_u16).map(f32::from).collect();
    let x = device.buffer(&numbers)?;
    let mut y = device.zeros::<f32>(256)?;
    let launch = Launch::new(1, 256).shared_memory(bytes);
    // SAFETY: the kernel touches 256 elements of `x`, `y` and of the shared memory.
    unsafe { kernels::reverse(&x, &mut y).launch_as(device, &launch)? };
    Ok(y.to_vec()?.into_iter().rev().eq(numbers))
}

fn shared_memory() -> Result {
    let device = Device::best_for(&kernels::PACK)?;
    // The last size is the maximum of an H100.
    for bytes in [1024, 40_000, 60_000, 50_000, 60_000, 90_000, 227 << 10] {
        reverse(&device, bytes)?;
    }
    println!("{}", if computes(&device) { reverse(&device, 60_000)? } else { true });
    Ok(())
}

/// Launches a kernel on several threads at once, which need different sizes, and then again.
fn shared_memory_threads() -> Result {
    let device = Device::best_for(&kernels::PACK)?;
    let sizes = [90_000, 60_000, 80_000, 70_000];
    let device = &device;
    reverse(device, 1024)?;
    thread::scope(|scope| {
        sizes.map(|bytes| scope.spawn(move || reverse(device, bytes).unwrap()));
    });
    for bytes in sizes {
        reverse(device, bytes)?;
    }
    Ok(())
}

/// Launches a kernel with 1 KiB of static shared memory and almost 48 KiB of dynamic memory.
fn static_shared_memory() -> Result {
    let device = Device::best_for(&kernels::PACK)?;
    let (x, mut sums) = (device.zeros::<f32>(256)?, device.zeros::<f32>(1)?);
    for bytes in [48_000, 48_128, 48_129] {
        let launch = Launch::new(1, 256).shared_memory(bytes);
        // SAFETY: the block reads 256 elements and writes one.
        unsafe { kernels::block_sum(&x, &mut sums).launch_as(&device, &launch)? };
    }
    device.synchronize()?;
    Ok(())
}

/// Prints the bits of 64 sums. Each block computes one sum.
fn bits() -> Result {
    let device = Device::best_for(&kernels::PACK)?;
    let numbers: Vec<f32> = (0..64 * 256_u16).map(|number| f32::from(number) * 0.37).collect();
    let (x, mut sums) = (device.buffer(&numbers)?, device.zeros::<f32>(64)?);
    // SAFETY: blocks read 256 elements and write one.
    unsafe { kernels::block_sum(&x, &mut sums).launch(&device, 64, 256)? };
    let bits: Vec<u32> = sums.to_vec()?.into_iter().map(f32::to_bits).collect();
    println!("{bits:x?}");
    Ok(())
}

/// On each device, launches with buffers of the other devices: as one argument, as all arguments,
/// and by the kernel's name. On the CPU, also passes an empty buffer and an address of a different
/// device, which are allowed. Stand-ins would not recognize such arguments.
fn elsewhere() -> Result {
    let devices = devices();
    for device in devices.list() {
        let (here, mut y) = (device.zeros::<f32>(1)?, device.zeros::<f32>(1)?);
        for other in devices.list().iter().filter(|other| other.name() != device.name()) {
            let (x, mut there) = (other.zeros::<f32>(1)?, other.zeros::<f32>(1)?);
            let one = kernels::saxpy(0, 1.0, &here, &mut there);
            let all = kernels::saxpy(0, 1.0, &x, &mut there);
            let named = kernels::named("saxpy")?.call((0, 1.0_f32, &x, &mut y))?;
            // SAFETY: the kernel accesses no element, because it gets 0 as the number of elements.
            unsafe {
                print("one", one.launch(device, 1, 1).map(|()| "launched"));
                print("all", all.launch(device, 1, 1).map(|()| "launched"));
                print("named", named.launch(device, 1, 1).map(|()| "launched"));
                let none = other.zeros::<f32>(0)?;
                if device.vendor() == Vendor::Cpu {
                    let address = there.device_address().cast_mut();
                    kernels::saxpy(0, 1.0, &none, address).launch(device, 1, 1)?;
                }
            }
        }
        // SAFETY: as above.
        unsafe { kernels::saxpy(0, 1.0, &here, &mut y).launch(device, 1, 1)? };
        device.synchronize()?;
    }
    Ok(())
}

/// Uses the CPU's images of two packs whose kernels have the same names: first in turn, with a new
/// device each time, then both on one device.
fn in_turn() -> Result {
    macro_rules! run {
        ($device:expr, $pack:ident) => {{
            let y = $device.buffer(&[0_i32; 3])?;
            let start = y.device_address().cast_mut();
            // SAFETY: each kernel writes one element.
            unsafe {
                $pack::value(start).launch($device, 1, 1)?;
                $pack::fill_int(start.wrapping_add(1)).launch($device, 1, 1)?;
                $pack::keep(start.wrapping_add(2)).launch($device, 1, 1)?;
            }
            println!("{:?}", y.to_vec()?);
        }};
    }
    for _ in 0..3 {
        run!(&Device::cpu(), one);
        run!(&Device::cpu(), two);
    }
    let device = Device::cpu();
    run!(&device, one);
    run!(&device, two);
    run!(&device, one);
    Ok(())
}

fn several_modules() -> Result {
    let device = Device::best_for(&modules::PACK)?;
    if let Err(error) = modules::PACK.on(&device) {
        println!("{error}");
    }
    for name in ["first", "second"] {
        println!("{}", modules::PACK.module(name).on(&device)?.image().target());
    }
    let mut y = device.zeros::<i32>(1)?;
    if computes(&device) {
        // SAFETY: the kernels write one element.
        unsafe {
            modules::first::value(&mut y).launch(&device, 1, 1)?;
            print!("{:?} ", y.to_vec()?);
            modules::second::other(&mut y).launch(&device, 1, 1)?;
            println!("{:?}", y.to_vec()?);
        }
    }
    Ok(())
}

/// Uses the modules of a pack in which only one module has images, before and after this module is
/// loaded.
fn empty_modules() -> Result {
    const NAMES: [&str; 4] = ["none", "neither", "full", "last"];
    let device = Device::named(&env::var("OFFLOAD_DEVICE")?)?;
    for names in [&NAMES[..], &NAMES[..2]] {
        for name in names {
            let module = some_empty::PACK.module(name);
            print(name, module.on(&device).map(|loaded| loaded.image().target()));
            print(name, module.variable::<u64>("total").write(&device, &9).map(|()| "written"));
        }
    }
    for error in [some_empty::none::named("weigh").err(), some_empty::last::named("weigh").err()] {
        println!("{}", error.ok_or("a module without images has a kernel")?);
    }
    println!("{:?}", some_empty::full::named("weigh").map(|kernel| kernel.kernel()));
    Ok(())
}

/// Requests one module of a compressed pack from 8 threads, and launches its kernel.
fn compressed() -> Result {
    let device = Device::best_for(&compressed::PACK)?;
    let mut y = device.zeros::<i32>(1)?;
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| compressed::PACK.module("second").on(&device).unwrap());
        }
    });
    // SAFETY: the kernel writes one element.
    unsafe { compressed::second::other(&mut y).launch(&device, 1, 1)? };
    println!("{}: {:?}", device.name(), y.to_vec()?);
    Ok(())
}

/// Launches a kernel that some images lack.
fn lacking() -> Result {
    let device = Device::best_for(&kernels::PACK)?;
    let mut y = device.zeros::<f32>(1)?;
    // SAFETY: the kernel writes one element.
    unsafe { kernels::on_gpus_only(&mut y).launch(&device, 1, 1)? };
    Ok(())
}

/// Uses a file with an image for the CPU, first without `unsafe(cpu)`.
fn by_path() -> Result {
    let device = Device::best_for(&by_path::PACK)?;
    if let Err(error) = by_path::PACK.on(&device) {
        println!("{error}");
    }
    let mut y = device.zeros::<i32>(1)?;
    if device.vendor() == Vendor::Cpu {
        // SAFETY: the kernel writes one element.
        unsafe { trusted::value(&mut y).launch(&device, 1, 1)? };
        // If the linker merges equal constants, both embedded copies of the file have the same
        // address.
        assert!(by_path::PACK.on(&device).is_err());
    }
    println!("{:?}", y.to_vec()?);
    Ok(())
}

/// Loads an image with debug information. Prints the source line of its kernel, which a different
/// process reads from the file that the loader names. Also prints how many temporary files are on
/// disk meanwhile.
fn debug() -> Result {
    let device = Device::cpu();
    let mut y = device.zeros::<i32>(1)?;
    // SAFETY: the kernel writes one element.
    unsafe { traced::value(&mut y).launch(&device, 1, 1)? };
    let mut place = Place { file: std::ptr::null(), base: 0, symbol: std::ptr::null(), address: 0 };
    // SAFETY: the handle belongs to a loaded library, and the address to a function in this
    // library.
    let (kernel, file) = unsafe {
        let kernel = dlsym(traced::PACK.on(&device)?.raw_module()?, c"value".as_ptr());
        assert_ne!(dladdr(kernel, &mut place), 0);
        (kernel, CStr::from_ptr(place.file).to_str()?)
    };
    let offset = format!("{:#x}", kernel.addr() - place.base);
    let found = Command::new("addr2line").args(["-e", file, &offset]).output()?;
    let line = String::from_utf8(found.stdout)? + &String::from_utf8(found.stderr)?;
    let line = line.trim().rsplit('/').next().unwrap_or_default();
    let files = fs::read_dir(env::temp_dir())?.count();
    println!("{:?}, line {line}, files: {files}", y.to_vec()?);
    Ok(())
}

/// The description of an address, `Dl_info` of `dlfcn.h`.
#[repr(C)]
struct Place {
    file: *const c_char,
    base: usize,
    symbol: *const c_char,
    address: usize,
}

unsafe extern "C" {
    #[link_name = "fork"]
    fn sys_fork() -> c_int;
    fn waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn atexit(function: extern "C" fn()) -> c_int;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dladdr(address: *const c_void, place: *mut Place) -> c_int;
    safe fn alarm(seconds: u32) -> u32;
}

/// Forks, and prints whether the child can use the device, and whether the parent still can.
fn fork() -> Result {
    let device = Device::best_for(&kernels::PACK)?;
    saxpy_on(&device)?;
    // SAFETY: this process has one thread.
    let child = unsafe { sys_fork() };
    if child == 0 {
        alarm(20);
        print("child", saxpy_on(&device).map(|right| format!("{right} of 1000")));
        print("child", Device::named("cuda:0"));
        drop(device);
        return Ok(());
    }
    let mut status = 0;
    // SAFETY: the call waits for the child and writes one int.
    unsafe { waitpid(child, &mut status, 0) };
    println!("child's status: {status}");
    println!("parent: {} of 1000", saxpy_on(&device)?);
    Ok(())
}

/// Creates a device that is never dropped.
fn in_static() -> Result {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    let device = DEVICE.get_or_init(|| Device::best_for(&kernels::PACK).unwrap());
    println!("{}", saxpy_on(device)?);
    Ok(())
}

/// Creates a device that is dropped after `main`.
fn in_thread_local() -> Result {
    thread_local!(static DEVICE: RefCell<Option<Device>> = const { RefCell::new(None) });
    let device = Device::best_for(&kernels::PACK)?;
    println!("{}", saxpy_on(&device)?);
    DEVICE.set(Some(device));
    Ok(())
}

/// Creates a device that is dropped after the driver has ended.
fn late() -> Result {
    static DEVICE: Mutex<Option<(Device, offload_gpu::run::Buffer<f32>)>> = Mutex::new(None);
    extern "C" fn end() {
        let (device, buffer) = DEVICE.lock().unwrap().take().unwrap();
        let read = buffer.to_vec().map(|_| "a buffer".to_owned());
        println!("{}", read.unwrap_or_else(|error| error.to_string()));
        drop((buffer, device));
        println!("dropped");
    }
    // SAFETY: the function may be called when the program ends.
    unsafe { atexit(end) };
    let device = Device::best_for(&kernels::PACK)?;
    println!("{}", saxpy_on(&device)?);
    let buffer = device.zeros(10)?;
    *DEVICE.lock().unwrap() = Some((device, buffer));
    Ok(())
}
