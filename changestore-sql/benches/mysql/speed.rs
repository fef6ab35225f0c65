//! Operations per second, in interleaved rounds: what runs on a busy machine is compared within one run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use changestore_sql::{MySqlOptions, MySqlStore};
use sqlx::Connection as _;
use sqlx::mysql::MySqlConnection;
use tokio::runtime::Runtime;

use super::contenders::{Contender, DATA, Operation, Way, contenders, record};

/// Short and many, so that what else the machine does meets all alike.
const ROUND: Duration = Duration::from_millis(150);
const ROUNDS: usize = 51;
/// So many records are there.
const RECORDS: usize = 10_000;

pub(crate) fn compare(runtime: &Runtime, url: &str, operations: &[Operation]) {
    runtime.block_on(async {
        let options = MySqlOptions::new(url).expect("options");
        MySqlStore::migrate_with(options).await.expect("tables");
        fill(url).await;
    });
    for operation in operations {
        for tasks in [1, 32] {
            println!("\n`{}`, {tasks} task(s)\n", operation.name());
            println!("| | operations per second | of mysql_async |\n|---|---:|---:|");
            let rates = measure(runtime, url, *operation, tasks);
            for (way, of_way) in Way::ALL.into_iter().zip(&rates) {
                // What the machine does besides drifts; the ratio is of two that follow each other.
                let ratios = of_way.iter().zip(&rates[0]).map(|(its, raw)| its / raw);
                let (rate, ratio) = (median(of_way.clone()), median(ratios.collect()));
                println!("| {} | {rate:.0} | {ratio:.2} |", way.name());
            }
        }
    }
}

async fn fill(url: &str) {
    let mut connection = MySqlConnection::connect(url).await.expect("a connection");
    for number in 0..RECORDS {
        let (pk, sk) = record(number);
        let insert = "INSERT INTO changestore_documents (pk, sk, version, etag, data) \
                      VALUES (?, ?, 1, 'x', ?)";
        let insert = sqlx::query(insert).bind(pk).bind(sk).bind(&DATA[..]);
        insert.execute(&mut connection).await.expect("a record");
    }
}

/// The rate of each way in each round.
fn measure(runtime: &Runtime, url: &str, operation: Operation, tasks: usize) -> Vec<Vec<f64>> {
    static NUMBERS: AtomicUsize = AtomicUsize::new(0);
    let mut all: Vec<Vec<Contender>> = Way::ALL
        .into_iter()
        .map(|way| runtime.block_on(contenders(way, url, tasks)))
        .collect();
    let mut rates = vec![Vec::new(); all.len()];
    for round in 0..=ROUNDS {
        for (contenders, rates) in all.iter_mut().zip(&mut rates) {
            let begun = Instant::now();
            let (back, done) = runtime.block_on(async {
                let done = Arc::new(AtomicUsize::new(0));
                let running: Vec<_> = std::mem::take(contenders)
                    .into_iter()
                    .map(|mut contender| {
                        let done = Arc::clone(&done);
                        tokio::spawn(async move {
                            while begun.elapsed() < ROUND {
                                let number = NUMBERS.fetch_add(7, Ordering::Relaxed);
                                let number = match operation {
                                    Operation::Create => number,
                                    Operation::Get | Operation::Put => number % RECORDS,
                                };
                                contender.run(operation, number).await;
                                done.fetch_add(1, Ordering::Relaxed);
                            }
                            contender
                        })
                    })
                    .collect();
                let mut back = Vec::new();
                for task in running {
                    back.push(task.await.expect("a task"));
                }
                (back, done.load(Ordering::Relaxed))
            });
            *contenders = back;
            if round > 0 {
                let done = u32::try_from(done).expect("few enough");
                rates.push(f64::from(done) / begun.elapsed().as_secs_f64());
            }
        }
    }
    rates
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
