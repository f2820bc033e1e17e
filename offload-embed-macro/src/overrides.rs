//! Types of a program that replace kernels' structs: `use crate::Particle as Particle`.

use crate::declaration::tokens_until;
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use syn::parse::ParseStream;
use syn::{Error, Result, Token};

/// A type of the program, and the struct that it replaces.
pub(crate) struct Override {
    pub(crate) path: TokenStream,
    /// The name in Rust of the struct's module; `None` for all modules.
    pub(crate) module: Option<Ident>,
    /// The name of the struct in Rust.
    pub(crate) name: Ident,
}

const FORM: &str =
    "expected a type that replaces a kernel's struct, as in use physics::Particle as Particle";

impl Override {
    pub(crate) fn parse(input: ParseStream) -> Result<Self> {
        let word: Token![use] = input.parse()?;
        let is_end = |input: ParseStream| input.peek(Token![,]) || input.peek(Token![as]);
        let mut last = None;
        // The parameters of a generic type may be any types, so look at the tokens outside.
        let path = tokens_until(input, is_end, &mut |token| {
            last = match token {
                TokenTree::Ident(ident) => Some(ident.clone()),
                TokenTree::Punct(punct) if [':', '$'].contains(&punct.as_char()) => None,
                // A path that a different macro has captured.
                TokenTree::Group(group) if group.delimiter() == Delimiter::None => None,
                _ => return Err(Error::new(token.span(), FORM)),
            };
            Ok(())
        })?;
        let as_meant = |error: Error| Error::new(error.span(), FORM);
        let (mut module, mut name) = (None, last);
        if input.peek(Token![as]) {
            input.parse::<Token![as]>()?;
            let first: Ident = input.parse().map_err(as_meant)?;
            name = Some(if input.peek(Token![::]) {
                input.parse::<Token![::]>()?;
                module = Some(first);
                input.parse().map_err(as_meant)?
            } else {
                first
            });
        }
        match name {
            Some(name) if !path.is_empty() => Ok(Self { path, module, name }),
            _ => Err(Error::new(word.span, FORM)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse::Parser;

    #[test]
    fn types_may_be_generic() {
        for (text, name) in [
            ("use Body", "Body"),
            ("use crate::overrides::Body as Particle", "Particle"),
            ("use Pair<f32>", "Pair"),
            ("use crate::Pair<[f32; 2], *const u8> as Particle", "Particle"),
            ("use <Own as Has<u8>>::Body", "Body"),
            ("use Tagged<fn() -> Meters, f32> as Sample", "Sample"),
        ] {
            let parsed = Override::parse.parse_str(text);
            assert_eq!(
                parsed.map(|parsed| parsed.name.to_string()).ok().as_deref(),
                Some(name),
                "{text}"
            );
        }
        for text in [
            "use",
            "use Body = Own",
            "use [f32; 2] as Body",
            "use &Own as Body",
            "use A -> B as Body",
        ] {
            assert!(Override::parse.parse_str(text).is_err(), "{text}");
        }
    }
}
