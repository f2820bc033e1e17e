//! Checks that kernels in images have the parameters that the source declares.

use crate::toolchain::Cargo;
use offload_pack::pack_index::{ArgumentKind, IndexArgument, IndexImage, IndexKernel};
use offload_pack::signature::{
    Record, Scalar, Signature, Signatures, Size, Type, describe, local_symbol,
};

/// Returns the signatures of kernels that exist in an image, or all signatures if no image lists
/// its kernels.
///
/// If a kernel's arguments in an image differ from the source's, a warning reports the difference,
/// and programs that call the kernel do not compile. The same applies to two sources' `static`
/// kernels that have the same name in the CPU image.
pub(super) fn agreed(
    module: &str,
    signatures: &Signatures,
    images: &[IndexImage],
    cargo: &Cargo,
) -> Signatures {
    let mut agreed = Signatures { kernels: Vec::new(), ..signatures.clone() };
    let has_cpu = images.iter().any(|image| image.target == "cpu");
    let are_known = images.iter().any(|image| image.kernels.is_some());
    for kernel in &signatures.kernels {
        let mut found = Vec::new();
        for image in images {
            if let Some(kernel) = image.kernel(&kernel.symbol) {
                found.push((image.target.as_str(), kernel));
            }
        }
        if are_known && found.is_empty() {
            continue;
        }
        let mut kernel = kernel.clone();
        if kernel.difference.is_empty()
            && let Some((target, has, of_source)) = difference(&kernel, &signatures.records, &found)
        {
            let parameters = describe(&kernel.parameters, &signatures.records);
            kernel.difference = vec![
                format!("{} has {parameters}: {of_source}", kernel.place),
                format!("the image for {target} has {has}"),
            ];
            cargo.warn(&format!(
                "module \"{module}\": the kernel {} has different parameters in the image for \
                 {target} and in its source. A program that calls its function from \
                 include_kernels! does not compile",
                kernel.source_name
            ));
            kernel.difference.iter().for_each(|line| cargo.warn(&format!("  {line}")));
        }
        if has_cpu && let Some(other) = of_one_name(&kernel.symbol, &signatures.kernels) {
            // Warn only once about the two kernels.
            if other.symbol < kernel.symbol {
                cargo.warn(&format!(
                    "module \"{module}\": the kernels {} ({}) and {} ({}) have the same name in \
                     the image for the CPU, so programs that call them do not compile. Rename one \
                     of the kernels",
                    other.source_name, other.place, kernel.source_name, kernel.place
                ));
            }
            kernel.difference = vec![format!(
                "the kernels at {} and {} have the same name",
                kernel.place, other.place
            )];
        }
        agreed.kernels.push(kernel);
    }
    agreed
}

/// If a kernel is `static`, returns another `static` kernel with the same name in the CPU image.
fn of_one_name<'a>(symbol: &str, kernels: &'a [Signature]) -> Option<&'a Signature> {
    let (name, _) = local_symbol(symbol)?;
    kernels.iter().find(|it| {
        it.symbol.starts_with(name)
            && it.symbol != symbol
            && local_symbol(&it.symbol).is_some_and(|(other, _)| other == name)
    })
}

/// Returns the target of the first image whose arguments differ from the source's, and the
/// arguments in both.
fn difference<'a>(
    kernel: &Signature,
    records: &[Record],
    images: &[(&'a str, &IndexKernel)],
) -> Option<(&'a str, String, String)> {
    let layout = kernel.layout(records);
    for (target, in_image) in images {
        let Some(arguments) = &in_image.arguments else { continue };
        let mut is_same = layout.as_ref().is_some_and(|layout| layout.len() == arguments.len());
        for (at, (parameter, argument)) in kernel.parameters.iter().zip(arguments).enumerate() {
            // Compare sizes, not offsets. Images align some types differently, but a launch passes
            // the arguments' addresses, so it works with any offsets.
            let size = layout.as_ref().map(|layout| layout[at].1.bytes);
            is_same &= size == Some(argument.size) && is_possible(&parameter.ty, argument);
        }
        if !is_same {
            let place =
                |(offset, size): &(u64, Size)| format!("{} bytes at offset {offset}", size.bytes);
            let of_source = layout.map_or_else(
                || "parameters of unknown sizes".to_owned(),
                |layout| places(layout.iter().map(place)),
            );
            let of_image = places(arguments.iter().map(IndexArgument::description));
            return Some((target, of_image, of_source));
        }
    }
    None
}

/// Whether an image's argument may have this type, given its kind in the image. Images list 16-bit
/// numbers as bits.
fn is_possible(ty: &Type, argument: &IndexArgument) -> bool {
    let is_float =
        matches!(ty, Type::Scalar(Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64));
    match argument.kind {
        ArgumentKind::Any => true,
        ArgumentKind::Float => is_float || matches!(ty, Type::Record(_)),
        ArgumentKind::Pointer => !is_float,
    }
}

fn places(arguments: impl Iterator<Item = String>) -> String {
    let each: Vec<String> = arguments.collect();
    match each.len() {
        0 => "no parameters".to_owned(),
        1 => format!("1 parameter ({})", each[0]),
        count => format!("{count} parameters ({})", each.join(", ")),
    }
}
