//! Our bundles and offload binaries beside those of LLVM 22's tools: the same bytes, and each side reads the other's.
//!
//! Facts that the cases come from: docs/formats.md. Small files that LLVM wrote: tests/corpus.

use offload_format::ErrorKind;
use offload_format::bundle::{Bundle, BundleBuilder, HIP_ALIGN, HIP_ENTRY_PREFIX};
use offload_format::offload_binary::{
    self, ImageKind, OffloadBinaries, OffloadBinary, OffloadBinaryBuilder, OffloadKind, Version,
};
use offload_format::target::amdgpu::{PROCESSORS, Processor};
use offload_tests::data::{Random, assert_same_bytes, corpus, read, some_bytes};
use offload_tests::registry::{LLVM, NOTHING};
use offload_tests::scratch;
use offload_tests::tools::{llvm, stdout, succeed};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

offload_tests::tests! {
    LLVM => [
        bundles_in_the_layout_of_hip,
        bundles_of_many_alignments_and_orders,
        an_alignment_of_0,
        bundles_with_old_spellings_of_triples,
        a_bundle_with_every_processor,
        random_bundles,
        offload_binaries_of_all_kinds_and_sizes,
        offload_binaries_of_packs,
        offload_binaries_with_odd_strings,
        offload_binaries_with_many_keys,
        random_offload_binaries,
        bundles_of_llvm_are_read,
        offload_binaries_of_llvm_are_read,
        malformed_bundles,
        zeros_between_and_behind_offload_binaries,
    ],
    NOTHING => [
        malformed_offload_binaries,
        ids_without_an_environment,
        every_truncation_of_a_bundle,
        every_truncation_of_an_offload_binary,
    ],
}

// ---------------------------------------------------------------------------------------------------------- bundles

/// Entries as `-targets` takes them, with their code objects.
type BundleEntries = Vec<(String, Vec<u8>)>;

const HOST: &str = "host-x86_64-unknown-linux-gnu";

fn entries(list: &[(&str, usize)]) -> BundleEntries {
    list.iter().enumerate().map(|(number, (id, size))| ((*id).to_owned(), some_bytes(number, *size))).collect()
}

/// Writes one bundle with `clang-offload-bundler` and one with [`BundleBuilder`]: they are equal, and the tool lists and
/// unbundles ours.
fn compare_bundles(folder: &Path, file_type: &str, align: u64, entries: &BundleEntries) {
    let mut builder = BundleBuilder::new();
    builder.align(align);
    for (id, code_object) in entries {
        builder.entry(id, code_object.len() as u64).unwrap_or_else(|error| panic!("{id}: {error}"));
    }
    let payloads: Vec<&[u8]> = entries.iter().map(|(_, code_object)| code_object.as_slice()).collect();
    let ours = builder.layout().to_vec(&payloads);

    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(folder).args([format!("-type={file_type}"), format!("-bundle-align={align}")]);
    tool.arg(format!("-targets={}", joined(entries.iter().map(|(id, _)| id.as_str())))).arg("-output=theirs");
    for (number, code_object) in payloads.iter().enumerate() {
        scratch::write(folder.join(format!("in{number}")), code_object);
        tool.arg(format!("-input=in{number}"));
    }
    succeed(&mut tool);
    let what = format!("align {align}, {:?}", entries.iter().map(|(id, bytes)| (id, bytes.len())).collect::<Vec<_>>());
    assert_same_bytes(&ours, &read(folder.join("theirs")), &what);

    scratch::write(folder.join("ours"), &ours);
    assert_eq!(listed_ids(&folder.join("ours")), ids(&ours), "{what}");
    assert_eq!(unbundled(folder, "ours", &ids(&ours)), payloads_by_id(&ours), "{what}");
}

/// The IDs in a bundle, as we read them. LLVM's order is that of a hash table: sets are compared.
fn ids(bundle: &[u8]) -> BTreeSet<String> {
    Bundle::parse(bundle).unwrap().entries().map(|entry| entry.id_str().to_owned()).collect()
}

/// What `-list` prints.
fn listed_ids(bundle: &Path) -> BTreeSet<String> {
    let mut tool = llvm("clang-offload-bundler");
    let listing = succeed(tool.args(["-type=bc", "-list"]).arg(format!("-input={}", bundle.display())));
    stdout(&listing).lines().map(str::to_owned).collect()
}

