//! Reads other tools' reports about a file: `llvm-readobj`, `llvm-objdump`, `roc-obj-ls`,
//! `cuobjdump`, `ldd` and others.

use crate::command_lines::run;
use crate::data::read;
use crate::tools::{cuda, llvm, roc_obj_ls, stdout, succeed};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An entry of a bundle: its ID, its offset in the file, and its size.
pub type Listed = (String, u64, u64);

/// Returns the bundle entries that `llvm-readobj --offloading` lists, except those for hosts. In a
/// compressed bundle, offsets count from the start of the decompressed bundle.
pub fn readobj_lists(path: &Path) -> Vec<Listed> {
    listed(&stdout(&succeed(llvm("llvm-readobj").arg("--offloading").arg(path))))
}

/// Returns the bundle entries that AMD's `roc-obj-ls` lists, except those for hosts.
pub fn roc_obj_lists(path: &Path) -> Vec<Listed> {
    listed(&stdout(&succeed(roc_obj_ls().arg(path))))
}

/// Parses lines of the form `ID <tab> file://…#offset=N&size=N`, except those for hosts.
fn listed(output: &str) -> Vec<Listed> {
    let number = |text: &str| text.parse().expect("a number");
    let entry = |line: &str| {
        let (before, after) = line.split_once("file://")?;
        let id = before.split_whitespace().last()?.to_owned();
        let (offset, size) = after.split_once("#offset=")?.1.split_once("&size=")?;
        Some((id, number(offset), number(size)))
    };
    output.lines().filter_map(entry).filter(|(id, ..)| !id.starts_with("host")).collect()
}

/// Returns the ID and the file of each code object that `llvm-objdump --offloading` extracts. The
/// tool writes the files beside its input, and determines the order.
pub fn objdump_extracts(path: &Path) -> Vec<(String, PathBuf)> {
    // The tool also leaves files in its working folder.
    let folder = path.parent().expect("a file lies in a folder");
    let output =
        stdout(&succeed(llvm("llvm-objdump").current_dir(folder).arg("--offloading").arg(path)));
    let names = output.lines().filter_map(|line| line.strip_prefix("Extracting offload bundle: "));
    let prefix = format!("{}.", path.display());
    let entry = |name: &str| {
        let (_, id) = name
            .strip_prefix(&prefix)
            .and_then(|rest| rest.split_once('.'))
            .expect("a number, an ID");
        (id.to_owned(), PathBuf::from(name))
    };
    names.map(entry).collect()
}

/// Parses a decimal number, or a hexadecimal one that begins with `0x`.
#[track_caller]
pub fn number(text: &str) -> u64 {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns the offset and size of each section with this name, from `llvm-readobj --sections`.
/// `offset` and `size` are the tool's labels for these values.
pub fn section_ranges(path: &Path, name: &str, offset: &str, size: &str) -> Vec<(u64, u64)> {
    let output = stdout(&succeed(llvm("llvm-readobj").arg("--sections").arg(path)));
    let field = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.trim().strip_prefix(key));
        number(line.expect("each section has it").trim())
    };
    let is_it = |block: &&str| {
        block.lines().any(|line| line.trim().starts_with(&format!("Name: {name} (")))
    };
    output
        .split("Section {")
        .filter(is_it)
        .map(|block| (field(block, offset), field(block, size)))
        .collect()
}

/// Returns the images of offload binaries that `llvm-objdump --offloading` lists, each with its
/// kind, architecture, triple and producer. The tool also extracts the images of bundles into the
/// file's folder.
///
/// # Panics
/// Panics if the tool fails.
#[track_caller]
pub fn objdump_lists(path: &Path) -> Vec<[String; 4]> {
    let mut objdump = llvm("llvm-objdump");
    objdump.arg(path);
    let folder = path.parent().expect("a file lies in a folder");
    let output = run(objdump, folder, "--offloading");
    let value = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(key));
        line.expect("each image has all lines").trim().to_owned()
    };
    let blocks = output.split("OFFLOADING IMAGE").skip(1);
    let keys = ["kind", "arch", "triple", "producer"];
    blocks.map(|block| keys.map(|key| value(block, key))).collect()
}

