//! Finds atomic operations whose memory orders are lost in PTX and in SPIR-V.
//!
//! For PTX, LLVM 22 compiles an `atomicrmw` with any order to an instruction without an order,
//! whose scope is one GPU, and older versions lose more orders. Neither rustc nor clang reports
//! this loss, so the build compares the PTX with the LLVM IR it was generated from. In the CUDA
//! dialect, `offload/nvptx_atomics.h` replaces the operations that have the usual names. For other
//! operations, such as `__hip_atomic_fetch_add`, the build reads the LLVM IR in which clang
//! describes the parameters.
//!
//! For SPIR-V, LLVM 22 turns atomic loads and stores into plain loads and stores, and the orders of
//! other operations apply to no memory. `offload/spirv_atomics.h` replaces these operations.

use super::Compilation;
use crate::compile::debug_info::orders::{NO_ORDER_IN_SPIRV, lost, without_order};
use crate::toolchain::{Error, ErrorKind, files};
use offload_format::target::Vendor;

const FOR_RUST: &str = "Use offload_kernel::Atomic instead of core's atomic type, as in \
                        Atomic::from_ptr(p).fetch_add(1, Ordering::AcqRel). GPUs before sm_70 have \
                        no ordered instructions: for these GPUs, put core's fences around an \
                        operation with Ordering::Relaxed";
const FOR_SPIRV: &str = "Use __atomic_load_n, __atomic_fetch_add and similar functions: \
                         offload/kernel.h keeps their orders";
const FOR_CLANG: &str = "Write the kernel in the CUDA dialect (.cu), where __atomic_fetch_add and \
                         similar functions keep their orders. In C, put fences around an operation \
                         with __ATOMIC_RELAXED. In LLVM IR, write `monotonic` for operations that \
                         need no order: clang writes `seq_cst` even for CUDA's atomicAdd, which \
                         guarantees no order";

impl Compilation {
    /// Returns an error if an atomic operation has lost its order in the image.
    pub(crate) fn check_orders(&self) -> Result<(), Error> {
        let (mut plain, mut lines) = (String::new(), String::new());
        let is_spirv = self.targets[0].vendor() == Vendor::Intel;
        if is_spirv {
            plain.push_str(NO_ORDER_IN_SPIRV);
        }
        for (at, ir) in self.ordered.iter().enumerate() {
            // The first file is the PTX. The LLVM IR is missing if an earlier build, or the build
            // for a different target, described the parameters.
            if at == 0 && !is_spirv || !ir.is_file() {
                continue;
            }
            // Source names in the files need not be UTF-8.
            if plain.is_empty() {
                plain = without_order(&String::from_utf8_lossy(&files::read(&self.ordered[0])?));
            }
            lines += &lost(&String::from_utf8_lossy(&files::read(ir)?), &plain);
        }
        if lines.is_empty() {
            return Ok(());
        }
        let help = match (is_spirv, self.is_of_crate()) {
            (true, _) => FOR_SPIRV,
            (_, true) => FOR_RUST,
            _ => FOR_CLANG,
        };
        let message = format!(
            "the image for {} would lose the memory order of these atomic operations, because LLVM \
             drops it for this target:\n{lines}{help}",
            self.targets[0]
        );
        Err(Error::new(ErrorKind::ToolFailed, message))
    }
}
