//! Reads and writes variables of kernels.

use super::{Result, computes, trusted};
use offload_gpu::DeviceBuffer;
use offload_gpu::run::{Device, Vendor};
use offload_gpu::types::Pointer;
use std::thread;

#[allow(dead_code)]
mod kernels {
    offload_gpu::include_kernels!("variables");
}

/// For a pack that is only for the CPU, clang describes the source as C++. Types may differ from
/// those on GPUs.
#[allow(dead_code)]
mod on_cpu {
    offload_gpu::include_kernels!("variables_on_cpu");
}

use kernels::more_variables as more;
use kernels::{self as all, Params};

/// Writes and reads each kind of variable, on the device that the run time chooses.
pub fn copy() -> Result {
    let device = Device::best_for(&kernels::PACK)?;
    let device = &device;
    // Print the initial values. A stand-in for a driver does not read them from PTX.
    print!("{:?} {} ", all::COUNTERS.read(device)?, all::TOTAL.read(device)?);
    print!("{} {} ", all::NS_VALUE.read(device)?, all::LIMIT_FLOAT.read(device)?);
    print!("{} {} ", all::LIMIT_INT.read(device)?, all::TABLE_2.read(device)?);
    println!("{} {} {:?}", all::PACK_.read(device)?, all::KERNEL.read(device)?, more::TABLE.read(device)?);

    let mut weights = [0.0; 256];
    (0..256_u16).for_each(|at| weights[usize::from(at)] = f32::from(at));
    all::TABLE.write(device, &weights)?;
    assert_eq!(all::TABLE.read(device)?, weights);
    all::TABLE.write_at(device, 250, &[0.5; 6])?;
    all::TABLE.write_at(device, 256, &[])?;
    let mut last = vec![0.0; 8];
    all::TABLE.read_at(device, 248, &mut last)?;
    println!("{last:?}");
    // The second module has a different variable with this name.
    more::TABLE.write_at(device, 1, &[20.0])?;
    println!("{:?} {:?}", more::TABLE.read(device)?, all::TABLE.read(device)?[1]);

    all::PARAMS.write(device, &Params { scale: 2.0, count: 3, bias: 0.25 })?;
    println!("{:?}", all::PARAMS.read(device)?);
    all::COUNTERS.write_at(device, 1, &[[7, 8, 9]])?;
    println!("{:?}", all::COUNTERS.read(device)?);
    all::IS_DONE.write(device, &true.into())?;
    println!("{}", all::IS_DONE.read(device)?.get());
    all::COLORS.write_at(device, 1, &[[0.0, 0.0, 0.0, 0.5].into()])?;
    println!("{:?}", all::COLORS.read(device)?[1].w);
    let y = device.zeros::<f32>(256)?;
    all::RESULT.write(device, &Pointer(y.device_address().cast_mut()))?;
    assert_eq!(all::RESULT.read(device)?.0.cast_const(), y.device_address());
    assert_eq!(all::TABLE.address(device)?, all::TABLE.address(device)?);

    if computes(device) {
        let x = device.buffer(&[1.0_f32, 2.0, 3.0])?;
        let mut sum = device.zeros::<f32>(1)?;
        // SAFETY: the kernels access three elements of `x` and `y`, and one of `sum`.
        unsafe {
            all::weigh(3, &x).launch(device, 1, 3)?;
            more::sum(&mut sum).launch(device, 1, 1)?;
        }
        println!("{:?} {:?}", &y.to_vec()?[..4], sum.to_vec()?);
        println!("{:?} {}", all::COUNTERS.read(device)?, all::TOTAL.read(device)?);
        println!("{}", all::IS_DONE.read(device)?.get());
        // A variable's address may be a kernel's argument.
        let mut copied = device.zeros::<f32>(1)?;
        all::TABLE.write_at(device, 0, &[1.0, 2.0, 3.0])?;
        // SAFETY: as above.
        unsafe { all::weigh(1, all::TABLE.address(device)?).launch(device, 1, 1)? };
        copied.upload(&y.to_vec()?[..1])?;
        println!("{:?}", copied.to_vec()?);
    }
    if device.vendor() == Vendor::Cpu {
        let cpu = (on_cpu::COUNTERS.read(device)?, on_cpu::SIZED.read(device)?);
        println!("{cpu:?} {:?}", on_cpu::DIFFERS.read(device)?);
    }
    Ok(())
}

/// Prints the results of reading variables that the images lack or define with a different size.
pub fn errors() -> Result {
    let device = Device::best_for(&kernels::PACK)?;
    let show = |result: std::result::Result<i32, offload_gpu::run::RunError>| match result {
        Ok(value) => println!("no error: {value}"),
        Err(error) => println!("{error}"),
    };
    let module = kernels::PACK.module("variables");
    show(all::ON_GPUS_ONLY.read(&device));
    show(module.variable::<i32>("tabel").read(&device));
    show(module.variable::<[i32; 4]>("counters").read(&device).map(|all| all[0]));
    show(module.variable::<[i32; 6]>("counters").read(&device).map(|all| all[4]));
    show(module.variable::<i32>("a\0b").read(&device));
    show(module.variable::<i32>("_ZL6hidden").read(&device));
    show(module.variable::<i32>("weigh").read(&device));
    if device.vendor() == Vendor::Cpu {
        show(trusted::PACK.module("two").variable::<i32>("kept").read(&device));
    }
    let loaded = module.on(&device)?;
    println!("{:?}", loaded.raw_variable("counters")?.1);
    println!("{:?} {}", all::NS_VALUE, all::NS_VALUE.symbol());
    Ok(())
}

/// Copies a variable on several threads at the same time. No copy may contain values from two
/// different writes.
pub fn threads() -> Result {
    let device = Device::best_for(&kernels::PACK)?;
    all::COUNTERS.write(&device, &[[0; 3]; 2])?;
    let work = |value: i32| {
        for _ in 0..1000 {
            all::COUNTERS.write(&device, &[[value; 3]; 2]).unwrap();
            let [[first, ..], rest] = all::COUNTERS.read(&device).unwrap();
            assert_eq!(rest, [first; 3]);
        }
    };
    let work = &work;
    thread::scope(|scope| (0..4).for_each(|value| drop(scope.spawn(move || work(value)))));
    println!("done");
    Ok(())
}
