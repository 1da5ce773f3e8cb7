//! Runs a plan on a session and compares everything that it leaves with the contract.

use xreduce_contract::{Algorithm, Kernel, Status, Workspace, epoch};

use crate::backend::{BackendError, Launch, Region, Session, Sharing, Value};
use crate::buffers::{Before, Buffers, Expected};
use crate::fault::{Fault, Step, What};
use crate::plan::{Call, Callable, Ending, Plan, RankCall};
use crate::random::Random;
use crate::state::{self, After};
use crate::values;
use crate::waits;

/// Why a plan did not run to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// A kernel broke the contract.
    Fault(Box<Fault>),
    /// Nothing can be said of the kernels: the backend failed.
    Backend(BackendError),
}

impl From<BackendError> for Stop {
    fn from(error: BackendError) -> Self {
        Stop::Backend(error)
    }
}

/// The ranks' memory in one plan.
struct Ranks<'a> {
    session: &'a mut dyn Session,
    workspace: Workspace,
    workspaces: Vec<Region>,
    /// By place in a burst of calls, then by rank.
    buffers: Vec<Vec<Buffers>>,
    /// The epoch that every header holds.
    epoch: u32,
    /// Calls made, for the fault's place.
    calls: usize,
}

/// One call as its fault names it.
struct Place<'a> {
    call: &'a Call,
    number: usize,
    step: Step,
}

impl Place<'_> {
    fn fault(&self, rank: Option<u32>, what: What) -> Stop {
        Stop::Fault(Box::new(Fault {
            call: self.number,
            kernel: self.call.kernel.symbol(),
            count: self.call.count,
            step: self.step,
            rank,
            what,
        }))
    }
}

/// Runs `plan`, whose calls are all of the session's world, and gives the kernels of the calls that
/// were right, in order. `focus` is the kernel that the ending uses.
///
/// # Errors
/// [`Stop`] at the first fault. The session's memory, and on some backends the session, is spoilt then.
pub fn run(session: &mut dyn Session, plan: &Plan, focus: Callable) -> Result<Vec<Kernel>, Stop> {
    let mut ranks = Ranks::prepare(session, plan, focus)?;
    let mut right = Vec::new();
    let mut bursts = Random::new(plan.seed.rotate_left(32));
    let mut left = plan.calls.as_slice();
    while !left.is_empty() {
        let most = ranks.session.limits().burst.max(1);
        let mut length = left.len().min(1 + bursts.below(most) as usize);
        if bursts.once_in(2) {
            length = ranks.until_wrap(left.get(..length).unwrap_or(left));
        }
        // What the host orders it does not queue: such a call stands alone.
        let by_host = left.iter().take(length).position(|call| call.kernel.is_ordered_by_host());
        if let Some(at) = by_host {
            length = at.max(1);
        }
        let (burst, rest) = left.split_at(length);
        ranks.calls(burst, Step::Call)?;
        right.extend(burst.iter().map(|call| call.kernel));
        left = rest;
    }
    let mut random = Random::new(!plan.seed);
    let limits = ranks.session.limits();
    match plan.ending {
        Ending::Quiet => {}
        Ending::OverCapacity => {
            let count = focus.kernel.capacity(plan.inbox_bytes).saturating_add(1);
            ranks.over_capacity(&Call::with_count(focus, count, &limits, &mut random))?;
        }
        Ending::Absent(absent) => {
            let mut draw = || loop {
                let call = Call::draw(focus, plan.inbox_bytes, &limits, &mut random);
                // A call without elements waits for nobody.
                if call.count > 0 {
                    break call;
                }
            };
            let (spoilt, recovered) = (draw(), draw());
            ranks.absent(&spoilt, absent)?;
            ranks.start(0)?;
            ranks.calls(std::slice::from_ref(&recovered), Step::Recovered)?;
            right.push(recovered.kernel);
        }
    }
    Ok(right)
}

