//! The expansion of `include_kernels!`: the pack, and a function for each kernel whose parameters
//! are known.

use super::declared::{Declared, marker};
use super::functions;
use crate::declaration::{Declaration, Declarations};
use crate::input::Options;
use crate::{sorted, suggest};
use offload_format::pack_index::IndexModule;
use offload_format::signature::{
    Content, Identifiers, Record, Signature, Signatures, Type, identifier,
};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};
use syn::{Error, Result};

/// The pack for which functions are declared.
pub(crate) struct Pack<'a> {
    pub(crate) name: &'a str,
    pub(crate) modules: &'a [IndexModule],
    pub(crate) is_compressed: bool,
    /// The expression for the `KernelPack`.
    pub(crate) value: TokenStream,
}

/// Returns the items for a pack. Kernels that the program declares replace their known signatures.
///
/// Returns an error if a declared kernel is not in the pack, or has another number of parameters
/// there.
pub(crate) fn kernels(
    pack: &Pack<'_>,
    options: &Options,
    declared: &Declarations,
) -> Result<TokenStream> {
    let Pack { name, modules, is_compressed, value } = pack;
    let expansion = options.expansion();
    let form = super::form(options, *is_compressed);
    let names: Vec<String> = modules.iter().map(|module| identifier(&module.name)).collect();
    if let Some((wrong, _)) =
        declared.modules.iter().find(|(wrong, _)| names.iter().all(|name| wrong != name))
    {
        let hint = match suggest::closest(&wrong.to_string(), names.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("it has {}", names.join(", ")),
        };
        return Err(Error::new(
            wrong.span(),
            format!("the pack \"{name}\" has no module `{wrong}`: {hint}"),
        ));
    }
    let (mut items, mut is_placed) = (Vec::new(), false);
    for (number, (module, rust_name)) in modules.iter().zip(&names).enumerate() {
        let signatures = module.signatures.parse().map_err(|error| {
            let message =
                format!("the index of the pack \"{name}\", module \"{}\": {error}", module.name);
            Error::new(proc_macro2::Span::call_site(), message)
        })?;
        let module = Module { expansion: &expansion, form: &form, number, module, signatures };
        let of_module = declared
            .modules
            .iter()
            .filter(|(name, _)| name == rust_name)
            .flat_map(|(_, kernels)| kernels);
        // The only module of a pack, and the module with the pack's name, need no separate module
        // in Rust.
        if module.module.name == *name || modules.len() == 1 {
            is_placed = true;
            let kernels: Vec<&Declaration> = declared.kernels.iter().chain(of_module).collect();
            items.push(module.items(&quote! { super::PACK }, &kernels)?);
            continue;
        }
        let kernels: Vec<&Declaration> = of_module.collect();
        let rust_name = format_ident!("{rust_name}");
        let of_module = module.items(&quote! { super::__offload_pack }, &kernels)?;
        // Declarations may use types from the scope around the macro.
        let outer = (!kernels.is_empty()).then(|| quote! { use super::*; });
        let doc = format!("The kernels of the module `{}`.", module.module.name);
        items.push(quote! {
            #[doc = #doc]
            pub mod #rust_name {
                use super::PACK as __offload_pack;
                #outer
                #of_module
            }
        });
    }
    if let (Some(kernel), false) = (declared.kernels.first(), is_placed) {
        let message = format!(
            "the pack \"{name}\" has several modules: mod {} {{ ... }} says whose kernel it is",
            names.join(" { ... }, mod ")
        );
        return Err(Error::new(kernel.name.span(), message));
    }
    let unknown = unknown(pack, declared).map(|message| {
        // rustdoc reads no function bodies, so documentation needs no functions.
        quote! {
            #[cfg(not(doc))]
            #expansion::core::compile_error! { #message }
        }
    });
    let doc = format!("The pack `{name}`.");
    Ok(quote! {
        #unknown
        #[doc = #doc]
        pub static PACK: #expansion::KernelPack<#form> = #value;
        #(#items)*
    })
}

/// Returns the error for a pack with modules about whose kernels nothing is known, if the program
/// declares no kernels. Each call of a kernel would be an error that does not contain the reason.
fn unknown(pack: &Pack<'_>, declared: &Declarations) -> Option<String> {
    let has_names =
        |module: &IndexModule| module.images.iter().any(|image| image.kernels.is_some());
    let module = pack.modules.iter().find(|module| !has_names(module))?;
    let why = module.signatures_unknown.as_ref().filter(|_| declared.is_empty())?;
    let name = pack.name;
    Some(format!(
        "the parameters of the kernels of the pack \"{name}\" are not known, so there are no functions for them: {why}\n\
         build with clang; or store the parameters in the package, on a machine with clang: OFFLOAD_PREBUILT=signatures cargo \
         build; or declare the kernels: include_kernels!(\"{name}\", extern {{ fn scale(n: i32, x: *mut f32); }}). \
         include_offload!(\"{name}\") embeds the pack without functions"
    ))
}

/// A module of a pack.
struct Module<'a> {
    expansion: &'a TokenStream,
    form: &'a TokenStream,
    number: usize,
    module: &'a IndexModule,
    signatures: Signatures,
}