/// The code objects that `-unbundle` finds for these IDs, in their order.
fn unbundled(folder: &Path, bundle: &str, ids: &BTreeSet<String>) -> Vec<Vec<u8>> {
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(folder).args(["-type=bc", "-unbundle"]).arg(format!("-input={bundle}"));
    tool.arg(format!("-targets={}", joined(ids.iter().map(String::as_str))));
    let outputs: Vec<PathBuf> = (0..ids.len()).map(|number| folder.join(format!("out{number}"))).collect();
    tool.args(outputs.iter().map(|output| format!("-output={}", output.display())));
    succeed(&mut tool);
    outputs.into_iter().map(read).collect()
}

/// The code objects in a bundle, in the order of their IDs, as we read them.
fn payloads_by_id(bundle: &[u8]) -> Vec<Vec<u8>> {
    let mut entries: Vec<_> = Bundle::parse(bundle).unwrap().entries().collect();
    entries.sort_by_key(|entry| entry.id_str());
    entries.iter().map(|entry| entry.code_object().to_vec()).collect()
}

fn bundles_in_the_layout_of_hip() {
    let folder = scratch::folder("versus-llvm-bundle-hip");
    let targets = ["gfx906:sramecc+:xnack-", "gfx906:sramecc-:xnack+", "gfx90a", "gfx1100", "gfx9-4-generic:xnack-"];
    let code_objects: Vec<Vec<u8>> =
        (0..targets.len()).map(|number| some_bytes(number, 1000 + 3100 * number)).collect();

    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(&folder).args(["-type=o", "-bundle-align=4096", "-input=/dev/null", "-output=theirs"]);
    let mut builder = BundleBuilder::hip();
    let mut ids = vec![HOST.to_owned()];
    let mut payloads: Vec<&[u8]> = vec![b""];
    for (number, (target, code_object)) in targets.iter().zip(&code_objects).enumerate() {
        let id = format!("{HIP_ENTRY_PREFIX}{target}");
        builder.entry(&id, code_object.len() as u64).unwrap();
        payloads.push(code_object);
        ids.push(id);
        scratch::write(folder.join(format!("in{number}")), code_object);
        tool.arg(format!("-input=in{number}"));
    }
    succeed(tool.arg(format!("-targets={}", joined(ids.iter().map(String::as_str)))));
    let ours = builder.layout().to_vec(&payloads);
    assert_same_bytes(&ours, &read(folder.join("theirs")), "HIP's layout");
    let offsets: Vec<u64> = Bundle::parse(&ours).unwrap().entries().map(|entry| entry.offset()).collect();
    assert!(offsets.iter().all(|offset| offset % HIP_ALIGN == 0), "{offsets:?}");
}

fn bundles_of_many_alignments_and_orders() {
    let folder = scratch::folder("versus-llvm-bundle-alignments");
    let (a, b) = ("hip-amdgcn-amd-amdhsa--gfx906:xnack+", "hip-amdgcn-amd-amdhsa--gfx908");
    let cases: [&[(&str, usize)]; 9] = [
        &[(HOST, 8), (a, 9), (b, 6)],
        &[(HOST, 0), (a, 9), (b, 6)],
        &[(a, 9), (HOST, 8)],
        &[(a, 9), (b, 6)],
        &[(a, 1)],
        &[(a, 0)],
        &[(HOST, 0), (a, 0), (b, 0)],
        &[(HOST, 8), (a, 0), (b, 300)],
        &[(a, 5000), (b, 0)],
    ];
    for case in cases {
        for align in [1, 2, 3, 7, 8, 16, 100, 256, 4096] {
            compare_bundles(&folder, "bc", align, &entries(case));
        }
    }
}

/// LLVM divides by it; for us it is no alignment (`bundle::write::tests`).
fn an_alignment_of_0() {
    let folder = scratch::folder("versus-llvm-bundle-align-0");
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(&folder).args(["-type=bc", "-bundle-align=0", "-input=/dev/null", "-output=theirs"]);
    let output = tool.arg(format!("-targets={HOST}")).output().unwrap();
    assert!(output.status.code().is_none_or(|code| code > 128), "{output:?}");
}

