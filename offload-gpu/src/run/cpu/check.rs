//! Images that check their kernels with a sanitizer (`OFFLOAD_CPU_CHECK` at build time). Also the
//! order in which blocks and threads run (`OFFLOAD_CPU_ORDER` at run time).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_uint};
use core::ptr;
use core::sync::atomic::AtomicU64;
use std::env;
use std::sync::OnceLock;

/// The description of an image's sanitizer, from the variable `offload_cpu_check` of
/// `offload/checks.cpp`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Checked<'a> {
    kind: &'a str,
    library: &'a str,
    symbolizer: &'a str,
}

impl<'a> Checked<'a> {
    /// Returns the image to load: `image`, or an image inside of it for the sanitizer that is in
    /// this program. Also returns the description of its sanitizer; `None` if it has none.
    ///
    /// Returns an error if the program was started without the library of a sanitizer: loading that
    /// library later would end the program, or crash it.
    pub(super) fn choose(image: &'a [u8]) -> Result<(Option<Self>, &'a [u8]), String> {
        let all = Self::all(image);
        if all.is_empty() {
            return Ok((None, image));
        }
        let hints: String = all.iter().map(|(checked, _)| checked.hint()).collect();
        match all.into_iter().find(|(checked, _)| checked.is_loadable()) {
            Some((checked, image)) => Ok((Some(checked), image)),
            None => {
                Err(format!("the sanitizer that it was built with is not in this program.{hints}"))
            }
        }
    }

    /// Returns the descriptions in an image with the images that they describe: this image, and
    /// then images inside of it.
    fn all(image: &'a [u8]) -> Vec<(Self, &'a [u8])> {
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
        own.map(|checked| (checked, image)).into_iter().chain(inside).collect()
    }

    fn parse(text: &'a [u8]) -> Option<Self> {
        let text = CStr::from_bytes_until_nul(text).ok()?.to_str().ok()?;
        let value =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Some(Self {
            kind: value("kind")?,
            library: value("library")?,
            symbolizer: value("symbolizer")?,
        })
    }

    /// Whether the image looks for races.
    pub(super) fn checks_races(&self) -> bool {
        self.kind == "races"
    }

    fn is_loadable(&self) -> bool {
        match self.kind {
            "races" => is_there("__tsan_init"),
            // The library of UndefinedBehaviorSanitizer may be loaded later, if the loader finds
            // it.
            "undefined" => true,
            _ => is_there("__asan_init"),
        }
    }

    /// Returns advice for the user: the variables to set when the program starts, so that it
    /// contains the sanitizer's library.
    pub(super) fn hint(&self) -> String {
        let Self { kind, library, symbolizer } = self;
        let options = match *kind {
            "races" => "TSAN_OPTIONS=ignore_noninstrumented_modules=1:suppress_equal_addresses=0",
            "undefined" => "UBSAN_OPTIONS=print_stacktrace=1",
            _ => "ASAN_OPTIONS=detect_leaks=0",
        };
        let symbolizer = if symbolizer.is_empty() {
            String::new()
        } else {
            format!(":external_symbolizer_path={symbolizer}")
        };
        format!(
            "\nIt was built with OFFLOAD_CPU_CHECK={kind}: start the program with LD_PRELOAD={library} \
             {options}{symbolizer}, or build it without the variable."
        )
    }
}

/// Returns the bytes after their size, which is a 64-bit number.
fn sized(bytes: &[u8]) -> Option<&[u8]> {
    let (size, bytes) = bytes.split_first_chunk::<{ size_of::<u64>() }>()?;
    bytes.get(..usize::try_from(u64::from_le_bytes(*size)).ok()?)
}

/// Whether the program, or a library that it was started with, has a function of this name.
fn is_there(name: &str) -> bool {
    #[cfg(unix)]
    {
        use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};
        // Not `Library::this()`, which panics in a static program of musl: it has no loader.
        // SAFETY: the program itself is already loaded, so no code of it runs.
        let program = unsafe { Library::open(None::<&str>, RTLD_LAZY | RTLD_LOCAL) };
        // SAFETY: nothing is called; the code only checks whether there is an address.
        program.is_ok_and(|it| unsafe { it.get::<*const u8>(name.as_bytes()) }.is_ok())
    }
    #[cfg(not(unix))]
    {
        let _ = name;
        false
    }
}

