//! Builds the kernels of the published crate `candle-kernels` with g++ and with clang, without
//! checks and with every check. The program compares the results of sums, softmax, a bitonic sort
//! and a convolution with those of plain Rust. The checks must not report errors in these kernels.

use super::{Compiler, Program};
use offload_tests::prelude::*;
use offload_tests::tools::candle_kernels;

tests!(all());

const GCC: Needs = needs(&[Tool::Candle, Tool::Llvm22, Tool::Gcc, Tool::GccSanitizers]);
const CLANG: Needs = needs(&[Tool::Candle, Tool::Llvm22, Tool::Gcc, Tool::ClangSanitizers]);

const LONG: &str =
    "takes 9 s; `cargo xtask test --all --test runtimes -- checks::candle --ignored` runs it";

fn all() -> impl Iterator<Item = Test> {
    // Keep the default selection small, because `corpus` runs all checks with both compilers.
    let all = [
        (Compiler::Clang, "races", CLANG.slow()),
        (Compiler::Gcc, "", GCC.on_request(LONG)),
        (Compiler::Gcc, "memory,undefined", GCC.on_request(LONG)),
        (Compiler::Clang, "", CLANG.on_request(LONG)),
        (Compiler::Gcc, "races", GCC.on_request(LONG)),
        (Compiler::Clang, "memory,undefined", CLANG.on_request(LONG)),
    ];
    all.into_iter().map(|(compiler, check, needs)| {
        let name = format!("candle_{}_{}", compiler.name(), check.replace(',', "_"));
        Test::new(module_path!(), &name, needs, move || nothing_is_found(compiler, check))
    })
}

fn nothing_is_found(compiler: Compiler, check: &str) {
    let scenario = Scenario::without_sources(&format!(
        "checks_candle_{}_{}",
        compiler.name(),
        check.replace(',', "_")
    ));
    let folder = candle_kernels().expect("Tool::Candle was checked").join("src");
    for module in ["reduce", "conv", "sort"] {
        let path = folder.join(format!("{module}.cu"));
        scenario
            .write(&format!("kernels/{module}.cu"), format!("#include \"{}\"\n", path.display()));
    }
    scenario.write("src/main.rs", PROGRAM).build_script(&format!(
        r#"Build::new()
        .modules(["kernels/conv.cu", "kernels/reduce.cu", "kernels/sort.cu"])
        .include({folder:?})
        .archs(["compute_80", "cpu"])
        .compile("candle");"#
    ));
    let program = Program::of(scenario, compiler, check, 32);
    let output = program.run(&[], &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{:?}\n{said}", output.status);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "sum softmax sort convolution\n");
}

const PROGRAM: &str = r#"
use offload_gpu::run::{Device, Launch};

mod kernels {
    offload_gpu::include_kernels!("candle");
}

fn numbers(count: usize) -> Vec<f32> {
    let mut state = 12345_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from((state >> 24) as u8) / 16.0 - 8.0
    };
    (0..count).map(|_| next()).collect()
}

fn assert_close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (at, (one, other)) in found.iter().zip(expected).enumerate() {
        assert!((one - other).abs() <= 1e-4 * other.abs().max(1.0), "{at}: {one} {other}");
    }
}

fn main() {
    let device = Device::cpu();
    sum(&device);
    softmax(&device);
    sort(&device);
    convolution(&device);
}

fn sum(device: &Device) {
    let (rows, columns) = (3, 301);
    let x = numbers(rows * columns);
    let info = device.buffer(&[rows, columns, columns, 1]).unwrap();
    let there = device.buffer(&x).unwrap();
    let mut sums = device.buffer(&vec![0.0_f32; rows]).unwrap();
    let all = rows * columns;
    // SAFETY: `x` has as many elements as the call states, and `sums` has one element for each row.
    let call = kernels::reduce::fast_sum_f32(all, columns, 2, &info, &there, &mut sums);
    unsafe { call.launch(device, rows as u32, 128).unwrap() };
    let expected: Vec<f32> = x.chunks(columns).map(|row| row.iter().sum()).collect();
    assert_close(&sums.to_vec().unwrap(), &expected);
    print!("sum ");
}

