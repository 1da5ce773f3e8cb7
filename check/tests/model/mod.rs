//! A backend without a machine: it does to memory what the contract says a call does, and on request
//! one thing wrongly. What a real kernel could get wrong and this one cannot is told apart by nobody
//! here; the point is that each kind of fault is seen, and nothing right is called a fault.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part")]

use xreduce_check::{Backend, BackendError, Launch, Limits, ModuleBytes, Region, Session, Sharing, Value};
use xreduce_contract::manifest::Format;
use xreduce_contract::workspace::{ABORT, ARRIVED, STAGED, STATUS};
use xreduce_contract::{Algorithm, Element, Kernel, Wire, Workspace, World, epoch, reference, status};

/// What the model does wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    ReversedOrder,
    RankDependentOrder,
    StartsAtZero,
    FlushesSubnormals,
    DropsLastPacket,
    StoresPastTheEnd,
    StoresBeforeTheStart,
    ChangesInput,
    LeavesArrived,
    LeavesStaged,
    KeepsEpoch,
    CountsEmptyCalls,
    SkipsAnEpoch,
    LeavesStatus,
    LeavesAbort,
    LeavesSentinel,
    LeavesLlAtTheWrap,
    ForgetsFlag,
    ForgetsFlagAtTheWrap,
    UsesUnnamedHeaderWord,
    IgnoresCapacity,
    IgnoresAbsence,
    BlamesAnother,
    NobodyTimedOut,
    IgnoresAbort,
    ForgetsFirstStatus,
    IgnoresPreparation,
    Crashes,
}

pub struct Model(pub Option<Bug>);

pub struct ModelSession {
    bug: Option<Bug>,
    regions: Vec<Vec<u8>>,
    launches: u32,
}

impl Backend for Model {
    fn name(&self) -> &'static str {
        "model"
    }

    fn runs(&self, format: &Format) -> bool {
        matches!(format, Format::Spirv { .. })
    }

    fn open(&self, module: &ModuleBytes<'_>) -> Result<Box<dyn Session>, BackendError> {
        if module.bytes == b"no module" {
            return Err(BackendError::unable("this is no module"));
        }
        Ok(Box::new(ModelSession { bug: self.0, regions: Vec::new(), launches: 0 }))
    }
}

pub fn session(bug: Option<Bug>) -> ModelSession {
    ModelSession { bug, regions: Vec::new(), launches: 0 }
}

/// The kernels of a world, as the templates have them, of f32 and apart from those that the host orders.
pub fn kernels(world: u32) -> Vec<Kernel> {
    let world = World::try_from(world).unwrap();
    let each = |algorithm: &Algorithm| {
        let algorithm = *algorithm;
        algorithm.wires().iter().map(move |wire| Kernel { algorithm, wire: *wire, element: Element::F32, world })
    };
    Algorithm::ALL.iter().flat_map(each).filter(|kernel| !kernel.is_ordered_by_host()).collect()
}

/// The arguments of a kernel, by name.
struct Arguments {
    input: (usize, usize),
    output: (usize, usize),
    count: u32,
    rank: usize,
    inbox_bytes: u32,
    workspaces: Vec<usize>,
    root: Option<u32>,
}

/// The world at the end of a symbol.
fn ranks(symbol: &str) -> u32 {
    symbol.rsplit_once('w').unwrap().1.parse().unwrap()
}

impl Arguments {
    fn of(launch: &Launch) -> Self {
        let address = |value: &Value| match value {
            Value::Address { region, offset } => (region.0, usize::try_from(*offset).unwrap()),
            Value::Word(_) => panic!("a word where an address belongs"),
        };
        let word = |index: usize| match launch.arguments[index] {
            Value::Word(word) => word,
            Value::Address { .. } => panic!("an address where a word belongs"),
        };
        assert_eq!([word(4), word(5)], [launch.blocks, launch.threads]);
        assert_eq!(word(3), launch.rank);
        Self {
            input: address(&launch.arguments[0]),
            output: address(&launch.arguments[1]),
            count: word(2),
            rank: launch.rank as usize,
            inbox_bytes: word(6),
            workspaces: launch.arguments[8..8 + ranks(&launch.symbol) as usize]
                .iter()
                .map(|value| address(value).0)
                .collect(),
            root: launch.symbol.contains("root_gather").then(|| word(launch.arguments.len() - 1)),
        }
    }
}

impl ModelSession {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    fn word(&self, region: usize, offset: u64) -> u32 {
        let at = usize::try_from(offset).unwrap();
        u32::from_le_bytes(self.regions[region][at..at + 4].try_into().unwrap())
    }

