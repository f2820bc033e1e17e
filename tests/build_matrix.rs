//! Every language for every kind of target, with the real compilers. What an image is for, readers of others say: the header
//! that `llvm-readelf` shows, `cuobjdump`, the text of PTX, `file`.

use offload_format::image::Bitcode;
use offload_tests::data::read;
use offload_tests::judges::{assert_is_for, image_file_name};
use offload_tests::package::Package;
use offload_tests::tools::{Tool, cuda, llvm, llvm_bin, succeed};
use offload_tests::{run, test};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    const ALL: &[Tool] = &[Tool::Llvm22, Tool::Gcc, Tool::Cuda];
    run(vec![
        test("every_language_for_every_kind_of_target", ALL, matrix),
        test("compressed_containers_are_taken_apart", &[Tool::Llvm22, Tool::Gcc], compressed),
        test("a_clang_without_gpuintrin_is_named", &[Tool::Llvm22, Tool::Gcc], no_gpuintrin),
        test("rocm_headers_are_used_where_they_are_included", &[Tool::Llvm22, Tool::Gcc], rocm_headers),
    ])
}

const GPUS: [&str; 5] = ["gfx90a", "gfx1100", "sm_80", "sm_90a", "compute_90"];

const DIALECT: &str = "extern \"C\" __global__ void add(int n, const float *x, float *y) {\n  \
                         int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n)\n    y[i] += x[i];\n}\n";

const OPENCL: &str = r#"kernel void add(int n, global const float *x, global float *y) {
#ifdef __AMDGPU__
  int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
#else
  int i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
#endif
  if (i < n)
    y[i] += x[i];
}
"#;

const C: &str = "#include <gpuintrin.h>\n#include <stdint.h>\n\
                 __gpu_kernel void add(int n, const float *x, float *y) {\n  \
                   int i = __gpu_block_id_x() * __gpu_num_threads_x() + __gpu_thread_id_x();\n  \
                   if (i < n)\n    y[i] += x[i];\n}\n";

/// The modules with the targets that each is built for.
const MODULES: &[(&str, &[&str])] = &[
    ("dialect", &["gfx90a", "gfx1100", "sm_80", "sm_90a", "compute_90", "cpu"]),
    ("hip", &["gfx90a", "gfx1100", "sm_80", "sm_90a", "compute_90", "cpu"]),
    ("named", &["gfx90a", "gfx1100", "sm_80", "sm_90a", "compute_90", "cpu"]),
    ("opencl", &GPUS),
    ("intrin", &GPUS),
    ("ir_amd", &["gfx90a", "gfx1100"]),
    ("bc_amd", &["gfx90a", "gfx1100"]),
    ("ir_nvidia", &["sm_80", "sm_90a", "compute_90"]),
    ("bc_nvidia", &["sm_80", "sm_90a", "compute_90"]),
    ("ir_given", &["gfx90a", "gfx1100"]),
    ("asm", &["gfx90a"]),
    ("asm_given", &["gfx1100"]),
    ("text", &["sm_90a", "compute_90"]),
    ("ready_hsaco", &["gfx90a"]),
    ("ready_cubin", &["sm_80"]),
    ("ready_fatbin", &["sm_80", "compute_90"]),
    ("ready_bundle", &["gfx90a", "gfx1100"]),
    ("ready_offload", &["gfx90a", "sm_80", "compute_90"]),
    ("ready_archive", &["gfx90a", "gfx1100", "sm_80"]),
    // Each image from the source that has it.
    ("mixed", &["gfx90a", "gfx1100", "sm_80", "compute_90", "cpu"]),
];

const BUILD: &str = r#"use offload_build::{Build, Language, Module, Source};

