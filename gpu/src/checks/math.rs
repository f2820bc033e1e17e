//! Checks the mathematical functions for float and double. Measures errors in units in the last
//! place.
//!
//! The expected values come from the host's functions for double. For doubles, the bound includes
//! the errors of those functions, which the manual of the GNU C library documents.

use super::numbers::Numbers;
use crate::report::{Result, Run, rounded};
use crate::system as host;
use offload_gpu::run::{Device, Vendor};
use serde_json::json;
use std::f64::consts::PI;

pub mod kernels {
    offload_gpu::include_kernels!("math");
}

#[derive(Clone, Copy)]
enum Exact {
    One(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
}
use Exact::{One, Two};

/// A function: its name, the error bound documented in offload/math.h, the error bound of the
/// host's function for double, the range of interesting numbers, and the host's function.
type Function = (&'static str, f64, f64, (f64, f64), Exact);

/// All functions, in the order of the numbers in kernels/math.cu.
const FUNCTIONS: [Function; 41] = [
    ("exp", 1.0, 1.0, (-750.0, 711.0), One(|x| host::exp(x))),
    ("exp2", 1.0, 1.0, (-1080.0, 1025.0), One(|x| host::exp2(x))),
    ("exp10", 1.0, 2.0, (-325.0, 309.0), One(|x| host::pow(10.0, x))),
    ("expm1", 2.5, 1.0, (-100.0, 100.0), One(|x| host::expm1(x))),
    ("log", 1.0, 1.0, (0.5, 2.0), One(|x| host::log(x))),
    ("log2", 1.0, 1.0, (0.5, 2.0), One(|x| host::log2(x))),
    ("log10", 1.0, 2.0, (0.5, 2.0), One(|x| host::log10(x))),
    ("log1p", 1.0, 1.0, (-1.0, 2.0), One(|x| host::log1p(x))),
    ("cbrt", 1.0, 4.0, (-10.0, 10.0), One(|x| host::cbrt(x))),
    ("rsqrt", 1.0, 1.0, (0.0, 10.0), One(|x| 1.0 / x.sqrt())),
    ("sin", 1.0, 1.0, (-1e6, 1e6), One(|x| host::sin(x))),
    ("cos", 1.0, 1.0, (-1e6, 1e6), One(|x| host::cos(x))),
    ("tan", 2.5, 1.0, (-100.0, 100.0), One(|x| host::tan(x))),
    ("sinpi", 1.0, 2.0, (-10.0, 10.0), One(sine_of_turns)),
    ("cospi", 1.0, 2.0, (-10.0, 10.0), One(cosine_of_turns)),
    ("asin", 1.0, 1.0, (-1.0, 1.0), One(|x| host::asin(x))),
    ("acos", 1.0, 1.0, (-1.0, 1.0), One(|x| host::acos(x))),
    ("atan", 1.0, 1.0, (-4.0, 4.0), One(|x| host::atan(x))),
    ("sinh", 2.5, 2.0, (-30.0, 30.0), One(|x| host::sinh(x))),
    ("cosh", 2.5, 2.0, (-711.0, 711.0), One(|x| host::cosh(x))),
    ("tanh", 2.5, 2.0, (-5.0, 5.0), One(|x| host::tanh(x))),
    ("asinh", 2.5, 2.0, (-3.0, 3.0), One(|x| host::asinh(x))),
    ("acosh", 2.5, 2.0, (1.0, 30.0), One(|x| host::acosh(x))),
    ("atanh", 2.5, 2.0, (-1.0, 1.0), One(|x| host::atanh(x))),
    ("erf", 2.5, 1.0, (-5.0, 5.0), One(|x| host::erf(x))),
    ("erfc", 4.0, 5.0, (-5.0, 28.0), One(|x| host::erfc(x))),
    ("sqrt", 0.5, 0.0, (0.0, 10.0), One(f64::sqrt)),
    ("floor", 0.0, 0.0, (-10.0, 10.0), One(f64::floor)),
    ("ceil", 0.0, 0.0, (-10.0, 10.0), One(f64::ceil)),
    ("trunc", 0.0, 0.0, (-10.0, 10.0), One(f64::trunc)),
    ("rint", 0.0, 0.0, (-10.0, 10.0), One(f64::round_ties_even)),
    ("round", 0.0, 0.0, (-10.0, 10.0), One(f64::round)),
    ("fabs", 0.0, 0.0, (-10.0, 10.0), One(f64::abs)),
    ("pow", 1.0, 1.0, (-100.0, 100.0), Two(|x, y| host::pow(x, y))),
    ("hypot", 1.0, 1.0, (-10.0, 10.0), Two(|x, y| host::hypot(x, y))),
    ("atan2", 2.5, 1.0, (-10.0, 10.0), Two(|x, y| host::atan2(x, y))),
    ("fmod", 0.0, 0.0, (-100.0, 100.0), Two(|x, y| host::fmod(x, y))),
    ("fmin", 0.0, 0.0, (-10.0, 10.0), Two(f64::min)),
    ("fmax", 0.0, 0.0, (-10.0, 10.0), Two(f64::max)),
    ("copysign", 0.0, 0.0, (-10.0, 10.0), Two(f64::copysign)),
    ("fdim", 0.5, 0.0, (-10.0, 10.0), Two(|x, y| host::fdim(x, y))),
];

fn sine_of_turns(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let turn = x - 2.0 * (x / 2.0).round_ties_even();
    if turn == 0.0 || turn.abs() == 1.0 {
        return 0.0_f64.copysign(x);
    }
    let near = if turn.abs() > 0.5 { (1.0 - turn.abs()).copysign(turn) } else { turn };
    // Add the part of pi that is beyond a double's precision.
    let angle = near * PI;
    let rest = near.mul_add(PI, -angle) + near * 1.224_646_799_147_353_2e-16;
    host::sin(angle) + rest * host::cos(angle)
}

fn cosine_of_turns(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let turn = (x - 2.0 * (x / 2.0).round_ties_even()).abs();
    if turn == 0.5 { 0.0 } else { sine_of_turns(0.5 - turn) }
}

/// The errors of one function.
struct Errors {
    worst: f64,
    worst_at: String,
    /// How many errors are 0, at most 0.5, at most 1, at most 2, at most 4, and larger.
    histogram: [u64; 6],
}

impl Errors {
    fn new() -> Self {
        Self { worst: 0.0, worst_at: String::new(), histogram: [0; 6] }
    }

    fn add(&mut self, error: f64, at: impl FnOnce() -> String) {
        let bucket = [0.0, 0.5, 1.0, 2.0, 4.0].iter().position(|most| error <= *most).unwrap_or(5);
        self.histogram[bucket] += 1;
        if error > self.worst {
            (self.worst, self.worst_at) = (error, at());
        }
    }
}

pub fn run(run: &mut Run) -> Result<String> {
    let device = run.device.clone();
    let mut values = 0;
    // The CPU's functions come from the C library, so the bound for floats includes their errors.
    let of_cpu = if device.vendor() == Vendor::Cpu { 1.0 } else { 0.0 };
    for (number, function) in FUNCTIONS.iter().enumerate() {
        let (name, bound, of_host, ..) = *function;
        for (ty, errors, bound) in [
            ("float", floats(&device, number, function)?, bound + of_cpu * of_host),
            ("double", doubles(&device, number, function)?, bound + of_host),
        ] {
            values += errors.histogram.iter().sum::<u64>();
            let histogram = errors.histogram;
            let worst = rounded(errors.worst);
            let figure =
                json!({"worst": worst, "bound": bound, "0, 0.5, 1, 2, 4, more": histogram});
            run.figure(format!("{name} {ty}"), figure);
            // Errors of doubles are counted in whole units, so round the bound up.
            if errors.worst > bound.ceil().max(bound) {
                run.finding(format!(
                    "{name} of {ty} is wrong by {} units in the last place, and at most {bound} are documented: {}",
                    errors.worst, errors.worst_at
                ));
            }
        }
    }
    Ok(format!("{values} values of {} functions", FUNCTIONS.len()))
}

/// Returns pairs of numbers: special numbers, random bits, and numbers in the function's
/// interesting range.
fn inputs(
    number: usize,
    (_, _, _, range, exact): &Function,
    special: &[f64],
    any: impl Fn(u64) -> f64,
) -> (Vec<f64>, Vec<f64>) {
    let mut numbers = Numbers::new(number as u64);
    let mut pairs = Vec::new();
    let signs = [1.0, -1.0];
    let seconds = if matches!(exact, One(_)) { &special[..1] } else { special };
    for x in special {
        for y in seconds {
            for s in signs {
                pairs.extend(signs.map(|t| (s * x, t * y)));
            }
        }
    }
    for _ in 0..1000 {
        let (a, b) = (any(numbers.bits()), any(numbers.bits()));
        pairs.push((a, b));
        let (c, d) = (numbers.between(*range), numbers.between(*range));
        pairs.push((c, d));
        pairs.push((c * 0.01, numbers.between((0.0, 3.0))));
        pairs.push((a, d));
    }
    pairs.into_iter().unzip()
}

fn floats(device: &Device, number: usize, function: &Function) -> Result<Errors> {
    let special = specials(
        f64::from(f32::MAX),
        f64::from(f32::MIN_POSITIVE),
        f64::from(f32::from_bits(1)),
        f64::from(f32::EPSILON),
    );
    let any = |bits| f64::from(f32::from_bits(bits as u32));
    let (x, y) = inputs(number, function, &special, any);
    let [x, y]: [Vec<f32>; 2] = [x, y].map(|all| all.into_iter().map(|x| x as f32).collect());
    let (n, blocks) = (x.len() as i32, x.len().div_ceil(256) as u32);
    let (x_there, y_there, mut out) =
        (device.buffer(&x)?, device.buffer(&y)?, device.zeros::<f32>(x.len())?);
    // SAFETY: the three buffers have `n` elements.
    unsafe {
        kernels::math_float(number as i32, n, &x_there, &y_there, &mut out)
            .launch(device, blocks, 256)?
    };
    let mut errors = Errors::new();
    for ((x, y), found) in x.iter().zip(&y).zip(out.to_vec()?) {
        let (a, b) = (f64::from(*x), f64::from(*y));
        let exact = exact(function, a, b, found.into());
        // The exact result is a double, which a float may not represent.
        errors.add(error_of_float(found, exact), || text(function, a, b, found.into(), exact));
    }
    Ok(errors)
}

fn doubles(device: &Device, number: usize, function: &Function) -> Result<Errors> {
    let special = specials(f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1), f64::EPSILON);
    let (x, y) = inputs(number, function, &special, f64::from_bits);
    let (n, blocks) = (x.len() as i32, x.len().div_ceil(256) as u32);
    let (x_there, y_there, mut out) =
        (device.buffer(&x)?, device.buffer(&y)?, device.zeros::<f64>(x.len())?);
    // SAFETY: the three buffers have `n` elements.
    unsafe {
        kernels::math_double(number as i32, n, &x_there, &y_there, &mut out)
            .launch(device, blocks, 256)?
    };
    let mut errors = Errors::new();
    for ((x, y), found) in x.iter().zip(&y).zip(out.to_vec()?) {
        let exact = exact(function, *x, *y, found);
        errors.add(error_of_double(found, exact), || text(function, *x, *y, found, exact));
    }
    Ok(errors)
}

/// Returns the host's result. The minimum or maximum of two zeros may be either zero, so in that
/// case returns `found`, the device's choice.
fn exact(function: &Function, x: f64, y: f64, found: f64) -> f64 {
    match function.4 {
        Two(_) if matches!(function.0, "fmin" | "fmax") && [x, y, found] == [0.0; 3] => found,
        One(of) => of(x),
        Two(of) => of(x, y),
    }
}

fn text(function: &Function, x: f64, y: f64, found: f64, exact: f64) -> String {
    match function.4 {
        One(_) => format!("{}({x:e}) is {found:e}, not {exact:e}", function.0),
        Two(_) => format!("{}({x:e}, {y:e}) is {found:e}, not {exact:e}", function.0),
    }
}

fn specials(max: f64, min: f64, least: f64, epsilon: f64) -> [f64; 22] {
    [
        0.0,
        1.0,
        0.5,
        0.75,
        1.5,
        2.0,
        3.0,
        7.0,
        88.7,
        103.9,
        710.0,
        745.1,
        1e-30,
        1e30,
        f64::INFINITY,
        f64::NAN,
        max,
        min,
        least,
        epsilon,
        1.0 - epsilon / 2.0,
        1.0 + epsilon,
    ]
}

/// Returns 0 if both are NaN, or if they are equal and have the same sign. Otherwise returns
/// infinity.
fn same(found: f64, expected: f64) -> f64 {
    let is_same = found.is_nan() && expected.is_nan()
        || found == expected && found.is_sign_negative() == expected.is_sign_negative();
    if is_same { 0.0 } else { f64::INFINITY }
}

fn error_of_float(found: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    if nearest.is_nan() || found.is_nan() || exact == 0.0 || exact.is_infinite() {
        return same(found.into(), nearest.into());
    }
    if found == 0.0 && nearest == 0.0 {
        return same(found.into(), nearest.into()).max(0.5);
    }
    // Measure the distance as if the sequence of numbers continued after the largest float.
    let found = if found.is_infinite() {
        if nearest.is_infinite() {
            return 0.5;
        }
        f64::from(f32::MAX) * f64::from(found.signum())
    } else {
        f64::from(found)
    };
    // The exponent e such that the number is at least 2^e.
    let exponent = (exact.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let unit = 2_f64.powi((exponent.min(127) - 23).max(-149));
    (found - exact).abs() / unit
}

/// Returns how many doubles two doubles are apart.
fn error_of_double(found: f64, expected: f64) -> f64 {
    if found.is_nan() || expected.is_nan() || expected == 0.0 {
        return same(found, expected);
    }
    let place = |x: f64| {
        let magnitude = (x.to_bits() & !(1 << 63)) as i64;
        if x.is_sign_negative() { -magnitude } else { magnitude }
    };
    place(found).abs_diff(place(expected)) as f64
}
