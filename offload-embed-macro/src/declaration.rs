//! Kernels that a program declares: `extern { fn saxpy(n: i32, x: *mut f32); }`.

use proc_macro2::{Ident, Punct, Spacing, Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Error, LitStr, Result, Token, braced, parenthesized};

/// The declarations in an `extern` block.
#[derive(Default)]
pub(crate) struct Declarations {
    pub(crate) kernels: Vec<Declaration>,
    /// Each module's name in Rust, and the module's declarations.
    pub(crate) modules: Vec<(Ident, Vec<Declaration>)>,
}

/// A kernel that the program declares.
pub(crate) struct Declaration {
    /// The kernel's documentation and attributes.
    pub(crate) attributes: TokenStream,
    pub(crate) name: Ident,
    /// The kernel's name in images, if it differs from the name in Rust.
    pub(crate) symbol: Option<LitStr>,
    pub(crate) parameters: Vec<DeclaredParameter>,
}

/// A parameter of a declared kernel.
pub(crate) struct DeclaredParameter {
    pub(crate) name: Ident,
    pub(crate) ty: TokenStream,
}

impl Declaration {
    /// Returns the kernel's name in images.
    pub(crate) fn symbol(&self) -> String {
        self.symbol.as_ref().map_or_else(|| self.name.unraw().to_string(), LitStr::value)
    }

    /// Returns the kernel's name and parameters as text.
    pub(crate) fn text(&self) -> String {
        let parameters = self.parameters.iter().map(|it| format!("{}: {}", it.name, it.ty));
        format!("fn {}({})", self.name, parameters.collect::<Vec<_>>().join(", "))
    }
}

impl Declarations {
    /// Reads an `extern` block.
    pub(crate) fn parse_block(input: ParseStream) -> Result<Self> {
        input.parse::<Token![extern]>()?;
        // The ABI is optional, as in Rust's `extern` blocks.
        input.parse::<Option<LitStr>>()?;
        let content;
        braced!(content in input);
        content.parse()
    }

    /// Whether no kernel is declared, neither directly nor in a module.
    pub(crate) fn is_empty(&self) -> bool {
        self.kernels.is_empty() && self.modules.iter().all(|(_, kernels)| kernels.is_empty())
    }
}

impl Parse for Declarations {
    fn parse(input: ParseStream) -> Result<Self> {
        let (mut kernels, mut modules) = (Vec::new(), Vec::new());
        while !input.is_empty() {
            let (attributes, symbol) = attributes(input)?;
            input.parse::<Option<Token![pub]>>()?;
            if input.peek(Token![mod]) {
                input.parse::<Token![mod]>()?;
                let name = input.parse()?;
                let content;
                braced!(content in input);
                let of_module: Self = content.parse()?;
                if let Some((inner, _)) = of_module.modules.first() {
                    return Err(Error::new(
                        inner.span(),
                        "modules of a pack cannot contain modules",
                    ));
                }
                modules.push((name, of_module.kernels));
            } else {
                kernels.push(kernel(input, attributes, symbol)?);
            }
        }
        Ok(Self { kernels, modules })
    }
}

