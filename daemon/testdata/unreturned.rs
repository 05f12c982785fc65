// A function that panics, and one that calls it and is left as well; catch_unwind has them. other() stands where they stood.
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::panic;
use std::time::Instant;

mod app {
    #[inline(never)]
    pub fn tick() {
        std::hint::black_box(());
    }

    #[inline(never)]
    fn spin(us: u64, ticks: u32) {
        let start = std::time::Instant::now();
        while start.elapsed().as_micros() < us as u128 {}
        for _ in 0..ticks {
            tick();
        }
    }

    #[inline(never)]
    pub fn thrower(us: u64) {
        spin(us, 2);
        std::panic::resume_unwind(Box::new(us));
    }

    #[inline(never)]
    pub fn through(us: u64) -> u64 {
        spin(us, 3);
        thrower(us);
        std::hint::black_box(us) + 1
    }

    #[inline(never)]
    pub fn other(us: u64) {
        spin(us, 1000);
    }
}

fn main() {
    let rounds: u64 = std::env::args().nth(1).map_or(200, |a| a.parse().unwrap());
    println!("READY {}", std::process::id());
    io::stdout().flush().unwrap();
    let mut caught = 0;
    for line in io::stdin().lock().lines() {
        match line.unwrap().as_str() {
            "go" => {
                let (mut through, mut other) = (0, 0);
                for _ in 0..rounds {
                    let t = Instant::now();
                    caught += panic::catch_unwind(|| black_box(app::through(500))).is_err() as u64;
                    through += t.elapsed().as_nanos();
                    let t = Instant::now();
                    app::other(500);
                    other += t.elapsed().as_nanos();
                }
                println!("COUNT through {through}\nCOUNT other {other}\nCOUNT rounds {rounds}\nDONE");
                io::stdout().flush().unwrap();
            }
            "stop" => break,
            _ => {}
        }
    }
    println!("OK {caught:016x}");
    std::process::exit(7);
}
