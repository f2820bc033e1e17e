//! Determines whether build.rs limits a build to one vendor, before sources are read and targets
//! are known.

use crate::request::{Compiler, Language, Module, Request, Selector, Source};
use crate::targets::{OnlyVendor, Product, RequestedTargets, Scope};
use offload_format::target::Vendor;

/// Returns the product, and its only vendor, if any.
pub(crate) fn scope<'a>(
    request: &Request,
    requested: &RequestedTargets,
    product: Product<'a>,
) -> Scope<'a> {
    let mut modules = vec![&request.unnamed];
    modules.extend(&request.modules);
    let mut compilers = Vec::new();
    for module in &modules {
        compilers.extend_from_slice(&module.options.compilers);
    }
    compilers.extend_from_slice(&request.options.compilers);
    let by_nvcc = compilers.contains(&Compiler::Nvcc);
    let may_be_empty = request.may_be_empty || modules.iter().any(|module| module.may_be_empty);
    let is_made = !matches!(product, Product::Unnamed);
    let mut only = of_selectors(request)
        .or_else(|| of_sources(&modules))
        .or_else(|| of_compilers(&modules, &compilers, requested, product));
    // Other vendors' targets are an error only if the build makes a product that must have images.
    only.iter_mut().for_each(|only| only.refuses_others &= is_made && !may_be_empty);
    Scope { product, only, by_nvcc }
}

/// Returns the vendor, if the build's call to `supports` allows only one.
fn of_selectors(request: &Request) -> Option<OnlyVendor> {
    let mut list = Vec::new();
    for selector in &request.supports {
        list.push(format!("{:?}", selector.to_string()));
    }
    let reason = format!("build.rs calls .supports([{}])", list.join(", "));
    let vendor = sole(&vendors(&request.supports))?;
    let example =
        request.supports.iter().find_map(Selector::example).unwrap_or_default().to_owned();
    Some(OnlyVendor { example, ..only(vendor, reason, true) })
}

/// Returns the vendor, if the languages and the selectors for modules and sources allow only one.
fn of_sources(modules: &[&Module]) -> Option<OnlyVendor> {
    let mut all = Vec::new();
    for module in modules {
        let declared = vendors(&module.supports);
        for source in &module.sources {
            let language = source.known_language();
            for vendor in vendors(&source.supports) {
                let is_for = language.is_none_or(|it| it.recipe(vendor, &[]).is_some());
                if is_for && declared.contains(&vendor) {
                    all.push(vendor);
                }
            }
        }
    }
    let vendor = sole(&all)?;
    Some(only(vendor, format!("all of its sources are for {vendor}"), true))
}

fn only(vendor: Vendor, reason: String, refuses_others: bool) -> OnlyVendor {
    OnlyVendor { vendor, reason, example: vendor.examples()[0].to_owned(), refuses_others }
}

/// Returns the vendor, if build.rs requests compilers for only one. For a pack, this excludes no
/// other vendor, because clang may compile the sources for others, so the result only determines
/// which vendor's environment variables the build uses.
fn of_compilers(
    modules: &[&Module],
    compilers: &[Compiler],
    requested: &RequestedTargets,
    product: Product<'_>,
) -> Option<OnlyVendor> {
    // CUDA's dialect works for every vendor, unless build.rs requests NVIDIA's compiler.
    let vendor = Vendor::Nvidia;
    let is_of_vendor = |compiler: &&Compiler| compiler.vendor() == Some(vendor);
    let (first, has_others) =
        (compilers.iter().find(is_of_vendor), !compilers.iter().all(|it| is_of_vendor(&it)));
    let is_library = matches!(product, Product::StaticLibrary(_));
    let lists_others = requested.vendors().iter().any(|other| *other != vendor);
    let is_cuda = |source: &Source| source.known_language().is_none_or(|it| it == Language::Cuda);
    let is_all_cuda = modules.iter().all(|module| module.sources.iter().all(is_cuda));
    let hints = is_library || requested.has_default();
    let compiler = first.filter(|_| !has_others && !lists_others && is_all_cuda && hints)?;
    let reason = format!("build.rs selects {compiler}, and no compiler for AMD's GPUs");
    Some(only(vendor, reason, is_library))
}

/// Returns the vendors whose targets these selectors may select, or all vendors if there are no
/// selectors.
fn vendors(selectors: &[Selector]) -> Vec<Vendor> {
    let mut vendors = Vendor::ALL.to_vec();
    vendors.retain(|vendor| {
        selectors.is_empty()
            || selectors.iter().any(|selector| selector.vendor().is_none_or(|it| it == *vendor))
    });
    vendors
}

/// Returns the list's vendor, or `None` if the entries differ or are not for GPUs.
fn sole(vendors: &[Vendor]) -> Option<Vendor> {
    let first = *vendors.first()?;
    (first.is_gpu() && vendors.iter().all(|vendor| *vendor == first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only_vendor(
        product: Product<'_>,
        archs: &[&str],
        default: &[&str],
        change: impl FnOnce(&mut Request),
    ) -> Option<Vendor> {
        let mut request = Request::default();
        request.unnamed.file("a.cu");
        change(&mut request);
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let requested = RequestedTargets {
            archs: list(archs),
            default: list(default),
            ..RequestedTargets::default()
        };
        scope(&request, &requested, product).only.map(|only| only.vendor)
    }

    #[test]
    fn what_build_rs_says_of_vendors() {
        let pack = |change: fn(&mut Request)| only_vendor(Product::Pack("p"), &[], &[], change);
        assert_eq!(pack(|_| {}), None);
        assert_eq!(
            pack(|request| request.supports.push(Selector::new(">=sm_80"))),
            Some(Vendor::Nvidia)
        );
        assert_eq!(pack(|request| request.supports.push(Selector::new("cpu"))), None);
        assert_eq!(pack(|request| request.supports.push(Selector::new("malformed"))), None);
        assert_eq!(
            pack(|request| request.supports.extend(["amd", "cpu"].map(Selector::new))),
            None
        );
        let two = |request: &mut Request| request.unnamed.sources.push("b.ptx".into());
        assert_eq!(pack(two), None);
        let ptx = |request: &mut Request| request.unnamed.sources = vec!["a.ptx".into()];
        assert_eq!(pack(ptx), Some(Vendor::Nvidia));
        assert_eq!(pack(|request| request.unnamed.sources = vec!["a.s".into()]), Some(Vendor::Amd));
    }

    #[test]
    fn what_compilers_say_of_vendors() {
        let by = |product, archs: &[&str], default: &[&str], compilers: &[Compiler]| {
            only_vendor(product, archs, default, |request| {
                request.options.compilers.extend(compilers)
            })
        };
        let (pack, library) = (Product::Pack("p"), Product::StaticLibrary("l"));
        let nvcc = &[Compiler::Nvcc];
        assert_eq!(by(library, &[], &[], nvcc), Some(Vendor::Nvidia));
        assert_eq!(by(library, &["sm_80"], &[], nvcc), Some(Vendor::Nvidia));
        assert_eq!(by(library, &["sm_80", "gfx90a"], &[], nvcc), None);
        assert_eq!(by(library, &[], &[], &[Compiler::Nvcc, Compiler::ClangRocm]), None);
        assert_eq!(by(library, &[], &[], &[]), None);
        assert_eq!(by(pack, &[], &[], nvcc), None);
        assert_eq!(by(pack, &[], &["native", "sm_80"], nvcc), Some(Vendor::Nvidia));
        assert_eq!(by(pack, &[], &["gfx90a", "sm_80"], nvcc), None);
    }
}
