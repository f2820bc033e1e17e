//! Messages that are built at compile time, without allocation and `format!`.
//!
//! The functions are `#[inline]`, so that no program compiles them: they are called only for
//! constants.

use super::ModuleRecord;
use super::record::find;

/// The maximum size of a message in bytes: a few lines in a terminal.
const ROOM: usize = 1024;
const ELLIPSIS: &str = "...";

/// A text of limited length. Text that does not fit is replaced by `...` at the end.
pub(crate) struct Message {
    bytes: [u8; ROOM],
    size: usize,
    full: bool,
    /// The number of listed names.
    listed: usize,
}

impl Message {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; ROOM], size: 0, full: false, listed: 0 }
    }

    #[inline]
    pub(crate) const fn add(mut self, text: &str) -> Self {
        if self.full {
            return self;
        }
        // Add text entirely or not at all: no character is cut, and `...` always fits.
        self.full = text.len() > ROOM - ELLIPSIS.len() - self.size;
        let text = if self.full { ELLIPSIS.as_bytes() } else { text.as_bytes() };
        let mut i = 0;
        while i < text.len() {
            self.bytes[self.size] = text[i];
            self.size += 1;
            i += 1;
        }
        self
    }

    #[inline]
    pub(crate) const fn add_number(self, number: usize) -> Self {
        // Write the digits in reverse order.
        let (mut digits, mut start, mut rest) = ([0; 20], 20, number);
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        match core::str::from_utf8(digits.split_at(start).1) {
            Ok(text) => self.add(text),
            Err(_) => self,
        }
    }

    #[inline]
    pub(crate) const fn add_bytes(self, number: usize) -> Self {
        self.add_number(number).add(if number == 1 { " byte" } else { " bytes" })
    }

    /// Adds a quoted name to a list.
    #[inline]
    pub(crate) const fn list(mut self, name: &str) -> Self {
        let separator = if self.listed == 0 { "\"" } else { ", \"" };
        self.listed += 1;
        self.add(separator).add(name).add("\"")
    }

    #[inline]
    pub(crate) const fn list_modules(mut self, modules: &[ModuleRecord]) -> Self {
        let mut i = 0;
        while i < modules.len() && !self.full {
            self = self.list(modules[i].name);
            i += 1;
        }
        self
    }

    /// Lists each kernel of the modules' images once. The loop ends as soon as the text is full,
    /// since the compiler stops long evaluations. The search for a repeated name starts in the
    /// module's own images, since these contain most of the names.
    #[inline]
    pub(crate) const fn list_kernels(mut self, modules: &[ModuleRecord]) -> Self {
        let mut m = 0;
        while m < modules.len() {
            let (before, images) = (modules.split_at(m).0, modules[m].images);
            let mut i = 0;
            while i < images.len() {
                let kernels = match images[i].kernels {
                    Some(kernels) => kernels,
                    None => &[],
                };
                let mut k = 0;
                while k < kernels.len() && !self.full {
                    let name = kernels[k];
                    if find(images.split_at(i).0, name).is_none() && !is_in(before, name) {
                        self = self.list(name);
                    }
                    k += 1;
                }
                i += 1;
            }
            m += 1;
        }
        self
    }

    /// Adds "none" if the list is empty.
    #[inline]
    pub(crate) const fn or_none(self) -> Self {
        if self.listed == 0 { self.add("none") } else { self }
    }

    pub(crate) const fn as_str(&self) -> &str {
        match core::str::from_utf8(self.bytes.split_at(self.size).0) {
            Ok(text) => text,
            Err(_) => "there is no item with this name",
        }
    }
}

/// Whether one of the modules has the kernel.
#[inline]
const fn is_in(modules: &[ModuleRecord], name: &str) -> bool {
    let mut i = 0;
    while i < modules.len() && find(modules[i].images, name).is_none() {
        i += 1;
    }
    i < modules.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal() {
        assert_eq!(Message::new().add_number(0).add(" ").add_number(1024).as_str(), "0 1024");
        assert_eq!(
            Message::new().add_number(usize::MAX).as_str(),
            alloc::format!("{}", usize::MAX)
        );
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let mut message = Message::new();
        for _ in 0..200 {
            message = message.add("kernel é ");
        }
        let text = message.as_str();
        assert!(text.len() <= ROOM, "{text}");
        assert!(text.ends_with("kernel é ..."), "{text}");
        let size = text.len();
        assert_eq!(message.add("x").as_str().len(), size);
    }
}
