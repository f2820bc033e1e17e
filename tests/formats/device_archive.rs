//! Compares device-specific archives with those of `clang-offload-bundler -type=a -unbundle`: the
//! bytes must be equal.

use offload_format::ErrorKind;
use offload_format::archive::Archive;
use offload_format::bundle::{BundleBuilder, EntryId};
use offload_format::device_archive::{UnbundleOptions, unbundle};
use offload_tests::bundler;
use offload_tests::prelude::*;

const HOST: &str = "host-x86_64-unknown-linux-gnu";
const SM_70: &str = "openmp-nvptx64-nvidia-cuda--sm_70";

fn gfx(target_id: &str) -> String {
    format!("openmp-amdgcn-amd-amdhsa--{target_id}")
}

/// Returns our archives for these targets, extracted from the archive `hda`.
fn ours(hda: &[u8], targets: &[String]) -> Vec<Vec<u8>> {
    let archive = Archive::parse(hda).unwrap();
    let members = archive.members().map(|member| (member.name, member.data.unwrap()));
    let requested: Vec<_> = targets.iter().map(|target| EntryId::parse(target).unwrap()).collect();
    let archives = unbundle(members, &requested, &UnbundleOptions::default()).unwrap();
    archives.iter().map(|archive| archive.to_vec().unwrap()).collect()
}

/// Returns LLVM's archives for these targets, extracted from the file `hda.a`.
fn theirs(folder: &Path, targets: &[String]) -> Vec<Vec<u8>> {
    bundler::unbundled("-type=a -allow-missing-bundles", &folder.join("hda.a"), targets)
}

#[track_caller]
fn compare(folder: &Path, targets: &[String]) -> Vec<Vec<u8>> {
    let ours = ours(&read(folder.join("hda.a")), targets);
    for ((ours, theirs), target) in ours.iter().zip(theirs(folder, targets)).zip(targets) {
        assert_same_bytes(ours, &theirs, target);
    }
    ours
}

fn inside(archive: &[u8]) -> (Vec<String>, Vec<String>) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let members = Archive::parse(archive).unwrap().members().map(|member| text(member.name));
    (members.collect(), archive_symbols(archive).iter().map(|(name, _)| text(name)).collect())
}

#[test]
fn what_llvm_took() {
    let hda = corpus_file("archive/lib.a");
    for (target, file, members) in [
        (gfx("gfx906"), "out_gfx906.a", 1),
        (gfx("gfx906:sramecc+:xnack+"), "out_gfx906_full.a", 2),
        (SM_70.to_owned(), "out_sm70.a", 1),
        (HOST.to_owned(), "out_host.a", 2),
        (gfx("gfx90a"), "out_missing.a", 0),
    ] {
        let found = ours(&hda, core::slice::from_ref(&target));
        assert_same_bytes(&found[0], &corpus_file(&format!("archive/{file}")), &target);
        assert_eq!(inside(&found[0]).0.len(), members, "{target}");
    }
}

const AMDGPU: &str = "--target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib";

/// Returns a payload for each kind of device code in archives: bitcode, an object, a linked code
/// object, and unknown bytes.
fn payloads(folder: &Path) -> Vec<Vec<u8>> {
    let source = "int device_function(int x) { return x; } int device_variable = 3;\n";
    scratch::write(folder.join("device.c"), source);
    let compiled = ["-emit-llvm -c", "-c", "-fPIC"].map(|options| {
        let options = format!("{AMDGPU} -O1 {options} device.c -o device");
        run(llvm("clang"), folder, &options);
        read(folder.join("device"))
    });
    [vec![b"unknown bytes".to_vec()], compiled.to_vec()].concat()
}

fn host(folder: &Path) -> Vec<u8> {
    let source = "int host_function(int x) { return x; } static int local; int *p = &local;\n";
    scratch::write(folder.join("host.c"), source);
    run(llvm("clang"), folder, "--target=x86_64-linux-gnu -c host.c -o host.o");
    read(folder.join("host.o"))
}

