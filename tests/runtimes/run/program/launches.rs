//! Launches kernels that need features that OpenCL lacks, and prints the results or errors.

use offload_gpu::run::{Device, Launch, RunError};

mod kernels {
    offload_gpu::include_kernels!("launches");
}

mod aligned {
    offload_gpu::include_kernels!("aligned");
}

fn main() -> Result<(), RunError> {
    let device = Device::best_for(&kernels::PACK)?;
    let mut y = device.zeros::<i32>(65)?;
    kernels::TABLE.write(&device, &[1, 2, 3, 4])?;
    kernels::TABLE.write_at(&device, 4, &[])?;
    kernels::TABLE.read_at(&device, 4, &mut [])?;
    for threads in [32, 4, 64] {
        let launch = Launch::new(1, threads).shared_memory(4 * threads as usize);
        // SAFETY: the kernel writes an element for each thread, and one more; there are 65.
        unsafe { kernels::reverse(&mut y).launch_as(&device, &launch)? };
        let (launches, all) = (kernels::LAUNCHES.read(&device)?, y.to_vec()?);
        println!("{launches} {} {:?}", all[threads as usize], &all[..4]);
    }
    // Intel's compiler would move accesses past barriers, and would do so differently for multiples
    // of 32.
    for threads in [64, 48, 33] {
        let launch = Launch::new(1, threads).shared_memory(4 * threads as usize);
        // SAFETY: the kernel writes one element of `y`.
        unsafe { kernels::fold(threads as i32, &mut y).launch_as(&device, &launch)? };
        println!("{threads}: {}", y.to_vec()?[0]);
    }
    for (grid, block) in [(1, (4, 2, 2)), (4, (4, 2, 2)), (1, (2, 2, 4)), (1, (16, 1, 1))] {
        let mut y = device.zeros::<i32>(64)?;
        // SAFETY: 16 threads of each of 4 blocks write an element each.
        match unsafe { kernels::places(&mut y).launch(&device, grid, block) } {
            Ok(()) => println!("{:?}", &y.to_vec()?[16 * grid as usize - 16..16 * grid as usize]),
            Err(error) => println!("{error}"),
        }
    }
    // SAFETY: 64 threads write an element each.
    unsafe { kernels::bounded(&mut y).launch(&device, 1, 64)? };
    println!("{:?}", &y.to_vec()?[62..64]);
    // 256 KiB is all the shared memory that a block gets. A different kernel of the module reserves
    // 4 KiB of it, so this launch requests too much.
    let too_large = Launch::new(1, 4).shared_memory(256 << 10);
    // SAFETY: as above.
    if let Err(error) = unsafe { kernels::reverse(&mut y).launch_as(&device, &too_large) } {
        println!("{error}");
    }
    let mut four = device.buffer(&[1, 2, 3, 4])?;
    // The module's own arrays need 128 bytes each, because a driver aligns them.
    for bytes in [(256 << 10) - 256, (256 << 10) - 255] {
        let launch = Launch::new(1, 4).shared_memory(bytes);
        // SAFETY: 4 threads write an element each.
        match unsafe { aligned::aligned(&mut four).launch_as(&device, &launch) } {
            Ok(()) => println!("{} {:?}", aligned::LAUNCHES.read(&device)?, four.to_vec()?),
            Err(error) => println!("{error}"),
        }
    }
    // SAFETY: as above.
    if let Err(error) = unsafe { kernels::large(&mut y).launch(&device, 1, 64) } {
        println!("{error}");
    }
    Ok(())
}
