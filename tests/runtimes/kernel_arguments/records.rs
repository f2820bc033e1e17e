//! Launches the kernels of `records.cu` on the CPU, from a module that gives many names a different
//! meaning.
#![allow(nonstandard_style, dead_code, unused_macros)]

extern crate offload_gpu;

mod kernels {
    type bool = ();
    type char = ();
    type f32 = ();
    type f64 = ();
    type i8 = ();
    type i16 = ();
    type i32 = ();
    type i64 = ();
    type i128 = ();
    type isize = ();
    type str = ();
    type u8 = ();
    type u16 = ();
    type u32 = ();
    type u64 = ();
    type u128 = ();
    type usize = ();
    struct Option;
    struct Result;
    struct Vec;
    struct String;
    struct Box;
    struct Copy;
    struct Debug;
    struct Send;
    struct Sync;
    struct Sized;
    struct Drop;
    struct Fn;
    struct FnMut;
    struct FnOnce;
    struct Into;
    struct From;
    struct Iterator;
    struct Default;
    struct ToString;
    struct Some;
    struct None;
    struct Ok;
    struct Err;
    mod core {}
    mod std {}
    mod alloc {}
    const N: () = ();
    const call: () = ();
    static symbol: () = ();
    macro_rules! assert { () => {}; }
    macro_rules! option_env { () => {}; }
    macro_rules! panic { () => {}; }
    ::offload_gpu::include_kernels!("records");
}

/// Kernels that the program declares with its own types.
mod declared {
    use std::primitive::f64 as Real;
    type f64 = i8;
    type i8 = Real;
    #[derive(Clone, Copy, ::offload_gpu::Parameter)]
    #[repr(C)]
    pub struct Own {
        pub x: i32,
        pub y: i32,
    }
    #[derive(Clone, Copy, ::offload_gpu::Parameter)]
    #[repr(C, align(16))]
    pub struct Lanes {
        pub x: [f32; 4],
    }
    ::offload_gpu::include_kernels!("records", extern {
        fn take_Destroyed(before: ::std::primitive::i8, it: Own, after: f32, out: *mut i8);
        fn take_OneVector(before: ::std::primitive::i8, it: Lanes, after: f32, out: *mut i8);
    });
}

/// The program's own types in place of kernels' structs. Some of them use fields of different types
/// for the same bytes.
mod owned {
    use super::Doubles;
    ::offload_gpu::include_kernels!(
        "records",
        use super::Number as Mixed,
        use crate::Pair as Inner,
        use Doubles
    );
}

/// Replaces `Mixed`, whose `x` is a `float`.
#[derive(Clone, Copy, ::offload_gpu::Parameter)]
#[repr(C)]
pub struct Number {
    x: [u8; 4],
    y: i64,
}

/// Replaces `Inner`, and has a field for the padding.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Pair {
    s: i16,
    padding: u16,
    i: i32,
}

// SAFETY: all fields are integers.
unsafe impl offload_gpu::run::BufferItem for Pair {}

/// Replaces `Doubles`, and has fields of bytes.
#[derive(Clone, Copy, ::offload_gpu::Parameter)]
#[repr(C, align(8))]
struct Doubles {
    x: [u8; 8],
    y: [u8; 8],
}

fn own_types() {
    let number = Number { x: 9.5_f32.to_ne_bytes(), y: 20 };
    assert_eq!(run(owned::take_Mixed(5, number, 3.0, out()), 1).unwrap()[0], 3_000_300.0);
    let doubles = Doubles { x: 8.0_f64.to_ne_bytes(), y: 20.5_f64.to_ne_bytes() };
    assert_eq!(run(owned::take_Doubles(5, doubles, 3.0, out()), 1).unwrap()[0], 3_000_290.0);

    let cpu = Device::cpu();
    let pair = Pair { s: 10, padding: 0, i: 100 };
    let by = cpu.buffer(&[pair; 2]).unwrap();
    let none = owned::Padded {
        flag: 2,
        value: 0.5,
        inner: [pair; 2],
        next: std::ptr::null_mut(),
        either: owned::Small::default(),
        nothing: owned::Empty,
    };
    let mut all = [none; 2];
    unsafe { owned::advance(all.as_mut_ptr(), &by, 2).launch(&cpu, 1, 1).unwrap() };
    assert_eq!((all[1].value, all[1].inner[1].i, all[1].inner[1].s), (1.0, 310, 10));
}

