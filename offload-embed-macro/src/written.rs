//! `include_kernels!` with the name of a pack alone: the build script has written the code. This
//! module needs no other crate, because most programs need nothing else of the macros.

use crate::error::Error;
use crate::resolve;
use proc_macro::{Delimiter, Group, Literal, Span, TokenStream, TokenTree};
use std::fs;

/// The version of the interface between expansions and the crate `offload-gpu`, which passes the
/// version of its own interface, `__expansion`, and the macro compares the two.
pub(crate) const EXPANSION: u32 = 4;

/// A call of `include_kernels!` with the name of a pack alone.
pub(crate) struct Call {
    /// The path of the hidden module of the crate `offload-gpu`.
    expansion: TokenStream,
    name: Literal,
}

impl Call {
    /// Reads `@ <version> <crate>; "<name>"`. Returns `None` for all other calls, and if packs are
    /// to be read from disk.
    pub(crate) fn parse(input: TokenStream) -> Option<Self> {
        let mut tokens = input.into_iter();
        let (version, expansion) = caller(&mut tokens)?;
        let name = literal(tokens.next()?)?;
        let is_alone = tokens.next().is_none() && version == EXPANSION.to_string();
        let is_call = is_alone && matches!(resolve::from_disk(), Ok(false));
        is_call.then_some(Self { expansion, name })
    }

    /// Returns the code, or an error that points at the name.
    pub(crate) fn expand(self) -> TokenStream {
        let Self { expansion, name } = self;
        let text = name.to_string();
        match code(text.trim_matches('"')) {
            Ok(code) => {
                let mut items = parsed("#[allow(unused_imports)] use");
                items.extend(expansion);
                items.extend(parsed("as __offload;"));
                items.extend(code);
                items
            }
            Err(error) => compile_error(expansion, &error.to_string(), name.span()),
        }
    }
}

/// Reads `@ <version> <crate>;`. Returns the version, and the path of the crate's hidden module.
fn caller(tokens: &mut impl Iterator<Item = TokenTree>) -> Option<(String, TokenStream)> {
    let version = tokens.nth(1)?.to_string();
    let mut expansion: TokenStream = tokens.take_while(|token| token.to_string() != ";").collect();
    expansion.extend(parsed("::__expansion"));
    Some((version, expansion))
}

/// Returns a string literal without escapes, which may be a fragment that another macro passes on.
fn literal(token: TokenTree) -> Option<Literal> {
    match token {
        TokenTree::Literal(literal) => {
            let text = literal.to_string();
            let is_plain = text.len() > 1 && text.starts_with('"') && text.ends_with('"');
            (is_plain && !text.contains('\\')).then_some(literal)
        }
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            let mut tokens = group.stream().into_iter();
            literal(tokens.next()?).filter(|_| tokens.next().is_none())
        }
        _ => None,
    }
}

/// Returns the code that the build script has written. Its first line has the version of the crate
/// that wrote it, and the name and size of the pack's library.
fn code(name: &str) -> Result<TokenStream, Error> {
    let path = resolve::index(name)?.with_extension("rs");
    let text = fs::read_to_string(&path).map_err(|error| Error::Io(path.clone(), error))?;
    let (first, items) = text.split_once('\n').unwrap_or((&text, ""));
    let mut words = first.split(' ').skip(1);
    let version = words.next().unwrap_or_default();
    if version != env!("CARGO_PKG_VERSION") {
        let message = format!(
            "offload-build {version} has written it, and offload-gpu is of version {}: `cargo update -p offload-gpu -p \
             offload-build` brings the two to one version",
            env!("CARGO_PKG_VERSION")
        );
        return Err(Error::Index(path, message));
    }
    if let (Some(library), Some(size)) = (words.next(), words.next()) {
        let size = size.parse().unwrap_or_default();
        resolve::check_size(path.with_file_name(library), size)?;
    }
    Ok(parsed(items))
}

/// Returns the error for what needs the feature `macros`.
#[cfg(not(feature = "macros"))]
pub(crate) fn without_macros(input: TokenStream) -> TokenStream {
    let message = "without the feature `macros` of offload-gpu there is include_kernels!(\"saxpy\") alone: \
                   include_offload!, options, declared kernels, files and OFFLOAD_FROM_DISK need it; in Cargo.toml: \
                   offload-gpu = { version = \"0.1\", features = [\"macros\"] }";
    let expansion = caller(&mut input.into_iter()).map(|(_, expansion)| expansion);
    compile_error(expansion.unwrap_or_default(), message, Span::call_site())
}

/// Returns an error with its place. `expansion` is the path of the module with `core`.
fn compile_error(expansion: TokenStream, message: &str, place: Span) -> TokenStream {
    let mut tokens = expansion;
    tokens.extend(parsed("::core::compile_error!"));
    let message = TokenTree::from(Literal::string(message));
    tokens.extend([TokenTree::from(Group::new(Delimiter::Brace, message.into()))]);
    let located = tokens.into_iter().map(|mut token| {
        token.set_span(token.span().located_at(place));
        token
    });
    located.collect()
}

fn parsed(text: &str) -> TokenStream {
    text.parse().expect("names are identifiers")
}
