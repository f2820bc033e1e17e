//! Checks of kernels on the CPU: the checks' names, their environment variables, and the
//! description in an image.
//!
//! With `OFFLOAD_CPU_CHECK`, a build script builds an image that checks its kernels with a
//! sanitizer. offload-gpu loads such images, and `cargo offload test` runs programs with them.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The environment variables of checks.
pub mod variables {
    /// The check to build into images for the CPU. Build scripts read this variable.
    pub const CHECK: &str = "OFFLOAD_CPU_CHECK";
    /// Which check's findings to report if an image performs two checks. `offload/check_reports.h`
    /// reads this variable.
    pub const CHECK_ONLY: &str = "OFFLOAD_CPU_CHECK_ONLY";
    /// The number of lanes in a warp in images for the CPU: 32 or 64. Build scripts read this
    /// variable.
    pub const LANES: &str = "OFFLOAD_CPU_LANES";
    /// The path of the launch log. Checked images also write their findings to this file
    /// (`offload/check_reports.h`).
    pub const LOG: &str = "OFFLOAD_CPU_LOG";
    /// The [`Order`](super::Order) of blocks and threads.
    pub const ORDER: &str = "OFFLOAD_CPU_ORDER";
    /// How many seconds a launch may run before it ends the program.
    pub const TIME_LIMIT: &str = "OFFLOAD_CPU_TIME_LIMIT";
}

/// A check that an image for the CPU performs while its kernels run.
///
/// Source: the `-fsanitize` option of GCC and clang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Finds accesses to memory that does not belong to the kernel. Uses AddressSanitizer, and
    /// UndefinedBehaviorSanitizer's checks of indices and alignment.
    Memory,
    /// Finds unordered accesses to the same memory. Uses ThreadSanitizer.
    Races,
    /// Finds undefined behaviour of the source language. Uses UndefinedBehaviorSanitizer.
    Undefined,
    /// Both the memory check and the check of undefined behaviour, in one image.
    MemoryAndUndefined,
}

impl Check {
    const EACH: &'static [Self] =
        &[Self::Memory, Self::Races, Self::Undefined, Self::MemoryAndUndefined];

    /// The checks of the two images for `all`: ThreadSanitizer and AddressSanitizer cannot be in
    /// the same image.
    const ALL: &'static [Self] = &[Self::MemoryAndUndefined, Self::Races];

    /// Returns the check's name in variables and arguments.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Races => "races",
            Self::Undefined => "undefined",
            Self::MemoryAndUndefined => "memory,undefined",
        }
    }

    /// Returns the check with this name.
    #[inline]
    pub fn named(name: &str) -> Option<Self> {
        Self::EACH.iter().copied().find(|check| check.name() == name)
    }

    /// Returns the check with this name, or the checks for `all`. Each check needs a separate
    /// image.
    #[inline]
    pub fn requested(word: &str) -> Option<&'static [Self]> {
        match word {
            "all" => Some(Self::ALL),
            _ => Self::EACH.iter().find(|check| check.name() == word).map(core::slice::from_ref),
        }
    }

    /// Returns the single checks that this check consists of.
    pub fn parts(self) -> &'static [Self] {
        match self {
            Self::Memory => &[Self::Memory],
            Self::Races => &[Self::Races],
            Self::Undefined => &[Self::Undefined],
            Self::MemoryAndUndefined => &[Self::Memory, Self::Undefined],
        }
    }

    /// Returns which of the two checks for `all` includes this check.
    pub fn of_image(self) -> Self {
        if self == Self::Races { Self::Races } else { Self::MemoryAndUndefined }
    }

    /// Returns the variable with the sanitizer's options, and the options that kernels need.
    pub fn sanitizer_options(self) -> (&'static str, &'static str) {
        match self {
            // Kernels cannot leak memory.
            Self::Memory | Self::MemoryAndUndefined => ("ASAN_OPTIONS", "detect_leaks=0"),
            // By default, ThreadSanitizer reports only one race for each address, but the shared
            // memory of blocks reuses addresses.
            Self::Races => {
                ("TSAN_OPTIONS", "ignore_noninstrumented_modules=1:suppress_equal_addresses=0")
            }
            Self::Undefined => ("UBSAN_OPTIONS", "print_stacktrace=1"),
        }
    }
}

/// Describes the sanitizer that an image was built with. The image contains this description as
/// text.
///
/// Source: `offload_cpu_check` in `offload/checks.cpp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedImage {
    /// The check that the image performs.
    pub check: Check,
    /// The libraries that must be loaded before all other libraries, separated by colons.
    pub libraries: String,
    /// The program that finds source lines for the sanitizer; empty if the sanitizer uses none.
    pub symbolizer: String,
}

