//! Loads: what a load may return, by its scope and by what its agent's caches may hold (`order.rs`).

use super::Memory;
use super::order::{Agent, AgentId, AgentSpec, Reach, Scope, join, ones};
use super::version::Version;
use crate::rng::Rng;

/// The eyes of one load: latest time of a visible write by class of writer.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    reader: AgentId,
    spec: AgentSpec,
    own: bool,
    block: u64,
    device: u64,
    foreign: u64,
}

impl Memory {
    /// What a load of `bytes` (1, 2, 4 or 8, within one granule) returns if it samples memory now.
    pub(crate) fn load(&mut self, agent: AgentId, address: u64, bytes: u64, scope: Scope, rng: &mut Rng) -> u64 {
        let granule = address & !7;
        let value = match self.view(agent, granule, scope, rng) {
            None => {
                let (low, high) = (self.word(granule), self.word(granule + 4));
                join(low.value, high.value)
            }
            Some(view) => join(self.seen(granule, &view), self.seen(granule + 4, &view)),
        };
        let value = if scope == Scope::Scalar { value } else { self.forward(agent, granule, value) };
        (value >> ((address & 7) * 8)) & ones(bytes)
    }

    /// The view of a load, or none when the granule was not written in this run.
    fn view(&mut self, agent: AgentId, granule: u64, scope: Scope, rng: &mut Rng) -> Option<View> {
        if !self.weak {
            return None;
        }
        let newest = self.word(granule).newest.max(self.word(granule + 4).newest);
        let newest = self.history.get(newest)?.time;
        let now = self.history.now();
        let fresh = self.temper.fresh;
        let state = self.agents.get_mut(agent.0 as usize)?;
        let spec = state.spec;
        let device = self.devices.get(spec.device.index())?;
        let block = device.blocks.get(&spec.block).copied().unwrap_or_default();
        let l0 = if spec.shared_l0 { block.l0 } else { state.l0 };
        let floors = match scope {
            Scope::System => (now, now, now),
            Scope::Device => (now, now, device.l2),
            Scope::Workgroup => (now, block.l1, block.l1.min(device.l2)),
            Scope::Agent => (if spec.shared_l0 { now } else { l0 }, l0.min(block.l1), l0.min(block.l1).min(device.l2)),
            Scope::Scalar => (block.scalar, block.scalar, block.scalar.min(device.l2)),
        };
        let lowest = floors.0.min(floors.1).min(floors.2);
        let time = if lowest >= newest {
            now
        } else {
            let last = state.fills.get(&granule).copied().filter(|time| *time >= lowest);
            let time = match last {
                _ if rng.one_in(fresh) => now,
                Some(time) => time,
                None if rng.one_in(4) => lowest + rng.below(now - lowest + 1),
                None => lowest,
            };
            state.fills.insert(granule, time);
            time
        };
        let own = scope != Scope::Scalar;
        Some(View {
            reader: agent,
            spec,
            own,
            block: floors.0.max(time),
            device: floors.1.max(time),
            foreign: floors.2.max(time),
        })
    }

    pub(super) fn fresh_view(&self, agent: AgentId) -> Option<View> {
        let spec = self.agents.get(agent.0 as usize)?.spec;
        let now = self.history.now();
        Some(View { reader: agent, spec, own: true, block: now, device: now, foreign: now })
    }

    /// The newest value of a word that a view sees.
    pub(super) fn seen(&self, address: u64, view: &View) -> u32 {
        let word = self.word(address);
        let mut index = word.newest;
        while let Some(version) = self.history.get(index) {
            if self.sees(view, version) {
                return version.value;
            }
            index = version.older;
        }
        word.value
    }

    fn sees(&self, view: &View, version: &Version) -> bool {
        if version.time == 0 || (view.own && version.writer == view.reader) {
            return true;
        }
        let Some(writer) = self.agents.get(version.writer.0 as usize) else {
            return version.time <= view.foreign;
        };
        let same_device = writer.spec.device == view.spec.device;
        let reached = match version.reach {
            Reach::System => true,
            Reach::Device => same_device,
            Reach::Complex => same_device && writer.spec.complex == view.spec.complex,
        };
        let horizon = if writer.spec.block == view.spec.block {
            view.block
        } else if same_device {
            view.device
        } else {
            view.foreign
        };
        reached && version.time <= horizon
    }

    /// A value with what is still in the agent's own buffer (or its block's, where L0 is shared) laid over it.
    fn forward(&self, agent: AgentId, granule: u64, value: u64) -> u64 {
        let lay = |value: u64, state: &Agent| {
            state
                .stores
                .iter()
                .filter(|piece| piece.granule == granule)
                .fold(value, |value, piece| (value & !piece.mask) | piece.value)
        };
        let Some(own) = self.agents.get(agent.0 as usize) else { return value };
        let mut value = value;
        if own.spec.shared_l0 {
            let busy = self.devices.get(own.spec.device.index()).map_or(&[][..], |device| &device.busy);
            for other in busy.iter().filter(|other| **other != agent) {
                if let Some(state) =
                    self.agents.get(other.0 as usize).filter(|state| state.spec.block == own.spec.block)
                {
                    value = lay(value, state);
                }
            }
        }
        lay(value, own)
    }
}
