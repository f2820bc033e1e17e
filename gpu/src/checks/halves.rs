//! Converts halves, bfloat16 and 8-bit numbers: all codes to floats, and many floats to codes.

use super::numbers::Numbers;
use crate::report::{Result, Run, finding};

pub mod kernels {
    offload_gpu::include_kernels!("halves");
}

/// A type with few bits: a sign, an exponent and a fraction.
struct Small {
    name: &'static str,
    exponent: u32,
    fraction: u32,
    /// Whether an exponent with all bits set means infinity or NaN. Otherwise only the greatest
    /// code is NaN.
    has_infinity: bool,
    /// Whether the conversion turns too large numbers into the largest number.
    saturates: bool,
    /// The first code that is not a finite number.
    end: u32,
}

const HALF: Small = Small {
    name: "half",
    exponent: 5,
    fraction: 10,
    has_infinity: true,
    saturates: false,
    end: 0x7c00,
};
const BFLOAT: Small = Small {
    name: "bfloat16",
    exponent: 8,
    fraction: 7,
    has_infinity: true,
    saturates: false,
    end: 0x7f80,
};
const E4M3: Small = Small {
    name: "e4m3",
    exponent: 4,
    fraction: 3,
    has_infinity: false,
    saturates: true,
    end: 0x7f,
};
const E5M2: Small = Small {
    name: "e5m2",
    exponent: 5,
    fraction: 2,
    has_infinity: true,
    saturates: true,
    end: 0x7c,
};

impl Small {
    fn bits(&self) -> u32 {
        1 + self.exponent + self.fraction
    }

    /// Returns the value of a code.
    fn value(&self, code: u32) -> f64 {
        let magnitude = code & ((1 << (self.bits() - 1)) - 1);
        let (exponent, fraction) =
            (magnitude >> self.fraction, magnitude & ((1 << self.fraction) - 1));
        let most = (1 << self.exponent) - 1;
        let bias = (1 << (self.exponent - 1)) - 1;
        let ones = (1 << self.fraction) - 1;
        let unsigned = if self.has_infinity && exponent == most {
            if fraction == 0 { f64::INFINITY } else { f64::NAN }
        } else if !self.has_infinity && exponent == most && fraction == ones {
            f64::NAN
        } else if exponent == 0 {
            f64::from(fraction) * 2_f64.powi(1 - bias - self.fraction as i32)
        } else {
            f64::from(fraction | 1 << self.fraction)
                * 2_f64.powi(exponent as i32 - bias - self.fraction as i32)
        };
        if code >> (self.bits() - 1) == 1 { -unsigned } else { unsigned }
    }

    /// Returns the code of the nearest number, or `None` for NaN. In a tie, returns the code whose
    /// last bit is 0.
    fn nearest(&self, x: f64) -> Option<u32> {
        if x.is_nan() {
            return None;
        }
        let sign = u32::from(x.is_sign_negative()) << (self.bits() - 1);
        let x = x.abs();
        let end = self.end;
        let (mut low, mut high) = (0, end);
        // Find the greatest code whose value is at most x.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.value(middle) <= x { low = middle } else { high = middle }
        }
        let below = self.value(low);
        // Beyond the last number, assume another number at the same distance.
        let above =
            if low + 1 < end { self.value(low + 1) } else { 2.0 * below - self.value(low - 1) };
        let code = match (x - below).partial_cmp(&(above - x)) {
            Some(std::cmp::Ordering::Less) => low,
            Some(std::cmp::Ordering::Equal) => low + low % 2,
            _ => low + 1,
        };
        Some(sign | if code == end && self.saturates { end - 1 } else { code })
    }

    fn compare_values(&self, found: &[f32]) -> Result {
        for (code, found) in found.iter().enumerate().take(1 << self.bits()) {
            let expected = self.value(code as u32);
            let is_same = expected.is_nan() && found.is_nan()
                || expected as f32 == *found
                    && expected.is_sign_negative() == found.is_sign_negative();
            if !is_same {
                return finding(format!("{} {code:#x} is {found}, not {expected}", self.name));
            }
        }
        Ok(())
    }

    fn compare_codes<T: Copy + Into<u32>>(&self, x: &[f32], found: &[T]) -> Result {
        for (x, found) in x.iter().zip(found) {
            self.compare_code(
                &format!("the {} of {x:e}", self.name),
                f64::from(*x),
                (*found).into(),
            )?;
        }
        Ok(())
    }

    fn compare_code(&self, what: &str, exact: f64, found: u32) -> Result {
        let expected = self.nearest(exact);
        let is_same = expected.map_or_else(|| self.value(found).is_nan(), |it| it == found);
        if is_same {
            return Ok(());
        }
        let value = self.value(found);
        finding(format!("{what} is {found:#x} ({value:e}), not {expected:x?}"))
    }
}

