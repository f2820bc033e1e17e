//! NVIDIA's fatbins: what `fatbinary` and nvFatbin write is read, and what we write, `cuobjdump` and nvJitLink take. nvJitLink
//! compiles and links for a GPU that need not be there: it chooses among the images as the driver does.

use libloading::Library;
use offload_format::nv_fatbin::{Compression, HostOs, Image, ImageKind, NvFatbin, NvFatbinBuilder, NvFatbins};
use offload_format::target::{NvidiaArch, NvidiaCode, NvidiaSuffix};
use offload_format::{Error, ErrorKind};
use offload_tests::data::{Random, assert_same_bytes, read};
use offload_tests::jit_link::JitLink;
use offload_tests::registry::{NOTHING, Needs, needs};
use offload_tests::scratch;
use offload_tests::tools::{Tool, cuda, cuda_library, llvm, stdout, succeed};
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int, c_void};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{fs, ptr};

const CUDA: Needs = needs(&[Tool::Llvm22, Tool::Cuda]);
const JIT_LINK: Needs = needs(&[Tool::Llvm22, Tool::Cuda, Tool::NvJitLink]);
const NV_FATBIN: Needs = needs(&[Tool::Llvm22, Tool::Cuda, Tool::NvFatbin]);

offload_tests::tests! {
    CUDA => [
        fatbinary_in_every_mode_of_compression,
        fatbinary_with_names_and_options,
        ours_is_what_fatbinary_writes,
        cuobjdump_lists_and_extracts_ours,
        several_in_a_row,
    ],
    NV_FATBIN => [
        nvfatbin_with_every_compression,
        nvfatbin_with_every_host,
        a_large_cubin_with_every_compression,
    ],
    NOTHING => [
        nvfatbin_of_cuda_12,
        lto_ir_and_relocatable_ptx,
        what_is_no_cubin_or_ptx_is_refused,
        every_truncation,
        every_field_at_its_extremes,
        every_byte_changed,
        no_more_than_the_limit_is_decompressed,
    ],
    JIT_LINK => [nvjitlink_chooses_from_ours],
    needs(&[Tool::Llvm22, Tool::Cuda]) => [groups_with_damaged_tables],
}

const LIMIT: u64 = 1 << 24;

// ----------------------------------------------------------------------------------------------------------- inputs

/// What `fatbinary` calls an architecture, and clang's option for it.
const ARCHES: [(&str, &str, &str); 7] = [
    ("80", "sm_80", "+ptx70"),
    ("90", "sm_90", "+ptx80"),
    ("90a", "sm_90a", "+ptx80"),
    ("100", "sm_100", "+ptx86"),
    ("100a", "sm_100a", "+ptx86"),
    ("100f", "sm_100a", "+ptx88"),
    ("120", "sm_120", "+ptx87"),
];

/// A folder with `<arch>.ptx`, `<arch>.cubin` and, as `-c` makes it, `<arch>.o.cubin`.
static INPUTS: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = scratch::folder("nv-fatbin-inputs");
    let source = "void __attribute__((device_kernel)) add(int *to, int value) { *to += value; }";
    scratch::write(folder.join("add.c"), source);
    for (arch, clang_arch, feature) in ARCHES {
        let mut clang = llvm("clang");
        clang.current_dir(&folder).args(["--target=nvptx64-nvidia-cuda", "-O2", "-ffreestanding", "-nogpulib", "-S"]);
        clang.args([&format!("-march={clang_arch}"), "-Xclang", "-target-feature", "-Xclang", feature]);
        let output = succeed(clang.args(["add.c", "-o", "-"]));
        // clang 22 does not know families.
        let text = stdout(&output).replace(&format!(".target {clang_arch}"), &format!(".target sm_{arch}"));
        scratch::write(folder.join(format!("{arch}.ptx")), &text);
        for (flag, name) in [("-v", "cubin"), ("-c", "o.cubin")] {
            let name = format!("{arch}.{name}");
            let mut ptxas = cuda("ptxas");
            ptxas.current_dir(&folder).args([flag, "-arch", &format!("sm_{arch}"), "-o", &name]);
            succeed(ptxas.arg(format!("{arch}.ptx")));
        }
    }
    folder
});

fn input(name: &str) -> Vec<u8> {
    read(INPUTS.join(name))
}

fn sm(arch: &str) -> NvidiaArch {
    NvidiaArch::parse(&format!("sm_{arch}")).unwrap()
}

/// Runs `fatbinary` on images `kind:arch:file`; the files are of [`INPUTS`].
fn fatbinary(folder: &Path, options: &[&str], images: &[String]) -> Vec<u8> {
    let mut tool = cuda("fatbinary");
    tool.current_dir(&*INPUTS).arg(format!("--create={}", folder.join("theirs.fatbin").display())).args(options);
    for image in images {
        let [kind, arch, file] = parts(image);
        tool.arg(format!("--image3=kind={kind},sm={arch},file={file}"));
    }
    succeed(&mut tool);
    read(folder.join("theirs.fatbin"))
}

fn parts(image: &str) -> [&str; 3] {
    let parts: Vec<&str> = image.split(':').collect();
    parts.try_into().expect("kind:arch:file")
}

