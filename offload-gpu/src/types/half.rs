//! Conversions from and to the types of the crate `half`.

use super::{Bf16, F16, bfloat162, half2};
use half::{bf16, f16};

macro_rules! impl_half {
    ($($of_half:ident $own:ident $pair:ident)*) => {$(
        impl From<$of_half> for $own {
            #[inline]
            fn from(number: $of_half) -> Self {
                Self::from_bits(number.to_bits())
            }
        }

        impl From<$own> for $of_half {
            #[inline]
            fn from(number: $own) -> Self {
                Self::from_bits(number.to_bits())
            }
        }

        impl From<[$of_half; 2]> for $pair {
            #[inline]
            fn from(numbers: [$of_half; 2]) -> Self {
                numbers.map($own::from).into()
            }
        }

        impl From<$pair> for [$of_half; 2] {
            #[inline]
            fn from(pair: $pair) -> Self {
                [pair.x.into(), pair.y.into()]
            }
        }
    )*};
}

impl_half! { f16 F16 half2 bf16 Bf16 bfloat162 }
