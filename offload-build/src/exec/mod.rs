//! Processes: which ones run, how many at a time, through which compiler launcher, and the meaning
//! of their exit status.

mod chatter;
mod find;
mod jobserver;
mod launcher;
mod probe;
mod schedule;
mod status;
mod step;
mod variables;
mod words;

pub(crate) use chatter::{Sorted, sort};
pub(crate) use find::{NO_INPUT, is_executable, named, numbered, program};
pub(crate) use launcher::Launcher;
pub(crate) use probe::probe;
pub(crate) use schedule::{How, Printed, run};
pub(crate) use step::{Depfile, DepfileBy, Kind, Step};
pub(crate) use variables::{COUNTED, Holds, NvccFlags, gpu_option};
pub(crate) use words::words;