/// All cubins and all PTX, as [`fatbinary`] takes them.
fn all_images() -> Vec<String> {
    let image = |kind: &str, arch: &str, extension: &str| format!("{kind}:{arch}:{arch}.{extension}");
    ARCHES.iter().flat_map(|(arch, ..)| [image("elf", arch, "cubin"), image("ptx", arch, "ptx")]).collect()
}

/// The images of a fatbin with their bytes, under `kind:arch`.
fn unpacked(fatbin: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let fatbin = NvFatbin::parse(fatbin).unwrap();
    let mut all = BTreeMap::new();
    for entry in fatbin.entries() {
        let payload = entry.decompress(LIMIT).unwrap_or_else(|error| panic!("{entry:?}: {error}"));
        for (image, bytes) in payload.images() {
            let key = name_of(&image);
            assert!(all.insert(key.clone(), bytes.to_vec()).is_none(), "{key} is there twice");
        }
    }
    all
}

fn name_of(image: &Image) -> String {
    let kind = if image.kind().is_ptx() { "ptx" } else { "elf" };
    let arch = image.arch().map(|arch| arch.with_code(NvidiaCode::Cubin).to_string());
    format!("{kind}:{}", arch.as_deref().unwrap_or("sm_?").trim_start_matches("sm_"))
}

/// Compares with the inputs: cubins with zeros behind them, PTX with what `fatbinary` made of it (no comments).
fn assert_are_inputs(fatbin: &[u8], images: &[String], ptx: &BTreeMap<String, Vec<u8>>, what: &str) {
    let unpacked = unpacked(fatbin);
    assert_eq!(unpacked.len(), images.len(), "{what}: {:?}", unpacked.keys());
    for image in images {
        let [kind, arch, file] = parts(image);
        let key = format!("{kind}:{arch}");
        let bytes = unpacked.get(&key).unwrap_or_else(|| panic!("{what}: no {key}"));
        if kind == "ptx" {
            assert_same_bytes(bytes, &ptx[&key], &format!("{what}, {key}"));
            continue;
        }
        let expected = input(file);
        let (bytes, zeros) = bytes.split_at_checked(expected.len()).unwrap_or((bytes, b"1"));
        assert_same_bytes(bytes, &expected, &format!("{what}, {key}"));
        assert!(zeros.len() < 8 && zeros.iter().all(|&byte| byte == 0), "{what}, {key}: {zeros:?}");
    }
}

/// The text of each PTX image that `cuobjdump` extracts from a fatbin, under the keys of [`unpacked`].
fn extracted_ptx(folder: &Path, fatbin: &[u8]) -> BTreeMap<String, Vec<u8>> {
    extracted(folder, fatbin, "-xptx").into_iter().map(|(arch, text)| (format!("ptx:{arch}"), text)).collect()
}

/// What `cuobjdump -xptx all` or `-xelf all` extracts, under `90a`. Its files are called `x.1.sm_90a.ptx`.
fn extracted(folder: &Path, fatbin: &[u8], option: &str) -> Vec<(String, Vec<u8>)> {
    let folder = folder.join(option.trim_start_matches('-'));
    let _ = fs::remove_dir_all(&folder);
    scratch::write(folder.join("x.fatbin"), fatbin);
    succeed(cuda("cuobjdump").current_dir(&folder).args([option, "all", "x.fatbin"]));
    let mut files: Vec<(u32, String, Vec<u8>)> = Vec::new();
    for file in fs::read_dir(&folder).unwrap().flatten() {
        let name = file.file_name().into_string().unwrap();
        let parts: Vec<&str> = name.split('.').collect();
        if let [_, number, arch, _] = parts[..] {
            let arch = arch.trim_start_matches("sm_").to_owned();
            files.push((number.parse().unwrap(), arch, read(file.path())));
        }
    }
    files.sort();
    files.into_iter().map(|(_, arch, bytes)| (arch, bytes)).collect()
}

// ------------------------------------------------------------------------------------------------ reading what others write

fn compressions(fatbin: &[u8]) -> Vec<(ImageKind, Compression)> {
    NvFatbin::parse(fatbin).unwrap().entries().map(|entry| (entry.kind(), entry.compression())).collect()
}