fn main() {
    let pack = Build::new()
        .modules(["kernels/dialect.cu", "kernels/hip.hip"])
        .module(Module::new("named").file(Source::new("kernels/named.inc").language(Language::Cuda)))
        .modules([
            Source::new("kernels/opencl.cl").targets(["amd", "nvidia"]),
            Source::new("kernels/intrin.c").targets(["amd", "nvidia"]),
        ])
        .modules(["kernels/ir_amd.ll", "kernels/bc_amd.bc", "kernels/ir_nvidia.ll", "kernels/bc_nvidia.bc"])
        .modules([Source::new("kernels/ir_given.ll").targets(["amd"])])
        .modules(["kernels/asm.s"])
        .modules([Source::new("kernels/asm_given.s").targets(["gfx1100"])])
        .modules([
            "kernels/text.ptx",
            "kernels/ready_hsaco.hsaco",
            "kernels/ready_cubin.cubin",
            "kernels/ready_fatbin.fatbin",
            "kernels/ready_bundle.hipfb",
            "kernels/ready_offload.offload",
            "kernels/ready_archive.a",
        ])
        .module(Module::new("mixed").files([
            Source::new("kernels/ready_bundle.hipfb").targets(["gfx1100"]),
            Source::new("kernels/opencl.cl").targets(["gfx90a"]),
            Source::new("kernels/ready_cubin.cubin").targets(["sm_80"]),
            Source::new("kernels/intrin.c").targets(["compute_90"]),
            Source::new("kernels/dialect.cu").targets(["cpu"]),
        ]))
        .archs(["gfx90a", "gfx1100", "sm_80", "sm_90a", "compute_90", "cpu"])
        .compile("matrix");
    for module in pack.modules() {
        for image in module.images() {
            let kernels = image.kernels().unwrap().join(",");
            println!("cargo::warning={} {} {:?} {kernels}", module.name(), image.target(), image.origin());
        }
    }
}
"#;

fn matrix() {
    let package = Package::new("build_matrix");
    package.feature("offload-build", "containers").write("src/lib.rs", "").write("build.rs", BUILD);
    let kernels = package.folder.join("kernels");
    for (name, text) in [
        ("dialect.cu", DIALECT),
        ("hip.hip", DIALECT),
        ("named.inc", DIALECT),
        ("opencl.cl", OPENCL),
        ("intrin.c", C),
        (
            "ir_given.ll",
            "define amdgpu_kernel void @add(ptr addrspace(1) %y) {\n  store i32 1, ptr addrspace(1) %y\n  ret void\n}\n",
        ),
    ] {
        package.write(&format!("kernels/{name}"), text);
    }
    make_inputs(&kernels);

    let output = succeed(&mut cargo_build(&package));
    let index = package.index("debug", "matrix");
    let found: Vec<(&str, Vec<&str>)> = index
        .modules
        .iter()
        .map(|module| (&*module.name, module.images.iter().map(|image| &*image.target).collect()))
        .collect();
    let expected: Vec<(&str, Vec<&str>)> = MODULES.iter().map(|(name, targets)| (*name, targets.to_vec())).collect();
    assert_eq!(found, expected);

    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!printed.contains("unused") && !printed.contains("not found"), "a compiler warns:\n{printed}");
    for (module, targets) in MODULES {
        for target in *targets {
            assert_is_for(module, target, &image(&package, module, target));
            let origin = match *module {
                "text" if *target == "compute_90" => "ReadyMade",
                "mixed" if ["gfx1100", "sm_80"].contains(target) => "ReadyMade",
                name if name.starts_with("ready_") => "ReadyMade",
                _ => "Compiled",
            };
            let kernels = if *target == "cpu" { "" } else { "add" };
            let line = format!("{module} {target} {origin} {kernels}");
            assert!(
                printed.lines().any(|printed| printed.trim_end().ends_with(line.trim_end())),
                "{line} in\n{printed}"
            );
        }
    }
    // What was taken out of a file is that file's own.
    for (module, target, source) in [
        ("ready_hsaco", "gfx90a", "gfx90a.hsaco"),
        ("ready_fatbin", "sm_80", "sm_80.cubin"),
        ("ready_bundle", "gfx1100", "gfx1100.hsaco"),
        ("ready_offload", "sm_80", "sm_80.cubin"),
        ("ready_archive", "gfx90a", "gfx90a.hsaco"),
        ("mixed", "gfx1100", "gfx1100.hsaco"),
    ] {
        let image = image(&package, module, target);
        assert!(read(&image) == read(kernels.join("made").join(source)), "{module} for {target}");
    }
}