/// Writes the description's text in the image, without the NUL at its end.
impl fmt::Display for CheckedImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, libraries, symbolizer } = self;
        write!(
            f,
            "offload-cpu-check 1\nkind {}\nlibrary {libraries}\nsymbolizer {symbolizer}\n",
            check.name()
        )
    }
}

impl CheckedImage {
    /// Returns the descriptions in an image, each with the image that it describes. The
    /// description of the whole image comes first, followed by those of the images inside it.
    #[inline]
    pub fn all(image: &[u8]) -> Vec<(Self, &[u8])> {
        const START: &[u8] = b"offload-cpu-";
        let (mut own, mut inside) = (None, Vec::new());
        let mut rest = image;
        while let Some(at) = rest.windows(START.len()).position(|part| part == START) {
            rest = &rest[at + START.len()..];
            if let Some(text) = rest.strip_prefix(b"check 1\n") {
                own = own.or_else(|| Self::parse(text));
            } else if let Some(other) = rest.strip_prefix(b"inside 1\n").and_then(sized) {
                inside.extend(Self::all(other));
                rest = &rest[b"inside 1\n".len() + size_of::<u64>() + other.len()..];
            }
        }
        if let Some(checked) = own {
            inside.insert(0, (checked, image));
        }
        inside
    }

    #[inline]
    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = bytes.split(|byte| *byte == 0).next()?;
        let text = core::str::from_utf8(text).ok()?;
        let value =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Some(Self {
            check: Check::named(value("kind")?)?,
            libraries: value("library")?.to_owned(),
            symbolizer: value("symbolizer")?.to_owned(),
        })
    }
}

/// Reads a size (a 64-bit number), and returns that many of the bytes that follow.
#[inline]
fn sized(bytes: &[u8]) -> Option<&[u8]> {
    let (size, bytes) = bytes.split_first_chunk::<{ size_of::<u64>() }>()?;
    bytes.get(..usize::try_from(u64::from_le_bytes(*size)).ok()?)
}

/// The order in which a grid's blocks run, and a block's threads between two barriers.
///
/// Source: `offload/order.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// From the first to the last.
    Forward,
    /// From the last to the first.
    Reverse,
    /// A random order with this seed.
    Random(u64),
}

impl Order {
    /// Parses an order: `forward`, `reverse`, or `random:7`.
    #[inline]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "forward" => Some(Self::Forward),
            "reverse" => Some(Self::Reverse),
            _ => text.strip_prefix("random:")?.parse().ok().map(Self::Random),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forward => f.write_str("forward"),
            Self::Reverse => f.write_str("reverse"),
            Self::Random(seed) => write!(f, "random:{seed}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;

    #[test]
    fn each_check_is_requested_by_its_name() {
        for check in Check::EACH {
            assert_eq!(Check::requested(check.name()), Some(core::slice::from_ref(check)));
            assert!(check.parts().iter().all(|part| check.of_image().parts().contains(part)));
        }
        assert_eq!(Check::requested("race"), None);
    }

    fn image(check: Check, symbolizer: &str) -> (CheckedImage, Vec<u8>) {
        let (libraries, symbolizer) = ("/lib/a.so:/lib/b.so".to_owned(), symbolizer.to_owned());
        let checked = CheckedImage { check, libraries, symbolizer };
        let bytes = format!("\x7fELF..{checked}\0..").into_bytes();
        (checked, bytes)
    }

    #[test]
    fn an_image_says_what_it_checks() {
        for symbolizer in ["", "/bin/llvm-symbolizer"] {
            let (checked, image) = image(Check::Races, symbolizer);
            assert_eq!(CheckedImage::all(&image), [(checked, &image[..])]);
        }
        assert_eq!(CheckedImage::all(b"\x7fELF..."), []);
    }

    #[test]
    fn an_image_may_contain_another() {
        let (checked, own) = image(Check::MemoryAndUndefined, "");
        let (other_checked, other) = image(Check::Races, "");
        let mut inside = b"offload-cpu-inside 1\n".to_vec();
        inside.extend((other.len() as u64).to_le_bytes());
        inside.extend(&other);
        for image in [[&own[..], &inside].concat(), [&inside, &own[..]].concat()] {
            let expected = [(checked.clone(), &*image), (other_checked.clone(), &*other)];
            assert_eq!(CheckedImage::all(&image), expected);
        }
        // The size exceeds the remaining bytes.
        inside.truncate(inside.len() - 1);
        assert_eq!(CheckedImage::all(&inside).len(), 1);
    }

    #[test]
    fn orders_are_words() {
        for order in [Order::Forward, Order::Reverse, Order::Random(u64::MAX)] {
            assert_eq!(Order::parse(&order.to_string()), Some(order));
        }
        for wrong in ["backwards", "random", "random:", "random:x", "random:-1"] {
            assert_eq!(Order::parse(wrong), None);
        }
    }
}
