//! Futures on an executor of two threads, written with the standard library only: tasks that wait for each other, for a timer thread and
//! for turns of their own. Each round must give the same; one that is never woken again shows as one that does not end.
//! It speaks as the programs with target.h do: READY, then OK and a hash, and status 7.
use std::collections::VecDeque;
use std::future::Future;
use std::io::BufRead;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{mpsc, Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

static STOPPING: AtomicBool = AtomicBool::new(false); // no more rounds
static DONE: AtomicBool = AtomicBool::new(false); // no more tasks

struct Task {
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    tasks: Mutex<VecDeque<Arc<Task>>>,
    some: Condvar,
}

impl Queue {
    fn push(&self, task: Arc<Task>) {
        self.tasks.lock().unwrap().push_back(task);
        self.some.notify_one();
    }
    fn pop(&self) -> Option<Arc<Task>> {
        let mut tasks = self.tasks.lock().unwrap();
        loop {
            if let Some(task) = tasks.pop_front() {
                return Some(task);
            }
            if DONE.load(SeqCst) {
                return None;
            }
            tasks = self.some.wait_timeout(tasks, Duration::from_millis(20)).unwrap().0;
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.queue.clone().push(self)
    }
}

#[inline(never)]
fn poll_task(task: Arc<Task>) {
    let waker = Waker::from(task.clone());
    let mut slot = task.future.lock().unwrap();
    if let Some(mut future) = slot.take() {
        if future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            *slot = Some(future);
        }
    }
}

#[inline(never)]
fn spawn(queue: &Arc<Queue>, future: impl Future<Output = ()> + Send + 'static) {
    queue.push(Arc::new(Task { future: Mutex::new(Some(Box::pin(future))), queue: queue.clone() }));
}

/// Turn is ready when it is polled for the second time.
struct Turn(bool);
impl Future for Turn {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Alarm is ready when its time is over; the timer thread wakes it.
struct Alarm {
    at: Instant,
    timer: mpsc::Sender<(Instant, Waker)>,
}
impl Future for Alarm {
    type Output = ();
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.at {
            return Poll::Ready(());
        }
        self.timer.send((self.at, cx.waker().clone())).unwrap();
        Poll::Pending
    }
}

fn keep_time(alarms: mpsc::Receiver<(Instant, Waker)>) {
    for (at, waker) in alarms {
        thread::sleep(at.saturating_duration_since(Instant::now()));
        waker.wake();
    }
}

#[inline(never)]
fn mix(h: u64, v: u64) -> u64 {
    let h = (h ^ v.wrapping_add(0x9e3779b97f4a7c15)).wrapping_mul(0xbf58476d1ce4e5b9);
    h ^ (h >> 29)
}

#[inline(never)]
async fn work(seed: u64, depth: u64) -> u64 {
    let mut h = seed;
    for i in 0..4 {
        h = mix(h, i);
        Turn(false).await;
    }
    if depth > 0 {
        h = mix(h, Box::pin(work(h, depth - 1)).await);
    }
    h
}

fn main() {
    let queue = Arc::new(Queue::default());
    let (timer, alarms) = mpsc::channel();
    thread::spawn(move || keep_time(alarms));
    let executors: Vec<_> = (0..2).map(|_| queue.clone()).map(|q| thread::spawn(move || while let Some(t) = q.pop() { poll_task(t) })).collect();
    println!("READY {}", std::process::id());
    thread::spawn(|| {
        let mut line = String::new();
        while std::io::stdin().lock().read_line(&mut line).is_ok_and(|n| n > 0) && line.trim() != "stop" {
            line.clear();
        }
        STOPPING.store(true, SeqCst);
    });
    let mut hash = 0;
    while !STOPPING.load(SeqCst) || hash == 0 {
        let (sum, left) = (Arc::new(AtomicU64::new(0)), Arc::new((Mutex::new(16), Condvar::new())));
        for i in 0..16u64 {
            let (sum, left, timer) = (sum.clone(), left.clone(), timer.clone());
            spawn(&queue, async move {
                if i % 4 == 0 {
                    Alarm { at: Instant::now() + Duration::from_micros(500), timer }.await;
                }
                sum.fetch_add(work(i, 6).await, SeqCst);
                *left.0.lock().unwrap() -= 1;
                left.1.notify_one();
            });
        }
        let mut n = left.0.lock().unwrap();
        while *n > 0 {
            let (again, late) = left.1.wait_timeout(n, Duration::from_secs(10)).unwrap();
            n = again;
            if late.timed_out() {
                println!("BAD {} tasks were not woken for ten seconds", *n);
                std::process::exit(1);
            }
        }
        let got = sum.load(SeqCst);
        if hash != 0 && got != hash {
            println!("BAD another result");
            std::process::exit(1);
        }
        hash = got;
    }
    DONE.store(true, SeqCst);
    executors.into_iter().for_each(|e| e.join().unwrap());
    println!("OK {hash:016x}");
    std::process::exit(7);
}
