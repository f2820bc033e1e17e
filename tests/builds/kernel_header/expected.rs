//! The expected results of the kernels in `kernels.cu`, computed by loops. Both the kernel header's
//! tests and the checks for a GPU (`gpu/src/checks/header.rs`) compile this file.

/// Returns small integers. Their sums as floats are exact in any order.
pub fn numbers(count: usize) -> Vec<i32> {
    (0..count as i32).map(|i| (i * 37 + 11) % 101).collect()
}

/// Returns the results of `tree_sum`: the sum of each block of `size` values.
pub fn sums(values: &[f32], size: usize) -> Vec<f32> {
    values.chunks(size).map(|block| block.iter().sum()).collect()
}

/// Returns the results of `reverse`: each block of `size` values is reversed.
pub fn reversed(values: &[f64], size: usize) -> Vec<f64> {
    values.chunks(size).flat_map(|block| block.iter().rev().copied()).collect()
}

/// Returns the results of `scan`: the first `n` prefix sums. The other elements keep their initial
/// value, -1.
pub fn scanned(values: &[i32], n: usize) -> Vec<i32> {
    let mut sum = 0;
    let value = |(t, value): (usize, &i32)| {
        sum += value;
        if t < n { sum } else { -1 }
    };
    values.iter().enumerate().map(value).collect()
}

/// Returns the contents of the three buffers after `votes` with a block of `size` threads. The
/// initial values are -1.
pub fn votes(size: usize) -> [Vec<i32>; 3] {
    let stay: Vec<usize> = (0..size).filter(|t| t % 3 != 2).collect();
    let mut expected = [(); 3].map(|()| vec![-1; 2 * size]);
    for round in 0..2 {
        let count = stay.iter().filter(|t| *t % 2 == round).count() as i32;
        let all = i32::from(stay.iter().all(|t| *t < 500 + round));
        let any = i32::from(stay.contains(&(7 + round)));
        for t in &stay {
            for (list, value) in expected.iter_mut().zip([count, all, any]) {
                list[2 * t + round] = value;
            }
        }
    }
    expected
}

/// Returns the eight results of `lanes` for each value, with warps of `warp_size` lanes.
pub fn lanes(values: &[i32], warp_size: usize) -> Vec<i64> {
    let mut expected = Vec::new();
    for warp in values.chunks(warp_size) {
        let warp: Vec<i64> = warp.iter().map(|x| i64::from(*x)).collect();
        let bits = |holds: &dyn Fn(usize) -> bool| {
            (0..warp.len()).map(|l| i64::from(holds(l)) << l).sum::<i64>()
        };
        let (mut tree, mut step) = (warp.clone(), warp_size / 2);
        while step > 0 {
            tree =
                (0..tree.len()).map(|l| tree[l] + tree.get(l + step).unwrap_or(&tree[l])).collect();
            step /= 2;
        }
        for (lane, own) in warp.iter().enumerate() {
            let of = |source: usize| *warp.get(source).unwrap_or(own);
            expected.push(of(3));
            expected.push(if lane < 5 { *own } else { of(lane - 5) } * 0x1_0000_0001);
            expected.push(if lane % 8 == 7 { *own } else { of(lane + 1) });
            expected.push(of(lane ^ 9));
            expected.push(bits(&|l| warp[l] % 3 == 0));
            expected.push(i64::from(warp.contains(&7)) * 2 + 1);
            expected.push(if lane % 2 == 0 { bits(&|l| l % 2 == 0) } else { of(lane + 2) });
            expected.push(if lane == 0 { tree[0] } else { 0 });
        }
    }
    expected
}

/// Returns the eight results of `groups` for each value, with warps of `warp_size` lanes.
pub fn groups(values: &[i32], warp_size: usize) -> Vec<i64> {
    let mut expected = Vec::new();
    for (t, own) in values.iter().enumerate() {
        expected.push((100 * (t % 16 / 4) + 4) as i64);
        if t % warp_size == 0 {
            expected.extend([-1; 7]);
            continue;
        }
        // The threads of the thread's group that have not returned, in groups of `size` threads.
        let there = |size: usize| {
            let end = values.len().min(t / size * size + size);
            (t / size * size..end).filter(|l| l % warp_size != 0)
        };
        let sum = |threads: &[usize]| threads.iter().map(|l| i64::from(values[*l])).sum::<i64>();
        let bits = |threads: &[usize]| threads.iter().fold(0, |all, l| all | 1 << (l % warp_size));
        let same = |size| there(size).filter(|l| values[*l] % 3 == own % 3).collect::<Vec<_>>();
        let warp: Vec<usize> = there(warp_size).collect();
        let third = same(32);
        let rank = third.iter().position(|l| *l == t).expect("the thread is in its group");
        let pair = third.chunks(2).nth(rank / 2).expect("the thread is in a pair");
        expected.push(sum(&warp));
        expected.push(warp.iter().fold(0, |all, l| all ^ i64::from(values[*l])));
        expected.push(bits(&same(warp_size)));
        expected.push(bits(&warp));
        expected.push(sum(&there(8).collect::<Vec<_>>()));
        expected.push(sum(pair));
        expected.push((10 * pair.len() + rank % 2) as i64);
    }
    expected
}

/// Returns the result of `transpose` for a matrix with `rows` rows.
pub fn transposed(values: &[i32], rows: usize, columns: usize) -> Vec<i32> {
    let at = (0..columns).flat_map(|column| (0..rows).map(move |row| row * columns + column));
    at.map(|at| values[at]).collect()
}

/// The memory that the atomic functions of `atomics` change.
#[derive(Debug, Default, PartialEq)]
pub struct Cells {
    pub i: [i32; 5],
    pub u: [u32; 7],
    pub l: [u64; 2],
    pub f: [f32; 2],
    pub d: [f64; 2],
}

impl Cells {
    /// Returns the memory before the first launch.
    pub fn new() -> Self {
        Self { u: [!0, 0, 0, 0, 0, 0, 0], ..Self::default() }
    }

    /// Returns the memory after this many launches, each with this many threads.
    pub fn after(launches: u32, threads: u32) -> Self {
        let (last, all) = (threads - 1, launches * threads);
        let sum = launches * threads * last / 2;
        // The exclusive or of an even number of equal values is 0.
        let exclusive =
            if launches.is_multiple_of(2) { 0 } else { (0..threads).fold(0, |x, t| x ^ t) };
        Self {
            i: [sum as i32, -(sum as i32), -(last as i32), last as i32, 2 * all as i32],
            // Ten increments or decrements bring a counter back to its initial value.
            u: [!0 << 5, 0x7f, exclusive, all % 10, (10 - all % 10) % 10, 1, 1],
            l: [0x1_0000_0001 * u64::from(sum), 0x1_0000_0000 + u64::from(last)],
            f: [all as f32, -(last as f32)],
            d: [f64::from(sum) / 2.0, f64::from(last) / 2.0],
        }
    }
}
