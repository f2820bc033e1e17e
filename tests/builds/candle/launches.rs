//! Tests candle's launches, which `launches/` contains. Their argument expressions are those in
//! candle-core's `cuda_backend/mod.rs`, `sort.rs` and `quantized/cuda.rs`. As in candle, the
//! program composes the kernels' names at run time. `launches/wrong.rs` contains the launches that
//! are refused. The buffers are cudarc's, and a fake driver replaces CUDA's driver.

use super::paths;
use offload_tests::prelude::*;
use offload_tests::stand_ins::{Staged, cuda_driver};

const NEEDS: Needs = needs(&[Tool::Candle, Tool::Llvm22, Tool::Gcc, Tool::Cuda]);

/// Texts that the messages about the launches in `launches/wrong.rs` must contain, in order.
const REFUSED: [&[&str]; 12] = [
    &[
        "`dequantize_mul_mat_vec_q5_k` (",
        "has 4 parameters (vx, yy, dst, ncols), but 5 arguments were passed",
    ],
    &["\"const_set_i16\" in the module \"fill\"", "did you mean `const_set_"],
    &["\"copy2d_i16\" in the module \"fill\"", "did you mean `copy2d_"],
    &["\"ucopy_i16\" in the module \"unary\"", "did you mean `ucopy_"],
    &["\"const_set_i32\" in the module \"fill\"", "did you mean `const_set_"],
    &["\"copy2d_i32\" in the module \"fill\"", "did you mean `copy2d_"],
    &["\"ucopy_i32\" in the module \"unary\"", "did you mean `ucopy_"],
    &["\"ucopy_f8e4m3\" in the module \"unary\"", "did you mean `ucopy_f8_e4m3`"],
    &["\"affine_f8e4m3\" in the module \"affine\"", "did you mean `affine_f8_e4m3`"],
    &["\"uneg_f8e4m3\" in the module \"unary\"", "did you mean `uneg_fp8_e4m3`"],
    &["\"cast_f8e4m3_f32\" in the module \"cast\"", "did you mean `cast_f8_e4m3_f32`"],
    &["parameter 1, `src0`, is `*const f32`, but the argument is `&CudaSlice<u8>`"],
];

/// Wrong launches through generated functions, which rustc must refuse.
const WRONG: &str = r#"
mod kernels {
    offload_gpu::include_kernels!("candle");
}

fn main() {
    let (x, y, ncols, nrows) = (std::ptr::null::<u8>(), std::ptr::null::<f32>(), 256_usize, 4_usize);
    kernels::quantized::dequantize_mul_mat_vec_q5_k(x, y, y.cast_mut(), ncols as i32, nrows as i32);
    kernels::fill::const_set_i16(1_usize, 1_usize, None, 1_i16, None);
    kernels::fill::const_set_i32(1_usize, 1_usize, None, 1_i32, None);
    kernels::fill::copy2d_i16(None, None, 1, 1, 1, 1);
    kernels::fill::copy2d_i32(None, None, 1, 1, 1, 1);
    kernels::unary::ucopy_i16(1_usize, 1_usize, None, None, None);
    kernels::unary::ucopy_i32(1_usize, 1_usize, None, None, None);
    kernels::unary::ucopy_f8e4m3(1_usize, 1_usize, None, None, None);
}
"#;

#[test(NEEDS.on_request("takes 25 s; `cargo xtask test --all --test builds -- candle::launches --ignored` runs it"))]
fn each_right_launch_is_accepted_and_each_wrong_one_refused() {
    let mut scenario = Scenario::without_sources("candle_launches");
    scenario
        .with_cudarc()
        .manifest("dependencies", "half = { version = \"2\", default-features = false }\n")
        .sources("tests/builds/candle/launches");
    let modules = super::MODULES.map(|(module, _)| module);
    scenario.build_script(&format!(
        r#"Build::new()
        .modules({})
        .opt_level(0)
        .arch("compute_89")
        .compile("candle");"#,
        paths(&modules)
    ));
    scenario.build().passes();
    let libraries = cuda_driver("candle_launches_driver", &[]);
    let outcome = Staged::new(&scenario.program("debug", scenario.name()), &libraries)
        .with("FAKE_GPU", "8.9")
        .run(&[], &libraries.join("log"));
    outcome.prints("as they are: 629 launches, 629 kernels, 0 refused\n");
    let text = &outcome.succeeds().stdout;
    let (_, refused) = text.split_once("wrong or other: ").expect("the program ended");
    let (count, refused) = refused.split_once('\n').expect("lines follow");
    assert_eq!(count, format!("{0} launches, 0 kernels, {0} refused", REFUSED.len()));
    for (line, expected) in refused.lines().zip(REFUSED) {
        for part in expected {
            assert!(line.contains(part), "{part} is not in\n{line}");
        }
    }

    scenario.write("src/main.rs", WRONG);
    let refused = scenario.build().fails();
    refused.has("this function takes 4 arguments but 5 arguments were supplied");
    for name in [
        "const_set_i16",
        "const_set_i32",
        "copy2d_i16",
        "copy2d_i32",
        "ucopy_i16",
        "ucopy_i32",
        "ucopy_f8e4m3",
    ] {
        refused.has(&format!("cannot find function `{name}` in module `kernels::"));
    }
    refused.has("a function with a similar name exists");
}