/// Spellings that LLVM 22 brings into another form; it loses none of these names.
fn bundles_with_old_spellings_of_triples() {
    let folder = scratch::folder("versus-llvm-bundle-spellings");
    let hosts = [
        "host-x86_64-unknown-linux-gnu-",
        "host-x86_64--linux-gnu",
        "host-x86_64-unknown-linux-",
        "host-x86_64---",
        "host-x86_64-suse-linux-gnu",
        "host-x86_64-pc-linux-gnu-gfx906",
        "host-arm64-apple-darwin-",
        "host-arm64-apple-macosx14.0.0-",
        "host-armv7-unknown-linux-gnueabihf",
        "host-aarch64-unknown-linux-android21",
        "host-riscv64-unknown-linux-musl",
        "host-x86_64-unknown-freebsd14.1-",
        "host-x86_64-pc-windows-msvc19.33",
        "host-x86_64-pc-windows-",
        "host-x86_64-pc-win32-",
        "host-x86_64-pc-win32-msvc",
        "host-i686-pc-win32-gnu",
        "host-x86_64-w64-mingw32-",
        "host-x86_64-w64-windows-gnu",
        "host-x86_64-pc-cygwin-",
    ];
    let devices = [
        "hip-amdgcn-amd-amdhsa--gfx906",
        "hip-amdgcn-amd-amdhsa-unknown-gfx906",
        "hip-amdgcn-amd-amdhsa-llvm-gfx906",
        "hip-amdgcn--amdhsa--gfx906",
        "hip-amdgcn-amd-amdhsa1.2--gfx906",
        "hip-amdgcn-amd-amdhsa-",
        "hip-amdgcn-amd-amdhsa--",
        "hip-amdgcn---",
        "hip-amdgcn-amd-amdpal--gfx906",
        "hipv4-amdgcn-mesa-mesa3d--gfx906",
        "hipv4-amdgcn-unknown-amdhsa--gfx90a:xnack+",
        "hipv4-amdgcn-amd-amdhsa--gfx9-4-generic:sramecc+:xnack-",
        "hip-spirv64-amd-amdhsa-unknown-amdgcnspirv",
        "openmp-nvptx64-nvidia-cuda--sm_70",
        "openmp-nvptx64-nvidia-cuda--sm_90a",
        "openmp-x86_64-pc-linux-gnu-",
        "openmp-spirv64-intel-unknown--bmg_g21",
    ];
    for host in hosts {
        compare_bundles(&folder, "bc", 1, &entries(&[(host, 5), (devices[0], 6)]));
    }
    for device in devices {
        compare_bundles(&folder, "bc", 1, &entries(&[(HOST, 5), (device, 6)]));
    }
}

/// The processors whose names LLVM 22's bundler keeps.
fn processors_of_llvm_22() -> impl Iterator<Item = &'static Processor> {
    PROCESSORS.iter().filter(|row| !matches!(row.name, "gfx940" | "gfx941"))
}

/// Every target ID of a processor that names exactly these features.
fn target_ids(row: &Processor, features: &[&str]) -> Vec<String> {
    let mut ids = vec![row.name.to_owned()];
    for feature in features {
        ids = ids.iter().flat_map(|id| [format!("{id}:{feature}+"), format!("{id}:{feature}-")]).collect();
    }
    ids
}

fn a_bundle_with_every_processor() {
    let folder = scratch::folder("versus-llvm-bundle-many");
    let mut many = vec![(HOST.to_owned(), vec![])];
    for row in processors_of_llvm_22() {
        for id in target_ids(row, row.features) {
            many.push((format!("{HIP_ENTRY_PREFIX}{id}"), some_bytes(many.len(), many.len() % 13)));
        }
    }
    assert!(many.len() > 60, "{} entries", many.len());
    for count in [60, many.len()] {
        compare_bundles(&folder, "bc", 1, &many[..count].to_vec());
        compare_bundles(&folder, "bc", 64, &many[..count].to_vec());
    }
}

fn random_bundles() {
    let folder = scratch::folder("versus-llvm-bundle-random");
    let mut random = Random::new(1);
    for _ in 0..60 {
        let mut all = Vec::new();
        for row in processors_of_llvm_22() {
            // All entries for a processor name the same features, or the tool refuses the bundle.
            let features: Vec<&str> = row.features.iter().copied().filter(|_| random.below(2) == 0).collect();
            for id in target_ids(row, &features) {
                if random.below(8) == 0 {
                    let prefix = ["hip-amdgcn-amd-amdhsa--", HIP_ENTRY_PREFIX][row.name.len() % 2];
                    all.push((format!("{prefix}{id}"), some_bytes(random.below(99), random.below(300))));
                }
            }
        }
        random.shuffle(&mut all);
        all.insert(random.below(all.len() + 1), (HOST.to_owned(), some_bytes(99, random.below(2) * 50)));
        compare_bundles(&folder, "bc", 1 + random.below(40) as u64, &all);
    }
}

// -------------------------------------------------------------------------------------------------- offload binaries

