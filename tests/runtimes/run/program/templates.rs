//! Calls template instances through generic functions and through their own functions.

use super::Result;
use offload_gpu::run::{Buffer, BufferItem, Device};
use offload_gpu::types::Bool;
use std::fmt::Debug;
use std::ptr::null_mut;

#[allow(dead_code)]
mod templates {
    offload_gpu::include_kernels!("templates");

    /// An item of the program that hides a generic function.
    pub fn hidden() -> u8 {
        9
    }
}

use templates::{Mode, Pair_double, Pair_float, Point, Thrice, Twice};

/// Launches a kernel through the instance's own function, then through the generic function. Prints
/// both results, and whether both calls have the same kernel, and the same bytes and offsets of
/// arguments.
macro_rules! both {
    ($device:expr, $y:expr, $generic:expr, $own:expr) => {{
        let (generic, own) = ($generic, $own);
        let (mut of_generic, mut of_own) = ((null_mut(), 0), (null_mut(), 0));
        let mut same = true;
        for (call, to) in [(generic.buffer(), &mut of_generic), (own.buffer(), &mut of_own)] {
            *to = (call.0.cast_mut(), call.1);
        }
        let offsets = |start: *mut std::ffi::c_void, pointers: &[*mut std::ffi::c_void]| {
            pointers.iter().map(|it| it.addr() - start.addr()).collect::<Vec<_>>()
        };
        same &= generic.kernel().name() == own.kernel().name();
        same &= offsets(of_generic.0, &generic.pointers()) == offsets(of_own.0, &own.pointers());
        // SAFETY: the buffers have this many bytes, and no kernel has padding between its
        // arguments.
        let bytes = |(start, size): (*mut std::ffi::c_void, usize)| unsafe {
            std::slice::from_raw_parts(start.cast::<u8>(), size)
        };
        same &= bytes(of_generic) == bytes(of_own);
        // SAFETY: the kernels access only elements that the buffers have.
        unsafe { own.launch($device, 1, 1)? };
        let first = $y.to_vec()?;
        // SAFETY: as above.
        unsafe { generic.launch($device, 1, 1)? };
        println!("{same} {first:?} {:?}", $y.to_vec()?);
    }};
}

pub fn run() -> Result {
    let device = &Device::best_for(&templates::PACK)?;
    println!("{device}");
    let mut x = device.buffer(&[1.0_f32, 2.0])?;
    both!(device, x, templates::scale::<f32>(&mut x, 2.0, 2), templates::scale_float(&mut x, 2.0, 2));
    let mut y = device.buffer(&[1.0_f64, 2.0])?;
    both!(device, y, templates::scale::<f64>(&mut y, 3.0, 2), templates::scale_double(&mut y, 3.0, 2));
    let mut points = device.buffer(&[Point { x: 1.5, y: 2 }])?;
    let by = Point { x: 2.0, y: 3 };
    both!(
        device,
        points,
        templates::scale::<Point>(&mut points, by, 1),
        templates::scale_Point(&mut points, by, 1)
    );
    let mut ints = device.zeros::<i32>(2)?;
    both!(
        device,
        ints,
        templates::ns_convert::<f32, i32>(&x, &mut ints, 2),
        templates::ns_convert_float_int(&x, &mut ints, 2)
    );
    both!(
        device,
        ints,
        templates::ns_convert::<f64, i32>(&y, &mut ints, 2),
        templates::ns_convert_double_int(&y, &mut ints, 2)
    );
    both!(
        device,
        y,
        templates::ns_convert::<f32, f64>(&x, &mut y, 2),
        templates::ns_convert_float_double(&x, &mut y, 2)
    );
    let (mut sum, mut pair) = (device.zeros(1)?, device.buffer(&[Pair_float { first: 1.0, second: 0.5 }])?);
    both!(
        device,
        sum,
        templates::apply::<Twice, 2, f32, true, { Mode::Add }>(&mut pair, &mut sum),
        templates::apply_Twice_2_float_true_Mode_1(&mut pair, &mut sum)
    );
    let (mut sum, mut pair) =
        (device.zeros(1)?, device.buffer(&[Pair_double { first: 1.0, second: 0.5 }])?);
    both!(
        device,
        sum,
        templates::apply::<Thrice, -3, f64, false, 0>(&mut pair, &mut sum),
        templates::apply_Thrice_minus_3_double_false_Mode_0(&mut pair, &mut sum)
    );
    let mut three = device.zeros::<i32>(3)?;
    both!(device, three, templates::fill_::<3>(&mut three), templates::fill_3U(&mut three));
    let mut flag = device.zeros::<Bool>(1)?;
    both!(
        device,
        flag,
        templates::store::<bool>(&mut flag, None, true),
        templates::store_bool(&mut flag, None, true)
    );
    let mut bytes = device.zeros::<u8>(1)?;
    both!(
        device,
        bytes,
        templates::store::<bool>(&mut bytes, &flag, false),
        templates::store_bool(&mut bytes, &flag, false)
    );
    both!(
        device,
        x,
        templates::store::<f32>(&mut x, None, 5.0),
        templates::store_float(&mut x, None, 5.0)
    );
    println!("{:?} {:?}", of_type(device, 2.0_f32)?, of_type(device, 3.0_f64)?);
    println!("{:?} {:?}", of_type(device, by)?, of_two::<f32, f64>(device, &[1.5])?);
    println!("{:?}", of_number::<1>(device)?);
    println!("{}", templates::hidden());
    // The compiler infers the instance from the type of the value.
    println!("{:?}", templates::scale(None, 2.0_f64, 0).kernel());
    Ok(())
}

/// Calls a kernel for elements of any type for which the template has an instance.
fn of_type<T: templates::scale + BufferItem + Debug>(device: &Device, a: T) -> Result<Vec<T>> {
    let mut x = device.buffer(&[a, a])?;
    // SAFETY: the kernel accesses two elements.
    unsafe { templates::scale::<T>(&mut x, a, 2).launch(device, 1, 1)? };
    Ok(x.to_vec()?)
}

fn of_two<T, U>(device: &Device, x: &[T]) -> Result<Vec<U>>
where
    T: templates::ns_convert<U> + BufferItem,
    U: BufferItem,
{
    let (from, mut to): (_, Buffer<U>) = (device.buffer(x)?, device.zeros(x.len())?);
    // SAFETY: both buffers have this many elements.
    unsafe { templates::ns_convert::<T, U>(&from, &mut to, x.len() as i32).launch(device, 1, 1)? };
    Ok(to.to_vec()?)
}

fn of_number<const N: u32>(device: &Device) -> Result<Vec<i32>>
where
    (): templates::fill_<N>,
{
    let mut y = device.zeros(3)?;
    // SAFETY: no instance writes more than three elements.
    unsafe { templates::fill_::<N>(&mut y).launch(device, 1, 1)? };
    Ok(y.to_vec()?)
}
