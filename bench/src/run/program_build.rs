//! Compiles the kernel that `program.rs` launches by name, the kernels of `cpu.cu`, eight modules
//! with eight kernels each, and a thousand kernels for measuring look-ups.

use offload_build::Build;
use std::path::Path;
use std::{env, fs};

fn main() {
    Build::new().file("kernels/saxpy.cu").archs(["compute_80", "cpu"]).compile("saxpy");
    Build::new().file("kernels/cpu.cu").archs(["spirv64", "cpu"]).compile("cpu");
    let folder = env::var_os("OUT_DIR").expect("Cargo sets it");
    let folder = Path::new(&folder);
    let (mut files, mut calls) = (Vec::new(), String::new());
    for module in 0..8 {
        let (mut text, file) = (String::new(), folder.join(format!("m{module}.cu")));
        for kernel in 0..8 {
            let name = format!("kernel_{module}_{kernel}");
            text += &format!("extern \"C\" __global__ void {name}(int *x) {{ *x = {kernel}; }}\n");
            calls += &format!("many::m{module}::{name}(x), ");
        }
        fs::write(&file, text).expect("Cargo's folder can be written");
        files.push(file);
    }
    fs::write(folder.join("calls.rs"), format!("[{calls}]"))
        .expect("Cargo's folder can be written");
    Build::new().modules(files).archs(["compute_80", "cpu"]).compile("many");
    let thousand = folder.join("thousand.cu");
    let kernel = |number| {
        format!("extern \"C\" __global__ void affine_{number}_f32(int n, float *y) {{ *y = n; }}\n")
    };
    fs::write(&thousand, (0..1000).map(kernel).collect::<String>())
        .expect("Cargo's folder can be written");
    Build::new().file(thousand).arch("compute_80").compile("thousand");
}
