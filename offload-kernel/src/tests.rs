//! Tests of the functions that are the same for all targets.

use crate::arch::run;
use crate::*;
use std::sync::Mutex;
use std::vec::Vec;

#[test]
fn each_thread_has_its_own_number_and_element() {
    for (grid, block) in [([3, 1, 1], [5, 1, 1]), ([2, 3, 2], [3, 2, 2]), ([1, 1, 4], [1, 4, 1])] {
        let count = (grid.iter().product::<u32>() * block.iter().product::<u32>()) as usize;
        // The last two threads have no element.
        let mut elements = std::vec![0_u32; count - 2];
        let (start, len) = (elements.as_mut_ptr() as usize, elements.len());
        let numbers = Mutex::new(Vec::new());
        run(grid, block, 0, || {
            numbers.lock().unwrap().push(global_index());
            // SAFETY: the elements exist, and each thread requests its own element once.
            let element = unsafe { element(start as *mut u32, len) };
            assert_eq!(element.is_some(), global_index() < len);
            if let Some(element) = element {
                *element += 1;
            }
        });
        let mut numbers = numbers.into_inner().unwrap();
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(0..count), "{grid:?} {block:?}: {numbers:?}");
        assert!(elements.iter().all(|&it| it == 1), "{grid:?} {block:?}: {elements:?}");
    }
}

#[test]
fn numbers_of_a_grid_are_consecutive() {
    run([2, 3, 2], [4, 2, 3], 0, || {
        let (block, thread) = (block_index(), thread_index());
        assert_eq!(global_x(), (block.x * 4 + thread.x) as usize);
        assert_eq!(global_y(), (block.y * 2 + thread.y) as usize);
        assert_eq!(global_z(), (block.z * 3 + thread.z) as usize);
        let block = (block.z * 3 + block.y) * 2 + block.x;
        assert_eq!(
            global_index(),
            (block * 24 + (thread.z * 2 + thread.y) * 4 + thread.x) as usize
        );
    });
    run([3, 1, 1], [4, 1, 1], 0, || assert_eq!(global_index(), global_x()));
}

// If a thread fails, the others wait forever, so these threads compare results after the last call.

#[test]
fn shuffles_read_the_lane_that_is_meant() {
    run([1, 1, 1], [64, 1, 1], 0, || {
        let own = lane();
        let found = [
            shuffle(own, 33),
            shuffle_up(own, 3),
            shuffle_up(own, u32::MAX),
            shuffle_down(own, 30),
            shuffle_down(own, u32::MAX),
            shuffle_xor(own, 5),
            shuffle_xor(own, 32),
        ];
        assert_eq!(own, thread_index().x % 32);
        let up = if own < 3 { own } else { own - 3 };
        let down = if own < 2 { own + 30 } else { own };
        assert_eq!(found, [1, up, own, down, own, own ^ 5, own]);
    });
}

#[test]
fn all_bits_of_a_number_are_exchanged() {
    fn of_first<T: Exchange + Default>(value: T) -> T {
        shuffle(if lane() == 0 { value } else { T::default() }, 0)
    }
    run([1, 1, 1], [32, 1, 1], 0, || {
        let integers = (of_first(u64::MAX - 1), of_first(i64::MIN + 1), of_first(-1_i8));
        let others = (of_first(1_usize << 40), of_first(-1.5_f32), of_first(1e300_f64));
        assert_eq!(integers, (u64::MAX - 1, i64::MIN + 1, -1));
        assert_eq!(others, (1 << 40, -1.5, 1e300));
    });
}

#[test]
fn votes_count_the_lanes_of_a_warp() {
    run([1, 1, 1], [40, 1, 1], 0, || {
        let (own, is_second) = (lane(), thread_index().x >= 32);
        let (bits, lanes) = if is_second { (0b1111_0011, 8) } else { (0xffff_fff3, 32) };
        let found = ballot(own / 2 != 1);
        let votes = [any(own == lanes - 1), any(own == lanes), all(own < lanes), all(own != 3)];
        sync_warp();
        assert_eq!(found, bits);
        assert_eq!(votes, [true, false, true, false]);
    });
}