fn archive(folder: &Path, names: &[impl AsRef<str>]) {
    let _ = fs::remove_file(folder.join("hda.a"));
    let names = names.iter().map(AsRef::as_ref);
    succeed(in_folder(llvm("llvm-ar"), folder, "qcSD hda.a").args(names));
}

#[test(LLVM)]
fn members_of_all_forms() {
    let folder = scratch::folder("device-archive-forms");
    let (host, payloads) = (host(&folder), payloads(&folder));
    let targets =
        [gfx("gfx90a"), gfx("gfx906:sramecc+:xnack-"), SM_70.into(), HOST.into(), gfx("gfx1100")];
    let forms: [(&str, &[u8], &str); 4] = [
        ("object.o", &host, "-type=o"),
        ("binary.bc", b"text for the host", "-type=bc"),
        ("compressed.bc", b"text for the host", "-type=bc -compress"),
        ("binary with host object.o", &host, "-type=bc"),
    ];
    for (number, (name, first, options)) in forms.iter().enumerate() {
        let mut entries = vec![(HOST.to_owned(), *first)];
        for (offset, target) in targets[..3].iter().enumerate() {
            entries.push((target.clone(), &payloads[(number + offset) % payloads.len()]));
        }
        bundler::bundle(&folder, options, &entries, name);
    }
    scratch::write(folder.join("plain.txt"), "no bundle");
    scratch::write(folder.join("empty"), "");
    scratch::write(folder.join("plain.o"), &host);
    let names =
        "plain.txt|object.o|binary.bc|empty|compressed.bc|plain.o|binary with host object.o";
    archive(&folder, &names.split('|').collect::<Vec<_>>());
    let found = compare(&folder, &targets);
    assert!(found[..4].iter().all(|archive| inside(archive).0.len() == 4));
    // The host's symbols come from two objects: one whose bundle has been stripped, and one inside
    // a binary bundle.
    assert_eq!(inside(&found[3]).1, ["host_function", "p", "host_function", "p"]);
    assert_eq!(inside(&found[0]).1.len(), 4);
    assert_eq!(found[4], b"!<arch>\n");
    // The ID of the code for gfx90a names no features, so it fits gfx90a with any features. One
    // call extracts the archives for several targets.
    compare(&folder, &[gfx("gfx90a:xnack+"), gfx("gfx90a:xnack-"), gfx("gfx90a:sramecc+:xnack+")]);
    compare(&folder, &[gfx("gfx906")]);
}

#[test(LLVM.slow())]
fn random_archives() {
    let folder = scratch::folder("device-archive-random");
    let (host, payloads) = (host(&folder), payloads(&folder));
    let mut random = Random::new(11);
    for _ in 0..12 {
        let mut names = Vec::new();
        for number in 0..1 + random.below(5) {
            let start = random.pick(&["m", "a longer name of a member ", "x.y"]);
            let name = format!("{start}{number}{}", random.pick(&["", ".o", ".bc"]));
            let mut entries: Vec<(String, &[u8])> = vec![(HOST.to_owned(), &host)];
            // Use one code object per processor. LLVM would order several code objects differently
            // in binary bundles.
            for processor in ["gfx906", "gfx908", "gfx90a"] {
                let features = ["", ":xnack+", ":xnack-", ":sramecc+:xnack-"][random.below(4)];
                if random.below(3) > 0 {
                    let payload = &payloads[random.below(payloads.len())];
                    entries.push((gfx(&format!("{processor}{features}")), payload));
                }
            }
            let options = random.pick(&["-type=o", "-type=bc", "-type=bc -compress"]);
            bundler::bundle(&folder, options, &entries, &name);
            names.push(name);
        }
        archive(&folder, &names);
        let targets =
            ["gfx906:sramecc+:xnack-", "gfx908:xnack+", "gfx908:xnack-", "gfx90a"].map(gfx);
        compare(&folder, &targets);
        compare(&folder, &[HOST.to_owned()]);
    }
}

