//! Tests of NVIDIA's fatbins. We read the output of `fatbinary` and nvFatbin, and `cuobjdump` and
//! nvJitLink read ours. nvJitLink selects an image as the driver does, then compiles and links it,
//! and needs no GPU for this.

mod hostile;
mod written_by_fatbinary;
mod written_by_nvfatbin;
mod written_by_us;

use offload_format::nv_fatbin::{
    Compression, FatbinImageKind, HostOs, Image, NvFatbin, NvFatbinBuilder,
};
use offload_format::target::{NvidiaArch, NvidiaCode};
use offload_tests::prelude::*;

const CUDA: Needs = needs(&[Tool::Llvm22, Tool::Cuda]);
const JIT_LINK: Needs = needs(&[Tool::Llvm22, Tool::Cuda, Tool::NvJitLink]);
const NV_FATBIN: Needs = needs(&[Tool::Llvm22, Tool::Cuda, Tool::NvFatbin]);

const LIMIT: u64 = 1 << 24;

/// Each architecture's names for `fatbinary` and for clang, and clang's option for the PTX version.
const ARCHES: [(&str, &str, &str); 7] = [
    ("80", "sm_80", "+ptx70"),
    ("90", "sm_90", "+ptx80"),
    ("90a", "sm_90a", "+ptx80"),
    ("100", "sm_100", "+ptx86"),
    ("100a", "sm_100a", "+ptx86"),
    ("100f", "sm_100a", "+ptx88"),
    ("120", "sm_120", "+ptx87"),
];

/// A folder with each architecture's inputs: `<arch>.ptx`, `<arch>.cubin` from ptxas, and
/// `<arch>.o.cubin` from ptxas with `-c`.
static INPUTS: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = scratch::folder("nv-fatbin-inputs");
    let source = "void __attribute__((device_kernel)) add(int *to, int value) { *to += value; }";
    scratch::write(folder.join("add.c"), source);
    for (arch, clang_arch, feature) in ARCHES {
        let options = "--target=nvptx64-nvidia-cuda -O2 -ffreestanding -nogpulib -S add.c -o -";
        let feature = format!("-Xclang -target-feature -Xclang {feature}");
        let options = format!("{options} -march={clang_arch} {feature}");
        // clang 22 does not support family-specific targets, so change the target in the text.
        let text = run(llvm("clang"), &folder, &options)
            .replace(&format!(".target {clang_arch}"), &format!(".target sm_{arch}"));
        scratch::write(folder.join(format!("{arch}.ptx")), &text);
        for (flag, name) in [("-v", "cubin"), ("-c", "o.cubin")] {
            let options = format!("{flag} -arch sm_{arch} -o {arch}.{name} {arch}.ptx");
            run(cuda("ptxas"), &folder, &options);
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

/// Runs `fatbinary` on images `kind:arch:file`, whose files are in [`INPUTS`].
fn fatbinary(folder: &Path, options: &[&str], images: &[String]) -> Vec<u8> {
    let mut tool = cuda("fatbinary");
    tool.current_dir(&*INPUTS)
        .arg(format!("--create={}", folder.join("theirs.fatbin").display()))
        .args(options);
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

fn uncompressed(folder: &Path, images: &[String]) -> Vec<u8> {
    fatbinary(folder, &["-64", "--compress-mode=none"], images)
}

/// Returns all cubins and PTX as arguments for [`fatbinary`].
fn all_images() -> Vec<String> {
    let both = |arch: &str| [format!("elf:{arch}:{arch}.cubin"), format!("ptx:{arch}:{arch}.ptx")];
    ARCHES.iter().flat_map(|(arch, ..)| both(arch)).collect()
}

fn images(fatbin: &[u8]) -> Vec<Image<'_>> {
    NvFatbin::parse(fatbin).unwrap().entries().flat_map(|entry| entry.images()).collect()
}

/// Images with their bytes, by `kind:arch`.
type Unpacked = BTreeMap<String, Vec<u8>>;

fn unpacked(fatbin: &[u8]) -> Unpacked {
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
    let kind = if image.kind.is_ptx() { "ptx" } else { "elf" };
    let arch = image.arch().map(|arch| arch.with_code(NvidiaCode::Cubin).to_string());
    format!("{kind}:{}", arch.as_deref().unwrap_or("sm_?").trim_start_matches("sm_"))
}

/// Compares a fatbin's images with the inputs. Zeros may follow a cubin. PTX must equal `ptx`,
/// because `fatbinary` removes comments.
fn assert_are_inputs(fatbin: &[u8], images: &[String], ptx: &Unpacked, what: &str) {
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
        assert!(zeros.len() < 8, "{what}, {key}: {zeros:?}");
        assert!(zeros.iter().all(|&byte| byte == 0), "{what}, {key}: {zeros:?}");
    }
}

/// Returns the text of each PTX image that `cuobjdump` extracts from a fatbin, under the same keys
/// as [`unpacked`]. cuobjdump's file names look like `x.1.sm_90a.ptx`.
fn extracted_ptx(folder: &Path, fatbin: &[u8]) -> Unpacked {
    let folder = folder.join("ptx");
    let _ = fs::remove_dir_all(&folder);
    scratch::write(folder.join("x.fatbin"), fatbin);
    run(cuda("cuobjdump"), &folder, "-xptx all x.fatbin");
    let files = scratch::contents(&folder).into_iter().filter_map(|(name, bytes)| {
        let arch = name.to_str()?.strip_suffix(".ptx")?.rsplit_once("sm_")?.1;
        Some((format!("ptx:{arch}"), bytes))
    });
    files.collect()
}

fn compressions(fatbin: &[u8]) -> Vec<(FatbinImageKind, Compression)> {
    let entries = NvFatbin::parse(fatbin).unwrap().entries();
    entries.map(|entry| (entry.kind, entry.compression)).collect()
}

fn prebuilt(name: &str) -> Vec<u8> {
    read(scratch::workspace().join("examples/saxpy/prebuilt").join(name))
}

/// Returns our fatbin of these images, with unchanged PTX.
fn ours(images: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = NvFatbinBuilder::new(HostOs::Linux);
    for (arch, bytes) in images {
        let is_cubin = bytes.starts_with(b"\x7fELF");
        let added = if is_cubin { builder.cubin(sm(arch), bytes) } else { builder.ptx(bytes) };
        added.unwrap_or_else(|error| panic!("{arch}: {error}"));
    }
    builder.layout().to_vec(&images.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>())
}