/// The image of a module: a code object or cubin that is there already stays where it is.
fn image(package: &Package, module: &str, target: &str) -> PathBuf {
    match (module, target) {
        ("ready_hsaco", _) => package.folder.join("kernels/ready_hsaco.hsaco"),
        ("ready_cubin", _) | ("mixed", "sm_80") => package.folder.join("kernels/ready_cubin.cubin"),
        _ => package.output("debug", "build_matrix", &format!("matrix/{module}.{}", image_file_name(target))),
    }
}

/// The sources that tools write.
fn make_inputs(kernels: &Path) {
    let made = kernels.join("made");
    fs::create_dir_all(&made).expect("the folder can be made");
    let amd = |mcpu: &str| ["--target=amdgcn-amd-amdhsa".to_owned(), format!("-mcpu={mcpu}"), "-nogpulib".to_owned()];
    let nvidia = ["--target=nvptx64-nvidia-cuda", "-march=sm_80", "-Xclang", "-target-feature", "-Xclang", "+ptx70"];
    let clang = || {
        let mut clang = llvm("clang");
        clang.current_dir(kernels).args(["-O2", "-ffreestanding", "-nostdlibinc", "-x", "c", "intrin.c"]);
        clang
    };
    succeed(clang().args(amd("gfx90a")).args(["-emit-llvm", "-S", "-o", "ir.ll"]));
    // For any processor: clang writes down which one the functions are for.
    let ir = fs::read_to_string(kernels.join("ir.ll")).expect("IR is text");
    let ir: String =
        ir.lines().filter(|line| !line.starts_with("attributes ")).map(|line| format!("{line}\n")).collect();
    let ir: String = (0..10).fold(ir, |ir, number| ir.replace(&format!(" #{number}"), ""));
    fs::write(kernels.join("ir_amd.ll"), ir).expect("the file can be written");
    succeed(llvm("llvm-as").current_dir(kernels).args(["ir_amd.ll", "-o", "bc_amd.bc"]));
    succeed(clang().args(nvidia).args(["-emit-llvm", "-S", "-o", "ir_nvidia.ll"]));
    succeed(clang().args(nvidia).args(["-emit-llvm", "-c", "-o", "bc_nvidia.bc"]));
    for (file, triple) in [("bc_amd.bc", "amdgcn-amd-amdhsa"), ("bc_nvidia.bc", "nvptx64-nvidia-cuda")] {
        let bytes = read(kernels.join(file));
        assert_eq!(Bitcode::parse(&bytes).expect("clang wrote it").target_triple(), Some(triple));
    }
    succeed(clang().args(amd("gfx90a")).args(["-S", "-o", "asm.s"]));
    succeed(clang().args(amd("gfx1100")).args(["-S", "-o", "asm_given.s"]));
    let text = fs::read_to_string(kernels.join("asm_given.s")).expect("assembly is text");
    let text: String =
        text.lines().filter(|line| !line.contains(".amdgcn_target")).map(|line| format!("{line}\n")).collect();
    fs::write(kernels.join("asm_given.s"), text).expect("the file can be written");
    let ptx = ["--target=nvptx64-nvidia-cuda", "-march=sm_90", "--cuda-feature=+ptx80", "-Wno-unknown-cuda-version"];
    succeed(clang().args(ptx).args(["-nogpulib", "-S", "-o", "text.ptx"]));

    for target in ["gfx90a", "gfx1100"] {
        succeed(clang().args(amd(target)).arg("-o").arg(made.join(format!("{target}.hsaco"))));
    }
    succeed(cuda("ptxas").args(["-arch=sm_90", "text.ptx", "-o", "made/sm_90.cubin"]).current_dir(kernels));
    succeed(clang().args(nvidia).args(["-nogpulib", "-S", "-o", "made/80.ptx"]));
    succeed(cuda("ptxas").args(["-arch=sm_80", "made/80.ptx", "-o", "made/sm_80.cubin"]).current_dir(kernels));

    let copy =
        |from: &str, to: &str| fs::copy(kernels.join(from), kernels.join(to)).map(drop).expect("it can be copied");
    copy("made/gfx90a.hsaco", "ready_hsaco.hsaco");
    copy("made/sm_80.cubin", "ready_cubin.cubin");
    succeed(cuda("fatbinary").current_dir(kernels).args([
        "--create=ready_fatbin.fatbin",
        // LZ4, which needs no feature.
        "--compress-mode=speed",
        "-64",
        "--image3=kind=elf,sm=80,file=made/sm_80.cubin",
        "--image3=kind=ptx,sm=90,file=text.ptx",
        // Not asked for.
        "--image3=kind=elf,sm=90,file=made/sm_90.cubin",
    ]));
    bundle(kernels, "ready_bundle.hipfb", &[]);
    succeed(llvm("llvm-offload-binary").current_dir(kernels).args([
        "-o",
        "ready_offload.offload",
        "--image=file=made/gfx90a.hsaco,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip",
        "--image=file=made/sm_80.cubin,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda",
        "--image=file=text.ptx,triple=nvptx64-nvidia-cuda,arch=compute_90,kind=cuda",
        "--image=file=bc_amd.bc,triple=amdgcn-amd-amdhsa,arch=gfx942,kind=openmp",
    ]));
    let members = ["ready_bundle.hipfb", "made/sm_80.cubin", "intrin.c"];
    succeed(llvm("llvm-ar").current_dir(kernels).args(["rc", "ready_archive.a"]).args(members));
}

