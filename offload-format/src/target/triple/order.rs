//! Moves misplaced components of a triple to the right positions.

use super::names;

/// The vendor, operating system and environment in triple order, followed by displaced components.
/// The architecture is always first and does not move.
pub(super) type Components<'a> = [&'a str; 6];

const VENDOR: usize = 0;
const SYSTEM: usize = 1;
const ENVIRONMENT: usize = 2;

/// Moves each component to the position where LLVM recognizes it, as in LLVM's normal form.
/// Components already in the right position stay. Each remaining position then takes the first
/// component that LLVM recognizes for it, and displaced components shift right, up to the first
/// empty position.
pub(super) fn arrange(components: &mut Components<'_>, architecture_is_known: bool) {
    let mut settled = [
        names::vendor(components[VENDOR]).is_some(),
        names::system(components[SYSTEM]).is_some(),
        names::environment(components[ENVIRONMENT]).is_some(),
    ];
    for place in [VENDOR, SYSTEM, ENVIRONMENT] {
        let is_open = |at: usize, settled: &[bool; 3]| !settled.get(at).is_some_and(|it| *it);
        let found =
            (0..components.len()).find(|at| is_open(*at, &settled) && fits(place, components[*at]));
        let (false, Some(mut at)) = (settled[place], found) else {
            continue;
        };
        if at > place {
            let component = core::mem::take(&mut components[at]);
            insert(components, &settled, place, component);
        }
        while at < place {
            insert(components, &settled, at, "");
            at = (at + 1..components.len()).find(|at| is_open(*at, &settled)).unwrap_or(place);
        }
        settled[place] = true;
    }
    // In `thumbv7em-none-eabi`, `none` is in the vendor's position, but means that there is no
    // operating system.
    let [vendor, system, environment] = settled;
    if architecture_is_known
        && !vendor
        && !system
        && environment
        && components[..ENVIRONMENT] == ["none", ""]
    {
        components.swap(VENDOR, SYSTEM);
    }
}

/// Whether LLVM recognizes a component for this position: as a vendor, an operating system or an
/// environment.
fn fits(place: usize, component: &str) -> bool {
    match place {
        VENDOR => names::vendor(component).is_some(),
        SYSTEM => names::system(component).is_some() || is_windows(component),
        _ => names::environment(component).is_some() || names::format(component).is_some(),
    }
}

/// Whether a name means both Windows and an environment, as with the prefixes `mingw` and `cygwin`.
fn is_windows(system: &str) -> bool {
    system.starts_with("mingw") || system.starts_with("cygwin")
}

/// Inserts a component at a position. The component there moves to the next position that is not
/// settled (that still lacks the right component), and so on, up to an empty position.
fn insert<'a>(
    components: &mut Components<'a>,
    settled: &[bool; 3],
    place: usize,
    mut component: &'a str,
) {
    for at in (place..components.len()).filter(|at| !settled.get(*at).is_some_and(|it| *it)) {
        core::mem::swap(&mut components[at], &mut component);
        if component.is_empty() {
            break;
        }
    }
}
