//! Target IDs of code objects' headers, compared with AMD's `libamd_comgr`.

use super::corpus;
use offload_format::image::Image;
use offload_tests::prelude::*;
use offload_tests::tools::shared_library;

offload_tests::tests! {
    needs(&[Tool::Comgr]) => [target_ids_as_comgr_reads_them],
}

/// Tests every combination of `e_flags` of versions 3 and 4 for each processor that comgr 2.4
/// supports.
fn target_ids_as_comgr_reads_them() {
    const DATA_KIND_EXECUTABLE: u32 = 8;
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Data(u64);
    type Create = unsafe extern "C" fn(u32, *mut Data) -> u32;
    type Set = unsafe extern "C" fn(Data, usize, *const u8) -> u32;
    type Name = unsafe extern "C" fn(Data, *mut usize, *mut u8) -> u32;
    type Release = unsafe extern "C" fn(Data) -> u32;
    shared_library("libamd_comgr.so.2").unwrap();
    // SAFETY: loading AMD's library runs its initialisers, which have no requirements. No other
    // test of this program uses the library.
    let library = std::mem::ManuallyDrop::new(
        unsafe { libloading::Library::new("libamd_comgr.so.2") }.unwrap(),
    );
    let isa_name = |image: &[u8]| {
        // SAFETY: the types match those of amd_comgr.h, version 2; the library's file name contains
        // this version. The library copies the image, and the name's buffer has the size that the
        // library has reported.
        unsafe {
            let mut data = Data(0);
            let create = library.get::<Create>("amd_comgr_create_data").unwrap();
            assert_eq!(create(DATA_KIND_EXECUTABLE, &mut data), 0);
            let set = library.get::<Set>("amd_comgr_set_data").unwrap();
            assert_eq!(set(data, image.len(), image.as_ptr()), 0);
            let get = library.get::<Name>("amd_comgr_get_data_isa_name").unwrap();
            let mut size = 0;
            let known = get(data, &mut size, std::ptr::null_mut()) == 0;
            let mut name = vec![0; size];
            assert!(!known || get(data, &mut size, name.as_mut_ptr()) == 0);
            let release = library.get::<Release>("amd_comgr_release_data").unwrap();
            assert_eq!(release(data), 0);
            let name = String::from_utf8(name).unwrap();
            known.then(|| {
                name.trim_end_matches('\0').trim_start_matches("amdgcn-amd-amdhsa--").to_owned()
            })
        }
    };
    let mut data = read(corpus("v3.hsaco"));
    let mut compared = 0;
    for processor in offload_format::target::amdgpu::PROCESSORS {
        // Compilers set no bit for a missing feature, and in version 4 never write 0 for an
        // existing one.
        let has = |feature| processor.features.contains(&feature);
        for version in [3, 4] {
            let of = |feature, shift: u32| match (version, has(feature)) {
                (_, false) => vec![0],
                (3, true) => vec![0, 1 << (8 + shift)],
                (_, true) => vec![1 << (8 + 2 * shift), 2 << (8 + 2 * shift), 3 << (8 + 2 * shift)],
            };
            for xnack in of("xnack", 0) {
                for sramecc in of("sramecc", 1) {
                    let flags: u32 = u32::from(processor.mach) | xnack | sramecc;
                    data[8] = version - 2;
                    data[48..52].copy_from_slice(&flags.to_le_bytes());
                    let Ok(Image::CodeObject(header)) = Image::parse(&data) else {
                        panic!("{flags:#x}")
                    };
                    let Some(theirs) = isa_name(&data) else { continue };
                    assert_eq!(
                        header.target_id().map(|id| id.to_string()),
                        Some(theirs),
                        "version {version}, flags {flags:#x}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 90, "{compared}");
}
