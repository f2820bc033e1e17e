//! COFF objects, tested with LLVM's and GNU's readers, with `lld-link` and GNU ld, and in the
//! images that they link. No program is run.

use super::{
    NO_USER, USER, assert_line, library, llvm_pack, named_library, object, plain, quietly,
    section_bytes, some_bytes, symbol, target, three_packs,
};
use object::{Object, ObjectSection};
use offload_format::host_object::CargoTarget;
use offload_format::section::{DeviceSection, ObjectFormat};
use offload_tests::registry::{LLVM, needs};
use offload_tests::scratch;
use offload_tests::tools::{Tool, llvm};
use std::fs;
use std::path::Path;
use std::process::Command;

offload_tests::tests! {
    LLVM => [
        coff_readers_agree_on_the_object,
        coff_readers_agree_on_the_library,
        coff_llvm_objdump_lists_the_images,
        coff_images_that_refer_to_it_have_it,
        coff_images_that_do_not_use_it_do_not,
    ],
    needs(&[Tool::Llvm22, Tool::GnuPe]) => [coff_gnu_ld_links_it],
}

struct Host {
    arch: &'static str,
    triple: &'static str,
    /// The values of `Format` and `Machine`, as llvm-readobj prints them.
    format: &'static str,
    machine: &'static str,
    /// The options that `lld-link` needs in addition to files.
    options: &'static [&'static str],
}

const HOSTS: [Host; 3] = [
    Host {
        arch: "x86_64",
        triple: "x86_64-pc-windows-msvc",
        format: "COFF-x86-64",
        machine: "IMAGE_FILE_MACHINE_AMD64 (0x8664)",
        options: &["/machine:x64"],
    },
    Host {
        arch: "aarch64",
        triple: "aarch64-pc-windows-msvc",
        format: "COFF-ARM64",
        machine: "IMAGE_FILE_MACHINE_ARM64 (0xAA64)",
        options: &["/machine:arm64"],
    },
    Host {
        arch: "x86_64",
        triple: "x86_64-pc-windows-gnu",
        format: "COFF-x86-64",
        machine: "IMAGE_FILE_MACHINE_AMD64 (0x8664)",
        options: &["/machine:x64", "/lldmingw"],
    },
];

impl Host {
    fn target(&self) -> CargoTarget<'static> {
        target(self.arch, "windows")
    }
}

fn coff_readers_agree_on_the_object() {
    let folder = scratch::folder("coff-fields");
    for host in &HOSTS {
        for section in DeviceSection::ALL {
            for size in [0, 1, 7, 8, 4095, 4096, 100_001] {
                let payload = some_bytes(size);
                let file = folder.join("offload.o");
                scratch::write(&file, object(&host.target(), section, &payload));
                let text = quietly(
                    llvm("llvm-readobj").args(["--all", "--sections", "--symbols"]).arg(&file),
                );
                let lines = plain(&text);

                assert_line(&lines, &format!("Format: {}", host.format));
                assert_line(&lines, &format!("Machine: {}", host.machine));
                assert_line(&lines, "SectionCount: 1");
                assert_line(&lines, "TimeDateStamp: 1970-01-01 00:00:00 (0x0)");
                assert_line(&lines, "SymbolCount: 3");
                let (name, characteristics, align) = match section {
                    DeviceSection::HipFatbin => {
                        (".hip_fatbin", "0x40D01040", "IMAGE_SCN_ALIGN_4096BYTES (0xD00000)")
                    }
                    DeviceSection::LlvmOffloading => {
                        (".llvm.offloading", "0x40401040", "IMAGE_SCN_ALIGN_8BYTES (0x400000)")
                    }
                };
                // The name is in the string table, and the header contains its offset: "/4".
                assert_line(&lines, &format!("Name: {name} (2F 34 00 00 00 00 00 00)"));
                assert_line(&lines, &format!("RawDataSize: {size}"));
                assert_line(&lines, &format!("Characteristics [ ({characteristics})"));
                assert_line(&lines, align);
                assert_line(&lines, "IMAGE_SCN_CNT_INITIALIZED_DATA (0x40)");
                assert_line(&lines, "IMAGE_SCN_LNK_COMDAT (0x1000)");
                assert_line(&lines, "IMAGE_SCN_MEM_READ (0x40000000)");
                assert_line(&lines, &format!("Length: {size}"));
                assert_line(&lines, "Selection: NoDuplicates (0x1)");
                assert_line(&lines, &format!("Name: {}", symbol(section)));
                assert_line(&lines, "StorageClass: External (0x2)");

                let bytes = section_bytes(&folder, "offload.o", name);
                assert!(bytes == payload, "{} {name} {size}", host.arch);
            }
        }
    }
}

