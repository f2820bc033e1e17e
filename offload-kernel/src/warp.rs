//! Functions with which the lanes of a warp exchange values.
//!
//! All functions are for whole warps, like CUDA's functions with the mask of all lanes. AMD's
//! hardware answers the active lanes; NVIDIA's hardware waits for all lanes that have not returned.

use crate::arch;

/// Returns the number of lanes in a warp: 64 on AMD's gfx9, otherwise 32. On the CPU, it is 64 if
/// the build had `OFFLOAD_CPU_LANES=64`. For GPUs, the number is a constant for the compiler,
/// because an image is for one kind of GPU.
#[inline(always)]
pub fn warp_size() -> u32 {
    arch::warp_size()
}

/// Returns the number of this lane in its warp, below [`warp_size`].
#[inline(always)]
pub fn lane() -> u32 {
    arch::lane()
}

/// Orders accesses to memory among the lanes of the warp: after the call, each lane sees what the
/// other lanes have written before their calls. No other function of this module orders accesses.
///
/// All lanes of the warp must make the same call.
#[inline(always)]
#[track_caller]
pub fn sync_warp() {
    arch::sync_warp();
}

/// Returns a mask with a set bit for each lane of the warp whose `condition` is true; bit 0 is lane
/// 0.
///
/// All lanes of the warp must make the same call. The bits of lanes that have returned are 0.
#[inline(always)]
#[track_caller]
pub fn ballot(condition: bool) -> u64 {
    arch::ballot(condition)
}

/// Returns whether `condition` is true for any lane of the warp. All lanes must make the same call.
#[inline(always)]
#[track_caller]
pub fn any(condition: bool) -> bool {
    ballot(condition) != 0
}

/// Returns whether `condition` is true for all lanes of the warp that have not returned. All lanes
/// must make the same call.
#[inline(always)]
#[track_caller]
pub fn all(condition: bool) -> bool {
    ballot(!condition) == 0
}

/// Returns the value of the lane `source`, modulo [`warp_size`].
///
/// All lanes of the warp must make the same call. If the lane `source` has returned, or the block
/// does not have this lane, the result can be any value.
#[inline(always)]
#[track_caller]
pub fn shuffle<T: Exchange>(value: T, source: u32) -> T {
    exchange(value, source % warp_size())
}

/// Returns the value of the lane that is `by` lanes before this one, or this lane's own `value` if
/// there is no such lane.
///
/// The conditions of [`shuffle`] apply.
#[inline(always)]
#[track_caller]
pub fn shuffle_up<T: Exchange>(value: T, by: u32) -> T {
    exchange(value, lane().checked_sub(by).unwrap_or(lane()))
}

/// Returns the value of the lane that is `by` lanes after this one, or this lane's own `value` if
/// there is no such lane.
///
/// The conditions of [`shuffle`] apply.
#[inline(always)]
#[track_caller]
pub fn shuffle_down<T: Exchange>(value: T, by: u32) -> T {
    exchange(value, own_unless_in_warp(lane().saturating_add(by)))
}

/// Returns the value of the lane whose number is `lane() ^ by`, or this lane's own `value` if there
/// is no such lane.
///
/// The conditions of [`shuffle`] apply.
#[inline(always)]
#[track_caller]
pub fn shuffle_xor<T: Exchange>(value: T, by: u32) -> T {
    exchange(value, own_unless_in_warp(lane() ^ by))
}

#[inline(always)]
fn own_unless_in_warp(source: u32) -> u32 {
    if source < warp_size() { source } else { lane() }
}

/// Exchanges each word of a value.
#[inline(always)]
#[track_caller]
fn exchange<T: Exchange>(value: T, source: u32) -> T {
    let bits = value.to_bits();
    let mut found = u64::from(arch::shuffle(bits as u32, source));
    if size_of::<T>() > 4 {
        found |= u64::from(arch::shuffle((bits >> 32) as u32, source)) << 32;
    }
    T::from_bits(found)
}

/// A number type that lanes can exchange: an integer or a floating-point number of at most 8 bytes.
pub trait Exchange: sealed::Bits {}

mod sealed {
    /// The bits of a number.
    pub trait Bits: Copy {
        fn to_bits(self) -> u64;
        /// Returns the number with these bits, and ignores any higher bits.
        fn from_bits(bits: u64) -> Self;
    }
}

macro_rules! exchange {
    ($($type:ty: $value:ident => $to:expr, $bits:ident => $from:expr;)*) => {$(
        impl Exchange for $type {}
        impl sealed::Bits for $type {
            #[inline(always)]
            fn to_bits(self) -> u64 {
                let $value = self;
                $to
            }
            #[inline(always)]
            fn from_bits($bits: u64) -> Self {
                $from
            }
        }
    )*};
    ($($integer:ident)*) => {
        exchange! { $($integer: value => value as u64, bits => bits as $integer;)* }
    };
}

exchange! { u8 i8 u16 i16 u32 i32 u64 i64 usize isize }
exchange! {
    f32: value => u64::from(value.to_bits()), bits => f32::from_bits(bits as u32);
    f64: value => value.to_bits(), bits => f64::from_bits(bits);
}