/// Whether the program runs under a sanitizer; if so, new memory is filled with a pattern.
pub(super) fn is_checked() -> bool {
    static CHECKED: OnceLock<bool> = OnceLock::new();
    *CHECKED.get_or_init(|| is_there("__asan_init") || is_there("__tsan_init"))
}

/// The order in which the blocks of a grid run, and the threads of a block between two barriers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Forward,
    Reverse,
    Random(u64),
}

impl Order {
    /// Returns the order that `OFFLOAD_CPU_ORDER` sets. `None` if the variable is not set, or
    /// empty.
    ///
    /// Returns an error in words if the value is not an order.
    pub(super) fn asked() -> Result<Option<Self>, String> {
        let Some(text) = env::var_os("OFFLOAD_CPU_ORDER").filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        Self::parse(&text.to_string_lossy()).map(Some)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let random = |text: &str| text.strip_prefix("random:")?.parse().ok().map(Self::Random);
        match text {
            "forward" => Ok(Self::Forward),
            "reverse" => Ok(Self::Reverse),
            _ => random(text).ok_or_else(|| {
                format!(
                    "OFFLOAD_CPU_ORDER is '{text}'; it can be forward, reverse, or random:SEED with a number, as in random:7"
                )
            }),
        }
    }
}

/// Settings of a grid's run, as `offload/schedule.h` declares them.
#[repr(C)]
pub(super) struct Settings {
    pub(super) size: usize,
    /// The kernel's name for messages, or null.
    pub(super) kernel: *const c_char,
    pub(super) order: c_uint,
    pub(super) seed: u64,
    /// The place for the running block and thread, or null.
    pub(super) progress: *const Progress,
}

/// The numbers of the block and the thread that are running. The image writes them, and another
/// thread reads them.
#[repr(C)]
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) block: AtomicU64,
    pub(super) thread: AtomicU64,
}

impl Settings {
    pub(super) fn new(
        order: Option<Order>,
        kernel: Option<&CStr>,
        progress: *const Progress,
    ) -> Self {
        let (order, seed) = match order {
            None => (0, 0),
            Some(Order::Forward) => (1, 0),
            Some(Order::Reverse) => (2, 0),
            Some(Order::Random(seed)) => (3, seed),
        };
        let kernel = kernel.map_or(ptr::null(), CStr::as_ptr);
        Self { size: size_of::<Self>(), kernel, order, seed, progress }
    }
}

/// Returns the error text for a launch with this number of findings of a sanitizer.
pub(super) fn found(findings: u32) -> String {
    match findings {
        1 => "the checked build reports a finding, which stands above".to_string(),
        _ => format!("the checked build reports {findings} findings, which stand above"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_says_what_it_checks() {
        let image = b"\x7fELF...offload-cpu-check 1\nkind races\nlibrary /lib/libtsan.so.2\nsymbolizer \n\0...";
        let checked = Checked { kind: "races", library: "/lib/libtsan.so.2", symbolizer: "" };
        assert_eq!(Checked::all(image), [(checked, &image[..])]);
        assert_eq!(Checked::all(b"\x7fELF..."), []);
    }

    #[test]
    fn an_image_may_contain_another() {
        let text = |kind| {
            format!("\x7fELF..offload-cpu-check 1\nkind {kind}\nlibrary l\nsymbolizer \n\0..")
        };
        let (own, other) = (text("memory,undefined").into_bytes(), text("races").into_bytes());
        let mut inside = b"offload-cpu-inside 1\n".to_vec();
        inside.extend((other.len() as u64).to_le_bytes());
        inside.extend(&other);
        for image in [[&own[..], &inside].concat(), [&inside, &own[..]].concat()] {
            let found = Checked::all(&image);
            let found: Vec<_> = found.iter().map(|(it, image)| (it.kind, *image)).collect();
            assert_eq!(found, [("memory,undefined", &*image), ("races", &*other)]);
        }
        // The size is more than there is.
        inside.truncate(inside.len() - 1);
        assert_eq!(Checked::all(&inside).len(), 1);
    }

    #[test]
    fn orders_are_words() {
        assert_eq!(Order::parse("reverse"), Ok(Order::Reverse));
        assert_eq!(Order::parse("random:18446744073709551615"), Ok(Order::Random(u64::MAX)));
        for wrong in ["backwards", "random", "random:", "random:x", "random:-1"] {
            assert!(Order::parse(wrong).unwrap_err().contains(&format!("'{wrong}'")));
        }
    }
}
