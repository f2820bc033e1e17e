//! Calls every kernel of `types.cu`, and prints the offsets and sizes of the kernel's arguments.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs)]

/// The functions of the kernels in `types.cu`.
pub mod kernels {
    offload_gpu::include_kernels!("pack");
}

/// A second copy of the functions, in a module with an item that has the name of an enumeration.
pub mod own {
    /// An item of the program.
    pub const fn with_own_name() -> &'static str {
        Mode
    }

    #[allow(non_upper_case_globals)]
    const Mode: &str = "own";

    #[allow(missing_docs)]
    #[derive(Debug)]
    pub enum Level {
        Own,
    }

    offload_gpu::include_kernels!("pack");
}

use offload_gpu::Call;
use offload_gpu::run::{Device, Pod};
use offload_gpu::types::{Bf16, Bool, F8E4M3, F16, float4, uchar4};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

static SIZE: usize = 1;

fn show<const N: usize, const BYTES: usize>(call: Call<N, BYTES>) {
    let (start, size) = call.buffer();
    let offsets: Vec<usize> =
        call.pointers().iter().map(|pointer| pointer.addr() - start.addr()).collect();
    println!("{} {size} bytes at {offsets:?}", call.kernel().name());
}

fn main() {
    let device = |address: usize| std::ptr::without_provenance_mut::<f32>(address);
    show(kernels::saxpy(4, 2.0, device(16), device(32)));
    show(kernels::saxpy(4, 2.0, device(16).cast_const(), device(32)));
    show(kernels::scalars(true, -1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 0x3c00, 1.5, 2.5, 1, 1, null_mut()));
    let point = kernels::Point { x: 1.0, y: 2.0, z: [3, 4, 5], on: true.into() };
    show(kernels::records(
        point,
        kernels::Aligned { x: 1.0, y: 2.0 },
        7,
        kernels::Packed { c: 1, i: 2 },
        kernels::Bits { bits: [1, 2], c: 3, bits_2: [1] },
        kernels::Derived { base: kernels::Base { i: 1 }, f: 2.0 },
        kernels::Empty,
        kernels::Either { bytes: [MaybeUninit::new(1); 4] },
        kernels::float4_t { lanes: [1.0; 4] },
        kernels::float3_t { lanes: [1.0; 3] },
        kernels::ns_Outer { inner: kernels::ns_Outer_inner { q: 1 }, point },
        null_mut(),
    ));
    show(kernels::pointers(
        null_mut(), null(), device(16), device(16), null_mut(), &raw const point, null_mut(), null_mut(),
        null_mut::<u8>(), null_mut(), None,
    ));
    show(kernels::sizes(1_usize, -1_isize, 2_usize, 3_u64, null::<usize>(), &raw const SIZE));
    let halves = kernels::Halves { half: F16::from_bits(1), brain: Bf16::default(), flags: [Bool::from(true); 2] };
    let (half, pixel) = (F16::from_bits(0x3c00), uchar4 { x: 1, y: 2, z: 3, w: 4 });
    // The module's types for these parameters are those of offload-gpu.
    let (pair, position): (kernels::__half2, kernels::float4) = ([half; 2].into(), float4::from([0.5; 4]));
    let narrow = F8E4M3::from_bits(0x38);
    show(kernels::shared(
        half, Bf16::from_bits(0x3f80), narrow, pair, position, halves, &raw const half, null_mut::<F16>(),
        (&raw const pixel).cast_mut(), null_mut::<Bool>(), None,
    ));
    // Halves and bytes are passed as their bits, and null pointers as `None`.
    show(kernels::shared(
        0x3c00, 0x3f80, 0x38, pair, position, halves, null::<u16>(), null_mut::<u16>(), None, null_mut::<u8>(),
        Some(null()),
    ));
    show(kernels::shared(half, 0, narrow, pair, position, halves, None, None, None, null_mut::<bool>(), null::<f32>()));
    // Structs behind pointers are complete, too, and buffers may contain values of each struct.
    let cpu = Device::cpu();
    let leaf = kernels::Leaf { tree: null_mut(), weight: 1.5 };
    let (mut leaves, mut unaligned) = (
        cpu.buffer(&[leaf; 2]).unwrap(),
        cpu.buffer(&[kernels::Unaligned { c: 1, d: 2.0 }]).unwrap(),
    );
    let (mut empties, mut either, mut aligned) = (
        cpu.buffer(&[kernels::Empty; 3]).unwrap(),
        cpu.buffer(&[kernels::Either::default()]).unwrap(),
        cpu.zeros::<kernels::Aligned>(2).unwrap(),
    );
    assert_eq!(leaves.to_vec().unwrap(), [leaf, leaf]);
    assert_eq!(unaligned.to_vec().unwrap(), [kernels::Unaligned { c: 1, d: 2.0 }]);
    assert_eq!(aligned.to_vec().unwrap(), [kernels::Aligned::default(); 2]);
    assert_eq!((size_of_val(&kernels::Empty), empties.to_vec().unwrap()), (1, vec![kernels::Empty; 3]));
    let tree = kernels::Tree { leaf, ..kernels::Tree::default() };
    assert!(tree == tree && tree.rows.is_null() && format!("{tree:?}").contains("weight: 1.5"));
    show(kernels::behind(
        &mut leaves, &mut unaligned, null_mut::<kernels::Later_float>(), &mut empties, &mut either, &mut aligned,
    ));
    fn plain<T: Pod>() {}
    plain::<kernels::Empty>();
    plain::<kernels::Packed>();
    plain::<kernels::Unaligned>();
    plain::<kernels::ns_Array_float_3>();
    plain::<kernels::Derived>();
    // Enumerations are integers, and their enumerators are constants of these types.
    let chosen = kernels::Chosen {
        option: kernels::Chosen_option::Some,
        kind: kernels::ns_Kind::Least,
        levels: &kernels::Level::High,
    };
    show(kernels::choose(kernels::ns_Kind::match_, kernels::Level::Low, &raw const chosen, null_mut()));
    let [fast, exact]: [u8; 2] = [kernels::Mode::Fast, kernels::Mode::Exact];
    assert_eq!((fast, exact, kernels::Old::Two), (0, 1, 1_u32));
    assert_eq!((chosen.option, chosen.kind, kernels::Level::High), (1_u32, i64::MIN, u32::MAX));
    assert_eq!((own::with_own_name(), format!("{:?}", own::Level::Own)), ("own", "Own".to_owned()));
    // Rust lays out vectors of one and three numbers in packed structs.
    let pixels = kernels::Pixels { c: 1, one: [2].into(), three: [0.5; 3].into() };
    show(kernels::tight(pixels, null_mut()));
    show(kernels::nothing());
    show(kernels::ns_over_i32(1));
    show(kernels::ns_over_ptr_mut_f32(device(16)));
    show(kernels::ns_fill_float_3(null_mut(), 1.0));
    show(kernels::ns_fill_int_ptr_1(null_mut(), null_mut()));
}