fn coff_readers_agree_on_the_library() {
    let folder = scratch::folder("coff-library");
    let file = folder.join("libpack.a");
    for host in &HOSTS {
        for section in DeviceSection::ALL {
            scratch::write(&file, library(&host.target(), section, &some_bytes(4097)));
            let symbol = symbol(section);
            let map = quietly(llvm("llvm-nm").arg("--print-armap").arg(&file));
            assert_line(&plain(&map), &format!("{symbol} in offload.o"));
            assert_line(&plain(&map), &format!("00000000 R {symbol}"));
            // llvm-lib, another name of llvm-ar, takes the place of Microsoft's `lib` in this test.
            assert_eq!(quietly(llvm("llvm-lib").arg("/list").arg(&file)), "offload.o\n");
        }
    }
}

fn coff_llvm_objdump_lists_the_images() {
    let folder = scratch::folder("coff-offloading");
    let (pack, listing) = llvm_pack();
    for host in &HOSTS {
        scratch::write(
            folder.join("offload.o"),
            object(&host.target(), DeviceSection::LlvmOffloading, &pack),
        );
        // Does not check for messages: llvm-objdump prints one about HIP's bundles for every COFF
        // file.
        let output = llvm("llvm-objdump")
            .current_dir(&folder)
            .args(["--offloading", "offload.o"])
            .output()
            .unwrap();
        let lines = plain(&String::from_utf8(output.stdout).unwrap());
        let lines: Vec<_> = lines.into_iter().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines[1..], plain(&listing), "{}", host.triple);
    }
}

/// Writes the libraries of [`three_packs`], and the two programs' objects.
fn write_inputs(folder: &Path, host: &Host) {
    for (section, symbol, pack) in three_packs() {
        scratch::write(
            folder.join(format!("{symbol}.lib")),
            named_library(&host.target(), section, symbol, &pack),
        );
    }
    for (name, source) in [("user", USER), ("no_user", NO_USER)] {
        scratch::write(folder.join(format!("{name}.c")), source);
        let mut clang = llvm("clang");
        clang.current_dir(folder).arg(format!("--target={}", host.triple)).args([
            "-c",
            "-O1",
            "-ffunction-sections",
        ]);
        quietly(clang.args(["-ffreestanding", &format!("{name}.c"), "-o", &format!("{name}.obj")]));
    }
}

const LIBRARIES: [&str; 3] =
    ["offload_pack_hip.lib", "offload_pack_hip_2.lib", "offload_pack_llvm.lib"];

/// Returns the addresses of the packs in an image. `symbol` and `address` are the columns of the
/// listing with the symbol and its address.
fn addresses(listing: &str, symbol: usize, address: usize) -> Vec<u64> {
    let lines: Vec<Vec<&str>> =
        listing.lines().map(|line| line.split_whitespace().collect()).collect();
    let address_of = |name: &str| {
        let line = lines.iter().find(|line| line.get(symbol) == Some(&name));
        let line = line.unwrap_or_else(|| panic!("no {name} in\n{listing}"));
        u64::from_str_radix(line[address], 16).unwrap()
    };
    three_packs().iter().map(|(_, name, _)| address_of(name)).collect()
}

/// Checks that the packs are at these addresses, aligned, and in sections with these names.
fn check_image(image: &[u8], addresses: &[u64], names: [&str; 2], what: &str) {
    let image = object::File::parse(image).unwrap();
    for ((device, symbol, pack), &address) in three_packs().iter().zip(addresses) {
        let what = format!("{what}, {symbol} at {address:#x}");
        assert_eq!(address % device.align(), 0, "{what}");
        let of_pack = |section: &object::Section<'_, '_>| {
            (section.address()..section.address() + section.size()).contains(&address)
        };
        let section = image.sections().find(of_pack).expect(&what);
        let name = section.name().unwrap();
        assert_eq!(name, names[usize::from(*device == DeviceSection::LlvmOffloading)], "{what}");
        assert_eq!(
            DeviceSection::from_names(ObjectFormat::Coff, "", name),
            Some(*device),
            "{what}"
        );
        assert!(
            section.data_range(address, pack.len() as u64).unwrap() == Some(pack),
            "{what}: other bytes"
        );
    }
}

