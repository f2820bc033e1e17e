//! The target IDs that LLVM 22's `clang` accepts, and how it writes them.

use super::processors_of_llvm_22;
use offload_format::bundle::EntryId;
use offload_format::target::TargetId;
use offload_tests::prelude::*;

/// Runs clang with a list of targets. Returns the target IDs that clang passes to the bundler, or
/// its error message.
fn clang(targets: &[String]) -> Result<Vec<String>, String> {
    let mut clang = llvm("clang");
    let options = "-### -x hip --target=x86_64-unknown-linux-gnu -nogpulib -nogpuinc \
        --no-offload-new-driver -c /dev/null";
    clang.args(options.split_whitespace()).arg(format!("--offload-arch={}", targets.join(",")));
    let output = clang.output().unwrap();
    let message = stderr(&output);
    if !output.status.success() {
        return Err(message);
    }
    let (_, list) = message.split_once("\"-targets=").unwrap();
    let (list, _) = list.split_once('"').unwrap();
    Ok(list.split(',').skip(1).map(|id| EntryId::parse(id).unwrap().target().to_owned()).collect())
}

/// Tests every combination of features, in either order, for each processor and each of its names.
#[test(LLVM)]
fn target_ids_that_clang_takes() {
    let form = |features: &[&str], number: usize| -> String {
        let sign = |at: usize| if number >> at & 1 == 0 { "+" } else { "-" };
        let named = features.iter().enumerate().map(|(at, name)| format!(":{name}{}", sign(at)));
        named.collect()
    };
    let orders: [&[&str]; 5] =
        [&[], &["sramecc"], &["xnack"], &["sramecc", "xnack"], &["xnack", "sramecc"]];
    for order in orders {
        for number in 0..1 << order.len() {
            let mut targets = Vec::new();
            for row in processors_of_llvm_22() {
                if order.iter().all(|name| row.features.contains(name)) {
                    // Use each of the processor's names in turn.
                    let names = [&[row.name], row.aliases].concat();
                    targets.push(format!("{}{}", names[number % names.len()], form(order, number)));
                }
            }
            let ids: Vec<_> = targets.iter().map(|id| TargetId::parse(id).unwrap()).collect();
            let mut ours: Vec<String> = ids.iter().map(|id| id.to_canonical()).collect();
            let mut theirs = clang(&targets).unwrap_or_else(|it| panic!("{targets:?}: {it}"));
            ours.sort();
            theirs.sort();
            assert_eq!(ours, theirs);
            assert!(ids.iter().all(|id| id.unsupported_feature().is_none()));
        }
    }
    let aliases = processors_of_llvm_22()
        .flat_map(|row| row.aliases.iter().map(move |alias| (row.name, alias)));
    for (name, alias) in aliases {
        assert_eq!(clang(&[(*alias).to_owned()]), Ok(vec![name.to_owned()]));
    }
}

#[test(LLVM.slow())]
fn target_ids_that_clang_refuses() {
    let mut refused = Vec::new();
    for row in processors_of_llvm_22() {
        let unsupported = ["sramecc", "xnack", "foo"];
        for feature in unsupported.into_iter().filter(|name| !row.features.contains(name)) {
            let id = format!("{}:{feature}+", row.name);
            assert_eq!(TargetId::parse(&id).unwrap().unsupported_feature(), Some(feature));
            refused.push(id);
        }
    }
    for rest in ["xnack", "xnack+:xnack-", "xnack+:xnack+", "xnack+-", "+"] {
        let id = format!("gfx906:{rest}");
        assert!(TargetId::parse(&id).is_err(), "{id}");
        refused.push(id);
    }
    for id in refused {
        let message = clang(std::slice::from_ref(&id)).expect_err(&id);
        assert!(message.contains(&format!("invalid target ID '{id}'")), "{message}");
    }
}
