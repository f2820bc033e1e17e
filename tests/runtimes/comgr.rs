//! Tests that AMD's reader of HIP bundles, `libamd_comgr`, finds the image that our rules choose.
//! The HIP runtime passes the first bytes of a bundle and the name of the device to comgr. These
//! tests do the same, so they need no GPU.
//!
//! Because of the limits of comgr 2.4 (ROCm 5.2.3), some cases are left out:
//! * comgr supports 33 processors, gfx600 to gfx1036. For any other device, comgr finds only an
//!   entry with exactly the same name: `gfx942` for `gfx942`, nothing for `gfx942:sramecc+:xnack-`.
//!   So the tests use only supported devices, but images for all processors.
//! * comgr does not support generic targets: it does not find `gfx9-generic` for `gfx900`. (Newer
//!   runtimes also search for the device's generic target.) So the tests leave out images for
//!   generic targets.
//! * If one call names several devices, comgr stops after the first one with an entry. So each call
//!   names only one device.

use libloading::Library;
use offload_format::DeviceInfo;
use offload_format::bundle::{
    Bundle, BundleBuilder, HIP_ENTRY_PREFIX, HIP_HOST_ENTRY_ID, HIP_TABLE_LIMIT,
};
use offload_format::image;
use offload_format::select::{Candidate, judge};
use offload_format::target::{ImageCode, TargetId, amdgpu};
use offload_tests::prelude::*;
use std::ffi::{CStr, CString, c_char};
use std::ptr;
use std::sync::{Mutex, MutexGuard};

/// An image in a bundle. Our rules need only its target.
struct Image<'a>(&'a str);

impl Candidate for Image<'_> {
    fn code(&self) -> ImageCode<'_> {
        let id = TargetId::parse(self.0).expect("an entry of ours has a target ID");
        ImageCode::Amdgpu { id, version: None }
    }

    fn label(&self) -> &str {
        self.0
    }
}

/// Returns a processor's target IDs with every combination of states (any, on, off) of these
/// features.
fn with_states(processor: &str, features: &[&str]) -> Vec<String> {
    let mut ids = vec![processor.to_owned()];
    for feature in features {
        let states = ["".to_owned(), format!(":{feature}+"), format!(":{feature}-")];
        ids = ids
            .iter()
            .flat_map(|id| states.each_ref().map(|state| id.to_owned() + state))
            .collect();
    }
    ids
}

/// Returns every device that comgr supports, with each feature in our table on, off or not
/// reported.
fn devices(comgr: &Comgr) -> Vec<String> {
    let known = comgr.processors();
    assert!(known.len() >= 33, "{known:?}");
    let processors = known.iter().filter(|name| !amdgpu::is_generic(name));
    let rows =
        processors.map(|name| amdgpu::find(name).unwrap_or_else(|| panic!("no row: {name}")));
    rows.flat_map(|row| with_states(row.name, row.features)).collect()
}

fn one_entry(kind: &str, target: &str) -> Vec<u8> {
    let mut builder = BundleBuilder::new();
    builder.align(256).entry(&format!("{kind}-amdgcn-amd-amdhsa--{target}"), 7).unwrap();
    builder.layout().to_vec(&[b"7 bytes"])
}

/// Tests that comgr accepts a device name with the features that our table gives its processor, and
/// with no other feature.
#[test(needs(&[Tool::Comgr]))]
fn features_of_the_known_processors() {
    let comgr = comgr();
    for name in comgr.processors() {
        let row = amdgpu::find(&name).unwrap_or_else(|| panic!("no row for {name}"));
        assert!(comgr.knows(&name), "{name}");
        for feature in ["sramecc", "xnack", "wavefrontsize64"] {
            for sign in ["+", "-"] {
                let device = format!("{name}:{feature}{sign}");
                assert_eq!(comgr.knows(&device), row.features.contains(&feature), "{device}");
            }
        }
    }
}