fn softmax(device: &Device) {
    let (rows, columns) = (4, 77);
    let x = numbers(rows * columns);
    let there = device.buffer(&x).unwrap();
    let mut out = device.buffer(&vec![0.0_f32; rows * columns]).unwrap();
    // Each row has one warp.
    let launch = Launch::new(rows as u32, (1, 32));
    // SAFETY: both buffers have rows of `columns` elements.
    unsafe { kernels::reduce::softmax_f32(&there, &mut out, columns as i32).launch_as(device, &launch).unwrap() };
    let expected: Vec<f32> = x.chunks(columns).flat_map(|row| {
        let most = row.iter().copied().fold(f32::MIN, f32::max);
        let all: f32 = row.iter().map(|x| (x - most).exp()).sum();
        row.iter().map(|x| (x - most).exp() / all).collect::<Vec<_>>()
    }).collect();
    assert_close(&out.to_vec().unwrap(), &expected);
    print!("softmax ");
}

fn sort(device: &Device) {
    let (rows, columns, padded) = (2, 100, 128);
    let x: Vec<f32> = (0..rows * columns).map(|at| ((at * 7919) % 200) as f32).collect();
    let there = device.buffer(&x).unwrap();
    let mut order = device.buffer(&vec![0_u32; rows * columns]).unwrap();
    let launch = Launch::new(rows as u32, padded as u32).shared_memory(padded * 4);
    let call = kernels::sort::asort_asc_f32(&there, &mut order, columns as i32, padded as i32);
    // SAFETY: both buffers have rows of `columns` elements, and a block has shared memory for one
    // index per padded element.
    unsafe { call.launch_as(device, &launch).unwrap() };
    for (row, order) in x.chunks(columns).zip(order.to_vec().unwrap().chunks(columns)) {
        let mut sorted = row.to_vec();
        sorted.sort_by(f32::total_cmp);
        assert_eq!(order.iter().map(|&at| row[at as usize]).collect::<Vec<_>>(), sorted);
    }
    print!("sort ");
}

fn convolution(device: &Device) {
    let (channels_in, channels_out, size, kernel_size) = (2, 3, 9, 3);
    let (padding, out_size) = (1, 9);
    let (image, kernel) = (numbers(channels_in * size * size), numbers(channels_out * channels_in * kernel_size * kernel_size));
    let dims = [1, channels_in, size, size];
    let strides = [channels_in * size * size, size * size, size, 1];
    let kernel_dims = [channels_out, channels_in, kernel_size, kernel_size];
    let kernel_strides = [channels_in * kernel_size * kernel_size, kernel_size * kernel_size, kernel_size, 1];
    let info = [dims, strides, kernel_dims, kernel_strides].concat();
    let there = [device.buffer(&image).unwrap(), device.buffer(&kernel).unwrap()];
    let info = device.buffer(&info).unwrap();
    let count = channels_out * out_size * out_size;
    let mut out = device.buffer(&vec![0.0_f32; count]).unwrap();
    let call = kernels::conv::conv2d_f32(
        count, out_size, out_size, 1, padding, 1, &info, &there[0], &there[1], &mut out,
    );
    // SAFETY: the sizes are those of the buffers.
    unsafe { call.launch(device, (count as u32).div_ceil(64), 64).unwrap() };
    let mut expected = vec![0.0_f32; count];
    for (at, sum) in expected.iter_mut().enumerate() {
        let (channel, row, column) = (at / (out_size * out_size), at / out_size % out_size, at % out_size);
        for from in 0..channels_in {
            for down in 0..kernel_size {
                for across in 0..kernel_size {
                    let (y, x) = (row + down, column + across);
                    if y < padding || x < padding || y - padding >= size || x - padding >= size {
                        continue;
                    }
                    *sum += image[from * strides[1] + (y - padding) * size + x - padding]
                        * kernel[channel * kernel_strides[0] + from * kernel_strides[1] + down * kernel_size + across];
                }
            }
        }
    }
    assert_close(&out.to_vec().unwrap(), &expected);
    println!("convolution");
}
"#;
