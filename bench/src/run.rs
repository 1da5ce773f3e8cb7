//! Which kernels, sizes and grids are measured, and what of it becomes dispatch rows.

use xreduce_check::Backend as _;
use xreduce_check::cuda::{Cuda, Kernels};
use xreduce_check::{Bundle, ModuleBytes, Selection};
use xreduce_contract::manifest::{DispatchRow, Manifest, Measurement, Module, TargetEntry};
use xreduce_contract::{Element, Kernel, Workspace, World};
use xreduce_launch::cuda::{Function, Geometry, Ranks};

use crate::date::today;
use crate::measure::{Bench, CALLS, Case, Error};
use crate::report::{Point, Report, Series};

/// What to measure.
#[derive(Debug, Clone)]
pub struct Options {
    /// Kernels, by symbol or `target/symbol`.
    pub selection: Selection,
    /// Ranks.
    pub world: World,
    /// Replays of each graph that count.
    pub replays: usize,
    /// The smallest and the largest message, bytes; each power of two between them is measured.
    pub bytes: (u64, u64),
}

/// How far a bench has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The kernel that was just measured.
    pub symbol: &'a str,
    /// Kernels measured.
    pub done: usize,
    /// Kernels to be measured.
    pub of: usize,
}

/// Threads of a block that are tried.
const THREADS: [u32; 3] = [128, 256, 512];
/// Most blocks that are tried, besides as many as there are packets for.
const BLOCKS: [u32; 4] = [8, 16, 32, 64];
/// Replays by which grids are compared before the best is measured.
const TRIED: usize = 3;
/// The grid of the floor: the usual one of the kernels.
const FLOOR: (u32, u32) = (64, 128);

/// Measures the kernels of a world on the best-fitting target of the bundle: the one for the newest processors that this
/// machine runs.
///
/// # Errors
/// [`Error::Nothing`] if the bundle has none; [`Error::Wrong`] if a kernel sums wrongly; else the driver's or the bundle's.
pub fn bench(
    bundle: &Bundle,
    cuda: &Cuda,
    options: &Options,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Report, Error> {
    let (target, module) = choose(&bundle.manifest, cuda, options)?;
    let chosen: Vec<(Kernel, u32)> = { module.kernels.iter() }
        .map(|entry| (entry.kernel(module.world), entry.max_threads_per_block))
        .filter(|(kernel, _)| wanted(options, target, kernel))
        .collect();
    let bytes = bundle.module(module)?;
    let processors = &target.processors;
    let ranks = cuda.place(&ModuleBytes { name: &module.file, processors, bytes: &bytes, world: module.world })?;
    let kernels = Kernels::load(&ranks, &module.file, &bytes)?;
    let sizes: Vec<u64> =
        (0..63).map(|power| 1 << power).filter(|size| (options.bytes.0..=options.bytes.1).contains(size)).collect();
    let largest = sizes.last().copied().unwrap_or(0);
    let inbox =
        chosen.iter().map(|(kernel, _)| u64::from(kernel.packets(count(kernel, largest))) * 16).max().unwrap_or(0);
    let workspace =
        u32::try_from(inbox.next_multiple_of(128)).ok().and_then(|inbox| Workspace::new(module.world, inbox));
    let workspace =
        workspace.ok_or_else(|| Error::Nothing(format!("messages of {largest} bytes cannot be measured")))?;
    let bench = Bench::new(&ranks, &workspace, largest)?;

    let mut report = Report {
        device: ranks.device().to_owned(),
        shared: ranks.share_a_device(),
        date: today(),
        target: target.name.clone(),
        world: module.world.ranks(),
        calls: CALLS,
        replays: options.replays,
        floor: Vec::new(),
        series: Vec::new(),
        skipped: Vec::new(),
    };
    let modes: &[bool] = if kernels.may_overlap() { &[false, true] } else { &[false] };
    for dependent in modes {
        report.floor.push(floor(&ranks, &bench, *dependent, options.replays)?);
    }
    for (done, (kernel, max_threads)) in chosen.iter().enumerate() {
        bench.fill(kernel.element)?;
        let mut all: Vec<Series> = modes.iter().map(|dependent| Series::of_kernel(kernel, *dependent)).collect();
        for size in &sizes {
            let count = count(kernel, *size);
            for (dependent, series) in modes.iter().zip(&mut all) {
                let mut best: Option<(f64, Case)> = None;
                for geometry in grids(kernel.packets(count), *max_threads, kernels.blocks(), *dependent) {
                    let case = Case { kernel: *kernel, count, geometry };
                    let time = bench.call(&kernels, &case, TRIED)?;
                    if best.is_none_or(|(shortest, _)| time < shortest) {
                        best = Some((time, case));
                    }
                }
                let Some((_, case)) = best else { continue };
                let microseconds = bench.call(&kernels, &case, options.replays)?;
                let Geometry { blocks, threads, .. } = case.geometry;
                series.points.push(Point { bytes: *size, microseconds, blocks: Some(blocks), threads: Some(threads) });
            }
        }
        report.series.extend(all);
        progress(Progress { symbol: &kernel.symbol(), done: done + 1, of: chosen.len() });
    }
    Ok(report)
}

fn wanted(options: &Options, target: &TargetEntry, kernel: &Kernel) -> bool {
    !kernel.is_ordered_by_host() && options.selection.wants(&target.name, &kernel.symbol())
}

fn choose<'m>(manifest: &'m Manifest, cuda: &Cuda, options: &Options) -> Result<(&'m TargetEntry, &'m Module), Error> {
    let mut found: Vec<(&TargetEntry, &Module)> = Vec::new();
    for target in &manifest.targets {
        for module in &target.modules {
            let any = module.kernels.iter().any(|entry| wanted(options, target, &entry.kernel(module.world)));
            if module.world == options.world && cuda.runs(&module.format) && any {
                found.push((target, module));
            }
        }
    }
    // `sm_75` and `sm_120`: the number decides.
    let number = |target: &TargetEntry| {
        { target.processors.iter() }.filter_map(|name| name.strip_prefix("sm_")?.parse::<u32>().ok()).max()
    };
    found.into_iter().max_by_key(|(target, _)| number(target)).ok_or_else(|| {
        Error::Nothing(format!(
            "the bundle has no such kernels for {} ranks that run on this machine's GPUs",
            options.world
        ))
    })
}