impl<'a> Ranks<'a> {
    fn prepare(session: &'a mut dyn Session, plan: &Plan, focus: Callable) -> Result<Self, Stop> {
        let world = focus.kernel.world;
        let workspace = Workspace::new(world, plan.inbox_bytes)
            .ok_or_else(|| BackendError::unable(format!("{} bytes are no size of an inbox", plan.inbox_bytes)))?;
        session.clear();
        let mut workspaces = Vec::new();
        let mut buffers = vec![Vec::new(); session.limits().burst.max(1) as usize];
        // Room for the longest message of any kernel, and for one element too many.
        let data = plan.inbox_bytes + 4;
        let by_host = plan.calls.iter().any(|call| call.kernel.is_ordered_by_host());
        let sharing = if by_host { Sharing::Peers } else { Sharing::Own };
        for rank in 0..world.ranks() {
            workspaces.push(session.allocate(rank, workspace.bytes(), Sharing::Peers)?);
            for buffers in &mut buffers {
                buffers.push(Buffers::allocate(session, rank, data, sharing)?);
            }
        }
        let mut ranks = Self { session, workspace, workspaces, buffers, epoch: 0, calls: 0 };
        ranks.start(plan.start_epoch)?;
        Ok(ranks)
    }

    /// How many of the calls there are up to the first whose epoch asks for more than a call's own work: what that leaves
    /// can only be seen right after it.
    fn until_wrap(&self, calls: &[Call]) -> usize {
        let mut epoch = self.epoch;
        let special = calls.iter().position(|call| {
            if is_call(call) {
                epoch = epoch::next(epoch);
            }
            is_call(call) && (epoch::refills_ll(epoch) || epoch::refreshes_flags(epoch))
        });
        special.map_or(calls.len(), |index| index + 1)
    }

    /// Prepares every workspace, as if `epoch` calls had gone before.
    fn start(&mut self, epoch: u32) -> Result<(), Stop> {
        let mut memory = vec![0; usize::try_from(self.workspace.bytes()).unwrap_or(0)];
        self.workspace.prepare(&mut memory).map_err(BackendError::unable)?;
        if let Some(word) = memory.first_chunk_mut::<4>() {
            *word = epoch.to_le_bytes();
        }
        for workspace in &self.workspaces {
            self.session.write(*workspace, 0, &memory)?;
        }
        self.epoch = epoch;
        Ok(())
    }

    /// Calls to which every rank comes, queued behind each other so that a rank may begin one while
    /// another is still in the one before: right sums, and the state that the contract wants at the end.
    fn calls(&mut self, calls: &[Call], step: Step) -> Result<(), Stop> {
        let spin_limit = self.session.limits().ample_spin;
        let (mut filled, mut launches) = (Vec::new(), Vec::new());
        let mut last = None;
        for (slot, call) in calls.iter().enumerate() {
            let place = self.place(call, step);
            let (inputs, before) = self.fill(call, slot)?;
            launches.extend(self.launches(call, slot, |_| true, spin_limit));
            if is_call(call) {
                self.epoch = epoch::next(self.epoch);
            }
            last = is_call(call).then_some(call);
            filled.push((place, inputs, before));
        }
        let Some((place, ..)) = filled.last() else { return Ok(()) };
        self.launch(place, &launches)?;
        // A rank that gave up explains every other fault: look at the workspaces first.
        self.verify_workspaces(place, After { epoch: self.epoch, call: last, over_capacity: false })?;
        for (slot, (place, inputs, before)) in filled.iter().enumerate() {
            let sum = values::sum(&place.call.kernel, inputs);
            self.verify_buffers(place, slot, before, Expected::Sum { sum: &sum, inputs })?;
        }
        Ok(())
    }

    /// A message that is too long is no call: every rank says so and nothing else changes.
    fn over_capacity(&mut self, call: &Call) -> Result<(), Stop> {
        let place = self.place(call, Step::OverCapacity);
        let (_, before) = self.fill(call, 0)?;
        self.launch_one(&place, |_| true, self.session.limits().ample_spin)?;
        self.verify_workspaces(&place, After { epoch: self.epoch, call: None, over_capacity: true })?;
        self.verify_buffers(&place, 0, &before, Expected::Untouched)
    }

