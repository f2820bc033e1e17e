//! Each image of the pack `each`, by itself: our rules against the driver.

use super::{Outcome, failed, same};
use crate::driver;
use crate::kernels::each::{BLOCKS, EACH, Each, PACK, THREADS};
use offload_gpu::Module;
use offload_gpu::run::{Device, DeviceKind};
use serde_json::Value;

pub fn run(device: &Device) -> Result<Outcome, String> {
    let (mut ran, mut refused, mut unasked) = (Vec::new(), 0, 0);
    let mut findings = Vec::new();
    for each in EACH {
        match one(device, each) {
            Ok(Verdict::Ran) => ran.push(Value::from(each.target)),
            Ok(Verdict::Refused) => refused += 1,
            Ok(Verdict::Unasked) => unasked += 1,
            Err(finding) => findings.push(format!("the image for {}: {finding}", each.target)),
        }
    }
    let fits = |each: &Each| module(each).is_some_and(|it| it.select(device.info()).is_ok());
    if !EACH.iter().any(fits) {
        findings.push("no image fits this device".to_owned());
    }
    if !findings.is_empty() {
        return Err(findings.join("; "));
    }
    Ok(Outcome::ok([
        ("ran", Value::from(ran)),
        ("refused by the driver, too", refused.into()),
        ("of other vendors", unasked.into()),
    ]))
}

enum Verdict {
    /// The image fits, and computed what it should.
    Ran,
    /// The image does not fit, and the driver does not load it.
    Refused,
    /// The image does not fit, and no driver can be asked.
    Unasked,
}

fn one(device: &Device, each: &Each) -> Result<Verdict, String> {
    let module = module(each).ok_or("the pack has no such module")?;
    if module.select(device.info()).is_ok() {
        let loaded = module.on(device).map_err(failed)?;
        if loaded.image().target() != each.target {
            return Err(format!("{} was loaded", loaded.image().target()));
        }
        return compute(device, each).map(|()| Verdict::Ran);
    }
    let image = module.images().next().ok_or("the module has no image")?;
    let is_of_vendor = match device.kind() {
        DeviceKind::Cuda => each.target.starts_with("sm_") || each.target.starts_with("compute_"),
        DeviceKind::Hip => each.target.starts_with("gfx"),
        _ => false,
    };
    if !is_of_vendor {
        return Ok(Verdict::Unasked);
    }
    // A driver reads PTX up to a NUL.
    let bytes = [image.bytes(), b"\0"].concat();
    match driver::accepts(device, &bytes) {
        None => Ok(Verdict::Unasked),
        Some(false) => Ok(Verdict::Refused),
        Some(true) => Err("the driver loads it, and `select` refuses it".to_owned()),
    }
}

fn module(each: &Each) -> Option<Module<'static>> {
    PACK.modules().find(|module| module.name() == each.module)
}

/// Launches the kernel of the image, and compares the results.
fn compute(device: &Device, each: &Each) -> Result<(), String> {
    let block = THREADS as usize;
    let count = block * BLOCKS as usize - 7;
    let values: Vec<f32> = (0..count).map(|i| (i * 37 % 101) as f32).collect();
    let x = device.buffer(&values).map_err(failed)?;
    let mut y = device.buffer(&vec![f32::NAN; count]).map_err(failed)?;
    (each.launch)(device, &x, &mut y, count as i32).map_err(failed)?;
    let expected: Vec<f32> = (0..count)
        .map(|i| {
            let other = i / block * block + (block - 1 - i % block);
            2.0 * values.get(other).copied().unwrap_or(0.0) + i as f32
        })
        .collect();
    same("probe", &y.to_vec().map_err(failed)?, &expected)
}
