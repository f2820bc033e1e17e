//! Compares our choice of image with that of CUDA 13.5's nvJitLink, for every GPU that nvJitLink
//! supports, and with that of NVIDIA's driver, if this machine has a GPU.
//!
//! For a GPU with compute capability 9.0, the tests pass the name `sm_90a` to nvJitLink. With
//! `sm_90`, nvJitLink would not use images that are only for 9.0.

use super::{Image, assert_same_choice, ours};
use libloading::{Library, Symbol};
use offload_format::image::CubinHeader;
use offload_format::nv_fatbin::{HostOs, NvFatbinBuilder};
use offload_format::select::{ComputeCapability, DeviceInfo, judge};
use offload_format::target::{NvidiaArch, NvidiaCode};
use offload_tests::jit_link::JitLink;
use offload_tests::prelude::*;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr;

const ARCHS: [&str; 26] = [
    "75", "80", "86", "87", "88", "89", "90", "90a", "100", "100a", "100f", "101", "101a", "101f",
    "103", "103a", "103f", "110", "110a", "110f", "120", "120a", "120f", "121", "121a", "121f",
];

/// GPUs, named as in nvJitLink's options.
const DEVICES: [&str; 12] = [
    "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90a", "sm_100a", "sm_103a",
    "sm_110a", "sm_120a", "sm_121a",
];

/// The version of CUDA 13.5's driver, which accepts the same PTX versions as CUDA 13.5's nvJitLink.
const DRIVER: u32 = 13050;

/// Returns a cubin and PTX for each architecture, each with one kernel named after the
/// architecture.
fn images(folder: &Path, options: &[&str]) -> Vec<Image> {
    let mut images = Vec::new();
    for arch in ARCHS {
        for name in [format!("sm_{arch}"), format!("compute_{arch}")] {
            let arch = NvidiaArch::parse(&name).unwrap();
            let version = arch.lowest_ptx().unwrap();
            let text = format!(
                ".version {version}\n.target {}\n.address_size 64\n.visible .entry {}()\n{{\n\tret;\n}}\n",
                arch.with_code(NvidiaCode::Cubin),
                kernel(&name)
            );
            let bytes = match arch.code {
                NvidiaCode::Ptx => text.into_bytes(),
                NvidiaCode::Cubin => {
                    let [source, cubin] = ["ptx", "cubin"]
                        .map(|extension| folder.join(format!("{name}.{extension}")));
                    scratch::write(&source, text);
                    // ptxas 13.5 accepts compute capability 10.1 only under its new number, 11.0.
                    let real = name.replace("101", "110");
                    let mut ptxas = cuda("ptxas");
                    ptxas.args(options).args(["-arch", &real, "-o"]).arg(&cubin);
                    succeed(ptxas.arg(&source));
                    let mut cubin = read(&cubin);
                    if name != real {
                        // This byte is bits 8 to 15 of `e_flags`: the architecture's number.
                        cubin[49] = 101;
                        assert_eq!(CubinHeader::parse(&cubin).unwrap().number, 101);
                    }
                    cubin
                }
            };
            images.push(Image { target: name, bytes });
        }
    }
    images
}

/// Returns the major and minor compute capability of one of [`DEVICES`].
fn capability(gpu: &str) -> (u32, u32) {
    let arch = NvidiaArch::parse(gpu).unwrap();
    (arch.major, arch.minor)
}

fn device((major, minor): (u32, u32), driver: u32) -> DeviceInfo {
    DeviceInfo::cuda(ComputeCapability { major, minor }, driver)
}

fn kernel(target: &str) -> String {
    format!("from_{target}")
}

fn fatbin(images: &[&Image]) -> Vec<u8> {
    let mut builder = NvFatbinBuilder::new(HostOs::Linux);
    for image in images {
        let arch = NvidiaArch::parse(&image.target).unwrap();
        match arch.code {
            NvidiaCode::Cubin => builder.cubin(arch, &image.bytes).unwrap(),
            NvidiaCode::Ptx => builder.ptx(&image.bytes).unwrap(),
        };
    }
    let payloads: Vec<&[u8]> = images.iter().map(|image| image.bytes.as_slice()).collect();
    builder.layout().to_vec(&payloads)
}

/// Returns the target of the image whose code nvJitLink uses for this GPU; `None` if no image fits.
fn linked<'i>(
    library: &JitLink,
    fatbin: &[u8],
    images: &[&'i Image],
    gpu: &str,
) -> Option<&'i str> {
    let cubin = library.link(fatbin, gpu)?;
    let has = |image: &&&Image| {
        // In the string table, a NUL precedes and follows the kernel's name. Searching for both
        // NULs, too, rules out a match inside a longer name.
        let name = format!("\0{}\0", kernel(&image.target));
        cubin.windows(name.len()).any(|window| window == name.as_bytes())
    };
    Some(&images.iter().find(has).expect("what was linked has an image's kernel").target)
}

