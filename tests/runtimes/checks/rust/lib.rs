//! Tests that launch the kernels. Each test is named after its kernel.
#![cfg(test)]

use offload_gpu::DeviceBuffer;
use offload_gpu::run::{Device, Launch};

mod kernels {
    offload_gpu::include_kernels!("kernels");
}

/// The number of threads in a block, and of elements in a buffer.
const COUNT: u32 = 64;

/// Creates a test for each kernel of a pair. In the test's body, the names in parentheses stand for
/// the device, a buffer with the numbers from 0, and the kernel.
macro_rules! tests {
    (@ $is_right:literal $name:ident ($device:ident $x:ident $kernel:ident) $body:block) => {
        #[test]
        fn $name() {
            #[allow(dead_code)]
            const IS_RIGHT: bool = $is_right;
            use kernels::$name as $kernel;
            let $device = Device::best_for(&kernels::PACK).unwrap();
            let numbers: Vec<f32> = (0..COUNT as u16).map(f32::from).collect();
            #[allow(unused_mut)]
            let mut $x = $device.buffer(&numbers).unwrap();
            // SAFETY: the tests provoke the wrong kernels' mistakes on purpose.
            unsafe { $body }
        }
    };
    ($($right:ident $wrong:ident $names:tt $body:block)*) => {$(
        tests! { @ true $right $names $body }
        tests! { @ false $wrong $names $body }
    )*};
}

tests! {
    count_right count_wrong (device _x kernel) {
        let mut count = device.buffer(&[0_u32]).unwrap();
        kernel(&mut count).launch(&device, 2, COUNT).unwrap();
        assert_eq!(count.to_vec().unwrap(), [2 * COUNT]);
    }

    reverse_right reverse_wrong (device x kernel) {
        let launch = Launch::new(1, COUNT).shared_memory(4 * COUNT as usize);
        kernel(&mut x).launch_as(&device, &launch).unwrap();
        let found = x.to_vec().unwrap();
        assert!(found.into_iter().eq((0..COUNT as u16).rev().map(f32::from)));
    }

    neighbours_right neighbours_wrong (device x kernel) {
        let mut y = device.buffer(&vec![0.0; COUNT as usize]).unwrap();
        kernel(COUNT as usize, &x, &mut y).launch(&device, 1, COUNT).unwrap();
        assert_eq!(y.to_vec().unwrap()[..2], [1.0, 3.0]);
    }

    pair_right pair_wrong (device x kernel) {
        let pair = device.buffer(&[kernels::Pair { first: 1.0, second: 2.0 }]).unwrap();
        kernel(&pair, &mut x).launch(&device, 1, 1).unwrap();
        assert_eq!(x.to_vec().unwrap()[0], 3.0);
    }

    next_right next_wrong (device _x kernel) {
        let mut y = device.buffer(&[u8::MAX]).unwrap();
        kernel(&mut y).launch(&device, 1, 1).unwrap();
        assert_eq!(y.to_vec().unwrap(), [0]);
    }

    row_right row_wrong (device x kernel) {
        let row = kernels::Row { start: x.device_address(), len: COUNT as usize };
        let row = device.buffer(&[row]).unwrap();
        let mut y = device.buffer(&vec![0.0; COUNT as usize]).unwrap();
        // In the test of the wrong kernel, this line frees the buffer.
        let x = IS_RIGHT.then_some(x);
        kernel(&row, &mut y).launch(&device, 1, COUNT).unwrap();
        drop(x);
        assert_eq!(y.to_vec().unwrap()[..2], [0.0, 1.0]);
    }

    meeting_right meeting_wrong (device x kernel) {
        kernel(&mut x).launch(&device, 1, COUNT).unwrap();
        assert_eq!(x.to_vec().unwrap()[6..10], [7.0, 8.0, 8.0, 9.0]);
    }

    lanes_right lanes_wrong (device x kernel) {
        kernel(&mut x).launch(&device, 1, COUNT).unwrap();
        let has_64_lanes = std::env::var("OFFLOAD_CPU_LANES").is_ok_and(|lanes| lanes == "64");
        let x = x.to_vec().unwrap();
        assert_eq!(x[..3], [1.0, 2.0, 3.0]);
        assert_eq!(x[31], if has_64_lanes { 32.0 } else { 31.0 });
    }
}
