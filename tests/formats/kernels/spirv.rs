//! Compares the kernels that we find in SPIR-V modules with those that Khronos' tools print.

use super::kernels;
use offload_format::image::Kernel;
use offload_format::spirv::{SpirvHeader, SpirvModule, with_memory_barriers};
use offload_format::target::SpirvFeatures;
use offload_tests::counting::Allocated;
use offload_tests::judges::spirv_listing;
use offload_tests::prelude::*;

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

/// Each kernel's name and the sizes of its arguments, as given by `sizeof` in C.
const EXPECTED: [(&str, &[u64]); 5] = [
    ("numbers", &[1, 2, 4, 8, 4, 8, 2, 1]),
    ("records", &[24, 5, 16, 8, 8]),
    ("vectors", &[16, 16, 2, 64]),
    ("block", &[8, 8]),
    ("nothing", &[]),
];

/// Compiles OpenCL C to a module in a new folder.
fn compiled(name: &str, source: &str) -> PathBuf {
    let folder = scratch::folder(name);
    scratch::write(folder.join("k.cl"), source);
    let options = "-x cl -cl-std=CL2.0 --target=spirv64-unknown-unknown -O1 -c k.cl -o k.spv";
    run(llvm("clang"), &folder, options);
    folder.join("k.spv")
}

/// Writes the bytes of a module, and returns `spirv-dis`'s listing.
fn listed(path: &Path, module: &[u8]) -> String {
    scratch::write(path, module);
    spirv_listing(path)
}

/// Returns a module in the form for drivers, which must differ from the module itself.
fn for_driver(module: &SpirvModule<'_>, dynamic_shared_memory: u64) -> Vec<u8> {
    let changed = module.for_driver(dynamic_shared_memory).expect("the bytes have a length");
    changed.expect("the module has an array, or a block of several dimensions")
}

/// Assembles a module for this version of SPIR-V.
fn assembled(path: &Path, version: &str, text: &str) -> Vec<u8> {
    let source = path.with_extension("spvasm");
    scratch::write(&source, text);
    // Keep the numeric IDs, because a test needs an ID just below the bound.
    let environment = format!("spv{version}");
    let options = ["--preserve-numeric-ids", "--target-env", &environment, "-o"];
    succeed(Command::new("spirv-as").args(options).args([path, &source]));
    read(path)
}

#[test(needs(&[Tool::Llvm22, Tool::SpirvTools]))]
fn kernels_are_those_of_spirv_dis() {
    let module = compiled("kernels-spirv", SOURCE);
    let (listed, bytes) = (spirv_listing(&module), read(&module));
    let found = kernels(&bytes);
    let sizes =
        |kernel: &Kernel<'_>| kernel.arguments.clone().map(|it| it.size).collect::<Vec<_>>();
    let ours: Vec<(&str, Vec<u64>)> = found.iter().map(|it| (it.name, sizes(it))).collect();
    assert_eq!(ours, EXPECTED.map(|(name, sizes)| (name, sizes.to_vec())));
    // Our reader and spirv-dis must list the same names, and the same number of parameters for each
    // kernel.
    let entries = listed
        .lines()
        .filter_map(|line| line.split_once("OpEntryPoint Kernel ")?.1.split('"').nth(1));
    assert!(entries.eq(found.iter().map(|kernel| kernel.name)), "{listed}");
    // clang 22 puts the body of each kernel into a separate function, which has the same
    // parameters.
    for (name, sizes) in EXPECTED {
        let start = format!("%{name} = OpFunction ");
        let function = listed.lines().skip_while(|line| !line.starts_with(&start));
        let function = function.take_while(|line| !line.starts_with("OpFunctionEnd"));
        let parameters = function.filter(|line| line.contains("= OpFunctionParameter")).count();
        assert_eq!(parameters, sizes.len(), "{name}");
    }
    let block = found.iter().find(|kernel| kernel.name == "block").expect("it was compared");
    assert_eq!(block.required_block, Some([8, 4, 2]));
    // A SPIR-V module does not state which kernels use a variable.
    assert_eq!(block.shared_memory, None);
    assert_eq!(SpirvModule::parse(&bytes).map(|it| it.shared_memory()), Ok(256));
}

