//! Tests of SYCL files as written by DPC++: programs with a table of images, and objects. The tests
//! assemble the files by hand, because no registry has DPC++. An independent reader in Python lists
//! the same images.

use crate::{assert_ends, assert_prints, json, list, offload, string};
use offload_format::compression::{Method, compress};
use offload_tests::prelude::*;

/// Returns a SPIR-V module with an empty kernel with this name.
fn spirv(kernel: &str) -> Vec<u8> {
    let mut name = kernel.as_bytes().to_vec();
    name.resize(name.len() / 4 * 4 + 4, 0);
    let name: Vec<u32> =
        name.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    let mut words = vec![0x0723_0203, 0x0001_0000, 0, 8, 0];
    let mut add = |opcode: u32, operands: &[u32]| {
        words.push((operands.len() as u32 + 1) << 16 | opcode);
        words.extend(operands);
    };
    add(17, &[4]); // OpCapability Addresses
    add(17, &[6]); // OpCapability Kernel
    add(14, &[2, 2]); // OpMemoryModel Physical64 OpenCL
    add(15, &[&[6, 3][..], &name].concat()); // OpEntryPoint Kernel
    add(19, &[1]); // OpTypeVoid
    add(33, &[2, 1]); // OpTypeFunction
    for (opcode, operands) in [(54, &[1, 3, 0, 2][..]), (248, &[4]), (253, &[]), (56, &[])] {
        add(opcode, operands); // A function that returns
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns native code for an Intel GPU: the header of an ELF file whose machine is `EM_INTELGT`.
fn zebin() -> Vec<u8> {
    let mut header = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\xcd\0\x01\0\0\0".to_vec();
    header.resize(64, 0);
    header
}

/// DPC++'s targets with their images, in the order of the sections.
fn images() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("spir64", spirv("one")),
        ("spir64", spirv("second")),
        ("spir64", compress(Method::Zstd, None, &spirv("packed")).unwrap()),
        ("spir64_gen", zebin()),
        ("spir64_x86_64", corpus_file("fat_file/hip_nordc.o")),
        ("nvptx64", corpus_file("image/saxpy.sm_90.cubin")),
        ("nvptx64", corpus_file("nv_fatbin/group.fatbin")),
        ("amdgcn", corpus_file("image/saxpy.gfx90a.hsaco")),
        ("amdgcn", corpus_file("bundle/hipv4_4096.hipfb")),
    ]
}

/// Returns the size that the table contains for an image. For a zstd frame, this is the
/// uncompressed size.
fn table_size(image: &[u8]) -> usize {
    let is_frame = image.starts_with(b"\x28\xb5\x2f\xfd");
    if is_frame { spirv("packed").len() } else { image.len() }
}

/// Writes `table.s` with images and their table, in the form that clang-offload-wrapper writes.
fn write_table(folder: &Path, images: &[(&str, Vec<u8>)], flags: [&str; 2]) {
    let (mut text, mut table) = (String::new(), String::new());
    for (number, (target, image)) in images.iter().enumerate() {
        scratch::write(folder.join(format!("{number}.bin")), image);
        let section = format!("__CLANG_OFFLOAD_BUNDLE__sycl-{target}");
        text += &format!(".section \"{section}\",{}\n.p2align 4\n", flags[0]);
        text += &format!("image{number}: .incbin \"{number}.bin\"\n");
        table += &format!(".quad image{number}, {}\n", table_size(image));
    }
    let text = format!("{text}.section .tgtimg,{}\n.p2align 4\n{table}", flags[1]);
    scratch::write(folder.join("table.s"), text);
}

const ELF: [&str; 2] = ["\"a\",@progbits", "\"aw\",@progbits"];
const COFF: [&str; 2] = ["\"dr\"", "\"dw\""];

/// Writes `table.o` with these images, and links it into `program`.
fn program(name: &str, images: &[(&str, Vec<u8>)]) -> PathBuf {
    let folder = scratch::folder(&format!("sycl-{name}"));
    write_table(&folder, images, ELF);
    run(llvm("clang"), &folder, "-c table.s");
    run(llvm("clang"), &folder, "-fuse-ld=lld -shared -nostdlib table.o -o program");
    folder
}

/// An image's fields: offset, size, SHA-256.
type Found = (Option<u64>, u64, String);

