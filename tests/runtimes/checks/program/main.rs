//! Runs each program named by an argument on the CPU: a kernel or, with the prefix `host:`, one of
//! the programs in `hosts.rs`.

mod hosts;

use offload_gpu::run::{Device, Launch};
use std::env;

macro_rules! kernels {
    ($($name:ident)*) => {
        mod kernels {
            offload_gpu::include_kernels!("kernels", extern "C" {
                $(fn $name(x: *mut f32, n: *mut u32, size: i32);)*
            });
        }

        fn launch(name: &str, device: &Device, launch: &Launch, x: *mut f32, n: *mut u32) -> offload_gpu::run::Result<()> {
            match name {
                $(stringify!($name) => {
                    let call = kernels::$name(x, n, SIZE as i32);
                    // SAFETY: a wrong kernel deliberately breaks the rules; the tests need that.
                    unsafe { call.launch_as(device, launch) }
                })*
                other => panic!("no kernel {other}"),
            }
        }
    };
}

kernels! {
    KERNELS
}

/// The number of values in each of the two buffers that a kernel gets.
const SIZE: usize = 128;

fn main() {
    // The alarm ends a program that hangs. SAFETY: `alarm` takes a number, and accesses no memory.
    unsafe { alarm(100) };
    let device = Device::cpu();
    for name in env::args().skip(1) {
        // Sanitizers print their reports to standard error. This line shows which kernel or program
        // caused the reports after it.
        eprintln!("=== {name}");
        match name.strip_prefix("host:") {
            Some(host) => hosts::run(host),
            None => one(&name, &device),
        }
    }
    eprintln!("=== end");
}

unsafe extern "C" {
    fn alarm(seconds: u32) -> u32;
}

/// Launches a kernel of the corpus.
fn one(name: &str, device: &Device) {
    let place = match name {
        "dynamic_shared_right" | "given_shared_right" | "extern_shared_right"
        | "given_extern_right" => 64,
        "dynamic_shared_wrong" | "extern_shared_wrong" => 60,
        "large_shared" => 65_537,
        _ => 0,
    };
    let mut x = device.buffer(&[1_f32; SIZE]).unwrap();
    let mut n = device.zeros::<u32>(SIZE).unwrap();
    let to = address(&mut n);
    let from = address(&mut x);
    if name == "order" {
        // The kernel `order` numbers the threads with a counter in `x`, which must start at 0.
        x.upload(&[0.0; SIZE]).unwrap();
    }
    if name == "freed_wrong" {
        drop(x);
        x = device.buffer(&[1_f32]).unwrap();
    }
    if let Err(error) = launch(name, device, &Launch::new(2, 64).shared_memory(place * 4), from, to)
    {
        eprintln!("error: {error}");
    }
    if name == "order" {
        let order: Vec<String> = n.to_vec().unwrap().iter().map(u32::to_string).collect();
        eprintln!("order: {}", order.join(" "));
    }
    let x = x.to_vec().unwrap();
    eprintln!("{} of {} values are numbers", x.iter().filter(|x| !x.is_nan()).count(), x.len());
}

fn address<T: offload_gpu::run::Pod>(buffer: &mut offload_gpu::run::Buffer<T>) -> *mut T {
    use offload_gpu::DeviceBuffer;
    buffer.device_address().cast_mut()
}