    fn set(&mut self, region: usize, offset: u64, word: u32) {
        let at = usize::try_from(offset).unwrap();
        self.regions[region][at..at + 4].copy_from_slice(&word.to_le_bytes());
    }

    fn set_status(&mut self, region: usize, word: u32) {
        if self.word(region, STATUS) == 0 || self.has(Bug::ForgetsFirstStatus) {
            self.set(region, STATUS, word);
        }
    }

    fn elements(&self, (region, offset): (usize, usize), count: u32) -> Vec<u32> {
        let bytes = &self.regions[region][offset..offset + 4 * count as usize];
        bytes.chunks(4).map(|bits| u32::from_le_bytes(bits.try_into().unwrap())).collect()
    }

    /// Ranks that take part: not over capacity, and not told to stop.
    fn begins(&mut self, kernel: Kernel, arguments: &Arguments) -> bool {
        let own = arguments.workspaces[arguments.rank];
        let over = arguments.count > kernel.capacity(arguments.inbox_bytes);
        if over && !self.has(Bug::IgnoresCapacity) {
            self.set_status(own, status::OVER_CAPACITY << 28);
            return false;
        }
        let abort = self.word(own, ABORT);
        let now = epoch::next(self.word(own, 0)) & 0x00FF_FFFF;
        if abort != 0 && !self.has(Bug::IgnoresAbort) {
            self.set_status(own, status::PEER_GAVE_UP << 28 | abort & 0x0F00_0000 | now);
        }
        (abort == 0 || self.has(Bug::IgnoresAbort)) && self.word(own, STATUS) == 0
    }

    /// The others wait in vain.
    fn give_up(&mut self, kernel: Kernel, present: &[Arguments]) {
        if self.has(Bug::IgnoresAbsence) {
            return;
        }
        let world = u32::try_from(present[0].workspaces.len()).unwrap();
        let absent = (0..world).find(|rank| present.iter().all(|other| other.rank != *rank as usize)).unwrap();
        let awaited = if self.has(Bug::BlamesAnother) { (absent + 1) % world } else { absent };
        let waits_for_it = |arguments: &&Arguments| match (kernel.algorithm, arguments.root) {
            (Algorithm::Butterfly, _) => (arguments.rank as u32 ^ absent).is_power_of_two(),
            (_, Some(root)) => [absent, arguments.rank as u32].contains(&root),
            _ => true,
        };
        let first_rank = present.iter().find(waits_for_it).unwrap().rank;
        for arguments in present {
            let own = arguments.workspaces[arguments.rank];
            let now = epoch::next(self.word(own, 0));
            let first = arguments.rank == first_rank && !self.has(Bug::NobodyTimedOut);
            let code = if first { status::TIMED_OUT } else { status::PEER_GAVE_UP };
            self.set_status(own, code << 28 | awaited << 24 | now & 0x00FF_FFFF);
            self.set(own, 0, now);
        }
        for rank in 0..world as usize {
            if rank != first_rank {
                self.set(present[0].workspaces[rank], ABORT, status::TIMED_OUT << 28 | awaited << 24);
            }
        }
    }

    /// All ranks compute.
    fn reduce(&mut self, kernel: Kernel, all: &[Arguments]) {
        let count = all[0].count;
        let mut inputs: Vec<Vec<u32>> = all.iter().map(|arguments| self.elements(arguments.input, count)).collect();
        if self.has(Bug::ReversedOrder) {
            inputs.reverse();
        }
        if self.has(Bug::StartsAtZero) {
            inputs.insert(0, vec![0; count as usize]);
        }
        for arguments in all {
            if self.has(Bug::RankDependentOrder) {
                inputs.rotate_left(1);
            }
            let order = kernel.algorithm.sum_order();
            let sum = |index: usize| {
                let contributions: Vec<u32> = inputs.iter().map(|input| input[index]).collect();
                f32::from_bits(reference::sum(Element::F32, order, &contributions))
            };
            let mut sum: Vec<f32> = (0..count as usize).map(sum).collect();
            if self.has(Bug::FlushesSubnormals) {
                sum.iter_mut().filter(|value| value.is_subnormal()).for_each(|value| *value = 0.0);
            }
            if self.has(Bug::DropsLastPacket) {
                sum.truncate(sum.len() & !3);
            }
            let (region, mut at) = arguments.output;
            if self.has(Bug::StoresBeforeTheStart) {
                self.regions[region][at - 1] ^= 1;
            }
            for value in sum {
                self.regions[region][at..at + 4].copy_from_slice(&value.to_bits().to_le_bytes());
                at += 4;
            }
            if self.has(Bug::StoresPastTheEnd) {
                self.regions[region][at] ^= 1;
            }
            if self.has(Bug::ChangesInput) && arguments.input != arguments.output {
                self.regions[arguments.input.0][arguments.input.1] ^= 1;
            }
            self.finish(kernel, arguments);
        }
    }