fn count(kernel: &Kernel, bytes: u64) -> u32 {
    u32::try_from(bytes / u64::from(kernel.element.bytes())).unwrap_or(u32::MAX)
}

fn grids(packets: u32, max_threads: u32, resident: u32, dependent: bool) -> Vec<Geometry> {
    let mut grids = Vec::new();
    for threads in THREADS.into_iter().filter(|threads| *threads <= max_threads) {
        for most in BLOCKS.into_iter().chain([resident]) {
            let blocks = packets.div_ceil(threads).clamp(1, most.min(resident).max(1));
            let geometry = Geometry { blocks, threads, dependent };
            if !grids.contains(&geometry) {
                grids.push(geometry);
            }
        }
    }
    grids
}

fn floor(ranks: &Ranks, bench: &Bench<'_>, dependent: bool, replays: usize) -> Result<Point, Error> {
    let ptx: &[u8] = if dependent { include_bytes!("floor_overlapping.ptx") } else { include_bytes!("floor.ptx") };
    let modules = ranks.load("the bench's own kernel", ptx)?;
    let functions: Vec<Function> = modules.iter().map(|module| module.function("nothing")).collect::<Result<_, _>>()?;
    let (blocks, threads) = FLOOR;
    let microseconds = bench.floor(&functions, Geometry { blocks, threads, dependent }, replays)?;
    Ok(Point { bytes: 0, microseconds, blocks: Some(blocks), threads: Some(threads) })
}

