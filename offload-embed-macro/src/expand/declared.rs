//! Kernels that the program declares: signatures with the program's types, and checks of the
//! declarations against each image's records.

use crate::declaration::{Declaration, DeclaredParameter, ends, moved_to};
use crate::{sorted, suggest};
use offload_pack::expansion::{Declared, NAMED};
use offload_pack::pack_index::{IndexArgument, IndexImage, IndexModule};
use offload_pack::signature::{Parameter, Signature, Type};
use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use std::iter;
use syn::buffer::TokenBuffer;
use syn::ext::IdentExt;
use syn::{Error, Result};

/// Returns the kernels that the program declares in a module, and the items that their code needs
/// in the program's scope.
///
/// Returns an error if no image contains a declared kernel, or if the number of arguments in an
/// image differs from the declaration.
pub(super) fn of(
    expansion: &TokenStream,
    module: &IndexModule,
    kernels: &[&Declaration],
) -> Result<(Vec<Declared>, TokenStream)> {
    let (mut all, mut items) = (Vec::new(), TokenStream::new());
    let module = Program { expansion, module };
    for kernel in kernels {
        if kernel.name == NAMED {
            let message = "`named` is the function that finds kernels by name: give the \
                           declaration a different name, and add #[link_name = \"named\"]";
            return Err(Error::new(kernel.name.span(), message));
        }
        let declared = declared(kernel);
        items.extend(module.items(kernel, &declared)?);
        all.push(declared);
    }
    if !kernels.is_empty() {
        items.extend(markers(kernels));
    }
    Ok((all, items))
}

/// Returns the kernel with its types replaced by names in the program's scope.
fn declared(kernel: &Declaration) -> Declared {
    let Declaration { attributes, name, parameters, .. } = kernel;
    let types = parameters.iter().enumerate().map(|(at, parameter)| {
        let ty = match pointer_to_void(&parameter.ty) {
            Some(is_mutable) => Type::Pointer { is_mutable, to: Box::new(Type::Void) },
            None => Type::Record(alias(kernel, at).to_string()),
        };
        Parameter { name: parameter.name.to_string(), ty }
    });
    let symbol = kernel.symbol();
    let signature = Signature {
        name: name.to_string(),
        source_name: symbol.clone(),
        template: None,
        symbol,
        place: format!("declared here as `{}`", kernel.text()),
        comment: Vec::new(),
        parameters: types.collect(),
        difference: Vec::new(),
    };
    Declared { signature, attributes: attributes.to_string() }
}

/// Returns the name of the alias for a parameter's type. Parameters are counted from 0.
fn alias(kernel: &Declaration, at: usize) -> Ident {
    format_ident!("__offload_type_{}_of_{}", at + 1, kernel.name.unraw())
}

/// Returns types named after kernels and parameters, which the compiler shows in messages.
fn markers(kernels: &[&Declaration]) -> TokenStream {
    let names = kernels.iter().map(|kernel| marker(&kernel.name));
    let mut parameters: Vec<Ident> = Vec::new();
    let all = kernels.iter().flat_map(|kernel| &kernel.parameters).map(|it| marker(&it.name));
    all.for_each(|parameter| sorted::insert(&mut parameters, parameter));
    quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types, missing_debug_implementations)]
        pub mod __offload_parameters {
            #(pub enum #parameters {})*
        }
        #[doc(hidden)]
        #[allow(non_camel_case_types, missing_debug_implementations)]
        pub mod __offload_kernels {
            #(pub enum #names {})*
        }
    }
}

/// A module whose kernels the program declares.
struct Program<'a> {
    expansion: &'a TokenStream,
    module: &'a IndexModule,
}

