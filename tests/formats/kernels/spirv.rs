//! Kernels of SPIR-V modules, as Khronos' tools read them.

use super::kernels;
use offload_format::image::Kernel;
use offload_format::spirv::{SpirvHeader, SpirvModule, make_stores_volatile};
use offload_format::target::SpirvFeatures;
use offload_tests::prelude::*;

offload_tests::tests! {
    needs(&[Tool::Llvm22, Tool::SpirvTools]) => [
        kernels_are_those_of_spirv_dis,
        dynamic_shared_memory_has_the_size_of_a_launch,
        required_blocks_get_one_dimension,
        stores_become_volatile,
        variables_are_those_that_change,
        needed_features_are_capabilities,
        damaged_modules_are_errors,
    ],
}

/// Kernels with every class of parameter.
const SOURCE: &str = "
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef struct { char c; float f; double d; const global float *p; } Mixed;
typedef struct __attribute__((packed)) { char c; float f; } Packed;
typedef struct { float x[3]; short s; } Array;
typedef union { int i; double d; } Either;
kernel void numbers(char a, short b, int c, long d, float e, double f, half g, uchar h) {}
kernel void records(Mixed a, Packed b, Array c, Either d, global Mixed *e) {}
kernel void vectors(float3 a, float4 b, char2 c, double8 d) {}
kernel __attribute__((reqd_work_group_size(8, 4, 2))) void block(global float *x, local float *y) {
  local float part[64];
  part[get_local_id(0)] = x[get_local_id(0)];
  barrier(1);
  y[0] = part[63 - get_local_id(0)];
}
kernel void nothing(void) {}
";

/// The sizes of the arguments of each kernel: sizeof in C.
const EXPECTED: [(&str, &[u64]); 5] = [
    ("numbers", &[1, 2, 4, 8, 4, 8, 2, 1]),
    ("records", &[24, 5, 16, 8, 8]),
    ("vectors", &[16, 16, 2, 64]),
    ("block", &[8, 8]),
    ("nothing", &[]),
];

fn module(name: &str) -> PathBuf {
    let folder = scratch::folder(name);
    scratch::write(folder.join("k.cl"), SOURCE);
    let options = "-x cl -cl-std=CL2.0 --target=spirv64-unknown-unknown -O1 -c k.cl -o k.spv";
    run(llvm("clang"), &folder, options);
    folder.join("k.spv")
}

fn kernels_are_those_of_spirv_dis() {
    let module = module("kernels-spirv");
    succeed(Command::new("spirv-val").arg(&module));
    let listed = stdout(&succeed(Command::new("spirv-dis").arg(&module)));
    let bytes = read(&module);
    let found = kernels(&bytes);
    let sizes =
        |kernel: &Kernel<'_>| kernel.arguments.clone().map(|it| it.size).collect::<Vec<_>>();
    let ours: Vec<(&str, Vec<u64>)> = found.iter().map(|it| (it.name, sizes(it))).collect();
    assert_eq!(ours, EXPECTED.map(|(name, sizes)| (name, sizes.to_vec())));
    // The same names, and as many parameters.
    let entries = listed
        .lines()
        .filter_map(|line| line.split_once("OpEntryPoint Kernel ")?.1.split('"').nth(1));
    assert!(entries.eq(found.iter().map(|kernel| kernel.name)), "{listed}");
    // clang 22 has the body of each kernel in a function of its own, with the same parameters.
    for (name, sizes) in EXPECTED {
        let start = format!("%{name} = OpFunction ");
        let function =
            listed.lines().map(str::trim_start).skip_while(|line| !line.starts_with(&start));
        let function = function.take_while(|line| !line.starts_with("OpFunctionEnd"));
        let parameters = function.filter(|line| line.contains("= OpFunctionParameter")).count();
        assert_eq!(parameters, sizes.len(), "{name}");
    }
    let block = found.iter().find(|kernel| kernel.name == "block").expect("it was compared");
    assert_eq!(block.required_block, Some([8, 4, 2]));
    // Nothing tells which of several kernels uses a variable.
    assert_eq!(block.shared_memory, None);
    assert_eq!(SpirvModule::parse(&bytes).map(|it| it.shared_memory()), Ok(256));
}