pub fn run(run: &mut Run) -> Result<String> {
    let device = run.device.clone();
    const CODES: usize = 1 << 16;
    let [mut half, mut bfloat, mut e4m3, mut e5m2] = [
        device.zeros::<f32>(CODES)?,
        device.zeros(CODES)?,
        device.zeros(CODES)?,
        device.zeros(CODES)?,
    ];
    // SAFETY: each buffer has one element per thread of the grid.
    unsafe {
        kernels::small_to_float(CODES as i32, &mut half, &mut bfloat, &mut e4m3, &mut e5m2).launch(
            &device,
            CODES as u32 / 256,
            256,
        )?
    };
    for (of, found) in [(&HALF, &half), (&BFLOAT, &bfloat), (&E4M3, &e4m3), (&E5M2, &e5m2)] {
        let result = of.compare_values(&found.to_vec()?);
        run.part("to float", result);
    }

    let x = floats(20_000);
    let count = x.len();
    let there = device.buffer(&x)?;
    let (mut half, mut bfloat) = (device.zeros::<u16>(count)?, device.zeros::<u16>(count)?);
    let (mut e4m3, mut e5m2) = (device.zeros::<u8>(count)?, device.zeros::<u8>(count)?);
    let blocks = count.div_ceil(256) as u32;
    // SAFETY: all buffers have `count` elements.
    unsafe {
        kernels::float_to_small(count as i32, &there, &mut half, &mut bfloat, &mut e4m3, &mut e5m2)
            .launch(&device, blocks, 256)?
    };
    let result = HALF.compare_codes(&x, &half.to_vec()?);
    run.part("from float", result);
    let result = BFLOAT.compare_codes(&x, &bfloat.to_vec()?);
    run.part("from float", result);
    // E4M3 has no infinity, and the conversions to both 8-bit types saturate, so leave out values
    // that are not finite.
    let finite = |(x, code): (&f32, &u8)| x.is_finite().then_some((*x, *code));
    for (of, codes) in [(&E4M3, e4m3.to_vec()?), (&E5M2, e5m2.to_vec()?)] {
        let (x, codes): (Vec<f32>, Vec<u8>) = x.iter().zip(&codes).filter_map(finite).unzip();
        let result = of.compare_codes(&x, &codes);
        run.part("from float", result);
    }
    let result = arithmetic(run);
    run.part("arithmetic", result);
    Ok(format!("{CODES} codes of each type, {count} floats"))
}

/// Returns floats of every magnitude, and floats halfway between numbers of the types.
fn floats(count: usize) -> Vec<f32> {
    let mut numbers = Numbers::new(5);
    let mut one = || {
        let (bits, which) = (numbers.bits() as u32, numbers.bits() % 8);
        let small = 112 - (numbers.bits() % 20) as u32;
        match which {
            0 => bits & 0xffff_e000,
            1 => bits & 0xffff_e000 | 0x1000,
            2 => bits & 0xffff_0000 | 0x8000,
            // Numbers in the range of the types.
            3 => bits & 0x807f_f000 | (120 + (bits >> 23) % 16) << 23,
            4 => bits & 0x807f_ffff | (110 + (bits >> 23) % 32) << 23,
            5 => bits & 0x807f_0000 | small << 23,
            _ => bits,
        }
    };
    (0..count).map(|_| f32::from_bits(one())).collect()
}

fn arithmetic(run: &Run) -> Result {
    let device = &run.device;
    let mut numbers = Numbers::new(6);
    let count = 20_000;
    let mut codes = || -> Vec<u16> { (0..count).map(|_| numbers.bits() as u16).collect() };
    let (x, y) = (codes(), codes());
    let (x_there, y_there) = (device.buffer(&x)?, device.buffer(&y)?);
    let mut out = device.zeros::<u16>(3 * count)?;
    let blocks = count.div_ceil(256) as u32;
    // SAFETY: the kernel reads `count` elements of each input, and writes three results for each.
    unsafe {
        kernels::half_arithmetic(count as i32, &x_there, &y_there, &mut out)
            .launch(device, blocks, 256)?
    };
    for ((x, y), out) in x.iter().zip(&y).zip(out.to_vec()?.chunks(3)) {
        let (a, b) = (HALF.value((*x).into()), HALF.value((*y).into()));
        // These results are exact, or have so many bits that rounding them again returns the
        // nearest half.
        for (name, exact, found) in
            [("+", a + b, out[0]), ("-", a - b, out[1]), ("*", a * b, out[2])]
        {
            HALF.compare_code(&format!("{a:e} {name} {b:e}"), exact, found.into())?;
        }
    }
    Ok(())
}
