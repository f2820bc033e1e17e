//! Tests of `cargo offload verify`: for each check, one file must pass and a changed copy must
//! fail. Files from toolchains must have no findings.

use crate::containers::{binary, hip_bundle, replaced, with};
use crate::inside::made::{Entry, zip};
use crate::{assert_session, assert_transcript, offload};
use offload_format::compressed::{self, CompressOptions};
use offload_format::compression::Method;
use offload_format::host_object::{self, CargoTarget, Machine};
use offload_format::nv_fatbin::{HostOs, NvFatbinBuilder};
use offload_format::offload_binary::{OffloadBinaryBuilder, OffloadKind, StatedKind, Version};
use offload_format::section::DeviceSection;
use offload_tests::data::corpus_folders;
use offload_tests::prelude::*;
use offload_tests::published;

/// Runs `cargo offload verify`. Returns the exit status and the lines of the output. Options are
/// separated by spaces.
fn verify<P: AsRef<Path>>(options: &str, files: &[P]) -> (i32, Vec<String>) {
    let files = files.iter().map(AsRef::as_ref);
    let ran = own::run(own::offload(&["verify"]).args(options.split_whitespace()).args(files));
    (ran.code, ran.stdout.lines().map(str::to_owned).collect())
}

/// Runs `cargo offload verify` on files without findings. Returns the line for each file.
#[track_caller]
fn pass<P: AsRef<Path>>(files: &[P]) -> Vec<String> {
    let (status, lines) = verify("", files);
    assert_eq!((status, lines.len()), (0, files.len()), "{lines:#?}");
    assert!(lines.iter().all(|line| line.contains(": ok: ")), "{lines:#?}");
    lines
}

fn image(name: &str) -> Vec<u8> {
    corpus_file(&format!("image/{name}"))
}

/// Returns an object whose section `.hip_fatbin` contains these bytes.
fn hip_object(bundle: &[u8]) -> Vec<u8> {
    let target = CargoTarget { arch: "x86_64", os: "linux", pointer_width: "64", endian: "little" };
    let machine = Machine::of(&target).unwrap();
    let section = DeviceSection::HipFatbin;
    host_object::write(machine, section, "pack", bundle.len() as u64).unwrap().to_vec(&[bundle])
}

