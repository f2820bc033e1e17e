//! Packs of one package whose names begin alike. The program checks each pack.

use super::{AMD, program_with_packs};
use offload_tests::registry::CLANG;
use offload_tests::scenario::Scenario;

offload_tests::tests! {
    CLANG => [packs_whose_names_begin_alike_are_told_apart],
}

fn packs_whose_names_begin_alike_are_told_apart() {
    let scenario = Scenario::without_sources("embed_alike");
    scenario.kernel("add", "VALUE").build_script(
        r#"for (name, value) in [("add_fast", "2.0f"), ("add-faster", "3.0f"), ("add", "1.0f"), ("add_", "4.0f")] {
        Build::new().file("kernels/add.cu").define("VALUE", value).archs(["gfx90a"]).compile(name);
    }"#,
    );
    program_with_packs(&scenario, &["add", "add_fast", "add-faster", "add_"]);
    let printed = AMD.set(scenario.run()).passes();
    assert_eq!(printed.stdout, "checked 2 images\n".repeat(4));
}