/// Enters rows for the quickest kernels of `element`, launched as a plain host does, without dependent launch; gives how many.
/// Where the next size takes the same kernel and grid, one row serves both. They take the place of rows measured
/// before for the same number of ranks; rows that were measured come before all others, those for fewer ranks first, so
/// that the first that fits is the closest.
///
/// # Errors
/// [`Error::Nothing`] if the report has no such kernels.
pub fn write_dispatch(manifest: &mut Manifest, report: &Report, element: Element) -> Result<usize, Error> {
    let mut rows: Vec<DispatchRow> = Vec::new();
    let world = World::try_from(report.world).map_err(|error| Error::Nothing(error.to_string()))?;
    let plain = |series: &&Series| series.element == element.word() && !series.dependent && series.kernel.is_some();
    let mut sizes: Vec<u64> =
        report.series.iter().filter(plain).flat_map(|series| &series.points).map(|point| point.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes {
        let at_size = report.series.iter().filter(plain).filter_map(|series| {
            let point = series.points.iter().find(|point| point.bytes == size)?;
            Some((series.kernel?, point, point.blocks?, point.threads?))
        });
        let best = at_size.min_by(|(_, one, ..), (_, other, ..)| one.microseconds.total_cmp(&other.microseconds));
        let Some((kernel, point, blocks, threads)) = best else { continue };
        let row = DispatchRow {
            max_bytes: size,
            max_world: world,
            algorithm: kernel.algorithm,
            wire: kernel.wire,
            blocks,
            threads,
            source: format!("xreduce bench, {} ranks, {element}: the quickest of this bundle's kernels", report.world),
            measured: Some(Measurement {
                microseconds: (point.microseconds * 1000.0).round() / 1000.0,
                device: report.device.clone(),
                date: report.date.clone(),
            }),
        };
        let same = |last: &DispatchRow| {
            (last.algorithm, last.wire, last.blocks, last.threads) == (row.algorithm, row.wire, row.blocks, row.threads)
        };
        if rows.last().is_some_and(same) {
            rows.pop();
        }
        rows.push(row);
    }
    let target = manifest.targets.iter_mut().find(|target| target.name == report.target);
    match target {
        Some(target) if !rows.is_empty() => {
            let written = rows.len();
            let (old, others): (Vec<DispatchRow>, Vec<DispatchRow>) =
                std::mem::take(&mut target.dispatch).into_iter().partition(|row| row.measured.is_some());
            rows.extend(old.into_iter().filter(|row| row.max_world != world));
            rows.sort_by_key(|row| (row.max_world, row.max_bytes));
            rows.extend(others);
            target.dispatch = rows;
            Ok(written)
        }
        _ => Err(Error::Nothing(format!("no kernel for {element} was measured: no dispatch rows"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xreduce_contract::{Algorithm, Wire};

    #[test]
    fn grids_are_resident_and_no_larger_than_the_message() {
        let all = grids(4096, 256, 66, false);
        assert!(
            all.iter().all(|grid| grid.blocks <= 66 && grid.threads <= 256 && grid.blocks * grid.threads <= 4096 + 255)
        );
        assert!(all.contains(&Geometry { blocks: 32, threads: 128, dependent: false }));
        assert_eq!(grids(1, 512, 66, true).len(), 3);
    }

    #[test]
    fn rows_take_the_quickest_and_one_row_serves_sizes_alike() {
        let world = World::try_from(2).unwrap();
        let kernel = |wire| Kernel { algorithm: Algorithm::OneShotPush, wire, element: Element::F32, world };
        let series = |wire, times: [f64; 3]| {
            let mut series = Series::of_kernel(&kernel(wire), false);
            for (bytes, microseconds) in [1024, 2048, 4096].into_iter().zip(times) {
                series.points.push(Point { bytes, microseconds, blocks: Some(4), threads: Some(128) });
            }
            series
        };
        let mut report = Report {
            device: "D".to_owned(),
            shared: true,
            date: "2026-12-01".to_owned(),
            target: "t".to_owned(),
            world: 2,
            calls: CALLS,
            replays: 1,
            floor: Vec::new(),
            series: vec![series(Wire::Ll, [1.0, 2.0, 3.0004]), series(Wire::Sentinel, [1.5, 2.5, 2.0])],
            skipped: Vec::new(),
        };
        let text = r#"{"schema":1,"tool":"","llvm":"","contract":1,"workspace_layout":1,"templates_sha256":"","targets":[
            {"name":"t","family":"nvptx","processors":["sm_90"],"target_sha256":"","lanes":32,
            "spin_limit_unit":"microseconds","spin_limit_default":1,"max_blocks_per_compute_unit":1,"modules":[],"dispatch":[]}]}"#;
        let mut manifest: Manifest = serde_json::from_str(text).unwrap();
        assert_eq!(write_dispatch(&mut manifest, &report, Element::F32).unwrap(), 2);
        let rows = &manifest.targets[0].dispatch;
        assert_eq!(
            [(rows[0].max_bytes, rows[0].wire), (rows[1].max_bytes, rows[1].wire)],
            [(2048, Wire::Ll), (4096, Wire::Sentinel)]
        );
        assert_eq!(rows[0].measured.as_ref().unwrap().microseconds, 2.0);
        assert_eq!(write_dispatch(&mut manifest, &report, Element::F32).unwrap(), 2);
        assert_eq!(manifest.targets[0].dispatch.len(), 2, "rows for as many ranks are replaced");
        manifest.targets[0].dispatch[0].measured = None;
        write_dispatch(&mut manifest, &report, Element::F32).unwrap();
        let measured: Vec<bool> = manifest.targets[0].dispatch.iter().map(|row| row.measured.is_some()).collect();
        assert_eq!(measured, [true, true, false], "what nobody measured stays, last");
        assert!(write_dispatch(&mut manifest, &report, Element::Bf16).is_err());
        report.target = "other".to_owned();
        assert!(write_dispatch(&mut manifest, &report, Element::F32).is_err());
    }
}
