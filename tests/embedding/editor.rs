//! Tests how editors expand the macro. The test needs no editor. It sends messages to
//! rust-analyzer's server for procedural macros, which rustup's toolchains contain, and checks the
//! replies.
//!
//! The server's messages may change with each version, so the test supports only one version of the
//! server. With other versions, the test is ignored.

use offload_tests::prelude::*;
use offload_tests::tools::macro_server;
use serde_json::{Value, json};

/// Builds the package, and returns the path of the macro's library from Cargo's output. The folder
/// also contains builds of the macro with the features of other tests.
fn library(build: Run<'_>) -> PathBuf {
    let printed = build.arg("--message-format=json").passes();
    let messages = printed.stdout.lines().filter_map(|line| serde_json::from_str(line).ok());
    let of_macro = |message: &Value| message["target"]["name"] == "offload_embed_macro";
    let message = messages.into_iter().find(of_macro).expect("Cargo names each library");
    message["filenames"][0].as_str().expect("a library has a file").into()
}

/// Returns the server's expansion of `include_offload!("pack")` in this package.
fn expanded(scenario: &Scenario, library: &Path, variables: &[(&str, String)]) -> Value {
    // A token tree: a group without delimiters that contains one literal, `pack`, of kind 5 (a
    // string), without a suffix.
    let body = json!({
        "subtree": [0, 0, 0, 0, 1], "literal": [0, 1, 5, u32::MAX], "punct": [], "ident": [], "token_tree": [1],
        "text": ["", "pack"],
    });
    let request = json!({ "ExpandMacro": {
        "lib": library, "env": variables, "current_dir": scenario.folder, "macro_body": body,
        "macro_name": "include_offload", "attributes": null, "span_data_table": [],
        "has_global_spans": { "serialize": false, "def_site": 0, "call_site": 0, "mixed_site": 0 },
    }});
    let answer: Value =
        serde_json::from_str(&macro_server(&request.to_string())).expect("it answers in JSON");
    answer["ExpandMacro"]["Ok"].clone()
}

/// Whether a token in the server's reply contains this text.
fn has_text(tree: &Value, part: &str) -> bool {
    let texts = tree["text"].as_array().unwrap_or_else(|| panic!("no tree: {tree}"));
    texts.iter().any(|text| text.as_str().is_some_and(|text| text.contains(part)))
}

#[test(needs(&[Tool::MacroServer, Tool::Gcc]).slow())]
fn an_editor_expands_the_macro() {
    let scenario = Scenario::new("editor");
    scenario.pack("pack", r#".file("kernels/add.cu").archs(["cpu"])"#).kernel("add", "1.0f");
    let package = scenario.folder.display().to_string();
    let variables = || {
        let out_dir = scenario.out_dir("debug").display().to_string();
        [("OUT_DIR", out_dir), ("CARGO_MANIFEST_DIR", package.clone())]
    };
    let library = library(scenario.build());
    let built = expanded(&scenario, &library, &variables());
    assert!(has_text(&built, "offload_pack_") && !has_text(&built, "compile_error"), "{built}");

    // Editors build with `OFFLOAD_SKIP=1`. Then no kernel is compiled, but the macro's expansion
    // must still be complete.
    scenario.build().env("OFFLOAD_SKIP", "1").passes();
    let skipped = expanded(&scenario, &library, &variables());
    let is_pack =
        has_text(&skipped, "OFFLOAD_SKIP was set") && !has_text(&skipped, "compile_error");
    assert!(is_pack, "{skipped}");

    // If an editor runs no build scripts, the macro expands to an error that names build.rs.
    let without = expanded(&scenario, &library, &[("CARGO_MANIFEST_DIR", package.clone())]);
    assert!(has_text(&without, "compile_error") && has_text(&without, "build.rs"), "{without}");
}
