//! Tests reading fatbins from the library nvFatbin: with every compression, and for every host.

use super::*;
use libloading::{Library, Symbol};
use offload_format::nv_fatbin::{Compression, FatbinImageKind, HostOs};
use offload_format::target::NvidiaSuffix;
use offload_tests::tools::cuda_library;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

#[test(NV_FATBIN)]
fn nvfatbin_with_every_compression() {
    let library = NvFatbinLibrary::load();
    let images = all_images();
    let folder = scratch::folder("nv-fatbin-library");
    let ptx = extracted_ptx(&folder, &uncompressed(&folder, &images));
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
        let found = compressions(&theirs);
        assert!(found.iter().all(|(_, found)| *found == compression), "{options:?}: {found:?}");
        assert_are_inputs(&theirs, &images, &ptx, &format!("{options:?}"));
        if compression != Compression::None {
            let theirs = library.fatbin(&[options, &["-concat"]].concat(), &images);
            let found = compressions(&theirs);
            assert!(found.iter().any(|(kind, _)| *kind == FatbinImageKind::GROUP), "{options:?}");
            assert_are_inputs(&theirs, &images, &ptx, &format!("{options:?}, -concat"));
        }
    }
}

#[test(NV_FATBIN)]
fn nvfatbin_with_every_host() {
    let library = NvFatbinLibrary::load();
    let cases = [("linux", HostOs::Linux), ("mac", HostOs::MacOs), ("windows", HostOs::Windows)];
    for (option, host) in cases {
        let theirs = library.fatbin(&[&format!("-host={option}")], &all_images());
        assert!(images(&theirs).iter().all(|image| image.host() == Some(host)), "{option}");
    }
    let theirs = library.fatbin(&["-opencl", "-g"], &["ptx:90a:90a.ptx".to_owned()]);
    let image = images(&theirs)[0];
    assert_eq!((image.flags & 0x8, image.has_debug_info()), (0x8, true));
    assert_eq!((image.suffix(), image.name), (Some(NvidiaSuffix::ArchSpecific), &b"90a.ptx"[..]));
}

/// Tests only the images, because `golden`'s dumps contain these files' kinds, names and options.
#[test]
fn nvfatbin_of_cuda_12() {
    let unpacked = unpacked(&corpus_file("nv_fatbin/lz4_12.4.fatbin"));
    assert_same_bytes(&unpacked["elf:80"], &prebuilt("saxpy.sm_80.cubin"), "sm_80");
    assert_same_bytes(&unpacked["elf:90"], &prebuilt("saxpy.sm_90.cubin"), "sm_90");
}

#[test]
fn lto_ir() {
    let theirs = corpus_file("nv_fatbin/lto.fatbin");
    let image = images(&theirs)[1];
    assert_eq!((image.arch(), image.compute_capability), (None, 80));
    assert!(image.options.starts_with(b"-ftz=0 "), "{image:?}");
}

/// Tests a cubin that is longer than LZ4's blocks and window, and of which only parts repeat.
#[test(NV_FATBIN)]
fn a_large_cubin_with_every_compression() {
    let folder = scratch::folder("nv-fatbin-large");
    let mut random = Random::new(7);
    let mut data = random.bytes(70_000);
    data.extend(vec![9; 70_000]);
    data.extend(random.bytes(20_000));
    data.extend_from_within(140_000..);
    data.extend(random.bytes(300));
    let mut text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .b8 d[{}] = {{",
        data.len()
    );
    text += &data.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
    text += "};\n";
    scratch::write(folder.join("large.ptx"), &text);
    run(cuda("ptxas"), &folder, "-arch sm_90 large.ptx -o large.cubin");
    let cubin = read(folder.join("large.cubin"));
    assert!(cubin.windows(1000).any(|window| window == &data[69_500..70_500]));
    let library = NvFatbinLibrary::load();
    for algorithm in 1..=5 {
        let image = format!("elf:90:{}", folder.join("large.cubin").display());
        let theirs =
            library.fatbin(&["-compress-all", &format!("-compress-algo={algorithm}")], &[image]);
        assert!(theirs.len() < 120_000, "{algorithm}");
        assert_same_bytes(&unpacked(&theirs)["elf:90"], &cubin, &format!("algorithm {algorithm}"));
    }
}

type Handle = *mut c_void;
type Text = *const c_char;
type Create = unsafe extern "C" fn(*mut Handle, *const Text, usize) -> c_int;
type AddPtx = unsafe extern "C" fn(Handle, *const c_void, usize, Text, Text, Text) -> c_int;
type AddCubin = unsafe extern "C" fn(Handle, *const c_void, usize, Text, Text) -> c_int;
type Size = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Get = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Handle) -> c_int;

/// The library nvFatbin. Its functions are named as in its header.
struct NvFatbinLibrary(Library);

impl NvFatbinLibrary {
    fn load() -> Self {
        let path = cuda_library("libnvfatbin.so.13").expect("Tool::NvFatbin was checked");
        // SAFETY: loading the library runs none of our code; its functions are called with the
        // types in its header.
        Self(unsafe { Library::new(path) }.unwrap())
    }

    /// Returns a fatbin of images, which are specified like [`fatbinary`]'s arguments. Each image
    /// is named after its file.
    fn fatbin(&self, options: &[&str], images: &[String]) -> Vec<u8> {
        let options: Vec<_> = options.iter().map(|option| CString::new(*option).unwrap()).collect();
        let options: Vec<Text> = options.iter().map(|option| option.as_ptr()).collect();
        let mut handle: Handle = ptr::null_mut();
        // SAFETY: the types are those of nvFatbin.h. Every pointer refers to memory that lives
        // during the call and has the size passed to the call. PTX includes its NUL.
        unsafe {
            let create: Symbol<Create> = self.0.get(b"nvFatbinCreate").unwrap();
            let add_ptx: Symbol<AddPtx> = self.0.get(b"nvFatbinAddPTX").unwrap();
            let add_cubin: Symbol<AddCubin> = self.0.get(b"nvFatbinAddCubin").unwrap();
            let size_of: Symbol<Size> = self.0.get(b"nvFatbinSize").unwrap();
            let get: Symbol<Get> = self.0.get(b"nvFatbinGet").unwrap();
            let destroy: Symbol<Destroy> = self.0.get(b"nvFatbinDestroy").unwrap();

            assert_eq!(create(&mut handle, options.as_ptr(), options.len()), 0);
            for image in images {
                let [kind, arch, file] = parts(image);
                let mut bytes = input(file);
                let names = [arch, file].map(|name| CString::new(name).unwrap());
                let [arch, name] = names.each_ref().map(|name| name.as_ptr());
                let result = if kind == "ptx" {
                    bytes.push(0);
                    add_ptx(handle, bytes.as_ptr().cast(), bytes.len(), arch, name, c"".as_ptr())
                } else {
                    add_cubin(handle, bytes.as_ptr().cast(), bytes.len(), arch, name)
                };
                assert_eq!(result, 0, "{image}");
            }
            let mut size = 0;
            assert_eq!(size_of(handle, &mut size), 0);
            let mut fatbin = vec![0; size];
            assert_eq!(get(handle, fatbin.as_mut_ptr().cast()), 0);
            destroy(&mut handle);
            fatbin
        }
    }
}
