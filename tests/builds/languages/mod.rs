//! Compiles every language for every kind of target, with the real compilers. Other projects' tools
//! read each image's target. `llvm-readelf` reads it from the ELF header, `cuobjdump` from the
//! cubin, and `file` from the file's type. PTX is read as text.

mod inputs;

use inputs::{C, bundle, make_code_objects, make_inputs};
use offload_pack::pack_index::Origin;
use offload_tests::judges::{assert_is_for, image_file_name};
use offload_tests::prelude::*;

const OPENCL: &str = r#"kernel void add(int n, global const float *x, global float *y) {
  int i = get_global_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n)
    y[i] += x[i];
}
"#;

/// IR without a target triple.
const IR: &str = "define amdgpu_kernel void @add(ptr addrspace(1) %y) {\n  store i32 1, ptr addrspace(1) %y\n  ret void\n}\n";

/// The modules with their targets.
const MODULES: &[(&str, &[&str])] = &[
    ("dialect", &["gfx90a", "gfx1100", "sm_80", "sm_90a", "compute_90", "cpu"]),
    ("hip", &["gfx90a", "sm_80", "compute_90", "cpu"]),
    ("named", &["gfx90a", "cpu"]),
    ("opencl", &["gfx90a", "sm_80", "compute_90"]),
    ("intrin", &["gfx90a", "sm_80", "compute_90"]),
    ("ir_amd", &["gfx90a", "gfx1100"]),
    ("bc_amd", &["gfx1100"]),
    ("ir_nvidia", &["sm_80", "sm_90a", "compute_90"]),
    ("bc_nvidia", &["sm_90a", "compute_90"]),
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
    // Each of this module's images comes from the source that contains it.
    ("mixed", &["gfx90a", "gfx1100", "sm_80", "compute_90", "cpu"]),
];

/// The body of the build script.
const BUILD: &str = r#"let pack = Build::new()
        .modules(["kernels/dialect.cu"])
        .modules([
            Source::new("kernels/hip.hip").supports(["gfx90a", "sm_80", "compute_90", "cpu"]),
            Source::new("kernels/named.inc").language(Language::Cuda).supports(["gfx90a", "cpu"]),
            Source::new("kernels/opencl.cl").supports(["gfx90a", "sm_80", "compute_90"]),
            Source::new("kernels/intrin.c").supports(["gfx90a", "sm_80", "compute_90"]),
        ])
        .modules(["kernels/ir_amd.ll"])
        .modules([Source::new("kernels/bc_amd.bc").supports(["gfx1100"])])
        .modules(["kernels/ir_nvidia.ll"])
        .modules([
            Source::new("kernels/bc_nvidia.bc").supports([">=sm_90"]),
            Source::new("kernels/ir_given.ll").supports(["amd"]),
        ])
        .modules(["kernels/asm.s"])
        .modules([Source::new("kernels/asm_given.s").supports(["gfx1100"])])
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
            Source::new("kernels/ready_bundle.hipfb").supports(["gfx1100"]),
            Source::new("kernels/opencl.cl").supports(["gfx90a"]),
            Source::new("kernels/ready_cubin.cubin").supports(["sm_80"]),
            Source::new("kernels/intrin.c").supports(["compute_90"]),
            Source::new("kernels/dialect.cu").supports(["cpu"]),
        ]))
        .archs(["gfx90a", "gfx1100", "sm_80", "sm_90a", "compute_90", "cpu"])
        .compile("matrix");
    for module in pack.modules() {
        for image in module.images() {
            let kernels = image.kernels().unwrap().join(",");
            println!("cargo::warning={} {} {kernels}", module.name(), image.target());
        }
    }"#;

