// Methods of a type and of a trait, called as often as the first argument says, each time "go" is read. All give negative numbers now and then.
use std::hint::black_box;
use std::io::{self, BufRead, Write};

mod app {
    pub struct Job {
        pub size: i32,
    }

    pub trait Work {
        fn work(&self, n: i32) -> i64;
    }

    impl Job {
        #[inline(never)]
        pub fn weigh(&self, n: i32) -> i32 {
            std::hint::black_box(self.size - n)
        }
    }

    impl Work for Job {
        #[inline(never)]
        fn work(&self, n: i32) -> i64 {
            std::hint::black_box(self.size as i64 - 2 * n as i64)
        }
    }

    #[inline(never)]
    pub fn share(n: i32) -> f64 {
        std::hint::black_box(n as f64 / 2.0)
    }
}

use app::Work;

fn main() {
    let rounds: i32 = std::env::args().nth(1).map_or(1000, |a| a.parse().unwrap());
    println!("READY {}", std::process::id());
    io::stdout().flush().unwrap();
    let (mut weighed, mut worked, mut sum) = (0, 0, 0.0);
    for line in io::stdin().lock().lines() {
        match line.unwrap().as_str() {
            "go" => {
                let job = app::Job { size: black_box(300) };
                for n in 0..rounds {
                    weighed += (job.weigh(n) < 0) as i32;
                    worked += (job.work(n) < 0) as i32;
                    sum += app::share(n);
                }
                println!("COUNT weighed {weighed}\nCOUNT worked {worked}\nCOUNT all {rounds}\nDONE");
                io::stdout().flush().unwrap();
            }
            "stop" => break,
            _ => {}
        }
    }
    println!("OK {:016x}", sum as u64);
    std::process::exit(7);
}
