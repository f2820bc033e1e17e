//! Tracks which bytes of a file are already counted, so that each byte is counted once.

use std::collections::BTreeMap;
use std::ops::Range;

/// The ranges of a file that are already counted (claimed). A byte in several claims counts only
/// for the first, so the claims never exceed the file's size, even if the file states wrong sizes.
#[derive(Debug)]
pub(super) struct Claims {
    size: u64,
    /// The claimed ranges, keyed by start, with their ends. They neither overlap nor touch.
    ranges: BTreeMap<u64, u64>,
}

impl Claims {
    /// Creates the claims for a file of this many bytes, with nothing claimed yet.
    pub(super) fn new(size: u64) -> Self {
        Self { size, ranges: BTreeMap::new() }
    }

    /// Claims a range; returns how many of its bytes were unclaimed.
    pub(super) fn claim(&mut self, range: Range<u64>) -> u64 {
        let (mut start, mut end) = (range.start, range.end.min(self.size));
        if start >= end {
            return 0;
        }
        let mut new = end - start;
        let before = self
            .ranges
            .range(..start)
            .next_back()
            .filter(|(_, it)| **it >= start)
            .map(|(at, _)| *at);
        while let Some((&at, &stop)) =
            self.ranges.range(before.unwrap_or(start).min(start)..=end).next()
        {
            new -= stop.min(range.end.min(self.size)).saturating_sub(at.max(range.start));
            (start, end) = (start.min(at), end.max(stop));
            self.ranges.remove(&at);
        }
        self.ranges.insert(start, end);
        new
    }

    /// Returns the number of unclaimed bytes.
    pub(super) fn left(&self) -> u64 {
        self.size - self.ranges.iter().map(|(start, end)| end - start).sum::<u64>()
    }
}

/// Divides a number of bytes in proportion to weights. The sum of the parts never exceeds that
/// number.
#[derive(Debug)]
pub(super) struct Split {
    whole: u64,
    weights: u128,
    seen: u128,
    given: u64,
}

impl Split {
    /// Divides `whole`. `weights` is the sum of all weights, or more if a part of `whole` should be
    /// left over.
    pub(super) fn new(whole: u64, weights: u128) -> Self {
        Self { whole, weights, seen: 0, given: 0 }
    }

    /// Returns the share of the next weight.
    pub(super) fn next(&mut self, weight: u64) -> u64 {
        self.seen = self.seen.saturating_add(weight.into()).min(self.weights);
        // A share is the difference between two rounded running sums, so rounding errors do not add
        // up. The sum of real sizes fits into 64 bits. Larger sums are shifted, so that the product
        // fits into 128 bits.
        let excess = u64::BITS.saturating_sub(self.weights.leading_zeros());
        let (seen, weights) = (self.seen >> excess, self.weights >> excess);
        let until = (u128::from(self.whole) * seen).checked_div(weights).unwrap_or(0) as u64;
        let share = until - self.given;
        self.given = until;
        share
    }

    /// Returns how many bytes are in no share.
    pub(super) fn rest(&self) -> u64 {
        self.whole - self.given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_claim_counts() {
        let mut claims = Claims::new(100);
        assert_eq!(claims.claim(10..20), 10);
        assert_eq!(claims.claim(40..50), 10);
        assert_eq!(claims.claim(15..45), 20);
        assert_eq!(claims.claim(0..100), 60);
        assert_eq!(claims.left(), 0);
    }

    #[test]
    fn claims_as_a_bitmap_has_them() {
        let mut claims = Claims::new(64);
        let mut bitmap = [false; 64];
        let mut state = 1u64;
        for _ in 0..2000 {
            let mut below = |end: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % end
            };
            if below(9) == 0 {
                (claims, bitmap) = (Claims::new(64), [false; 64]);
            }
            let (start, size) = (below(70), below(12));
            let free =
                bitmap.iter_mut().skip(start as usize).take(size as usize).filter(|taken| !**taken);
            let new = free.map(|taken| *taken = true).count() as u64;
            assert_eq!(claims.claim(start..start + size), new);
            assert_eq!(claims.left(), bitmap.iter().filter(|taken| !**taken).count() as u64);
        }
        assert_eq!(claims.claim(u64::MAX - 1..u64::MAX), 0);
    }

    #[test]
    fn nothing_is_lost_in_a_split() {
        let mut split = Split::new(10, 3);
        assert_eq!([split.next(1), split.next(1), split.next(1), split.rest()], [3, 3, 4, 0]);
        let mut split = Split::new(10, 4);
        assert_eq!([split.next(1), split.next(0), split.next(2), split.rest()], [2, 0, 5, 3]);
        let mut split = Split::new(10, 0);
        assert_eq!([split.next(0), split.rest()], [0, 10]);
        let mut split = Split::new(u64::MAX, u128::from(u64::MAX) * 2);
        assert_eq!([split.next(u64::MAX), split.next(u64::MAX)], [u64::MAX / 2, u64::MAX / 2 + 1]);
    }
}