    /// Rule 6: the others give up on a rank that does not come, and say on whom; that rank, when it
    /// comes, and all ranks in a further call, end without waiting and without a new reason.
    fn absent(&mut self, call: &Call, absent: u32) -> Result<(), Stop> {
        let limits = self.session.limits();
        let low = epoch::next(self.epoch) & 0x00FF_FFFF;

        let place = self.place(call, Step::Absent);
        let (_, before) = self.fill(call, 0)?;
        self.launch_one(&place, |rank| rank != absent, limits.short_spin)?;
        let statuses = self.statuses()?;
        let present = || (0..).zip(&statuses).filter(|(rank, _)| *rank != absent);
        let timed_out = present().filter_map(|(_, status)| match Status::decode(*status) {
            Status::TimedOut { awaited, .. } => Some(awaited),
            _ => None,
        });
        let named: Vec<u32> = timed_out.collect();
        for (rank, status) in present() {
            let fits = match Status::decode(*status) {
                Status::TimedOut { awaited, epoch } => epoch == low && waits::for_rank(call, rank, awaited, absent),
                Status::PeerGaveUp { awaited, epoch } => epoch == low && (named.is_empty() || named.contains(&awaited)),
                _ => false,
            };
            if !fits {
                let expected = format!("timed out or told, waiting for rank {absent} in call {low}");
                return Err(wrong_status(&place, rank, *status, expected));
            }
        }
        if named.is_empty() {
            let message = "every rank says that a peer gave up, none that it timed out".to_owned();
            return Err(place.fault(None, What::Kernel { message }));
        }
        self.verify_buffers(&place, 0, &before, Expected::Anything)?;

        let received = self.received()?;
        let place = Place { step: Step::Late, ..place };
        self.launch_one(&place, |rank| rank == absent, limits.ample_spin)?;
        self.verify_received(&place, &received)?;
        let (status, fits) = self.status(
            absent,
            |status| matches!(status, Status::PeerGaveUp { awaited, epoch } if named.contains(&awaited) && epoch == low),
        )?;
        if !fits {
            let expected = format!("told that a peer gave up, waiting for rank {absent} in call {low}");
            return Err(wrong_status(&place, absent, status, expected));
        }
        self.verify_buffers(&place, 0, &before, Expected::Anything)?;

        let place = self.place(call, Step::Spoilt);
        let first = self.statuses()?;
        self.launch_one(&place, |_| true, limits.ample_spin)?;
        self.verify_received(&place, &received)?;
        for (rank, (was, is)) in (0..).zip(first.into_iter().zip(self.statuses()?)) {
            if was != is {
                let expected = format!("{} ({was:#010x}) as before", Status::decode(was));
                return Err(wrong_status(&place, rank, is, expected));
            }
        }
        self.verify_buffers(&place, 0, &before, Expected::Anything)
    }

    /// What peers may store in each rank's workspace: flags and inboxes.
    fn received(&mut self) -> Result<Vec<Vec<u8>>, Stop> {
        let (start, end) = (self.workspace.flag(0), self.workspace.stage(0));
        let mut all = Vec::new();
        for region in &self.workspaces {
            let mut memory = vec![0; usize::try_from(end - start).unwrap_or(0)];
            self.session.read(*region, start, &mut memory)?;
            all.push(memory);
        }
        Ok(all)
    }

    /// Rule 6: who has given up, or is told so, stores nothing to peers.
    fn verify_received(&mut self, place: &Place<'_>, before: &[Vec<u8>]) -> Result<(), Stop> {
        for (rank, (was, is)) in (0..).zip(before.iter().zip(self.received()?)) {
            if let Some(at) = was.iter().zip(&is).position(|(was, is)| was != is) {
                let offset = self.workspace.flag(0) + at as u64;
                let (saw, expected) = ("a store of a rank that takes no part".to_owned(), "nothing new".to_owned());
                return Err(
                    place.fault(Some(rank), What::Word { name: "a flag or inbox".to_owned(), offset, saw, expected })
                );
            }
        }
        Ok(())
    }