// nvJitLink ignores the code in cubins that ptxas compiled without `-c`.
const RELOCATABLE: &[&str] = &["-c"];

#[test(needs(&[Tool::Cuda, Tool::NvJitLink]))]
fn alone() {
    let images = images(&scratch::folder("agreement-nvidia-alone"), RELOCATABLE);
    let library = JitLink::load();
    let (mut fits, mut crossed) = (0, 0);
    for image in &images {
        let fatbin = fatbin(&[image]);
        for gpu in DEVICES {
            let ours = ours([image], &device(capability(gpu), DRIVER));
            let theirs = linked(&library, &fatbin, &[image], gpu);
            let how = format!("{} on {gpu}", image.target);
            if crosses_to_orin(image, capability(gpu)) {
                assert_eq!((ours, theirs), (None, Some(image.target.as_str())), "{how}");
                crossed += 1;
                continue;
            }
            assert_same_choice(ours, theirs, &how);
            fits += usize::from(ours.is_some());
        }
    }
    assert!(fits > images.len(), "{fits}");
    assert_eq!(crossed, 4, "sm_80 and sm_86 on 8.7, sm_87 on 8.8 and 8.9");
}

/// Whether an image is machine code for a lower 8.x than the device's, and either the image's or
/// the device's capability is 8.7: Orin (a Tegra GPU). nvJitLink accepts such an image, because it
/// compares only the numbers. According to NVIDIA's guide, such code does not run.
fn crosses_to_orin(image: &Image, (major, minor): (u32, u32)) -> bool {
    let arch = NvidiaArch::parse(&image.target).unwrap();
    let is_lower =
        arch.code == NvidiaCode::Cubin && (arch.major, major) == (8, 8) && arch.minor < minor;
    is_lower && (arch.minor == 7 || minor == 7)
}

#[test(needs(&[Tool::Cuda, Tool::NvJitLink]).slow())]
fn pairs() {
    let images = images(&scratch::folder("agreement-nvidia-pairs"), RELOCATABLE);
    let library = JitLink::load();
    let (mut same, mut other) = (0, 0);
    for (number, a) in images.iter().enumerate() {
        for b in &images[..number] {
            // Of two images for 10.1, nvJitLink chooses the one without a letter. For all other
            // compute capabilities, it prefers images with a letter.
            if [a, b].iter().all(|image| image.target.contains("_101")) && of_one_code(a, b) {
                continue;
            }
            for pair in [[a, b], [b, a]] {
                let fatbin = fatbin(&pair);
                for gpu in DEVICES {
                    let device = device(capability(gpu), DRIVER);
                    // If fewer than two images fit the device, the test `alone` covers the case.
                    if !pair.iter().all(|image| judge(image, &device).is_ok()) {
                        continue;
                    }
                    let ours = ours(pair, &device);
                    let expected = newer_ptx(pair).or(ours);
                    let theirs = linked(&library, &fatbin, &pair, gpu);
                    let how = format!("{} and {} on {gpu}", pair[0].target, pair[1].target);
                    assert_same_choice(expected, theirs, &how);
                    *if expected == ours { &mut same } else { &mut other } += 1;
                }
            }
        }
    }
    assert!(same > 1000, "{same} pairs with the same choice");
    assert!(other > 50, "{other} pairs of which nvJitLink takes the newer PTX");
}

/// Whether both images are machine code, or both PTX.
fn of_one_code(a: &Image, b: &Image) -> bool {
    let [a, b] = [a, b].map(|image| NvidiaArch::parse(&image.target).unwrap().code);
    a == b
}

/// Returns the PTX image if the other image is machine code for a lower compute capability.
/// nvJitLink prefers such PTX. According to NVIDIA's guide, machine code that fits takes precedence
/// over any PTX.
fn newer_ptx(pair: [&Image; 2]) -> Option<&Image> {
    let [a, b] = pair.map(|image| NvidiaArch::parse(&image.target).unwrap());
    let [ptx, cubin] = match (a.code, b.code) {
        (NvidiaCode::Ptx, NvidiaCode::Cubin) => [(a, pair[0]), (b, pair[1])],
        (NvidiaCode::Cubin, NvidiaCode::Ptx) => [(b, pair[1]), (a, pair[0])],
        _ => return None,
    };
    (ptx.0.number() > cubin.0.number()).then_some(ptx.1)
}

