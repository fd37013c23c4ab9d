//! [`processor_seconds`]: the time that this program has run.

use std::error::Error;

/// Seconds of processor time that this program has taken, all its threads together, in steps of
/// 10 ms.
///
/// # Errors
/// If `/proc` is not there or has another form.
pub fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/stat")?;
    // The fields after the name, which ends with the last bracket; user and system time are the
    // 14th and 15th of all, in hundredths of a second.
    let fields = status.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse);
    let ticks: Vec<f64> = ticks.collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / 100.0)
}
