//! A table of a module's IDs, whose size depends on the module's instructions, not on its bound.

use alloc::vec;
use alloc::vec::Vec;

/// The size and the alignment of a type in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) size: u64,
    pub(super) align: u64,
}

/// A type, a constant for an array's length, or a kernel's function.
#[derive(Debug, Clone, Copy)]
pub(super) enum Declared {
    Value(Layout),
    Pointer {
        to: u32,
    },
    Array {
        element: Layout,
        length: u32,
        /// The offset of the operands in the module.
        at: u64,
    },
    Constant {
        /// The ID of the type.
        of: u32,
        value: u64,
    },
    /// The index of the kernel.
    Kernel(usize),
}

/// The decorations of an ID that matter to this crate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Decorations {
    pub(super) is_packed: bool,
    pub(super) is_by_value: bool,
    pub(super) is_constant: bool,
    pub(super) is_mark_of_clang: bool,
    pub(super) align: Option<u32>,
}

impl Declared {
    pub(super) const fn value(size: u64, align: u64) -> Self {
        Self::Value(Layout { size, align })
    }
}

/// The declaration and the decorations of an ID.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    pub(super) declared: Option<Declared>,
    pub(super) decorations: Decorations,
}

/// A binary tree of the IDs that instructions declare or decorate. The bits of an ID, starting with
/// the lowest, select the left or right child, so no path is longer than an ID has bits. `BTreeMap`
/// would add 10,000 lines of LLVM IR to each program's build (`cargo xtask weight`).
pub(super) struct Ids(Vec<Node>);

#[derive(Clone, Default)]
struct Node {
    id: u32,
    /// The indices of the children; 0 (the root) for a missing child.
    sides: [usize; 2],
    known: Known,
}

impl Ids {
    pub(super) fn new() -> Self {
        // The root stands for the ID 0, which no module uses.
        Self(vec![Node::default()])
    }

    /// Returns the index of an ID's node. If the node is missing, returns the index of the node to
    /// add it to, and on which side.
    fn find(&self, id: u32) -> (usize, usize) {
        let (mut at, mut bits) = (0, id);
        loop {
            let (node, side) = (&self.0[at], (bits & 1) as usize);
            let next = node.sides[side];
            if node.id == id || next == 0 {
                return (at, side);
            }
            (at, bits) = (next, bits >> 1);
        }
    }

    pub(super) fn get(&self, id: u32) -> Known {
        let node = &self.0[self.find(id).0];
        if node.id == id { node.known } else { Known::default() }
    }

    pub(super) fn get_mut(&mut self, id: u32) -> &mut Known {
        let (mut at, side) = self.find(id);
        if self.0[at].id != id {
            let new = self.0.len();
            self.0[at].sides[side] = new;
            self.0.push(Node { id, ..Node::default() });
            at = new;
        }
        &mut self.0[at].known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_id_has_a_node_on_a_short_path() {
        let mut ids = Ids::new();
        let sparse = (0..4000_u32).map(|at| at.wrapping_mul(0x9e37_79b9) | 1);
        let same_ends = (0..32).map(|bit| 1 << bit);
        let all: Vec<u32> = (1..4000).chain(sparse).chain(same_ends).collect();
        for &id in &all {
            ids.get_mut(id).decorations.align = Some(id);
        }
        for &id in &all {
            assert_eq!(ids.get(id).decorations.align, Some(id));
        }
        assert_eq!(ids.get(0x7654_3210).decorations.align, None);
        let mut distinct = all;
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(ids.0.len(), distinct.len() + 1);
        // Children have higher indices than their parents.
        let mut levels = vec![1; ids.0.len()];
        for (at, node) in ids.0.iter().enumerate() {
            for &side in node.sides.iter().filter(|&&side| side != 0) {
                levels[side] = levels[at] + 1;
            }
        }
        assert!(levels.iter().all(|&level| level <= 33));
    }
}
