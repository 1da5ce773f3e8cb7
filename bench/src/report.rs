//! What a bench measured, as data and as a table.

use std::fmt;

use serde::{Deserialize, Serialize};
use xreduce_contract::Kernel;

/// Everything that one bench measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Device, placement of the ranks, driver.
    pub device: String,
    /// Whether the ranks share one GPU, so that there is no link between them.
    pub shared: bool,
    /// Day.
    pub date: String,
    /// The target whose kernels were measured.
    pub target: String,
    /// Ranks.
    pub world: u32,
    /// Calls in a graph.
    pub calls: u32,
    /// Replays that the medians are over.
    pub replays: usize,
    /// A kernel that does nothing: launched plainly, then, if there is a second, with dependent launch.
    pub floor: Vec<Point>,
    /// Kernels, ours first.
    pub series: Vec<Series>,
    /// What was not measured, and why.
    pub skipped: Vec<Skipped>,
}

/// A kernel's times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its name: algorithm and wire, or the library's.
    pub name: String,
    /// Its element type.
    pub element: String,
    /// Whether each call may start before the one before it has ended.
    #[serde(default)]
    pub dependent: bool,
    /// Its times.
    pub points: Vec<Point>,
    /// Which of ours it is.
    #[serde(skip)]
    pub kernel: Option<Kernel>,
}

/// A time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Size of the message.
    pub bytes: u64,
    /// Median time of a call.
    pub microseconds: f64,
    /// Blocks of the quickest grid.
    #[serde(default)]
    pub blocks: Option<u32>,
    /// Threads of a block in it.
    #[serde(default)]
    pub threads: Option<u32>,
}

/// Something that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

impl Series {
    /// No times yet of one of our kernels.
    #[must_use]
    pub fn of_kernel(kernel: &Kernel, dependent: bool) -> Self {
        Self {
            name: format!("{} {}", kernel.algorithm, kernel.wire),
            element: kernel.element.to_string(),
            dependent,
            points: Vec::new(),
            kernel: Some(*kernel),
        }
    }

    /// The name with what distinguishes it in a column or a legend.
    pub(crate) fn label(&self) -> String {
        let dependent = if self.dependent { ", dependent" } else { "" };
        format!("{} {}{dependent}", self.name, self.element)
    }
}

/// A size as people write it.
pub(crate) fn size(bytes: u64) -> String {
    for (unit, name) in [(1 << 20, "MiB"), (1 << 10, "KiB")] {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{} {name}", bytes / unit);
        }
    }
    format!("{bytes} B")
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, date, target, world, calls, replays, .. } = self;
        writeln!(f, "{target}, {world} ranks; {device}; {date}")?;
        writeln!(
            f,
            "microseconds per call: median of {replays} replays of graphs of {calls} calls; results are right"
        )?;
        if self.shared {
            writeln!(
                f,
                "the ranks share one GPU: there is no link between them, so this compares kernels, not machines"
            )?;
        }
        let floor: Vec<String> = { self.floor.iter().zip(["", " with dependent launch"]) }
            .map(|(point, how)| format!("{:.2}{how}", point.microseconds))
            .collect();
        writeln!(f, "floor, a kernel that does nothing: {}", floor.join(", "))?;
        let mut sizes: Vec<u64> =
            self.series.iter().flat_map(|series| &series.points).map(|point| point.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let widest = self.series.iter().map(|series| series.label().len()).max().unwrap_or(0);
        write!(f, "\n{:widest$}", "")?;
        for bytes in &sizes {
            write!(f, "  {:>8}", size(*bytes))?;
        }
        writeln!(f)?;
        for series in &self.series {
            write!(f, "{:widest$}", series.label())?;
            for bytes in &sizes {
                match series.points.iter().find(|point| point.bytes == *bytes) {
                    Some(point) => write!(f, "  {:>8.2}", point.microseconds)?,
                    None => write!(f, "  {:>8}", "")?,
                }
            }
            writeln!(f)?;
        }
        for skipped in &self.skipped {
            writeln!(f, "{}: {}", skipped.name, skipped.reason)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!([1024, 4 << 20, 1000, 20 << 10].map(size), ["1 KiB", "4 MiB", "1000 B", "20 KiB"]);
    }
}