/// A bundle of the two code objects, by clang's bundler.
fn bundle(kernels: &Path, name: &str, options: &[&str]) {
    succeed(
        llvm("clang-offload-bundler")
            .current_dir(kernels)
            .args(["-type=o", "-bundle-align=4096", "-input=/dev/null", "-input=made/gfx90a.hsaco"])
            .args(["-input=made/gfx1100.hsaco", &format!("-output={name}")])
            .arg(
                "-targets=host-x86_64-unknown-linux-gnu-,hipv4-amdgcn-amd-amdhsa--gfx90a,\
                 hipv4-amdgcn-amd-amdhsa--gfx1100",
            )
            .args(options),
    );
}

fn cargo_build(package: &Package) -> Command {
    let mut command = package.cargo(&["build"]);
    command.env("OFFLOAD_CLANG", llvm_bin().join("clang"));
    command
}

/// With the feature for it, also what is compressed is taken apart.
fn compressed() {
    let package = Package::new("build_compressed");
    package.feature("offload-build", "compression").write("src/lib.rs", "").write("kernels/dialect.cu", DIALECT).write(
        "build.rs",
        "fn main() {\n    offload_build::Build::new().modules([\"kernels/zlib.hipfb\", \"kernels/zstd.bundle\"])\n        \
         .archs([\"gfx1100\", \"gfx90a\"]).compile(\"compressed\");\n}\n",
    );
    let kernels = package.folder.join("kernels");
    fs::create_dir_all(kernels.join("made")).expect("the folder can be made");
    package.write("kernels/intrin.c", C);
    for target in ["gfx90a", "gfx1100"] {
        succeed(
            llvm("clang")
                .current_dir(&kernels)
                .args(["-O2", "-ffreestanding", "-nostdlibinc", "-nogpulib", "--target=amdgcn-amd-amdhsa", "intrin.c"])
                .args([&format!("-mcpu={target}"), "-o", &format!("made/{target}.hsaco")]),
        );
    }
    bundle(&kernels, "zstd.bundle", &["-compress"]);
    succeed(llvm("clang-offload-bundler").current_dir(&kernels).env("COMPRESSED_BUNDLE_FORMAT_VERSION", "2").args([
        "-type=o",
        "-compress",
        "-input=/dev/null",
        "-input=made/gfx90a.hsaco",
        "-input=made/gfx1100.hsaco",
        "-output=zlib.hipfb",
        "-targets=host-x86_64-unknown-linux-gnu-,hipv4-amdgcn-amd-amdhsa--gfx90a,hipv4-amdgcn-amd-amdhsa--gfx1100",
    ]));
    succeed(&mut cargo_build(&package));
    for module in ["zlib", "zstd"] {
        for target in ["gfx90a", "gfx1100"] {
            let image = package.output("debug", "build_compressed", &format!("compressed/{module}.{target}.hsaco"));
            assert_is_for(module, target, &image);
            assert!(read(&image) == read(kernels.join(format!("made/{target}.hsaco"))), "{module} for {target}");
        }
    }
}