/// Returns the cases: the name of a check, a file that passes the check, and the same file with an
/// error that the check must find.
fn cases() -> Vec<(&'static str, Vec<u8>, Vec<u8>)> {
    let mut cases = Vec::new();
    let mut case = |check, good: Vec<u8>, bad: Vec<u8>| cases.push((check, good, bad));
    const GFX90A: &str = "hipv4-amdgcn-amd-amdhsa--gfx90a";

    let member = Entry::new(b"image.cubin", &image("saxpy.sm_90.cubin"));
    let damaged = Entry { checksum: 1, ..member.clone() };
    case("archive", zip(&[member]), zip(&[damaged]));
    let plain = corpus_file("bundle/nohost.bc");
    case("unreadable", plain.clone(), plain[..plain.len() - 1].to_vec());
    let of_oxide = corpus_file("oxart/saxpy.oxart");
    case("unreadable", of_oxide.clone(), of_oxide[..of_oxide.len() - 1].to_vec());
    // The second entry's offset is stored at 85. The new offset is 4 bytes after the start of the
    // first code object.
    case("overlap", plain.clone(), with(&plain, 85, &142u64.to_le_bytes()));
    case("entry-id", plain.clone(), replaced(&plain, "hip-", "hop-"));
    case("duplicate", plain.clone(), replaced(&plain, "gfx908", "gfx906"));
    let aligned = corpus_file("bundle/hipv4_4096.hipfb");
    case("padding", aligned.clone(), with(&aligned, 4000, b"x"));
    let both = [
        ("hip-amdgcn-amd-amdhsa--gfx906:xnack+", &b"one"[..]),
        ("hip-amdgcn-amd-amdhsa--gfx90a:sramecc+", b"two"),
    ];
    let both = hip_bundle(8, &both);
    case("composition", both.clone(), replaced(&both, "gfx90a", "gfx906"));

    for (file, size, stream, hash) in [("v3_zstd", 16, 32, 24), ("v2_zstd", 12, 24, 16)] {
        let file = corpus_file(&format!("compressed/{file}.ccob"));
        case("decompress", file.clone(), with(&file, stream, b"x"));
        case("hash", file.clone(), with(&file, hash, &[file[hash] ^ 1]));
        case("size", file.clone(), with(&file, size, &[file[size] ^ 1]));
        // The header's total size now excludes the last byte.
        case("decompress", file.clone(), with(&file, 8, &[file[8] - 1]));
    }

    // HIP's runtime cannot read version 1 of compressed bundles. In this version, the header lacks
    // the file's size.
    let bundle = corpus_file("bundle/hip_dev.hipfb");
    let mut options = CompressOptions::default();
    options.version = compressed::Version::V2;
    let packed = compressed::compress(&bundle, &options).unwrap();
    let first = [b"CCOB\x01\0", &packed[6..8], &packed[12..]].concat();
    case("loader", packed, first);
    // ROCm's loaders read the section .strtab and a symbol table.
    let linked = corpus_file("image/saxpy.gfx90a.hsaco");
    case("loader", linked.clone(), replaced(&linked, "\0.strtab", "\0.strtax"));
    let table = usize::from_le_bytes(linked[40..48].try_into().unwrap());
    let mut rows = linked[table..].chunks(64).enumerate();
    let (symbols, _) = rows.find(|(_, row)| row[4] == 2).expect("a symbol table");
    case("loader", linked.clone(), with(&linked, table + symbols * 64 + 4, &[1]));

    let object = corpus_file("fat_file/hip_nordc.o");
    case("hip-entry", object.clone(), replaced(&object, "hipv4-amdgcn-amd-", "hipv4-amdgcn-xyz-"));
    let start = object.windows(24).position(|it| it == b"__CLANG_OFFLOAD_BUNDLE__").unwrap();
    case("hip-host", object.clone(), with(&object, start + 40, &[1]));
    case("wrapper", object.clone(), with(&object, start, &[0; 0x1000]));
    // The runtime checks a wrapper's magic and version.
    let wrapper = object.windows(8).position(|it| it == b"FPIH\x01\0\0\0").unwrap();
    case("wrapper", object.clone(), with(&object, wrapper, b"X"));
    case("wrapper", object.clone(), with(&object, wrapper + 4, &[2]));
    let many = |count: usize| {
        let ids: Vec<String> =
            (0..count).map(|at| format!("hipv4-amdgcn-amd-amdhsa--gfx{}", 7000 + at)).collect();
        let entries: Vec<(&str, &[u8])> = ids.iter().map(|id| (id.as_str(), &b"x"[..])).collect();
        hip_object(&hip_bundle(4096, &entries))
    };
    case("hip-table", many(71), many(72));
    let old = image("v3.hsaco");
    let of_kind =
        |kind: &str| hip_bundle(4096, &[(&format!("{kind}-amdgcn-amd-amdhsa--gfx906"), &old)]);
    case("hip-version", of_kind("hip"), of_kind("hipv4"));
    let code_object = image("saxpy.gfx90a.hsaco");
    let of_align = |align| hip_bundle(align, &[(GFX90A, &code_object)]);
    case("alignment", hip_object(&of_align(4096)), hip_object(&of_align(2048)));
    // Entries of kind hipv4 are for HIP's runtime, so the alignment is also checked if the bundle
    // is a separate file.
    case("alignment", of_align(4096), of_align(64));

    let good = of_align(4096);
    let at = good.len() - code_object.len();
    // This byte of the ELF header is the OS/ABI.
    case("image", good.clone(), with(&good, at + 7, &[0]));
    case("target", good.clone(), replaced(&good, "gfx90a", "gfx908"));
    case("kernels", code_object.clone(), code_object[..code_object.len() - 1].to_vec());
    // The first value is the `e_flags` of gfx9-generic. The second is the ABI version: 4 means code
    // object version 6, and 3 means version 5.
    let generic = |abi_version| {
        let code_object =
            with(&with(&code_object, 48, &0x0100_0051u32.to_le_bytes()), 8, &[abi_version]);
        hip_bundle(4096, &[("hipv4-amdgcn-amd-amdhsa--gfx9-generic", &code_object)])
    };
    case("generic", generic(4), generic(3));

    let cubin = image("saxpy.sm_90.cubin");
    let sm_90 = (StatedKind::CUBIN, OffloadKind::CUDA, &[("arch", "sm_90")][..], &cubin[..]);
    let one = binary(Version::V1, &[sm_90]);
    case("image-kind", one.clone(), with(&one, 32, &[5]));
    case("target", one.clone(), replaced(&one, "sm_90\0", "sm_80\0"));
    // Make the image start four bytes later: increase its offset by 4, and decrease its size by 4.
    let shorter = with(&one, 32 + 32, &((cubin.len() - 4) as u64).to_le_bytes());
    case("alignment", one.clone(), with(&shorter, 32 + 24, &[one[32 + 24] + 4]));
    // The next case has the same image in a compressed binary. After that, the binaries have two
    // images. In the case `overlap`, these images overlap.
    let compressed = |stated: StatedKind| {
        let mut builder = OffloadBinaryBuilder::new();
        builder.image(stated, OffloadKind::CUDA, cubin.len() as u64).string("arch", "sm_90");
        builder.compressed(Method::Zstd, None, &[&cubin]).unwrap()
    };
    case("image-kind", compressed(StatedKind::CUBIN), compressed(StatedKind::BITCODE));
    let [sm_80, sm_90] = ["sm_80", "sm_90"].map(|arch| [("arch", arch)]);
    let two =
        [&sm_80[..], &sm_90].map(|it| (StatedKind::NONE, OffloadKind::CUDA, it, &[1; 16][..]));
    let two = binary(Version::V2, &two);
    // The entries start at 32 and are 40 bytes long. The second entry's field at 24 is the image's
    // offset.
    case("overlap", two.clone(), with(&two, 32 + 40 + 24, &[two[32 + 40 + 24] - 8]));
    case("size", two.clone(), [with(&two, 8, &[two[8] + 1]), vec![0]].concat());
    let ptx = image("saxpy.compute_80.ptx");
    let mut builder = NvFatbinBuilder::new(HostOs::Linux);
    builder.ptx(&ptx).unwrap();
    let fatbin = builder.layout().to_vec(&[&ptx]);
    let zeros = fatbin.iter().rev().take_while(|byte| **byte == 0).count();
    case("ptx-end", fatbin.clone(), with(&fatbin, fatbin.len() - zeros, &vec![b'\n'; zeros]));
    // The fatbin's first entry starts at 16. Its field at 28 is the compute capability.
    case("target", fatbin.clone(), with(&fatbin, 16 + 28, &[75]));
    case("image-kind", fatbin.clone(), with(&fatbin, 16, &[2]));
    cases
}