    /// What a rank leaves in its workspace.
    fn finish(&mut self, kernel: Kernel, arguments: &Arguments) {
        let own = arguments.workspaces[arguments.rank];
        let workspace = Workspace::new(kernel.world, arguments.inbox_bytes).unwrap();
        let old = self.word(own, 0);
        let now = epoch::next(old);
        let stored = match self.bug {
            Some(Bug::KeepsEpoch) => old,
            Some(Bug::SkipsAnEpoch) => epoch::next(now),
            _ => now,
        };
        self.set(own, 0, stored);
        let flag_wire = kernel.wire == Wire::Flag && !self.has(Bug::ForgetsFlag);
        let wrap = epoch::refreshes_flags(now) && kernel.wire != Wire::Flag && !self.has(Bug::ForgetsFlagAtTheWrap);
        for sender in (0..kernel.world.ranks()).filter(|sender| *sender as usize != arguments.rank) {
            let signals = arguments.root.is_none_or(|root| [sender, arguments.rank as u32].contains(&root));
            if flag_wire && (signals || epoch::refreshes_flags(now)) || wrap {
                self.set(own, workspace.flag(sender), now);
            }
        }
        let inbox = u64::from(arguments.inbox_bytes);
        let wrong = match self.bug {
            Some(Bug::LeavesArrived) => Some((ARRIVED, 1)),
            Some(Bug::LeavesStaged) => Some((STAGED, 1)),
            Some(Bug::LeavesStatus) => Some((STATUS, 0x1000_0001)),
            Some(Bug::LeavesAbort) => Some((ABORT, 1)),
            Some(Bug::LeavesSentinel) => Some((workspace.stage(0) - 16, 0x7FFF_FFFF)),
            Some(Bug::LeavesLlAtTheWrap) => Some((workspace.ll_inbox(epoch::bank(now), 0) + inbox - 4, now)),
            Some(Bug::UsesUnnamedHeaderWord) => Some((4092, 1)),
            _ => None,
        };
        if let Some((offset, word)) = wrong {
            self.set(own, offset, word);
        }
    }
}

impl Session for ModelSession {
    fn device(&self) -> String {
        "model device".to_owned()
    }

    fn limits(&self) -> Limits {
        Limits { blocks: 4, threads: 128, inbox_bytes: 2048, burst: 1, ample_spin: 1000, short_spin: 10 }
    }

    fn clear(&mut self) {
        self.regions.clear();
    }

    fn allocate(&mut self, _rank: u32, bytes: u64, _sharing: Sharing) -> Result<Region, BackendError> {
        self.regions.push(vec![0xEE; usize::try_from(bytes).unwrap()]);
        Ok(Region(self.regions.len() - 1))
    }

    fn write(&mut self, region: Region, offset: u64, bytes: &[u8]) -> Result<(), BackendError> {
        let at = usize::try_from(offset).unwrap();
        if self.has(Bug::IgnoresPreparation) && self.launches > 0 && bytes.len() >= 4096 && bytes[..4] == [0; 4] {
            return Ok(());
        }
        self.regions[region.0][at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self, region: Region, offset: u64, bytes: &mut [u8]) -> Result<(), BackendError> {
        let at = usize::try_from(offset).unwrap();
        bytes.copy_from_slice(&self.regions[region.0][at..at + bytes.len()]);
        Ok(())
    }

    fn launch(&mut self, launches: &[Launch], _seed: u64) -> Result<(), BackendError> {
        self.launches += 1;
        if self.has(Bug::Crashes) {
            return Err(BackendError::kernel("rank 1 died"));
        }
        let symbol = &launches[0].symbol;
        let world = ranks(symbol);
        let ranks = world as usize;
        let kernel = { kernels(world) }
            .into_iter()
            .find(|kernel| kernel.symbol() == *symbol)
            .ok_or_else(|| BackendError::unable(format!("no kernel {symbol}")))?;
        let all: Vec<Arguments> = launches.iter().map(Arguments::of).collect();
        if all[0].count == 0 {
            if self.has(Bug::CountsEmptyCalls) {
                all.iter().for_each(|arguments| self.finish(kernel, arguments));
            }
            return Ok(());
        }
        let begun: Vec<bool> = all.iter().map(|arguments| self.begins(kernel, arguments)).collect();
        if begun.iter().all(|begun| *begun) {
            if all.len() == ranks { self.reduce(kernel, &all) } else { self.give_up(kernel, &all) }
        }
        Ok(())
    }
}
