//! Plans a build: the modules of a pack, the targets of each module, and each target's sources.

pub(crate) mod constraints;
mod scope;
pub(crate) mod supplied;

pub(crate) use scope::scope;

use crate::output::has_header;
use crate::plan::constraints::Constraints;
use crate::request::{
    Compiler, Language, Module, Options, Recipe, Request, RequiredKernel, Selector, Source, allow,
};
use crate::targets::{self, Product, Target};
use crate::toolchain::compilers::Rocm;
use crate::toolchain::{Cargo, Error, ErrorKind};
use std::fmt;
use std::path::{Path, PathBuf};

/// A module with its examined sources and its targets.
pub(crate) struct PlannedModule {
    /// The name by which programs select the module.
    pub(crate) name: String,
    /// The prefix of the module's file names, with the final dot. Empty for the unnamed module.
    pub(crate) prefix: String,
    pub(crate) options: Options,
    pub(crate) sources: Vec<PlannedSource>,
    pub(crate) targets: Vec<Target>,
    pub(crate) required: Vec<RequiredKernel>,
}

/// A source, with the constraints read from its bytes.
pub(crate) struct PlannedSource {
    pub(crate) path: PathBuf,
    pub(crate) language: Language,
    pub(crate) options: Options,
    /// The selectors in build.rs that limit the source's targets. Empty for all targets.
    declared: Vec<Selector>,
    /// The compilers that build.rs requests.
    compilers: Vec<Compiler>,
    /// The constraints that the source's bytes put on its targets.
    pub(crate) constraints: Constraints,
}

impl PlannedSource {
    /// Whether build.rs and the source's bytes allow the source in images for this target.
    fn is_for(&self, target: &Target) -> bool {
        allow(&self.declared, target) && self.constraints.is_for(target)
    }

    /// Returns the recipe for this target, or `None` if the language cannot be compiled for it.
    pub(crate) fn recipe(&self, target: &Target) -> Option<Recipe> {
        self.language.recipe(target.vendor(), &self.compilers)
    }

    /// Describes the constraints on the source's targets.
    fn limits(&self) -> String {
        let mut limits = Vec::new();
        if !self.declared.is_empty() {
            limits.push(format!("is for {}, according to build.rs", list(&self.declared)));
        }
        limits.extend(self.constraints.limit());
        format!("{} {}", self.path.display(), limits.join(" and "))
    }
}

impl PlannedModule {
    pub(crate) fn sources_for(&self, target: &Target) -> Vec<&PlannedSource> {
        self.sources.iter().filter(|source| source.is_for(target)).collect()
    }

    /// Returns the flags for a source and a target. The module's flags come first.
    pub(crate) fn flags_for<'a>(
        &'a self,
        source: &'a PlannedSource,
        target: &Target,
    ) -> Vec<&'a str> {
        let mut flags = self.options.flags_for(Some(target));
        flags.append(&mut source.options.flags_for(Some(target)));
        flags
    }

    /// Whether the module has images only for the CPU.
    pub(crate) fn is_for_cpu_alone(&self) -> bool {
        !self.targets.is_empty() && !self.targets.iter().any(Target::is_gpu)
    }

    /// Returns the start of one of the module's file names. `name` identifies the target or the
    /// host.
    pub(crate) fn file_stem(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

/// Prints a module's options as one line of a prebuilt set's manifest.
impl fmt::Display for PlannedModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        for source in &self.sources {
            words.push(source.path.display().to_string());
            let by_name = Language::of(&source.path).ok();
            words.extend(
                (by_name != Some(source.language)).then(|| format!("({})", source.language.name())),
            );
            words.extend(
                (!source.declared.is_empty()).then(|| format!("({})", list(&source.declared))),
            );
            words.push(source.options.to_string());
        }
        words.push(self.options.to_string());
        words.retain(|word| !word.is_empty());
        f.write_str(&words.join(" ").replace('\n', " "))
    }
}

