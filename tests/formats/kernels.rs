//! What images say of their kernels, beside what LLVM's readelf and NVIDIA's cuobjdump say of the same files.

use offload_format::ErrorKind;
use offload_format::image::{Image, Kernel, Kernels};
use offload_tests::data::{Random, read};
use offload_tests::registry::{LLVM, NOTHING, Needs, needs};
use offload_tests::tools::{Tool, cuda, llvm, shared_library, stdout, succeed};
use offload_tests::{published, scratch};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const BOTH: Needs = needs(&[Tool::Llvm22, Tool::Cuda]);
const PUBLISHED_ROCM: Needs = needs(&[Tool::Llvm22, Tool::PublishedRocm]);
const PUBLISHED_CUDA: Needs = needs(&[Tool::Llvm22, Tool::Cuda, Tool::PublishedCuda]);

offload_tests::tests! {
    LLVM => [
        kernels_of_code_objects,
        code_objects_that_are_not_linked,
        code_objects_of_old_compilers,
        images_of_every_kind,
    ],
    needs(&[Tool::Comgr]) => [target_ids_as_comgr_reads_them],
    BOTH => [
        kernels_of_cubins_and_their_ptx,
        cubins_of_cuda_12,
        cubins_before_and_behind_a_linker,
        parameters_of_all_kinds,
        a_thousand_kernels,
    ],
    PUBLISHED_ROCM => [kernels_of_published_code_objects],
    PUBLISHED_CUDA => [kernels_of_published_cubins],
    NOTHING => [
        registers_are_in_two_places,
        truncations,
        bytes_changed_at_random,
        header_fields_at_extremes,
        tables_made_to_be_searched_for_long,
    ],
}

/// Arguments of all sizes, memory of all kinds, enough live values to spill where registers are few.
const SOURCE: &str = r#"
struct Odd { char a; short b; double d; };
struct Inner { int x[10]; char c; };
struct Outer { Inner inner[3]; short tail[5]; };
struct Three { float x, y, z; };
struct alignas(16) Aligned { float v[4]; };

extern "C" __global__ void scalars(char c, short s, int i, long l, float f, double d, bool b, const float *p, float *out) {
  out[threadIdx.x] = c + s + i + l + f + d + b + p[0];
}
__global__ void structs(Odd o, Inner i, Outer n, Three t, char last, Aligned a, float *out) {
  out[blockIdx.x] = o.a + o.b + o.d + i.x[3] + i.c + n.inner[2].x[9] + n.tail[4] + t.z + last + a.v[3];
}
extern "C" __global__ void nothing() {}
extern "C" __global__ void __launch_bounds__(192) shares(int *o) {
  __shared__ int tile[256];
  __shared__ double pair[2];
  tile[threadIdx.x] = o[threadIdx.x];
  pair[threadIdx.x & 1] = o[0];
  __syncthreads();
  o[threadIdx.x] = tile[255 - threadIdx.x] + pair[0];
}
__device__ __noinline__ void fill(volatile int *a, int n) {
  volatile int own[40];
  for (int i = 0; i < n; i++) a[i] = own[i] = i;
}
extern "C" __global__ void stacks(int *o, int n) {
  volatile int a[500];
  fill(a, n);
  o[0] = a[n];
}
extern "C" __global__ void spills(float *o, int n) {
  float v[96];
  for (int i = 0; i < 96; i++) v[i] = o[i * n];
  for (int k = 0; k < n; k++)
#pragma unroll
    for (int i = 0; i < 96; i++) v[i] = v[i] * v[(i + 7) % 96] + o[k];
#pragma unroll
  for (int i = 0; i < 96; i++) o[i * n] = v[i];
}
"#;

/// Compiles the source in the CUDA dialect.
fn compile(folder: &Path, out: &str, options: &[&str]) -> PathBuf {
    let out = folder.join(out);
    scratch::write(folder.join("kernels.cu"), SOURCE);
    let mut clang = llvm("clang");
    clang.args(["--cuda-device-only", "-nogpuinc", "-nogpulib", "-fms-extensions", "-std=c++17", "-include"]);
    clang.arg(scratch::workspace().join("offload-build/include/offload/kernel.h"));
    succeed(clang.args(options).arg(folder.join("kernels.cu")).arg("-o").arg(&out));
    out
}

fn corpus(file: &str) -> PathBuf {
    scratch::workspace().join("tests/corpus/image").join(file)
}

#[track_caller]
fn kernels(data: &[u8]) -> Vec<Kernel<'_>> {
    Kernels::parse(data).unwrap_or_else(|error| panic!("{error}")).collect()
}

/// Ordinal, offset and size of each argument.
fn places(kernel: &Kernel<'_>) -> Vec<(u64, u64, u64)> {
    kernel.arguments.clone().map(|it| (it.ordinal, it.offset, it.size)).collect()
}

fn number(text: &str) -> u64 {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.unwrap_or_else(|error| panic!("{text}: {error}"))
}

// ------------------------------------------------------------------------------------------------------ code objects

/// A kernel as `llvm-readelf --notes` prints it.
#[derive(Default)]
struct Noted {
    /// Keys and values; of lists the values with spaces between.
    values: BTreeMap<String, String>,
    arguments: Vec<BTreeMap<String, String>>,
}

