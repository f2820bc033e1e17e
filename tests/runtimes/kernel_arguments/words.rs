//! Calls the kernel of `words.cu`, whose types and fields are named like Rust's crates, types and
//! keywords.

extern crate offload_gpu;

mod kernels {
    ::offload_gpu::include_kernels!("words");
}

mod own {
    ::offload_gpu::include_kernels!("words", use crate::Words as Words);
}

#[derive(Clone, Copy, offload_gpu::Parameter)]
#[repr(C)]
pub struct Words {
    r#type: i32,
    r#match: u32,
    self_: u32,
    f32: [f32; 2],
    in_: i32,
    r#in: i32,
}

fn main() {
    let (some, three) = (kernels::Option::Some, kernels::core::type_);
    let rest = (kernels::Option::None, three, kernels::alloc::fn_, kernels::bool_::u32_);
    let it =
        kernels::Words { r#type: 1, r#match: some, self_: three, f32: [0.5; 2], in_: 1, r#in: 2 };
    let at = std::ptr::null_mut::<kernels::Words>();
    let call = kernels::words(it, at, rest.0, rest.1, rest.2, rest.3);
    let it = Words {
        r#type: 1,
        r#match: own::Option::Some,
        self_: three,
        f32: [0.5; 2],
        in_: 1,
        r#in: 2,
    };
    let at = std::ptr::null_mut::<Words>();
    let same = own::words(it, at, rest.0, rest.1, rest.2, rest.3);
    assert_eq!(call.kernel().name(), same.kernel().name());
}
