//! [`gpu_csv`]: kernels, source lines and objects of a run as comma-separated values (RFC 4180).

use reuselens_document::csv::push;
use reuselens_gpu_advisor::{BankCounts, CacheCounts, GlobalCounts};

use super::SummedRun;

/// Names of the columns.
const HEAD: &str = "by,name,launches,warp_instructions,thread_instructions,requests,lanes,bytes,lines,sectors,\
ideal_sectors,shared_requests,wavefronts,ideal_wavefronts,l1_sectors,l1_hits,l2_sectors,l2_hits,block_executions,\
divergent_block_executions\r\n";

/// A row of counts; what a row has nothing of is empty.
#[derive(Default)]
struct CsvRow {
    launches: Option<u64>,
    instructions: Option<[u64; 2]>,
    global: GlobalCounts,
    shared: Option<BankCounts>,
    l1: CacheCounts,
    l2: CacheCounts,
    blocks: Option<[u64; 2]>,
}

/// The counts of a run: rows `kernel`, then `line`, then `object`, each in the order of the tables.
/// The first row names the columns.
pub fn gpu_csv(run: &SummedRun<'_>) -> String {
    let mut out = HEAD.to_owned();
    for sum in &run.kernels {
        let row = CsvRow {
            launches: Some(sum.launches),
            instructions: Some([sum.instructions.warps, sum.instructions.threads]),
            global: sum.global,
            shared: Some(sum.shared),
            l1: sum.l1.unwrap_or_default(),
            l2: sum.l2.unwrap_or_default(),
            blocks: Some([sum.branches.executions(), sum.branches.divergent()]),
        };
        row.push(&mut out, "kernel", &sum.name);
    }
    for sum in &run.lines {
        let row = CsvRow {
            instructions: Some([sum.instructions.warps, sum.instructions.threads]),
            global: sum.counts.global,
            shared: Some(sum.counts.shared),
            l1: sum.counts.l1,
            l2: sum.counts.l2,
            blocks: Some([sum.executions, sum.divergent]),
            ..CsvRow::default()
        };
        row.push(&mut out, "line", &sum.line);
    }
    for sum in &run.objects {
        let row = CsvRow {
            global: sum.counts.global.all(),
            l1: sum.counts.l1,
            l2: sum.counts.l2,
            ..CsvRow::default()
        };
        row.push(&mut out, "object", run.run.object_name(sum.object));
    }
    out
}

impl CsvRow {
    fn push(&self, out: &mut String, by: &str, name: &str) {
        let global = &self.global;
        let mut cells = vec![self.launches];
        cells.extend(pair(self.instructions));
        cells.extend(
            [
                global.requests,
                global.lanes,
                global.bytes,
                global.lines,
                global.sectors,
                global.ideal_sectors,
            ]
            .map(Some),
        );
        cells.extend(match &self.shared {
            Some(it) => [it.requests, it.wavefronts, it.ideal_wavefronts].map(Some),
            None => [None; 3],
        });
        for cache in [&self.l1, &self.l2] {
            cells.push(Some(cache.loads + cache.stores));
            cells.push(Some(cache.load_hits + cache.store_hits));
        }
        cells.extend(pair(self.blocks));
        let mut row = vec![by.to_owned(), name.to_owned()];
        row.extend(
            cells
                .into_iter()
                .map(|cell| cell.map_or_else(String::new, |count| count.to_string())),
        );
        push(out, &row);
    }
}

fn pair(counts: Option<[u64; 2]>) -> [Option<u64>; 2] {
    counts.map_or([None; 2], |counts| counts.map(Some))
}