#[test(needs(&[Tool::Llvm22, Tool::SpirvTools]))]
fn dynamic_shared_memory_has_the_size_of_a_launch() {
    let folder = scratch::folder("kernels-spirv-dynamic");
    // The array for `extern __shared__` and a comparison in the kernel share one constant.
    let bytes = corpus_file("image/shared.spv");
    let module = SpirvModule::parse(&bytes).expect("clang wrote it");
    assert!(module.has_dynamic_shared_memory());
    for (asked, elements) in [(0, 1), (1, 1), (16, 1), (17, 2), (65_536, 4096)] {
        let sized = for_driver(&module, asked);
        let listed = listed(&folder.join(format!("{asked}.spv")), &sized);
        let find = |what: &str| listed.lines().find(|line| line.contains(what)).expect(what);
        // The constant in the comparison must not change.
        assert!(find("OpSLessThan").ends_with("_1048576"), "{listed}");
        let array = find("= OpTypeArray %element ");
        let length = array.rsplit(' ').next().expect("it has words");
        let constant = find(&format!("{length} = OpConstant "));
        assert!(constant.ends_with(&format!(" {elements}")), "{asked}: {constant}");
        assert!(SpirvModule::parse(&sized).is_ok());
    }
}

/// Asserts that only the required block size differs between the module and its form for drivers.
#[test(needs(&[Tool::Llvm22, Tool::SpirvTools]))]
fn required_blocks_get_one_dimension() {
    let module = compiled("kernels-spirv-blocks", SOURCE);
    let (bytes, path) = (read(&module), module.with_extension("flat.spv"));
    let flat = for_driver(&SpirvModule::parse(&bytes).expect("clang wrote it"), 0);
    let expected = spirv_listing(&module).replace(" LocalSize 8 4 2\n", " LocalSize 64 1 1\n");
    assert!(expected.contains(" LocalSize 64 1 1\n"), "{expected}");
    assert_eq!(listed(&path, &flat), expected);
    assert_eq!(SpirvModule::parse(&flat).expect("it is valid").for_driver(0), Ok(None));
}

/// Asserts that only memory barriers are added, and that Khronos' tools accept the resulting
/// module.
#[test(needs(&[Tool::Llvm22, Tool::SpirvTools]))]
fn barriers_also_order_memory() {
    let module = compiled("kernels-spirv-barriers", SOURCE);
    let (plain, old) = (spirv_listing(&module), read(&module));
    let changed = listed(&module.with_extension("ordered.spv"), &with_memory_barriers(&old));
    let expected = plain.lines().map(|line| {
        let added = line.split_once("OpControlBarrier ").map(|(indent, operands)| {
            let (_execution, order) = operands.split_once(' ').expect("three operands");
            format!("{indent}OpMemoryBarrier {order}\n")
        });
        added.unwrap_or_default() + line + "\n"
    });
    let expected: String = expected.collect();
    assert_eq!(changed, expected);
    assert_ne!(plain, expected);
    // A damaged instruction and everything after it must stay unchanged.
    for end in 0..old.len() {
        let cut = with_memory_barriers(&old[..end]);
        assert!(cut.len() >= end && cut.ends_with(&old[end.saturating_sub(3)..end]), "{end}");
    }
}

/// The start of each module: all instructions up to the basic types.
const START: &str = "OpCapability Addresses
OpCapability Kernel
OpCapability Int64
OpCapability Int16
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %k \"k\"
OpName %shared \"offload_dynamic_shared\"
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%ushort = OpTypeInt 16 0
";

/// Returns a module whose array for `extern __shared__` has a length of type `of`. `more` is the ID
/// of the label.
fn with_length(path: &Path, of: &str, more: &str) -> Vec<u8> {
    let text = format!(
        "{START}%length = OpConstant %{of} 4
%array = OpTypeArray %uint %length
%pointer = OpTypePointer Workgroup %array
%shared = OpVariable %pointer Workgroup
%type = OpTypeFunction %void
%k = OpFunction %void None %type
{more} = OpLabel
OpReturn
OpFunctionEnd
"
    );
    assembled(path, "1.2", &text)
}