fn fatbinary_in_every_mode_of_compression() {
    let folder = scratch::folder("nv-fatbin-modes");
    let images = all_images();
    let plain = fatbinary(&folder, &["-64", "--compress-mode=none"], &images);
    let ptx = extracted_ptx(&folder, &plain);
    assert_eq!(ptx.len(), ARCHES.len());
    assert!(compressions(&plain).iter().all(|(_, compression)| *compression == Compression::None));
    assert_are_inputs(&plain, &images, &ptx, "none");
    for (mode, compression) in [
        ("default", Compression::Zstd),
        ("size", Compression::Zstd),
        ("balance", Compression::Zstd),
        ("speed", Compression::Lz4),
    ] {
        let mode = format!("--compress-mode={mode}");
        let theirs = fatbinary(&folder, &["-64", &mode], &images);
        assert_are_inputs(&theirs, &images, &ptx, &mode);
        let is = |kind, compression| compressions(&theirs).contains(&(kind, compression));
        assert!(is(ImageKind::PTX, compression), "{mode}");

        let theirs = fatbinary(&folder, &["-64", "--compress-all", &mode], &images);
        assert_are_inputs(&theirs, &images, &ptx, &mode);
        assert!(compressions(&theirs).iter().all(|(_, found)| *found == compression), "{mode}");

        let theirs = fatbinary(&folder, &["-64", "--compress-all", "--concat", &mode], &images);
        assert_are_inputs(&theirs, &images, &ptx, &format!("{mode} --concat"));
        let groups = compressions(&theirs).iter().filter(|entry| **entry == (ImageKind::GROUP, compression)).count();
        assert!(groups >= 2, "{mode} --concat: {:?}", compressions(&theirs));
    }
    let relocatable: Vec<String> = ARCHES.iter().map(|(arch, ..)| format!("elf:{arch}:{arch}.o.cubin")).collect();
    assert_are_inputs(&fatbinary(&folder, &["-64", "-c"], &relocatable), &relocatable, &ptx, "--device-c");
}

fn fatbinary_with_names_and_options() {
    let folder = scratch::folder("nv-fatbin-names");
    let images = all_images();
    let ptx = extracted_ptx(&folder, &fatbinary(&folder, &["-64", "--compress-mode=none"], &images));
    // Names and options of every length from 1 to 9: they are padded.
    for length in 1..10 {
        let (name, options) = (&"a/b.cu.cu"[..length], &"-O3 -v -w"[..length]);
        for more in [&["--compress-mode=none"][..], &["--concat", "--compress-all"]] {
            let mut arguments = vec!["-64", "-g", "-ident", name];
            let cmdline = format!("--cmdline={options}");
            arguments.push(&cmdline);
            arguments.extend(more);
            let theirs = fatbinary(&folder, &arguments, &images);
            assert_are_inputs(&theirs, &images, &ptx, name);
            let mut seen = 0;
            for image in NvFatbin::parse(&theirs).unwrap().entries().flat_map(|entry| entry.images()) {
                assert_eq!(image.name(), name.as_bytes(), "{image:?}");
                assert!(
                    image.has_debug_info() && image.is_64_bit() && image.host() == Some(HostOs::Linux),
                    "{image:?}"
                );
                let is_compat = image.options() == compat(&name_of(&image));
                assert!(
                    if image.kind().is_ptx() { image.options() == options.as_bytes() } else { is_compat },
                    "{image:?}"
                );
                seen += 1;
            }
            assert_eq!(seen, images.len());
        }
    }
    let theirs = fatbinary(&folder, &["-32"], &["ptx:80:80.ptx".to_owned()]);
    let image = NvFatbin::parse(&theirs).unwrap().entries().next().unwrap().images().next().unwrap();
    assert_eq!((image.is_64_bit(), image.version(), image.compute_capability()), (false, (7, 0), 80));
    assert_eq!((image.name(), image.options()), (&b""[..], &b""[..]));
}

/// What the entry of a cubin repeats of it: `.nv.compat` from `sm_100` on.
fn compat(key: &str) -> Vec<u8> {
    let arch = key.trim_start_matches("elf:");
    if !arch.starts_with('1') {
        return Vec::new();
    }
    let cubin = INPUTS.join(format!("{arch}.cubin"));
    let dump = scratch::target_dir().join("offload-tests").join(format!("nv-fatbin-compat-{arch}"));
    let mut objcopy = llvm("llvm-objcopy");
    objcopy.arg(format!("--dump-section=.nv.compat={}", dump.display()));
    succeed(objcopy.arg(cubin).arg(dump.with_extension("copy")));
    read(dump)
}

fn nvfatbin_with_every_compression() {
    let library = NvFatbinLibrary::load();
    let images = all_images();
    let folder = scratch::folder("nv-fatbin-library");
    let ptx = extracted_ptx(&folder, &fatbinary(&folder, &["-64", "--compress-mode=none"], &images));
    for (options, compression) in [
        (&["-compress=false"][..], Compression::None),
        (&["-compress-all"], Compression::Zstd),
        (&["-compress-all", "-compress-algo=1"], Compression::Zlib),
        (&["-compress-all", "-compress-algo=2"], Compression::Lz4),
        (&["-compress-all", "-compress-algo=3"], Compression::Lz4Frame),
        (&["-compress-all", "-compress-algo=4"], Compression::Lz4),
        (&["-compress-all", "-compress-algo=5"], Compression::Zstd),
    ] {
        let theirs = library.fatbin(options, &images);
        assert!(compressions(&theirs).iter().all(|(_, found)| *found == compression), "{options:?}");
        assert_are_inputs(&theirs, &images, &ptx, &format!("{options:?}"));
        if compression != Compression::None {
            let theirs = library.fatbin(&[options, &["-concat"]].concat(), &images);
            assert!(compressions(&theirs).iter().any(|(kind, _)| *kind == ImageKind::GROUP), "{options:?}");
            assert_are_inputs(&theirs, &images, &ptx, &format!("{options:?}, -concat"));
        }
    }
}