/// Returns the images that `ls` lists as JSON for a file and a kind of container.
fn listed(folder: &Path, file: &str, container: &str) -> Vec<Found> {
    let ran = offload(folder, &format!("ls --json {file}"));
    assert_ends(&ran, 0, "");
    let record = json(&ran);
    let images = list(&record["images"]).iter().filter(|image| image["container"] == container);
    let found = |image: &serde_json::Value| {
        let digest = string(&image["sha256"]).to_owned();
        (image["offset"].as_u64(), image["size"].as_u64().expect("a number"), digest)
    };
    images.map(found).collect()
}

/// Returns the images that the Python reader finds in a file, except images that are containers.
fn read_by_python(folder: &Path, file: &str) -> Vec<Found> {
    let script = workspace().join("tests/tools/sycl/images.py");
    let mut python = Command::new("python3");
    let lines = stdout(&succeed(python.arg(script).arg(folder.join(file))));
    let packed = digest(&spirv("packed"));
    let bytes = read(folder.join(file));
    let found = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let [offset, size, _section, digest] = fields[..] else { panic!("{line}") };
        let (offset, size): (u64, u64) = (offset.parse().unwrap(), size.parse().unwrap());
        let image = &bytes[offset as usize..];
        let is_container =
            image.starts_with(b"__CLANG_OFFLOAD") || image.starts_with(&[0x50, 0xed, 0x55, 0xba]);
        let found = match digest {
            "zstd" => (None, size, packed.clone()),
            digest => (Some(offset), size, digest.to_owned()),
        };
        (!is_container).then_some(found)
    };
    lines.lines().filter_map(found).collect()
}

fn digest(bytes: &[u8]) -> String {
    let script =
        "import hashlib, sys; print(hashlib.sha256(bytes.fromhex(sys.argv[1])).hexdigest())";
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut python = Command::new("python3");
    stdout(&succeed(python.args(["-c", script, &hex]))).trim().to_owned()
}

/// Links programs whose table contains addresses, and programs whose addresses are only in
/// relocations.
#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::Python]))]
fn tables_of_programs() {
    let folder = program("programs", &images());
    scratch::write(folder.join("main.c"), "int main(void) { return 0; }");
    run(llvm("clang"), &folder, "-c main.c");
    for how in [
        "-fuse-ld=lld -shared",
        "-fuse-ld=lld -pie",
        "-fuse-ld=lld -no-pie",
        "-fuse-ld=lld -shared -Wl,--apply-dynamic-relocs",
        "-fuse-ld=lld -shared -Wl,-z,pack-relative-relocs",
        "-fuse-ld=bfd -shared",
        "-fuse-ld=bfd -no-pie -s",
        "-fuse-ld=bfd -r -nostdlib",
        "-fuse-ld=lld -r -nostdlib",
    ] {
        run(llvm("clang"), &folder, &format!("{how} main.o table.o -o program"));
        let found = listed(&folder, "program", "image-table");
        assert_eq!(found.len(), 7, "{how}");
        assert_eq!(found, read_by_python(&folder, "program"), "{how}");
        assert_eq!(listed(&folder, "program", "object-bundle"), [], "{how}");
        let fatbins = listed(&folder, "program", "fatbin");
        assert_eq!(
            fatbins.len(),
            listed(&workspace().join("tests/corpus/nv_fatbin"), "group.fatbin", "fatbin").len()
        );
        assert!(!listed(&folder, "program", "bundle").is_empty(), "{how}");
        let ran = offload(&folder, "verify program");
        assert_eq!(ran.code, 0, "{how}: {}", ran.stdout);
    }
    assert_eq!(listed(&folder, "table.o", "image-table"), read_by_python(&folder, "table.o"));
}

