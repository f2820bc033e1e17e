//! The order in which `llvm-offload-binary` 22 writes string pairs: the bucket order of a hash
//! table. Readers ignore the order, but using it makes our files identical to LLVM's.
//!
//! The table starts with 64 buckets, and doubles before three quarters of them are in use. The
//! search for a key's bucket starts where the low bits of the key's hash point, and continues in
//! growing steps to the first free bucket. The hash is similar to CityHash, with a formula for each
//! range of lengths. Details are in docs/formats.md, "String pairs". The tests in
//! tests/formats/versus_llvm/ compare the order with LLVM 22.1.8.

use alloc::vec;
use alloc::vec::Vec;

/// Returns the order of `keys` in the file, as indices into `keys`, which are in command-line
/// order.
pub(super) fn of_llvm_22(keys: &[&str]) -> Vec<usize> {
    let mut buckets: Vec<Option<usize>> = vec![None; 64];
    let insert = |buckets: &mut Vec<Option<usize>>, item: usize| {
        let mask = buckets.len() - 1;
        let mut at = hash(keys[item].as_bytes()) as u32 as usize & mask;
        let mut step = 1;
        while buckets[at].is_some() {
            at = (at + step) & mask;
            step += 1;
        }
        buckets[at] = Some(item);
    };
    for item in 0..keys.len() {
        if (item + 1) * 4 >= buckets.len() * 3 {
            let old = core::mem::take(&mut buckets);
            buckets = vec![None; old.len() * 2];
            for item in old.iter().flatten() {
                insert(&mut buckets, *item);
            }
        }
        insert(&mut buckets, item);
    }
    let mut order = Vec::new();
    for bucket in buckets {
        order.extend(bucket);
    }
    order
}

const SEED: u64 = 0xff51_afd7_ed55_8ccd;
const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
const K3: u64 = 0xc949_d7c7_509e_6557;
const MUL: u64 = 0x9ddf_ea08_eb38_2d69;

fn hash(key: &[u8]) -> u64 {
    let n = key.len();
    let u32_at =
        |at: usize| u64::from(u32::from_le_bytes([key[at], key[at + 1], key[at + 2], key[at + 3]]));
    let u64_at = |at: usize| word(key, at);
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
                a.wrapping_sub(b)
                    .rotate_right(43)
                    .wrapping_add((c ^ SEED).rotate_right(30))
                    .wrapping_add(d),
                a.wrapping_add((b ^ K3).rotate_right(20))
                    .wrapping_sub(c)
                    .wrapping_add(length)
                    .wrapping_add(SEED),
            )
        }
        // Two windows of 32 bytes, at the start and at the end.
        33..=64 => {
            let start = (length.wrapping_add(u64_at(n - 16))).wrapping_mul(K0);
            let (first, first_turned) =
                window([u64_at(0), u64_at(8), u64_at(16), u64_at(24)], start);
            let end = u64_at(16);
            let (last, last_turned) =
                window([u64_at(n - 32), u64_at(n - 24), u64_at(n - 16), u64_at(n - 8)], end);
            let low = first.wrapping_add(last_turned).wrapping_mul(K2);
            let high = last.wrapping_add(first_turned).wrapping_mul(K0);
            let both = fold(low.wrapping_add(high));
            fold((SEED ^ both.wrapping_mul(K0)).wrapping_add(first_turned)).wrapping_mul(K2)
        }
        // First hash all whole blocks. If the key does not end with a whole block, then hash its
        // last 64 bytes, which overlap the last whole block.
        _ => {
            let mut state = State::new();
            key.chunks_exact(64).for_each(|block| state.stir(block));
            if !n.is_multiple_of(64) {
                state.stir(&key[n - 64..]);
            }
            state.finish(length)
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    (0..8).fold(0, |value, byte| value | u64::from(bytes[at + byte]) << (8 * byte))
}

/// The state of CityHash64 between the blocks of a long input.
struct State {
    x: u64,
    y: u64,
    z: u64,
    v: (u64, u64),
    w: (u64, u64),
}

impl State {
    fn new() -> Self {
        let scaled = SEED.wrapping_mul(K1);
        let folded = fold(SEED);
        Self {
            x: 0,
            y: SEED,
            z: mix(SEED, K1),
            v: ((SEED ^ K1).rotate_right(49), scaled),
            w: (folded, mix(scaled, folded)),
        }
    }

    fn stir(&mut self, block: &[u8]) {
        let Self { x, y, z, v, w } = *self;
        let sum = |terms: &[u64]| terms.iter().fold(0_u64, |sum, term| sum.wrapping_add(*term));
        let x = sum(&[x, y, v.0, word(block, 8)]).rotate_right(37).wrapping_mul(K1) ^ w.1;
        let y = sum(&[y, v.1, word(block, 48)]).rotate_right(42).wrapping_mul(K1);
        let y = sum(&[y, v.0, word(block, 40)]);
        let z = z.wrapping_add(w.0).rotate_right(33).wrapping_mul(K1);
        self.v = half(&block[..32], v.1.wrapping_mul(K1), x.wrapping_add(w.0));
        self.w = half(&block[32..], z.wrapping_add(w.1), y.wrapping_add(word(block, 16)));
        (self.x, self.y, self.z) = (z, y, x);
    }

    fn finish(&self, length: u64) -> u64 {
        let low = mix(self.v.0, self.w.0)
            .wrapping_add(fold(self.y).wrapping_mul(K1))
            .wrapping_add(self.z);
        let high = mix(self.v.1, self.w.1)
            .wrapping_add(fold(length).wrapping_mul(K1))
            .wrapping_add(self.x);
        mix(low, high)
    }
}

/// Mixes half a block of input into the words `a` and `b`.
fn half(bytes: &[u8], a: u64, b: u64) -> (u64, u64) {
    let last = word(bytes, 24);
    let one = a.wrapping_add(word(bytes, 0));
    let three = one.wrapping_add(word(bytes, 8)).wrapping_add(word(bytes, 16));
    let turned = b.wrapping_add(one).wrapping_add(last).rotate_right(21);
    (three.wrapping_add(last), turned.wrapping_add(three.rotate_right(44)).wrapping_add(one))
}

/// Returns two sums: one of a start value and four words, the other of partial sums rotated by
/// different amounts.
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