#[test(needs(&[Tool::Comgr]))]
fn every_device_and_every_image() {
    let comgr = comgr();
    let devices = devices(&comgr);
    let (mut pairs, mut found) = (0, 0);
    for row in amdgpu::PROCESSORS.iter().filter(|row| !amdgpu::is_generic(row.name)) {
        for target in with_states(row.name, row.features) {
            for kind in ["hipv4", "hip"] {
                let bundle = one_entry(kind, &target);
                let entry = Bundle::parse(&bundle).unwrap().entries().next().unwrap();
                for device in &devices {
                    let ours = judge(&Image(&target), &DeviceInfo::hip(device).unwrap());
                    let expected = ours.is_ok().then_some((entry.offset, 7));
                    let theirs = comgr.lookup(&bundle, device);
                    assert_eq!(theirs, Ok(expected), "{kind} {target} for {device}: {ours:?}");
                    pairs += 1;
                    found += usize::from(ours.is_ok());
                }
            }
        }
    }
    assert!((2 * devices.len()..pairs).contains(&found), "{found} of {pairs} pairs fit");
}

/// Tests bundles with entries of all kinds that tools have ever written, in random order. Several
/// entries may fit.
#[test(needs(&[Tool::Comgr]))]
fn the_first_entry_that_fits() {
    let comgr = comgr();
    let mut random = Random::new(3);
    let mut pick = |list: &[&str]| list[random.below(list.len())].to_owned();
    let (mut found, mut second) = (BTreeSet::new(), 0);
    for _ in 0..2000 {
        let (mut table, mut entries) = (Vec::new(), Vec::new());
        for _ in 0..pick(&["1", "2", "4", "6"]).parse().unwrap() {
            let kind = pick(&["hip", "hipv4", "hcc", "openmp"]);
            let target = pick(&["gfx906", "gfx90a"])
                + &pick(&["", ":sramecc+", ":sramecc-"])
                + &pick(&["", ":xnack+", ":xnack-"]);
            let id = format!("{kind}-amdgcn-amd-amdhsa--{target}");
            let (offset, size) = (4096 + 16 * entries.len() as u64, 1 + entries.len() as u64);
            table.extend([offset, size, id.len() as u64].map(u64::to_le_bytes).concat());
            table.extend_from_slice(id.as_bytes());
            entries.push(kind);
        }
        let count = (entries.len() as u64).to_le_bytes();
        let mut bundle = [&b"__CLANG_OFFLOAD_BUNDLE__"[..], &count, &table].concat();
        bundle.resize(4096 + 16 * entries.len(), 0);
        let device = pick(&["gfx906", "gfx90a"])
            + &pick(&[":sramecc+", ":sramecc-"])
            + &pick(&[":xnack+", ":xnack-"]);
        let parsed = Bundle::parse(&bundle).unwrap();
        let entry = parsed.find_hip(&TargetId::parse(&device).unwrap());
        let ours = entry.map(|entry| (entry.offset, entry.code_object.len() as u64));
        assert_eq!(comgr.lookup(&bundle, &device), Ok(ours), "{device} in {parsed:?}");
        if let Some((_, size)) = ours {
            found.insert(entries[size as usize - 1].clone());
            second += usize::from(size > 1);
        }
    }
    assert_eq!(found.len(), 3, "kinds of entries: {found:?}");
    assert!(second > 100, "{second} entries that are not the first");
}

/// Returns a bundle whose entry table has `size` bytes and ends with an entry for gfx90a.
fn bundle_with_table(size: usize) -> Vec<u8> {
    let last = format!("{HIP_ENTRY_PREFIX}gfx90a");
    let mut ids = vec![HIP_HOST_ENTRY_ID.to_owned()];
    // The number of bytes left for more entries. An entry occupies 24 bytes plus its ID.
    let left = |ids: &[String]| {
        size - 32 - ids.iter().chain([&last]).map(|id| 24 + id.len()).sum::<usize>()
    };
    while left(&ids) > 200 {
        ids.push(format!("{HIP_ENTRY_PREFIX}gfx{}", 7000 + ids.len()));
    }
    // Fill the rest with an entry for a processor with a long name.
    ids.push(format!("{:0<1$}", format!("{HIP_ENTRY_PREFIX}gfx8"), left(&ids) - 24));
    ids.push(last);
    let mut builder = BundleBuilder::new();
    for id in &ids {
        builder.align(64).entry(id, 1).unwrap();
    }
    let layout = builder.layout();
    assert_eq!(layout.pieces()[0].size(), size as u64);
    layout.to_vec(&vec![b"x".as_slice(); ids.len()])
}