/// Tests Windows programs: linkers for Windows shorten section names, so only the table separates
/// the images.
#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::Python]))]
fn tables_of_windows() {
    let folder = scratch::folder("sycl-windows");
    write_table(&folder, &images()[..3], COFF);
    run(llvm("clang"), &folder, "--target=x86_64-windows-msvc -c table.s");
    run(llvm("lld-link"), &folder, "/dll /noentry table.o /out:program.dll");
    let found = listed(&folder, "program.dll", "image-table");
    assert_eq!((found.len(), &found), (3, &read_by_python(&folder, "program.dll")));
    let in_object = listed(&folder, "table.o", "image-table");
    let digests = |found: &[Found]| found.iter().map(|it| it.2.clone()).collect::<Vec<_>>();
    assert_eq!(digests(&in_object), digests(&found));
    for file in ["program.dll", "table.o"] {
        assert_eq!(offload(&folder, &format!("verify {file}")).code, 0);
        let ran = offload(&folder, &format!("reach --require spirv64 {file}"));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
}

#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::Python]))]
fn commands_know_tables() {
    let images = images();
    let folder = program("commands", &images);
    let ran = offload(&folder, "ls --json program");
    let record = json(&ran);
    let rows: Vec<[&str; 4]> = list(&record["images"])
        .iter()
        .filter(|image| image["container"] == "image-table")
        .map(|image| {
            ["triple", "offload_kind", "image_kind", "target_id"]
                .map(|field| image[field].as_str().unwrap_or("-"))
        })
        .collect();
    let sorted = [
        ["spir64", "sycl", "spirv", "-"],
        ["spir64", "sycl", "spirv", "-"],
        ["spir64", "sycl", "spirv", "-"],
        ["spir64_gen", "sycl", "elf", "-"],
        ["spir64_x86_64", "sycl", "elf", "-"],
        ["nvptx64", "sycl", "cubin", "sm_90"],
        ["amdgcn", "sycl", "elf", "gfx90a"],
    ];
    assert_eq!(rows, sorted);

    assert_eq!(offload(&folder, "extract -o x program").code, 0);
    let mut extracted: Vec<Vec<u8>> = scratch::contents(&folder.join("x")).into_values().collect();
    extracted.sort();
    for (_, image) in images.iter().filter(|(_, image)| table_size(image) == image.len()).take(6) {
        let is_container = image.starts_with(b"\x50\xed");
        assert!(is_container || extracted.binary_search(image).is_ok());
    }
    assert!(extracted.binary_search(&spirv("packed")).is_ok());

    let ran = offload(&folder, "size program");
    assert_prints(&ran, &["spir64", "sm_90", "gfx90a"]);
    let ran = offload(&folder, "select --device sm_90 --json program");
    assert!(ran.stdout.contains("sm_90"), "{} {}", ran.stdout, ran.stderr);
}

/// Tests that all images with the same kernel form one module: the runtime selects a device's image
/// from all of them.
#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::Python]))]
fn alternatives_are_one_module() {
    let cubin = corpus_file("image/saxpy.sm_90.cubin");
    let images = [("spir64", spirv("saxpy")), ("spir64", spirv("other")), ("nvptx64", cubin)];
    let folder = program("alternatives", &images);
    let record = json(&offload(&folder, "reach --json --require sm_90,spirv64 program"));
    assert_eq!(record[0]["modules"], 2);
    let named = json(&offload(&folder, "ls --json program"));
    let names: Vec<&str> = list(&named["images"]).iter().map(|it| string(&it["module"])).collect();
    assert_eq!(names, ["saxpy", "other", "saxpy"]);
    assert_eq!(offload(&folder, "reach --require spirv64 program").code, 0);
    let ran = offload(&folder, "reach --require sm_90 program");
    assert_prints(&ran, &[]);
    assert!(ran.stderr.contains("no image for sm_90 in 1 of 2 modules: other"), "{}", ran.stderr);
}

/// Checks damaged images, and tables whose images lie outside the file's sections.
#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::Python]))]
fn damaged_tables() {
    let folder = program("damaged", &images()[..3]);
    let good = read(folder.join("program"));
    let frame = compress(Method::Zstd, None, &spirv("packed")).unwrap();
    let find = |needle: &[u8]| good.windows(needle.len()).rposition(|it| it == needle).unwrap();
    // The table contains zeros instead of addresses, which are in the relocations.
    let sizes = [0, spirv("one").len(), 0, spirv("second").len()];
    let size = 8 + find(&sizes.map(usize::to_le_bytes).concat());
    let frame = find(&frame);
    for (what, at, new, text) in [
        ("a size", size, &u64::MAX.to_le_bytes()[..], "image of an image table"),
        ("a size", size, &(good.len() as u64).to_le_bytes(), "image of an image table"),
        ("a frame", frame + 4, &[0xff; 8], "image of an image table"),
    ] {
        scratch::write(folder.join("bad"), patched(&good, at, new));
        let ran = offload(&folder, "verify bad");
        assert_eq!(ran.code, 1, "{what}");
        assert!(ran.stdout.contains(text), "{what}: {}", ran.stdout);
        assert_eq!(offload(&folder, "ls bad").code, 1, "{what}");
    }
    // All images in this table are the same zstd frame.
    let zeros = compress(Method::Zstd, None, &[0; 1 << 16]).unwrap();
    let text = format!(
        ".section __CLANG_OFFLOAD_BUNDLE__sycl-spir64,{}\nimage: .incbin \"zeros.bin\"\n\
         .section .tgtimg,{}\n.rept 4096\n.quad image, 1 << 16\n.endr\n",
        ELF[0], ELF[1]
    );
    scratch::write(folder.join("zeros.bin"), zeros);
    scratch::write(folder.join("table.s"), text);
    run(llvm("clang"), &folder, "-c table.s");
    let ran = offload(&folder, "verify table.o");
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("its images share too many bytes"), "{}", ran.stdout);

    for end in (0..good.len()).step_by(13) {
        offload_tests::visit::all(&good[..end]);
    }
}

