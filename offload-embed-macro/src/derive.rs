//! `#[derive(Parameter)]`: the layout of a struct or an enum that kernels take by value.

use crate::declaration::{tokens_until, type_of};
use proc_macro2::{Ident, Literal, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Error, Result, Token, braced, parenthesized};

/// The properties of a struct, a union or an enum that determine its layout.
pub(crate) struct Record {
    name: Ident,
    /// The type parameters of a generic type, each with its bounds, such as `Pod +`, if any.
    parameters: Vec<(Ident, TokenStream)>,
    /// The `where` clause, or nothing.
    clause: TokenStream,
    /// Each field's name (in a tuple struct, its number) and type; `None` for an enum.
    fields: Option<Vec<(TokenStream, TokenStream)>>,
    /// The path of the crate `offload-gpu`.
    krate: TokenStream,
}

impl Parse for Record {
    fn parse(input: ParseStream) -> Result<Self> {
        let (mut repr, mut krate) = (Repr::default(), quote! { ::offload_gpu });
        while input.peek(Token![#]) {
            attribute(input, &mut repr, &mut krate)?;
        }
        visibility(input)?;
        let kind = input.call(Ident::parse_any)?;
        let name: Ident = input.parse()?;
        if kind == "enum" {
            return enumeration(input, name, &repr, krate);
        }
        let parameters = parameters(input)?;
        if !repr.is_c {
            let message = format!(
                "Rust may reorder the fields of `{name}`: add #[repr(C)] for the layout of C"
            );
            return Err(Error::new(name.span(), message));
        }
        let mut clause = where_clause(input)?;
        let content;
        let is_tuple = input.peek(syn::token::Paren);
        if is_tuple {
            parenthesized!(content in input);
            clause.extend(where_clause(input)?);
            input.parse::<Token![;]>()?;
        } else if input.peek(Token![;]) {
            return Err(Error::new(name.span(), EMPTY));
        } else {
            braced!(content in input);
        }
        let mut fields: Vec<(TokenStream, TokenStream)> = Vec::new();
        while !content.is_empty() {
            skip_attributes(&content)?;
            visibility(&content)?;
            let field = if is_tuple {
                Literal::usize_unsuffixed(fields.len()).into_token_stream()
            } else {
                let field = content.call(Ident::parse_any)?.to_token_stream();
                content.parse::<Token![:]>()?;
                field
            };
            fields.push((field, type_of(&content)?));
            content.parse::<Option<Token![,]>>()?;
        }
        if fields.is_empty() {
            return Err(Error::new(name.span(), EMPTY));
        }
        Ok(Self { name, parameters, clause, fields: Some(fields), krate })
    }
}

const EMPTY: &str = "a struct without fields cannot be a parameter, because it is 0 bytes in Rust, \
                     but 1 byte in C++";

/// The layout that a type's `#[repr(...)]` requests.
#[derive(Default)]
struct Repr {
    /// Whether the layout is `C` or `transparent`.
    is_c: bool,
    /// Whether the layout is that of an integer type, such as `u8`.
    is_integer: bool,
}

/// Whether a generic parameter ends here.
fn ends(input: ParseStream) -> bool {
    input.peek(Token![,]) || input.peek(Token![>])
}

/// Reads the parameters of a generic type, without their defaults.
fn parameters(input: ParseStream) -> Result<Vec<(Ident, TokenStream)>> {
    let mut parameters = Vec::new();
    if input.parse::<Option<Token![<]>>()?.is_none() {
        return Ok(parameters);
    }
    while input.parse::<Option<Token![>]>>()?.is_none() {
        let name = input.parse().map_err(|error| {
            let message =
                "derive(Parameter) accepts only types as generic parameters, as in Pair<T>";
            Error::new(error.span(), message)
        })?;
        let mut bounds = TokenStream::new();
        if input.parse::<Option<Token![:]>>()?.is_some() {
            let is_end = |input: ParseStream| ends(input) || input.peek(Token![=]);
            bounds = tokens_until(input, is_end, &mut |_| Ok(()))?;
        }
        // The default, with its `=`.
        tokens_until(input, ends, &mut |_| Ok(()))?;
        if !bounds.is_empty() {
            bounds.extend(quote! { + });
        }
        parameters.push((name, bounds));
        input.parse::<Option<Token![,]>>()?;
    }
    Ok(parameters)
}

/// Reads a `where` clause. The clause precedes the fields, except in a tuple struct, where it
/// follows them.
fn where_clause(input: ParseStream) -> Result<TokenStream> {
    let mut clause = TokenStream::new();
    if input.peek(Token![where]) {
        while !(input.is_empty() || input.peek(Token![;]) || input.peek(syn::token::Brace)) {
            clause.extend([input.parse::<TokenTree>()?]);
        }
    }
    Ok(clause)
}

/// Reads the part of an enum after its name.
fn enumeration(input: ParseStream, name: Ident, repr: &Repr, krate: TokenStream) -> Result<Record> {
    if !(repr.is_c || repr.is_integer) {
        let message = format!(
            "Rust chooses the size of `{name}`: add #[repr(C)] for the size of an enum in C"
        );
        return Err(Error::new(name.span(), message));
    }
    let content;
    braced!(content in input);
    while !content.is_empty() {
        skip_attributes(&content)?;
        content.parse::<Ident>()?;
        if !(content.is_empty() || content.peek(Token![,]) || content.peek(Token![=])) {
            return Err(
                content.error("an enum in C++ is an integer: its variants cannot have fields")
            );
        }
        while !(content.is_empty() || content.peek(Token![,])) {
            content.parse::<TokenTree>()?;
        }
        content.parse::<Option<Token![,]>>()?;
    }
    let (parameters, clause) = (Vec::new(), TokenStream::new());
    Ok(Record { name, parameters, clause, fields: None, krate })
}

fn skip_attributes(input: ParseStream) -> Result<()> {
    while input.parse::<Option<Token![#]>>()?.is_some() {
        input.parse::<TokenTree>()?;
    }
    Ok(())
}

/// Skips a visibility: `pub`, `pub(crate)`.
fn visibility(input: ParseStream) -> Result<()> {
    if input.parse::<Option<Token![pub]>>()?.is_none() {
        return Ok(());
    }
    // In a tuple struct, parentheses after `pub` may also start the type of the field.
    if let Ok(TokenTree::Group(group)) = input.fork().parse()
        && let Some(TokenTree::Ident(word)) = group.stream().into_iter().next()
        && ["crate", "self", "super", "in"].iter().any(|known| word == known)
    {
        input.parse::<TokenTree>()?;
    }
    Ok(())
}

/// Reads `#[repr(...)]` and `#[offload(crate = path)]`, and skips any other attribute.
fn attribute(input: ParseStream, repr: &mut Repr, krate: &mut TokenStream) -> Result<()> {
    input.parse::<Token![#]>()?;
    let TokenTree::Group(group) = input.parse()? else { return Ok(()) };
    let parse = |input: ParseStream| -> Result<()> {
        let name = input.call(Ident::parse_any)?;
        if name == "repr" {
            let content;
            parenthesized!(content in input);
            for token in content.parse::<TokenStream>()? {
                if let TokenTree::Ident(word) = token {
                    let word = word.to_string();
                    repr.is_c |= word == "C" || word == "transparent";
                    repr.is_integer |= word.starts_with(['i', 'u']);
                }
            }
        } else if name == "offload" {
            let content;
            parenthesized!(content in input);
            let error = content.error("expected `crate = ::gpu::offload_gpu`");
            if content.call(Ident::parse_any)? != "crate" {
                return Err(error);
            }
            content.parse::<Token![=]>().map_err(|_| error)?;
            *krate = content.parse()?;
        }
        input.parse::<TokenStream>().map(drop)
    };
    // Parse only `repr` and `offload`: other attributes may start with any token.
    let is_ours = group.stream().into_iter().next().is_some_and(|token| {
        let word = token.to_string();
        word == "repr" || word == "offload"
    });
    if is_ours { parse.parse2(group.stream()) } else { Ok(()) }
}

impl Record {
    pub(crate) fn expand(&self) -> TokenStream {
        let Self { name, parameters, clause, fields, krate } = self;
        let expansion = quote! { #krate::__expansion };
        let text = name.to_string();
        let (parameters, bounds): (Vec<_>, Vec<_>) = parameters.iter().cloned().unzip();
        let generics = quote! { #(#parameters: #bounds #expansion::Parameter),* };
        let ty = if parameters.is_empty() {
            name.to_token_stream()
        } else {
            quote! { #name<#(#parameters),*> }
        };
        let layout = match fields {
            None => quote! { #expansion::ParameterLayout::of_enum::<#name>(#text) },
            Some(fields) => {
                let layouts = fields.iter().map(|(field, ty)| {
                    quote! {
                        (#expansion::core::mem::offset_of!(Self, #field), <#ty as #expansion::Parameter>::LAYOUT)
                    }
                });
                quote! {
                    #expansion::ParameterLayout::of_record::<Self>(#text, &[#(#layouts),*])
                }
            }
        };
        quote! {
            impl<#generics> #expansion::Parameter for #ty #clause {
                const LAYOUT: #expansion::ParameterLayout = #layout;
            }
            #expansion::impl_argument_of_record!([#generics] #ty [#clause]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::{Delimiter, Group, Span};

    #[test]
    fn parameters_keep_their_bounds() {
        for (parameters, expected) in [
            ("T", "impl<T:::offload_gpu::"),
            ("T = f32", "impl<T:::offload_gpu::"),
            ("T: Pod + Into<f32> = f32", "impl<T:Pod+Into<f32>+::offload_gpu::"),
            ("T: Has<Of = u8>", "impl<T:Has<Of=u8>+::offload_gpu::"),
            ("T: Has<fn() -> u8>", "impl<T:Has<fn()->u8>+::offload_gpu::"),
            ("T: Has<-1>", "impl<T:Has<-1>+::offload_gpu::"),
        ] {
            let text = format!("#[repr(C)] struct Pair<{parameters}> {{ a: T }}");
            assert!(expanded(&text).starts_with(expected), "{}", expanded(&text));
        }
    }

    #[test]
    fn where_clauses_are_kept() {
        for record in [
            "struct Pair<T> where T: Pod, [T; 2]: Pod { a: T }",
            "struct Pair<T>(T) where T: Pod, [T; 2]: Pod;",
        ] {
            let text = expanded(&format!("#[repr(C)] {record}"));
            let clause = "where T:Pod,[T;2]:Pod{".replace(' ', "");
            assert!(text.contains(&format!("Parameter for Pair<T>{clause}").replace(' ', "")));
        }
    }

    /// A type that is captured by another macro is one token, even if it starts with `<`.
    #[test]
    fn captured_types_are_single_tokens() {
        let record = |ty: TokenTree| {
            let tokens = quote!(#[repr(C)] struct Pair<T = #ty> { a: #ty, b: f32 });
            syn::parse2::<Record>(tokens).unwrap().expand().to_string().replace(' ', "")
        };
        let captured = Group::new(Delimiter::None, quote!(<u8 as Has>::Of));
        let plain = TokenTree::Ident(Ident::new("TYPE", Span::call_site()));
        assert_eq!(record(captured.into()), record(plain).replace("TYPE", "<u8asHas>::Of"));
    }

    fn expanded(record: &str) -> String {
        syn::parse_str::<Record>(record).unwrap().expand().to_string().replace(' ', "")
    }
}
