//! Mathematical functions, beside the host's C library: errors in units in the last place.

use super::{Outcome, failed};
use crate::kernels::checks::math;
use offload_gpu::run::{Device, RunError};
use serde_json::{Value, json};

/// Makes a table of functions: the name, and the bound in `offload/math.h`, in units in the last
/// place.
macro_rules! functions {
    ($($name:ident $float:ident $double:ident $bound:literal)*) => {
        // The C library's functions, which Rust's standard library calls, too.
        unsafe extern "C" {
            $(safe fn $name(x: f64) -> f64;)*
        }

        const FUNCTIONS: &[Function] = &[$(Function {
            name: stringify!($name),
            bound: $bound,
            exact: |x| $name(x),
            float: |device, x| {
                let (x, mut y) = (device.buffer(x)?, device.zeros::<f32>(x.len())?);
                // SAFETY: both buffers have this many elements.
                unsafe { math::$float(&x, &mut y, x.len() as i32).launch(device, 16, 128)? };
                y.to_vec()
            },
            double: |device, x| {
                let (x, mut y) = (device.buffer(x)?, device.zeros::<f64>(x.len())?);
                // SAFETY: as above.
                unsafe { math::$double(&x, &mut y, x.len() as i32).launch(device, 16, 128)? };
                y.to_vec()
            },
        }),*];
    };
}

struct Function {
    name: &'static str,
    bound: f64,
    exact: fn(f64) -> f64,
    float: fn(&Device, &[f32]) -> Result<Vec<f32>, RunError>,
    double: fn(&Device, &[f64]) -> Result<Vec<f64>, RunError>,
}

functions! {
    exp exp_float exp_double 1.0
    exp2 exp2_float exp2_double 1.0
    expm1 expm1_float expm1_double 2.5
    log log_float log_double 1.0
    log2 log2_float log2_double 1.0
    log10 log10_float log10_double 1.0
    log1p log1p_float log1p_double 1.0
    cbrt cbrt_float cbrt_double 1.0
    sqrt sqrt_float sqrt_double 0.5
    sin sin_float sin_double 1.0
    cos cos_float cos_double 1.0
    tan tan_float tan_double 2.5
    asin asin_float asin_double 1.0
    acos acos_float acos_double 1.0
    atan atan_float atan_double 1.0
    sinh sinh_float sinh_double 2.5
    cosh cosh_float cosh_double 2.5
    tanh tanh_float tanh_double 2.5
    asinh asinh_float asinh_double 2.5
    acosh acosh_float acosh_double 2.5
    atanh atanh_float atanh_double 2.5
    erf erf_float erf_double 2.5
    erfc erfc_float erfc_double 4.0
}

/// The error of the C library itself in double, in units in the last place: glibc's manual lists at
/// most 2 for most functions on x86-64, and up to 6 for a few.
const OF_THE_HOST: f64 = 6.0;

pub fn run(device: &Device) -> Result<Outcome, String> {
    let (mut figures, mut findings) = (Vec::new(), Vec::new());
    for function in FUNCTIONS {
        let inputs = inputs();
        let x: Vec<f32> = inputs.iter().map(|x| *x as f32).collect();
        let found = (function.float)(device, &x).map_err(failed)?;
        let errors = x.iter().zip(&found).map(|(x, found)| {
            // The nearest float's distance to its neighbour, in double.
            let exact = (function.exact)(f64::from(*x));
            error(f64::from(*found), exact, exact.abs() as f32 as f64, f32::unit)
        });
        let float = Histogram::of(errors);
        // On the CPU the functions are the C library's own, whose floats have bounds of their own.
        let is_cpu = device.kind() == offload_gpu::run::DeviceKind::Cpu;
        let slack = if is_cpu { OF_THE_HOST } else { 0.0 };
        if float.worst > function.bound + slack {
            findings.push(format!(
                "{}f: {} ULP, documented {}",
                function.name, float.worst, function.bound
            ));
        }
        let found = (function.double)(device, &inputs).map_err(failed)?;
        let errors = inputs.iter().zip(&found).map(|(x, found)| {
            let exact = (function.exact)(*x);
            error(*found, exact, exact.abs(), f64::unit)
        });
        let double = Histogram::of(errors);
        if double.worst > function.bound + OF_THE_HOST {
            findings.push(format!(
                "{}: {} ULP, documented {}",
                function.name, double.worst, function.bound
            ));
        }
        figures.push((
            function.name,
            json!({"bound": function.bound, "float": float.json(), "double": double.json()}),
        ));
    }
    if findings.is_empty() { Ok(Outcome::ok(figures)) } else { Err(findings.join("; ")) }
}

/// The distance between neighbouring numbers at a place.
trait Unit {
    fn unit(at: f64) -> f64;
}

impl Unit for f32 {
    fn unit(at: f64) -> f64 {
        let at = at as f32;
        f64::from(at.next_up()) - f64::from(at)
    }
}

impl Unit for f64 {
    fn unit(at: f64) -> f64 {
        at.next_up() - at
    }
}

/// Returns the error in units in the last place; special values are right or infinitely wrong.
fn error(found: f64, exact: f64, magnitude: f64, unit: fn(f64) -> f64) -> f64 {
    if exact.is_nan() || !magnitude.is_finite() {
        let is_right = exact.is_nan() == found.is_nan()
            && (exact.is_nan() || found == magnitude.copysign(exact));
        return if is_right { 0.0 } else { f64::INFINITY };
    }
    if !found.is_finite() {
        return f64::INFINITY;
    }
    (found - exact).abs() / unit(magnitude)
}

/// Returns numbers of all sizes and both signs.
fn inputs() -> Vec<f64> {
    let mut inputs =
        vec![0.0, -0.0, 0.5, 1.0, -1.0, 2.0, 3.0, 88.7, 1e-30, f64::INFINITY, f64::NAN];
    let mut state = 1_u64;
    for _ in 0..4000 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let fraction = (state >> 11) as f64 / (1_u64 << 53) as f64;
        let size = [1.0, 10.0, 100.0, 0.01][(state >> 3) as usize % 4];
        // Floats, so that both types get the same numbers.
        inputs.push(f64::from(((fraction - 0.4) * size) as f32));
    }
    inputs
}

/// The number of results by the size of their errors.
struct Histogram {
    worst: f64,
    counts: [u64; 6],
}

impl Histogram {
    const NAMES: [&str; 6] = ["0", "to 0.5", "to 1", "to 2", "to 4", "above 4"];

    fn of(errors: impl Iterator<Item = f64>) -> Self {
        let mut this = Self { worst: 0.0, counts: [0; 6] };
        for error in errors {
            this.worst = this.worst.max(error);
            let bounds = [0.0, 0.5, 1.0, 2.0, 4.0];
            this.counts[bounds.iter().position(|bound| error <= *bound).unwrap_or(5)] += 1;
        }
        this
    }

    fn json(&self) -> Value {
        let counts = Self::NAMES
            .iter()
            .zip(self.counts)
            .map(|(name, count)| ((*name).to_owned(), count.into()));
        json!({"worst": (self.worst * 1000.0).round() / 1000.0, "ULPs": counts.collect::<serde_json::Map<_, Value>>()})
    }
}
