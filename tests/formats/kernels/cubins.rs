//! Compares the kernels of cubins with the output of `cuobjdump` and `llvm-readelf`, and the
//! kernels of PTX with those of the cubins that `ptxas` compiles from it.

use super::{BOTH, PUBLISHED_CUDA, compile, kernels, places};
use offload_format::image::Kernel;
use offload_tests::judges::{functions, number};
use offload_tests::prelude::*;
use offload_tests::published;

/// A kernel as cuobjdump prints it.
#[derive(Debug, Default)]
struct Dumped {
    /// The values of `-res-usage`: `REG`, `STACK`, `SHARED`.
    usage: BTreeMap<String, u64>,
    /// The values of `-elf`: number, offset and size.
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

/// Compares all fields of a cubin's kernels with the output of cuobjdump and readelf. Returns the
/// kernels' names.
#[track_caller]
pub(super) fn compare_cubin(file: &Path) -> Vec<String> {
    let data = read(file);
    let (ours, theirs, sizes) = (kernels(&data), dumped(file), functions(file));
    let names: Vec<String> = ours.iter().map(|kernel| kernel.name.to_owned()).collect();
    // cuobjdump prints `CONSTANT[0]` for kernels, but not for device functions.
    let kernels = theirs.iter().filter(|(_, it)| it.usage.contains_key("CONSTANT[0]"));
    let kernels: BTreeSet<_> = kernels.map(|(name, _)| name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>(), kernels, "{}", file.display());
    let is_linked = data[16] == 2;
    for ours in &ours {
        let theirs = &theirs[ours.name];
        let what = format!("{} of {}: {ours:?}\n{theirs:?}", ours.name, file.display());
        assert_eq!(ours.code_size, Some(sizes[ours.name]), "{what}");
        assert_eq!(ours.registers, Some(theirs.usage["REG"]), "{what}");
        assert_eq!(ours.shared_memory, Some(theirs.usage["SHARED"]), "{what}");
        assert_eq!(ours.private_memory, is_linked.then(|| theirs.usage["STACK"]), "{what}");
        assert_eq!(ours.arguments_size, Some(theirs.arguments_size.unwrap_or(0)), "{what}");
        let passed = theirs.arguments.iter().filter(|(_, place)| **place != (0xffff, 0));
        let passed: Vec<_> = passed.map(|(at, (offset, size))| (*at, *offset, *size)).collect();
        assert_eq!(places(ours), passed, "{what}");
        let threads = theirs.max_threads.as_ref().map(|it| it.iter().product());
        assert_eq!(ours.max_threads, threads, "{what}");
        assert_eq!(ours.required_block.map(Vec::from), theirs.required_block, "{what}");
        assert_eq!((ours.vgprs, ours.wavefront_size), (None, None));
    }
    names
}

/// Compares the kernels of PTX with those of the cubin that ptxas compiled from it.
#[track_caller]
pub(super) fn compare_ptx(text: &Path, cubin: &Path) {
    let (text, cubin) = (read(text), read(cubin));
    let (text, cubin) = (kernels(&text), kernels(&cubin));
    let names =
        |kernels: &[Kernel<'_>]| kernels.iter().map(|it| it.name.to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&text), names(&cubin), "both are in the order of the source");
    for (text, cubin) in text.iter().zip(&cubin) {
        let same =
            |it: &Kernel<'_>| (places(it), it.arguments_size, it.max_threads, it.required_block);
        assert_eq!(same(text), same(cubin), "{}", text.name);
        let of_machine_code =
            [text.code_size, text.registers, text.shared_memory, text.private_memory];
        assert_eq!(of_machine_code, [None; 4]);
    }
}

/// Compiles PTX in a folder to a cubin in the same folder.
pub(super) fn ptxas(folder: &Path, arch: &str, options: &str) {
    run(cuda("ptxas"), folder, &format!("-arch={arch} {options}"));
}

#[test(BOTH.slow())]
fn kernels_of_cubins_and_their_ptx() {
    let folder = scratch::folder("kernels-cubins");
    let (text, cubin) = (folder.join("kernels.ptx"), folder.join("kernels.cubin"));
    let mut memory = BTreeSet::new();
    for (arch, feature) in [
        ("sm_80", "+ptx70"),
        ("sm_90", "+ptx80"),
        ("sm_90a", "+ptx80"),
        ("sm_100", "+ptx86"),
        ("sm_120", "+ptx87"),
    ] {
        for optimize in ["-O0", "-O3"] {
            let target = format!("--offload-arch={arch} --cuda-feature={feature}");
            let options = format!("-x cuda -Wno-unknown-cuda-version {target} {optimize} -S");
            compile(&folder, "kernels.ptx", &options);
            for options in ["-O3", "-O0", "-O3 -maxrregcount=24"] {
                ptxas(&folder, arch, &format!("{options} kernels.ptx -o kernels.cubin"));
                let names = compare_cubin(&cubin);
                assert_eq!(names.len(), 6, "{names:?}");
                compare_ptx(&text, &cubin);
                let used =
                    |it: &Kernel<'_>| (it.private_memory > Some(0), it.shared_memory > Some(0));
                memory.extend(kernels(&read(&cubin)).iter().map(used));
            }
        }
    }
    assert_eq!(memory.len(), 4, "with and without private and shared memory: {memory:?}");
}

/// Tests that the work does not grow with the square of the number of kernels. The search for a
/// kernel's sections continues where the previous search ended.
#[test(BOTH.slow())]
fn cubins_of_a_thousand_kernels() {
    let folder = scratch::folder("kernels-many-cubins");
    let kernel = |n| {
        let shared = if n % 3 == 0 { ".shared .b32 s[4]; st.shared.b32 [s], 1;" } else { "" };
        let head = format!(".visible .entry kernel_{n}(.param .u64 x, .param .u8 c)");
        format!("{head} .maxntid {} {{ {shared} ret; }}\n", 32 + n)
    };
    let text: String = (0..1000).map(kernel).collect();
    for arch in ["sm_80", "sm_100"] {
        let (ptx, cubin) = (folder.join("many.ptx"), folder.join("many.cubin"));
        scratch::write(&ptx, format!(".version 8.6\n.target {arch}\n.address_size 64\n{text}"));
        ptxas(&folder, arch, "-O0 many.ptx -o many.cubin");
        assert_eq!(compare_cubin(&cubin).len(), 1000);
        compare_ptx(&ptx, &cubin);
    }
}

#[test(BOTH)]
fn cubins_of_cuda_12() {
    for arch in ["sm_80", "sm_90", "sm_120"] {
        let cubin = corpus_path(&format!("image/cuda12.{arch}.cubin"));
        assert_eq!(compare_cubin(&cubin), ["first", "second"]);
        compare_ptx(&corpus_path("image/kinds.ptx"), &cubin);
        // For sm_100 and newer, CUDA 12.9 already writes the form that CUDA 13 writes for all
        // architectures.
        assert_eq!(read(&cubin)[7], if arch == "sm_120" { 65 } else { 51 });
    }
}

/// Tests cubins of CUDA 12.9 to 13.5: for each architecture, the first one that contains kernels.
#[test(PUBLISHED_CUDA.slow())]
fn kernels_of_published_cubins() {
    let folder = scratch::folder("kernels-published-cubins");
    for name in [published::NVJPEG12, published::NVJPEG13, published::CUDADEVRT] {
        let file = read(published::path(name));
        let mut seen = BTreeSet::new();
        for (image, bytes) in published::fatbin_images(&file).0 {
            let has_kernels = image.ends_with("cubin") && !kernels(&bytes).is_empty();
            if has_kernels && seen.insert(image.clone()) {
                let cubin = folder.join(&image);
                scratch::write(&cubin, bytes);
                compare_cubin(&cubin);
            }
        }
        assert!(seen.len() >= 10, "{name}: {seen:?}");
    }
}

/// Tests that the reader reads the number of registers from the code's section if no attribute
/// states this number.
#[test]
fn registers_are_in_two_places() {
    let data = read(corpus_path("image/cuda12.sm_80.cubin"));
    let mut without = data.clone();
    let mut attributes = 0;
    for at in 0..data.len() - 4 {
        if data[at..at + 4] == [4, 0x2f, 8, 0] {
            without[at + 1] = 0xff;
            attributes += 1;
        }
    }
    assert_eq!(attributes, 2);
    let registers = |data: &[u8]| kernels(data).iter().map(|it| it.registers).collect::<Vec<_>>();
    assert!(registers(&data).iter().all(Option::is_some));
    assert_eq!(registers(&without), registers(&data));
}

#[test(BOTH)]
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
    for (number, text) in texts.iter().enumerate() {
        scratch::write(folder.join(format!("{number}.ptx")), text);
        ptxas(&folder, "sm_80", &format!("-c {number}.ptx -o {number}.o"));
        compare_cubin(&folder.join(format!("{number}.o")));
    }
    run(cuda("nvlink"), &folder, "0.o 1.o -arch=sm_80 -o linked.cubin");
    let linked = folder.join("linked.cubin");
    let mut names = compare_cubin(&linked);
    names.sort();
    assert_eq!(names, ["a", "b", "c", "calls"]);
    let data = read(&linked);
    let calls = kernels(&data).into_iter().find(|kernel| kernel.name == "calls").unwrap();
    assert!(calls.private_memory >= Some(480), "the stack of what is called counts: {calls:?}");
}