/// ROCm as far as clang looks for it: a version, headers, and the libraries for devices, which here have nothing.
fn rocm_headers() {
    let package = Package::new("build_rocm_headers");
    package
        .write("src/lib.rs", "")
        .write(
            "build.rs",
            "fn main() {\n    offload_build::Build::new().file(\"kernels/add.hip\").archs([\"gfx90a\", \"cpu\"])\n        \
             .compile(\"add\");\n}\n",
        )
        .write(
            "rocm/include/hip/hip_runtime.h",
            "#pragma once\n#ifdef OFFLOAD_AMDGPU\n#error \"both headers\"\n#endif\n\
             #define __global__ __attribute__((global))\n#define FROM_ROCM 1\n",
        )
        .write("rocm/include/hip/hip_version.h", "")
        .write("rocm/bin/.hipVersion", "HIP_VERSION_MAJOR=6\nHIP_VERSION_MINOR=2\nHIP_VERSION_PATCH=1\n")
        .write(
            "kernels/add.hip",
            "#include <hip/hip_runtime.h>\nextern \"C\" __global__ void add(float *y) { *y = FROM_ROCM; }\n",
        );
    let libraries = package.folder.join("rocm/amdgcn/bitcode");
    fs::create_dir_all(&libraries).expect("the folder can be made");
    let on_off = ["daz_opt", "unsafe_math", "finite_only", "correctly_rounded_sqrt", "wavefrontsize64"];
    let mut names: Vec<String> = ["ocml", "ockl", "hip", "opencl"].map(str::to_owned).to_vec();
    names.extend(on_off.iter().flat_map(|name| ["on", "off"].map(|value| format!("oclc_{name}_{value}"))));
    names.extend(["oclc_isa_version_90a", "oclc_abi_version_500", "oclc_abi_version_600"].map(str::to_owned));
    package.write("rocm/empty.ll", "target triple = \"amdgcn-amd-amdhsa\"\n");
    for name in names {
        let out = libraries.join(format!("{name}.bc"));
        succeed(llvm("llvm-as").arg(package.folder.join("rocm/empty.ll")).arg("-o").arg(out));
    }
    succeed(cargo_build(&package).env("ROCM_PATH", package.folder.join("rocm")));
    let index = package.index("debug", "add");
    let targets: Vec<&str> = index.images().map(|image| &*image.target).collect();
    assert_eq!(targets, ["gfx90a"], "ROCm's headers are for AMD GPUs");
    assert_is_for("add", "gfx90a", &package.output("debug", "build_rocm_headers", "add/gfx90a.hsaco"));
}

/// What a clang can do, its own folder says and not its version.
fn no_gpuintrin() {
    let package = Package::new("build_no_gpuintrin");
    package.write("src/lib.rs", "").write("kernels/intrin.c", C).write(
        "build.rs",
        "fn main() {\n    offload_build::Build::new().file(\"kernels/intrin.c\").archs([\"gfx90a\", \"compute_80\"])\n        \
         .compile(\"intrin\");\n}\n",
    );
    let clang = package.folder.join("clang");
    package.write(
        "clang",
        format!(
            "#!/bin/sh\nif test \"$1\" = -print-resource-dir; then echo /old/clang; else exec '{}' \"$@\"; fi\n",
            llvm_bin().join("clang").display()
        ),
    );
    succeed(Command::new("chmod").arg("+x").arg(&clang));
    let output = cargo_build(&package).env("OFFLOAD_CLANG", &clang).output().expect("cargo starts");
    let text = String::from_utf8_lossy(&output.stderr);
    let line = format!(
        "no image for gfx90a, compute_80: kernels/intrin.c needs a header of newer clangs: {} has no gpuintrin.h in \
         /old/clang/include",
        clang.display()
    );
    assert!(!output.status.success() && text.contains(&line), "{text}");
    assert!(text.contains("to compile it: gpuintrin.h came with clang 20"), "{text}");
}
