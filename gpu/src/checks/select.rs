//! Loads each image of each pack separately, and checks that the driver agrees with `select`.

use crate::driver::Driver;
use crate::report::{Result, Run, compare, finding, short, step};
use offload_gpu::run::{Device, Vendor};
use offload_gpu::{DeviceBuffer, select};
use std::ffi::c_void;
use std::time::Instant;

mod variants {
    offload_gpu::include_kernels!("variants");
}

use super::arguments::kernels as random;
use super::halves::kernels as halves;
use super::header::kernels as header;
use super::limits::kernels as runtime;
use super::math::kernels as math;
use super::pairs::kernels as pairs;
use super::readme::kernels as affine;

/// An image of a pack.
struct Image {
    pack: &'static str,
    /// The name of a kernel that each image of the pack contains.
    probe: &'static str,
    kind: String,
    bytes: Vec<u8>,
    /// How the image fits the device, or why not.
    judged: std::result::Result<String, String>,
    /// The ABI version in the ELF header of AMD's code object: the code object version minus 2.
    version: Option<u8>,
}

pub fn run(run: &mut Run) -> Result<String> {
    let device = run.device.clone();
    let Some(driver) = Driver::of(&device) else { return on_cpu(&device) };
    let driver = driver?;
    let is_old = driver.is_before_rocm_6_3();
    let (mut loaded, mut refused, mut rows) = (0, 0, Vec::new());
    for image in &images(&device)? {
        let name = format!("{} of {}", image.kind, image.pack);
        step(&name);
        let start = Instant::now();
        let tried = try_out(&driver, &device, image);
        let time = start.elapsed().as_millis();
        let is_lost = tried.is_err() && driver.synchronize().is_err();
        let says = match (&image.judged, &tried) {
            (Ok(_), Ok(())) => {
                loaded += 1;
                format!("runs, {time} ms")
            }
            (Err(_), Err(why)) => {
                refused += 1;
                format!("refused by both: {why}")
            }
            // It is documented that the image needs a newer runtime, so this is not a disagreement.
            (Ok(_), Err(_)) if image.version >= Some(6 - 2) && is_old => {
                "needs ROCm 6.3".to_owned()
            }
            (Ok(fit), Err(why)) => {
                run.finding(format!(
                    "select accepts the {name} ({fit}), and the driver does not: {why}"
                ));
                format!("select accepts, the driver does not: {why}")
            }
            (Err(why), Ok(())) => {
                run.finding(format!("select refuses the {name} ({why}), and the driver runs it"));
                "select refuses, the driver runs it".to_owned()
            }
        };
        rows.push(short(&format!("{name}: {says}")));
        // After an error that persists, every later image would get the same error.
        if is_lost {
            run.finding(format!("after the {name}, the device is lost: no other image was tried"));
            break;
        }
    }
    run.figure("images", rows);
    if loaded == 0 {
        run.finding("no image was loaded");
    }
    Ok(format!("{loaded} images run by themselves, {refused} are refused by both"))
}

/// Loads an image separately, and runs its probe.
fn try_out(driver: &Driver, device: &Device, image: &Image) -> std::result::Result<(), String> {
    let text = |error: crate::driver::Refusal| error.to_string();
    let module = driver.load(&image.bytes).map_err(text)?;
    let ran = probe(driver, device, module, image.probe);
    // SAFETY: the module was just loaded, and is not used afterwards.
    let unloaded = unsafe { driver.unload(module) }.map_err(text);
    ran.and(unloaded)
}

fn probe(
    driver: &Driver,
    device: &Device,
    module: *mut c_void,
    kernel: &str,
) -> std::result::Result<(), String> {
    const THREADS: u32 = 4 * 64;
    let y = device.zeros::<u32>(THREADS as usize).map_err(|error| error.to_string())?;
    let mut address = y.device_address().cast_mut();
    let mut arguments = [(&raw mut address).cast::<c_void>()];
    // SAFETY: the module is loaded, and the probe's parameter is the address of one number per
    // thread.
    let launched = unsafe {
        driver
            .get(module, kernel)
            .and_then(|it| driver.launch(it, ([4, 1, 1], [64, 1, 1], 0), &mut arguments))
            .and_then(|()| driver.synchronize())
    };
    launched.map_err(|error| error.to_string())?;
    let found = y.to_vec().map_err(|error| error.to_string())?;
    let expected: Vec<u32> =
        (0..THREADS).map(|i| i.wrapping_mul(2_654_435_761).wrapping_add(12_345)).collect();
    compare(kernel, &found, &expected).map_err(|stop| format!("{stop:?}"))
}

/// Handles the CPU, which has one image per pack and no driver.
fn on_cpu(device: &Device) -> Result<String> {
    let images = images(device)?;
    if let Some(image) = images.iter().find(|image| image.judged.is_err()) {
        return finding(format!("the {} of {} does not fit the CPU", image.kind, image.pack));
    }
    super::readme::saxpy(device, 1000)?;
    Ok(format!("{} images fit", images.len()))
}

/// Returns the images of all packs for this kind of device.
fn images(device: &Device) -> Result<Vec<Image>> {
    let mut all = Vec::new();
    macro_rules! add {
        ($($pack:expr, $probe:expr;)*) => {$(
            for image in $pack.images() {
                let target = image.target();
                let is_for = match target {
                    it if it.starts_with("gfx") => Vendor::Amd,
                    it if it.starts_with("sm_") || it.starts_with("compute_") => Vendor::Nvidia,
                    "spirv64" => Vendor::Intel,
                    _ => Vendor::Cpu,
                };
                if is_for != device.vendor() {
                    continue;
                }
                let bytes = image.decompress()?.bytes().to_vec();
                let is_code_object = is_for == Vendor::Amd && bytes.starts_with(b"\x7fELF");
                all.push(Image {
                    pack: $pack.name(),
                    probe: $probe,
                    kind: format!("{target} {}", image.kind()),
                    version: bytes.get(8).copied().filter(|_| is_code_object),
                    bytes,
                    judged: select::judge(&image, device.info())
                        .map(|fit| fit.to_string())
                        .map_err(|why| why.to_string()),
                });
            }
        )*};
    }
    add! {
        affine::PACK, "probe_affine";
        variants::PACK, "probe_affine";
        header::PACK, "probe_header";
        math::PACK, "probe_math";
        halves::PACK, "probe_halves";
        random::PACK, "probe_random";
        runtime::PACK, "probe_runtime";
        pairs::PACK, "probe_pairs";
    }
    Ok(all)
}
