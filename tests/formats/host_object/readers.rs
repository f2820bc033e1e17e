//! Reads our objects with LLVM's and GNU's readers, and compares our libraries with those of
//! archivers.

use super::any::HOSTS;
use super::*;

/// Compares the fields that LLVM's `obj2yaml` reads with `objects.txt`, which `BLESS=1` rewrites.
/// The other readers must print no message.
#[test(needs(&[Tool::Llvm22, Tool::Gcc]))]
fn objects_have_these_fields() {
    let folder = scratch::folder("host-object-fields");
    let mut found = String::new();
    for ((arch, os, format, _), section) in
        HOSTS.iter().flat_map(|host| DeviceSection::ALL.map(|section| (host, section)))
    {
        scratch::write(folder.join("it.o"), object(&target(arch, os), section, b"pack"));
        found += &format!("# {section:?} for {arch}, {os}\n");
        found += &quiet(llvm("obj2yaml"), &folder, "it.o");
        quiet(llvm("llvm-readobj"), &folder, "--all it.o");
        if *format == BinaryFormat::Elf {
            quiet(Command::new("readelf"), &folder, "--all --wide it.o");
        }
    }
    let path = scratch::workspace().join("tests/formats/host_object/objects.txt");
    assert_as_checked_in(&path, &found);
}

/// Compares our libraries with `llvm-ar`'s and, for this machine, with GNU `ar`'s. GNU's `ar` reads
/// objects only for the machines that it was built for.
#[test(needs(&[Tool::Llvm22, Tool::Gcc]))]
fn libraries_are_those_of_archivers() {
    let folder = scratch::folder("host-object-archivers");
    for (arch, os, format, _) in HOSTS {
        let kind = if format == BinaryFormat::MachO { "darwin" } else { "gnu" };
        let options = format!("--format={kind} rcsD llvm.a offload.o");
        let is_native = (arch, os) == (env::consts::ARCH, "linux");
        // The archive pads a member of odd size.
        for (section, size) in DeviceSection::ALL.into_iter().flat_map(|it| [(it, 100), (it, 101)])
        {
            let (host, symbol, pack) = (target(arch, os), symbol(section), some_bytes(1, size));
            let ours = library(&host, section, symbol, &pack);
            scratch::write(folder.join("offload.o"), object(&host, section, &pack));
            for name in ["llvm.a", "gnu.a"] {
                let _ = fs::remove_file(folder.join(name));
            }
            quiet(llvm("llvm-ar"), &folder, &options);
            let what = format!("{arch}, {os}, {section:?}, {size}");
            assert_same_bytes(&ours, &read(folder.join("llvm.a")), &what);
            if is_native {
                quiet(Command::new("ar"), &folder, "rcsD gnu.a offload.o");
                assert_same_bytes(&ours, &read(folder.join("gnu.a")), &what);
            }
        }
    }
}