/// One `--image` of `llvm-offload-binary`, with `kind` behind `file` and the strings behind both.
#[derive(Debug, Clone)]
struct Image {
    extension: &'static str,
    kind: &'static str,
    strings: Vec<(String, String)>,
    bytes: Vec<u8>,
}

/// Extensions of image files; the last one means nothing to the tool.
const EXTENSIONS: [&str; 7] = ["o", "bc", "cubin", "fatbin", "s", "", "hsaco"];

const KINDS: [(&str, OffloadKind); 5] = [
    ("openmp", OffloadKind::OPENMP),
    ("cuda", OffloadKind::CUDA),
    ("hip", OffloadKind::HIP),
    ("sycl", OffloadKind::SYCL),
    ("none", OffloadKind::NONE),
];

impl Image {
    fn new(strings: &[(&str, &str)], size: usize) -> Self {
        let strings = strings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Self { extension: "o", kind: "hip", strings, bytes: some_bytes(size, size) }
    }

    /// The offload binary that we write.
    fn ours(&self) -> Vec<u8> {
        let (_, kind) = KINDS.iter().find(|(name, _)| *name == self.kind).expect("a kind of the table");
        let mut builder = OffloadBinaryBuilder::new();
        let image = builder.image(ImageKind::from_extension(self.extension), *kind, self.bytes.len() as u64);
        for (key, value) in &self.strings {
            image.string(key, value);
        }
        builder.layout(Version::V1).to_vec(&[&self.bytes])
    }

    /// The option that makes the tool write the same, or look for it.
    fn option(&self, file: &str) -> String {
        let strings: String = self.strings.iter().map(|(key, value)| format!(",{key}={value}")).collect();
        format!("--image=file={file},kind={}{strings}", self.kind)
    }
}

/// Writes the offload binaries of these images one after another, with `llvm-offload-binary` and with
/// [`OffloadBinaryBuilder`]: they are equal, and `llvm-objdump` lists in ours what we read in it.
fn compare_binaries(folder: &Path, images: &[Image]) {
    for batch in images.chunks(24) {
        let mut tool = llvm("llvm-offload-binary");
        tool.current_dir(folder).args(["-o", "theirs"]);
        for (number, image) in batch.iter().enumerate() {
            let file = match image.extension {
                "" => format!("image{number}"),
                extension => format!("image{number}.{extension}"),
            };
            scratch::write(folder.join(&file), &image.bytes);
            tool.arg(image.option(&file));
        }
        succeed(&mut tool);
        let theirs = read(folder.join("theirs"));
        let mut at = 0;
        for image in batch {
            let ours = image.ours();
            assert_same_bytes(&ours, &theirs[at..theirs.len().min(at + ours.len())], &format!("{image:?}"));
            at += ours.len();
        }
        assert_eq!(at, theirs.len(), "the tool wrote more");

        let ours: Vec<u8> = batch.iter().flat_map(Image::ours).collect();
        scratch::write(folder.join("ours"), &ours);
        assert_eq!(objdump(&folder.join("ours")), our_listing(&ours));
    }
}

/// What `llvm-objdump --offloading` prints of a file.
fn objdump(file: &Path) -> String {
    stdout(&succeed(llvm("llvm-objdump").arg("--offloading").arg(file)))
}

/// The images of all offload binaries in a file.
fn images(bytes: &[u8]) -> Vec<offload_binary::Image<'_>> {
    OffloadBinaries::new(bytes).flat_map(|found| found.unwrap().1.images()).collect()
}

/// What `llvm-objdump --offloading` has to print of offload binaries, by what we read in them.
fn our_listing(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (number, image) in images(bytes).into_iter().enumerate() {
        let kind = match image.image_kind() {
            ImageKind::OBJECT => "elf",
            ImageKind::BITCODE => "llvm ir",
            ImageKind::CUBIN => "cubin",
            ImageKind::FATBINARY => "fatbinary",
            ImageKind::PTX => "ptx",
            _ => "<none>",
        };
        let producer = KINDS.iter().find(|(_, kind)| *kind == image.offload_kind()).map_or("none", |(name, _)| name);
        let (arch, triple) = (image.arch().unwrap_or(""), image.triple().unwrap_or(""));
        text += &format!(
            "\nOFFLOADING IMAGE [{number}]:\nkind            {kind}\narch            {arch}\n\
             triple          {triple}\nproducer        {producer}\n"
        );
    }
    text
}