use offload_gpu::run::{Device, RunError};
use offload_gpu::Call;
use std::mem::MaybeUninit;

static mut OUT: [f64; 4] = [0.0; 4];

fn out() -> *mut f64 {
    &raw mut OUT as *mut f64
}

fn run<const N: usize, const BYTES: usize, const B: bool>(
    it: Call<N, BYTES, offload_gpu::Plain, B>,
    threads: u32,
) -> Result<[f64; 4], RunError> {
    unsafe {
        OUT = [0.0; 4];
        it.launch(&Device::cpu(), 1, threads)?;
        Ok(OUT)
    }
}

fn bytes<const N: usize>(all: &[(usize, &[u8])]) -> [MaybeUninit<u8>; N] {
    let mut bytes = [MaybeUninit::new(0); N];
    for (start, part) in all {
        for (at, byte) in part.iter().enumerate() {
            bytes[start + at] = MaybeUninit::new(*byte);
        }
    }
    bytes
}

macro_rules! gets {
    ($($sum:literal = $kernel:ident($value:expr);)*) => {$(
        let got = run(kernels::$kernel(5, $value, 3.0, out()), 1).map(|out| out[0]);
        assert_eq!(got.ok(), Some(5.0 + 10.0 * $sum + 3e6), stringify!($kernel));
    )*};
}

/// Copies structs of all forms to a device's memory, where a kernel changes them, and back.
fn memory() {
    use self::kernels::{Inner, Padded, Small};
    let cpu = Device::cpu();
    let of = |flag: i8| Padded {
        flag,
        value: 1.5 * f64::from(flag),
        inner: [Inner { s: 1, i: 2 }; 2],
        either: Small { bytes: bytes(&[(0, &i32::from(flag).to_ne_bytes())]) },
        ..Padded::default()
    };
    let mut all = cpu.buffer(&[of(1), of(-2), of(3)]).unwrap();
    let by = cpu.buffer(&[Inner { s: 10, i: 100 }; 3]).unwrap();
    unsafe { kernels::advance(&mut all, &by, 3).launch(&cpu, 1, 1).unwrap() };
    let first = offload_gpu::DeviceBuffer::device_address(&all).cast_mut();
    let changed = all.to_vec().unwrap();
    for (at, (it, flag)) in changed.iter().zip([1_i8, -2, 3]).enumerate() {
        assert_eq!((it.flag, it.value, it.nothing), (flag, 3.0 * f64::from(flag), kernels::Empty));
        assert_eq!(it.inner, [Inner { s: 1, i: 2 }, Inner { s: 1, i: 12 + 100 * i32::from(flag) }]);
        assert_eq!(it.next, first.wrapping_add((at + 1) % 3));
        let either = it.either.bytes.map(|byte| unsafe { byte.assume_init() });
        assert_eq!(i32::from_ne_bytes(either), i32::from(flag) + 1);
    }
    all.upload(&[Padded::default(); 3]).unwrap();
    let mut zeros = [of(1); 3];
    all.download(&mut zeros).unwrap();
    assert_eq!((zeros[2].value, zeros[2].inner), (0.0, [Inner::default(); 2]));
}