#[test]
fn each_check() {
    let folder = scratch::folder("offload-verify-each");
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    let mut covered = BTreeSet::new();
    for (number, (check, good_bytes, bad_bytes)) in cases().into_iter().enumerate() {
        good.push(folder.join(format!("{number}-{check}-good")));
        bad.push((folder.join(format!("{number}-{check}-bad")), check));
        scratch::write(&good[number], good_bytes);
        scratch::write(&bad[number].0, bad_bytes);
        covered.insert(check.to_owned());
    }
    pass(&good);
    let (status, mut lines) = verify("", &bad.iter().map(|(path, _)| path).collect::<Vec<_>>());
    assert_eq!(status, 1, "{lines:#?}");
    for (path, check) in bad {
        let start = format!("{}: ", path.display());
        let found: Vec<String> = lines.extract_if(.., |line| line.starts_with(&start)).collect();
        let end = format!(" [{check}]");
        assert!(found.iter().any(|line| line.ends_with(&end)), "{}: {found:#?}", path.display());
        assert!(!found.iter().any(|line| line.contains(": ok: ")), "{found:#?}");
    }
    assert_eq!(lines, [""; 0], "each line begins with a file's name");
    // The check `parameters` reports only notes, because an `#ifdef` may explain the differences.
    // The test `parameters` covers this check.
    covered.insert("parameters".to_owned());
    // The check `kernel-pack` needs more files in the folder of the checked file. The tests in
    // `kernel_packs` cover this check.
    covered.insert("kernel-pack".to_owned());
    // The test `agreement` covers the check of `--for`.
    covered.insert("device".to_owned());
    // `verify --checks` must list exactly the checks that the tests cover.
    let listed = offload(&folder, "verify --checks").stdout;
    let listed = listed.lines().map(|line| line.split_whitespace().next().unwrap().to_owned());
    assert_eq!(covered, listed.collect::<BTreeSet<_>>());
}

#[test]
fn what_tools_write_has_no_findings() {
    let folders = corpus_folders().into_iter().filter(|folder| folder != "malformed");
    let mut files: Vec<PathBuf> = folders.flat_map(|folder| corpus(&folder)).collect();
    // In this file, clang-offload-bundler 22 has lost the processor (docs/llvm-differences.md).
    let lost: Vec<PathBuf> = files.extract_if(.., |it| it.ends_with("threefield.bc")).collect();
    let (status, lines) = verify("", &lost[..1]);
    assert_eq!((status, lines.len()), (1, 1), "{lines:#?}");
    assert!(lines[0].contains("names no processor"), "{lines:?}");
    assert!(pass(&files).len() > 50, "{files:?}");
}

