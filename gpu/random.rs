//! Kernels with random parameters, and Rust that calls each: the generator of the project's tests.

use crate::random_kernels::{RandomKernel, RandomKernels};
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

/// Writes the kernels to `random.cu` in this folder, and the calls to `random.rs`.
pub fn write(folder: &Path) {
    let count = env::var("GPU_CHECKS_RANDOM").map_or(300, |text| {
        text.parse().unwrap_or_else(|_| panic!("GPU_CHECKS_RANDOM is {text}, not a number"))
    });
    // Some kernels cannot be called from C++, as stand-ins for drivers call them.
    let mut random = RandomKernels::new(1..=count + count / 2);
    let source = random.source();
    random.kernels.retain(|it| source.contains(&format!("KERNEL_FROM({})", it.name)));
    random.kernels.truncate(count as usize);
    let probe = format!(
        "\n#include \"{}/kernels/probe.h\"\nPROBE(probe_random)\n",
        env!("CARGO_MANIFEST_DIR")
    );
    fs::write(folder.join("random.cu"), random.source() + &probe).expect("OUT_DIR can be written");
    fs::create_dir_all(folder.join("kernels")).expect("OUT_DIR can be written");
    for header in ["types.h", "kernels/types.h"] {
        fs::write(folder.join(header), random.header()).expect("OUT_DIR can be written");
    }
    let masks = random.masks(folder, []);
    let mut text = String::new();
    let mut all = String::new();
    for kernel in &random.kernels {
        let RandomKernel { name, parameters } = kernel;
        let masks = &masks[name];
        let arguments: Vec<(usize, bool)> = masks
            .iter()
            .zip(&parameters[1..])
            .map(|(mask, parameter)| (mask.len() / 2, parameter.rust == "bool"))
            .collect();
        let is_plain = parameters.iter().all(|parameter| parameter.is_plain);
        let _ = write!(
            text,
            "fn {name}(each: &mut Each) {{\n    let call = {};\n    \
             each.run(&call, &Expected {{ arguments: &{arguments:?}, mask: {:?}, is_plain: {is_plain} }});\n}}\n",
            kernel.call("each.output()"),
            masks.concat(),
        );
        let _ = writeln!(all, "    {name}(each);");
    }
    text += &format!("fn all(each: &mut Each) {{\n{all}}}\n");
    fs::write(folder.join("random.rs"), text).expect("OUT_DIR can be written");
}