/// `llvm-offload-binary` takes the images out of our file.
fn extract(folder: &Path, images: &[Image]) {
    let all: Vec<u8> = images.iter().flat_map(Image::ours).collect();
    scratch::write(folder.join("all"), all);
    let mut tool = llvm("llvm-offload-binary");
    tool.current_dir(folder).arg("all");
    for (number, image) in images.iter().enumerate() {
        tool.arg(image.option(&format!("out{number}")));
    }
    let output = succeed(&mut tool);
    assert!(output.stderr.is_empty(), "{output:?}");
    for (number, image) in images.iter().enumerate() {
        assert_same_bytes(&read(folder.join(format!("out{number}"))), &image.bytes, &format!("{image:?}"));
    }
}

fn offload_binaries_of_all_kinds_and_sizes() {
    let folder = scratch::folder("versus-llvm-binary-kinds");
    let mut images = Vec::new();
    for extension in EXTENSIONS {
        for (kind, _) in KINDS {
            for size in 0..=17 {
                // The size as a string tells the images apart when they are taken out again.
                let strings = [("triple", "amdgcn-amd-amdhsa"), ("arch", &*format!("{extension}{size}"))];
                images.push(Image { extension, kind, ..Image::new(&strings, size) });
            }
        }
    }
    compare_binaries(&folder, &images);
    extract(&folder, &images);
}

/// What offload-build gives its images.
fn offload_binaries_of_packs() {
    let folder = scratch::folder("versus-llvm-binary-packs");
    let (amd, nvidia) = ("amdgcn-amd-amdhsa", "nvptx64-nvidia-cuda");
    let mut images = Vec::new();
    for row in PROCESSORS {
        for id in target_ids(row, row.features) {
            images.push(Image::new(&[("triple", amd), ("arch", &id)], 5000));
        }
    }
    for (extension, arch, size) in [("cubin", "sm_80", 3432), ("cubin", "sm_90a", 77), ("s", "compute_80", 1178)] {
        images.push(Image { extension, kind: "cuda", ..Image::new(&[("triple", nvidia), ("arch", arch)], size) });
    }
    for triple in ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-musl"] {
        images.push(Image { kind: "none", ..Image::new(&[("triple", triple)], 15608) });
    }
    for module in 0..3 {
        let strings = [("triple", amd), ("arch", "gfx90a"), ("module", &*format!("module{module}"))];
        images.push(Image::new(&strings, 100 * module));
    }
    compare_binaries(&folder, &images);
    // Those of the modules last: without the key `module`, more than one image would be found.
    let (modules, others): (Vec<Image>, Vec<Image>) = images.into_iter().partition(|image| image.strings.len() == 3);
    extract(&folder, &modules);
    extract(&folder, &others);
}

fn offload_binaries_with_odd_strings() {
    let folder = scratch::folder("versus-llvm-binary-odd");
    let cases: &[&[(&str, &str)]] = &[
        &[],
        &[("", "")],
        &[("", "v"), ("arch", "")],
        &[("triple", "t"), ("triple", "u"), ("arch", ""), ("", "v")],
        &[("key", "a=b=c"), ("key2", "=")],
        &[("arch", "march"), ("march", "arch"), ("h", "ch")],
        &[("a", "b"), ("ab", "b"), ("bab", "ab"), ("b", "")],
        &[("same", "same"), ("other", "same")],
        &[("with space", " "), ("grüße", "ÿ"), ("\u{7f}", "\t")],
        &[("FILE", "x"), ("Kind", "y"), ("file ", "z")],
    ];
    let images: Vec<Image> =
        cases.iter().enumerate().map(|(number, strings)| Image::new(strings, 3 * number)).collect();
    compare_binaries(&folder, &images);
}

/// Every number of keys over several growths of LLVM's table, in runs of alike keys, which share low bits of the hash
/// or do not.
fn offload_binaries_with_many_keys() {
    let folder = scratch::folder("versus-llvm-binary-many");
    let mut images = Vec::new();
    for count in (0..=110).chain([189, 190, 191, 192, 250]) {
        let keys: Vec<String> = (0..count).map(|number| format!("k{number}")).collect();
        let strings: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), &key[1..])).collect();
        images.push(Image::new(&strings, count % 9));
    }
    compare_binaries(&folder, &images);
}