#[test(needs(&[Tool::Comgr]))]
fn the_table_ends_within_the_first_4096_bytes() {
    let comgr = comgr();
    let device = "gfx90a:sramecc+:xnack-";
    for (table, readable) in [(4096, true), (4097, false)] {
        let bundle = bundle_with_table(table);
        let found = Ok(Some((bundle.len() as u64 - 1, 1)));
        assert_eq!(comgr.lookup(&bundle, device), found, "{table}");
        let shown = &bundle[..HIP_TABLE_LIMIT as usize];
        let expected = if readable { found } else { Err(ERROR) };
        assert_eq!(comgr.lookup(shown, device), expected, "{table}");
    }
}

/// Tests every combination of `e_flags` in code object versions 3 and 4 for each processor that
/// comgr 2.4 supports.
#[test(needs(&[Tool::Comgr]))]
fn target_ids_of_headers() {
    let comgr = comgr();
    let mut data = corpus_file("image/v3.hsaco");
    let mut compared = 0;
    for processor in amdgpu::PROCESSORS {
        // Compilers set no bits for features that the processor lacks. In version 4, they never
        // write 0 for a feature that the processor has.
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
                    let Ok(image::ImageHeader::CodeObject(header)) =
                        image::ImageHeader::parse(&data)
                    else {
                        panic!("{flags:#x}")
                    };
                    let Some(theirs) = comgr.target_id(&data) else { continue };
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

// ------------------------------------------------------------------------------------------
// the library

/// `amd_comgr_data_t` or `amd_comgr_metadata_node_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Handle(u64);

/// `amd_comgr_code_object_info_t`.
#[repr(C)]
struct CodeObjectInfo {
    isa: *const c_char,
    size: usize,
    offset: u64,
}

/// `AMD_COMGR_DATA_KIND_EXECUTABLE` and `AMD_COMGR_DATA_KIND_FATBIN`.
const KIND_EXECUTABLE: u32 = 8;
const KIND_FATBIN: u32 = 0x10;

/// `AMD_COMGR_STATUS_ERROR`.
const ERROR: u32 = 1;

/// `AMD_COMGR_STATUS_ERROR_INVALID_ARGUMENT`.
const INVALID_ARGUMENT: u32 = 2;

/// The library `libamd_comgr.so.2`. The HIP runtime uses the functions below to search for code
/// objects, and one that reads their headers is called, too.
struct Comgr(Library);

/// Locks the library for one test at a time, because it is not documented as thread-safe. The
/// library stays loaded, because loading it again would abort the process: "CommandLine Error:
/// Option 'disassemble' registered more than once!".
fn comgr() -> MutexGuard<'static, Comgr> {
    static COMGR: LazyLock<Mutex<Comgr>> = LazyLock::new(|| Mutex::new(Comgr::load()));
    // A failed test leaves nothing behind that affects the next test, so a poisoned lock is
    // harmless.
    COMGR.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Comgr {
    fn load() -> Self {
        // SAFETY: loading AMD's library runs its initialisers, which have no requirements.
        Self(unsafe { Library::new("libamd_comgr.so.2") }.unwrap())
    }

    /// Returns a function. The callers name the types of amd_comgr.h, version 2, which is part of
    /// the library's file name.
    fn get<F: Copy>(&self, name: &str) -> F {
        // SAFETY: a function does nothing until it is called.
        *unsafe { self.0.get(format!("amd_comgr_{name}")) }.unwrap()
    }

    /// Returns the processors that the library supports.
    fn processors(&self) -> Vec<String> {
        let isa_count: unsafe extern "C" fn(*mut usize) -> u32 = self.get("get_isa_count");
        let isa_name: unsafe extern "C" fn(usize, *mut *const c_char) -> u32 =
            self.get("get_isa_name");
        let mut count = 0;
        // SAFETY: the call writes the count to the given place.
        assert_eq!(unsafe { isa_count(&mut count) }, 0);
        let name = |index| {
            let mut name = ptr::null();
            // SAFETY: the index is below the count; the stored name is a C string that lives as
            // long as the library is loaded.
            let name = unsafe {
                assert_eq!(isa_name(index, &mut name), 0);
                CStr::from_ptr(name)
            };
            let name = name.to_str().unwrap();
            name.strip_prefix("amdgcn-amd-amdhsa--").unwrap_or_else(|| panic!("{name}")).to_owned()
        };
        (0..count).map(name).collect()
    }

    /// Whether the library accepts a device of this name.
    fn knows(&self, device: &str) -> bool {
        let isa_metadata: unsafe extern "C" fn(*const c_char, *mut Handle) -> u32 =
            self.get("get_isa_metadata");
        let destroy: unsafe extern "C" fn(Handle) -> u32 = self.get("destroy_metadata");
        let isa = isa_name(device);
        let mut node = Handle(0);
        // SAFETY: the name is a C string that outlives the call; the node is destroyed if, and only
        // if, it was created.
        let status = unsafe {
            let status = isa_metadata(isa.as_ptr(), &mut node);
            if status == 0 {
                assert_eq!(destroy(node), 0);
            }
            status
        };
        assert!(status == 0 || status == INVALID_ARGUMENT, "{device}: status {status}");
        status == 0
    }

    /// Returns the offset and size of the entry that the library finds for a device, or the
    /// library's status if that is not success.
    fn lookup(&self, bundle: &[u8], device: &str) -> Result<Option<(u64, u64)>, u32> {
        let lookup: unsafe extern "C" fn(Handle, *mut CodeObjectInfo, usize) -> u32 =
            self.get("lookup_code_object");
        let isa = isa_name(device);
        let mut info = CodeObjectInfo { isa: isa.as_ptr(), size: 0, offset: 0 };
        // SAFETY: `info` has room for one result, and the name outlives the call.
        let status =
            self.with_data(KIND_FATBIN, bundle, |data| unsafe { lookup(data, &mut info, 1) });
        match status {
            0 => Ok((info.size > 0).then_some((info.offset, info.size as u64))),
            _ => Err(status),
        }
    }

    /// Calls a function with a data object of these bytes.
    fn with_data<T>(&self, kind: u32, bytes: &[u8], call: impl FnOnce(Handle) -> T) -> T {
        let create: unsafe extern "C" fn(u32, *mut Handle) -> u32 = self.get("create_data");
        let set: unsafe extern "C" fn(Handle, usize, *const c_char) -> u32 = self.get("set_data");
        let release: unsafe extern "C" fn(Handle) -> u32 = self.get("release_data");
        let mut data = Handle(0);
        // SAFETY: a data object is created, given bytes with their length, used, and released; the
        // bytes live until then.
        unsafe {
            assert_eq!(create(kind, &mut data), 0);
            assert_eq!(set(data, bytes.len(), bytes.as_ptr().cast()), 0);
            let result = call(data);
            assert_eq!(release(data), 0);
            result
        }
    }

    /// Returns the target ID that the library reads from a code object's header; `None` if the
    /// library does not support the processor.
    fn target_id(&self, code_object: &[u8]) -> Option<String> {
        let isa_name: unsafe extern "C" fn(Handle, *mut usize, *mut c_char) -> u32 =
            self.get("get_data_isa_name");
        let mut name = [0_u8; 100];
        let mut size = name.len();
        let read = |data, size: &mut usize, to: *mut u8| {
            // SAFETY: the library stores the size. It also stores the name if `to` is a buffer of
            // that size.
            unsafe { isa_name(data, size, to.cast()) }
        };
        self.with_data(KIND_EXECUTABLE, code_object, |data| {
            let is_known = read(data, &mut size, ptr::null_mut()) == 0 && size <= name.len();
            is_known.then(|| assert_eq!(read(data, &mut size, name.as_mut_ptr()), 0))
        })?;
        let name = CStr::from_bytes_until_nul(&name).ok()?.to_str().ok()?;
        name.strip_prefix("amdgcn-amd-amdhsa--").map(str::to_owned)
    }
}

/// Returns a device's name in the library's form.
fn isa_name(device: &str) -> CString {
    CString::new(format!("amdgcn-amd-amdhsa--{device}")).expect("a device name has no NUL")
}
