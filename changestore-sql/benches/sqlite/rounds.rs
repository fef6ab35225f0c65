//! Interleaved rounds and medians: what runs on a busy machine is compared within one run.

use std::time::{Duration, Instant};

/// One of those that are compared.
pub struct Contender<'a> {
    pub name: &'a str,
    /// Does the work once, and says how many operations it was.
    pub work: Box<dyn FnMut() -> u32 + 'a>,
}

impl<'a> Contender<'a> {
    pub fn new(name: &'a str, work: impl FnMut() -> u32 + 'a) -> Self {
        Self {
            name,
            work: Box::new(work),
        }
    }
}

/// Runs each contender once per round, in turn, after one round that does not count; prints the median
/// time of an operation, and its ratio to that of the first contender, with `title`.
pub fn compare(title: &str, rounds: usize, mut contenders: Vec<Contender<'_>>) {
    let mut times = vec![Vec::new(); contenders.len()];
    for round in 0..=rounds {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            let started = Instant::now();
            let operations = (contender.work)();
            let each = started.elapsed() / operations;
            if round > 0 {
                times.push(each);
            }
        }
    }
    println!("\n{title}\n");
    println!("| | time of one | ratio |\n|---|---:|---:|");
    let medians: Vec<Duration> = times.into_iter().map(median).collect();
    for (contender, median) in contenders.iter().zip(&medians) {
        let micros = median.as_secs_f64() * 1e6;
        let ratio = median.as_secs_f64() / medians[0].as_secs_f64();
        println!("| {} | {micros:.1} µs | {ratio:.2} |", contender.name);
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
