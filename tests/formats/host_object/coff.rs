//! COFF objects, tested with LLVM's and GNU's readers, with `lld-link` and GNU ld, and in the
//! images that they link. No program is run.

use super::*;
use offload_format::section::DeviceSection;

offload_tests::tests! {
    LLVM => [
        coff_readers_agree_on_the_library, coff_llvm_objdump_lists_the_images,
        coff_images_that_refer_to_it_have_it, coff_images_that_do_not_use_it_do_not,
    ],
    LLVM.slow() => [coff_readers_agree_on_the_object],
    needs(&[Tool::Llvm22, Tool::GnuPe]) => [coff_gnu_ld_links_it],
}

struct Host {
    arch: &'static str,
    triple: &'static str,
    /// The values of `Format` and `Machine`, as llvm-readobj prints them.
    format: &'static str,
    machine: &'static str,
    /// The options that `lld-link` needs in addition to files.
    options: &'static str,
}

const X86_64_MSVC: Host = Host {
    arch: "x86_64",
    triple: "x86_64-pc-windows-msvc",
    format: "COFF-x86-64",
    machine: "IMAGE_FILE_MACHINE_AMD64 (0x8664)",
    options: "/machine:x64",
};
const ARM64_MSVC: Host = Host {
    arch: "aarch64",
    triple: "aarch64-pc-windows-msvc",
    format: "COFF-ARM64",
    machine: "IMAGE_FILE_MACHINE_ARM64 (0xAA64)",
    options: "/machine:arm64",
};
const X86_64_GNU: Host =
    Host { triple: "x86_64-pc-windows-gnu", options: "/machine:x64 /lldmingw", ..X86_64_MSVC };
const HOSTS: [Host; 3] = [X86_64_MSVC, ARM64_MSVC, X86_64_GNU];

impl Host {
    fn target(&self) -> Target {
        target(self.arch, "windows")
    }
}

