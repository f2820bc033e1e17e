//! Launches like those of dfdx, which pass `usize`, `half::f16`, and buffers of these types.
use half::{bf16, f16};
use offload_gpu::run::{Device, RunError};

mod kernels {
    offload_gpu::include_kernels!("dfdx");
}

fn main() -> Result<(), RunError> {
    let device = Device::cpu();
    let numel = 8_usize;
    let (grid, block) = (1, numel as u32);
    let inp: Vec<f16> = (0..numel).map(|i| f16::from_f32(i as f32)).collect();
    let (inp, mut out) = (device.buffer(&inp)?, device.zeros::<f16>(numel)?);
    let dims: Vec<usize> = vec![numel, 1];
    let info = device.buffer(&dims)?;
    let strides = dims.len() / 2;

    unsafe { kernels::launches::fill_with_f16(&mut out, f16::ONE, numel).launch(&device, grid, block)? };
    unsafe { kernels::launches::neg_f16(numel, None, &mut out).launch(&device, grid, block)? };
    println!("{:?}", out.to_vec()?);
    unsafe { kernels::launches::neg_f16(numel, &inp, &mut out).launch(&device, grid, block)? };
    println!("{:?}", out.to_vec()?);
    // This kernel is in a different module, but has the same type.
    unsafe { kernels::native::swap_f16(numel, &mut out).launch(&device, 1, 1)? };
    let scale = f16::from_f32(0.5);
    let mut sums = device.zeros::<f16>(2)?;
    let sum = kernels::launches::sum_to_f16(numel, strides, scale, numel / 2, &info, &out, &mut sums);
    unsafe { sum.launch(&device, grid, block)? };
    println!("{:?}", sums.to_vec()?);

    let lhs = device.buffer(&[1.0_f32, 2.0, 3.0].map(bf16::from_f32))?;
    let rhs = device.buffer(&[0x3f80_u16; 3])?;
    let mut out = device.zeros::<bf16>(3)?;
    let one = device.buffer(&[1_usize])?;
    unsafe { kernels::launches::badd_fwd_bf16(lhs.len(), one.len(), &one, &lhs, &rhs, &mut out).launch(&device, 1, 3)? };
    println!("{:?}", out.to_vec()?);

    let cond = device.buffer(&[true, false, true].map(offload_gpu::types::Bool::from))?;
    let (lhs, rhs) = (device.buffer(&[1.0_f32; 3])?, device.buffer(&[2.0_f32; 3])?);
    let mut out = device.zeros::<f32>(3)?;
    unsafe { kernels::launches::choose_f32(3, &cond, &lhs, &rhs, &mut out).launch(&device, 1, 3)? };
    println!("{:?}", out.to_vec()?);
    Ok(())
}
