//! Functions for kernels that the program declares, with checks of the declarations against the
//! records of each image.

use super::functions::parsed;
use super::passing::{Passed, passed};
use crate::declaration::{Declaration, DeclaredParameter, ends, moved_to};
use crate::{sorted, suggest};
use offload_format::pack_index::{ArgumentKind, IndexArgument, IndexImage, PackImageKind};
use offload_format::signature::Signatures;
use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use std::iter;
use syn::buffer::TokenBuffer;
use syn::ext::IdentExt;
use syn::{Error, Result};

/// The parts of the expansion that all declared kernels of a module share.
pub(super) struct Declared<'a> {
    pub(super) expansion: &'a TokenStream,
    pub(super) form: &'a TokenStream,
    pub(super) module: &'a str,
    pub(super) images: &'a [IndexImage],
    /// The signatures that the build has read from the kernels' sources.
    pub(super) signatures: &'a Signatures,
}

impl Declared<'_> {
    /// Returns the function of a kernel, and the checks of its parameters.
    ///
    /// Returns an error if no image has the kernel, or if an image has another number of arguments.
    pub(super) fn function(&self, kernel: &Declaration) -> Result<TokenStream> {
        self.check_name(kernel)?;
        let symbol = kernel.symbol();
        let found = self
            .images
            .iter()
            .filter_map(|image| Some((image, image.kernel(&symbol)?.arguments.as_deref()?)));
        let found: Vec<(&IndexImage, &[IndexArgument])> = found.collect();
        found.iter().try_for_each(|(image, arguments)| {
            check_count(kernel, &symbol, &image.target, arguments)
        })?;

        let Declaration { attributes, name, parameters, .. } = kernel;
        let Self { expansion, form, .. } = self;
        let layout = format_ident!("__offload_layout_of_{}", name.unraw());
        let layouts = parameters.iter().enumerate().map(|(at, DeclaredParameter { name: parameter, ty })| {
            let (start, end) = ends(ty);
            let number = Literal::usize_unsuffixed(at + 1);
            let (kernel, parameter) = (marker(name), marker(parameter));
            let of = match found.first() {
                Some((_, arguments)) => {
                    let bytes = Literal::u64_unsuffixed(arguments[at].size);
                    let names = quote! { __offload_kernels::#kernel, __offload_parameters::#parameter, #number, #bytes };
                    quote! { #expansion::DeclaredParameter<#names> }
                }
                None => quote! { #expansion::Parameter },
            };
            let path = quote_spanned! { start => <#ty as #of> };
            quote_spanned! { end => #path::LAYOUT }
        });
        let checks = parameters.iter().enumerate().map(|(at, parameter)| {
            let images = found.iter().map(|(image, arguments)| self.recorded(image, arguments, at));
            let (number, at) = (Literal::usize_unsuffixed(at + 1), Literal::usize_unsuffixed(at));
            let text = parameter.name.unraw().to_string();
            // The compiler's message about a failed check points at the parameter's type.
            let (start, end) = ends(&parameter.ty);
            let path = moved_to(start, expansion);
            let check = quote_spanned! { start => #path::check };
            let arguments = quote! {
                &#expansion::Declaration {
                    kernel: #symbol, number: #number, name: #text, layout: #layout.parameters[#at]
                },
                &[#(#images),*]
            };
            let mut group = proc_macro2::Group::new(proc_macro2::Delimiter::Parenthesis, arguments);
            group.set_span(end);
            let group = TokenTree::from(group);
            quote! { const _: () = #check #group; }
        });
        let arguments = parameters.iter().enumerate().map(|(at, DeclaredParameter { name: parameter, ty })| {
            let number = Literal::usize_unsuffixed(at + 1);
            let (kernel, marker) = (marker(name), marker(parameter));
            let (of, size) = (self.argument_type(ty), quote! { { #expansion::core::mem::size_of::<#ty>() } });
            quote! {
                #parameter: impl #expansion::DeclaredArgument<#of, __offload_kernels::#kernel, __offload_parameters::#marker, #number, #size>
            }
        });
        let types = parameters.iter().map(|parameter| &parameter.ty);
        let places = (0..parameters.len()).map(Literal::usize_unsuffixed);
        let passed = self.passed(&symbol, parameters.len());
        let words = passed.iter().map(|passed| Ident::new(passed.word(), Span::call_site()));
        let mut invoke =
            quote! { #expansion::cpu_call!(#(#layout.offsets[#places], #words #types;)*) };
        let conditions = parsed(&Passed::conditions(&passed));
        if !conditions.is_empty() {
            invoke = quote! { #expansion::invoke(&[#conditions], #invoke) };
        }
        let names = parameters.iter().map(|parameter| &parameter.name);
        let numbers = (0..parameters.len()).map(Literal::usize_unsuffixed);
        let count = Literal::usize_unsuffixed(parameters.len());
        let offsets = found.iter().map(|(_, arguments)| {
            let offsets = arguments.iter().map(|argument| Literal::u64_unsuffixed(argument.offset));
            quote! { [#(#offsets),*] }
        });
        let has_ptx =
            found.iter().any(|(image, _)| matches!(image.kind, PackImageKind::Ptx { .. }));
        let has_buffer = quote! { { #layout.is_of_all(&[#(#offsets),*], #has_ptx) } };
        let doc = format!("The kernel `{symbol}`, as it is declared here.");
        Ok(quote! {
            #[allow(non_upper_case_globals)]
            const #layout: #expansion::Layout<#count> = #expansion::layout([#(#layouts),*]);
            #(#checks)*
            #attributes
            #[doc = ""]
            #[doc = #doc]
            #[allow(clippy::too_many_arguments, non_snake_case, private_bounds, private_interfaces)]
            pub fn #name(#(#arguments),*) -> #expansion::Call<#count, { #layout.bytes }, #form, #has_buffer> {
                let mut __offload_call = #expansion::Call::new(__offload_items::__offload_kernel(#symbol), #layout.offsets, #invoke);
                #(__offload_call.set(#numbers, #expansion::Passed::pass(#names));)*
                __offload_call
            }
        })
    }

    /// Returns how the parameters of a kernel are passed, according to its source. Without a
    /// source, each is passed as a value.
    fn passed(&self, symbol: &str, count: usize) -> Vec<Passed> {
        let Signatures { kernels, records } = self.signatures;
        let known = kernels.iter().find(|it| it.symbol == symbol && it.parameters.len() == count);
        match known {
            Some(known) => known.parameters.iter().map(|it| passed(&it.ty, records)).collect(),
            None => vec![Passed::Value; count],
        }
    }

    /// Returns an error if images are known, and none has the kernel.
    fn check_name(&self, kernel: &Declaration) -> Result<()> {
        let symbol = kernel.symbol();
        let mut known = self.images.iter().filter_map(|image| image.kernels.as_ref()).peekable();
        if known.peek().is_none() || self.images.iter().any(|image| image.kernel(&symbol).is_some())
        {
            return Ok(());
        }
        let names = sorted::texts(known.flatten().map(|kernel| kernel.name.as_str()));
        let hint = match suggest::closest(&symbol, names.iter().copied()) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None if names.is_empty() => "it has none".to_owned(),
            None => format!("it has {}", list(&names)),
        };
        let span = kernel.symbol.as_ref().map_or(kernel.name.span(), |symbol| symbol.span());
        Err(Error::new(
            span,
            format!("the module \"{}\" has no kernel \"{symbol}\": {hint}", self.module),
        ))
    }

    /// Returns tokens with the image's record of argument number `at`, counted from 0.
    fn recorded(&self, image: &IndexImage, arguments: &[IndexArgument], at: usize) -> TokenStream {
        let (expansion, target) = (self.expansion, &image.target);
        let IndexArgument { offset, size, kind } = arguments[at];
        let before = at.checked_sub(1).map(|before| arguments[before]);
        let after = before.map_or(0, |before| before.offset.saturating_add(before.size));
        let [after, offset, size] = [after, offset, size].map(Literal::u64_unsuffixed);
        let (is_float, is_pointer) = (kind == ArgumentKind::Float, kind == ArgumentKind::Pointer);
        let may_be_moved = matches!(image.kind, PackImageKind::Cubin | PackImageKind::Ptx { .. });
        quote! {
            #expansion::Recorded {
                target: #target,
                after: #after,
                offset: #offset,
                size: #size,
                is_float: #is_float,
                is_pointer: #is_pointer,
                may_be_moved: #may_be_moved
            }
        }
    }

    /// Returns the type that an argument must have for a parameter that is declared with the type
    /// `ty`. For a pointer to `c_void`, a pointer to any type may be passed.
    fn argument_type(&self, ty: &TokenStream) -> TokenStream {
        let tokens: Vec<TokenTree> = ty.clone().into_iter().collect();
        let is = |token: &TokenTree, word: &str| matches!(token, TokenTree::Ident(ident) if ident == word);
        let expansion = self.expansion;
        let is_path = |tokens: &[TokenTree]| {
            tokens.iter().all(|token| match token {
                TokenTree::Ident(word) => word != "mut" && word != "const",
                TokenTree::Punct(punct) => punct.as_char() == ':',
                _ => false,
            })
        };
        match tokens.as_slice() {
            [TokenTree::Punct(star), mutability, path @ .., last]
                if star.as_char() == '*' && is(last, "c_void") && is_path(path) =>
            {
                if is(mutability, "mut") {
                    quote! { #expansion::AnyMut }
                } else {
                    quote! { #expansion::AnyConst }
                }
            }
            _ => ty.clone(),
        }
    }
}

/// Returns an identifier for an item that represents a name in messages. The identifier has the
/// span of the macro's call, not that of a name in the user's source.
pub(super) fn marker(name: &Ident) -> Ident {
    let mut marker = name.clone();
    marker.set_span(Span::call_site());
    marker
}

/// Returns an error if the image has another number of arguments than is declared.
fn check_count(
    kernel: &Declaration,
    symbol: &str,
    target: &str,
    arguments: &[IndexArgument],
) -> Result<()> {
    let declared = kernel.parameters.len();
    let has = format!("the image for {target} has {}", arguments.len());
    let bytes =
        |argument: &IndexArgument| format!("{} bytes at {}", argument.size, argument.offset);
    if let Some(missing) = arguments.get(declared) {
        let message = format!(
            "the kernel `{symbol}` is declared here with {declared} parameters: {has}; parameter {} is of {}",
            declared + 1,
            bytes(missing)
        );
        return Err(Error::new(kernel.name.span(), message));
    }
    if let Some(extra) = kernel.parameters.get(arguments.len()) {
        let message = format!(
            "parameter {}, `{}`, of the kernel `{symbol}` is one too many: {has} ({})",
            arguments.len() + 1,
            extra.name,
            arguments.iter().map(bytes).collect::<Vec<_>>().join(", ")
        );
        let ty = TokenBuffer::new2(extra.ty.clone());
        let end = iter::successors(Some(ty.begin()), |at| Some(at.token_tree()?.1))
            .last()
            .unwrap_or(ty.begin());
        return Err(Error::new_range(ty.begin()..end, message));
    }
    Ok(())
}

/// Returns the first names of a list, and the number of the remaining ones.
fn list(names: &[&str]) -> String {
    const MOST: usize = 8;
    let first: Vec<String> = names.iter().take(MOST).map(|name| format!("\"{name}\"")).collect();
    let more = names.len().saturating_sub(MOST);
    let more = if more == 0 { String::new() } else { format!(", and {more} more") };
    first.join(", ") + &more
}
