// Cause: the one archiver thread computes all the time in pack_event(), so the channel is full and the three senders wait in forward_events().
// Right: CPUbound at pack_event()
// Right: CPUbound at event_archive::pack_event()
// Right: ExcessiveSyncWaitingTime at forward_events()
// Right: ExcessiveSyncWaitingTime at event_archive::forward_events()
// Right: LoadImbalance at thread archiver
// Never: make_event()
// Never: event_archive::make_event()

// Three sources send events through a bounded channel to one archiver.
use std::io::Write;
use std::sync::mpsc::{sync_channel, SyncSender};
use std::thread;

#[inline(never)]
fn make_event(source: usize, number: usize) -> Vec<u8> {
    let line = format!("source {} event {} level {}; ", source, number, number % 5);
    line.as_bytes().iter().cycle().take(4000).copied().collect()
}

#[inline(never)]
fn forward_events(source: usize, channel: SyncSender<Vec<u8>>) {
    let mut number = 0;
    loop {
        if channel.send(make_event(source, number)).is_err() {
            return;
        }
        number += 1;
    }
}

// Looks for the longest earlier match at each position, without an index.
#[inline(never)]
fn pack_event(event: &[u8]) -> usize {
    let mut packed = 0;
    let mut at = 0;
    while at < event.len() {
        let mut best = 0;
        for start in at.saturating_sub(1024)..at {
            let mut n = 0;
            while n < 16 && at + n < event.len() && event[start + n] == event[at + n] {
                n += 1;
            }
            if n > best {
                best = n;
            }
        }
        at += best.max(1);
        packed += if best > 2 { 3 } else { best.max(1) };
    }
    packed
}

fn main() {
    let (sender, receiver) = sync_channel::<Vec<u8>>(8);
    for source in 0..3 {
        let sender = sender.clone();
        thread::Builder::new()
            .name(format!("source-{}", source))
            .spawn(move || forward_events(source, sender))
            .unwrap();
    }
    drop(sender);
    let archiver = thread::Builder::new()
        .name("archiver".to_string())
        .spawn(move || {
            let mut total = 0usize;
            for event in receiver {
                total = total.wrapping_add(pack_event(&event));
                std::hint::black_box(total);
            }
        })
        .unwrap();
    println!("ready");
    std::io::stdout().flush().unwrap();
    archiver.join().unwrap();
}