/// Reads attributes, and splits off the value of `link_name`, which is the kernel's symbol.
fn attributes(input: ParseStream) -> Result<(TokenStream, Option<LitStr>)> {
    let (mut others, mut symbol) = (TokenStream::new(), None);
    while input.peek(Token![#]) {
        let sign: Token![#] = input.parse()?;
        let group: TokenTree = input.parse()?;
        let TokenTree::Group(inner) = &group else {
            return Err(Error::new(group.span(), "expected an attribute, #[...]"));
        };
        let link_name = |input: ParseStream| -> Result<Option<LitStr>> {
            let fork = input.fork();
            if fork.call(Ident::parse_any).is_ok_and(|name| name == "link_name")
                && fork.peek(Token![=])
            {
                input.call(Ident::parse_any)?;
                input.parse::<Token![=]>()?;
                return input.parse().map(Some);
            }
            input.parse::<TokenStream>().map(|_| None)
        };
        match syn::parse::Parser::parse2(link_name, inner.stream())? {
            Some(name) => symbol = Some(name),
            None => {
                let mut first = Punct::new('#', Spacing::Alone);
                first.set_span(sign.span);
                others.extend([first.into(), group]);
            }
        }
    }
    Ok((others, symbol))
}

const FORM: &str = "expected the declaration of a kernel, such as fn saxpy(n: i32, a: f32, x: \
                    *const f32, y: *mut f32);";

fn kernel(
    input: ParseStream,
    attributes: TokenStream,
    symbol: Option<LitStr>,
) -> Result<Declaration> {
    let as_meant = |error: Error| Error::new(error.span(), FORM);
    // As in `extern` blocks, a declaration may be `safe` or `unsafe`. The keyword has no effect:
    // the declared function is safe, and its launch is unsafe.
    if !input.peek(Token![fn]) {
        let word = input.call(Ident::parse_any).map_err(as_meant)?;
        if word != "safe" && word != "unsafe" {
            return Err(Error::new(word.span(), FORM));
        }
    }
    input.parse::<Token![fn]>().map_err(as_meant)?;
    let name: Ident = input.parse().map_err(as_meant)?;
    if input.peek(Token![<]) {
        let message = "to declare an instance of a template, give its symbol in the images: \
                       #[link_name = \"_Z5scaleIfEvPT_i\"] fn scale_f32(x: *mut f32, n: i32);";
        return Err(input.error(message));
    }
    let content;
    parenthesized!(content in input);
    let mut parameters = Vec::new();
    while !content.is_empty() {
        parameters.push(parameter(&content, parameters.len())?);
        if !content.is_empty() {
            content.parse::<Token![,]>()?;
        }
    }
    if input.peek(Token![->]) {
        return Err(input.error("a kernel cannot return a value"));
    }
    input.parse::<Token![;]>().map_err(as_meant)?;
    Ok(Declaration { attributes, name, symbol, parameters })
}

/// Parses a parameter, such as `n: i32`, but not the comma after it.
fn parameter(input: ParseStream, number: usize) -> Result<DeclaredParameter> {
    let name = if input.peek(Token![_]) {
        Ident::new(&format!("arg{}", number + 1), input.parse::<Token![_]>()?.spans[0])
    } else {
        input.parse().map_err(|error| Error::new(error.span(), FORM))?
    };
    if !input.peek(Token![:]) {
        return Err(input.error(FORM));
    }
    input.parse::<Token![:]>()?;
    let ty = type_of(input)?;
    if ty.is_empty() {
        return Err(Error::new(name.span(), FORM));
    }
    Ok(DeclaredParameter { name, ty })
}

/// Reads a type: all tokens up to a comma that is not between `<` and `>`.
pub(crate) fn type_of(input: ParseStream) -> Result<TokenStream> {
    tokens_until(input, |input| input.peek(Token![,]), &mut |_| Ok(()))
}

/// Reads all tokens up to the end, which is not between `<` and `>`, or to the end of the input.
/// Calls `outside` for each token that is not between them.
pub(crate) fn tokens_until(
    input: ParseStream,
    is_end: fn(ParseStream) -> bool,
    outside: &mut dyn FnMut(&TokenTree) -> Result<()>,
) -> Result<TokenStream> {
    let (mut tokens, mut depth) = (TokenStream::new(), 0_u32);
    while !input.is_empty() && (depth > 0 || !is_end(input)) {
        let is_arrow = input.peek(Token![->]);
        let token: TokenTree = input.parse()?;
        // `peek` also looks at the first token of a type captured by a macro, which is one token.
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == '<' => depth += 1,
            TokenTree::Punct(punct) if punct.as_char() == '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => outside(&token)?,
            _ => {}
        }
        tokens.extend([token]);
        if is_arrow {
            tokens.extend([input.parse::<TokenTree>()?]);
        }
    }
    Ok(tokens)
}

/// Returns the tokens with the location of this span, so that compiler messages point there. Names
/// in the tokens resolve as before.
pub(crate) fn moved_to(span: Span, tokens: &TokenStream) -> TokenStream {
    let mut moved = TokenStream::new();
    for mut token in tokens.clone() {
        token.set_span(token.span().located_at(span));
        moved.extend([token]);
    }
    moved
}

/// Returns the spans of the first and the last token of the type.
pub(crate) fn ends(ty: &TokenStream) -> (Span, Span) {
    let mut spans = ty.clone().into_iter().map(|token| token.span());
    let first = spans.next().unwrap_or_else(Span::call_site);
    (first, spans.last().unwrap_or(first))
}
