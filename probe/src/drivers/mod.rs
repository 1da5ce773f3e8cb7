//! What the installed drivers say: devices, who reaches whom, and on HIP two kernels launched.
//!
//! Drivers are opened at run time, so nothing need be installed to build or to start. A driver can crash or hang, so whoever
//! calls [`ask`] does that in a process of its own: [`ask_apart`] starts it.

mod apart;
mod cuda;
mod hip;
mod level_zero;
mod library;

use serde::{Deserialize, Serialize};

pub use apart::ask_apart;

use crate::address::Address;

/// A driver that can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Driver {
    /// AMD.
    Hip,
    /// NVIDIA.
    Cuda,
    /// Intel.
    LevelZero,
}

impl Driver {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Hip, Self::Cuda, Self::LevelZero];

    /// The stable word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Hip => "hip",
            Self::Cuda => "cuda",
            Self::LevelZero => "level-zero",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Hip => "HIP",
            Self::Cuda => "CUDA",
            Self::LevelZero => "Level Zero",
        }
    }
}

/// What all drivers said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Answers {
    /// Nobody was asked: the tree is not this machine's.
    #[serde(rename = "not-asked")]
    NotAsked,
    /// One answer for each driver.
    #[serde(untagged)]
    Asked(Vec<Answer>),
}

impl Answers {
    pub(crate) fn all(&self) -> &[Answer] {
        match self {
            Self::NotAsked => &[],
            Self::Asked(answers) => answers,
        }
    }
}

/// How far the talk with a driver came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Not installed.
    Absent,
    /// Installed, and does not answer as it should.
    Failed,
    /// Works and finds no device.
    NoDevice,
    /// Works.
    Answered,
}

/// What one driver said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Which.
    pub driver: Driver,
    /// How far it came.
    pub state: State,
    /// Name of the library that was opened.
    pub library: Option<String>,
    /// What went wrong, or was left out.
    pub trouble: Vec<String>,
    /// Its devices, in its own order.
    pub devices: Vec<Device>,
    /// Access for each ordered pair of devices.
    pub peers: Vec<Access>,
    /// Kernels launched.
    pub kernels: Vec<Run>,
}

/// A device of a driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Name that the driver gives it.
    pub name: String,
    /// Where it sits.
    pub address: Option<Address>,
    /// Target, if the driver says.
    pub target: Option<String>,
}

/// Whether one device reaches another's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Index of the device that reaches.
    pub from: usize,
    /// Index of the device that is reached.
    pub to: usize,
    /// Whether it can.
    pub can: bool,
}

/// Our two kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// Stores a number, needs nothing.
    Plain,
    /// Declares a hostcall buffer, looks whether it got one, calls nobody.
    Hostcall,
}

impl Kernel {
    /// Name in the code object.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Plain => "xreduce_probe_plain",
            Self::Hostcall => "xreduce_probe_hostcall",
        }
    }
}

/// A launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Index of the device.
    pub device: usize,
    /// Which kernel.
    pub kernel: Kernel,
    /// How it ended.
    pub end: End,
    /// The driver's words, or what kept it from being tried.
    pub detail: Option<String>,
}

/// How a launch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Ran and stored the right number.
    Ran,
    /// The driver did not launch it.
    Refused,
    /// Launched, and ended with an error or the wrong number.
    Wrong,
    /// Not tried.
    Untried,
}

/// Gives the code object with both kernels for a target, e.g. `gfx1100`, or says why there is none.
pub type Lower<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// The two kernels as LLVM IR: code object version 5, where the hostcall buffer's address lies at byte 80 of the implicit
/// arguments (LLVM, "User Guide for AMDGPU Backend", Code Object V5 Hidden Argument Layout).
pub const KERNELS: &str = include_str!("kernels.ll");

/// What the plain kernel stores.
const PLAIN: u32 = 0x0070_1a17;
/// What the hostcall kernel stores when it got a buffer.
const WITH_BUFFER: u32 = 0x0b0f_fe12;

/// Asks one driver. `targets` are the machine's cards ([`crate::targets`]), `lower` makes code for them.
#[must_use]
pub fn ask(driver: Driver, targets: &[(Address, Option<String>)], lower: Lower<'_>) -> Answer {
    match driver {
        Driver::Hip => hip::ask(targets, lower),
        Driver::Cuda => cuda::ask(),
        Driver::LevelZero => level_zero::ask(),
    }
}

impl Answer {
    /// An answer without devices.
    #[must_use]
    pub fn empty(driver: Driver, state: State, trouble: Option<String>) -> Self {
        Self {
            driver,
            state,
            library: None,
            trouble: trouble.into_iter().collect(),
            devices: Vec::new(),
            peers: Vec::new(),
            kernels: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KERNELS, Kernel, PLAIN, WITH_BUFFER};

    #[test]
    fn kernels_store_what_is_looked_for() {
        for (kernel, word) in [(Kernel::Plain, PLAIN), (Kernel::Hostcall, WITH_BUFFER)] {
            let text = KERNELS.split("define ").find(|text| text.contains(kernel.symbol())).unwrap();
            assert!(text.contains(&format!("i32 {word}")), "{text}");
        }
    }
}