fn coff_readers_agree_on_the_object() {
    let folder = scratch::folder("coff-fields");
    for host in &HOSTS {
        for_each_object(&folder, &host.target(), |section, size| {
            let (name, characteristics, align) = match section {
                DeviceSection::HipFatbin => {
                    (".hip_fatbin", "0x40D01040", "IMAGE_SCN_ALIGN_4096BYTES (0xD00000)")
                }
                DeviceSection::LlvmOffloading => {
                    (".llvm.offloading", "0x40401040", "IMAGE_SCN_ALIGN_8BYTES (0x400000)")
                }
            };
            let text = quiet(llvm("llvm-readobj"), &folder, "--all --sections --symbols offload.o");
            // The name is in the string table, and the header contains its offset: "/4".
            let expected = format!(
                "Format: {}
                Machine: {}
                SectionCount: 1
                TimeDateStamp: 1970-01-01 00:00:00 (0x0)
                SymbolCount: 3
                Name: {name} (2F 34 00 00 00 00 00 00)
                RawDataSize: {size}
                Characteristics [ ({characteristics})
                {align}
                IMAGE_SCN_CNT_INITIALIZED_DATA (0x40)
                IMAGE_SCN_LNK_COMDAT (0x1000)
                IMAGE_SCN_MEM_READ (0x40000000)
                Length: {size}
                Selection: NoDuplicates (0x1)
                Name: {}
                StorageClass: External (0x2)",
                host.format,
                host.machine,
                symbol(section)
            );
            assert_lines(&text, &expected);
            name.to_owned()
        });
    }
}

fn coff_readers_agree_on_the_library() {
    let folder = scratch::folder("coff-library");
    for host in &HOSTS {
        for_each_library(&folder, &host.target(), |symbol| {
            // llvm-lib, another name of llvm-ar, takes the place of Microsoft's `lib` in this test.
            assert_eq!(quiet(llvm("llvm-lib"), &folder, "/list libpack.a"), "offload.o\n");
            format!("{symbol} in offload.o\n00000000 R {symbol}")
        });
    }
}

fn coff_llvm_objdump_lists_the_images() {
    let folder = scratch::folder("coff-offloading");
    let (pack, listing) = llvm_pack();
    for host in &HOSTS {
        let object = object(&host.target(), DeviceSection::LlvmOffloading, &pack);
        scratch::write(folder.join("offload.o"), object);
        // Does not check for messages: llvm-objdump prints one about HIP's bundles for every COFF
        // file.
        let mut objdump = llvm("llvm-objdump");
        let output = succeed(objdump.current_dir(&folder).args(["--offloading", "offload.o"]));
        let mut lines = plain(&stdout(&output));
        lines.retain(|line| !line.is_empty());
        assert_eq!(lines[1..], plain(&listing), "{}", host.triple);
    }
}

const LIBRARIES: &str = "liboffload_pack_hip.a liboffload_pack_hip_2.a liboffload_pack_llvm.a";

/// Returns the addresses of the packs in an image. `symbol` and `address` are the columns of the
/// listing with the symbol and its address.
fn addresses(listing: &str, symbol: usize, address: usize) -> [u64; 3] {
    let lines = listing.lines().map(|line| line.split_whitespace().collect());
    let lines: Vec<Vec<&str>> = lines.collect();
    three_packs().map(|(_, name, _)| {
        let line = lines.iter().find(|line| line.get(symbol) == Some(&name));
        let line = line.unwrap_or_else(|| panic!("no {name} in\n{listing}"));
        u64::from_str_radix(line[address], 16).unwrap()
    })
}

/// Links the libraries and `inputs` with `lld-link` to a file called `image`.
fn link(folder: &Path, host: &Host, inputs: &str) -> Vec<u8> {
    let options = format!("{} /nodefaultlib /wx /out:image", host.options);
    quiet(llvm("lld-link"), folder, &format!("{options} {LIBRARIES} {inputs}"));
    read(folder.join("image"))
}

fn coff_images_that_refer_to_it_have_it() {
    let folder = scratch::folder("coff-images");
    for host in &HOSTS {
        write_inputs(&folder, &host.target(), host.triple);
        for (kind, options) in
            [("dll", "/dll /noentry /export:entry"), ("exe", "/entry:entry /subsystem:console")]
        {
            for mode in ["/opt:ref,icf", "/opt:noref", "/debug /opt:ref"] {
                let what = format!("{} {kind} {mode}", host.triple);
                let image = link(&folder, host, &format!("{options} {mode} user.o /map:map"));
                // The columns are section and offset, symbol, address, object.
                let addresses = addresses(&fs::read_to_string(folder.join("map")).unwrap(), 1, 2);
                assert_has_packs(&image, addresses, [".hip_fat", ".llvm"], &what);
                let exported = quiet(llvm("llvm-readobj"), &folder, "--coff-exports image");
                assert!(!exported.contains("offload_pack"), "{what}: {exported}");
                assert_eq!(exported.contains("Name: entry"), kind == "dll", "{what}: {exported}");
            }
        }
    }
}

fn coff_images_that_do_not_use_it_do_not() {
    let folder = scratch::folder("coff-unused");
    for host in &HOSTS {
        write_inputs(&folder, &host.target(), host.triple);
        for (mode, expected) in [("/opt:ref", &[][..]), ("/opt:noref", &DeviceSection::ALL)] {
            let options = format!("/dll /noentry /export:entry {mode} no_user.o");
            let found = device_sections(&link(&folder, host, &options));
            assert_eq!(found, expected, "{} {mode}", host.triple);
        }
    }
}

fn coff_gnu_ld_links_it() {
    let folder = scratch::folder("coff-gnu");
    write_inputs(&folder, &X86_64_GNU.target(), X86_64_GNU.triple);
    let link = |program: &str| {
        let options = "-m i386pep -e entry --gc-sections --fatal-warnings";
        let options = format!("{options} {program} {LIBRARIES} -o image");
        quiet(Command::new("ld.bfd"), &folder, &options);
        read(folder.join("image"))
    };
    let image = link("user.o");
    // The columns are address, kind and symbol.
    let symbols = quiet(Command::new("nm"), &folder, "image");
    assert_has_packs(&image, addresses(&symbols, 2, 0), [".hip_fat", ".llvm.of"], "user.o");
    assert_eq!(device_sections(&link("no_user.o")), []);
}