fn main() {
    use self::kernels::*;
    let destroyed = Destroyed { x: 1, y: 20 };
    gets! {
        21.0 = take_Destroyed(destroyed);
        23.0 = take_Uncopied(Uncopied { x: 3, y: 20 });
        23.5 = take_Uncopies(Uncopies { x: [Uncopied { x: 3, y: 0 }, Uncopied { x: 0, y: 20 }], y: 0.5 });
        24.0 = take_Copied(Copied { x: 4, y: 20 });
        25.0 = take_Moved(Moved { x: 5, y: 20 });
        26.0 = take_Trivial(Trivial { x: 6, y: 20 });
        26.5 = take_Made(Made { x: 6, y: 20.5 });
        28.5 = take_Holder(Holder { x: destroyed, y: 7.5 });
        29.5 = take_Heir(Heir { base: destroyed, z: 8.5 });
        30.0 = take_Aligned(Aligned { x: [9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 21.0] });
        31.5 = take_Virtual(Virtual { bytes: bytes(&[(8, &11.5_f64.to_ne_bytes()), (16, &20_i32.to_ne_bytes())]) });
        33.5 = take_Bases(Bases { x: 13.5, y: 20 });
        34.0 = take_Deep(Deep { x: 14.0, y: 20 });
        34.5 = take_Hidden(Hidden { x: 14.5, y: 20 });
        29.5 = take_Bits(Bits { bits: [5 + (20 << 3), 0, 0], z: 4.5 });
        26.5 = take_Packed(Packed { x: 6, y: 20.5 });
        27.5 = take_Floats(Floats { x: 7.0, y: 20.5 });
        28.5 = take_Doubles(Doubles { x: 8.0, y: 20.5 });
        29.5 = take_Mixed(Mixed { x: 9.5, y: 20 });
        35.0 = take_Large(Large { x: [1.0, 0.0, 0.0, 0.0, 14.0], y: 20 });
        32.0 = take_Union(Union { bytes: bytes(&[(0, &12.0_f64.to_ne_bytes()), (16, &20.0_f64.to_ne_bytes())]) });
    }
    let row = |lanes| vector { lanes: lanes };
    let (one, two) = (row([1.0, 0.0, 0.0, 2.0]), row([0.0, 0.0, 0.0, 20.0]));
    gets! {
        21.0 = take_Rows(Rows { x: [one, two] });
        32.0 = take_LargeTail(LargeTail { x: [12.0, 0.0, 20.0], y: [] });
        1.0 = take_Tail(Tail { x: 1.0, y: [] });
        3.0 = take_OneVector(OneVector { x: one });
        1.0 = take_Half(Half { x: offload_gpu::types::F16::from_bits(0x3c00) });
        7.0 = take_Small(Small { bytes: bytes(&[(0, &7_i32.to_ne_bytes())]) });
        0.0 = take_Lines(Lines);
        0.0 = take_Gap(Gap { bytes: bytes(&[]) });
        1.0 = take_Apart(Apart { x: Other, y: 1.0 });
        20.5 = take_Unnamed(Unnamed { x: 20.0, y: 0.5 });
        20.5 = take_Named(Named { bits: [20, 0, 0, 0, 0], y: 0.5 });
    }
    let nested = Nested { x: Middle, y: [Other; 2] };
    let got = run(empties(Empty, 1, nested, 20.0, Line, 300.0, Middle, out()), 1).unwrap();
    assert_eq!(got[0], 321.0);
    // In the source, kernels and parameters have the same names as these empty structs.
    assert_eq!(run(Op(Op::default(), 7, out()), 1).unwrap()[0], 7.0);
    assert_eq!(run(map_Other(Other, 8.0, out()), 1).unwrap()[0], 8.0);
    assert_eq!(run(map_Abs(Abs, -9.0, out()), 1).unwrap()[0], 9.0);
    memory();
    own_types();
    let longs = Longs { x: 1, y: 1 };
    let (capped, pair) = (Capped { x: [2.0, 0.0, 0.0, 3.0] }, Doubles { x: 4.0, y: 5.0 });
    let call = on_stack(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1, 1, 1, longs, out(), 1.0, capped, pair, 6.0);
    assert_eq!(run(call, 1).unwrap()[0], 6_050_403_020_113.0);
    assert_eq!(run(change(destroyed, out()), 4).unwrap(), [1.0, 2.0, 3.0, 4.0]);

    let of_declared = declared::Own { x: 1, y: 20 };
    let got = run(declared::take_Destroyed(5, of_declared, 3.0, out()), 1).unwrap();
    assert_eq!(got[0], 3_000_215.0);
    let lanes = declared::Lanes { x: [1.0; 4] };
    let got = run(declared::take_OneVector(5, lanes, 3.0, out()), 1).unwrap();
    assert_eq!(got[0], 3_000_025.0);

    assert_eq!(run(PACK_(1, 20, 300, out()), 1).unwrap()[0], 321.0);
    let (form, arguments, offload) = (__Form { x: 1 }, __arguments { x: 20 }, ___offload { x: 300 });
    assert_eq!(run(MODULE(form, arguments, offload, out()), 1).unwrap()[0], 321.0);
    let (names, t0, a) = (parameter_names { x: 1 }, T0 { x: 20 }, A { x: 300 });
    assert_eq!(run(__kernel(names, t0, a, out()), 1).unwrap()[0], 321.0);
    assert_eq!(run(__call_0(kernels::Clone { x: 5 }, out()), 1).unwrap()[0], 5.0);
    assert_eq!(run(Call_2_16(6, out()), 1).unwrap()[0], 6.0);
    assert_eq!(run(___offload_items(out()), 1).unwrap()[0], 1.0);
}