/// Returns the functions of a file with their sizes, as `llvm-readelf` lists them.
///
/// # Panics
/// Panics if the tool fails.
pub fn functions(file: &Path) -> BTreeMap<String, u64> {
    let text = stdout(&succeed(llvm("llvm-readelf").arg("-sW").arg(file)));
    let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    // Num: Value Size Type Bind Vis [Other] Ndx Name. Large sizes are hexadecimal.
    let rows = rows.filter(|row| row.len() >= 8 && row[3] == "FUNC");
    rows.map(|row| (row[row.len() - 1].to_owned(), number(row[2]))).collect()
}

/// Returns the rows for sections in the output of `llvm-readelf -SW`. The columns are name, type,
/// address, offset, size, entry size, flags, link, info and alignment. The flags may be missing.
pub fn section_rows(listing: &str) -> Vec<Vec<&str>> {
    let rows =
        listing.lines().filter_map(|line| line.trim_start().strip_prefix('[')?.split_once("] "));
    rows.map(|(_, row)| row.split_whitespace().collect()).collect()
}

/// Returns the images for NVIDIA's GPUs in an object, library or program, as sorted names such as
/// `sm_80.cubin` and `sm_80.ptx`.
///
/// # Panics
/// Panics if `cuobjdump` fails.
pub fn cuda_images(file: &Path) -> Vec<String> {
    let listed = stdout(&succeed(cuda("cuobjdump").args(["-lelf", "-lptx"]).arg(file)));
    // PTX file    1: library.2.sm_80.ptx
    let images = listed.lines().filter(|line| line.contains(" file ")).filter_map(|line| {
        let mut parts = line.rsplitn(3, '.');
        let (extension, arch) = (parts.next()?, parts.next()?);
        Some(format!("{arch}.{extension}"))
    });
    let mut images: Vec<String> = images.collect();
    images.sort_unstable();
    images
}

/// Returns the files that `cuobjdump -all` extracts, in the tool's order. Each file has a name,
/// such as `sm_90.cubin` or `sm_90.ptx`, and its bytes. The tool writes the files to `folder`,
/// which must contain no other files.
pub fn cuobjdump_extracts(path: &Path, folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut cuobjdump = cuda("cuobjdump");
    cuobjdump.current_dir(folder).args(["-all", "-xelf", "all", "-xptx", "all"]).arg(path);
    let output = stdout(&succeed(&mut cuobjdump));
    let lines = output.lines().filter_map(|line| line.strip_prefix("Extracting "));
    let image = |line: &str| {
        // ELF file    1: x.1.sm_90.cubin
        // PTX file and ptxas options    1: x.1.sm_90.ptx -arch=sm_90
        let name =
            line.split_once(": ").and_then(|(_, rest)| rest.split(' ').next()).expect("a name");
        let mut parts = name.rsplit('.');
        let (extension, arch) = (parts.next().expect("an extension"), parts.next().expect("a GPU"));
        let bytes = read(folder.join(name));
        fs::remove_file(folder.join(name)).expect("what was written can be removed");
        (format!("{arch}.{extension}"), bytes)
    };
    lines.map(image).collect()
}

/// Returns the GPUs for which a file contains machine code. With each GPU, returns ten times the
/// version of the newest toolkit that compiled for this GPU.
pub fn cuobjdump_toolkits(path: &Path) -> BTreeMap<String, u32> {
    let output = stdout(&succeed(cuda("cuobjdump").arg("-elf").arg(path)));
    let mut all = BTreeMap::new();
    // 64bit elf: type=2, abi=7, sm=80, toolkit=129, flags = 0x500650
    // 64-bit ELF: type=ET_EXEC, ABI=8, sm=90, toolkit=13.5, flags=0x6005a04
    for line in output.lines().filter(|line| line.contains(", toolkit=")) {
        let word = |name: &str| {
            let (_, rest) = line.split_once(name).expect("the tool prints it");
            rest.split_once(',').expect("the line goes on").0.replace('.', "")
        };
        let toolkit: u32 = word("toolkit=").parse().expect("a number");
        let newest = all.entry(format!("sm_{}", word("sm="))).or_insert(toolkit);
        *newest = toolkit.max(*newest);
    }
    all
}

/// Returns the shared libraries that a program needs at its start, as `ldd` prints them.
pub fn shared_libraries(program: &Path) -> String {
    stdout(&succeed(Command::new("ldd").arg(program)))
}

