// A thread waits in each way of Rust's standard library: for a mutex, a condition variable, a reader-writer lock, a channel, and
// parked. Another thread lets it wait for 5 ms each time. The program listens and speaks as target.h says.
// waits [rounds]
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Condvar, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

static TURN: AtomicI32 = AtomicI32::new(NOTHING); // what the waiter waits for now; negative once the partner has what it wants
static MUTEX_NS: AtomicU64 = AtomicU64::new(0);
static CONDITION_NS: AtomicU64 = AtomicU64::new(0);
static BOOK_NS: AtomicU64 = AtomicU64::new(0);
static CHANNEL_NS: AtomicU64 = AtomicU64::new(0);
static PARKED_NS: AtomicU64 = AtomicU64::new(0);

const NOTHING: i32 = 0;
const MUTEX: i32 = 1;
const CONDITION: i32 = 2;
const BOOK: i32 = 3;
const CHANNEL: i32 = 4;
const PARKED: i32 = 5;
const END: i32 = 6;

struct Shared {
    mutex: Mutex<u64>,
    ready: Mutex<bool>,
    changed: Condvar,
    book: RwLock<u64>,
}

fn nap(us: u64) {
    thread::sleep(Duration::from_micros(us));
}

// settled waits, without any lock, until the partner has nothing more to do for the last wait.
fn settled() {
    while TURN.load(SeqCst) != NOTHING {
        nap(100);
    }
}

// taken asks the partner to take what is waited for next, and waits until it has.
fn taken(what: i32) {
    TURN.store(what, SeqCst);
    while TURN.load(SeqCst) == what {
        nap(100);
    }
}

fn add(ns: &AtomicU64, since: Instant) {
    ns.fetch_add(since.elapsed().as_nanos() as u64, SeqCst);
}

#[inline(never)]
fn wait_mutex(s: &Shared) {
    taken(MUTEX);
    let t = Instant::now();
    let mut v = s.mutex.lock().unwrap();
    add(&MUTEX_NS, t);
    *v += 1;
    drop(v);
    settled();
}

#[inline(never)]
fn wait_condition(s: &Shared) {
    let mut ready = s.ready.lock().unwrap();
    *ready = false;
    TURN.store(CONDITION, SeqCst);
    let t = Instant::now();
    while !*ready {
        ready = s.changed.wait(ready).unwrap();
    }
    add(&CONDITION_NS, t);
    drop(ready);
    settled();
}

#[inline(never)]
fn wait_book(s: &Shared) {
    taken(BOOK);
    let t = Instant::now();
    let v = s.book.read().unwrap();
    add(&BOOK_NS, t);
    drop(v);
    settled();
}

#[inline(never)]
fn wait_parked() {
    TURN.store(PARKED, SeqCst);
    let t = Instant::now();
    while TURN.load(SeqCst) == PARKED {
        thread::park();
    }
    add(&PARKED_NS, t);
    settled();
}

fn main() {
    let rounds: u64 = std::env::args().nth(1).map_or(10, |s| s.parse().unwrap());
    println!("READY {}", std::process::id());
    let mut lines = std::io::stdin().lock().lines();
    let s: &'static Shared = Box::leak(Box::new(Shared {
        mutex: Mutex::new(0),
        ready: Mutex::new(false),
        changed: Condvar::new(),
        book: RwLock::new(0),
    }));
    while let Some(Ok(line)) = lines.next() {
        if line == "stop" {
            break;
        }
        run(s, if line == "go" { rounds } else { 40 }); // anything else is to warm up
        if line == "go" {
            for (name, ns) in [("mutex", &MUTEX_NS), ("condition", &CONDITION_NS), ("book", &BOOK_NS), ("channel", &CHANNEL_NS), ("parked", &PARKED_NS)] {
                println!("COUNT {} {}", name, ns.load(SeqCst));
            }
        }
        println!("{}", if line == "go" { "DONE" } else { "WARM" });
        let _ = std::io::stdout().flush();
    }
    println!("OK {:016x}", 14);
    std::process::exit(7);
}

fn run(s: &'static Shared, rounds: u64) {
    for ns in [&MUTEX_NS, &CONDITION_NS, &BOOK_NS, &CHANNEL_NS, &PARKED_NS] {
        ns.store(0, SeqCst);
    }
    TURN.store(NOTHING, SeqCst);
    let (send, receive) = channel();
    let waiter = thread::spawn(move || {
        for _ in 0..rounds {
            wait_mutex(s);
            wait_condition(s);
            wait_book(s);
            TURN.store(CHANNEL, SeqCst);
            let t = Instant::now();
            let _: u64 = receive.recv().unwrap();
            add(&CHANNEL_NS, t);
            settled();
            wait_parked();
        }
        TURN.store(END, SeqCst);
    });
    // This thread is the partner: it sleeps, and never waits for a lock.
    loop {
        let what = TURN.load(SeqCst);
        match what {
            END => break,
            MUTEX => {
                let v = s.mutex.lock().unwrap();
                TURN.store(-MUTEX, SeqCst);
                nap(5000);
                drop(v);
            }
            CONDITION => {
                nap(5000);
                *s.ready.lock().unwrap() = true;
                s.changed.notify_one();
            }
            BOOK => {
                let mut v = s.book.write().unwrap();
                *v += 1;
                TURN.store(-BOOK, SeqCst);
                nap(5000);
                drop(v);
            }
            CHANNEL => {
                nap(5000);
                send.send(1).unwrap();
            }
            PARKED => nap(5000),
            _ => {
                nap(100);
                continue;
            }
        }
        TURN.store(NOTHING, SeqCst);
        if what == PARKED {
            waiter.thread().unpark();
        }
    }
    waiter.join().unwrap();
}