#[test(LLVM.slow())]
fn what_clang_writes_has_no_findings() {
    let folder = scratch::folder("offload-verify-clang");
    scratch::write(
        folder.join("k.hip"),
        "struct dim3 { unsigned x, y, z; };\n\
         extern \"C\" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);\n\
         extern \"C\" int __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, void *);\n\
         __attribute__((global)) void one(int *p) { *p = 1; }\n\
         __attribute__((device)) int variable;\n\
         int main() { return 0; }\n",
    );
    let cases = [
        ("OLD", "gfx906,gfx90a:xnack-,gfx90a:xnack+,gfx9-4-generic,gfx1201", 5),
        ("OLD --offload-compress", "gfx906,gfx90a:sramecc+:xnack-", 2),
        ("OLD -mcode-object-version=4", "gfx906,gfx1030", 2),
        ("OLD --cuda-device-only", "gfx906,gfx1030", 2),
        ("OLD -fgpu-rdc", "gfx906,gfx1030", 2),
        ("NEW -fgpu-rdc", "gfx906,gfx1010:xnack-", 2),
        ("NEW -fgpu-rdc", "gfx906,amdgcnspirv", 2),
    ];
    let objects = cases.map(|(options, archs, _)| {
        let object = folder.join(format!("{options} {archs}"));
        let options = options.replace("OLD", "--no-offload-new-driver");
        let options = options.replace("NEW", "--offload-new-driver");
        let all = "-x hip -nogpuinc -nogpulib --hip-path=/nonexistent -O1 -c k.hip";
        let line = format!("{all} {options} --offload-arch={archs} -o");
        succeed(llvm("clang").current_dir(&folder).args(line.split(' ')).arg(&object));
        object
    });
    for ((.., images), line) in cases.iter().zip(pass(&objects)) {
        assert!(line.ends_with(&format!(", {images} images")), "{line}");
    }
}

/// The published files were compiled with clang 15 to 23 and CUDA 11.8 to 13.5.
/// tests/formats/real_files.rs tests their contents.
#[test(needs(&[Tool::PublishedRocm, Tool::PublishedRocrand, Tool::PublishedCuda]).slow())]
fn what_others_have_published_has_no_findings() {
    let names = published::ROCM.into_iter().chain([published::ROCRAND]).chain(published::CUDA);
    for line in pass(&names.map(published::path).collect::<Vec<_>>()) {
        assert!(line.ends_with(" images"), "{line}");
    }
}

#[test]
fn lines_and_statuses() {
    let folder = scratch::folder("offload-verify-lines");
    for (name, bytes) in [
        ("good", corpus_file("bundle/hip_dev.hipfb")),
        ("bad\n", replaced(&corpus_file("bundle/hip_dev.hipfb"), "gfx1100", "gfx1030")),
        ("text", b"no device code\n".to_vec()),
        ("zstd", corpus_file("compressed/v3_zstd.ccob")),
        ("lto", corpus_file("nv_fatbin/lto.fatbin")),
    ] {
        scratch::write(folder.join(name), bytes);
    }
    // Make the PTX a multiple of 8 bytes long, so that no padding with NULs follows it.
    let mut ptx = image("saxpy.compute_80.ptx");
    ptx.resize(ptx.len().next_multiple_of(8), b'\n');
    let ptx = (StatedKind::PTX, OffloadKind::CUDA, &[("arch", "compute_80")][..], &ptx[..]);
    scratch::write(folder.join("ptx"), binary(Version::V1, &[ptx; 2]));
    let code_object = image("saxpy.gfx90a.hsaco");
    let of_hip = hip_bundle(64, &[("hip-amdgcn-amd-amdhsa--gfx90a", &code_object)]);
    scratch::write(folder.join("hip"), of_hip);
    // If a file is missing, the other files must be checked.
    let lines = "
        cargo-offload verify bad*
        cargo-offload verify good bad*
        cargo-offload verify --quiet good bad*
        cargo-offload verify -q good
        cargo-offload verify missing good
        cargo-offload verify text
        cargo-offload verify --max-size=1000 zstd
        cargo-offload verify --notes lto
        cargo-offload verify -n ptx
        cargo-offload verify -n hip";
    assert_session(&folder, "verify", lines);
}