/// Asserts that other tools recognize an image as one for `target`. Messages contain `module`.
pub fn assert_is_for(module: &str, target: &str, image: &Path) {
    if target.starts_with("gfx") {
        let header = stdout(&succeed(llvm("llvm-readelf").arg("-h").arg(image)));
        let has_features = ["gfx90a", "gfx942"].contains(&target);
        let features = if has_features { ", xnack, sramecc" } else { "" };
        assert!(header.contains("EM_AMDGPU"), "{module} {target}: not for AMD's GPUs:\n{header}");
        assert!(
            header.contains(&format!(", {target}{features}\n")),
            "{module} {target}: other flags:\n{header}"
        );
    } else if let Some(number) = target.strip_prefix("sm_") {
        let text = stdout(&succeed(cuda("cuobjdump").arg("-elf").arg(image)));
        let expected = [format!(" sm={number},"), format!("arch = sm_{number}\n")];
        assert!(expected.iter().any(|it| text.contains(it)), "{module} {target}:\n{text}");
    } else if target == "cpu" {
        // For example `Advanced Micro Devices X86-64` or `AArch64`.
        let machine = std::env::consts::ARCH.replace('_', "-");
        let header = stdout(&succeed(llvm("llvm-readelf").arg("-h").arg(image)));
        let is_said = |label: &str, word: &str| {
            let mut lines = header.lines().filter(|line| line.trim_start().starts_with(label));
            lines.any(|line| line.to_ascii_lowercase().contains(word))
        };
        assert!(is_said("Type:", "dyn"), "{module}: no shared library:\n{header}");
        assert!(is_said("Machine:", &machine), "{module}: not for {machine}:\n{header}");
    } else if target == "spirv64" {
        let listing = spirv_listing(image);
        assert!(listing.contains("OpMemoryModel Physical64 OpenCL"), "{module}:\n{listing}");
    } else {
        let text = String::from_utf8(read(image)).expect("PTX is text");
        let expected = format!(".target {}", target.replace("compute_", "sm_"));
        let line = text.lines().find(|line| line.starts_with(".target"));
        // With debug information, a comma and another word follow the target.
        assert_eq!(line.and_then(|line| line.split(',').next()), Some(&*expected), "{module}");
    }
}

/// Returns `spirv-dis`'s listing of a SPIR-V module. `spirv-val` must accept the module. Requires
/// [`Tool::SpirvTools`](crate::tools::Tool::SpirvTools).
pub fn spirv_listing(image: &Path) -> String {
    succeed(Command::new("spirv-val").arg(image));
    stdout(&succeed(Command::new("spirv-dis").arg("--no-indent").arg(image)))
}

/// Returns the part of an image's file name after the module's name.
pub fn image_file_name(target: &str) -> String {
    let extension = match target {
        "cpu" => "so",
        "spirv64" => "spv",
        gpu if gpu.starts_with("gfx") => "hsaco",
        gpu if gpu.starts_with("sm_") => "cubin",
        _ => "ptx",
    };
    format!("{target}.{extension}")
}

/// Returns the symbols of an image's kernels. `llvm-readelf --notes` lists them for a code object,
/// `cuobjdump` lists them for a cubin, and `llvm-nm` lists them for an image for the CPU.
pub fn kernel_symbols(image: &Path) -> BTreeSet<String> {
    if image.extension().is_some_and(|extension| extension == "so") {
        let options = ["--dynamic", "--defined-only", "--format=just-symbols"];
        let output = stdout(&succeed(llvm("llvm-nm").args(options).arg(image)));
        // Leave out the functions that launch kernels, and the hidden symbols at the ends of a
        // section, which GNU ld lists.
        let is_own =
            |name: &&str| name.starts_with("offload_cpu") || name.ends_with("_offload_regions");
        let kernels = output.lines().filter(|name| !is_own(name));
        return kernels.map(str::to_owned).collect();
    }
    let is_cubin = image.extension().is_some_and(|extension| extension == "cubin");
    let (mut tool, option, prefix) = if is_cubin {
        (cuda("cuobjdump"), "--dump-resource-usage", "Function ")
    } else {
        (llvm("llvm-readelf"), "--notes", ".symbol:")
    };
    let output = stdout(&succeed(tool.arg(option).arg(image)));
    let names = output.lines().filter_map(|line| line.trim().strip_prefix(prefix));
    // cuobjdump prints `Function name:`. AMD's notes contain the descriptor's symbol, which ends
    // with `.kd`.
    names
        .map(|name| {
            name.trim().trim_matches('\'').trim_end_matches(':').trim_end_matches(".kd").to_owned()
        })
        .collect()
}