#[test(needs(&[Tool::SpirvTools]))]
fn lengths_are_constants_of_their_type() {
    let folder = scratch::folder("kernels-spirv-lengths");
    for (of, bytes, expected) in [
        ("ushort", 16, Some("4")),
        ("ushort", 0xffff * 4, Some("65535")),
        ("ushort", 0x1_0000 * 4, None),
        ("uint", 65, Some("17")),
        ("uint", 0xffff_ffff * 4, Some("4294967295")),
        ("uint", 0x1_0000_0000 * 4, None),
        ("ulong", 65, Some("17")),
        ("ulong", 0x1_0000_0000 * 4, Some("4294967296")),
        ("ulong", u64::MAX, Some("4611686018427387904")),
    ] {
        let path = folder.join(format!("{of}-{bytes}.spv"));
        let module = with_length(&path, of, "%label");
        let changed = SpirvModule::parse(&module).expect("it is valid").for_driver(bytes);
        let Some(expected) = expected else {
            let error = changed.expect_err("the type has no such number").to_string();
            assert!(error.contains("too large for its type"), "{error}");
            continue;
        };
        let listed = listed(&path, &changed.expect("the type has it").expect("it has an array"));
        let find = |what: &str| listed.lines().find(|line| line.contains(what)).expect(what);
        let length = find("= OpTypeArray %uint ").rsplit(' ').next().expect("it has words");
        let constant = find(&format!("{length} = OpConstant %{of}"));
        assert!(constant.ends_with(&format!(" {expected}")), "{of} {bytes}: {constant}");
    }
}

/// Tests modules with the greatest bound that is allowed, and a module with an ID above its bound.
#[test(needs(&[Tool::SpirvTools]))]
fn ids_are_within_the_bound() {
    let folder = scratch::folder("kernels-spirv-bounds");
    let path = folder.join("k.spv");
    // A module's bound is its greatest ID plus one.
    let almost = with_length(&path, "uint", "%4194301");
    spirv_listing(&path);
    let changed = for_driver(&SpirvModule::parse(&almost).expect("it is valid"), 64);
    assert!(listed(&path, &changed).contains("Bound: 4194303"));
    let module = with_length(&path, "uint", "%4194302");
    spirv_listing(&path);
    let error = SpirvModule::parse(&module).expect("it is valid").for_driver(64);
    let error = error.expect_err("it leaves no ID").to_string();
    assert!(error.contains("it leaves no ID for a constant"), "{error}");

    let mut low = with_length(&path, "uint", "%label");
    low[12] -= 8;
    scratch::write(&path, &low);
    let refused = Command::new("spirv-val").arg(&path).output().expect("spirv-val runs");
    assert!(!refused.status.success());
    let error = SpirvModule::parse(&low).expect_err("an ID is the bound").to_string();
    assert!(error.contains("not less than the bound"), "{error}");
}

/// Reads arguments in the form that Khronos' translator from LLVM IR writes: with decoration
/// groups, and with a struct that contains a pointer to its own type. The struct has 16 bytes, or
/// 12 if it is packed.
#[test(needs(&[Tool::SpirvTools]))]
fn arguments_of_other_compilers_have_their_sizes() {
    let path = scratch::folder("kernels-spirv-groups").join("k.spv");
    for (packed, size) in [("", 16), ("OpDecorate %node CPacked", 12)] {
        let text = START.replace("OpName %shared \"offload_dynamic_shared\"\n", "").replace(
            "%void =",
            &format!(
                "{packed}
OpDecorate %group FuncParamAttr ByVal
OpDecorate %group Alignment 4
%group = OpDecorationGroup
OpGroupDecorate %group %first %second
OpTypeForwardPointer %next CrossWorkgroup
%void ="
            ),
        );
        let module = assembled(
            &path,
            "1.0",
            &format!(
                "{text}%node = OpTypeStruct %next %uint
%next = OpTypePointer CrossWorkgroup %node
%pointer = OpTypePointer Function %node
%type = OpTypeFunction %void %pointer %next %pointer
%k = OpFunction %void None %type
%first = OpFunctionParameter %pointer
%other = OpFunctionParameter %next
%second = OpFunctionParameter %pointer
%label = OpLabel
OpReturn
OpFunctionEnd
"
            ),
        );
        spirv_listing(&path);
        let module = SpirvModule::parse(&module).expect("it is valid");
        let arguments = module.kernels()[0].arguments.iter();
        let found: Vec<_> = arguments.map(|it| (it.size, it.align, it.is_address)).collect();
        assert_eq!(found, [(size, 4, false), (8, 8, true), (size, 4, false)]);
    }
}