#[test(LLVM)]
fn names_of_members() {
    let folder = scratch::folder("device-archive-names");
    let targets = [
        gfx("gfx906:sramecc+:xnack+"),
        SM_70.to_owned(),
        "hip-spirv64-amd-amdhsa--amdgcnspirv".to_owned(),
        "openmp-aarch64-unknown-linux-gnu-".to_owned(),
    ];
    let mut entries = vec![(HOST.to_owned(), &b""[..])];
    entries.extend(targets.iter().map(|target| (target.clone(), &b"code"[..])));
    let names = "a.o|name with.dots.o|noextension|.hidden|a:b.c|ends.|a.very_long_extension";
    let names: Vec<_> = names.split('|').collect();
    for name in &names {
        bundler::bundle(&folder, "-type=bc", &entries, name);
    }
    archive(&folder, &names);
    let found = compare(&folder, &targets);
    let name = |archive: usize, member: usize| inside(&found[archive]).0[member].clone();
    assert_eq!(name(0, 4), "a_b-openmp-amdgcn-amd-amdhsa--gfx906_sramecc+_xnack+a_b.bc");
    let cubin = "name with.dots-openmp-nvptx64-nvidia-cuda-unknown-sm_70name with.dots.cubin";
    assert_eq!(name(1, 1), cubin);
}

/// Tests that a linker finds the member that defines a symbol, which is the purpose of such
/// archives.
#[test(LLVM)]
fn linkers_take_ours() {
    let folder = scratch::folder("device-archive-link");
    let payloads = payloads(&folder);
    for (number, form) in [(1, "bitcode"), (2, "object")] {
        let entries = [(HOST.to_owned(), &b""[..]), (gfx("gfx90a"), &payloads[number])];
        bundler::bundle(&folder, "-type=bc -compress", &entries, "m.bc");
        archive(&folder, &["m.bc"]);
        let found = ours(&read(folder.join("hda.a")), &[gfx("gfx90a")]);
        scratch::write(folder.join("device.a"), &found[0]);
        let source = "int device_function(int);\n\
            __attribute__((amdgpu_kernel)) void kernel(int *p) { *p = device_function(*p); }\n";
        scratch::write(folder.join("use.c"), source);
        let options = format!("{AMDGPU} -Wl,--no-undefined use.c device.a -o linked");
        run(llvm("clang"), &folder, &options);
        let symbols = run(llvm("llvm-nm"), &folder, "linked");
        assert!(symbols.contains("kernel.kd"), "{form}: {symbols}");
    }
}

#[test]
fn entries_of_a_binary_bundle_stay_in_file_order() {
    let mut builder = BundleBuilder::new();
    let ids = [
        "hipv4-amdgcn-amd-amdhsa--gfx906",
        "hip-amdgcn-amd-amdhsa--gfx906:xnack+",
        "hip-amdgcn-amd-amdhsa1.2--gfx906",
    ];
    for id in ids {
        builder.entry(id, 1).unwrap();
    }
    let bundle = builder.layout().to_vec(&[b"1", b"2", b"3"]);
    let requested = [EntryId::parse("hip-amdgcn-amd-amdhsa--gfx906:xnack+").unwrap()];
    let found =
        unbundle([(&b"m"[..], &bundle[..])], &requested, &UnbundleOptions::default()).unwrap();
    assert_eq!(found[0].members().map(|(_, bytes)| bytes).collect::<Vec<_>>(), [b"1", b"2", b"3"]);
}

