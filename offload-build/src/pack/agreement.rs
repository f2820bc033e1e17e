//! Whether images have the parameters that a source declares.

use crate::cargo::Cargo;
use offload_format::pack_index::{IndexArgument, IndexImage};
use offload_format::signature::{Record, Signature, Signatures};

/// Returns only the signatures of kernels that some image has, if images record their kernels. If
/// an image has other arguments than the source, a warning reports it, and programs that call the
/// kernel do not compile. A warning also reports
/// kernels that have another name in each kind of image.
pub(super) fn agreed(
    module: &str,
    signatures: &Signatures,
    images: &[IndexImage],
    cargo: &Cargo,
) -> Signatures {
    let mut agreed = Signatures { kernels: Vec::new(), records: signatures.records.clone() };
    let are_known = images.iter().any(|image| image.kernels.is_some());
    let mut internal: Vec<&str> = Vec::new();
    for kernel in &signatures.kernels {
        let Signature { symbol, source_name, place, .. } = kernel;
        if is_internal(symbol)
            && !internal.contains(&&**place)
            && let Some(without) = images
                .iter()
                .find(|image| image.kernels.is_some() && image.kernel(symbol).is_none())
        {
            internal.push(place);
            cargo.warn(&format!(
                "module \"{module}\": the kernel {source_name} ({place}) is not in the image for {} under the name {symbol}: \
                 a kernel that is `static`, or in a namespace without a name, has another name in each kind of image, or none; \
                 remove `static`, or name the namespace",
                without.target
            ));
        }
        let mut found = images
            .iter()
            .filter_map(|image| Some((&image.target, image.kernel(&kernel.symbol)?)))
            .peekable();
        if are_known && found.peek().is_none() {
            continue;
        }
        let mut kernel = kernel.clone();
        let says = of_source(&kernel, &signatures.records);
        // Compare the sizes, not the offsets: images align some types differently. If a program
        // passes the address of each argument, a launch still works with other offsets.
        let differs = |arguments: &[IndexArgument]| {
            let sizes = arguments.iter().map(|argument| argument.size);
            says.as_ref().is_none_or(|says| !says.iter().map(|(_, size)| *size).eq(sizes))
        };
        let mut recorded =
            found.filter_map(|(target, found)| Some((target, found.arguments.as_deref()?)));
        if let Some((target, arguments)) = recorded.find(|(_, arguments)| differs(arguments)) {
            let parameters: Vec<String> =
                kernel.parameters.iter().map(|it| format!("{}: {}", it.name, it.ty)).collect();
            let of_source =
                says.map_or_else(|| "of unknown sizes".to_owned(), |says| places(&says));
            kernel.difference = vec![
                format!("{} has ({}): {of_source}", kernel.place, parameters.join(", ")),
                format!("the image for {target} has {}", places(&of_image(arguments))),
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

/// Whether the kernel is local to its source. clang then appends a hash to the name, after a word
/// that differs between versions and kinds of targets.
fn is_internal(symbol: &str) -> bool {
    [".intern.", "__intern__", ".static.", "__static__"].iter().any(|word| symbol.contains(word))
}

fn of_image(arguments: &[IndexArgument]) -> Vec<(u64, u64)> {
    arguments.iter().map(|argument| (argument.offset, argument.size)).collect()
}

/// Returns the offset and size of each parameter.
fn of_source(kernel: &Signature, records: &[Record]) -> Option<Vec<(u64, u64)>> {
    let layout = kernel.layout(records)?;
    Some(layout.into_iter().map(|(offset, size)| (offset, size.bytes)).collect())
}

fn places(arguments: &[(u64, u64)]) -> String {
    let each = arguments.iter().map(|(offset, size)| format!("{size} at {offset}"));
    match arguments.len() {
        0 => "no parameters".to_owned(),
        count => {
            format!("{count} parameters; bytes of each: {}", each.collect::<Vec<_>>().join(", "))
        }
    }
}
