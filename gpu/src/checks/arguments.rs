//! Launches kernels with random parameter lists. Each kernel copies its arguments' bytes to a
//! buffer. build.rs generates the types and the calls.

use crate::report::{Result, Run, Stop};
use offload_gpu::DeviceBuffer;
use offload_gpu::run::{Buffer, Cause, Device, Vendor};
use offload_gpu::{Call, Form};
use std::mem::MaybeUninit;

#[allow(dead_code, clippy::all)]
pub mod kernels {
    offload_gpu::include_kernels!("random");
}

mod calls {
    use super::{Each, Expected, kernels, value};
    #[allow(unused_imports)]
    use std::ffi::*;

    include!(concat!(env!("OUT_DIR"), "/random.rs"));

    pub fn run_all(each: &mut Each) {
        all(each);
    }
}

/// Returns a value whose bytes identify the parameter and the position within it.
fn value<T>(number: usize) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    for at in 0..size_of::<T>() {
        // SAFETY: the byte belongs to the value.
        unsafe { value.as_mut_ptr().cast::<u8>().add(at).write(byte(number, at)) };
    }
    // SAFETY: the generator uses only types for which all bytes are valid: numbers, pointers, and
    // structs of them. A `bool` is converted from a number.
    unsafe { value.assume_init() }
}

fn byte(number: usize, at: usize) -> u8 {
    (number * 53 + at * 29 + 11) as u8
}

/// The arguments that a kernel must receive: the size of each, whether it is a `bool`, and a mask
/// in hexadecimal digits, which has a 1 for each bit of a value and a 0 for each bit of padding.
struct Expected {
    arguments: &'static [(usize, bool)],
    mask: &'static str,
}

/// Launches one kernel after another.
struct Each {
    device: Device,
    output: Buffer<u8>,
    launched: usize,
    refused: usize,
    bytes: usize,
    findings: Vec<String>,
}

const SIZE: usize = 1 << 13;

impl Each {
    fn output(&self) -> *mut u8 {
        self.output.device_address().cast_mut()
    }

    fn run<const N: usize, const BYTES: usize, F: Form, const B: bool>(
        &mut self,
        call: &Call<N, BYTES, F, B>,
        expected: &Expected,
    ) {
        let kernel = call.kernel();
        if let Err(why) = self.launch(call, expected) {
            let text = match why {
                Stop::Finding(text) | Stop::Skip(text) => text,
            };
            self.findings.push(format!("{}: {text}", kernel.name()));
        }
    }

    fn launch<const N: usize, const BYTES: usize, F: Form, const B: bool>(
        &mut self,
        call: &Call<N, BYTES, F, B>,
        expected: &Expected,
    ) -> Result {
        self.output.upload(&[0xaa; SIZE])?;
        // SAFETY: the kernel only copies its other arguments, which have at most 3000 bytes, to
        // the buffer that its first argument points to.
        if let Err(error) = unsafe { call.launch(&self.device, 1, 1) } {
            let is_refused = matches!(error.cause(), Cause::Refused(_));
            // SPIR-V has no 128-bit integers, so the SPIR-V image lacks kernels with parameters of
            // such types.
            let may_be_refused = self.device.vendor() == Vendor::Intel
                && error.to_string().contains("has no such kernel");
            if may_be_refused && is_refused {
                self.refused += 1;
                return Ok(());
            }
            return Err(error.into());
        }
        let found = self.output.to_vec()?;
        self.launched += 1;
        let passed = expected.arguments.iter().enumerate().flat_map(|(at, &(size, is_bool))| {
            let number = at + 1;
            (0..size).map(move |at| {
                (number, if is_bool { byte(number, at) % 2 } else { byte(number, at) })
            })
        });
        let digits = expected.mask.as_bytes().chunks(2);
        let mask = digits.map(|pair| {
            let text = str::from_utf8(pair).unwrap_or_default();
            u8::from_str_radix(text, 16).unwrap_or(0xff)
        });
        for (at, ((number, passed), mask)) in passed.zip(mask).enumerate() {
            self.bytes += 1;
            if (found[at] ^ passed) & mask != 0 {
                return crate::report::finding(format!(
                    "argument {number}: byte {at} of all is {:#04x}, not {passed:#04x}",
                    found[at]
                ));
            }
        }
        Ok(())
    }
}

pub fn run(run: &mut Run) -> Result<String> {
    let device = run.device.clone();
    let output = device.zeros::<u8>(SIZE)?;
    let mut each = Each { device, output, launched: 0, refused: 0, bytes: 0, findings: Vec::new() };
    calls::run_all(&mut each);
    let Each { launched, refused, bytes, findings, .. } = each;
    findings.into_iter().for_each(|text| run.finding(text));
    run.figure("kernels", launched);
    run.figure("refused, since Rust passes them otherwise than C++", refused);
    if launched == 0 {
        run.finding("no kernel was launched");
    }
    Ok(format!("{bytes} bytes of {launched} kernels arrived; {refused} cannot be launched here"))
}
