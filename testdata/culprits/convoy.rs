// Cause: six threads share one std::sync::Mutex, and update_session keeps it while it computes; threads wait for it about 80 %
// of their time.
// Right: ExcessiveSyncWaitingTime at convoy::update_session()
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::thread;

struct Session {
    hits: u64,
    token: u64,
}

fn mix(mut h: u64, rounds: u32) -> u64 {
    for _ in 0..rounds {
        h = (h ^ (h >> 11)).wrapping_mul(1099511628211);
    }
    h
}

#[inline(never)]
fn update_session(sessions: &Mutex<HashMap<u64, Session>>, user: u64) -> u64 {
    let mut table = sessions.lock().unwrap();
    let session = table.entry(user).or_insert(Session { hits: 0, token: user });
    session.hits += 1;
    session.token = mix(session.token, 150_000);
    session.token
}

#[inline(never)]
fn render_page(token: u64) -> u64 {
    mix(token, 20_000)
}

#[inline(never)]
fn serve(sessions: &Mutex<HashMap<u64, Session>>, mut user: u64) {
    loop {
        user = mix(user, 3);
        let token = update_session(sessions, user % 1000);
        black_box(render_page(token));
    }
}

fn main() {
    let sessions = Arc::new(Mutex::new(HashMap::new()));
    let threads: Vec<_> = (1..=6)
        .map(|n| {
            let sessions = Arc::clone(&sessions);
            thread::spawn(move || serve(&sessions, n))
        })
        .collect();
    println!("ready");
    for t in threads {
        t.join().unwrap();
    }
}
