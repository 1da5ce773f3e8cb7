//! One PCI function: what its folder in sysfs and its configuration space say.
//!
//! Files: Linux, `Documentation/ABI/testing/sysfs-bus-pci`. Link speed and width come from those files (readable by all), or
//! else from the registers.

use serde::{Serialize, Serializer};

use crate::address::Address;
use crate::config::{AccessControl, Config, Express, Found, PortKind};
use crate::names;
use crate::tree::Tree;

/// A PCI function. `None` means: not readable here, never: no.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Function {
    /// Address.
    pub address: Address,
    /// Vendor id.
    #[serde(serialize_with = "hexadecimal")]
    pub vendor: u16,
    /// Device id.
    #[serde(serialize_with = "hexadecimal")]
    pub device: u16,
    /// Name in the PCI ID Repository.
    pub name: Option<&'static str>,
    /// Kind of port.
    pub kind: Option<PortKind>,
    /// Kernel driver bound to it.
    pub driver: Option<String>,
    /// Number of its IOMMU group; `None` also where no IOMMU is on.
    pub iommu_group: Option<u32>,
    /// Link to the component above.
    pub link: Link,
    /// AtomicOp capabilities and controls.
    pub atomics: Atomics,
    /// Access control, where extended capabilities could be read.
    pub acs: Option<Acs>,
    /// Bytes of configuration space that were readable.
    pub config_bytes: usize,
    /// Whether it answers: a sleeping or lost device reads as all ones.
    pub answers: Option<bool>,
    /// More than one function, as its header says.
    pub multifunction: Option<bool>,
}

/// A link as negotiated, and as this end of it could.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Link {
    /// GT/s.
    pub speed: Option<f64>,
    /// Lanes.
    pub width: Option<u32>,
    /// GT/s at most.
    pub max_speed: Option<f64>,
    /// Lanes at most.
    pub max_width: Option<u32>,
}

/// Device Capabilities 2 and Device Control 2, as far as they concern AtomicOps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Atomics {
    /// Routes AtomicOps between its ports (capability bit 6; switches, root ports).
    pub routing: Option<bool>,
    /// Completes 32-bit AtomicOps (bit 7).
    pub completer_32: Option<bool>,
    /// Completes 64-bit AtomicOps (bit 8).
    pub completer_64: Option<bool>,
    /// Completes 128-bit compare and swap (bit 9).
    pub completer_128: Option<bool>,
    /// May send AtomicOps (control bit 6), which a driver or firmware has set.
    pub requester_enabled: Option<bool>,
    /// Lets no AtomicOp out (control bit 7; ports).
    pub egress_blocked: Option<bool>,
}

/// Access Control Services of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Acs {
    /// Whether it has the capability.
    pub present: bool,
    /// Peer requests go up to the root complex (control bit 2).
    pub request_redirect: bool,
    /// So do their completions (bit 3).
    pub completion_redirect: bool,
    /// What comes back down may be meant for a peer (bit 4).
    pub upstream_forwarding: bool,
}

fn hexadecimal<S: Serializer>(id: &u16, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{id:#06x}"))
}

/// Vendor and device ids of a function, and its class: three bytes.
pub(crate) fn identity(tree: &Tree, folder: &str) -> Option<(u16, u16, u32)> {
    let number = |name: &str| tree.number(&format!("{folder}/{name}"));
    let id = |name: &str| number(name).and_then(|id| u16::try_from(id).ok());
    Some((id("vendor")?, id("device")?, u32::try_from(number("class")?).ok()?))
}

impl Function {
    /// Reads the function in this folder below the root.
    pub(crate) fn read(tree: &Tree, folder: &str, address: Address) -> Option<Self> {
        let (vendor, device, _) = identity(tree, folder)?;
        let path = format!("{folder}/config");
        let bytes = tree.config(&path);
        let config = Config(&bytes);
        let answers = config.answers();
        // All ones are no capabilities.
        let config = if answers == Some(false) { Config(&[]) } else { config };
        let express = match config.express() {
            Found::Present(express) => Some(express),
            Found::Circular => {
                tree.note(&path, "the list of capabilities runs in a circle");
                None
            }
            Found::Absent | Found::Hidden => None,
        };
        Some(Self {
            address,
            vendor,
            device,
            name: names::device(vendor, device),
            kind: express.map(|express| express.kind),
            driver: tree.link(&format!("{folder}/driver")),
            iommu_group: tree.link(&format!("{folder}/iommu_group")).and_then(|group| group.parse().ok()),
            link: Link::read(tree, folder, express),
            atomics: Atomics::read(config, express),
            acs: Acs::read(tree, &path, config),
            config_bytes: bytes.len(),
            answers,
            multifunction: config.multifunction(),
        })
    }

    /// What a text calls it.
    pub(crate) fn title(&self) -> String {
        let unknown = || format!("unknown device {:04x}:{:04x}", self.vendor, self.device);
        self.name.map_or_else(unknown, str::to_owned)
    }
}

impl Link {
    fn read(tree: &Tree, folder: &str, express: Option<Express>) -> Self {
        // "16.0 GT/s PCIe", "16"; "Unknown" and 0 where there is no link.
        let speed = |name: &str| {
            let word = tree.word(&format!("{folder}/{name}_link_speed"))?;
            let rate: f64 = word.split(' ').next()?.parse().ok()?;
            (rate.is_finite() && rate > 0.0).then_some(rate)
        };
        let width = |name: &str| {
            let word = tree.word(&format!("{folder}/{name}_link_width"))?;
            word.parse().ok().filter(|lanes| (1..=32).contains(lanes))
        };
        let [now, most] = express.map_or([(None, None); 2], Express::link);
        Self {
            speed: speed("current").or(now.0),
            width: width("current").or(now.1),
            max_speed: speed("max").or(most.0),
            max_width: width("max").or(most.1),
        }
    }
}

impl Atomics {
    fn read(config: Config<'_>, express: Option<Express>) -> Self {
        match express {
            Some(Express { capabilities_2, control_2, .. }) => {
                let capability = |bit: u32| Some(capabilities_2 >> bit & 1 == 1);
                let control = |bit: u32| Some(control_2 >> bit & 1 == 1);
                Self {
                    routing: capability(6),
                    completer_32: capability(7),
                    completer_64: capability(8),
                    completer_128: capability(9),
                    requester_enabled: control(6),
                    egress_blocked: control(7),
                }
            }
            // Conventional PCI has no AtomicOps.
            None if config.express() == Found::Absent => Self {
                routing: Some(false),
                completer_32: Some(false),
                completer_64: Some(false),
                completer_128: Some(false),
                requester_enabled: Some(false),
                egress_blocked: Some(false),
            },
            None => Self::default(),
        }
    }
}

impl Acs {
    fn read(tree: &Tree, path: &str, config: Config<'_>) -> Option<Self> {
        let none =
            Self { present: false, request_redirect: false, completion_redirect: false, upstream_forwarding: false };
        match config.access_control() {
            Found::Present(AccessControl { control }) => Some(Self {
                present: true,
                request_redirect: control >> 2 & 1 == 1,
                completion_redirect: control >> 3 & 1 == 1,
                upstream_forwarding: control >> 4 & 1 == 1,
            }),
            Found::Absent => Some(none),
            Found::Hidden => None,
            Found::Circular => {
                tree.note(path, "the list of extended capabilities runs in a circle");
                None
            }
        }
    }
}