/// Returns the modules of a request, named and unnamed, without the excluded sources.
///
/// Returns an error if there is no module, if a module has no source, if two modules have the same
/// name, or if a name is invalid.
pub(crate) fn modules(request: &Request, pack: &str) -> Result<Vec<(String, Module)>, Error> {
    let mut excluded = vec![false; request.exclude.len()];
    let mut is_excluded = |source: &Source| {
        let path = source.path.to_string_lossy().replace('\\', "/");
        let matches = request.exclude.iter().map(|pattern| is_match(pattern, &path));
        // Try every pattern, even after a match, because a source may match several patterns, and
        // each of them counts as used.
        excluded.iter_mut().zip(matches).fold(false, |any, (used, is_match)| {
            *used |= is_match;
            any | is_match
        })
    };
    let mut modules: Vec<(String, Module)> = Vec::new();
    for module in [&request.unnamed].into_iter().chain(&request.modules) {
        let mut kept = module.clone();
        kept.sources.retain(|source| !is_excluded(source));
        match (&module.name, module.sources.is_empty()) {
            (Some(name), true) => {
                return Err(Error::config(format!(
                    "the module \"{name}\" has no sources: add one with .file(...)"
                )));
            }
            _ if kept.sources.is_empty() => continue,
            _ => {}
        }
        let name = module.name.clone().unwrap_or_else(|| pack.to_owned());
        check_name(&name, module)?;
        // Reject names that differ only in case, because image files are named after their modules,
        // and file systems may treat such names as equal.
        if let Some((taken, other)) =
            modules.iter().find(|(taken, _)| taken.eq_ignore_ascii_case(&name))
        {
            return Err(Error::config(format!(
                "two modules of the pack are called \"{taken}\": {} and {}. \
                 Give one of them a different name: .module(Module::new(\"{name}_2\").file({:?}))",
                paths(other),
                paths(&kept),
                kept.sources[0].path.display().to_string()
            )));
        }
        modules.push((name, kept));
    }
    if let Some(unused) = excluded.iter().position(|used| !used) {
        let message =
            format!("'{}' excludes nothing: no source has this path", request.exclude[unused]);
        return Err(Error::config(message));
    }
    if modules.is_empty() {
        Err(Error::config("no sources: add one with .file(\"kernels/saxpy.cu\")"))
    } else {
        Ok(modules)
    }
}

/// Determines which of the listed targets each module is built for, and prints which modules are
/// not built for all of them.
///
/// Returns an error if a source is missing, has an unknown language, or cannot be compiled for a
/// target, if a module's sources cannot be linked, or if it has no targets left.
pub(crate) fn plan(
    request: &Request,
    product: Product<'_>,
    modules: &[(String, Module)],
    targets: &[Target],
    cargo: &Cargo,
) -> Result<Vec<PlannedModule>, Error> {
    let mut planned = Vec::new();
    for (name, module) in modules {
        check_selectors(request, module)?;
        let mut options = request.options.clone();
        options.append(&module.options);
        let look_into = |source| look_into(source, &options, product, cargo);
        let sources = module.sources.iter().map(look_into).collect::<Result<Vec<_>, _>>()?;
        let mut it = PlannedModule {
            name: name.clone(),
            prefix: module.prefix(),
            options,
            sources,
            targets: Vec::new(),
            required: module.required.clone(),
        };
        for target in targets {
            let is_allowed = allow(&request.supports, target) && allow(&module.supports, target);
            if is_allowed && is_built(&it, target)? {
                it.targets.push(target.clone());
            }
        }
        if it.targets.is_empty() && !module.may_be_empty && !request.may_be_empty {
            let mut limits = Vec::new();
            let the_product = product.to_string();
            let declared = [(&*the_product, &request.supports), ("module", &module.supports)];
            for &(what, supports) in &declared {
                if !supports.is_empty() {
                    let supports = list(supports);
                    limits.push(format!("the {what} is for {supports}, according to build.rs"));
                }
            }
            let is_limited = |source: &&PlannedSource| {
                !source.declared.is_empty() || source.constraints.limit().is_some()
            };
            limits.extend(it.sources.iter().filter(is_limited).map(PlannedSource::limits));
            return Err(no_target_is_left(product, &it, &limits, targets, cargo));
        }
        planned.push(it);
    }
    if !request.may_be_empty && planned.iter().all(|module| module.targets.is_empty()) {
        return Err(Error::config(format!(
            "no module of the {product} can be built for any of the targets {}",
            targets::join(targets)
        )));
    }
    say_what_is_left(&planned, product, targets, cargo);
    Ok(planned)
}

/// Returns the module's name for messages. In a static library, each source is a module of its own,
/// which messages refer to by the source's path.
fn in_messages(product: Product<'_>, module: &PlannedModule) -> String {
    match (product, &module.sources[..]) {
        (Product::StaticLibrary(_), [source]) => source.path.display().to_string(),
        _ => format!("\"{}\"", module.name),
    }
}