#[test]
fn malformed_members() {
    let requested = [EntryId::parse("hip-amdgcn-amd-amdhsa--gfx906").unwrap()];
    let found = |name: &[u8], data: &[u8]| {
        let members = [(&b"first"[..], &b"plain"[..]), (name, data)];
        let archives = unbundle(members, &requested, &UnbundleOptions::default());
        let archive = archives.and_then(|archives| archives[0].to_vec());
        archive.map(|it| inside(&it).0.len()).map_err(|error| error.to_string())
    };
    let mut good = 0;
    for file in ["bundle", "malformed", "compressed"].into_iter().flat_map(corpus) {
        let bytes = read(file);
        for length in (0..bytes.len()).step_by(1 + bytes.len() / 300).chain([bytes.len()]) {
            match found(b"m", &bytes[..length]) {
                Ok(members) => good += members,
                Err(error) => assert!(error.starts_with("entry 1, "), "{error}"),
            }
        }
    }
    assert!(good > 100, "{good}");

    let mut builder = BundleBuilder::new();
    builder.entry("hip-amdgcn-amd-amdhsa--gfx906", 24).unwrap();
    let object = builder.layout().to_vec(&[b"\x7fELF\x02\x01\x01 and nothing more"]);
    let error = "entry 0, symbol table of an object file is malformed (at offset 0)";
    assert_eq!(found(b"m", &object), Err(error.to_owned()));
    let bitcode = builder.layout().to_vec(&[b"BC\xc0\xde and nothing that is"]);
    assert_eq!(found(b"m", &bitcode), Ok(1), "bitcode that cannot be read has no symbols");
    let error = "entry 0, name of an archive member is malformed (at offset 0)";
    assert_eq!(found(b"line\nend", &bitcode), Err(error.to_owned()));
    let error = found(b"m", &corpus_file("malformed/bad_id.bc")).unwrap_err();
    assert!(error.starts_with("entry 1, bundle entry ID"), "{error}");
}

#[test(LLVM)]
fn no_more_memory_than_allowed() {
    let folder = scratch::folder("device-archive-limit");
    let code = vec![7; 100_000];
    let entries = [(HOST.to_owned(), &b""[..]), (gfx("gfx906"), &code), (gfx("gfx908"), &code)];
    let member = bundler::bundle(&folder, "-type=bc -compress", &entries, "m.bc");
    let [gfx906, gfx908] = ["gfx906", "gfx908"].map(gfx);
    let requested = [&gfx906, &gfx908].map(|id| EntryId::parse(id).unwrap());
    let mut options = UnbundleOptions::default();
    for (limit, fits) in [(1000, false), (201_000, true), (399_999, true), (401_000, true)] {
        options.limit = limit;
        let result = unbundle([(&b"m"[..], &member[..])], &requested, &options);
        assert_eq!(result.is_ok(), fits, "{limit}");
        // The archive contains the same member twice, so it has four code objects.
        let result = unbundle([(&b"m"[..], &member[..]), (b"n", &member)], &requested, &options);
        let kind = result.err().map(|error| error.kind());
        assert_eq!(kind.is_some(), limit < 400_000);
        assert!(matches!(kind, None | Some(ErrorKind::LimitExceeded { .. })), "{kind:?}");
    }
    // Copies of stripped host objects also count against the limit.
    options.limit = 100;
    let is_empty = |name: &[u8], member: &[u8], requested: &str| {
        let requested = [EntryId::parse(requested).unwrap()];
        let archives = unbundle([(name, member)], &requested, &options);
        archives.map(|archives| archives[0].is_empty()).map_err(|error| error.kind())
    };
    let is_limit = |found| matches!(found, Err(ErrorKind::LimitExceeded { limit: 100, .. }));
    let entries = [(HOST.to_owned(), &host(&folder)[..]), (gfx("gfx906"), &code)];
    let member = bundler::bundle(&folder, "-type=o", &entries, "m.o");
    assert!(is_limit(is_empty(b"m", &member, HOST)));
    // Borrowed code objects do not count against the limit. Their new names do, because each name
    // contains the member's name twice.
    assert_eq!(is_empty(b"m", &member, &gfx906), Ok(false));
    assert!(is_limit(is_empty(&[b'm'; 50], &member, &gfx906)));
}
