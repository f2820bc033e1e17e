//! Tests of reading, writing and searching containers of every format. The results are compared
//! with those of tools from LLVM, AMD, NVIDIA and GNU, with checked-in corpus files, and with the
//! inputs.

#[macro_use]
extern crate offload_tests;

mod allocations;
mod archives;
mod compressed;
mod device_archive;
mod fat_file;
mod golden;
mod host_object;
mod hostile;
mod kernels;
mod kpack;
mod no_std;
mod nv_fatbin;
mod object_bundle;
mod offload_binary;
mod oxart;
mod properties;
mod ptx_oldest;
mod real_files;
mod target_ids;
mod text_bundle;
mod versus_llvm;

// `hostile` and `allocations` count the allocations of readers.
#[global_allocator]
static ALLOCATOR: offload_tests::counting::Counting = offload_tests::counting::Counting;

fn main() -> std::process::ExitCode {
    offload_tests::registry::run()
}
