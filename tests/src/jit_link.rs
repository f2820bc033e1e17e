//! nvJitLink, the linker of NVIDIA that programs call at run time. From a fatbin's images,
//! nvJitLink selects one for a named GPU, which need not be in this machine.

use crate::tools::cuda_library;
use libloading::Library;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

type Handle = *mut c_void;

/// The library nvJitLink.
#[derive(Debug)]
pub struct JitLink(Library);

impl JitLink {
    /// Loads the library. Requires `Tool::NvJitLink`.
    pub fn load() -> Self {
        let path = cuda_library("libnvJitLink.so.13").expect("Tool::NvJitLink was checked");
        // SAFETY: loading the library runs none of our code. Its functions are called with the
        // types that its header declares.
        Self(unsafe { Library::new(path) }.unwrap())
    }

    /// Links a fatbin for a GPU, or returns `None` if none of the fatbin's images fits.
    pub fn link(&self, fatbin: &[u8], gpu: &str) -> Option<Vec<u8>> {
        self.link_all(&[fatbin], gpu)
    }

    /// Links several fatbins for a GPU, or returns `None` if one of them has no image that fits.
    pub fn link_all(&self, fatbins: &[&[u8]], gpu: &str) -> Option<Vec<u8>> {
        type Create = unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> c_int;
        type Add =
            unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> c_int;
        type Complete = unsafe extern "C" fn(Handle) -> c_int;
        type GetSize = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
        type Get = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;
        type Destroy = unsafe extern "C" fn(*mut Handle) -> c_int;
        const FATBIN: c_int = 4;
        let option = CString::new(format!("-arch={gpu}")).unwrap();
        let options = [option.as_ptr()];
        let mut handle: Handle = ptr::null_mut();
        // SAFETY: the types are those of nvJitLink.h. Every pointer refers to memory that outlives
        // the call and has the size that is passed to the call.
        unsafe {
            let create = self.0.get::<Create>(b"nvJitLinkCreate").unwrap();
            assert_eq!(create(&mut handle, 1, options.as_ptr()), 0, "{gpu}");
            let add = self.0.get::<Add>(b"nvJitLinkAddData").unwrap();
            let is_added = fatbins.iter().all(|fatbin| {
                add(handle, FATBIN, fatbin.as_ptr().cast(), fatbin.len(), c"ours".as_ptr()) == 0
            });
            let linked = is_added.then(|| {
                let complete = self.0.get::<Complete>(b"nvJitLinkComplete").unwrap();
                assert_eq!(complete(handle), 0, "{gpu}");
                let size_of = self.0.get::<GetSize>(b"nvJitLinkGetLinkedCubinSize").unwrap();
                let mut size = 0;
                assert_eq!(size_of(handle, &mut size), 0, "{gpu}");
                let mut cubin = vec![0; size];
                let get = self.0.get::<Get>(b"nvJitLinkGetLinkedCubin").unwrap();
                assert_eq!(get(handle, cubin.as_mut_ptr().cast()), 0, "{gpu}");
                cubin
            });
            self.0.get::<Destroy>(b"nvJitLinkDestroy").unwrap()(&mut handle);
            linked
        }
    }
}