impl Program<'_> {
    /// Returns the items for a kernel: aliases of the parameters' types, the parameters' layout,
    /// and the checks.
    fn items(&self, kernel: &Declaration, declared: &Declared) -> Result<TokenStream> {
        self.check_name(kernel)?;
        let symbol = &declared.signature.symbol;
        let found = self
            .module
            .images
            .iter()
            .filter_map(|image| Some((image, image.kernel(symbol)?.arguments.as_deref()?)));
        let found: Vec<(&IndexImage, &[IndexArgument])> = found.collect();
        found.iter().try_for_each(|(image, arguments)| {
            check_count(kernel, symbol, &image.target, arguments)
        })?;

        let Declaration { name, parameters, .. } = kernel;
        let Self { expansion, .. } = self;
        let layout = format_ident!("{}", declared.layout());
        let images = format_ident!("{}", declared.images());
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
            let (number, at) = (Literal::usize_unsuffixed(at + 1), Literal::usize_unsuffixed(at));
            let text = parameter.name.unraw().to_string();
            // Messages about failed checks point at the parameter's type.
            let (start, end) = ends(&parameter.ty);
            let arguments = quote! {
                &#expansion::Declaration {
                    kernel: #symbol, number: #number, name: #text, layout: #layout.parameters[#at]
                },
                __offload_items::#images, #at
            };
            checked(expansion, "check", arguments, (start, end))
        });
        let aliases = parameters.iter().enumerate().map(|(at, DeclaredParameter { ty, .. })| {
            let alias = alias(kernel, at);
            quote! { #[doc(hidden)] #[allow(non_camel_case_types, dead_code)] type #alias = #ty; }
        });
        let count = Literal::usize_unsuffixed(parameters.len());
        Ok(quote! {
            #(#aliases)*
            #[doc(hidden)]
            #[allow(non_upper_case_globals)]
            const #layout: #expansion::Layout<#count> = #expansion::layout([#(#layouts),*]);
            #(#checks)*
        })
    }

    /// Returns an error if any image lists its kernels, but no image lists this kernel.
    fn check_name(&self, kernel: &Declaration) -> Result<()> {
        let symbol = kernel.symbol();
        let images = &self.module.images;
        if images.iter().any(|image| image.kernel(&symbol).is_some())
            || images.iter().all(|image| image.kernels.is_none())
        {
            return Ok(());
        }
        let names = self.module.kernel_names();
        let hint = match suggest::closest(&symbol, &names) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None if names.is_empty() => "it has no kernels".to_owned(),
            None => format!("it has {}", list(&names)),
        };
        let span = kernel.symbol.as_ref().map_or(kernel.name.span(), |symbol| symbol.span());
        Err(Error::new(
            span,
            format!("the module \"{}\" has no kernel \"{symbol}\": {hint}", self.module.name),
        ))
    }
}

/// For a pointer to `c_void`, which accepts pointers to any type, returns whether the pointer is
/// mutable. Returns `None` for all other types.
fn pointer_to_void(ty: &TokenStream) -> Option<bool> {
    let tokens: Vec<TokenTree> = ty.clone().into_iter().collect();
    let is =
        |token: &TokenTree, word: &str| matches!(token, TokenTree::Ident(ident) if ident == word);
    let [TokenTree::Punct(star), mutability, path @ .., last] = tokens.as_slice() else {
        return None;
    };
    let is_path = path.iter().all(|token| match token {
        TokenTree::Ident(word) => word != "mut" && word != "const",
        TokenTree::Punct(punct) => punct.as_char() == ':',
        _ => false,
    });
    let is_void = star.as_char() == '*' && is(last, "c_void") && is_path;
    is_void.then(|| is(mutability, "mut"))
}

/// Returns an item that calls a check function at compile time. If the check fails, the compiler's
/// message points to the code from the first span to the second.
pub(super) fn checked(
    expansion: &TokenStream,
    function: &str,
    arguments: TokenStream,
    (start, end): (Span, Span),
) -> TokenStream {
    let (path, function) = (moved_to(start, expansion), format_ident!("{function}"));
    let call = quote_spanned! { start => #path::#function };
    let mut group = Group::new(Delimiter::Parenthesis, arguments);
    group.set_span(end);
    let group = TokenTree::from(group);
    quote! { const _: () = #call #group; }
}

/// Returns an identifier for an item that represents a name in messages. The identifier's span is
/// the macro call, not the name in the user's source.
fn marker(name: &Ident) -> Ident {
    let mut marker = name.clone();
    marker.set_span(Span::call_site());
    marker
}

/// Returns an error if the image's number of arguments differs from the declaration.
fn check_count(
    kernel: &Declaration,
    symbol: &str,
    target: &str,
    arguments: &[IndexArgument],
) -> Result<()> {
    let declared = kernel.parameters.len();
    let has = format!("the image for {target} has {}", arguments.len());
    let bytes =
        |argument: &IndexArgument| format!("{} bytes at offset {}", argument.size, argument.offset);
    if let Some(missing) = arguments.get(declared) {
        let message = format!(
            "the kernel `{symbol}` is declared here with {declared} parameters, but {has}; \
             parameter {} is {}",
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

/// Returns the first names of a list, and the number of the remaining names.
pub(super) fn list(names: &[&str]) -> String {
    const MOST: usize = 8;
    let first: Vec<String> = names.iter().take(MOST).map(|name| format!("\"{name}\"")).collect();
    let more = names.len().saturating_sub(MOST);
    let more = if more == 0 { String::new() } else { format!(", and {more} more") };
    first.join(", ") + &more
}
