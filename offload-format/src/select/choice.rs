//! The result of a selection: the chosen image, and the reason for the choice.

use super::{Candidate, Fit};
use core::fmt;
use core::ops::Deref;

/// The image that [`select()`](super::select()) chose. A choice dereferences to the image, and its
/// `Display` prints the reason for the choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice<I> {
    image: I,
    fit: Fit,
}

impl<I> Choice<I> {
    pub(super) fn new(image: I, fit: Fit) -> Self {
        Self { image, fit }
    }

    /// Returns the chosen image.
    pub fn image(&self) -> &I {
        &self.image
    }

    /// Converts the choice to the chosen image.
    pub fn into_image(self) -> I {
        self.image
    }

    /// Returns how the image fits the device.
    pub fn fit(&self) -> &Fit {
        &self.fit
    }
}

impl<I> Deref for Choice<I> {
    type Target = I;

    fn deref(&self) -> &I {
        &self.image
    }
}

/// Prints the image's label and the reason, as in
/// `sm_80: machine code for 8.0: same major, minor not higher`.
impl<I: Candidate> fmt::Display for Choice<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.image.label(), self.fit)
    }
}
