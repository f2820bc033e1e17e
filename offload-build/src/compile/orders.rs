//! Atomic operations whose orders are lost in PTX.
//!
//! LLVM 22 compiles an `atomicrmw` with any order to an instruction without one, for the threads of
//! one GPU; older versions lose more. Neither rustc nor clang reports that. So the build compares
//! the PTX with the LLVM IR from which it was made. In the CUDA dialect there are no such
//! operations: `offload/nvptx_atomics.h` replaces them.

use super::Compilation;
use offload_toolchain::debug_info::orders::{lost, without_order};
use offload_toolchain::error::{Error, ErrorKind};
use std::fs;

const FOR_RUST: &str = "Use offload_kernel::Atomic in the place of core's type: Atomic::from_ptr(p).fetch_add(1, Ordering::AcqRel). \
                        GPUs before sm_70 have no instructions with an order: put fences of core around an operation with \
                        Ordering::Relaxed";
const FOR_CLANG: &str = "Write the kernel in the CUDA dialect: in a source .cu, __atomic_fetch_add and its kin keep their orders. In C, \
                         fences around an operation with __ATOMIC_RELAXED have an order, too. In LLVM IR, clang writes seq_cst also \
                         for CUDA's atomicAdd, which has no order: write monotonic";

impl Compilation {
    /// Returns an error if the image lacks the order of an atomic operation.
    pub(crate) fn check_orders(&self) -> Result<(), Error> {
        let (mut plain, mut lines) = (String::new(), String::new());
        for path in &self.ordered {
            let bytes = fs::read(path).map_err(|error| Error::io("read", path, error))?;
            // Names of sources need not be UTF-8.
            let text = String::from_utf8_lossy(&bytes);
            if plain.is_empty() {
                plain = without_order(&text);
            } else {
                lines += &lost(&text, &plain);
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        let help = if self.is_of_crate() { FOR_RUST } else { FOR_CLANG };
        let message = format!(
            "the image for {} would lose the order of atomic operations, because LLVM omits it in code for NVIDIA's GPUs:\n{lines}{help}",
            self.targets[0]
        );
        Err(Error::new(ErrorKind::ToolFailed, message))
    }
}
