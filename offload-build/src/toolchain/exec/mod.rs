//! Runs processes: decides their order and how many run at a time, starts compilers through the
//! launcher, and explains exit statuses.

mod find;
mod jobserver;
mod launcher;
mod probe;
mod remarks;
mod schedule;
mod shell;
mod status;
mod step;
mod variables;
mod words;

pub use find::{NO_INPUT, is_executable, named, numbered, program};
pub use launcher::Launcher;
pub use probe::probe;
pub use remarks::{Sorted, message, sort};
pub use schedule::{How, Printed, run};
pub use shell::{plain_path, through_nvcc};
pub use step::{Depfile, DepfileBy, Step, StepKind};
pub use variables::{HEADER_FOLDERS, NvccFlags, OTHER_INPUTS, gpu_option};
pub use words::words;