/// A kernel whose array for `extern __shared__` has the length of another constant.
const DYNAMIC: &str = r#"target triple = "spirv64-unknown-unknown"
%element = type { [16 x i8] }
@offload_dynamic_shared = internal addrspace(3) global [1048576 x %element] undef, align 128
define spir_kernel void @k(ptr addrspace(1) %out, i32 %n) {
  %is_less = icmp slt i32 %n, 1048576
  %number = zext i1 %is_less to i32
  %shared = load i32, ptr addrspace(3) @offload_dynamic_shared
  store i32 %shared, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @offload_dynamic_shared, i64 4)
  %sum = add i32 %shared, %number
  store i32 %sum, ptr addrspace(1) %out
  ret void
}
"#;

fn dynamic_shared_memory_has_the_size_of_a_launch() {
    let folder = scratch::folder("kernels-spirv-dynamic");
    scratch::write(folder.join("k.ll"), DYNAMIC);
    run(llvm("clang"), &folder, "-x ir --target=spirv64-unknown-unknown -O0 -c k.ll -o k.spv");
    let bytes = read(folder.join("k.spv"));
    let module = SpirvModule::parse(&bytes).expect("clang wrote it");
    assert_eq!((module.has_dynamic_shared_memory(), module.shared_memory()), (true, 0));
    for (asked, elements) in [(0, 1), (1, 1), (16, 1), (17, 2), (65_536, 4096)] {
        let sized = module.for_driver(asked).expect("the module has an array");
        let path = folder.join(format!("{asked}.spv"));
        scratch::write(&path, &sized);
        succeed(Command::new("spirv-val").arg(&path));
        let listed = stdout(&succeed(Command::new("spirv-dis").arg(&path)));
        let find = |what: &str| listed.lines().find(|line| line.contains(what)).expect(what);
        // The comparison has its own constant still.
        assert!(find("OpSLessThan").ends_with("_1048576"), "{listed}");
        let array = find("= OpTypeArray %element ");
        let length = array.rsplit(' ').next().expect("it has words");
        let constant = find(&format!("{length} = OpConstant "));
        assert!(constant.ends_with(&format!(" {elements}")), "{asked}: {constant}");
        assert!(SpirvModule::parse(&sized).is_ok());
    }
}

/// Asserts that the driver's form of a module differs from the module in the required block alone.
fn required_blocks_get_one_dimension() {
    let module = module("kernels-spirv-blocks");
    let bytes = read(&module);
    let listed = |bytes: &[u8]| {
        let path = module.with_extension("flat.spv");
        scratch::write(&path, bytes);
        succeed(Command::new("spirv-val").arg(&path));
        stdout(&succeed(Command::new("spirv-dis").arg(&path)))
    };
    let flat = SpirvModule::parse(&bytes).expect("clang wrote it").for_driver(0);
    let flat = flat.expect("a kernel has a block of three dimensions");
    let expected = listed(&bytes).replace(" LocalSize 8 4 2\n", " LocalSize 64 1 1\n");
    assert!(expected.contains(" LocalSize 64 1 1\n"), "{expected}");
    assert_eq!(listed(&flat), expected);
    assert_eq!(SpirvModule::parse(&flat).expect("it is valid").for_driver(0), None);
}

/// Asserts that the module differs in its stores alone, of which each was changed.
fn stores_become_volatile() {
    let module = module("kernels-spirv-volatile");
    let listed = |path: &Path| {
        succeed(Command::new("spirv-val").arg(path));
        stdout(&succeed(Command::new("spirv-dis").arg(path)))
    };
    let plain = listed(&module);
    let mut bytes = read(&module);
    make_stores_volatile(&mut bytes);
    let changed = module.with_extension("volatile.spv");
    scratch::write(&changed, &bytes);
    let mut count = 0;
    let expected = plain.lines().map(|line| {
        if line.trim_start().starts_with("OpStore ") {
            count += 1;
            line.replace(" Aligned ", " Volatile|Aligned ") + "\n"
        } else {
            line.to_owned() + "\n"
        }
    });
    let expected: String = expected.collect();
    assert_eq!(listed(&changed), expected);
    assert_eq!((expected.matches("Volatile").count(), count > 2), (count, true), "{plain}");
}