/// Reads modules with a large bound: one without any instruction, and some with one instruction for
/// each of 10,000 IDs.
#[test]
fn memory_depends_on_the_instructions_alone() {
    let header = |bound: u32| [0x0723_0203, 0x0001_0400, 0, bound, 0].map(u32::to_le_bytes);
    let empty = header(0x3f_ffff).concat();
    let (module, used) = Allocated::during(|| SpirvModule::parse(&empty).map(|_| ()));
    assert_eq!(module, Ok(()));
    assert!(used.total < 1024, "{used:?}");
    for stride in [1, 0x1_0001, 0x2a_aaab] {
        let mut bytes = header(0x3f_ffff).concat();
        for at in 1..=10_000_u32 {
            // An instruction for a type, whose only operand is the ID.
            let id = at.wrapping_mul(stride) % 0x3f_fffe + 1;
            bytes.extend([2 << 16 | 20, id].map(u32::to_le_bytes).concat());
        }
        let (module, used) = Allocated::during(|| SpirvModule::parse(&bytes).map(|_| ()));
        assert_eq!(module, Ok(()));
        assert!(used.total < 40 * bytes.len() as u64, "{stride}: {used:?}, {}", bytes.len());
    }
}

/// Asserts that the padded size suffices for variables in any order, each aligned to 128 bytes or
/// more.
#[test]
fn padding_between_variables_has_its_bytes() {
    let bytes = corpus_file("image/shared.spv");
    let module = SpirvModule::parse(&bytes).expect("clang wrote it");
    assert_eq!(module.shared_memory(), 25 + 24);
    let orders: [[(u64, u64); 3]; 4] = [
        [(16, 128), (25, 1), (24, 256)],
        [(25, 1), (16, 128), (24, 256)],
        [(24, 256), (25, 1), (16, 128)],
        [(25, 1), (24, 256), (16, 128)],
    ];
    let most = orders.map(|order| {
        order.iter().fold(0, |end: u64, (size, align)| {
            end.next_multiple_of((*align).max(128)) + size.next_multiple_of(128)
        })
    });
    assert_eq!(most.iter().max(), Some(&(module.padded_shared_memory() + 128)));
}

#[test(needs(&[Tool::Llvm22, Tool::SpirvTools]))]
fn variables_are_those_that_change() {
    for (name, declared, expected) in [
        ("none", "", false),
        ("mark", "global char __hip_cuid_1;", false),
        ("constant", "constant int x = 1;", false),
        ("variable", "global int x = 1;", true),
        ("array", "global float x[4];", true),
    ] {
        let text = format!(
            "{declared}\nkernel void k(global int *p) {{ local int y; y = *p; barrier(1); *p = y; }}\n"
        );
        let bytes = read(compiled("kernels-spirv-variables", &text));
        let module = SpirvModule::parse(&bytes).expect("clang wrote it");
        assert_eq!(module.has_variables(), expected, "{name}");
    }
}

/// Asserts that we report exactly the features whose capabilities a module declares.
#[test(needs(&[Tool::Llvm22, Tool::SpirvTools]))]
fn needed_features_are_capabilities() {
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
        let text = format!(
            "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\nkernel void k(global void *p) {{ {body} }}"
        );
        let module = compiled("kernels-spirv-features", &text);
        let (header, listed) = (SpirvHeader::parse(&read(&module)), spirv_listing(&module));
        let header = header.expect("clang wrote it");
        assert_eq!(header.needs, SpirvFeatures::of_extensions(needs), "{name}: {listed}");
        assert!(listed.contains(&format!("OpCapability {capability}")), "{listed}");
        assert_eq!(header.why_not_opencl(), None);
    }
}

#[test(needs(&[Tool::Llvm22, Tool::SpirvTools]))]
fn damaged_modules_are_errors() {
    let bytes = read(compiled("kernels-spirv-damaged", SOURCE));
    for end in 0..bytes.len() {
        // A module that is cut between two instructions may be valid.
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
