//! The order of a launch among other work with buffers of cudarc, by their events.
//!
//! When a call is made, each buffer's own stream waits for earlier work on other streams with the
//! buffer. A launch on another stream waits for the buffer's own stream. After the launch, the
//! buffer's event is recorded on the stream of the launch: what uses or frees the buffer next waits
//! for it. cudarc's guard does the same where both streams are one.

use super::driver::{CUstream, Driver};
use crate::call::BufferEvent;
use crate::run::backend::Arguments;
use crate::run::error::Result;
use alloc::format;
use core::ffi::c_int;
use core::ptr;
use cudarc::driver::result;
use cudarc::driver::sys::{CUevent, CUevent_wait_flags};

/// Makes the stream of a launch wait for the streams of its buffers. A context is current.
pub(super) fn before(driver: &Driver, stream: CUstream, arguments: &Arguments<'_>) -> Result<()> {
    for buffer in events(arguments).filter(|buffer| buffer.stream() != stream.addr()) {
        record(driver, buffer, ptr::with_exposed_provenance_mut(buffer.stream()), arguments)?;
        // SAFETY: the caller of the launch guarantees that the buffer exists, and so its event.
        // The stream is that of the launch.
        let waits = unsafe {
            let default = CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
            result::stream::wait_event(stream.cast(), event(buffer), default)
        };
        check(driver, "cuStreamWaitEvent", waits, arguments)?;
    }
    Ok(())
}

/// Records the events of the buffers of a launch that was started. A context is current. If this
/// fails, the kernel runs nevertheless, as with cudarc.
pub(super) fn after(driver: &Driver, stream: CUstream, arguments: &Arguments<'_>) -> Result<()> {
    events(arguments).try_for_each(|buffer| record(driver, buffer, stream, arguments))
}

fn events<'a>(arguments: &Arguments<'a>) -> impl Iterator<Item = BufferEvent> + use<'a> {
    arguments.events.iter().copied().flatten()
}

fn event(buffer: BufferEvent) -> CUevent {
    ptr::with_exposed_provenance_mut(buffer.event())
}

fn record(
    driver: &Driver,
    buffer: BufferEvent,
    stream: CUstream,
    arguments: &Arguments<'_>,
) -> Result<()> {
    // SAFETY: the caller of the launch guarantees that the buffer exists. A buffer owns its event
    // and keeps its own stream; the other stream is that of the launch.
    let recorded = unsafe { result::event::record(event(buffer), stream.cast()) };
    check(driver, "cuEventRecord", recorded, arguments)
}

fn check(
    driver: &Driver,
    function: &'static str,
    result: core::result::Result<(), cudarc::driver::DriverError>,
    arguments: &Arguments<'_>,
) -> Result<()> {
    let code = result.map_or_else(|error| error.0 as c_int, |()| 0);
    let attempted = || format!("order the launch of {} by events of cudarc", arguments.kernel);
    driver.check(function, code, attempted)
}