fn random_offload_binaries() {
    let folder = scratch::folder("versus-llvm-binary-random");
    let mut random = Random::new(2);
    let mut images = Vec::new();
    for number in 0..2000 {
        // Mostly a table that does not grow; around its first growth; up to its third.
        let count = match number % 8 {
            0..=4 => random.below(44),
            5 | 6 => 42 + random.below(16),
            _ => random.below(200),
        };
        // Short keys, long keys, or any: LLVM's hash has a formula for each range of lengths.
        let longest = [3, 8, 16, 32, 64, 300][random.below(6)];
        let mut strings: Vec<(String, String)> = Vec::new();
        for at in 0..count {
            let key = match random.below(20) {
                0 if at > 0 => strings[random.below(at)].0.clone(),
                1 => random.word(0),
                2 => random.word(1 + (number + at) % 64),
                _ => {
                    let length = 1 + random.below(longest);
                    random.word(length)
                }
            };
            let value = match random.below(6) {
                0 => String::new(),
                1 if at > 0 => {
                    let (key, value) = &strings[random.below(at)];
                    let other = if random.below(2) == 0 { key } else { value };
                    other[random.below(other.len() + 1)..].to_owned()
                }
                _ => {
                    let length = random.below(12);
                    random.word(length)
                }
            };
            strings.push((key, value));
        }
        // The tool takes these two for itself.
        strings.retain(|(key, _)| key != "file" && key != "kind");
        let (extension, kind) = (EXTENSIONS[random.below(EXTENSIONS.len())], KINDS[random.below(KINDS.len())].0);
        images.push(Image { extension, kind, strings, bytes: some_bytes(number, random.below(40)) });
    }
    let lengths: BTreeSet<usize> = images.iter().flat_map(|image| &image.strings).map(|(key, _)| key.len()).collect();
    assert!((0..=200).all(|length| lengths.contains(&length)), "{lengths:?}");
    compare_binaries(&folder, &images);
}

// ----------------------------------------------------------------------------------------------------------- reading

fn bundles_of_llvm_are_read() {
    for file in corpus("bundle") {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let folder = scratch::folder(&format!("versus-llvm-read-{name}"));
        let bytes = read(&file);
        scratch::write(folder.join("bundle"), &bytes);
        assert_eq!(ids(&bytes), listed_ids(&file), "{name}");
        assert_eq!(payloads_by_id(&bytes), unbundled(&folder, "bundle", &ids(&bytes)), "{name}");
    }
}

fn offload_binaries_of_llvm_are_read() {
    for file in corpus("offload_binary") {
        let bytes = read(&file);
        assert_eq!(our_listing(&bytes), objdump(&file), "{}", file.display());
    }
    // And by hand, with the strings that no tool prints.
    let bytes = read(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/offload_binary/multi.bin"));
    let all: Vec<(u64, OffloadBinary)> = OffloadBinaries::new(&bytes).map(Result::unwrap).collect();
    let images: Vec<_> = all.iter().flat_map(|(_, binary)| binary.images()).collect();
    let strings: Vec<Vec<(&str, &[u8])>> = images.iter().map(|image| image.strings().collect()).collect();
    assert_eq!(strings[0], [("arch", b"gfx906".as_slice()), ("triple", b"amdgcn-amd-amdhsa")]);
    assert_eq!(strings[1], [("arch", b"sm_70".as_slice()), ("triple", b"nvptx64-nvidia-cuda"), ("foo", b"bar")]);
    assert_eq!([images[0].data(), images[1].data()], [b"IMAGEONE".as_slice(), b"TWO"]);
    assert_eq!(all[1].0, all[0].1.size());
}

/// What we make of each malformed bundle: the IDs, or the kind of error.
fn malformed_bundles() {
    use ErrorKind::{OutOfBounds, Truncated};
    const GFX906: &str = "hip-amdgcn-amd-amdhsa--gfx906";
    const GFX908: &str = "hip-amdgcn-amd-amdhsa--gfx908";
    type Expected = Result<&'static [&'static str], ErrorKind>;
    let out_of_bounds = |start, size, len| Expected::Err(OutOfBounds { start, size, len });
    let truncated = |need, have| Expected::Err(Truncated { need, have });
    let table: &[(&str, Expected)] = &[
        ("zero_entries", Ok(&[])),
        ("empty_id", Ok(&[""])),
        ("bad_id", Ok(&["foo"])),
        ("dup_id", Ok(&[GFX906, GFX906])),
        ("dup_after_normalise", Ok(&["hip-amdgcn-amd-amdhsa--"; 2])),
        ("overlap", Ok(&[GFX906, GFX908])),
        ("in_header", Ok(&[GFX906])),
        // From here on LLVM stops in silence, reads past the end or crashes (docs/llvm-differences.md).
        ("offset0", Err(ErrorKind::Malformed)),
        ("magic_only", truncated(8, 0)),
        ("short_count", truncated(8, 4)),
        ("count_too_big", truncated(8, 0)),
        ("oob_first", out_of_bounds(1_000_000, 4, 89)),
        ("oob_second", out_of_bounds(1_000_000, 4, 146)),
        ("wrap", out_of_bounds(u64::MAX - 15, 32, 89)),
        ("idlen_long", out_of_bounds(56, 500, 89)),
        ("idlen_wrap", out_of_bounds(56, u64::MAX, 89)),
    ];
    let mut files = corpus("malformed");
    files.retain(|file| file.extension().is_some_and(|it| it == "bc"));
    assert_eq!(files.len(), table.len());
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let (_, expected) = table.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name} is new"));
        let bytes = read(&file);
        let found = Bundle::parse(&bytes).map(|bundle| bundle.entries().collect::<Vec<_>>());
        let found_ids = found.as_ref().map(|found| found.iter().map(|entry| entry.id_str()).collect::<Vec<_>>());
        match expected {
            Ok(expected) => {
                assert_eq!(found_ids.as_deref(), Ok(*expected), "{name}");
                assert_eq!(ids(&bytes), listed_ids(&file), "{name}");
            }
            Err(expected) => assert_eq!(found_ids.map_err(|error| error.kind()), Err(*expected), "{name}"),
        }
        // IDs that do not follow the grammar are listed and not understood.
        let understood = found.iter().flatten().all(|entry| entry.id().is_ok());
        assert_eq!(understood, !matches!(name.as_str(), "empty_id" | "bad_id"), "{name}");
    }
}