fn nvfatbin_with_every_host() {
    let library = NvFatbinLibrary::load();
    for (option, host) in [("linux", HostOs::Linux), ("mac", HostOs::MacOs), ("windows", HostOs::Windows)] {
        let theirs = library.fatbin(&[&format!("-host={option}")], &all_images());
        let mut images = NvFatbin::parse(&theirs).unwrap().entries().flat_map(|entry| entry.images());
        assert!(images.all(|image| image.host() == Some(host)), "{option}");
    }
    let theirs = library.fatbin(&["-opencl", "-g"], &["ptx:90a:90a.ptx".to_owned()]);
    let image = NvFatbin::parse(&theirs).unwrap().entries().next().unwrap().images().next().unwrap();
    assert_eq!((image.flags() & 0x8, image.has_debug_info()), (0x8, true));
    assert_eq!((image.suffix(), image.name()), (Some(NvidiaSuffix::ArchSpecific), &b"90a.ptx"[..]));
}

/// Longer than a block of an LZ4 frame, and than its window; some of it repeats and some does not.
fn a_large_cubin_with_every_compression() {
    let folder = scratch::folder("nv-fatbin-large");
    let mut random = Random::new(7);
    let mut data = random.bytes(70_000);
    data.extend(vec![9; 70_000]);
    data.extend(random.bytes(20_000));
    data.extend_from_within(140_000..);
    data.extend(random.bytes(300));
    let mut text =
        format!(".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .b8 d[{}] = {{", data.len());
    for (index, byte) in data.iter().enumerate() {
        let _ = write!(text, "{}{byte}", if index == 0 { "" } else { "," });
    }
    text.push_str("};\n");
    scratch::write(folder.join("large.ptx"), &text);
    succeed(cuda("ptxas").current_dir(&folder).args(["-arch", "sm_90", "large.ptx", "-o", "large.cubin"]));
    let cubin = read(folder.join("large.cubin"));
    assert!(cubin.windows(1000).any(|window| window == &data[69_500..70_500]));
    let library = NvFatbinLibrary::load();
    for algorithm in 1..=5 {
        let image = format!("elf:90:{}", folder.join("large.cubin").display());
        let theirs = library.fatbin(&["-compress-all", &format!("-compress-algo={algorithm}")], &[image]);
        assert!(theirs.len() < 120_000, "{algorithm}");
        assert_same_bytes(&unpacked(&theirs)["elf:90"], &cubin, &format!("algorithm {algorithm}"));
    }
}

fn corpus(name: &str) -> Vec<u8> {
    read(scratch::workspace().join("tests/corpus/nv_fatbin").join(name))
}

fn prebuilt(name: &str) -> Vec<u8> {
    read(scratch::workspace().join("examples/saxpy/prebuilt").join(name))
}

fn nvfatbin_of_cuda_12() {
    let theirs = corpus("lz4_12.4.fatbin");
    assert!(compressions(&theirs).iter().all(|(_, compression)| *compression == Compression::Lz4));
    let unpacked = unpacked(&theirs);
    assert_same_bytes(&unpacked["elf:80"], &prebuilt("saxpy.sm_80.cubin"), "sm_80");
    assert_same_bytes(&unpacked["elf:90"], &prebuilt("saxpy.sm_90.cubin"), "sm_90");
    let text = String::from_utf8(unpacked["ptx:80"].clone()).unwrap();
    assert!(text.contains(".target sm_80") && text.ends_with("}\n"), "{text}");
    let images: Vec<Image> = NvFatbin::parse(&theirs).unwrap().entries().flat_map(|entry| entry.images()).collect();
    let names: Vec<(&[u8], &[u8])> = images.iter().map(|image| (image.name(), image.options())).collect();
    assert_eq!(names, [(&b""[..], &b""[..]), (b"saxpy", b""), (b"saxpy", b"-O3")]);
}

fn lto_ir_and_relocatable_ptx() {
    let theirs = corpus("lto.fatbin");
    let entries: Vec<_> = NvFatbin::parse(&theirs).unwrap().entries().collect();
    assert_eq!(compressions(&theirs)[0], (ImageKind::CUBIN, Compression::Zstd));
    assert_eq!(compressions(&theirs)[1], (ImageKind::LTO_IR, Compression::Unknown(0x1_8000)));
    let image = entries[1].images().next().unwrap();
    assert_eq!((image.arch(), image.compute_capability()), (None, 80));
    assert!(image.options().starts_with(b"-ftz=0 "), "{image:?}");
    let error = entries[1].decompress(LIMIT).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedCompression { method: 0x1_8000 });

    let theirs = corpus("relocatable_ptx.fatbin");
    let entry = NvFatbin::parse(&theirs).unwrap().entries().next().unwrap();
    let payload = entry.decompress(LIMIT).unwrap();
    let (image, text) = payload.images().next().unwrap();
    assert_eq!(
        (image.kind(), image.arch().unwrap().to_string()),
        (ImageKind::RELOCATABLE_PTX, "compute_90".to_owned())
    );
    assert!(
        text.trim_ascii_end().ends_with(b"}") && image.name().windows(10).any(|it| it == b"_kernel_cu"),
        "{image:?}"
    );
}

// ------------------------------------------------------------------------------------------------------ what we write

