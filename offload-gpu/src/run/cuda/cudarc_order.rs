//! Orders a launch relative to other work on cudarc buffers, by the buffers' events.
//!
//! When a call is created, each buffer's own stream waits for the buffer's earlier work on other
//! streams. A launch on a different stream waits for the buffer's own stream. After the launch, the
//! buffer's event is recorded on the launch's stream: the next use of the buffer, or its release,
//! waits for the event. For a launch on the buffer's own stream, cudarc's guard would have the same
//! effect.

use super::driver::{CUstream, Driver};
use crate::call::BufferEvent;
use crate::run::backend::Arguments;
use crate::run::error::{DriverErrors, Result};
use alloc::format;
use core::ffi::c_int;
use core::ptr;
use cudarc::driver::{DriverError, result, sys};

/// Makes a launch's stream wait for the streams of its buffers. A context must be current.
pub(super) fn before(driver: &Driver, stream: CUstream, arguments: &Arguments<'_>) -> Result<()> {
    // In most programs, all buffers of a launch are on the same stream.
    let mut last = stream.addr();
    for of_buffer in events(arguments).map(BufferEvent::stream) {
        if of_buffer != stream.addr() && of_buffer != last {
            last = of_buffer;
            let of_buffer = ptr::with_exposed_provenance_mut(of_buffer);
            wait(driver, stream.cast(), of_buffer, arguments)?;
        }
    }
    Ok(())
}

/// Makes a stream wait for all work queued so far on another stream.
fn wait(
    driver: &Driver,
    stream: sys::CUstream,
    other: sys::CUstream,
    arguments: &Arguments<'_>,
) -> Result<()> {
    let created = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
    let event = check(driver, "cuEventCreate", created, arguments)?;
    // SAFETY: the event was just created. The launch's caller guarantees that the buffer exists;
    // the buffer keeps its stream alive. The other stream is the launch's.
    let (recorded, waits) = unsafe {
        let default = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        let recorded = result::event::record(event, other);
        (recorded, result::stream::wait_event(stream, event, default))
    };
    // SAFETY: the event is no longer used. The driver keeps it until the stream has waited. Errors
    // are ignored, since nothing can be done about them.
    let _ = unsafe { result::event::destroy(event) };
    check(driver, "cuEventRecord", recorded, arguments)?;
    check(driver, "cuStreamWaitEvent", waits, arguments)
}

/// Records the events of all buffers of a started launch; if one fails, the others are still
/// recorded. A context must be current.
///
/// As with cudarc, the kernel runs even if an error is returned.
pub(super) fn after(driver: &Driver, stream: CUstream, arguments: &Arguments<'_>) -> Result<()> {
    let mut all = Ok(());
    for buffer in events(arguments) {
        let event = ptr::with_exposed_provenance_mut(buffer.event());
        // SAFETY: the launch's caller guarantees that the buffer exists; the buffer owns the event.
        // The stream is the launch's.
        let recorded = unsafe { result::event::record(event, stream.cast()) };
        all = all.and(check(driver, "cuEventRecord", recorded, arguments));
    }
    all
}

fn events<'a>(arguments: &Arguments<'a>) -> impl Iterator<Item = BufferEvent> + use<'a> {
    arguments.events.iter().copied().flatten()
}

fn check<T>(
    driver: &Driver,
    function: &'static str,
    result: core::result::Result<T, DriverError>,
    arguments: &Arguments<'_>,
) -> Result<T> {
    result.map_err(|DriverError(code)| {
        let attempted = format!("order the launch of {} with cudarc's events", arguments.kernel);
        driver.error(function, code as c_int, attempted)
    })
}