/// One offload binary of the corpus with a field overwritten, for fields that LLVM takes unchecked, and some others.
fn malformed_offload_binaries() {
    use ErrorKind::{BadMagic, Malformed, OutOfBounds, Truncated, UnsupportedVersion};
    // 152 bytes: header, entry at 32, two string pairs at 72, strings from 104 on, image of 8 bytes at 144.
    let good = read(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/offload_binary/one.bin"));
    let len = good.len() as u64;
    let out_of_bounds = |start, size| OutOfBounds { start, size, len };
    let (size, entry, pairs) = (8, 32, 72);
    let table: &[(&str, usize, u64, ErrorKind)] = &[
        ("magic", 0, 0x0000_0001_ad10_ff11, BadMagic),
        ("version", 0, 0x0000_0000_ad10_ff10, UnsupportedVersion { version: 0 }),
        ("version", 0, 0x0000_0004_ad10_ff10, UnsupportedVersion { version: 4 }),
        ("size", size, len + 1, out_of_bounds(0, len + 1)),
        ("size below a header's", size, 31, Truncated { need: 32, have: 31 }),
        ("entry offset", 16, len - 39, out_of_bounds(len - 39, 40)),
        ("entry offset, wrapping", 16, u64::MAX - 8, out_of_bounds(u64::MAX - 8, 40)),
        ("string pairs offset", entry + 8, len - 31, out_of_bounds(len - 31, 32)),
        ("string pair count", entry + 16, 6, out_of_bounds(72, 96)),
        ("string pair count, wrapping", entry + 16, 1 << 60, out_of_bounds(72, u64::MAX)),
        ("image offset", entry + 24, len - 7, out_of_bounds(len - 7, 8)),
        ("image size", entry + 32, 9, out_of_bounds(144, 9)),
        ("image size, wrapping", entry + 32, u64::MAX, out_of_bounds(144, u64::MAX)),
        ("key", pairs, len + 1, out_of_bounds(len + 1, 0)),
        ("value", pairs + 8, u64::MAX, out_of_bounds(u64::MAX, 0)),
        ("key without an end", pairs + 16, len - 1, Malformed),
        ("value without an end", pairs + 24, 144, Malformed),
        ("key that is no text", pairs, 0, Malformed),
    ];
    OffloadBinary::parse(&good).unwrap();
    for (what, at, new, expected) in table {
        let mut bytes = good.clone();
        bytes[*at..at + 8].copy_from_slice(&new.to_le_bytes());
        assert_eq!(OffloadBinary::parse(&bytes).unwrap_err().kind(), *expected, "{what}");
        assert_eq!(OffloadBinaries::new(&bytes).count(), 1, "{what}: an error, and the end");
    }
}

/// What linkers and older writers leave between offload binaries. LLVM 22 refuses it, later versions do not.
fn zeros_between_and_behind_offload_binaries() {
    let folder = scratch::folder("versus-llvm-zeros");
    let images = [Image::new(&[("arch", "gfx900")], 3), Image::new(&[("arch", "gfx1030")], 11)];
    let whole: Vec<Vec<u8>> = images.iter().map(Image::ours).collect();
    let found =
        |bytes: &[u8]| -> Vec<Vec<u8>> { self::images(bytes).iter().map(|image| image.data().to_vec()).collect() };
    let expected = [images[0].bytes.clone(), images[1].bytes.clone()];
    let refused = |bytes: &[u8]| {
        scratch::write(folder.join("refused"), bytes);
        let output = llvm("llvm-objdump").arg("--offloading").arg(folder.join("refused")).output().unwrap();
        !output.status.success()
    };

    // The size of the first one without the zeros behind its image.
    let mut unpadded = whole.concat();
    let size = whole[0].len() as u64 - 5;
    unpadded[8..16].copy_from_slice(&size.to_le_bytes());
    assert_eq!(found(&unpadded), expected);
    assert!(refused(&unpadded));

    for zeros in [0, 8, 32, 4088] {
        let padded = [&whole[0], &vec![0; zeros][..], &whole[1]].concat();
        assert_eq!(found(&padded), expected, "{zeros} zeros between");
        assert_eq!(refused(&padded), zeros > 0, "{zeros} zeros between");
        assert_eq!(found(&[&vec![0; zeros][..], &padded].concat()), expected, "{zeros} zeros in front");
    }
    for zeros in 0..=17 {
        let mut padded = whole.concat();
        padded.resize(padded.len() + zeros, 0);
        assert_eq!(found(&padded), expected, "{zeros} zeros");
        assert_eq!(refused(&padded), zeros > 0, "{zeros} zeros");
        // Something else behind them is no offload binary.
        padded.push(1);
        assert_eq!(OffloadBinaries::new(&padded).map(|found| found.is_ok()).collect::<Vec<_>>(), [true, true, false]);
    }
}

/// LLVM 22 takes the target ID of a three-field triple for an environment, and writes it with a dash behind it.
fn ids_without_an_environment() {
    let bytes = read(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/bundle/nvptx4.bc"));
    let entry = Bundle::parse(&bytes).unwrap().entries().nth(1).unwrap();
    assert_eq!(entry.id_str(), "openmp-nvptx64-nvidia-cuda-sm_70-");
    let id = entry.id().unwrap();
    assert_eq!((id.kind(), id.triple().env, id.target()), ("openmp", "", "sm_70"));
}

/// The end of all that a bundle's table speaks of.
fn end_of(bundle: &Bundle) -> usize {
    let table: usize = bundle.entries().map(|entry| 24 + entry.id_str().len()).sum();
    let ends = bundle.entries().map(|entry| entry.offset() as usize + entry.code_object().len());
    ends.max().unwrap_or(0).max(32 + table)
}

fn every_truncation_of_a_bundle() {
    for file in corpus("bundle") {
        let bytes = read(&file);
        let whole = Bundle::parse(&bytes).unwrap();
        let (end, whole) = (end_of(&whole), format!("{whole:?}"));
        for length in 0..bytes.len() {
            match Bundle::parse(&bytes[..length]) {
                Ok(bundle) => {
                    assert!(length >= end, "{}: {length} of {end} bytes pass", file.display());
                    assert_eq!(format!("{bundle:?}"), whole);
                }
                Err(error) => {
                    assert!(length < end, "{}: {length} bytes are enough: {error}", file.display());
                    assert!(matches!(error.kind(), ErrorKind::Truncated { .. } | ErrorKind::OutOfBounds { .. }));
                    assert!(error.offset() <= bytes.len() as u64, "{error}");
                }
            }
        }
    }
}

fn every_truncation_of_an_offload_binary() {
    for file in corpus("offload_binary") {
        let bytes = read(&file);
        let mut starts: Vec<u64> = OffloadBinaries::new(&bytes).map(|found| found.unwrap().0).collect();
        starts.push(bytes.len() as u64);
        for length in 0..bytes.len() {
            let found: Vec<_> = OffloadBinaries::new(&bytes[..length]).collect();
            let whole = found.iter().filter(|found| found.is_ok()).count();
            assert_eq!(whole, starts[1..].iter().filter(|end| **end <= length as u64).count(), "{length} bytes");
            // One error, at the end, for what was cut in two.
            let cut = !starts.contains(&(length as u64));
            assert_eq!(found.len(), whole + usize::from(cut), "{}: {length} bytes", file.display());
            if let Some(Err(error)) = found.last() {
                assert!(
                    matches!(error.kind(), ErrorKind::Truncated { .. } | ErrorKind::OutOfBounds { .. }),
                    "{length} bytes: {error}"
                );
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------------------- helpers

fn joined<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    ids.collect::<Vec<_>>().join(",")
}