/// What we write of these images; PTX as given.
fn ours(images: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = NvFatbinBuilder::new(HostOs::Linux);
    for (arch, bytes) in images {
        match bytes.starts_with(b"\x7fELF") {
            true => builder.cubin(sm(arch), bytes).unwrap_or_else(|error| panic!("{arch}: {error}")),
            false => builder.ptx(bytes).unwrap_or_else(|error| panic!("{arch}: {error}")),
        };
    }
    let payloads: Vec<&[u8]> = images.iter().map(|(_, bytes)| *bytes).collect();
    builder.layout().to_vec(&payloads)
}

fn ours_is_what_fatbinary_writes() {
    let folder = scratch::folder("nv-fatbin-same-bytes");
    let images = all_images();
    let theirs = fatbinary(&folder, &["-64", "--compress-mode=none"], &images);
    let ptx = unpacked(&theirs);
    let inputs: Vec<(&str, Vec<u8>)> = images
        .iter()
        .map(|image| {
            let [kind, arch, file] = parts(image);
            (arch, if kind == "ptx" { ptx[&format!("ptx:{arch}")].clone() } else { input(file) })
        })
        .collect();
    let inputs: Vec<(&str, &[u8])> = inputs.iter().map(|(arch, bytes)| (*arch, bytes.as_slice())).collect();
    assert_same_bytes(&ours(&inputs), &theirs, "all images");
    for (image, input) in images.iter().zip(&inputs) {
        let theirs = fatbinary(&folder, &["-64", "--compress-mode=none"], std::slice::from_ref(image));
        assert_same_bytes(&ours(&[*input]), &theirs, image);
    }
    for (arch, ..) in ARCHES {
        let file = format!("{arch}.o.cubin");
        let theirs = fatbinary(&folder, &["-64", "--compress-mode=none", "-c"], &[format!("elf:{arch}:{file}")]);
        assert_same_bytes(&ours(&[(arch, &input(&file))]), &theirs, &file);
    }
    // PTX of every length: what stands behind it.
    for comma in 0..9 {
        let text = format!(".version 8.0\n.target sm_90\n.address_size 64\n.global .b32 a{};\n", "b".repeat(comma));
        scratch::write(INPUTS.join("length.ptx"), &text);
        let theirs = fatbinary(&folder, &["-64", "--compress-mode=none"], &["ptx:90:length.ptx".to_owned()]);
        assert_same_bytes(&ours(&[("90", text.as_bytes())]), &theirs, &text);
    }
}

fn cuobjdump_lists_and_extracts_ours() {
    let folder = scratch::folder("nv-fatbin-cuobjdump");
    let inputs: Vec<(&str, Vec<u8>)> = ARCHES
        .iter()
        .flat_map(|(arch, ..)| [(*arch, input(&format!("{arch}.cubin"))), (*arch, input(&format!("{arch}.ptx")))])
        .collect();
    let inputs: Vec<(&str, &[u8])> = inputs.iter().map(|(arch, bytes)| (*arch, bytes.as_slice())).collect();
    let ours = ours(&inputs);
    let is_ptx = |bytes: &[u8]| !bytes.starts_with(b"\x7fELF");
    let texts: Vec<_> = inputs.iter().filter(|(_, bytes)| is_ptx(bytes)).collect();
    let cubins: Vec<_> = inputs.iter().filter(|(_, bytes)| !is_ptx(bytes)).collect();
    for (option, expected) in [("-xptx", texts), ("-xelf", cubins)] {
        let found = extracted(&folder, &ours, option);
        assert_eq!(found.len(), expected.len());
        for ((arch, bytes), (expected_arch, expected)) in found.iter().zip(expected) {
            // cuobjdump 13.5 writes `sm_100` for cubins of the family.
            assert_eq!(arch.trim_end_matches('f'), expected_arch.trim_end_matches('f'));
            assert_same_bytes(bytes, expected, arch);
        }
    }
    scratch::write(folder.join("ours.fatbin"), &ours);
    let dump = stdout(&succeed(cuda("cuobjdump").current_dir(&folder).arg("ours.fatbin")));
    let arches: Vec<&str> = dump.lines().filter_map(|line| line.strip_prefix("arch = sm_")).collect();
    assert_eq!(arches, inputs.iter().map(|(arch, _)| *arch).collect::<Vec<_>>());
    assert_eq!(dump.matches("host = linux").count(), inputs.len());
    assert_eq!(dump.matches("compile_size = 64bit").count(), inputs.len());
}

