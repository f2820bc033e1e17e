//! rustdoc's list of all items in a package with kernels must contain kernels, types and packs, but
//! no internal items of the kernels' functions.

use offload_tests::prelude::*;

const SOURCE: &str = "struct Params { int n; float by; };\n\
    enum class Mode : int { Down, Up };\n\
    // Scales.\n\
    extern \"C\" __global__ void scale(Params p, Mode mode, float *x) { x[p.n] *= mode == Mode::Up ? p.by : 1 / p.by; }\n\
    extern \"C\" __global__ void clear(int n, float *x) { x[n] = 0; }\n";

/// Two public modules and a private module. One of the public modules declares a kernel.
const PROGRAM: &str = "//! Kernels.\n\
    pub mod open { offload_gpu::include_kernels!(\"pack\"); }\n\
    mod closed { offload_gpu::include_kernels!(\"pack\"); }\n\
    pub mod declared { offload_gpu::include_kernels!(\"pack\", extern { fn clear(n: i32, x: *mut f32); }); }\n\
    pub use closed::PACK;\n";

const FUNCTIONS: [&str; 3] = ["clear", "named", "scale"];

#[test(CLANG.slow())]
fn rustdoc_shows_kernels_and_types_alone() {
    let scenario = super::with_source("documentation", SOURCE.as_bytes());
    let _ = fs::remove_file(scenario.folder.join("src/main.rs"));
    scenario.write("src/lib.rs", PROGRAM);
    let listed = |options: &[&str]| {
        scenario.cargo(&[&["rustdoc", "--lib", "--"], options].concat()).passes().lacks("warning");
        let path = scenario.target.join(format!("doc/{}/all.html", scenario.name()));
        items(&fs::read_to_string(path).expect("rustdoc writes the list"))
    };
    let of = |module: &str, names: &[&str]| -> BTreeSet<String> {
        names.iter().map(|name| format!("{module}{name}")).collect()
    };
    let mut expected = of("", &["PACK"]);
    for module in ["open", "declared"] {
        expected.extend(of(&format!("{module}::"), &FUNCTIONS));
        expected.extend(of(&format!("{module}::"), &["PACK", "Params", "Mode::Down", "Mode::Up"]));
    }
    assert_eq!(listed(&[]), expected);
    // With this option, rustdoc also lists private modules, but not the imports in them. So the
    // functions of `closed` appear only in its internal module.
    expected.extend(of("closed::", &["PACK", "Params"]));
    for module in ["open", "closed", "declared"] {
        expected.extend(of(&format!("{module}::__offload_items::"), &FUNCTIONS));
        let values = ["Mode::Down", "Mode::Up"];
        expected.extend(of(&format!("{module}::__offload_constants::"), &values));
    }
    assert_eq!(listed(&["--document-private-items"]), expected);
}

/// Returns the items' paths in rustdoc's list.
fn items(page: &str) -> BTreeSet<String> {
    let lists = page.split("<ul class=\"all-items\">").skip(1);
    let lists = lists.filter_map(|rest| rest.split("</ul>").next());
    let links = lists.flat_map(|list| list.split("</a>")).filter_map(|link| link.rsplit_once('>'));
    links.map(|(_, path)| path.to_owned()).filter(|path| !path.is_empty()).collect()
}
