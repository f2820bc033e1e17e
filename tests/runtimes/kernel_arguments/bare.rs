//! Embeds packs in a crate without a prelude. All kernels of `plain` are declared.
#![no_implicit_prelude]

extern crate offload_gpu;

static PACK: ::offload_gpu::KernelPack = ::offload_gpu::include_offload!("plain");

pub mod kernels {
    #[derive(Clone, Copy, ::offload_gpu::Parameter)]
    #[repr(C)]
    pub struct Own<T>
    where
        T: ::std::marker::Copy,
    {
        pub r#type: T,
    }
    ::offload_gpu::include_kernels!("plain", extern {
        fn plain(it: Own<i32>, y: *mut f32);
    });
}

fn main() {
    let call = kernels::plain(kernels::Own { r#type: 1 }, ::std::ptr::null_mut::<f32>());
    ::std::assert_eq!(call.kernel().name(), PACK.kernel("plain").name());
    let call = kernels::named("plain").unwrap().arg(kernels::Own { r#type: 1 }).unwrap();
    ::std::assert_eq!(call.kernel().name(), PACK.kernel("plain").name());
}