    fn place<'c>(&mut self, call: &'c Call, step: Step) -> Place<'c> {
        self.calls += 1;
        Place { call, number: self.calls, step }
    }

    /// Draws every rank's elements and writes them to the buffers of a place in a burst; gives them, and all
    /// bytes of the buffers.
    fn fill(&mut self, call: &Call, slot: usize) -> Result<(Vec<Vec<u8>>, Vec<Before>), Stop> {
        let mut random = Random::new(call.seed);
        let (mut inputs, mut before) = (Vec::new(), Vec::new());
        for (rank, buffers) in call.ranks.iter().zip(self.buffers.get(slot).into_iter().flatten()) {
            let data = values::generate(call.kernel.element, call.values, call.count as usize, &mut random);
            before.push(buffers.fill(self.session, call.kernel.element, rank, &data)?);
            inputs.push(data);
        }
        Ok((inputs, before))
    }

    /// What every rank that comes launches for a call.
    fn launches(&self, call: &Call, slot: usize, comes: impl Fn(u32) -> bool, spin_limit: u32) -> Vec<Launch> {
        let symbol = call.kernel.symbol();
        let buffers = self.buffers.get(slot).into_iter().flatten();
        let parts = (0..).zip(call.ranks.iter().zip(buffers).map(|(part, buffers)| {
            let [input, output] = buffers.arguments(call.kernel.element, part);
            (part, input, output)
        }));
        if call.kernel.is_ordered_by_host() {
            let (inputs, outputs): (Vec<Value>, Vec<Value>) =
                parts.map(|(_, (_, input, output))| (input, output)).unzip();
            let part = call.ranks.get(call.root as usize);
            let launch = |part: &RankCall| {
                let words = [call.count, part.blocks, part.threads].map(Value::Word);
                let arguments = inputs.into_iter().chain(outputs).chain(words).collect();
                Launch { rank: call.root, symbol, arguments, blocks: part.blocks, threads: part.threads }
            };
            return part.map(launch).into_iter().collect();
        }
        let root = (call.kernel.algorithm == Algorithm::RootGather).then_some(Value::Word(call.root));
        let launch = |(rank, (part, input, output)): (u32, (&RankCall, Value, Value))| {
            let words = [call.count, rank, part.blocks, part.threads, self.workspace.inbox_bytes(), spin_limit];
            let workspaces = self.workspaces.iter().map(|region| Value::Address { region: *region, offset: 0 });
            let arguments = [input, output].into_iter().chain(words.map(Value::Word)).chain(workspaces).chain(root);
            let (symbol, arguments) = (symbol.clone(), arguments.collect());
            Launch { rank, symbol, arguments, blocks: part.blocks, threads: part.threads }
        };
        parts.filter(|(rank, _)| comes(*rank)).map(launch).collect()
    }

    fn launch_one(&mut self, place: &Place<'_>, comes: impl Fn(u32) -> bool, spin_limit: u32) -> Result<(), Stop> {
        let launches = self.launches(place.call, 0, comes, spin_limit);
        self.launch(place, &launches)
    }

    fn launch(&mut self, place: &Place<'_>, launches: &[Launch]) -> Result<(), Stop> {
        self.session.launch(launches, place.call.seed).map_err(|error| {
            if error.by_kernel {
                place.fault(None, What::Kernel { message: error.message })
            } else {
                Stop::Backend(error)
            }
        })
    }

    fn verify_workspaces(&mut self, place: &Place<'_>, after: After) -> Result<(), Stop> {
        let world = place.call.kernel.world;
        let mut memory = vec![0; usize::try_from(self.workspace.bytes()).unwrap_or(0)];
        for (rank, region) in (0..).zip(&self.workspaces) {
            self.session.read(*region, 0, &mut memory)?;
            if let Some(what) = state::verify(&memory, &self.workspace, world, rank, after) {
                return Err(place.fault(Some(rank), what));
            }
        }
        Ok(())
    }

    fn verify_buffers(
        &mut self,
        place: &Place<'_>,
        slot: usize,
        before: &[Before],
        expected: Expected<'_>,
    ) -> Result<(), Stop> {
        for (rank, (buffers, before)) in (0..).zip(self.buffers.get(slot).into_iter().flatten().zip(before)) {
            if let Some(what) = buffers.verify(self.session, before, expected)? {
                return Err(place.fault(Some(rank), what));
            }
        }
        Ok(())
    }

    fn statuses(&mut self) -> Result<Vec<u32>, Stop> {
        let mut statuses = Vec::new();
        for region in &self.workspaces {
            let mut memory = [0; 16];
            self.session.read(*region, 0, &mut memory)?;
            let [_, status, ..] = state::header(&memory);
            statuses.push(status);
        }
        Ok(statuses)
    }

    /// A rank's status word, and whether it is as wanted.
    fn status(&mut self, rank: u32, wanted: impl Fn(Status) -> bool) -> Result<(u32, bool), Stop> {
        let status = self.statuses()?.get(rank as usize).copied().unwrap_or(0);
        Ok((status, wanted(Status::decode(status))))
    }
}

/// Whether it is a call in the sense of the contract: it has an epoch.
fn is_call(call: &Call) -> bool {
    call.count > 0 && !call.kernel.is_ordered_by_host()
}

fn wrong_status(place: &Place<'_>, rank: u32, saw: u32, expected: String) -> Stop {
    let saw = format!("{} ({saw:#010x})", Status::decode(saw));
    let offset = xreduce_contract::workspace::STATUS;
    place.fault(Some(rank), What::Word { name: "status".to_owned(), offset, saw, expected })
}