fn variables_are_those_that_change() {
    let folder = scratch::folder("kernels-spirv-variables");
    for (name, declared, expected) in [
        ("none", "", false),
        ("mark", "global char __hip_cuid_1;", false),
        ("constant", "constant int x = 1;", false),
        ("variable", "global int x = 1;", true),
        ("array", "global float x[4];", true),
    ] {
        let source = format!("{name}.cl");
        let text = format!(
            "{declared}\nkernel void k(global int *p) {{ local int y; y = *p; barrier(1); *p = y; }}\n"
        );
        scratch::write(folder.join(&source), text);
        let options = "-x cl -cl-std=CL2.0 --target=spirv64-unknown-unknown -O1 -c";
        run(llvm("clang"), &folder, &format!("{options} {source} -o {name}.spv"));
        let bytes = read(folder.join(format!("{name}.spv")));
        let module = SpirvModule::parse(&bytes).expect("clang wrote it");
        assert_eq!(module.has_variables(), expected, "{name}");
    }
}

/// Asserts that the features which a module needs are the capabilities that it declares.
fn needed_features_are_capabilities() {
    let folder = scratch::folder("kernels-spirv-features");
    let build = |name: &str, body: &str| {
        let source = format!("{name}.cl");
        let text = format!(
            "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\nkernel void k(global void *p) {{ {body} }}"
        );
        scratch::write(folder.join(&source), text);
        let options = "-x cl -cl-std=CL2.0 --target=spirv64-unknown-unknown -O1 -c";
        run(llvm("clang"), &folder, &format!("{options} {source} -o {name}.spv"));
        let module = folder.join(format!("{name}.spv"));
        let listed = stdout(&succeed(Command::new("spirv-dis").arg(&module)));
        (SpirvHeader::parse(&read(&module)).expect("clang wrote it"), listed)
    };
    for (name, body, needs, capability) in [
        ("float", "*(global float *)p += 1;", "", ""),
        ("double", "*(global double *)p += 1;", "cl_khr_fp64", "Float64"),
        ("half", "*(global half *)p += 1;", "cl_khr_fp16", "Float16"),
        (
            "atomic",
            "__opencl_atomic_fetch_add((global atomic_long *)p, 1, memory_order_relaxed, memory_scope_device);",
            "cl_khr_int64_base_atomics",
            "Int64Atomics",
        ),
    ] {
        let (header, listed) = build(name, body);
        assert_eq!(header.needs, SpirvFeatures::of_extensions(needs), "{name}: {listed}");
        assert!(listed.contains(&format!("OpCapability {capability}")), "{listed}");
        assert_eq!(header.why_not_opencl(), None);
    }
}

fn damaged_modules_are_errors() {
    let bytes = read(module("kernels-spirv-damaged"));
    for end in 0..bytes.len() {
        // A cut between two instructions leaves a module.
        assert!(SpirvModule::parse(&bytes[..end]).is_err() || end.is_multiple_of(4), "{end}");
    }
    assert!(SpirvModule::parse(&bytes[..bytes.len() - 2]).is_err());
    for at in (0..bytes.len()).step_by(4) {
        for word in [0, 1, u32::MAX, 0xffff_0000, 0x0001_0020] {
            let mut damaged = bytes.clone();
            damaged[at..at + 4].copy_from_slice(&word.to_le_bytes());
            let _ = SpirvModule::parse(&damaged);
        }
    }
    let mut huge = bytes.clone();
    huge[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(SpirvModule::parse(&huge).is_err(), "a bound that no file of this size needs");
}
