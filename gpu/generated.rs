//! Writes generated sources: kernels with random parameters from the tests' generator, and those
//! pairs of right and wrong kernels that GPUs can run.

use crate::random_kernels::{RandomKernel, RandomKernels};
use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

/// Writes `random.cu` with the kernels, and `random.rs` with a call of each.
pub fn random(out: &Path) {
    let count = env::var("GPU_CHECKS_RANDOM").map_or(300, |text| {
        text.parse().unwrap_or_else(|_| panic!("GPU_CHECKS_RANDOM is {text}, not a number"))
    });
    // The tests' fake drivers call kernels as C++ functions, with copies of the arguments. So keep
    // only kernels whose parameters can be copied.
    let mut random = RandomKernels::new(1..=count + count / 2);
    let is_for_spirv = env::var("GPU_CHECKS_TARGETS").is_ok_and(|list| list == "spirv64");
    let outside = if is_for_spirv { random.not_for_spirv() } else { HashSet::new() };
    random.kernels.retain(|it| it.is_copyable && !outside.contains(&it.name));
    random.kernels.truncate(count as usize);
    write(out, "random.cu", &with_probe(&random.source(), "probe_random"));
    for header in ["types.h", "kernels/types.h"] {
        write(out, header, &random.header());
    }
    let masks = random.masks(out, []);
    let (mut text, mut all) = (String::new(), String::new());
    for kernel in &random.kernels {
        let RandomKernel { name, parameters, .. } = kernel;
        let masks = &masks[name];
        let size = |(mask, rust): (&String, &str)| (mask.len() / 2, rust == "bool");
        let types = parameters[1..].iter().map(|parameter| parameter.rust.as_str());
        let arguments: Vec<(usize, bool)> = masks.iter().zip(types).map(size).collect();
        let _ = write!(
            text,
            "fn {name}(each: &mut Each) {{\n    let call = {};\n    \
             each.run(&call, &Expected {{ arguments: &{arguments:?}, mask: {:?} }});\n}}\n",
            kernel.call("each.output()"),
            masks.concat(),
        );
        let _ = writeln!(all, "    {name}(each);");
    }
    write(out, "random.rs", &format!("{text}fn all(each: &mut Each) {{\n{all}}}\n"));
}

const PAIRS: &str = "../tests/runtimes/checks/program/kernels.cu";

/// Writes `pairs.cu` with the kernels of [`PAIRS`], and `pairs.rs` with their names and launches.
/// Leaves out the kernels after a certain line: on the CPU, they end the process, and no GPU has
/// the functions that they call.
pub fn pairs(out: &Path) {
    println!("cargo::rerun-if-changed={PAIRS}");
    let text = fs::read_to_string(PAIRS).unwrap_or_else(|error| panic!("{PAIRS}: {error}"));
    let (for_gpus, _) = text
        .split_once("// ---- kernels that end the process")
        .unwrap_or_else(|| panic!("{PAIRS} has no line where kernels begin that end the process"));
    write(out, "pairs.cu", &with_probe(for_gpus, "probe_pairs"));
    let name = |line: &str| Some(line.strip_prefix("KERNEL(")?.split_once(')')?.0.to_owned());
    let names: Vec<String> = for_gpus.lines().filter_map(name).collect();
    let arms: String = names
        .iter()
        .map(|name| format!("        {name:?} => unsafe {{ kernels::{name}(x, n, 128).launch_as(device, shape) }},\n"))
        .collect();
    let text = format!(
        "pub const NAMES: &[&str] = &{names:?};\n\n\
         /// # Safety\n/// `x` and `n` have 128 elements. Wrong kernels break the rules in spite of that.\n\
         unsafe fn launch(name: &str, device: &Device, shape: &Launch, x: *mut f32, n: *mut u32) -> offload_gpu::run::Result<()> {{\n    \
         match name {{\n{arms}        _ => panic!(\"no kernel {{name}}\"),\n    }}\n}}\n"
    );
    write(out, "pairs.rs", &text);
}

/// Returns the source with a probe kernel appended, so that each image can be tested separately.
fn with_probe(source: &str, name: &str) -> String {
    format!("{source}\n#include \"probe.h\"\nPROBE({name})\n")
}

fn write(out: &Path, name: &str, text: &str) {
    let path = out.join(name);
    let folder = path.parent().expect("it is in OUT_DIR");
    let written = fs::create_dir_all(folder).and_then(|()| {
        // The sources that include the header are in OUT_DIR, too.
        fs::copy("kernels/probe.h", out.join("probe.h"))?;
        fs::write(&path, text)
    });
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