#[test]
fn blocks_share_memory() {
    run([2, 1, 1], [40, 1, 1], 10, || {
        let all = shared::<u32>();
        assert_eq!((all.len(), shared::<[u8; 50]>().len()), (40, 3));
        let own = thread_index().x as usize;
        // SAFETY: each thread writes its own element; other threads read it only after the barrier.
        let other = unsafe {
            let all = all.cast::<u32>();
            all.add(own).write(global_index() as u32);
            barrier();
            all.add(39 - own).read()
        };
        assert_eq!(other, block_index().x * 40 + 39 - thread_index().x);
    });
}

#[test]
fn atomic_operations_return_the_number_before() {
    use core::sync::atomic::Ordering::*;
    macro_rules! check {
        ($($integer:ident)*) => {$(
            let mut number: $integer = 5;
            // SAFETY: the number outlives its use, and only this thread uses it.
            let number = unsafe { Atomic::from_ptr(&mut number) };
            let (of_device, of_block) = (number.device(), number.block());
            assert_eq!(number.swap(6, AcqRel), 5);
            assert_eq!(of_device.fetch_add(3, SeqCst), 6);
            assert_eq!(of_block.fetch_sub(1, Release), 9);
            assert_eq!(number.fetch_and(12, Acquire), 8);
            assert_eq!(number.fetch_or(3, Relaxed), 8);
            assert_eq!(number.fetch_xor(1, AcqRel), 11);
            assert_eq!(number.fetch_min(7, AcqRel), 10);
            assert_eq!(number.fetch_max(20, AcqRel), 7);
            assert_eq!(number.compare_exchange(7, 1, AcqRel, Acquire), Err(20));
            assert_eq!(number.compare_exchange(20, $integer::MAX, SeqCst, Relaxed), Ok(20));
            assert_eq!(number.fetch_add(1, Relaxed), $integer::MAX);
            assert_eq!(of_device.load(Acquire), $integer::MIN);
            of_block.store(2, Release);
            assert_eq!(number.load(SeqCst), 2);
        )*};
    }
    check! { u32 i32 u64 i64 usize isize }
    macro_rules! check_float {
        ($($float:ident)*) => {$(
            let mut number: $float = 0.5;
            // SAFETY: as above.
            let number = unsafe { Atomic::from_ptr(&mut number) };
            assert_eq!(number.swap(1.0, AcqRel), 0.5);
            assert_eq!(number.fetch_add(0.25, Release), 1.0);
            assert_eq!(number.fetch_sub(1.0, Acquire), 1.25);
            number.store(-0.0, Release);
            // The bits differ.
            assert_eq!(number.compare_exchange(0.0, 1.0, AcqRel, Relaxed), Err(0.0));
            assert_eq!(number.compare_exchange(-0.0, 1.0, AcqRel, Relaxed), Ok(0.0));
            assert_eq!(number.load(SeqCst), 1.0);
        )*};
    }
    check_float! { f32 f64 }
}

#[test]
fn threads_count_atomically() {
    let (mut count, mut sum) = (0_u32, 0.0_f64);
    let addresses = (&raw mut count as usize, &raw mut sum as usize);
    run([3, 1, 1], [40, 1, 1], 0, || {
        // SAFETY: both numbers outlive the grid, whose threads use them atomically.
        let (count, sum) = unsafe {
            (Atomic::from_ptr(addresses.0 as *mut u32), Atomic::from_ptr(addresses.1 as *mut f64))
        };
        count.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
        sum.device().fetch_add(0.5, core::sync::atomic::Ordering::AcqRel);
    });
    assert_eq!((count, sum), (120, 60.0));
}
