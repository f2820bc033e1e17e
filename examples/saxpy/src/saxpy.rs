//! The problem: y = a * x + y for a million elements.

use std::error::Error;
use std::fmt;

/// The number of threads in one block, on every device.
pub const BLOCK: u32 = 256;

const LEN: usize = 1 << 20;

/// The operands, and the expected result.
///
/// All values, their products and their sums are small integers, which `f32` represents exactly.
/// The result is therefore the same to the last bit, whether or not a device fuses the
/// multiplication with the addition.
pub struct Problem {
    /// The factor.
    pub a: f32,
    /// The input. No element of `x` is 0, so if the kernel did not run, every element of `y` is
    /// wrong.
    pub x: Vec<f32>,
    /// The input and, after the kernel has run, the output.
    pub y: Vec<f32>,
    expected: Vec<f32>,
}

impl Problem {
    pub fn new() -> Self {
        let a = 3.0;
        // The conversion from `u16` to `f32` is exact. The values of `x` repeat after 1009
        // elements, those of `y` after 1000. The numbers 1009 and 1000 have no common factor, so
        // neighbouring elements and blocks all differ.
        let x: Vec<f32> = (1..=1009_u16).map(f32::from).cycle().take(LEN).collect();
        let y: Vec<f32> = (0..1000_u16).map(f32::from).cycle().take(LEN).collect();
        let expected = x.iter().zip(&y).map(|(x, y)| a * x + y).collect();
        Self { a, x, y, expected }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.y.len()
    }

    /// Returns the number of elements in the type of the kernel's parameter `n`.
    pub fn n(&self) -> i32 {
        i32::try_from(self.len()).expect("2^20 fits")
    }

    /// Returns the number of blocks that provide a thread for each element.
    pub fn blocks(&self) -> u32 {
        u32::try_from(self.len()).expect("2^20 fits").div_ceil(BLOCK)
    }

    /// Compares every element of `y` with the expected one.
    ///
    /// If elements are wrong, returns an error with the first wrong element and the number of wrong
    /// ones.
    pub fn check(&self) -> Result<(), WrongResult> {
        let mut wrong = (self.y.iter().zip(&self.expected).enumerate())
            // A NaN is unequal to everything, so it counts as wrong.
            .filter(|(_, (found, expected))| found != expected);
        match wrong.next() {
            None => Ok(()),
            Some((index, (&found, &expected))) => Err(WrongResult {
                index,
                expected,
                found,
                wrong: 1 + wrong.count(),
                len: self.len(),
            }),
        }
    }
}

/// The error for a result with elements that differ from the expected ones.
#[derive(Debug)]
pub struct WrongResult {
    index: usize,
    expected: f32,
    found: f32,
    wrong: usize,
    len: usize,
}

impl fmt::Display for WrongResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, expected, found, wrong, len } = self;
        write!(
            f,
            "wrong result: {wrong} of {len} elements; \
             the first is y[{index}]: expected {expected}, found {found}"
        )
    }
}

impl Error for WrongResult {}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved() -> Problem {
        let mut problem = Problem::new();
        for (y, x) in problem.y.iter_mut().zip(&problem.x) {
            *y = problem.a.mul_add(*x, *y);
        }
        problem
    }

    #[test]
    fn a_fused_multiply_add_gives_the_same_bits() {
        assert!(solved().check().is_ok());
    }

    #[test]
    fn a_kernel_that_did_not_run_leaves_no_element_right() {
        assert_eq!(Problem::new().check().unwrap_err().wrong, LEN);
    }

    #[test]
    fn wrong_elements_are_counted_and_the_first_is_shown() {
        let mut problem = solved();
        problem.y[5] = f32::NAN;
        problem.y[LEN - 1] += 1.0;
        assert_eq!(
            problem.check().unwrap_err().to_string(),
            "wrong result: 2 of 1048576 elements; the first is y[5]: expected 23, found NaN"
        );
    }
}
