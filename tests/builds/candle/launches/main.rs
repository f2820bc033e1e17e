//! candle's launches, with the arguments that candle passes. As in candle, a tensor's element type
//! determines the kernel's name at run time. No launch needs a device, because the test only checks
//! the arguments.

mod core;
mod elementwise;
mod quantized;
mod tensors;
mod wrong;

mod kernels {
    offload_gpu::include_kernels!("candle");
}

/// Passes arguments to the kernel with this name, and records the result.
macro_rules! launch {
    ($candle:expr, $module:ident, $name:expr; $($argument:expr),* $(,)?) => {{
        let name = $name;
        let checked = (|| -> Result<(), offload_gpu::CallError> {
            let call = crate::kernels::$module::named(&name)?;
            $(let call = call.arg($argument)?;)*
            call.pointers().map(drop)
        })();
        $candle.record(&name, checked);
    }};
}

use launch;

fn main() {
    let mut candle = core::Candle::default();
    elementwise::run(&mut candle);
    tensors::run(&mut candle);
    quantized::run(&mut candle);
    candle.report("as they are");
    let mut candle = core::Candle::default();
    wrong::run(&mut candle);
    candle.report("wrong or other");
}