fn nvjitlink_chooses_from_ours() {
    let library = JitLink::load();
    // Of cubins that ptxas made without `-c`, nvJitLink takes no code.
    let cubins: Vec<(&str, Vec<u8>)> =
        ["80", "90a", "100f"].into_iter().map(|arch| (arch, input(&format!("{arch}.o.cubin")))).collect();
    let cubins: Vec<(&str, &[u8])> = cubins.iter().map(|(arch, bytes)| (*arch, bytes.as_slice())).collect();
    let without_ptx = ours(&cubins);
    let ptx = input("90.ptx");
    let with_ptx = ours(&[&cubins[..], &[("90", ptx.as_slice())]].concat());
    // The GPU, whether there is a cubin for it, whether there is something for it.
    for (gpu, by_cubin, by_ptx) in [
        ("sm_75", false, false),
        ("sm_80", true, true),
        ("sm_86", true, true),
        ("sm_90", false, true),
        ("sm_90a", true, true),
        ("sm_100", true, true),
        ("sm_103", true, true),
        ("sm_120", false, true),
    ] {
        assert_eq!(library.link(&without_ptx, gpu).is_some(), by_cubin, "{gpu}");
        assert_eq!(library.link(&with_ptx, gpu).is_some(), by_ptx, "{gpu} with PTX");
    }
    // What comes out is the kernel for that GPU.
    for (gpu, number) in [("sm_80", 80), ("sm_90", 90), ("sm_100", 100), ("sm_120", 120)] {
        let linked = library.link(&with_ptx, gpu).unwrap();
        assert_eq!(offload_format::image::CubinHeader::parse(&linked).unwrap().number(), number);
        assert!(linked.windows(3).any(|window| window == b"add"), "{gpu}");
    }
    // The text alone, compiled for each.
    let text = ours(&[("90", &ptx)]);
    assert!(library.link(&text, "sm_100").is_some() && library.link(&text, "sm_80").is_none());
}

fn several_in_a_row() {
    let folder = scratch::folder("nv-fatbin-row");
    let (a, b) = (ours(&[("80", &input("80.cubin"))]), ours(&[("90", &input("90.cubin")), ("80", &input("80.ptx"))]));
    for zeros in [0, 8, 24] {
        let row = [&a[..], &vec![0; zeros], &b, &vec![0; zeros]].concat();
        let found: Vec<(u64, usize)> = NvFatbins::new(&row)
            .map(|fatbin| fatbin.map(|(at, fatbin)| (at, fatbin.entries().count())).unwrap())
            .collect();
        assert_eq!(found, [(0, 1), ((a.len() + zeros) as u64, 2)]);
        // cuobjdump 13.5 takes zeros between them, and no zeros at the end of a file.
        scratch::write(folder.join("row.fatbin"), &row[..row.len() - zeros]);
        let list = succeed(cuda("cuobjdump").current_dir(&folder).args(["-lelf", "-lptx", "row.fatbin"]));
        assert_eq!(stdout(&list).lines().count(), 3, "{zeros}");
    }
    let found: Vec<_> = NvFatbins::new(&[&a[..], b"behind"].concat()).map(|it| it.map(|(at, _)| at)).collect();
    assert_eq!((found.len(), found[0]), (2, Ok(0)));
    let error = found[1].unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::BadMagic, a.len() as u64));
    assert_eq!(NvFatbins::new(b"").count() + NvFatbins::new(&[0; 99]).count(), 0);
}

fn what_is_no_cubin_or_ptx_is_refused() {
    let cubin = prebuilt("saxpy.sm_90.cubin");
    let refused = |arch, cubin: &[u8]| NvFatbinBuilder::new(HostOs::Linux).cubin(sm(arch), cubin).err();
    assert_eq!(refused("90", &cubin), None);
    assert_eq!(refused("90a", &cubin), None);
    assert!(refused("80", &cubin).is_some());
    assert!(refused("90", b"text").is_some() && refused("90", &prebuilt("saxpy.gfx90a.hsaco")).is_some());
    // Bit 1 of its flags makes `.nv.compat` count; then the section table is read.
    let mut portable = cubin.clone();
    portable[48] |= 2;
    assert_eq!(refused("90", &portable), None);
    let table = u64::from_le_bytes(portable[40..48].try_into().unwrap()) as usize;
    for (at, size) in [(40, 8), (58, 2), (60, 2), (62, 2), (table, 4), (table + 24, 8), (table + 32, 8)] {
        for byte in [0, 1, 0xff] {
            let mut damaged = portable.clone();
            damaged[at..at + size].fill(byte);
            let _ = refused("90", &damaged);
        }
    }
    for cut in 0..portable.len() {
        let error = refused("90", &portable[..cut]);
        assert!(error.is_some() || cut > table, "{cut}");
    }
    let ptx = |text: &[u8]| NvFatbinBuilder::new(HostOs::Linux).ptx(text).err();
    assert_eq!(ptx(b".version 8.0\n.target sm_90\n"), None);
    assert!(ptx(b".version 65536.0\n.target sm_90\n").is_some() && ptx(b"").is_some());
}

// ------------------------------------------------------------------------------------------------------- hostile bytes

/// Reads all that can be read; what is read of a fatbin that parses lies inside it.
fn read_all(bytes: &[u8]) -> Result<(), Error> {
    let fatbin = NvFatbin::parse(bytes)?;
    for entry in fatbin.entries() {
        let _ = format!("{entry:?}");
        if let Ok(payload) = entry.decompress(1 << 20) {
            assert_eq!(payload.images().count(), entry.images().count());
            assert_eq!(payload.bytes().len() as u64, entry.size());
        }
    }
    Ok(())
}

fn samples() -> Vec<Vec<u8>> {
    let plain = ours(&[("90", &prebuilt("saxpy.sm_90.cubin")), ("80", &prebuilt("saxpy.compute_80.ptx"))]);
    vec![
        plain,
        corpus("lz4_12.4.fatbin"),
        corpus("lto.fatbin"),
        corpus("relocatable_ptx.fatbin"),
        corpus("group.fatbin"),
    ]
}

