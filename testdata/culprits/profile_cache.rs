// Cause: the mutex of the profile map is held during the slow fetch of a missing profile, so all threads wait for it in profile_of().
// Right: ExcessiveSyncWaitingTime at profile_of()
// Right: ExcessiveSyncWaitingTime at profile_cache::profile_of()
// Right: ExcessiveSyncWaitingTime at fetch_profile()
// Right: ExcessiveSyncWaitingTime at profile_cache::fetch_profile()
// Never: greet()
// Never: profile_cache::greet()

// A service that keeps user profiles in a map, and fetches the missing ones.
use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const WORKERS: u64 = 5;
const LIMIT: usize = 200;

type Profiles = Mutex<HashMap<u64, String>>;

// The directory service answers after some milliseconds.
#[inline(never)]
fn fetch_profile(user: u64) -> String {
    thread::sleep(Duration::from_millis(4));
    format!("user {} of group {}", user, user % 17)
}

#[inline(never)]
fn profile_of(profiles: &Profiles, user: u64) -> String {
    let mut map = profiles.lock().unwrap();
    if map.len() > LIMIT {
        map.clear();
    }
    map.entry(user).or_insert_with(|| fetch_profile(user)).clone()
}

#[inline(never)]
fn greet(profile: &str) -> usize {
    let mut page = String::new();
    for i in 0..20 {
        page.push_str(&format!("{}: welcome, {}\n", i, profile));
    }
    page.len()
}

fn main() {
    let profiles: Arc<Profiles> = Arc::new(Mutex::new(HashMap::new()));
    let mut workers = Vec::new();
    for id in 0..WORKERS {
        let profiles = Arc::clone(&profiles);
        workers.push(thread::spawn(move || {
            let mut seed = id + 1;
            let mut sent = 0usize;
            loop {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let profile = profile_of(&profiles, (seed >> 33) % 1000);
                sent = sent.wrapping_add(greet(&profile));
                std::hint::black_box(sent);
            }
        }));
    }
    println!("ready");
    std::io::stdout().flush().unwrap();
    for w in workers {
        w.join().unwrap();
    }
}