/// Tests the check that compares parameters of kernels with the same name in a pack's images.
#[test]
fn parameters() {
    let folder = scratch::folder("offload-verify-parameters");
    let pack = |name: &str, images: &[(&str, &str, &[u8])]| {
        let pack = images.iter().flat_map(|(module, target, image)| {
            let is_amd = target.starts_with("gfx");
            let kind = if is_amd { OffloadKind::HIP } else { OffloadKind::CUDA };
            let strings = [("arch", *target), ("module", *module)];
            let strings = &strings[..if module.is_empty() { 1 } else { 2 }];
            binary(Version::V1, &[(StatedKind::NONE, kind, strings, image)])
        });
        scratch::write(folder.join(name), pack.collect::<Vec<u8>>());
    };
    let (amd, cubin, ptx) =
        (image("saxpy.gfx90a.hsaco"), image("saxpy.sm_90.cubin"), image("saxpy.compute_80.ptx"));
    let wide = replaced(&ptx, ".param .u32 saxpy_param_0", ".param .u64 saxpy_param_0");
    let [amd, cubin, ptx, wide] = [&amd, &cubin, &ptx, &wide].map(|it| &it[..]);
    // Only some images have AMD's hidden arguments, and the names and types of parameters. Such
    // differences must not be reported.
    pack("alike", &[("", "gfx90a", amd), ("", "sm_90", cubin), ("", "compute_80", ptx)]);
    pack("wide", &[("", "gfx90a", amd), ("", "compute_80", wide), ("", "sm_90", cubin)]);
    // Kernels in different modules or packs must not be compared. In `packs`, the second image for
    // gfx90a begins a second pack.
    pack("modules", &[("one", "gfx90a", amd), ("two", "compute_80", wide)]);
    let second = [("", "gfx90a", &b"none"[..]), ("", "compute_80", wide)];
    pack("packs", &[&[("", "gfx90a", amd), ("", "sm_90", cubin)][..], &second].concat());
    let pair = |name: &str, parameters: [&str; 2]| {
        let [one, two] = [0, 1].map(|at| {
            let (arch, parameters) = (80 + 10 * at, parameters[at]);
            let head = format!(".version 8.0\n.target sm_{arch}\n.address_size 64\n");
            format!("{head}.visible .entry k({parameters}) {{ ret; }}\n")
        });
        pack(name, &[("", "compute_80", one.as_bytes()), ("", "compute_90", two.as_bytes())]);
    };
    // Parameters aligned to more than 16 bytes have different offsets on different architectures,
    // so they must not be compared.
    pair("over_aligned", [".param .u32 a, .param .align 128 .b8 s[128], .param .u32 b"; 2]);
    pair("one_more", [".param .u32 a", ".param .u32 a, .param .u32 b"]);
    let bytes = ".param .u32 a, .param .b8 b[4]";
    pair("aligned", [bytes, ".param .u32 a, .param .align 8 .b8 b[4]"]);
    pair("same_places", [bytes, ".param .align 4 .b8 a[4], .param .f32 b"]);
    // Without --notes, the difference must not be reported. Some notes come from other checks.
    let lines = "
        verify -n alike
        verify wide
        verify -n wide
        verify -n modules
        verify -n packs
        verify -n over_aligned
        verify -n one_more
        verify -n aligned
        verify -n same_places";
    assert_transcript(&folder, "verify_parameters", lines);
}

/// Asserts that, for files with random damage, the program exits normally and prints a line about
/// each file.
#[test]
fn damaged_files() {
    let folder = scratch::folder("offload-verify-damaged");
    let mut random = Random::new(11);
    let files: Vec<PathBuf> = corpus_folders().iter().flat_map(|folder| corpus(folder)).collect();
    let damaged: Vec<PathBuf> = (0..300).map(|number| folder.join(format!("{number}"))).collect();
    for file in &damaged {
        let mut bytes = read(&files[random.below(files.len())]);
        for _ in 0..=random.below(4) {
            if let Some(last) = bytes.len().checked_sub(1) {
                let at = random.below(last + 1);
                bytes[at] = random.pick(&[0, 1, 0x7f, 0x80, 0xff, bytes[at] ^ 1]);
            }
        }
        if random.below(4) == 0 {
            bytes.truncate(random.below(bytes.len() + 1));
        }
        scratch::write(file, &bytes);
    }
    let (status, lines) = verify("--max-size=64M", &damaged);
    assert_eq!(status, 1, "{lines:#?}");
    let mut found = 0;
    for file in &damaged {
        let start = format!("{}: ", file.display());
        let mut printed = lines.iter().filter(|line| line.starts_with(&start));
        let first = printed.next().unwrap_or_else(|| panic!("nothing about {}", file.display()));
        found += u32::from(!first.contains(": ok: "));
    }
    assert!(found > 50, "{found}");
}