#[test(COMPILERS.slow())]
fn every_language_for_every_kind_of_target() {
    let mut scenario = Scenario::new("build_matrix");
    scenario.feature("offload-build", "containers").build_script(BUILD);
    let dialect = kernel("add", "y[i]");
    scenario
        .write("kernels/dialect.cu", &dialect)
        .write("kernels/hip.hip", &dialect)
        .write("kernels/named.inc", &dialect)
        .write("kernels/opencl.cl", OPENCL)
        .write("kernels/intrin.c", C)
        .write("kernels/ir_given.ll", IR);
    let kernels = scenario.folder.join("kernels");
    make_inputs(&kernels);

    let printed = scenario.build().passes();
    let index = scenario.index("debug", "matrix");
    let found: Vec<(&str, Vec<&str>)> = index
        .modules
        .iter()
        .map(|module| (&*module.name, module.images.iter().map(|image| &*image.target).collect()))
        .collect();
    let expected: Vec<(&str, Vec<&str>)> =
        MODULES.iter().map(|(name, targets)| (*name, targets.to_vec())).collect();
    assert_eq!(found, expected);

    // The compilers must warn neither about unused options nor about missing libraries.
    printed.lacks("unused").lacks("not found");
    for (module, targets) in MODULES {
        for target in *targets {
            assert_is_for(module, target, &image(&scenario, module, target));
            let origin = match *module {
                "text" if *target == "compute_90" => Origin::Supplied,
                "mixed" if ["gfx1100", "sm_80"].contains(target) => Origin::Supplied,
                name if name.starts_with("ready_") => Origin::Supplied,
                _ => Origin::Compiled,
            };
            let of_module = index.modules.iter().find(|it| it.name == *module);
            let packed = of_module.and_then(|it| it.images.iter().find(|it| it.target == *target));
            assert_eq!(packed.map(|it| it.origin), Some(origin), "{module} {target}");
            let kernels = if *target == "cpu" { "" } else { "add" };
            let line = format!("{module} {target} {kernels}");
            let is_printed =
                printed.stderr.lines().any(|printed| printed.trim_end().ends_with(line.trim_end()));
            assert!(is_printed, "no {line} in\n{printed}");
        }
    }
    // An extracted image must equal the file that the container was made from.
    for (module, target, source) in [
        ("ready_hsaco", "gfx90a", "gfx90a.hsaco"),
        ("ready_fatbin", "sm_80", "sm_80.cubin"),
        ("ready_bundle", "gfx1100", "gfx1100.hsaco"),
        ("ready_offload", "sm_80", "sm_80.cubin"),
        ("ready_archive", "gfx90a", "gfx90a.hsaco"),
        ("mixed", "gfx1100", "gfx1100.hsaco"),
    ] {
        let image = image(&scenario, module, target);
        assert!(read(&image) == read(kernels.join("made").join(source)), "{module} for {target}");
    }
}

/// Returns the path of a module's image. If the source is a code object or a cubin, returns the
/// source's path.
fn image(scenario: &Scenario, module: &str, target: &str) -> PathBuf {
    match (module, target) {
        ("ready_hsaco", _) => scenario.folder.join("kernels/ready_hsaco.hsaco"),
        ("ready_cubin", _) | ("mixed", "sm_80") => {
            scenario.folder.join("kernels/ready_cubin.cubin")
        }
        _ => scenario.output("debug", &format!("matrix/{module}.{}", image_file_name(target))),
    }
}

