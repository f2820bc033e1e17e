//! Whether images have the parameters that a source says.

use crate::cargo::Cargo;
use crate::pack::image::ImageKernel;
use offload_format::signature::{Record, Signature, Signatures};

/// The kernels of an image, if they are known, and its target.
pub(super) type OfImage<'a> = (&'a str, Option<Vec<ImageKernel>>);

/// Leaves the signatures of kernels that some image has. Where an image that has one has other arguments than the source, the
/// user is told, and programs that call it do not compile.
pub(super) fn agreed(module: &str, signatures: &Signatures, images: &[OfImage<'_>], cargo: &Cargo) -> Signatures {
    let mut agreed = Signatures { kernels: Vec::new(), records: signatures.records.clone() };
    for kernel in &signatures.kernels {
        let found = images.iter().filter_map(|(target, kernels)| {
            let kernels = kernels.as_ref()?;
            let at = kernels.binary_search_by(|it| it.name.as_str().cmp(&kernel.symbol)).ok()?;
            Some((*target, kernels[at].arguments.as_slice()))
        });
        let found: Vec<(&str, &[(u64, u64)])> = found.collect();
        if found.is_empty() {
            continue;
        }
        let mut kernel = kernel.clone();
        let says = of_source(&kernel, &signatures.records);
        if let Some((target, arguments)) = found.iter().find(|(_, arguments)| says.as_deref() != Some(*arguments)) {
            let parameters: Vec<String> =
                kernel.parameters.iter().map(|it| format!("{}: {}", it.name, it.ty)).collect();
            let of_source = says.map_or_else(|| "of unknown sizes".to_owned(), |says| places(&says));
            kernel.difference = vec![
                format!("{} has ({}): {of_source}", kernel.place, parameters.join(", ")),
                format!("the image for {target} has {}", places(arguments)),
            ];
            cargo.warn(&format!(
                "module \"{module}\": the kernel {} has other parameters in the image for {target} than in its source; a program \
                 that calls it by the function of include_kernels! does not compile",
                kernel.source_name
            ));
            kernel.difference.iter().for_each(|line| cargo.warn(&format!("  {line}")));
        }
        agreed.kernels.push(kernel);
    }
    agreed
}

/// Offset and size of each parameter.
fn of_source(kernel: &Signature, records: &[Record]) -> Option<Vec<(u64, u64)>> {
    let layout = kernel.layout(records)?;
    Some(layout.into_iter().map(|(offset, size)| (offset, size.bytes)).collect())
}

fn places(arguments: &[(u64, u64)]) -> String {
    let each = arguments.iter().map(|(offset, size)| format!("{size} at {offset}"));
    match arguments.len() {
        0 => "no parameters".to_owned(),
        count => format!("{count} parameters; bytes of each: {}", each.collect::<Vec<_>>().join(", ")),
    }
}
