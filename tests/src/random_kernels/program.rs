//! Rust programs that call random kernels, and the values that they pass.

use super::{RandomKernel, RandomKernels};
use std::fmt::Write;

impl RandomKernels {
    /// Returns a program that calls `call(call, buffer, sizes)` for each kernel of the pack
    /// `random`, and then `end()`. `rest` must define both functions, and may use the names of
    /// `std::ffi`. `output` is the first argument of each kernel, a `*mut u8`.
    pub fn program(&self, output: &str, rest: &str) -> String {
        let mut text = format!("{PROGRAM}{rest}");
        let mut main = String::new();
        for kernel in &self.kernels {
            let RandomKernel { name, parameters, .. } = kernel;
            let sizes: String =
                parameters.iter().map(|it| format!("size_of::<{}>(), ", it.rust)).collect();
            let _ = write!(
                text,
                "fn {name}() {{\n    let it = {};\n    call(&it, (&Of(&it)).buffer(), &[{sizes}]);\n}}\n",
                kernel.call(output)
            );
            let _ = writeln!(main, "    {name}();");
        }
        format!("{text}fn main() {{\n{main}    end();\n}}\n")
    }
}

impl RandomKernel {
    /// Returns a call of the kernel in Rust, with `output` as the first argument.
    pub fn call(&self, output: &str) -> String {
        let values =
            self.parameters.iter().enumerate().skip(1).map(|(at, it)| match it.rust.as_str() {
                "bool" => format!(", value::<u8>({at}) % 2 == 1"),
                ty => format!(", value::<{ty}>({at})"),
            });
        format!("kernels::{}({output}{})", self.name, values.collect::<String>())
    }

    /// Returns the bytes, including padding, of the argument that the program passes at this
    /// position. The first argument after `output` is at position 1.
    pub fn passed(&self, number: usize, size: usize) -> Vec<u8> {
        // The `value` function in the program computes the same bytes.
        let byte = |at: usize| (number * 53 + at * 29 + 11) as u8;
        match self.parameters[number].rust.as_str() {
            "bool" => vec![byte(0) % 2],
            _ => (0..size).map(byte).collect(),
        }
    }
}

const PROGRAM: &str = r#"
#![allow(dead_code)]
use offload_gpu::{Call, Plain};
use std::ffi::*;
use std::mem::MaybeUninit;

mod kernels {
    offload_gpu::include_kernels!("random");
}

/// Returns bytes that distinguish parameters, and positions within them.
fn value<T>(number: usize) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    for at in 0..size_of::<T>() {
        unsafe { value.as_mut_ptr().cast::<u8>().add(at).write((number * 53 + at * 29 + 11) as u8) };
    }
    unsafe { value.assume_init() }
}

/// A call, which may have a buffer: the compiler prefers the first of these traits.
struct Of<T>(T);

trait HasBuffer {
    fn buffer(&self) -> Option<(*const c_void, usize)>;
}

impl<const N: usize, const BYTES: usize> HasBuffer for Of<&Call<N, BYTES>> {
    fn buffer(&self) -> Option<(*const c_void, usize)> {
        Some(self.0.buffer())
    }
}

trait HasPointersAlone {
    fn buffer(&self) -> Option<(*const c_void, usize)> {
        None
    }
}

impl<const N: usize, const BYTES: usize> HasPointersAlone for &Of<&Call<N, BYTES, Plain, false>> {}
"#;