/// Reads the YAML that `llvm-readelf --notes` prints: kernels are indented by 2, their lists by 6.
fn noted(file: &Path) -> Vec<Noted> {
    let text = stdout(&succeed(llvm("llvm-readelf").arg("--notes").arg(file)));
    let mut kernels: Vec<Noted> = Vec::new();
    let mut list = String::new();
    let lines = text.lines().skip_while(|line| *line != "amdhsa.kernels:").skip(1);
    for line in lines.take_while(|line| line.starts_with(' ')) {
        if line.starts_with("  - ") {
            kernels.push(Noted::default());
        }
        let kernel = kernels.last_mut().expect("a kernel starts with a dash");
        let (indent, item) = line.split_at(line.len() - line.trim_start_matches([' ', '-']).len());
        let pair = item.split_once(':').map(|(key, value)| (key.to_owned(), value.trim().to_owned()));
        match (indent.len(), pair) {
            (4, Some((key, value))) => {
                list.clone_from(&key);
                kernel.values.insert(key, value);
            }
            (8, Some((key, value))) => {
                if indent.contains('-') {
                    kernel.arguments.push(BTreeMap::new());
                }
                kernel.arguments.last_mut().expect("an argument starts with a dash").insert(key, value);
            }
            (8, None) => {
                let values = kernel.values.get_mut(&list).expect("a list has a key");
                *values = format!("{values} {item}").trim().to_owned();
            }
            _ => panic!("{line:?} in\n{text}"),
        }
    }
    kernels
}

/// The functions of a file with their sizes.
fn functions(file: &Path) -> BTreeMap<String, u64> {
    let text = stdout(&succeed(llvm("llvm-readelf").args(["-s", "--wide"]).arg(file)));
    let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    // Num: Value Size Type Bind Vis [Other] Ndx Name
    let rows = rows.filter(|row| row.len() >= 8 && row[3] == "FUNC");
    rows.map(|row| (row[row.len() - 1].to_owned(), number(row[2]))).collect()
}

/// Compares everything that is read of a code object with what readelf prints; returns the names.
#[track_caller]
fn compare_code_object(file: &Path) -> Vec<String> {
    let data = read(file);
    let (ours, theirs, sizes) = (kernels(&data), noted(file), functions(file));
    assert!(!theirs.is_empty() && ours.len() == theirs.len(), "{}", file.display());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let value = |key: &str| theirs.values.get(key).map(|value| number(value));
        let list =
            theirs.values.get(".reqd_workgroup_size").map(|list| list.split(' ').map(number).collect::<Vec<_>>());
        assert_eq!(ours.name, theirs.values[".name"]);
        for (ours, key) in [
            (ours.arguments_size, ".kernarg_segment_size"),
            (ours.vgprs, ".vgpr_count"),
            (ours.agprs, ".agpr_count"),
            (ours.sgprs, ".sgpr_count"),
            (ours.vgpr_spills, ".vgpr_spill_count"),
            (ours.sgpr_spills, ".sgpr_spill_count"),
            (ours.shared_memory, ".group_segment_fixed_size"),
            (ours.private_memory, ".private_segment_fixed_size"),
            (ours.wavefront_size, ".wavefront_size"),
            (ours.max_threads, ".max_flat_workgroup_size"),
        ] {
            assert_eq!(ours, value(key), "{key} in {}", file.display());
        }
        assert_eq!(ours.required_block.map(Vec::from), list);
        assert_eq!(ours.registers, None);
        let ours: Vec<_> = ours.arguments.clone().collect();
        assert_eq!(ours.len(), theirs.arguments.len(), "{}", file.display());
        for (at, (ours, theirs)) in (0..).zip(ours.iter().zip(&theirs.arguments)) {
            assert_eq!(ours.ordinal, at);
            assert_eq!((ours.offset, ours.size), (number(&theirs[".offset"]), number(&theirs[".size"])));
            assert_eq!(ours.value_kind, Some(theirs[".value_kind"].as_str()));
            assert_eq!(ours.is_hidden(), theirs[".value_kind"].starts_with("hidden_"));
        }
    }
    let is_linked = data[16] == 3;
    for kernel in &ours {
        assert_eq!(kernel.code_size, sizes.get(kernel.name).copied().filter(|_| is_linked), "{}", kernel.name);
    }
    ours.iter().map(|kernel| kernel.name.to_owned()).collect()
}

fn kernels_of_code_objects() {
    let folder = scratch::folder("kernels-code-objects");
    let targets =
        ["gfx90a", "gfx90a:sramecc+:xnack-", "gfx90a:xnack+", "gfx1100", "gfx942", "gfx9-4-generic", "gfx803"];
    let (mut spilled, mut hidden, mut agprs) = (false, false, false);
    for target in targets {
        for version in [4, 5, 6] {
            if target.ends_with("generic") && version < 6 {
                continue;
            }
            for optimize in ["-O0", "-O3"] {
                let arch = format!("--offload-arch={target}");
                let version = format!("-mcode-object-version={version}");
                let options = ["-x", "hip", "--no-gpu-bundle-output", &arch, &version, optimize];
                let file = compile(&folder, "image.hsaco", &options);
                let names = compare_code_object(&file);
                let expect =
                    ["scalars", "_Z7structs3Odd5Inner5Outer5Threec7AlignedPf", "nothing", "shares", "stacks", "spills"];
                assert_eq!(names, expect, "{target}");
                let data = read(&file);
                let Ok(Image::CodeObject(header)) = Image::parse(&data) else { panic!("{target}") };
                assert_eq!(header.target_id().as_deref(), Some(target));
                assert_eq!(header.generic_version(), u32::from(target.ends_with("generic")));
                for kernel in kernels(&data) {
                    spilled |= kernel.vgpr_spills > Some(0) || kernel.sgpr_spills > Some(0);
                    agprs |= kernel.agprs > Some(0);
                    hidden |= kernel.arguments.clone().any(|it| it.is_hidden());
                }
            }
        }
    }
    assert!(spilled && hidden && agprs, "the source does what it is for");
}

