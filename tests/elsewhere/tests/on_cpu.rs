//! Loads the image for the CPU, or checks that loading fails with the right reason.
#![cfg(all(target_pointer_width = "64", target_endian = "little"))]

use offload_elsewhere::on_cpu;
use offload_gpu::run::Device;

#[test]
#[cfg_attr(
    all(target_env = "musl", target_feature = "crt-static"),
    ignore = "a static program loads no image"
)]
fn threads_without_barriers() {
    let cpu = Device::cpu();
    let x: Vec<f32> = (0..1000_u16).map(f32::from).collect();
    let there = cpu.buffer(&x).unwrap();
    let mut y = cpu.buffer(&vec![1.0_f32; x.len()]).unwrap();
    // SAFETY: the kernel accesses the first 1000 elements, and the slices have 1000.
    unsafe { on_cpu::saxpy(1000, 2.0, &there, &mut y).launch(&cpu, 4, 256).unwrap() };
    let expected: Vec<f32> = x.iter().map(|x| 2.0 * x + 1.0).collect();
    assert_eq!(y.to_vec().unwrap(), expected);
}

#[test]
#[cfg_attr(
    all(target_env = "musl", target_feature = "crt-static"),
    ignore = "a static program loads no image"
)]
fn threads_that_wait() {
    let cpu = Device::cpu();
    let x: Vec<f32> = (0..1000_u16).map(f32::from).cycle().take(10_001).collect();
    let there = cpu.buffer(&x).unwrap();
    for block in [1, 2, 3, 32, 100, 1000, 1024] {
        let mut sums = cpu.buffer(&vec![f32::NAN; x.len().div_ceil(block)]).unwrap();
        let (grid, threads) = (u32::try_from(sums.len()).unwrap(), u32::try_from(block).unwrap());
        // SAFETY: the kernel reads all 10,001 elements of the slice, and writes one element per
        // block.
        unsafe {
            on_cpu::block_sum(10_001, &there, &mut sums).launch(&cpu, grid, threads).unwrap()
        };
        let expected: Vec<f32> = x.chunks(block).map(|chunk| chunk.iter().sum()).collect();
        assert_eq!(sums.to_vec().unwrap(), expected, "blocks of {block}");
    }
}

#[test]
#[cfg_attr(
    all(target_env = "musl", target_feature = "crt-static"),
    ignore = "a static program loads no image"
)]
fn frames_over_many_pages() {
    let cpu = Device::cpu();
    let mut out = cpu.buffer(&vec![0_i32; 4 * 100]).unwrap();
    // SAFETY: the kernel writes one element for each thread of the grid.
    unsafe { on_cpu::large_frames(&mut out).launch(&cpu, 4, 100).unwrap() };
    assert_eq!(out.to_vec().unwrap(), [100; 400]);
}

#[test]
#[cfg_attr(
    all(target_env = "musl", target_feature = "crt-static"),
    ignore = "a static program loads no image"
)]
fn registers_are_kept_while_a_thread_waits() {
    let cpu = Device::cpu();
    let mut out = cpu.buffer(&vec![0_f64; 64]).unwrap();
    // SAFETY: the kernel writes one element for each thread of the block.
    unsafe { on_cpu::registers(&mut out).launch(&cpu, 1, 64).unwrap() };
    let expected = |thread: u32| {
        let a = f64::from(thread);
        let mut all = [a, a * 1.5, a * 2.5, a * 3.5, a * 4.5, a * 5.5, a * 6.5, a * 7.5];
        for _ in 0..5 {
            all[0] += 1.0;
            for at in 1..all.len() {
                all[at] += all[at - 1];
            }
        }
        all.iter().sum::<f64>()
    };
    let expected: Vec<f64> = (0..64).map(expected).collect();
    assert_eq!(out.to_vec().unwrap(), expected);
}

#[test]
#[cfg_attr(
    all(target_env = "musl", target_feature = "crt-static"),
    ignore = "a static program loads no image"
)]
fn lanes_and_threads_that_leave_early() {
    let cpu = Device::cpu();
    let mut out = cpu.buffer(&[-1_i32; 64]).unwrap();
    // SAFETY: the kernel writes only elements of the block's threads.
    unsafe { on_cpu::lanes(&mut out).launch(&cpu, 1, 64).unwrap() };
    let expected: Vec<i32> =
        (0..64).map(|thread| if thread % 2 == 0 { 2 * (thread + 1) } else { -1 }).collect();
    assert_eq!(out.to_vec().unwrap(), expected);
}

/// Launches a kernel repeatedly from several system threads at the same time.
#[test]
#[cfg_attr(
    all(target_env = "musl", target_feature = "crt-static"),
    ignore = "a static program loads no image"
)]
fn launches_from_many_threads() {
    let cpu = Device::cpu();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let mut out = cpu.buffer(&vec![0_i32; 64]).unwrap();
                    // SAFETY: the kernel writes one element for each thread of the grid.
                    unsafe { on_cpu::large_frames(&mut out).launch(&cpu, 2, 32).unwrap() };
                    assert_eq!(out.to_vec().unwrap(), [32; 64]);
                }
            });
        }
    });
}

#[test]
#[cfg_attr(
    not(all(target_env = "musl", target_feature = "crt-static")),
    ignore = "this program is not static"
)]
fn a_static_program_gets_the_cause() {
    let error = on_cpu::PACK.on(&Device::cpu()).unwrap_err().to_string();
    assert!(error.contains("this program is static"), "{error}");
    assert!(!error.contains("noexec"), "{error}");
}

/// Buffers work even where images cannot be loaded.
#[test]
fn memory_is_written_and_read() {
    let memory = Device::cpu().buffer(&[1.0_f32, 2.0, 3.0]).unwrap();
    assert_eq!(memory.to_vec().unwrap(), [1.0, 2.0, 3.0]);
}