fn device_sections(image: &[u8]) -> Vec<DeviceSection> {
    let image = object::File::parse(image).unwrap();
    let name = |section: object::Section<'_, '_>| section.name().unwrap().to_owned();
    image
        .sections()
        .filter_map(|section| DeviceSection::from_names(ObjectFormat::Coff, "", &name(section)))
        .collect()
}

fn coff_images_that_refer_to_it_have_it() {
    let folder = scratch::folder("coff-images");
    for host in &HOSTS {
        write_inputs(&folder, host);
        let dll: &[&str] = &["/dll", "/noentry", "/export:entry"];
        let exe: &[&str] = &["/entry:entry", "/subsystem:console"];
        for (kind, options) in [("dll", dll), ("exe", exe)] {
            for mode in [&["/opt:ref,icf"][..], &["/opt:noref"], &["/debug", "/opt:ref"]] {
                let what = format!("{} {kind} {mode:?}", host.triple);
                let mut lld = llvm("lld-link");
                lld.current_dir(&folder)
                    .args(host.options)
                    .args(options)
                    .args(mode)
                    .args(LIBRARIES);
                quietly(lld.args(["user.obj", "/nodefaultlib", "/wx", "/map:map", "/out:image"]));
                let map = fs::read_to_string(folder.join("map")).unwrap();
                let image = fs::read(folder.join("image")).unwrap();
                // The columns are section and offset, symbol, address, object.
                check_image(&image, &addresses(&map, 1, 2), [".hip_fat", ".llvm"], &what);
                let exported = quietly(
                    llvm("llvm-readobj").current_dir(&folder).args(["--coff-exports", "image"]),
                );
                assert!(!exported.contains("offload_pack"), "{what}: {exported}");
                assert_eq!(exported.contains("Name: entry"), kind == "dll", "{what}: {exported}");
            }
        }
    }
}

fn coff_images_that_do_not_use_it_do_not() {
    let folder = scratch::folder("coff-unused");
    for host in &HOSTS {
        write_inputs(&folder, host);
        for (mode, has_it) in [("/opt:ref", false), ("/opt:noref", true)] {
            let mut lld = llvm("lld-link");
            lld.current_dir(&folder).args(host.options).args([
                "/dll",
                "/noentry",
                "/export:entry",
                mode,
            ]);
            quietly(lld.args(LIBRARIES).args([
                "no_user.obj",
                "/nodefaultlib",
                "/wx",
                "/out:image",
            ]));
            let image = fs::read(folder.join("image")).unwrap();
            let expected = if has_it { &DeviceSection::ALL[..] } else { &[] };
            assert_eq!(device_sections(&image), expected, "{} {mode}", host.triple);
        }
    }
}

fn coff_gnu_ld_links_it() {
    let folder = scratch::folder("coff-gnu");
    let host = HOSTS.iter().find(|host| host.triple.ends_with("gnu")).unwrap();
    write_inputs(&folder, host);
    for (program, has_it) in [("user.obj", true), ("no_user.obj", false)] {
        let mut ld = Command::new("ld.bfd");
        ld.current_dir(&folder).args([
            "-m",
            "i386pep",
            "-e",
            "entry",
            "--gc-sections",
            "--fatal-warnings",
        ]);
        quietly(ld.arg(program).args(LIBRARIES).args(["-o", "image"]));
        let image = fs::read(folder.join("image")).unwrap();
        if has_it {
            // The columns are address, kind and symbol.
            let symbols = quietly(Command::new("nm").current_dir(&folder).arg("image"));
            check_image(&image, &addresses(&symbols, 2, 0), [".hip_fat", ".llvm.of"], program);
        } else {
            assert_eq!(device_sections(&image), [])
        }
    }
}
