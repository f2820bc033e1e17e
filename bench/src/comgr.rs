//! Calls of AMD's library comgr: only the function that finds a code object in a bundle.

use libloading::Library;
use std::ffi::{CString, c_char};

/// `amd_comgr_data_t`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Data {
    handle: u64,
}

/// `amd_comgr_code_object_info_t`.
#[repr(C)]
struct CodeObjectInfo {
    isa: *const c_char,
    size: usize,
    offset: u64,
}

/// `AMD_COMGR_DATA_KIND_FATBIN`.
const KIND_FATBIN: u32 = 0x10;

/// AMD's library `libamd_comgr`, and its functions that the bench calls.
pub struct Comgr {
    create_data: unsafe extern "C" fn(u32, *mut Data) -> u32,
    set_data: unsafe extern "C" fn(Data, usize, *const c_char) -> u32,
    release_data: unsafe extern "C" fn(Data) -> u32,
    lookup: unsafe extern "C" fn(Data, *mut CodeObjectInfo, usize) -> u32,
    /// The loaded library, which must stay loaded while the functions are used.
    _library: Library,
}

impl Comgr {
    /// Loads `libamd_comgr.so.2` and looks up the functions.
    pub fn load() -> Result<Self, libloading::Error> {
        // SAFETY: loading AMD's library runs its initialisers, which have no requirements. The
        // types of the functions are those of amd_comgr.h, version 2, which is part of the
        // library's file name.
        unsafe {
            let library = Library::new("libamd_comgr.so.2")?;
            Ok(Self {
                create_data: *library.get("amd_comgr_create_data")?,
                set_data: *library.get("amd_comgr_set_data")?,
                release_data: *library.get("amd_comgr_release_data")?,
                lookup: *library.get("amd_comgr_lookup_code_object")?,
                _library: library,
            })
        }
    }

    /// Returns the offset of the code object that the library finds for a device.
    pub fn lookup(&self, bundle: &[u8], device: &str) -> Option<u64> {
        let isa = CString::new(format!("amdgcn-amd-amdhsa--{device}")).ok()?;
        let mut info = CodeObjectInfo { isa: isa.as_ptr(), size: 0, offset: 0 };
        let mut data = Data { handle: 0 };
        // SAFETY: a data object is made and given bytes with their length. It is used for one
        // query, whose output has room for one answer, and then released. Bytes and name live until
        // then.
        let found = unsafe {
            let found = (self.create_data)(KIND_FATBIN, &mut data) == 0
                && (self.set_data)(data, bundle.len(), bundle.as_ptr().cast()) == 0
                && (self.lookup)(data, &mut info, 1) == 0;
            (self.release_data)(data);
            found
        };
        (found && info.size > 0).then_some(info.offset)
    }
}
