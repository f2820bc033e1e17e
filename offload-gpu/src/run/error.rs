//! Errors of devices and launches.

use crate::call::CallError;
use crate::pack::{Compressed, PackImage};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::convert::Infallible;
use core::fmt;
use offload_format::select::SelectError;
use offload_format::target::Vendor;

/// A result whose error is a [`RunError`].
pub type Result<T> = core::result::Result<T, RunError>;

/// An error with the attempted operation, the device, the cause, and advice.
pub struct RunError(Box<Content>);

struct Content {
    /// The device that the error is about, if any: `cuda:0 (NVIDIA H100 80GB HBM3)`.
    device: Option<String>,
    /// The attempted operation: `load the sm_90 cubin (3584 bytes)`.
    attempted: String,
    cause: Cause,
    /// Advice for the user.
    advice: Option<&'static str>,
}

/// The cause of a [`RunError`].
///
/// Source: `CUresult` (CUDA driver API) and `hipError_t` (HIP) for [`Cause::Driver`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The requested device of this vendor is missing or unusable; the string says why.
    Absent(Vendor, String),
    /// No image of the pack fits the device.
    NoImage(SelectError<PackImage<Compressed>>),
    /// A kernel that the program looks up by name at run time cannot be called.
    Call(CallError),
    /// The driver or the runtime returned an error.
    Driver {
        /// The function that returned the error.
        function: &'static str,
        /// The error code.
        code: i32,
        /// The vendor's name and description of the error; empty if the vendor has none.
        text: String,
    },
    /// The request exceeds the limits of the device or the image, or names something that is
    /// missing, such as a kernel.
    Refused(String),
}

impl RunError {
    pub(super) fn new(attempted: impl Into<String>, cause: Cause) -> Self {
        Self(Box::new(Content { device: None, attempted: attempted.into(), cause, advice: None }))
    }

    pub(super) fn refused(attempted: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(attempted, Cause::Refused(why.into()))
    }

    /// Adds the device that the error is about, unless the device is already known.
    pub(super) fn on(mut self, device: impl FnOnce() -> String) -> Self {
        self.0.device.get_or_insert_with(device);
        self
    }

    /// Adds advice, unless there already is some, which is more specific.
    pub(super) fn advice(mut self, advice: &'static str) -> Self {
        self.0.advice.get_or_insert(advice);
        self
    }

    /// Adds advice, unless a driver returned a code to which the advice does not apply.
    pub(super) fn advice_for(self, applies: fn(i32) -> bool, advice: &'static str) -> Self {
        match self.0.cause {
            Cause::Driver { code, .. } if !applies(code) => self,
            _ => self.advice(advice),
        }
    }

    /// Returns the cause.
    pub fn cause(&self) -> &Cause {
        &self.0.cause
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Absent(_, why) | Cause::Refused(why) => f.write_str(why),
            Cause::NoImage(error) => error.fmt(f),
            Cause::Call(error) => error.fmt(f),
            Cause::Driver { function, code, text } => {
                write!(f, "{function} returned {}", in_words(*code, text))
            }
        }
    }
}

impl From<CallError> for RunError {
    #[inline]
    fn from(error: CallError) -> Self {
        Self::new("call a kernel", Cause::Call(error))
    }
}

/// For methods of variables that host code cannot access: the compiler then reports only why.
impl From<Infallible> for RunError {
    #[inline]
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// Advice for the errors of kernels, which any later call may return.
const KERNEL_FAILED: &str = "The cause is probably a kernel that was launched before this call. \
                             `cargo offload test` checks kernels on the CPU.";

/// Whether a driver may have returned the code because of the image: memory was not the cause.
pub(super) fn is_about_image(code: i32) -> bool {
    // `CUDA_ERROR_OUT_OF_MEMORY` and HIP's equal number; `CL_MEM_OBJECT_ALLOCATION_FAILURE`,
    // `CL_OUT_OF_RESOURCES` and `CL_OUT_OF_HOST_MEMORY`.
    !matches!(code, 2 | -6..=-4)
}

/// Whether a driver returned the code because an image lacks a name.
pub(super) fn is_not_found(code: i32) -> bool {
    // `CUDA_ERROR_NOT_FOUND` and HIP's equal number; `CL_INVALID_ARG_VALUE`.
    matches!(code, 500 | -50)
}

/// A driver's error codes; 0 means success.
pub(super) trait DriverErrors {
    /// Returns the error's name and description; empty if the code is unknown to the driver.
    fn text_of(&self, code: i32) -> String;

    /// Returns an error unless the code is success. `attempted` names the operation.
    fn check(
        &self,
        function: &'static str,
        code: i32,
        attempted: impl FnOnce() -> String,
    ) -> Result<()> {
        if code == 0 { Ok(()) } else { Err(self.error(function, code, attempted())) }
    }

    /// Returns the error for a code. rustc compiles `check` for each call's closure type, but this
    /// separate function only once for each driver.
    #[cold]
    fn error(&self, function: &'static str, code: i32, attempted: String) -> RunError {
        let error =
            RunError::new(attempted, Cause::Driver { function, code, text: self.text_of(code) });
        // `CUDA_ERROR_ILLEGAL_ADDRESS`, `..._LAUNCH_TIMEOUT`, `..._ASSERT`, and from
        // `..._HARDWARE_STACK_ERROR` to `..._LAUNCH_FAILED`; HIP's errors have the same numbers.
        if matches!(code, 700 | 702 | 710 | 714..=719) {
            error.advice(KERNEL_FAILED)
        } else {
            error
        }
    }
}

/// Formats a code and its text, `NAME: description` or `NAME`, as `NAME (1): description`.
pub(super) fn in_words(code: i32, text: &str) -> String {
    match text.split_once(':') {
        None if text.is_empty() => format!("{code}, a code that the driver does not know"),
        None => format!("{text} ({code})"),
        Some((name, description)) => format!("{name} ({code}):{description}"),
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Content { device, attempted, cause, advice } = &*self.0;
        // These errors are already complete messages.
        match cause {
            Cause::NoImage(error) => return error.fmt(f),
            Cause::Call(error) => return error.fmt(f),
            _ => (),
        }
        if let Some(device) = device {
            write!(f, "{device}: ")?;
        }
        write!(f, "could not {attempted}: {cause}")?;
        advice.map_or(Ok(()), |advice| write!(f, "\n{advice}"))
    }
}

/// Prints the same text as `Display`, since a `main` that returns this error prints it with
/// `Debug`.
impl fmt::Debug for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for RunError {}
