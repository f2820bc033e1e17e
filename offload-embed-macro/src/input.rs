//! The macro's input between the parentheses.

use crate::declaration::Declarations;
use crate::overrides::Override;
use crate::suggest;
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::quote;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{LitInt, LitStr, Result, Token};

/// The pack or file to embed, and the options.
pub(crate) struct Input {
    pub(crate) what: What,
    pub(crate) options: Options,
    /// The declarations in an `extern` block, and the block's position.
    pub(crate) declared: Option<(Span, Declarations)>,
    /// The types that replace kernels' structs.
    pub(crate) overrides: Vec<Override>,
}

pub(crate) enum What {
    /// The pack with this name, from the build script.
    Pack(LitStr),
    /// The file at this path.
    Path(LitStr),
}

#[derive(Default)]
pub(crate) struct Options {
    pub(crate) section: Option<LitStr>,
    pub(crate) align: Option<LitInt>,
    /// The position of the `retain` option, for messages; `None` if it is not set.
    pub(crate) retain: Option<Span>,
    pub(crate) register: Option<Span>,
    pub(crate) compressed: Option<Span>,
    /// The word `unsafe` of `unsafe(cpu)`, as the user wrote it.
    pub(crate) trusts_cpu: Option<Ident>,
    krate: Option<TokenStream>,
}

impl Options {
    /// Returns the path of `offload-gpu`'s hidden module, which expansions use. `caller` is its
    /// path in the crate whose macro the user calls.
    pub(crate) fn expansion(&self, caller: TokenStream) -> TokenStream {
        self.krate.as_ref().map_or(caller, |krate| quote! { #krate::__expansion })
    }
}

const NAMES: [&str; 8] =
    ["path", "section", "align", "retain", "register", "compressed", "unsafe", "crate"];
const USAGE: &str = "write the name of a pack, as in include_offload!(\"saxpy\"), or the path of a \
                     file, as in include_offload!(path = \"saxpy.hipfb\")";

impl Parse for Input {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut options = Options::default();
        if input.is_empty() {
            return Err(syn::Error::new(Span::call_site(), USAGE));
        }
        let (mut what, mut declared, mut overrides) = (None, None, Vec::new());
        let mut first = true;
        while !input.is_empty() {
            if input.peek(LitStr) && first {
                what = Some(What::Pack(input.parse()?));
            } else if input.peek(LitStr) && what.is_none() {
                return Err(input
                    .error("put the name of the pack first: include_offload!(\"saxpy\", retain)"));
            } else if input.peek(LitStr) {
                return Err(
                    input.error("include_offload! embeds one pack: call it once for each pack")
                );
            } else if input.peek(Token![extern]) && declared.is_none() {
                declared = Some((input.span(), Declarations::parse_block(input)?));
            } else if input.peek(Token![use]) {
                overrides.push(Override::parse(input)?);
            } else if input.peek(Ident::peek_any) {
                option(input, &mut what, &mut options)?;
            } else {
                return Err(input.error(USAGE));
            }
            first = false;
            if !input.is_empty() && !input.peek(Token![,]) {
                return Err(input.error("missing comma between the arguments of include_offload!"));
            }
            input.parse::<Option<Token![,]>>()?;
        }
        match what {
            Some(what) => Ok(Self { what, options, declared, overrides }),
            None => Err(syn::Error::new(
                Span::call_site(),
                format!("the pack or the file is missing: {USAGE}"),
            )),
        }
    }
}

fn option(input: ParseStream, what: &mut Option<What>, options: &mut Options) -> Result<()> {
    let name = input.call(Ident::parse_any)?;
    let text = name.to_string();
    let error = |message: String| Err(syn::Error::new(name.span(), message));
    if !NAMES.contains(&text.as_str()) {
        if what.is_none() && (input.is_empty() || input.peek(Token![!]) || input.peek(Token![::])) {
            // The user wrote a constant or a macro call instead of a literal.
            return error(format!(
                "expected a string literal, because macros do not know the values of constants: \
                 {USAGE}"
            ));
        }
        let hint = match suggest::closest(&text, &NAMES) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the options are {}", NAMES.join(", ")),
        };
        return error(format!("include_offload! has no option `{text}`: {hint}"));
    }
    let is_twice = match text.as_str() {
        "path" => matches!(what, Some(What::Path(_))),
        "section" => options.section.is_some(),
        "align" => options.align.is_some(),
        "retain" => options.retain.is_some(),
        "register" => options.register.is_some(),
        "compressed" => options.compressed.is_some(),
        "unsafe" => options.trusts_cpu.is_some(),
        _ => options.krate.is_some(),
    };
    if is_twice {
        return error(format!("`{text}` is given twice"));
    }
    let flag = match text.as_str() {
        "retain" => Some(&mut options.retain),
        "register" => Some(&mut options.register),
        "compressed" => Some(&mut options.compressed),
        _ => None,
    };
    if let Some(flag) = flag {
        if input.peek(Token![=]) {
            return error(format!("`{text}` accepts no value"));
        }
        *flag = Some(name.span());
        return Ok(());
    }
    if text == "unsafe" {
        let is_cpu = |group: Group| {
            (group.delimiter(), &*group.stream().to_string()) == (Delimiter::Parenthesis, "cpu")
        };
        if !input.parse().is_ok_and(is_cpu) {
            return error("expected `unsafe(cpu)`".to_owned());
        }
        options.trusts_cpu = Some(name);
        return Ok(());
    }
    let example = match text.as_str() {
        "path" => "\"saxpy.hipfb\"",
        "section" => "\".my_kernels\"",
        "align" => "4096",
        _ => "::gpu::offload_gpu",
    };
    let form = format!("expected `{text} = {example}`");
    if !input.peek(Token![=]) {
        return error(form);
    }
    input.parse::<Token![=]>()?;
    let as_meant = |error: syn::Error| syn::Error::new(error.span(), &form);
    match text.as_str() {
        "path" if what.is_some() => {
            return error("give either the name of a pack or a `path`, not both".to_owned());
        }
        "path" => *what = Some(What::Path(input.parse().map_err(as_meant)?)),
        "section" => options.section = Some(input.parse().map_err(as_meant)?),
        "align" => options.align = Some(input.parse().map_err(as_meant)?),
        _ => {
            let mut path = TokenStream::new();
            while !input.is_empty() && !input.peek(Token![,]) {
                path.extend([input.parse::<TokenTree>()?]);
            }
            let is_path = !path.is_empty()
                && path.clone().into_iter().all(|token| match token {
                    TokenTree::Ident(_) => true,
                    TokenTree::Punct(punct) => matches!(punct.as_char(), ':' | '$'),
                    _ => false,
                });
            if !is_path {
                return error(form);
            }
            options.krate = Some(path);
        }
    }
    Ok(())
}
