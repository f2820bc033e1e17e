//! The `#[test]` attribute for tests that use real tools. `tests/src/registry.rs` explains the
//! attribute.

use proc_macro::{TokenStream, TokenTree};

/// Registers a function as a test. The argument lists what the test needs. Without an argument, the
/// test needs no tools.
#[proc_macro_attribute]
pub fn test(needs: TokenStream, function: TokenStream) -> TokenStream {
    let is_fn =
        |token: &TokenTree| matches!(token, TokenTree::Ident(ident) if ident.to_string() == "fn");
    let name = function.clone().into_iter().skip_while(|token| !is_fn(token)).nth(1);
    let name = name.expect("a test is a function");
    let needs = if needs.is_empty() {
        "::offload_tests::registry::NOTHING".to_owned()
    } else {
        needs.to_string()
    };
    let registered = format!(
        "::offload_tests::tests!([::offload_tests::registry::Test::new(
            module_path!(), stringify!({name}), {needs}, {name}
        )]);"
    );
    let mut tokens: TokenStream = registered.parse().expect("a call of a macro");
    tokens.extend(function);
    tokens
}