/// Writes `<name>.o`, an object with entries for SYCL and the host. With `has_sizes`, the object
/// also has sections with the entries' sizes, as written by DPC++'s bundler.
fn object(folder: &Path, name: &str, image: &[u8], has_sizes: bool) {
    scratch::write(folder.join(format!("{name}.bin")), image);
    let mut text = format!(".text\n.globl {name}\n{name}: ret\n");
    for (id, contents, size) in [
        ("sycl-spir64-unknown-unknown", format!(".incbin \"{name}.bin\""), image.len()),
        ("host-x86_64-unknown-linux-gnu", ".byte 0".to_owned(), 1),
    ] {
        text += &format!(".section __CLANG_OFFLOAD_BUNDLE__{id},\"e\",@progbits\n{contents}\n");
        if has_sizes {
            let section = format!("__CLANG_OFFLOAD_BUNDLE_SIZE__{id}");
            text += &format!(".section {section},\"e\",@progbits\n.quad {size}\n");
        }
    }
    scratch::write(folder.join(format!("{name}.s")), text);
    run(llvm("clang"), folder, &format!("--target=x86_64-linux-gnu -c {name}.s"));
}

#[test(needs(&[Tool::Llvm22, Tool::Python]))]
fn objects() {
    let folder = scratch::folder("sycl-objects");
    object(&folder, "a", &spirv("one"), true);
    let ran = offload(&folder, "verify a.o");
    assert_ends(&ran, 0, "");
    let found = listed(&folder, "a.o", "object-bundle");
    assert_eq!(found[0].2, digest(&spirv("one")));
    let ran = offload(&folder, "reach --require spirv64 a.o");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// Tests objects whose entries a linker has joined: the sizes separate the images. Without sizes,
/// only the headers of SPIR-V modules can separate them.
#[test(needs(&[Tool::Llvm22, Tool::Python]))]
fn joined_objects() {
    let folder = scratch::folder("sycl-joined");
    let bitcode = corpus_file("bundle/nohost.bc");
    for (images, has_sizes, expected) in [
        ([spirv("one"), spirv("second")], true, 2),
        ([spirv("one"), spirv("second")], false, 2),
        ([bitcode.clone(), spirv("second")], true, 2),
        ([bitcode.clone(), bitcode], false, 1),
    ] {
        object(&folder, "a", &images[0], has_sizes);
        object(&folder, "b", &images[1], has_sizes);
        run(llvm("ld.lld"), &folder, "-r a.o b.o -o joined.o");
        let found = listed(&folder, "joined.o", "object-bundle");
        let mut digests: Vec<&str> = found.iter().map(|image| image.2.as_str()).collect();
        let hosts = [digest(b"\0"), digest(b"\0\0")];
        digests.retain(|it| !hosts.iter().any(|host| host == it));
        let joined = match expected {
            1 => vec![digest(&images.concat())],
            _ => images.iter().map(|image| digest(image)).collect(),
        };
        assert_eq!(digests, joined);
        let ran = offload(&folder, "verify joined.o");
        assert_eq!(ran.code, 0, "{}", ran.stdout);
    }
}
