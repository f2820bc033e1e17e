//! Numbers in containers of which new ones may appear.

/// Defines a type for a 16-bit number, its known values, and their names for `Display`, which
/// writes any other value by the given format.
macro_rules! numbers {
    (
        $(#[$doc:meta])*
        $type:ident, $unknown:literal;
        $($(#[$value_doc:meta])* $value:ident = $number:literal, $name:literal;)*
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $type(pub u16);

        impl $type {
            $($(#[$value_doc])* pub const $value: Self = Self($number);)*
        }

        impl core::fmt::Display for $type {
            #[inline]
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(match *self {
                    $(Self::$value => $name,)*
                    Self(other) => return write!(f, $unknown, other),
                })
            }
        }
    };
}

pub(crate) use numbers;