/// Returns the error for a module without targets. `limits` contains the reasons.
fn no_target_is_left(
    product: Product<'_>,
    module: &PlannedModule,
    limits: &[String],
    targets: &[Target],
    cargo: &Cargo,
) -> Error {
    let name = in_messages(product, module);
    let (what, allowed) = match product {
        Product::StaticLibrary(_) => {
            (name, "call .allow_empty() to leave out sources without targets")
        }
        _ => (format!("the module {name}"), "call .allow_empty() to let the module have no images"),
    };
    let variable = cargo
        .package_var("OFFLOAD_ARCH")
        .map(|(variable, _)| format!(" in {variable}"))
        .unwrap_or_default();
    Error::config(format!(
        "no target is left for {what}: {}. The targets{variable} are {}. Add a target, or \
         {allowed}",
        limits.join("; "),
        targets::join(targets)
    ))
}

/// Prints which modules are not built for all listed targets. The message is a warning if
/// `OFFLOAD_ARCH` lists the targets, otherwise a note.
fn say_what_is_left(
    modules: &[PlannedModule],
    product: Product<'_>,
    targets: &[Target],
    cargo: &Cargo,
) {
    let variable = cargo.package_var("OFFLOAD_ARCH").map(|(variable, _)| variable);
    let is_library = matches!(product, Product::StaticLibrary(_));
    let mut groups: Vec<(&[Target], Vec<String>)> = Vec::new();
    for module in modules.iter().filter(|module| module.targets.len() < targets.len()) {
        let name = in_messages(product, module);
        match groups.iter_mut().find(|(others, _)| *others == module.targets) {
            Some((_, names)) => names.push(name),
            None => groups.push((&module.targets, vec![name])),
        }
    }
    for (left, names) in groups {
        let all = names.len() == modules.len();
        let what = match (all, names.len()) {
            (true, _) => String::new(),
            _ if is_library => format!(" {}", names.join(", ")),
            (false, 1) => format!(" module {}", names[0]),
            (false, _) => format!(" modules {}", names.join(", ")),
        };
        let left = match left {
            [] => "for no target".to_owned(),
            left => format!("only for {}", targets::join(left)),
        };
        let targets = targets::join(targets);
        match &variable {
            Some(variable) => {
                cargo.warn(&format!(
                    "{product}:{what} built {left}, although {variable} lists {targets}"
                ));
            }
            None => cargo.note(&format!(
                "{product}:{what} built {left}, although the build's targets are {targets}"
            )),
        }
    }
}

/// Whether a module has sources for a target.
///
/// Returns an error if these sources cannot be compiled for the target or linked together.
fn is_built(module: &PlannedModule, target: &Target) -> Result<bool, Error> {
    let sources = module.sources_for(target);
    for source in &sources {
        let recipe = source.recipe(target).ok_or_else(|| {
            let vendors: Vec<String> =
                source.language.vendors().iter().map(|word| format!("\"{word}\"")).collect();
            let vendors = vendors.join(", ");
            Error::config(format!(
                "{path} is {language}, which cannot be built for {target}{obstacle}. If the source \
                 is only for other targets, declare them: \
                 Source::new(\"{path}\").supports([{vendors}])",
                path = source.path.display(),
                language = source.language.name(),
                obstacle = source.language.obstacle(target.vendor()),
            ))
        })?;
        if let (false, [one, other, ..]) =
            (recipe.is_linked() && !source.constraints.is_alone(), &sources[..])
        {
            let other = if std::ptr::eq(*one, *source) { other } else { one };
            let with_kernels = if source.constraints.is_alone() { " with kernels" } else { "" };
            return Err(Error::config(format!(
                "for {target}, {path} of the module \"{}\" is {}{with_kernels}, which cannot be \
                 linked with {}: make {path} a separate module",
                module.name,
                source.language.name(),
                other.path.display(),
                path = source.path.display()
            )));
        }
    }
    check_nvcc(module, target, &sources)?;
    Ok(!sources.is_empty())
}

/// Checks that the sources for nvcc can be combined into one image. nvcc compiles each source
/// separately, so several sources must be linked, which works neither for PTX nor with the output
/// of other compilers.
fn check_nvcc(
    module: &PlannedModule,
    target: &Target,
    sources: &[&PlannedSource],
) -> Result<(), Error> {
    let (by_nvcc, others): (Vec<&PlannedSource>, Vec<&PlannedSource>) =
        sources.iter().partition(|source| source.recipe(target) == Some(Recipe::Nvcc));
    match (&by_nvcc[..], &others[..]) {
        ([one, other, ..], []) if target.is_ptx() => Err(Error::config(format!(
            "for {target}, the module \"{}\" has {} and {}, but nvcc cannot link PTX: put them in \
             two modules, leave {target} out, or let clang compile them (Compiler::Clang)",
            module.name,
            one.path.display(),
            other.path.display()
        ))),
        ([one, ..], [other, ..]) => Err(Error::config(format!(
            "for {target}, nvcc compiles {} of the module \"{}\", but nvcc's output cannot be \
             linked with {}, which is {}: put the sources in two modules",
            one.path.display(),
            module.name,
            other.path.display(),
            other.language.name()
        ))),
        _ => Ok(()),
    }
}