fn code_objects_that_are_not_linked() {
    let folder = scratch::folder("kernels-code-objects-relocatable");
    let options =
        ["-x", "hip", "--no-gpu-bundle-output", "--offload-arch=gfx90a", "-fgpu-rdc", "-O2", "-emit-llvm", "-c"];
    let bitcode = compile(&folder, "image.bc", &options);
    let object = folder.join("image.o");
    let mut clang = llvm("clang");
    clang.args(["--target=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-nogpulib", "-x", "ir", "-c"]).arg(bitcode);
    succeed(clang.arg("-o").arg(&object));
    compare_code_object(&object);

    // A file whose section table was stripped is still loaded; the sizes of functions are gone with it.
    let linked = folder.join("linked.hsaco");
    succeed(llvm("ld.lld").arg("-shared").arg(&object).arg("-o").arg(&linked));
    let before = read(&linked);
    succeed(llvm("llvm-strip").arg("--strip-sections").arg(&linked));
    let after = read(&linked);
    assert!(after.len() < before.len());
    for (before, after) in kernels(&before).into_iter().zip(kernels(&after)) {
        assert_eq!((before.name, before.vgprs, places(&before)), (after.name, after.vgprs, places(&after)));
        assert!(before.code_size.is_some() && after.code_size.is_none());
    }
}

fn code_objects_of_old_compilers() {
    assert_eq!(compare_code_object(&corpus("v3.hsaco")), ["one", "two"]);
    let data = read(corpus("v3.hsaco"));
    let Ok(Image::CodeObject(header)) = Image::parse(&data) else { panic!("version 3") };
    assert_eq!((header.version(), header.target_id().as_deref()), (3, Some("gfx906:sramecc+:xnack+")));

    let data = read(corpus("v2.hsaco"));
    let Ok(Image::CodeObject(header)) = Image::parse(&data) else { panic!("version 2") };
    assert_eq!((header.version(), header.target_id()), (2, None));
    let error = Kernels::parse(&data).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedVersion { version: 2 });
    assert!(data[error.offset() as usize..].starts_with(b"---\nVersion"), "{error}");
}

