//! `include_kernels!` with only the name of a pack: the build script has written the code. This
//! module depends on no other crate, because most programs need only this part of the macros.

use crate::error::{self, CURE};
use crate::resolve::{self, Library};
use proc_macro::{Delimiter, Group, Literal, Span, TokenStream, TokenTree};
use std::fs;

/// The version of the interface between expansions and `__expansion` of `offload-gpu`. The crate
/// `offload-gpu` passes its own version to the macro, which compares the two.
pub(crate) const EXPANSION: u32 = 5;

/// A call to a macro of the crate `offload-gpu`.
pub(crate) struct Call {
    /// The path of the crate's hidden module.
    pub(crate) expansion: TokenStream,
    /// The user's tokens.
    pub(crate) tokens: TokenStream,
}

impl Call {
    /// Reads `@ <version> <crate>;`, which the crate's macro puts before the user's tokens.
    ///
    /// Returns an error as tokens if the crate has a different version of the interface.
    pub(crate) fn parse(input: TokenStream) -> Result<Self, TokenStream> {
        let mut tokens = input.clone().into_iter();
        if tokens.next().is_none_or(|token| token.to_string() != "@") {
            return Ok(Self { expansion: parsed("::offload_gpu::__expansion"), tokens: input });
        }
        let version = tokens.next().map_or_else(String::new, |token| token.to_string());
        if version != EXPANSION.to_string() {
            let message = format!(
                "the crates `offload-gpu` and `offload-embed-macro` have different versions: the \
                 first writes code of format {version}, the second ({}) reads format {EXPANSION}. \
                 Run `cargo update -p offload-gpu -p offload-embed-macro`",
                env!("CARGO_PKG_VERSION")
            );
            return Err(compile_error(TokenStream::new(), &message, Span::call_site()));
        }
        let is_path = |token: &TokenTree| token.to_string() != ";";
        let mut expansion: TokenStream = tokens.by_ref().take_while(is_path).collect();
        expansion.extend(parsed("::__expansion"));
        Ok(Self { expansion, tokens: tokens.collect() })
    }

    /// Returns the code for a call with only the name of a pack, or an error that points to the
    /// name. Returns `None` for all other calls, and if packs are read from disk.
    pub(crate) fn written(&self) -> Option<TokenStream> {
        let mut tokens = self.tokens.clone().into_iter();
        let name = literal(tokens.next()?)?;
        let is_alone = tokens.next().is_none() && matches!(resolve::from_disk(), Ok(false));
        is_alone.then(|| match code(name.to_string().trim_matches('"')) {
            Ok(code) => {
                let mut items = parsed("#[allow(unused_imports)] use");
                items.extend(self.expansion.clone());
                items.extend(parsed("as __offload;"));
                items.extend(code);
                items
            }
            Err(error) => self.error(&error, name.span()),
        })
    }

    pub(crate) fn error(&self, message: &str, place: Span) -> TokenStream {
        compile_error(self.expansion.clone(), message, place)
    }
}

/// Returns the token if it is a string literal without escapes, even inside a fragment from a
/// different macro.
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

/// Returns the code that the build script wrote. The first line contains the version of the crate
/// that wrote the code. If the pack was built, the line also describes the library: its name, its
/// size, the offset of the pack, the section, and the first bytes of the pack in hexadecimal
/// digits.
fn code(name: &str) -> Result<TokenStream, String> {
    let path = resolve::index(name)?.with_extension("rs");
    let text = fs::read_to_string(&path).map_err(|error| error::unread(&path, &error))?;
    let (first, items) = text.split_once('\n').unwrap_or((&text, ""));
    let mut words = first.split(' ').skip(1);
    let version = words.next().unwrap_or_default();
    if version != env!("CARGO_PKG_VERSION") {
        return Err(format!(
            "{}: offload-build {version} wrote this file, but the version of offload-gpu is {}: run \
             `cargo update -p offload-gpu -p offload-build`. {CURE}",
            path.display(),
            env!("CARGO_PKG_VERSION")
        ));
    }
    let facts: Vec<&str> = words.collect();
    if let [library, size, offset, section, start] = facts[..] {
        let mut bytes = Vec::new();
        let mut rest = start;
        while let Some((byte, others)) = rest.split_at_checked(2) {
            bytes.push(u8::from_str_radix(byte, 16).unwrap_or_default());
            rest = others;
        }
        let library = Library {
            path: path.with_file_name(library),
            size: size.parse().unwrap_or_default(),
            offset: offset.parse().unwrap_or_default(),
            section,
            start: &bytes,
        };
        library.check()?;
    }
    Ok(parsed(items))
}

/// Returns a compile error at this span. `tokens` is the path of the module that contains `core`.
fn compile_error(mut tokens: TokenStream, message: &str, place: Span) -> TokenStream {
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