fn look_into(
    source: &Source,
    of_module: &Options,
    product: Product<'_>,
    cargo: &Cargo,
) -> Result<PlannedSource, Error> {
    let path = &source.path;
    let language = match source.language {
        Some(language) => language,
        None => Language::of(path).map_err(Error::config)?,
    };
    // `cargo package` leaves out kernel crates, but the prebuilt set contains their images.
    let is_left_out = language == Language::Rust && cargo.is_packaged();
    if !path.is_file() && !is_left_out {
        let message = format!(
            "the source {} does not exist (paths are relative to {})",
            path.display(),
            cargo.manifest_dir.display()
        );
        return Err(Error::new(ErrorKind::SourceNotFound, message));
    }
    if path.is_file() {
        cargo.watch_input(path);
    }
    let mut compilers = of_module.compilers.clone();
    let mut constraints = Constraints::read(path, language)?;
    if let Constraints::HipHeaders(headers) = &constraints
        && !matches!(product, Product::StaticLibrary(_))
    {
        let is_found = |name: &str| {
            let in_any = |options: &Options| {
                options.includes.iter().any(|folder| folder.join(name).is_file())
            };
            in_any(of_module) || in_any(&source.options)
        };
        let mut needs_rocm = Rocm::is_named(cargo) || is_found("hip/hip_runtime.h");
        for name in headers {
            let is_there =
                has_header(name) || path.with_file_name(name).is_file() || is_found(name);
            needs_rocm |= !is_there;
        }
        if needs_rocm {
            // If build.rs requests a compiler for AMD's GPUs, that compiler comes later in the list
            // and wins.
            compilers.insert(0, Compiler::ClangRocm);
        }
        constraints = Constraints::Any;
    }
    Ok(PlannedSource {
        path: path.clone(),
        language,
        options: source.options.clone(),
        declared: source.supports.clone(),
        compilers,
        constraints,
    })
}

fn check_selectors(request: &Request, module: &Module) -> Result<(), Error> {
    let mut all = Vec::new();
    for source in &module.sources {
        all.extend(&source.supports);
        source.options.add_selectors(&mut all);
    }
    all.extend(module.required.iter().filter_map(|kernel| kernel.only.as_ref()));
    all.extend(&module.supports);
    all.extend(&request.supports);
    request.options.add_selectors(&mut all);
    module.options.add_selectors(&mut all);
    all.into_iter().try_for_each(Selector::check).map_err(Error::config)
}

fn check_name(name: &str, module: &Module) -> Result<(), Error> {
    if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        return Ok(());
    }
    Err(Error::config(format!(
        "invalid module name \"{name}\" (for {}): use only letters, digits, '_' and '-'. Set the \
         name: .module(Module::new(\"...\").file({:?}))",
        paths(module),
        module.sources[0].path.display().to_string()
    )))
}

fn paths(module: &Module) -> String {
    let paths: Vec<String> =
        module.sources.iter().map(|source| source.path.display().to_string()).collect();
    paths.join(", ")
}

fn list(selectors: &[Selector]) -> String {
    selectors.iter().map(Selector::to_string).collect::<Vec<_>>().join(", ")
}

/// Whether a path matches a pattern, in which `*` matches any characters except `/`.
fn is_match(pattern: &str, path: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == path };
    let Some(rest) = path.strip_prefix(head) else { return false };
    let end = rest.find('/').unwrap_or(rest.len());
    (0..=end).filter(|at| rest.is_char_boundary(*at)).any(|at| is_match(tail, &rest[at..]))
}

/// Returns the name of a single-source module: the source's file name without its extension.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, path, matches) in [
            ("kernels/a.cu", "kernels/a.cu", true),
            ("kernels/a.cu", "kernels/ab.cu", false),
            ("kernels/*_test.cu", "kernels/a_test.cu", true),
            ("kernels/*_test.cu", "kernels/sub/a_test.cu", false),
            ("*/*.hip", "kernels/a.hip", true),
            ("*.hip", "kernels/a.hip", false),
            ("kernels/*", "kernels/ä.cu", true),
        ] {
            assert_eq!(is_match(pattern, path), matches, "{pattern} {path}");
        }
    }
}