/// With the `compression` feature, images are also extracted from compressed containers.
#[test(CLANG)]
fn compressed_containers_are_taken_apart() {
    let mut scenario = Scenario::new("build_compressed");
    scenario
        .feature("offload-build", "compression")
        .feature("offload-gpu", "zstd")
        .pack("compressed", r#".modules(["kernels/zlib.hipfb", "kernels/zstd.bundle"]).archs(["gfx1100", "gfx90a"])"#)
        .write("kernels/intrin.c", C);
    let kernels = scenario.folder.join("kernels");
    make_code_objects(&kernels);
    bundle(&kernels, "zstd.bundle", "-compress", "3");
    bundle(&kernels, "zlib.hipfb", "-compress", "2");
    scenario.build().passes();
    for module in ["zlib", "zstd"] {
        for target in ["gfx90a", "gfx1100"] {
            let image = scenario.output("debug", &format!("compressed/{module}.{target}.hsaco"));
            assert_is_for(module, target, &image);
            let made = read(kernels.join(format!("made/{target}.hsaco")));
            assert!(read(&image) == made, "{module} for {target}");
        }
    }
}

/// Creates the parts of ROCm that clang searches for: a version, headers, and empty device
/// libraries.
#[test(CLANG.slow())]
fn rocm_headers_are_used_where_they_are_asked_for() {
    let scenario = Scenario::new("build_rocm_headers");
    let calls = r#".file("kernels/add.hip").archs(["gfx90a", "cpu"])"#;
    scenario
        .pack("add", calls)
        .write(
            "rocm/include/hip/hip_runtime.h",
            "#pragma once\n#ifdef OFFLOAD_AMDGPU\n#error \"both headers\"\n#endif\n\
             #define __global__ __attribute__((global))\n\
             #ifndef FROM_ROCM\n#define FROM_ROCM 1\n#endif\n",
        )
        .write("rocm/include/hip/hip_version.h", "")
        .write("rocm/bin/.hipVersion", "HIP_VERSION_MAJOR=6\nHIP_VERSION_MINOR=2\nHIP_VERSION_PATCH=1\n")
        .write(
            "kernels/add.hip",
            "#include <hip/hip_runtime.h>\n#ifndef FROM_ROCM\n#define FROM_ROCM __lane_id()\n#endif\n\
             extern \"C\" __global__ void add(float *y) { *y = FROM_ROCM; }\n",
        )
        .write("rocm/empty.ll", "target triple = \"amdgcn-amd-amdhsa\"\n");
    let libraries = scenario.folder.join("rocm/amdgcn/bitcode");
    fs::create_dir_all(&libraries).expect("the folder can be made");
    let on_off =
        ["daz_opt", "unsafe_math", "finite_only", "correctly_rounded_sqrt", "wavefrontsize64"];
    let mut names: Vec<String> = ["ocml", "ockl", "hip", "opencl"].map(str::to_owned).to_vec();
    names.extend(
        on_off.iter().flat_map(|name| ["on", "off"].map(|value| format!("oclc_{name}_{value}"))),
    );
    names.extend(
        ["oclc_isa_version_90a", "oclc_abi_version_500", "oclc_abi_version_600"].map(str::to_owned),
    );
    let empty = scenario.folder.join("rocm/empty.bc");
    succeed(llvm("llvm-as").arg(scenario.folder.join("rocm/empty.ll")).arg("-o").arg(&empty));
    for name in names {
        fs::copy(&empty, libraries.join(format!("{name}.bc"))).expect("it can be copied");
    }
    let rocm = scenario.folder.join("rocm");
    let image = || {
        assert_eq!(scenario.targets("add"), ["gfx90a", "cpu"]);
        let image = scenario.output("debug", "add/gfx90a.hsaco");
        assert_is_for("add", "gfx90a", &image);
        read(&image)
    };
    scenario.build().env("ROCM_PATH", &rocm).passes();
    let by_rocm = image();
    // The file in the variable's flags is an input.
    let with_flags = |text: &str| {
        scenario.write("flags.txt", text);
        let build = scenario.build().env("ROCM_PATH", &rocm);
        build.env("HIPCC_COMPILE_FLAGS_APPEND", "@flags.txt").passes();
        image()
    };
    assert!(with_flags("") == by_rocm);
    assert!(
        with_flags("-DFROM_ROCM=2") != by_rocm,
        "a response file in HIPCC_COMPILE_FLAGS_APPEND"
    );
    scenario.build().passes();
    assert!(image() != by_rocm, "ROCm's headers without a request for them");
    // The compiler that build.rs selects must take precedence.
    scenario.pack("add", &format!("{calls}.compiler(Compiler::Clang)"));
    scenario.build().env("ROCM_PATH", &rocm).passes();
    assert!(image() != by_rocm, "ROCm's headers in place of the kit's");

    let other = "kernels/hip/other.h";
    scenario.pack("add", calls).write(other, "#include <hip/hip_runtime.h>\n");
    let text = scenario.text("kernels/add.hip");
    scenario.write("kernels/add.hip", text.replacen("<hip/hip_runtime.h>", "\"hip/other.h\"", 1));
    scenario.build().passes();
    assert!(image() != by_rocm, "a header of the package is taken for one of ROCm");
    if ["/opt/rocm", "/usr/include/hip"].iter().any(|folder| Path::new(folder).exists()) {
        return;
    }
    // These builds request ROCm, but no ROCm is installed.
    for (calls, include) in [
        ("", "<hip/hip_complex.h>"),
        (r#".include("rocm/include")"#, "<hip/hip_runtime.h>"),
        (".compiler(Compiler::ClangRocm)", "<hip/hip_runtime.h>"),
    ] {
        scenario
            .pack("add", &format!(r#".file("kernels/add.hip").archs(["gfx90a"]){calls}"#))
            .write("kernels/add.hip", text.replacen("<hip/hip_runtime.h>", include, 1));
        let printed = scenario.build().fails();
        printed.each_once(["no image for gfx90a: no ROCm was found", "libamdhip64-dev"]);
    }
}

/// A clang of any version supports `gpuintrin.h` if its own folder contains this header.
#[test(CLANG)]
fn a_clang_without_gpuintrin_is_named() {
    let calls = r#".archs(["gfx90a", "compute_80"])"#;
    let scenario = Scenario::of("build_no_gpuintrin", "intrin.c", calls, C);
    let real = llvm_bin().join("clang");
    let clang = scenario.script(
        "clang",
        &format!(
            "if test \"$1\" = -print-resource-dir; then echo /old/clang; else exec '{}' \"$@\"; fi",
            real.display()
        ),
    );
    let line = format!(
        "no image for gfx90a, compute_80: kernels/intrin.c needs a header that only newer clangs \
         have: {} has no gpuintrin.h in /old/clang/include",
        clang.display()
    );
    scenario
        .build()
        .env("OFFLOAD_CLANG", clang)
        .fails()
        .has(&line)
        .has("to compile it, install clang 21 or newer, and lld (gpuintrin.h needs clang 20");
}

/// OpenCL C kernels with arguments in local memory. `block_sum` has one such argument, `two` has
/// two and a variable in local memory, and `outer` passes its argument on to `inner`, whose
/// argument is `const`.
const LOCAL: &str = r#"kernel void block_sum(global const float *x, global float *out, local float *scratch, uint n) {
  uint i = get_global_id(0), l = get_local_id(0);
  scratch[l] = i < n ? x[i] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint s = get_local_size(0) / 2; s > 0; s >>= 1) {
    if (l < s)
      scratch[l] += scratch[l + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0)
    out[get_group_id(0)] = scratch[0];
}
kernel void two(local int *a, global int *x, local double2 *b) {
  local int own[64];
  own[get_local_id(0)] = a[get_local_id(0)] = x[get_global_id(0)];
  b[get_local_id(0)] = x[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[get_global_id(0)] = a[63 - get_local_id(0)] + own[0] + (int)b[1].x;
}
kernel void inner(local const int *a, global int *x) { x[0] = a[0]; }
kernel void outer(local int *a, global int *x) { a[0] = x[1]; inner(a, x); }
"#;

#[test(COMPILERS.slow())]
fn pointers_to_local_memory_are_offsets() {
    let scenario = Scenario::without_sources("build_local_arguments");
    let targets = ["gfx90a", "gfx1100", "compute_80", "sm_80"];
    scenario
        .pack("local", &format!(r#".file("kernels/local.cl").archs({targets:?})"#))
        .write("kernels/local.cl", LOCAL)
        .write(
            "src/main.rs",
            r#"mod kernels {
    offload_gpu::include_kernels!("local");
}
use kernels::SharedMemory;
use offload_gpu::run::{Buffer, Device};

fn main() {
    let device = Device::cpu();
    let (x, mut out): (Buffer<f32>, Buffer<f32>) = (device.zeros(1).unwrap(), device.zeros(1).unwrap());
    let mut numbers: Buffer<i32> = device.zeros(1).unwrap();
    let _ = kernels::block_sum(&x, &mut out, SharedMemory { offset: 0 }, 256);
    let _ = kernels::two(SharedMemory { offset: 0 }, &mut numbers, SharedMemory { offset: 256 });
    let _ = kernels::outer(SharedMemory { offset: 16 }, &mut numbers);
    println!("{}", size_of::<SharedMemory>());
}
"#,
        );
    for profile in ["debug", "release"] {
        let printed = scenario.cargo(&["run"]).profile(profile).passes();
        assert_eq!(printed.stdout, "4\n", "{printed}");
        printed.lacks("warning");
        let ptx = scenario.output_text(profile, "local/compute_80.ptx");
        assert!(ptx.contains(".extern .shared .align 16 .b8 offload_shared[]"), "{ptx}");
        for target in targets {
            let file = scenario.output(profile, &format!("local/{}", image_file_name(target)));
            let bytes = read(&file);
            for kernel in offload_format::image::Kernels::parse(&bytes).expect("an image") {
                let passed = kernel.arguments.filter(|argument| !argument.is_hidden());
                let sizes: Vec<u64> = passed.map(|argument| argument.size).collect();
                let expected: &[u64] = match kernel.name {
                    "block_sum" => &[8, 8, 4, 4],
                    "two" => &[4, 8, 4],
                    _ => &[4, 8],
                };
                assert_eq!(sizes, expected, "{target}: {}", kernel.name);
            }
        }
    }
}