fn every_truncation() {
    for sample in samples() {
        assert_eq!(read_all(&sample), Ok(()));
        for cut in 0..sample.len() {
            let error = read_all(&sample[..cut]).unwrap_err();
            assert!(error.offset() <= cut as u64, "{cut}: {error}");
        }
    }
}

/// The fields of the container, of the first entry, of its options, and of the table of a group.
const FIELDS: [(usize, usize); 25] = [
    (0, 4),
    (4, 2),
    (6, 2),
    (8, 8),
    (16, 2),
    (18, 2),
    (20, 4),
    (24, 8),
    (32, 4),
    (36, 4),
    (40, 2),
    (42, 2),
    (44, 4),
    (48, 4),
    (52, 4),
    (56, 8),
    (64, 8),
    (72, 8),
    (80, 4),
    (84, 4),
    (88, 2),
    (92, 4),
    (96, 8),
    (108, 4),
    (120, 8),
];

fn every_field_at_its_extremes() {
    for sample in samples() {
        for (at, size) in FIELDS {
            let mut values: Vec<u64> =
                vec![0, 1, 2, 7, 8, 63, 64, u64::MAX, u64::MAX - 7, 1 << 63, 1 << 31, 0xffff_fff8];
            let mut old = [0; 8];
            old[..size].copy_from_slice(&sample[at..at + size]);
            let old = u64::from_le_bytes(old);
            values.extend([old.wrapping_sub(1), old + 1, old + 8, old.wrapping_sub(8), old | 0xf000, old ^ 0x100]);
            for value in values {
                let mut changed = sample.clone();
                changed[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
                let _ = read_all(&changed);
                NvFatbins::new(&changed).for_each(drop);
            }
        }
    }
    let kind_with = |at: usize, bytes: &[u8]| {
        let mut changed = samples()[0].clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        NvFatbin::parse(&changed).map(drop).map_err(|error| error.kind())
    };
    assert_eq!(kind_with(0, b"x"), Err(ErrorKind::BadMagic));
    assert_eq!(kind_with(4, &[2]), Err(ErrorKind::UnsupportedVersion { version: 2 }));
    assert_eq!(kind_with(6, &[15]), Err(ErrorKind::Malformed));
    assert_eq!(kind_with(20, &[63]), Err(ErrorKind::Malformed));
    assert!(matches!(kind_with(8, &[0xff; 8]), Err(ErrorKind::OutOfBounds { .. })));
    assert!(matches!(kind_with(24, &[0xff; 8]), Err(ErrorKind::OutOfBounds { .. })));
    assert!(matches!(kind_with(48, &[200]), Err(ErrorKind::OutOfBounds { .. })));
}

fn groups_with_damaged_tables() {
    let folder = scratch::folder("nv-fatbin-groups");
    let images = all_images();
    let theirs = fatbinary(&folder, &["-64", "--concat", "--compress-all", "-ident", "name"], &images);
    assert_eq!(read_all(&theirs), Ok(()));
    let headers = 16..700.min(theirs.len());
    for at in headers {
        for value in [0, 1, 0x7f, 0xff] {
            let mut changed = theirs.clone();
            changed[at] = value;
            let _ = read_all(&changed);
        }
    }
    // Many images of the same bytes: the table of the first group says how many there are, and has a header for each.
    let field = |at: usize| u32::from_le_bytes(theirs[at..at + 4].try_into().unwrap()) as usize;
    let (table, payload) = (16 + field(16 + 20), field(16 + 56));
    assert!(theirs[16..18] == [0, 1] && field(table) > 1, "a group of several images");
    let mut changed = theirs.clone();
    changed[table + 8 + 4..][..4].fill(0);
    changed[table + 8 + 8..][..8].copy_from_slice(&(payload as u64).to_le_bytes());
    let error = NvFatbin::parse(&changed).unwrap_err().to_string();
    assert!(error.contains("together larger than the payload"), "{error}");
}

fn every_byte_changed() {
    for sample in samples() {
        for at in 0..sample.len() {
            for change in [1, 0x80, 0xff] {
                let mut changed = sample.clone();
                changed[at] ^= change;
                let _ = read_all(&changed);
            }
        }
    }
}

/// An entry with this payload, as if it had `size` bytes once decompressed.
fn compressed_entry(flag: u64, payload: &[u8], size: u64) -> Vec<u8> {
    let padded = payload.len().next_multiple_of(8);
    let mut file = ours(&[]);
    file[8..16].copy_from_slice(&(64 + padded as u64).to_le_bytes());
    let mut header = [0; 64];
    header[0] = 2;
    header[4] = 64;
    header[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
    header[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[40..48].copy_from_slice(&flag.to_le_bytes());
    header[56..64].copy_from_slice(&size.to_le_bytes());
    file.extend(header);
    file.extend(payload);
    file.resize(16 + 64 + padded, 0);
    file
}

fn no_more_than_the_limit_is_decompressed() {
    // A literal and a match of it that is 255 bytes longer with every byte: a million bytes ask for 255 million.
    let bomb = [&b"\x1fa\x01\0"[..], &vec![0xff; 1_000_000], b"\0\0"].concat();
    let out = 1 + 4 + 15 + 255 * 1_000_000;
    let frame = [b"\x04\x22\x4d\x18\x60\x70\0", &(bomb.len() as u32).to_le_bytes()[..], &bomb, &[0; 4]].concat();
    let kind = |file: &[u8], limit| {
        let entry = NvFatbin::parse(file).unwrap().entries().next().unwrap();
        entry.decompress(limit).map(|payload| payload.bytes().len() as u64).map_err(|error| error.kind())
    };
    for (flag, payload) in [(0x2000, &bomb), (0x4000, &frame)] {
        assert_eq!(kind(&compressed_entry(flag, payload, out), out), Ok(out));
        let need = ErrorKind::LimitExceeded { need: out, limit: 1 << 20 };
        assert_eq!(kind(&compressed_entry(flag, payload, out), 1 << 20), Err(need));
        for size in [0, 1, 1 << 20, out - 1, out + 1] {
            let found = kind(&compressed_entry(flag, payload, size), 1 << 30);
            assert!(matches!(found, Err(ErrorKind::Compression { .. })), "{size}: {found:?}");
        }
    }
    for flag in [0x1000, 0x2000, 0x4000, 0x8000] {
        let found = kind(&compressed_entry(flag, b"", u64::MAX), 1 << 20);
        assert_eq!(found, Err(ErrorKind::LimitExceeded { need: u64::MAX, limit: 1 << 20 }));
        assert!(matches!(kind(&compressed_entry(flag, b"what", 100), 1 << 20), Err(ErrorKind::Compression { .. })));
    }
    let found = kind(&compressed_entry(0x3000, b"what", 100), 1 << 20);
    assert_eq!(found, Err(ErrorKind::UnsupportedCompression { method: 0x3000 }));
    // What is not compressed is not allocated.
    assert_eq!(kind(&compressed_entry(0, &[7; 80], 0), 0), Ok(80));
}

// ------------------------------------------------------------------------------------------------------- NVIDIA's libraries

type Handle = *mut c_void;

/// nvFatbin; names as in its header.
struct NvFatbinLibrary(Library);

impl NvFatbinLibrary {
    fn load() -> Self {
        let path = cuda_library("libnvfatbin.so.13").expect("Tool::NvFatbin was checked");
        // SAFETY: loading the library runs no code of ours; the functions are called with the types of its header.
        Self(unsafe { Library::new(path) }.unwrap())
    }

    /// A fatbin of images as [`fatbinary`] takes them; each is called like its file.
    fn fatbin(&self, options: &[&str], images: &[String]) -> Vec<u8> {
        let options: Vec<CString> = options.iter().map(|option| CString::new(*option).unwrap()).collect();
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut handle: Handle = ptr::null_mut();
        // SAFETY: the types are those of nvFatbin.h; every pointer is to memory that lives as long as the call, and that is as
        // large as the call is told. PTX is given with its NUL.
        unsafe {
            type Create = unsafe extern "C" fn(*mut Handle, *const *const c_char, usize) -> c_int;
            let create = self.0.get::<Create>(b"nvFatbinCreate").unwrap();
            assert_eq!(create(&mut handle, options.as_ptr(), options.len()), 0);
            for image in images {
                let [kind, arch, file] = parts(image);
                let mut bytes = input(file);
                let (arch, name) = (CString::new(arch).unwrap(), CString::new(file).unwrap());
                let result = if kind == "ptx" {
                    bytes.push(0);
                    type Add = unsafe extern "C" fn(
                        Handle,
                        *const c_void,
                        usize,
                        *const c_char,
                        *const c_char,
                        *const c_char,
                    ) -> c_int;
                    let add = self.0.get::<Add>(b"nvFatbinAddPTX").unwrap();
                    add(handle, bytes.as_ptr().cast(), bytes.len(), arch.as_ptr(), name.as_ptr(), c"".as_ptr())
                } else {
                    type Add =
                        unsafe extern "C" fn(Handle, *const c_void, usize, *const c_char, *const c_char) -> c_int;
                    let add = self.0.get::<Add>(b"nvFatbinAddCubin").unwrap();
                    add(handle, bytes.as_ptr().cast(), bytes.len(), arch.as_ptr(), name.as_ptr())
                };
                assert_eq!(result, 0, "{image}");
            }
            let mut size = 0;
            let size_of = self.0.get::<unsafe extern "C" fn(Handle, *mut usize) -> c_int>(b"nvFatbinSize").unwrap();
            assert_eq!(size_of(handle, &mut size), 0);
            let mut fatbin = vec![0; size];
            let get = self.0.get::<unsafe extern "C" fn(Handle, *mut c_void) -> c_int>(b"nvFatbinGet").unwrap();
            assert_eq!(get(handle, fatbin.as_mut_ptr().cast()), 0);
            let destroy = self.0.get::<unsafe extern "C" fn(*mut Handle) -> c_int>(b"nvFatbinDestroy").unwrap();
            destroy(&mut handle);
            fatbin
        }
    }
}
