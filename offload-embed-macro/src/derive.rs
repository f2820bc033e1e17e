//! `#[derive(Parameter)]`: the layout of a struct that kernels take by value.

use crate::declaration::{ends, type_of};
use proc_macro2::{Ident, Literal, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Error, Result, Token, braced, parenthesized};

/// The properties of a struct or union that determine its layout.
pub(crate) struct Record {
    name: Ident,
    /// The name of each field, or its number in a tuple, and its type.
    fields: Vec<(TokenStream, TokenStream)>,
    /// The path of the crate `offload-gpu`.
    krate: TokenStream,
}

impl Parse for Record {
    fn parse(input: ParseStream) -> Result<Self> {
        let (mut is_c, mut krate) = (false, quote! { ::offload_gpu });
        while input.peek(Token![#]) {
            attribute(input, &mut is_c, &mut krate)?;
        }
        visibility(input)?;
        let kind = input.call(Ident::parse_any)?;
        let name: Ident = input.parse()?;
        if kind != "struct" && kind != "union" {
            return Err(Error::new(
                name.span(),
                "an enum is passed as its integer: derive(Parameter) is for structs and unions",
            ));
        }
        if input.peek(Token![<]) {
            return Err(input.error(
                "derive(Parameter) is for types without parameters: kernels take one layout",
            ));
        }
        if !is_c {
            let message = format!(
                "Rust lays out `{name}` in an order of its own: #[repr(C)] gives it the layout of C"
            );
            return Err(Error::new(name.span(), message));
        }
        let content;
        let is_tuple = input.peek(syn::token::Paren);
        if is_tuple {
            parenthesized!(content in input);
            input.parse::<Token![;]>()?;
        } else if input.peek(Token![;]) {
            return Err(Error::new(
                name.span(),
                "a struct without fields has no bytes in Rust, and one in C++",
            ));
        } else {
            braced!(content in input);
        }
        let mut fields: Vec<(TokenStream, TokenStream)> = Vec::new();
        while !content.is_empty() {
            while content.peek(Token![#]) {
                content.parse::<Token![#]>()?;
                content.parse::<TokenTree>()?;
            }
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
            return Err(Error::new(
                name.span(),
                "a struct without fields has no bytes in Rust, and one in C++",
            ));
        }
        Ok(Self { name, fields, krate })
    }
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

/// Looks for `#[repr(C)]`, `#[repr(transparent)]` and `#[offload(crate = path)]`.
fn attribute(input: ParseStream, is_c: &mut bool, krate: &mut TokenStream) -> Result<()> {
    input.parse::<Token![#]>()?;
    let TokenTree::Group(group) = input.parse()? else { return Ok(()) };
    let parse = |input: ParseStream| -> Result<()> {
        let name = input.call(Ident::parse_any)?;
        if name == "repr" {
            let content;
            parenthesized!(content in input);
            for token in content.parse::<TokenStream>()? {
                *is_c |= matches!(&token, TokenTree::Ident(word) if word == "C" || word == "transparent");
            }
        } else if name == "offload" {
            let content;
            parenthesized!(content in input);
            let error = content.error("`crate` is given as `crate = ::gpu::offload_gpu`");
            if content.call(Ident::parse_any)? != "crate" {
                return Err(error);
            }
            content.parse::<Token![=]>().map_err(|_| error)?;
            *krate = content.parse()?;
        }
        input.parse::<TokenStream>().map(drop)
    };
    // Other attributes may start with any token, so only `repr` and `offload` are parsed.
    let is_ours = group.stream().into_iter().next().is_some_and(|token| {
        let word = token.to_string();
        word == "repr" || word == "offload"
    });
    if is_ours { parse.parse2(group.stream()) } else { Ok(()) }
}

impl Record {
    pub(crate) fn expand(&self) -> TokenStream {
        let Self { name, fields, krate } = self;
        let expansion = quote! { #krate::__expansion };
        let text = name.to_string();
        let ends_of_fields = fields.iter().map(|(field, ty)| {
            quote! {
                let end_of_field = #expansion::core::mem::offset_of!(#name, #field) + #expansion::core::mem::size_of::<#ty>();
                if end < end_of_field {
                    end = end_of_field;
                }
            }
        });
        let fields_are_parameters = fields.iter().map(|(_, ty)| {
            let (span, _) = ends(ty);
            quote_spanned! { span => is_parameter::<#ty>(); }
        });
        quote! {
            impl #expansion::Parameter for #name {
                const LAYOUT: #expansion::ParameterLayout = {
                    let mut end = 0;
                    #(#ends_of_fields)*
                    #expansion::ParameterLayout::of_record::<#name>(#text, end)
                };
            }
            const _: () = {
                const fn is_parameter<T: #expansion::Parameter>() {}
                #(#fields_are_parameters)*
            };
            #expansion::impl_argument_of_record!(#name);
        }
    }
}