/// Every combination of `e_flags` of versions 3 and 4 for each processor that comgr 2.4 knows.
fn target_ids_as_comgr_reads_them() {
    const DATA_KIND_EXECUTABLE: u32 = 8;
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Data(u64);
    type Create = unsafe extern "C" fn(u32, *mut Data) -> u32;
    type Set = unsafe extern "C" fn(Data, usize, *const u8) -> u32;
    type Name = unsafe extern "C" fn(Data, *mut usize, *mut u8) -> u32;
    type Release = unsafe extern "C" fn(Data) -> u32;
    shared_library("libamd_comgr.so.2").unwrap();
    // SAFETY: loading AMD's library runs its initialisers, which have no requirements. No other test of this program uses it.
    let library = std::mem::ManuallyDrop::new(unsafe { libloading::Library::new("libamd_comgr.so.2") }.unwrap());
    let isa_name = |image: &[u8]| {
        // SAFETY: the types are those of amd_comgr.h, version 2, which the library's file name stands for. The image is
        // copied by the library; the name is asked for with room for as many bytes as were said to be needed.
        unsafe {
            let mut data = Data(0);
            let create = library.get::<Create>("amd_comgr_create_data").unwrap();
            assert_eq!(create(DATA_KIND_EXECUTABLE, &mut data), 0);
            let set = library.get::<Set>("amd_comgr_set_data").unwrap();
            assert_eq!(set(data, image.len(), image.as_ptr()), 0);
            let get = library.get::<Name>("amd_comgr_get_data_isa_name").unwrap();
            let mut size = 0;
            let known = get(data, &mut size, std::ptr::null_mut()) == 0;
            let mut name = vec![0; size];
            assert!(!known || get(data, &mut size, name.as_mut_ptr()) == 0);
            let release = library.get::<Release>("amd_comgr_release_data").unwrap();
            assert_eq!(release(data), 0);
            let name = String::from_utf8(name).unwrap();
            known.then(|| name.trim_end_matches('\0').trim_start_matches("amdgcn-amd-amdhsa--").to_owned())
        }
    };
    let mut data = read(corpus("v3.hsaco"));
    let mut compared = 0;
    for processor in offload_format::target::amdgpu::PROCESSORS {
        // What a compiler writes: no bit of a feature that is not there, and in version 4 never 0 for one that is.
        let has = |feature| processor.features.contains(&feature);
        for version in [3, 4] {
            let of = |feature, shift: u32| match (version, has(feature)) {
                (_, false) => vec![0],
                (3, true) => vec![0, 1 << (8 + shift)],
                (_, true) => vec![1 << (8 + 2 * shift), 2 << (8 + 2 * shift), 3 << (8 + 2 * shift)],
            };
            for xnack in of("xnack", 0) {
                for sramecc in of("sramecc", 1) {
                    let flags: u32 = u32::from(processor.mach) | xnack | sramecc;
                    data[8] = version - 2;
                    data[48..52].copy_from_slice(&flags.to_le_bytes());
                    let Ok(Image::CodeObject(header)) = Image::parse(&data) else { panic!("{flags:#x}") };
                    let Some(theirs) = isa_name(&data) else { continue };
                    assert_eq!(header.target_id(), Some(theirs), "version {version}, flags {flags:#x}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 90, "{compared}");
}

// ------------------------------------------------------------------------------------------------------------ cubins

/// A kernel as cuobjdump prints it.
#[derive(Debug, Default)]
struct Dumped {
    /// Of `-res-usage`: `REG`, `STACK`, `SHARED`.
    usage: BTreeMap<String, u64>,
    /// Of `-elf`: number, offset and size.
    arguments: BTreeMap<u64, (u64, u64)>,
    arguments_size: Option<u64>,
    max_threads: Option<Vec<u64>>,
    required_block: Option<Vec<u64>>,
}

fn dumped(file: &Path) -> BTreeMap<String, Dumped> {
    let mut kernels: BTreeMap<String, Dumped> = BTreeMap::new();
    let text = stdout(&succeed(cuda("cuobjdump").arg("-res-usage").arg(file)));
    let mut name = "";
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("Function ") {
            name = rest.trim_end_matches(':');
        } else if line.starts_with("REG:") {
            let pairs = line.split(' ').filter_map(|pair| pair.split_once(':'));
            let usage = pairs.map(|(key, value)| (key.to_owned(), number(value))).collect();
            kernels.insert(name.to_owned(), Dumped { usage, ..Dumped::default() });
        }
    }
    let text = stdout(&succeed(cuda("cuobjdump").arg("-elf").arg(file)));
    let mut attribute = "";
    let mut name = None;
    for line in text.lines() {
        if line.starts_with('.') {
            name = line.strip_prefix(".nv.info.");
        }
        let Some(kernel) = name.and_then(|name| kernels.get_mut(name)) else { continue };
        let line = line.trim();
        if let Some(found) = line.strip_prefix("Attribute:") {
            attribute = found.trim();
        } else if let Some(value) = line.strip_prefix("Value:") {
            let words: Vec<&str> = value.split_whitespace().filter(|word| *word != ":").collect();
            let numbers = || words.iter().map(|word| number(word)).collect::<Vec<_>>();
            match attribute {
                // Index : 0x0 Ordinal : 0x1 Offset : 0x8 Size : 0x4
                _ if words.first() == Some(&"Index") => {
                    kernel.arguments.insert(number(words[3]), (number(words[5]), number(words[7])));
                }
                "EIATTR_CBANK_PARAM_SIZE" => kernel.arguments_size = Some(number(words[0])),
                "EIATTR_MAX_THREADS" => kernel.max_threads = Some(numbers()),
                "EIATTR_REQNTID" => kernel.required_block = Some(numbers()),
                _ => {}
            }
        }
    }
    kernels
}

/// Compares everything that is read of a cubin with what cuobjdump and readelf print; returns the names.
#[track_caller]
fn compare_cubin(file: &Path) -> Vec<String> {
    let data = read(file);
    let (ours, theirs, sizes) = (kernels(&data), dumped(file), functions(file));
    let names: Vec<String> = ours.iter().map(|kernel| kernel.name.to_owned()).collect();
    // Device functions have no constants; the others are kernels.
    let with_constants = theirs.iter().filter(|(_, it)| it.usage.contains_key("CONSTANT[0]")).map(|(name, _)| name);
    assert_eq!(names.iter().collect::<BTreeSet<_>>(), with_constants.collect(), "{}", file.display());
    let is_linked = data[16] == 2;
    for ours in &ours {
        let theirs = &theirs[ours.name];
        let what = format!("{} of {}: {ours:?}\n{theirs:?}", ours.name, file.display());
        assert_eq!(ours.code_size, Some(sizes[ours.name]), "{what}");
        assert_eq!(ours.registers, Some(theirs.usage["REG"]), "{what}");
        assert_eq!(ours.shared_memory, Some(theirs.usage["SHARED"]), "{what}");
        assert_eq!(ours.private_memory, is_linked.then(|| theirs.usage["STACK"]), "{what}");
        assert_eq!(ours.arguments_size, Some(theirs.arguments_size.unwrap_or(0)), "{what}");
        let passed = theirs.arguments.iter().map(|(ordinal, (offset, size))| (*ordinal, *offset, *size));
        let passed: Vec<_> = passed.filter(|(_, offset, size)| (*offset, *size) != (0xffff, 0)).collect();
        assert_eq!(places(ours), passed, "{what}");
        assert_eq!(ours.max_threads, theirs.max_threads.as_ref().map(|it| it.iter().product()), "{what}");
        assert_eq!(ours.required_block.map(Vec::from), theirs.required_block, "{what}");
        assert_eq!((ours.vgprs, ours.wavefront_size), (None, None));
    }
    names
}

/// Compares the kernels of PTX with those of the cubin that ptxas made of it.
#[track_caller]
fn compare_ptx(text: &Path, cubin: &Path) {
    let (text, cubin) = (read(text), read(cubin));
    let (text, cubin) = (kernels(&text), kernels(&cubin));
    let names = |kernels: &[Kernel<'_>]| kernels.iter().map(|kernel| kernel.name.to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&text), names(&cubin), "both are in the order of the source");
    for (text, cubin) in text.iter().zip(&cubin) {
        assert_eq!(places(text), places(cubin), "{}", text.name);
        assert_eq!(text.arguments_size, cubin.arguments_size, "{}", text.name);
        assert_eq!((text.max_threads, text.required_block), (cubin.max_threads, cubin.required_block), "{}", text.name);
        assert_eq!((text.code_size, text.registers, text.shared_memory, text.private_memory), (None, None, None, None));
    }
}

fn ptxas(arch: &str, text: &Path, cubin: &Path, options: &[&str]) {
    succeed(cuda("ptxas").arg(format!("-arch={arch}")).args(options).arg(text).arg("-o").arg(cubin));
}

fn kernels_of_cubins_and_their_ptx() {
    let folder = scratch::folder("kernels-cubins");
    let mut memory = BTreeSet::new();
    for (arch, feature) in
        [("sm_80", "+ptx70"), ("sm_90", "+ptx80"), ("sm_90a", "+ptx80"), ("sm_100", "+ptx86"), ("sm_120", "+ptx87")]
    {
        for optimize in ["-O0", "-O3"] {
            let offload_arch = format!("--offload-arch={arch}");
            let feature = format!("--cuda-feature={feature}");
            let options = ["-x", "cuda", "-Wno-unknown-cuda-version", &offload_arch, &feature, optimize, "-S"];
            let text = compile(&folder, "kernels.ptx", &options);
            let cubin = folder.join("kernels.cubin");
            for options in [&["-O3"][..], &["-O0"], &["-O3", "-maxrregcount=24"]] {
                ptxas(arch, &text, &cubin, options);
                let names = compare_cubin(&cubin);
                assert_eq!(names.len(), 6, "{names:?}");
                compare_ptx(&text, &cubin);
                let data = read(&cubin);
                for kernel in kernels(&data) {
                    memory.insert((kernel.private_memory > Some(0), kernel.shared_memory > Some(0)));
                }
            }
        }
    }
    assert_eq!(memory.len(), 4, "with and without private and shared memory: {memory:?}");
}

fn cubins_of_cuda_12() {
    for arch in ["sm_80", "sm_90", "sm_120"] {
        let cubin = corpus(&format!("cuda12.{arch}.cubin"));
        assert_eq!(compare_cubin(&cubin), ["first", "second"]);
        compare_ptx(&corpus("kinds.ptx"), &cubin);
        let data = read(&cubin);
        // From sm_100 on, CUDA 12.9 writes what CUDA 13 writes for all.
        assert_eq!(data[7], if arch == "sm_120" { 65 } else { 51 });
        let kernels = kernels(&data);
        assert_eq!((kernels[0].max_threads, kernels[1].required_block), (Some(256), Some([64, 1, 1])));
    }
}

/// Of AMD's clang 18 to 23, for 30 GPUs.
fn kernels_of_published_code_objects() {
    let folder = scratch::folder("kernels-published-code-objects");
    let object = folder.join("image.hsaco");
    for name in [published::JAX_ROCM60, published::JAX_ROCM7, published::BITSANDBYTES_ROCM715] {
        let file = read(published::path(name));
        for bundle in published::bundles(&file) {
            for entry in bundle.parsed().entries().filter(|entry| !entry.code_object().is_empty()) {
                scratch::write(&object, entry.code_object());
                compare_code_object(&object);
            }
        }
    }
}

/// CUDA 12.9 to 13.5, for each architecture the first cubin with kernels.
fn kernels_of_published_cubins() {
    let folder = scratch::folder("kernels-published-cubins");
    for name in [published::NVJPEG12, published::NVJPEG13, published::CUDADEVRT] {
        let file = read(published::path(name));
        let mut seen = BTreeSet::new();
        for (image, bytes) in published::fatbin_images(&file).0 {
            if image.ends_with("cubin") && !kernels(&bytes).is_empty() && seen.insert(image.clone()) {
                let cubin = folder.join(&image);
                scratch::write(&cubin, bytes);
                compare_cubin(&cubin);
            }
        }
        assert!(seen.len() >= 10, "{name}: {seen:?}");
    }
}

/// Where the attribute is missing, the number beside the code counts.
fn registers_are_in_two_places() {
    let data = read(corpus("cuda12.sm_80.cubin"));
    let mut without = data.clone();
    let mut attributes = 0;
    for at in 0..data.len() - 4 {
        if data[at..at + 4] == [4, 0x2f, 8, 0] {
            without[at + 1] = 0xff;
            attributes += 1;
        }
    }
    assert_eq!(attributes, 2);
    let registers = |data: &[u8]| kernels(data).iter().map(|kernel| kernel.registers).collect::<Vec<_>>();
    assert!(registers(&data).iter().all(Option::is_some));
    assert_eq!(registers(&without), registers(&data));
}

fn cubins_before_and_behind_a_linker() {
    let folder = scratch::folder("kernels-nvlink");
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let kernel = |name: &str| {
        format!(
            ".visible .entry {name}(.param .u32 x, .param .u64 y, .param .u8 z)\n{{ .reg .b32 %a<2>; .reg .b64 %d<2>; \
             .shared .align 4 .b8 own[64]; ld.param.b32 %a1, [x]; ld.param.b64 %d1, [y]; \
             st.volatile.shared.b32 [own], %a1; st.b32 [%d1], %a1; ret; }}\n"
        )
    };
    let deep = "(.param .b32 r) deep(.param .b32 n)";
    let calls = "\
        .visible .entry calls(.param .u32 x)\n{ .local .align 16 .b8 own[160]; .reg .b32 %a<3>; .reg .b64 %d<3>;\n\
        ld.param.b32 %a1, [x]; mov.b64 %d1, own; cvta.local.u64 %d1, %d1; st.volatile.b32 [%d1], %a1;\n\
        { .param .b32 q; .param .b32 r; st.param.b32 [q], %a1; call.uni (r), deep, (q); ld.param.b32 %a2, [r]; }\n\
        st.volatile.b32 [%d1], %a2; ret; }\n";
    let called = "\
        { .local .align 16 .b8 own[320]; .reg .b32 %a<3>; .reg .b64 %d<3>; ld.param.b32 %a1, [n]; mov.b64 %d1, own;\n\
        cvta.local.u64 %d1, %d1; st.volatile.b32 [%d1], %a1; ld.volatile.b32 %a2, [%d1]; st.param.b32 [r], %a2; ret; }\n";
    let texts = [
        format!("{head}.extern .func {deep};\n{calls}{}", kernel("a")),
        format!("{head}.visible .func {deep}\n{called}{}{}", kernel("b"), kernel("c")),
    ];
    let mut nvlink = cuda("nvlink");
    for (number, text) in texts.iter().enumerate() {
        let (ptx, object) = (folder.join(format!("{number}.ptx")), folder.join(format!("{number}.o")));
        scratch::write(&ptx, text);
        ptxas("sm_80", &ptx, &object, &["-c"]);
        compare_cubin(&object);
        nvlink.arg(object);
    }
    let linked = folder.join("linked.cubin");
    succeed(nvlink.arg("-arch=sm_80").arg("-o").arg(&linked));
    let mut names = compare_cubin(&linked);
    names.sort();
    assert_eq!(names, ["a", "b", "c", "calls"]);
    let data = read(&linked);
    let calls = kernels(&data).into_iter().find(|kernel| kernel.name == "calls").unwrap();
    assert!(calls.private_memory >= Some(480), "the stack of what is called counts: {calls:?}");
}

fn parameters_of_all_kinds() {
    let folder = scratch::folder("kernels-parameters");
    let types = [
        ".u8", ".s8", ".b8", ".u16", ".s16", ".b16", ".f16", ".u32", ".s32", ".b32", ".f32", ".u64", ".s64", ".b64",
        ".f64",
    ];
    let mut random = Random::new(1);
    let mut text = String::new();
    for number in 0..300 {
        let mut list = Vec::new();
        for index in 0..random.below(12) {
            let kind = types[random.below(types.len())];
            let align = 1 << random.below(8);
            list.push(match random.below(7) {
                0 | 1 => format!(".param {kind} p{index}"),
                2 => format!(".param .align {align} {kind} p{index}"),
                3 => format!(".param {kind} p{index}[{:#x}]", 1 + random.below(40)),
                4 => format!(".param .align {align} .b8 p{index}[{}]", 1 + random.below(70)),
                5 => format!(".param .u64 .ptr .global .align {align} p{index} /* ) */"),
                _ => format!(".param .u64 .ptr p{index} // , .param .u8 no\n"),
            });
        }
        let list = list.join(", ");
        let directive =
            ["", ".maxntid 33", ".maxntid 4, 5", ".maxntid 2, 3, 4", ".reqntid 8, 0x8", ".pragma \"nounroll\";"]
                [random.below(6)];
        let list = if list.is_empty() && number % 2 == 0 { list } else { format!("({list})") };
        let entry = format!(".visible .entry k{number}{list} {directive}");
        // Behind another directive, and behind most of the rest, a directive needs no space in front.
        let close = |entry: String, before: &str| entry.replace(&format!("{before} ."), &format!("{before}."));
        let entry = if number % 5 == 0 {
            ["visible", "param", "u64", "ptr", ")"].into_iter().fold(entry, close)
        } else {
            entry
        };
        writeln!(text, "{entry}\n{{ .reg .b32 %r<2>; ret; }}").unwrap();
    }
    // Larger than an attribute of the first kind can say; a declaration before its definition; not visible.
    text += ".visible .entry large(.param .u8 x, .param .align 8 .b8 s[20000], .param .u16 y) { ret; }\n";
    text += ".entry hidden() { ret; }\n.weak .entry weak() { ret; }\n";
    text += ".visible .entry later(.param .u32 x);\n.visible .entry later(.param .u32 x) { { ret; } }\n";
    // References are bound and not passed, but they align what follows. In a text of their own: with them ptxas records the
    // size of `large` as 0.
    let refers = ".visible .entry refers(.param .b8 a, .param .texref t, .param .samplerref s, .param .f16 h, .param .surfref u,\n\
                  .param .b8 c, .param .b8 octal[011], .param .b16 last) { ret; }\n";
    for arch in ["sm_80", "sm_90", "sm_120"] {
        for (body, count) in [(text.as_str(), 304), (refers, 1)] {
            let head =
                format!("// .entry no(\n.version 8.7 /* .entry no() {{}} */\n.target {arch}, texmode_independent\n");
            let text = format!("{head}.address_size 64\n{body}");
            let (ptx, cubin) = (folder.join("all.ptx"), folder.join("all.cubin"));
            scratch::write(&ptx, &text);
            ptxas(arch, &ptx, &cubin, &[]);
            compare_ptx(&ptx, &cubin);
            assert_eq!(compare_cubin(&cubin).len(), count);
            // PTX as a driver takes it: what is behind the NUL does not count.
            assert_eq!(kernels(format!("{text}\0.entry no() {{ ret; }}").as_bytes()).len(), count);
        }
    }
}

/// No step for each pair of kernels: the search for what belongs to a kernel goes on where the last one ended.
fn a_thousand_kernels() {
    let folder = scratch::folder("kernels-many");
    let source: String = (0..1000)
        .map(|n| {
            format!("extern \"C\" __attribute__((device_kernel)) void kernel_{n}(int *x, char c) {{ *x = c + {n}; }}\n")
        })
        .collect();
    scratch::write(folder.join("many.c"), source);
    let image = folder.join("many.hsaco");
    let mut clang = llvm("clang");
    clang.args([
        "--target=amdgcn-amd-amdhsa",
        "-mcpu=gfx90a",
        "-O1",
        "-ffreestanding",
        "-nogpulib",
        "-nostdlib",
        "-x",
        "c++",
    ]);
    succeed(clang.arg(folder.join("many.c")).arg("-o").arg(&image));
    assert_eq!(compare_code_object(&image).len(), 1000);

    let text: String = (0..1000)
        .map(|n| {
            let shared = if n % 3 == 0 { ".shared .b32 s[4]; st.shared.b32 [s], 1;" } else { "" };
            format!(".visible .entry kernel_{n}(.param .u64 x, .param .u8 c) .maxntid {} {{ {shared} ret; }}\n", 32 + n)
        })
        .collect();
    for arch in ["sm_80", "sm_100"] {
        let (ptx, cubin) = (folder.join("many.ptx"), folder.join("many.cubin"));
        scratch::write(&ptx, format!(".version 8.6\n.target {arch}\n.address_size 64\n{text}"));
        ptxas(arch, &ptx, &cubin, &["-O0"]);
        assert_eq!(compare_cubin(&cubin).len(), 1000);
        compare_ptx(&ptx, &cubin);
    }
}

fn images_of_every_kind() {
    let folder = scratch::folder("kernels-kinds");
    scratch::write(folder.join("k.c"), "void k(void) {}\n");
    let compile = |options: &[&str]| {
        let out = folder.join("out");
        succeed(
            llvm("clang")
                .args(["-ffreestanding", "-nogpulib", "-c"])
                .args(options)
                .arg(folder.join("k.c"))
                .arg("-o")
                .arg(&out),
        );
        Image::parse(&read(out)).unwrap_or_else(|error| panic!("{options:?}: {error}"))
    };
    assert_eq!(compile(&["--target=x86_64-linux-gnu"]), Image::Elf { machine: 62 });
    assert_eq!(compile(&["--target=aarch64-linux-gnu"]), Image::Elf { machine: 183 });
    assert_eq!(compile(&["--target=i386-linux-gnu"]), Image::Elf { machine: 3 });
    assert_eq!(compile(&["--target=powerpc64-linux-gnu"]), Image::Elf { machine: 21 });
    assert_eq!(compile(&["--target=x86_64-linux-gnu", "-emit-llvm"]), Image::Bitcode);
    assert_eq!(compile(&["--target=x86_64-apple-macos", "-emit-llvm", "-fembed-bitcode=off"]), Image::Bitcode);
    assert_eq!(compile(&["--target=spirv64-unknown-unknown"]), Image::SpirV { major: 1, minor: 4 });
    assert!(matches!(compile(&["--target=amdgcn-amd-amdhsa", "-mcpu=gfx1030"]), Image::CodeObject(_)));
    assert!(matches!(Image::parse(&read(corpus("cuda12.sm_90.cubin"))), Ok(Image::Cubin(it)) if it.number() == 90));
    assert!(matches!(Image::parse(&read(corpus("kinds.ptx"))), Ok(Image::Ptx(_))));
    let kind = |data: &[u8]| Image::parse(data).unwrap_err().kind();
    assert_eq!(kind(b"some text"), ErrorKind::BadMagic);
    assert_eq!(kind(b".version x"), ErrorKind::Malformed);
    assert!(matches!(kind(b"\x7fELF"), ErrorKind::Truncated { .. }));
    assert!(kernels(&read(folder.join("out"))).is_empty(), "a code object without kernels has none");
    assert_eq!(Kernels::parse(b"BC\xc0\xde").unwrap_err().kind(), ErrorKind::BadMagic);
}

// ----------------------------------------------------------------------------------------------------------- hostile

const CORPUS: [&str; 6] =
    ["v2.hsaco", "v3.hsaco", "cuda12.sm_80.cubin", "cuda12.sm_90.cubin", "cuda12.sm_120.cubin", "kinds.ptx"];

/// Reads all that there is in an image, and that no kernel comes that was not read when it was parsed.
fn visit(data: &[u8]) {
    if let Ok(Image::CodeObject(header)) = Image::parse(data) {
        let _ = header.target_id();
    }
    let Ok(kernels) = Kernels::parse(data) else { return };
    let range = data.as_ptr_range();
    let mut count = 0;
    for kernel in kernels {
        let name = kernel.name.as_bytes().as_ptr_range();
        assert!(kernel.name.is_empty() || (range.start <= name.start && name.end <= range.end));
        assert!(kernel.arguments.clone().count() <= data.len());
        count += 1;
    }
    assert!(count <= data.len());
}

fn truncations() {
    for file in CORPUS {
        let data = read(corpus(file));
        for end in (0..data.len()).filter(|end| *end < 400 || end % 7 == 0) {
            visit(&data[..end]);
        }
    }
}

fn bytes_changed_at_random() {
    let mut random = Random::new(2);
    for file in CORPUS {
        let data = read(corpus(file));
        for _ in 0..1000 {
            let mut changed = data.clone();
            for _ in 0..1 + random.below(6) {
                let at = random.below(data.len());
                changed[at] = [0, 1, 0x7f, 0x80, 0xff, random.below(256) as u8][random.below(6)];
            }
            visit(&changed);
        }
    }
}

fn header_fields_at_extremes() {
    for file in CORPUS {
        let data = read(corpus(file));
        // The header byte by byte, then a word in each place of the file.
        for (step, until) in [(1, 64), (8, data.len())] {
            for at in (0..until.min(data.len() - 8)).step_by(step) {
                for new in [0, 1, data.len() as u64, u64::MAX, u64::MAX / 64] {
                    for size in [2, 8] {
                        let mut changed = data.clone();
                        changed[at..at + size].copy_from_slice(&new.to_le_bytes()[..size]);
                        visit(&changed);
                    }
                }
            }
        }
    }
}

/// Sections of a cubin in an order that no tool writes, so that what belongs to a kernel is searched for among all; and a
/// table in which there is nothing to be found.
fn tables_made_to_be_searched_for_long() {
    // `of` is the number of the kernel whose shared memory a section is, counted as the sections are.
    let cubin = |kernels: u32, info: &[u8], of: fn(u32, u32) -> u32| {
        // Nothing, the names, the symbols, code, and one section for each kernel's shared memory, in turns from both ends.
        let names = b"\0.text.k\0.nv.shared.k\0\0";
        let mut sections: Vec<[u64; 6]> = vec![[0; 6]; 3];
        // Name, type, flags, size, link, info.
        sections[1] = [0, 3, 0, names.len() as u64, 0, 0];
        sections[2] = [0, 2, 0, 48, 1, 1];
        sections.extend((0..kernels).map(|_| [1, 1, 4, 0, 2, 1]));
        sections.extend((0..kernels).map(|n| [9, 8, 3, 16, 2, u64::from(3 + of(n, kernels))]));
        let last = sections.len();
        sections.push([0, 0x7000_0000, 0, info.len() as u64, 0, 0]);
        let table = 64 + 24 + 48 + info.len() as u64;
        let mut data = vec![0; 64];
        data[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 65, 8]);
        data[18..20].copy_from_slice(&190u16.to_le_bytes());
        data[40..48].copy_from_slice(&u64::to_le_bytes(table));
        data[58..60].copy_from_slice(&64u16.to_le_bytes());
        // More sections than the field can say are counted in the first one's size.
        sections[0][3] = sections.len() as u64;
        data[62..64].copy_from_slice(&1u16.to_le_bytes());
        data.extend_from_slice(names);
        data.resize(64 + 24, 0);
        let mut symbol = [0; 48];
        symbol[24 + 4] = 0x12;
        symbol[24 + 5] = 0x10;
        data.extend_from_slice(&symbol);
        data.extend_from_slice(info);
        for (index, [name, kind, flags, size, link, info]) in sections.into_iter().enumerate() {
            let offset = match index {
                1 => 64,
                2 => 64 + 24,
                _ if index == last => 64 + 24 + 48,
                _ => 0,
            };
            for word in [name | kind << 32, flags, 0, offset, size, link | info << 32, 0, 0] {
                data.extend_from_slice(&u64::to_le_bytes(word));
            }
        }
        data
    };
    let from_both_ends = |n, kernels| if n % 2 == 0 { n / 2 } else { kernels - 1 - n / 2 };
    let few = cubin(100, b"", from_both_ends);
    let found = kernels(&few);
    assert_eq!(found.len(), 100);
    assert!(found.iter().all(|kernel| kernel.name == "k" && kernel.shared_memory == Some(16)));
    let many = cubin(5_000, b"", from_both_ends);
    let error = Kernels::parse(&many).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::LimitExceeded { .. }), "{error}");

    // Registers of the functions, and no stack: as in a cubin that is still to be linked.
    let registers = b"\x04\x2f\x08\0\x01\0\0\0\x07\0\0\0".repeat(20_000);
    let found = cubin(20_000, &registers, |n, _| n);
    let found = kernels(&found);
    assert_eq!(found.len(), 20_000);
    assert!(found.iter().all(|kernel| (kernel.registers, kernel.private_memory) == (Some(7), None)));
}
