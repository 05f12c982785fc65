// A program with an allocator of its own, which counts what it is asked for and never asks the C library; built with
// "--cfg through_c" it passes everything on to the C library. The program listens and speaks as target.h says.
// allocs [rounds]
#![allow(unexpected_cfgs)]
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const ROOM: usize = 64 << 20;
const MARGIN: usize = 1 << 20;

// A Pool hands out memory one piece after the other, and begins anew when the program says that nothing is in use any more.
struct Pool {
    at: AtomicUsize,
    room: UnsafeCell<[u8; ROOM]>,
    asked: AtomicUsize,
    bytes: AtomicUsize,
    filled: AtomicUsize, // counted behind the filling, so that no function ends in a jump to it: such an end is no return
}

unsafe impl Sync for Pool {}

impl Pool {
    fn count(&self, size: usize) {
        self.asked.fetch_add(1, SeqCst);
        self.bytes.fetch_add(size, SeqCst);
    }

    fn take(&self, size: usize, align: usize) -> *mut u8 {
        let at = self.at.fetch_add(size + align, SeqCst);
        if at + size + align > ROOM {
            return std::ptr::null_mut();
        }
        let p = self.room.get() as usize + at;
        ((p + align - 1) & !(align - 1)) as *mut u8
    }
}

unsafe impl GlobalAlloc for Pool {
    unsafe fn alloc(&self, l: Layout) -> *mut u8 {
        self.count(l.size());
        if cfg!(through_c) {
            return System.alloc(l);
        }
        self.take(l.size(), l.align())
    }
    unsafe fn alloc_zeroed(&self, l: Layout) -> *mut u8 {
        self.count(l.size());
        if cfg!(through_c) {
            return System.alloc_zeroed(l);
        }
        let p = self.take(l.size(), l.align());
        std::ptr::write_bytes(p, 0, l.size());
        self.filled.fetch_add(1, SeqCst);
        p
    }
    unsafe fn realloc(&self, old: *mut u8, l: Layout, size: usize) -> *mut u8 {
        self.count(size);
        if cfg!(through_c) {
            return System.realloc(old, l, size);
        }
        let p = self.take(size, l.align());
        std::ptr::copy_nonoverlapping(old, p, l.size().min(size));
        self.filled.fetch_add(1, SeqCst);
        p
    }
    unsafe fn dealloc(&self, p: *mut u8, l: Layout) {
        if cfg!(through_c) {
            System.dealloc(p, l)
        }
    }
}

#[global_allocator]
static POOL: Pool = Pool { at: AtomicUsize::new(0), room: UnsafeCell::new([0; ROOM]), asked: AtomicUsize::new(0), bytes: AtomicUsize::new(0), filled: AtomicUsize::new(0) };

// used keeps the compiler from leaving an allocation out.
#[inline(never)]
fn used<T>(what: &T) {
    unsafe { std::ptr::read_volatile(&(what as *const T)) };
}

#[inline(never)]
fn round(i: usize) -> usize {
    let boxed = Box::new(i);
    used(&*boxed);
    let mut grown: Vec<u64> = Vec::new();
    for k in 0..i % 40 {
        grown.push(k as u64); // grows by realloc
    }
    let zeroed = vec![0u8; 100 + i % 1000];
    used(&zeroed[zeroed.len() - 1]);
    let mut tree = BTreeMap::new();
    for k in 0..i % 20 {
        tree.insert(k, k.to_string());
    }
    *boxed + grown.len() + zeroed.len() + tree.len()
}

fn main() {
    let rounds: usize = std::env::args().nth(1).map_or(1000, |s| s.parse().unwrap());
    let mut line = String::with_capacity(100);
    println!("READY {}", std::process::id());
    let stdin = std::io::stdin();
    let mut sum = 0;
    loop {
        line.clear();
        if stdin.lock().read_line(&mut line).unwrap_or(0) == 0 || line.trim_end() == "stop" {
            break;
        }
        if line.trim_end() != "go" {
            continue;
        }
        let start = POOL.at.load(SeqCst);
        let (asked, bytes) = (POOL.asked.load(SeqCst), POOL.bytes.load(SeqCst));
        for i in 0..rounds {
            sum += round(i);
            if POOL.at.load(SeqCst) > ROOM - MARGIN {
                POOL.at.store(start, SeqCst); // nothing of the rounds before is in use
            }
        }
        let (asked, bytes) = (POOL.asked.load(SeqCst) - asked, POOL.bytes.load(SeqCst) - bytes);
        println!("COUNT allocations {}\nCOUNT bytes {}\nDONE", asked, bytes);
    }
    println!("OK {:016x}", sum);
    std::process::exit(7);
}
