//! Launches of candle with the arguments that candle passes. As in candle, the type of a tensor's
//! elements chooses the kernel's name when the program runs. No launch needs a device: the check of
//! the arguments is the subject.

mod core;
mod elementwise;
mod quantized;
mod tensors;
mod wrong;

mod kernels {
    offload_gpu::include_kernels!("candle");
}

/// Passes arguments to the kernel of this name, and records the answer.
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
