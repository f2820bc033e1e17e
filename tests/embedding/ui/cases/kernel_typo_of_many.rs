//! One way to go wrong. The compiler stops what takes it long: the names are listed before.
#![forbid(unsafe_code)]
use offload_gpu::__expansion::{ImageRecord, ModuleRecord, linked};
use offload_gpu::{Kernel, KernelPack, Origin, PackImageKind};

static TEXTS: [[u8; 4]; 200] = {
    let mut texts = [*b"k000"; 200];
    let mut i = 0;
    while i < 200 {
        texts[i] = [b'k', b'0' + (i / 100) as u8, b'0' + (i / 10 % 10) as u8, b'0' + (i % 10) as u8];
        i += 1;
    }
    texts
};
static NAMES: [&str; 200] = {
    let mut names = [""; 200];
    let mut i = 0;
    while i < 200 {
        names[i] = match core::str::from_utf8(&TEXTS[i]) {
            Ok(name) => name,
            Err(_) => panic!(),
        };
        i += 1;
    }
    names
};

const fn images(count: usize) -> [ImageRecord; 16] {
    let kind = PackImageKind::Cubin;
    let code = ImageRecord::code("sm_80", kind);
    let (offset, size, origin) = (0, 8, Origin::Compiled);
    let kernels = Some(NAMES.split_at(count).0);
    [ImageRecord { target: "sm_80", kind, offset, size, origin, kernels, limits: &[], code }; 16]
}

static MANY: [ImageRecord; 16] = images(200);
static FEW: [ImageRecord; 16] = images(100);
const ONE: &[ModuleRecord] = &[ModuleRecord::new("many", &MANY)];
const TWO: &[ModuleRecord] = &[
    ModuleRecord::new("many", FEW.split_at(8).0),
    ModuleRecord::new("more", FEW.split_at(8).1),
];
static MANY_PACK: KernelPack = linked("many", ".llvm.offloading", &[0; 8], ONE);
static FEW_PACK: KernelPack = linked("few", ".llvm.offloading", &[0; 8], TWO);
const OF_MANY: Kernel = MANY_PACK.kernel("k200");
const OF_FEW: Kernel = FEW_PACK.kernel("k200");
fn main() {
    println!("{OF_MANY:?} {OF_FEW:?}");
}
