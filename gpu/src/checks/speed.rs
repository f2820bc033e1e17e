//! Figures without a judgement: they depend on the machine.

use super::{Outcome, failed};
use crate::kernels::{checks, each};
use offload_gpu::run::Device;
use serde_json::Value;
use std::time::Instant;

pub fn run(device: &Device) -> Result<Outcome, String> {
    let mut figures = Vec::new();
    let mut figure = |name: String, value: f64| {
        figures.push((name, Value::from((value * 1000.0).round() / 1000.0)));
    };
    // Each image is loaded for the first time in this process.
    for module in each::PACK.modules().filter(|module| module.select(device.info()).is_ok()) {
        let start = Instant::now();
        module.on(device).map_err(failed)?;
        figure(format!("load {}, ms", module.name()), start.elapsed().as_secs_f64() * 1e3);
    }
    let start = Instant::now();
    let module = checks::PACK.module("corpus");
    module.on(device).map_err(failed)?;
    figure("load a compressed image, ms".to_owned(), start.elapsed().as_secs_f64() * 1e3);
    figure("on() again, ns".to_owned(), each_of(10_000, || module.on(device).map(drop))?);
    figure(
        format!("select one of {}, ns", module.images().len()),
        each_of(10_000, || module.select(device.info()).map(drop))?,
    );
    let x = device.buffer(&[1_f32; 32]).map_err(failed)?;
    let mut sums = device.zeros::<f32>(1).map_err(failed)?;
    let call = checks::corpus::tree_sum(&x, &mut sums);
    // SAFETY: the kernel reads 32 elements, and writes one.
    figure("launch, ns".to_owned(), each_of(1000, || unsafe { call.launch(device, 1, 32) })?);
    device.synchronize().map_err(failed)?;
    Ok(Outcome::ok(figures))
}

/// Returns the nanoseconds that one of `count` calls takes.
fn each_of<E: std::fmt::Display>(
    count: u32,
    mut call: impl FnMut() -> Result<(), E>,
) -> Result<f64, String> {
    let start = Instant::now();
    for _ in 0..count {
        call().map_err(failed)?;
    }
    Ok(start.elapsed().as_secs_f64() * 1e9 / f64::from(count))
}
