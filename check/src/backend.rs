//! What a check needs of a place where kernels run: memory of each rank and launches on it.
//!
//! A backend decides nothing about right and wrong; it runs what it is given and reports accesses
//! that no kernel may make, if it can see them.

use std::fmt;

use xreduce_contract::World;
use xreduce_contract::manifest::Format;

/// A place where kernels run.
pub trait Backend {
    /// The word for it on the command line and in reports, e.g. `opencl`.
    fn name(&self) -> &'static str;

    /// Whether modules of this format run here.
    fn runs(&self, format: &Format) -> bool;

    /// Loads a module for all ranks of its world.
    ///
    /// # Errors
    /// [`BackendError`] when there is no device, or it does not take the module.
    fn open(&self, module: &ModuleBytes<'_>) -> Result<Box<dyn Session>, BackendError>;
}

/// A module to be run.
#[derive(Debug, Clone, Copy)]
pub struct ModuleBytes<'a> {
    /// Its file, for messages.
    pub name: &'a str,
    /// Processor or device that it is for, as the manifest's target says.
    pub processors: &'a [String],
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Its ranks.
    pub world: World,
}

/// What a session can run, and how patient its kernels must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most blocks that are resident at the same time on one rank's device.
    pub blocks: u32,
    /// Most threads of a block, besides what the kernel itself allows.
    pub threads: u32,
    /// Largest inbox to be drawn, bytes: how much a call may cost here.
    pub inbox_bytes: u32,
    /// Most calls that may be queued on every rank before the host waits for them; 1: a call at a time.
    pub burst: u32,
    /// A `spin_limit` that is never reached when all ranks come.
    pub ample_spin: u32,
    /// A `spin_limit` that is soon reached when one does not come.
    pub short_spin: u32,
}

/// Memory of one rank, made by [`Session::allocate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Region(pub usize);

/// Who may reach a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// All ranks: a workspace.
    Peers,
    /// Its own rank alone: `in` and `out`.
    Own,
}

/// A kernel argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// The address of a byte of a region, as the launching rank's device sees it.
    Address {
        /// The region.
        region: Region,
        /// Byte offset in it.
        offset: u64,
    },
    /// A 32-bit value.
    Word(u32),
}

/// One kernel on one rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The rank.
    pub rank: u32,
    /// The kernel's symbol.
    pub symbol: String,
    /// All its arguments, in the contract's order.
    pub arguments: Vec<Value>,
    /// Blocks.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
}

/// A loaded module with memory on every rank. Ends its ranks when dropped.
pub trait Session {
    /// The device, for reports and for the manifest's evidence.
    fn device(&self) -> String;

    /// What can run here.
    fn limits(&self) -> Limits;

    /// Gives all regions back.
    fn clear(&mut self);

    /// Memory on the device of `rank`, aligned to 256 bytes, contents undefined.
    ///
    /// # Errors
    /// [`BackendError`] when there is not as much.
    fn allocate(&mut self, rank: u32, bytes: u64, sharing: Sharing) -> Result<Region, BackendError>;

    /// Copies into a region.
    ///
    /// # Errors
    /// [`BackendError`] outside the region.
    fn write(&mut self, region: Region, offset: u64, bytes: &[u8]) -> Result<(), BackendError>;

    /// Copies from a region.
    ///
    /// # Errors
    /// [`BackendError`] outside the region.
    fn read(&mut self, region: Region, offset: u64, bytes: &mut [u8]) -> Result<(), BackendError>;

    /// Runs these kernels together and waits until all have ended; those of one rank in the order
    /// given, each when the one before it has ended. A rank that is not named does not come. `seed` decides whatever this backend is free to decide.
    ///
    /// # Errors
    /// [`BackendError`] when a kernel crashed, did not end, or touched what it must not.
    fn launch(&mut self, launches: &[Launch], seed: u64) -> Result<(), BackendError>;
}

/// Why a backend could not do its part: for a person to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendError {
    /// Whether a kernel is at fault (it crashed, hung, left its memory) and not the backend or its device.
    pub by_kernel: bool,
    /// What happened, where.
    pub message: String,
}

impl BackendError {
    /// The backend or its device could not do it.
    #[must_use]
    pub fn unable(message: impl fmt::Display) -> Self {
        Self { by_kernel: false, message: message.to_string() }
    }

    /// A kernel did what none may.
    #[must_use]
    pub fn kernel(message: impl fmt::Display) -> Self {
        Self { by_kernel: true, message: message.to_string() }
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BackendError {}
