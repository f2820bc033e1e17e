//! The order in which `llvm-offload-binary` 22 writes string pairs: that of a hash table's buckets. No reader cares, but
//! with it our files have LLVM's bytes.
//!
//! The table has 64 buckets and doubles when three quarters would be in use; a key stands in the first free bucket from
//! the low bits of its hash on, steps growing by one. The hash is of CityHash's family, with formulas for short, middle
//! and longer keys. Facts: docs/formats.md, "String pairs"; checked against LLVM 22.1.8 by tests/versus_llvm.rs.

use alloc::vec;
use alloc::vec::Vec;

/// Keys of `--image` that take a bucket like the others but are not stored.
const UNSTORED: [&str; 2] = ["file", "kind"];

/// The order of `keys` in the file, as positions in `keys`.
pub(super) fn of_llvm_22(keys: &[&str]) -> Vec<usize> {
    let mut buckets: Vec<Option<usize>> = vec![None; 64];
    let all: Vec<&str> = UNSTORED.iter().copied().chain(keys.iter().copied()).collect();
    let insert = |buckets: &mut Vec<Option<usize>>, item: usize| {
        let mask = buckets.len() - 1;
        let mut at = hash(all[item].as_bytes()) as u32 as usize & mask;
        let mut step = 1;
        while buckets[at].is_some() {
            at = (at + step) & mask;
            step += 1;
        }
        buckets[at] = Some(item);
    };
    for item in 0..all.len() {
        if (item + 1) * 4 >= buckets.len() * 3 {
            let old = core::mem::take(&mut buckets);
            buckets = vec![None; old.len() * 2];
            old.into_iter().flatten().for_each(|item| insert(&mut buckets, item));
        }
        insert(&mut buckets, item);
    }
    buckets.into_iter().flatten().filter_map(|item| item.checked_sub(UNSTORED.len())).collect()
}

const SEED: u64 = 0xff51_afd7_ed55_8ccd;
const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
const K3: u64 = 0xc949_d7c7_509e_6557;
const MUL: u64 = 0x9ddf_ea08_eb38_2d69;

fn hash(key: &[u8]) -> u64 {
    let n = key.len();
    let u32_at = |at: usize| u64::from(u32::from_le_bytes([key[at], key[at + 1], key[at + 2], key[at + 3]]));
    let u64_at = |at: usize| u32_at(at) | u32_at(at + 4) << 32;
    let length = n as u64;
    match n {
        0 => K2 ^ SEED,
        1..=3 => {
            let y = u64::from(key[0]) + (u64::from(key[n / 2]) << 8);
            let z = length + (u64::from(key[n - 1]) << 2);
            fold(y.wrapping_mul(K2) ^ z.wrapping_mul(K3) ^ SEED).wrapping_mul(K2)
        }
        4..=8 => mix(length + (u32_at(0) << 3), SEED ^ u32_at(n - 4)),
        9..=16 => {
            let (a, b) = (u64_at(0), u64_at(n - 8));
            mix(SEED ^ a, b.wrapping_add(length).rotate_right(n as u32)) ^ b
        }
        17..=32 => {
            let (a, b) = (u64_at(0).wrapping_mul(K1), u64_at(8));
            let (c, d) = (u64_at(n - 8).wrapping_mul(K2), u64_at(n - 16).wrapping_mul(K0));
            mix(
                a.wrapping_sub(b).rotate_right(43).wrapping_add((c ^ SEED).rotate_right(30)).wrapping_add(d),
                a.wrapping_add((b ^ K3).rotate_right(20)).wrapping_sub(c).wrapping_add(length).wrapping_add(SEED),
            )
        }
        // Two windows of 32 bytes, at the start and at the end. Of a key over 64 bytes, which no producer has, what lies
        // between them does not count here: the order may differ from LLVM's, the file is as valid.
        _ => {
            let start = (length.wrapping_add(u64_at(n - 16))).wrapping_mul(K0);
            let (first, first_turned) = window([u64_at(0), u64_at(8), u64_at(16), u64_at(24)], start);
            let end = u64_at(16);
            let (last, last_turned) = window([u64_at(n - 32), u64_at(n - 24), u64_at(n - 16), u64_at(n - 8)], end);
            let low = first.wrapping_add(last_turned).wrapping_mul(K2);
            let high = last.wrapping_add(first_turned).wrapping_mul(K0);
            let both = fold(low.wrapping_add(high));
            fold((SEED ^ both.wrapping_mul(K0)).wrapping_add(first_turned)).wrapping_mul(K2)
        }
    }
}

/// The sum of four words and a start value, and a second one of their partial sums turned by different amounts.
fn window(words: [u64; 4], start: u64) -> (u64, u64) {
    let one = start.wrapping_add(words[0]);
    let two = one.wrapping_add(words[1]);
    let three = two.wrapping_add(words[2]);
    let turned = [
        one.wrapping_add(words[3]).rotate_right(52),
        three.rotate_right(31),
        one.rotate_right(37),
        two.rotate_right(7),
    ];
    (three.wrapping_add(words[3]), turned.iter().fold(0, |sum, word| sum.wrapping_add(*word)))
}

fn fold(value: u64) -> u64 {
    value ^ (value >> 47)
}

fn mix(low: u64, high: u64) -> u64 {
    let a = fold((low ^ high).wrapping_mul(MUL));
    fold((high ^ a).wrapping_mul(MUL)).wrapping_mul(MUL)
}