/// Loads every image separately, then all images in one fatbin, on this machine's GPU.
#[test(needs(&[Tool::Cuda, Tool::NvidiaGpu]))]
fn driver() {
    let images = images(&scratch::folder("agreement-nvidia-driver"), &[]);
    let driver = Driver::start();
    let device = device((driver.major, driver.minor), driver.version);
    for image in &images {
        let theirs = driver.loads(&image.bytes, &[image]);
        let how = format!("{} on {device}: {:?}", image.target, judge(image, &device));
        assert_same_choice(ours([image], &device), theirs, &how);
    }
    let all: Vec<&Image> = images.iter().collect();
    let theirs = driver.loads(&fatbin(&all), &all);
    assert_same_choice(ours(&images, &device), theirs, &format!("all on {device}"));
}

/// CUDA's driver, with the context of its first GPU.
struct Driver {
    library: Library,
    major: u32,
    minor: u32,
    version: u32,
}

impl Driver {
    fn start() -> Self {
        // SAFETY: loading NVIDIA's driver runs its initialisers, which have no requirements. The
        // functions' types are those of cuda.h; every pointer refers to memory that lives as long
        // as the call and is as large as the function needs.
        unsafe {
            let library = Library::new("libcuda.so.1").expect("Tool::NvidiaGpu was checked");
            let init: Symbol<'_, unsafe extern "C" fn(c_uint) -> c_int> =
                library.get(b"cuInit").unwrap();
            assert_eq!(init(0), 0, "cuInit");
            let mut version = 0;
            let get: Symbol<'_, unsafe extern "C" fn(*mut c_int) -> c_int> =
                library.get(b"cuDriverGetVersion").unwrap();
            assert_eq!(get(&mut version), 0, "cuDriverGetVersion");
            let mut device: c_int = 0;
            let get: Symbol<'_, unsafe extern "C" fn(*mut c_int, c_int) -> c_int> =
                library.get(b"cuDeviceGet").unwrap();
            assert_eq!(get(&mut device, 0), 0, "cuDeviceGet");
            let attribute: Symbol<'_, unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int> =
                library.get(b"cuDeviceGetAttribute").unwrap();
            let [major, minor] = [75, 76].map(|number| {
                let mut value = 0;
                assert_eq!(attribute(&mut value, number, device), 0, "cuDeviceGetAttribute");
                value as u32
            });
            let mut context: *mut c_void = ptr::null_mut();
            let retain: Symbol<'_, unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int> =
                library.get(b"cuDevicePrimaryCtxRetain").unwrap();
            assert_eq!(retain(&mut context, device), 0, "cuDevicePrimaryCtxRetain");
            let set: Symbol<'_, unsafe extern "C" fn(*mut c_void) -> c_int> =
                library.get(b"cuCtxSetCurrent").unwrap();
            assert_eq!(set(context), 0, "cuCtxSetCurrent");
            Self { library, major, minor, version: version as u32 }
        }
    }

    /// Returns the target of the image that the driver loads from these bytes; `None` if the driver
    /// refuses the bytes.
    fn loads<'i>(&self, given: &[u8], images: &[&'i Image]) -> Option<&'i str> {
        // The bytes start at an address that is a multiple of 8, and end with the NUL that PTX
        // needs.
        let mut aligned = vec![0_u64; given.len() / 8 + 1];
        for (word, chunk) in aligned.iter_mut().zip(given.chunks(8)) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            *word = u64::from_ne_bytes(bytes);
        }
        // SAFETY: as in `start`; the context is current on this thread, and a module is used only
        // between loading and unloading.
        unsafe {
            let load: Symbol<'_, unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> c_int> =
                self.library.get(b"cuModuleLoadData").unwrap();
            let mut module: *mut c_void = ptr::null_mut();
            if load(&mut module, aligned.as_ptr().cast()) != 0 {
                return None;
            }
            let find: Symbol<
                '_,
                unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const c_char) -> c_int,
            > = self.library.get(b"cuModuleGetFunction").unwrap();
            let has = |image: &&&Image| {
                let name = CString::new(kernel(&image.target)).unwrap();
                let mut function: *mut c_void = ptr::null_mut();
                find(&mut function, module, name.as_ptr()) == 0
            };
            let found = images.iter().find(has).map(|image| image.target.as_str());
            let unload: Symbol<'_, unsafe extern "C" fn(*mut c_void) -> c_int> =
                self.library.get(b"cuModuleUnload").unwrap();
            assert_eq!(unload(module), 0, "cuModuleUnload");
            Some(found.expect("what was loaded has the kernel of an image"))
        }
    }
}