impl Module<'_> {
    /// Returns the items of a module. The functions of kernels are imports from a hidden module, so
    /// that constants of the user's module are no patterns in the place of parameters. Functions of
    /// declared kernels are outside: their types are names of the user's module. Records are
    /// outside, too, because the compiler shows their paths in messages.
    ///
    /// Other names of the expansion begin with `__offload`, as no name from a source does. `pack`
    /// is the path of the pack from the hidden module.
    fn items(&self, pack: &TokenStream, declared: &[&Declaration]) -> Result<TokenStream> {
        let Signatures { kernels: known, records } = &self.signatures;
        let symbols: Vec<String> = declared.iter().map(|kernel| kernel.symbol()).collect();
        let kernels: Vec<&Signature> =
            known.iter().filter(|kernel| !symbols.contains(&kernel.symbol)).collect();
        let (expansion, form, number) =
            (self.expansion, self.form, Literal::usize_unsuffixed(self.number));
        // Types with the names of parameters: the compiler shows these types in messages.
        let of_program =
            declared.iter().flat_map(|kernel| &kernel.parameters).map(|it| marker(&it.name));
        let mut parameters: Vec<Ident> = Vec::new();
        of_program.for_each(|parameter| sorted::insert(&mut parameters, parameter));
        let kernel_names = declared.iter().map(|kernel| marker(&kernel.name));
        let markers = (!declared.is_empty()).then(|| {
            let parameters = parameters.iter();
            quote! {
                #[doc(hidden)]
                #[allow(non_camel_case_types, missing_debug_implementations)]
                pub mod __offload_parameters {
                    #(pub enum #parameters {})*
                }
                #[doc(hidden)]
                #[allow(non_camel_case_types, missing_debug_implementations)]
                pub mod __offload_kernels {
                    #(pub enum #kernel_names {})*
                }
            }
        });
        let used = used(&kernels, records);
        let used = || records.iter().zip(&used).filter(|(_, is_used)| **is_used);
        let items = used().map(|(record, _)| self.record(record));
        let (callable, others): (Vec<&Signature>, Vec<&Signature>) =
            kernels.iter().partition(|kernel| kernel.difference.is_empty());
        let functions = functions::of(&callable, records, &self.module.images, form);
        let uncallable = others.iter().filter_map(|kernel| self.uncallable(kernel));
        let imports: TokenStream = {
            // These are the kernels that have a function.
            let callable = callable.iter().filter(|kernel| kernel.layout(records).is_some());
            let uncallable = others.iter().filter(|kernel| !kernel.parameters.is_empty());
            list(callable.chain(uncallable).map(|kernel| &kernel.name))
        };
        let names_of_records = list(used().map(|(record, _)| &record.name));
        let of_program = Declared {
            expansion,
            form,
            module: &self.module.name,
            images: &self.module.images,
            signatures: &self.signatures,
        };
        let of_program = declared
            .iter()
            .map(|kernel| of_program.function(kernel))
            .collect::<Result<Vec<_>>>()?;
        let mut names = Identifiers::default();
        declared.iter().for_each(|kernel| {
            names.give(&kernel.name.to_string());
        });
        kernels.iter().for_each(|kernel| {
            names.give(&kernel.name);
        });
        let constants = self.without_signature(&symbols).into_iter().map(|symbol| {
            let name = format_ident!("{}", names.give(&identifier(symbol)));
            let doc = format!("The kernel `{symbol}`, whose parameters are not known.");
            quote! {
                #[doc = #doc]
                #[allow(non_upper_case_globals)]
                pub const #name: #expansion::Kernel<'static, #form> =
                    #expansion::kernel(__offload_items::__offload_module, #symbol);
            }
        });
        Ok(quote! {
            #[allow(unused_imports)]
            use #expansion as __offload;
            #(#items)*
            #[allow(
                dead_code, unused_imports, missing_debug_implementations,
                non_camel_case_types, non_upper_case_globals
            )]
            mod __offload_items {
                use super::{__offload, #names_of_records};
                pub const __offload_module: #expansion::Module<'static, #form> = #expansion::module(&#pack, #number);
                // The checks are in a separate function, since items in a generic function are
                // evaluated for each instance.
                pub fn __offload_kernel(
                    symbol: &'static #expansion::core::primitive::str
                ) -> #expansion::Kernel<'static, #form> {
                    #expansion::kernel(__offload_module, symbol)
                }
                #functions
                #(#uncallable)*
            }
            pub use self::__offload_items::{#imports};
            #markers
            #(#of_program)*
            #(#constants)*
        })
    }

    /// Returns the kernels in the module's images that neither a source nor the program describes.
    fn without_signature(&self, declared: &[String]) -> Vec<&str> {
        let all = self.module.images.iter().filter_map(|image| image.kernels.as_ref()).flatten();
        let of_source = self.signatures.kernels.iter().map(|kernel| kernel.symbol.as_str());
        let known = sorted::texts(of_source.chain(declared.iter().map(String::as_str)));
        let is_known = |symbol: &&str| known.binary_search(symbol).is_ok();
        sorted::texts(all.map(|kernel| kernel.name.as_str()).filter(|symbol| !is_known(symbol)))
    }

    /// Returns a function for a kernel that differs between images: a call of the function does not
    /// compile. Returns `None` if the kernel has no parameters: the compiler shows the error at the
    /// first argument.
    fn uncallable(&self, kernel: &Signature) -> Option<TokenStream> {
        let Signature { name, source_name, difference, parameters, .. } = kernel;
        let (function, agrees) =
            (format_ident!("{name}"), format_ident!("__offload_{name}_is_the_same_in_all_images"));
        let mut names = parameters.iter().map(|parameter| format_ident!("{}", parameter.name));
        let first = names.next()?;
        let message = format!(
            "the kernel `{source_name}` has other parameters in some image: a call cannot be right for all"
        );
        let doc = format!(" `{source_name}` cannot be called: {}.", difference.join("; "));
        let expansion = self.expansion;
        Some(quote! {
            #[diagnostic::on_unimplemented(message = #message, label = "for this kernel", #(note = #difference),*)]
            pub trait #agrees {}
            #[doc = #doc]
            #[allow(clippy::too_many_arguments, non_snake_case, unused_variables)]
            pub fn #function(#first: impl #agrees, #(#names: impl #expansion::core::marker::Sized),*) {}
        })
    }

    fn record(&self, record: &Record) -> TokenStream {
        let expansion = self.expansion;
        let Record { name, source_name, size, content, .. } = record;
        let name = format_ident!("{name}");
        let Some(size) = size else {
            let doc = format!("`{source_name}`, which kernels get by pointers alone.");
            return quote! {
                #[doc = #doc]
                #[allow(non_camel_case_types)]
                #[repr(C)]
                #[derive(Debug)]
                pub struct #name {
                    _opaque: [#expansion::core::primitive::u8; 0],
                }
            };
        };
        let doc = format!("`{source_name}`: {} bytes, aligned to {}.", size.bytes, size.align);
        let [bytes, align] = [size.bytes, size.align].map(Literal::u64_unsuffixed);
        let attributes = quote! {
            #[doc = #doc]
            #[allow(non_camel_case_types, non_snake_case)]
            #[derive(Clone, Copy, Debug)]
        };
        let repr = match content {
            Content::Packed(_) => quote! { C, packed },
            _ if record.names_alignment(&self.signatures.records) => quote! { C, align(#align) },
            _ => quote! { C },
        };
        let item = match content {
            Content::Opaque => quote! {
                #attributes
                #[repr(#repr)]
                pub struct #name {
                    /// The bytes of the value in the device's layout. Bytes of padding need not be
                    /// written.
                    pub bytes: [#expansion::core::mem::MaybeUninit<#expansion::core::primitive::u8>; #bytes],
                }
            },
            Content::Fields(fields) | Content::Packed(fields) => {
                let members = fields.iter().map(|field| {
                    let (name, ty) = (
                        format_ident!("{}", field.name),
                        functions::parsed(&functions::memory_type(&field.ty)),
                    );
                    let doc = format!("At offset {}.", field.offset);
                    quote! {
                        #[doc = #doc]
                        pub #name: #ty
                    }
                });
                let offsets = fields.iter().map(|field| {
                    let (field, offset) = (format_ident!("{}", field.name), Literal::u64_unsuffixed(field.offset));
                    quote! { #expansion::core::assert!(#expansion::core::mem::offset_of!(#name, #field) == #offset); }
                });
                quote! {
                    #attributes
                    #[repr(#repr)]
                    pub struct #name {
                        #(#members),*
                    }
                    // Check that the fields have the offsets of the device compiler's layout.
                    const _: () = { #(#offsets)* };
                }
            }
        };
        quote! {
            #item
            const _: () = {
                #expansion::core::assert!(#expansion::core::mem::size_of::<#name>() == #bytes);
                #expansion::core::assert!(#expansion::core::mem::align_of::<#name>() == #align);
            };
            #expansion::impl_argument_of_record!(#name);
        }
    }
}

/// Returns the names, separated by commas.
fn list<'a>(names: impl Iterator<Item = &'a String>) -> TokenStream {
    functions::parsed(&names.map(|name| format!("{name},")).collect::<String>())
}

/// Returns, for each record, whether the kernels' types contain it.
fn used(kernels: &[&Signature], records: &[Record]) -> Vec<bool> {
    let mut used = vec![false; records.len()];
    let mut types: Vec<&Type> =
        kernels.iter().flat_map(|kernel| &kernel.parameters).map(|it| &it.ty).collect();
    while let Some(ty) = types.pop() {
        match ty {
            Type::Pointer { to: inner, .. } | Type::Array { of: inner, .. } => types.push(inner),
            Type::Record(name) => {
                let found = records.iter().position(|record| record.name == *name);
                let Some(number) = found.filter(|number| !used[*number]) else { continue };
                used[number] = true;
                if let Content::Fields(fields) | Content::Packed(fields) = &records[number].content
                {
                    types.extend(fields.iter().map(|field| &field.ty));
                }
            }
            Type::Scalar(_) | Type::Void => {}
        }
    }
    used
}
