//! Opens containers down to device images.
//!
//! One module per container; this one recognises what bytes are and carries the path. Everything
//! that is found, passed over or broken is collected, in the order of the input, whatever the
//! number of threads.

mod archive;
mod bundle;
mod ccob;
mod fatbin;
mod host;
mod kpack;
mod offload_binary;
mod package;
mod sequence;
mod sycl;
mod unpack;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::bytes::u16_at;
use crate::error::ReadError;
use crate::facts::{Detail, amdgpu, cubin, ptx, spirv, zebin};
use crate::limits::Limits;
use crate::model::{Container, ContainerKind, Fault, FaultKind, Image, Inspection, Skipped};

/// `e_machine` of device ELF files.
const EM_CUDA: u16 = 190;
const EM_INTELGT: u16 = 205;
const EM_AMDGPU: u16 = 224;

/// Settings of one walk.
#[derive(Clone, Copy)]
pub(crate) struct Walker<'w> {
    pub(crate) limits: Limits,
    pub(crate) detail: Detail,
    /// Host symbols that somebody asked for.
    pub(crate) wanted: &'w BTreeSet<String>,
    /// Told of bytes that will not be read again.
    pub(crate) done: &'w (dyn Fn(&[u8]) + Sync),
    /// Bytes that may still be unpacked and walked.
    pub(crate) work: &'w AtomicU64,
}

/// Where the walk stands.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Path, joined by ` > `.
    path: String,
    /// Path of the group of images a runtime chooses from.
    group: String,
    /// Identity that the enclosing container gives.
    container_id: Option<String>,
    /// False below `__nv_relfatbin`.
    loaded: bool,
    /// The bytes are device code whatever they look like: silence would hide something.
    device: bool,
    /// Inside a container that is being unpacked: no further threads, they would unpack more.
    sequential: bool,
    depth: u8,
}

/// What a part of the walk found; parts are joined in order.
pub(crate) type Found = Inspection;

impl Place {
    pub(crate) fn root(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            group: path.to_owned(),
            container_id: None,
            loaded: true,
            device: false,
            sequential: false,
            depth: 0,
        }
    }

    /// The place one container deeper.
    fn inside(&self, name: &str) -> Self {
        Self { path: format!("{} > {name}", self.path), depth: self.depth.saturating_add(1), ..self.clone() }
    }

    /// As [`Self::inside`], where device code must follow; the images within form a group.
    fn group(&self, name: &str) -> Self {
        let mut place = self.inside(name);
        place.group.clone_from(&place.path);
        place.device = true;
        place
    }

    /// An image of this group, with the identity that the container gives it.
    fn image(&self, id: &str) -> Self {
        let mut place = self.inside(id);
        place.container_id = Some(id.to_owned());
        place.device = true;
        place
    }
}

impl Inspection {
    pub(crate) fn fault(&mut self, place: &Place, kind: FaultKind, message: impl Into<String>) {
        self.faults.push(Fault { path: place.path.clone(), kind, message: message.into() });
    }

    pub(crate) fn malformed(&mut self, place: &Place, message: impl Into<String>) {
        self.fault(place, FaultKind::Malformed, message);
    }

    fn refused(&mut self, place: &Place, error: &ReadError) {
        self.fault(place, error.kind(), error.to_string());
    }

    fn skip(&mut self, place: &Place, reason: impl Into<String>) {
        self.skipped.push(Skipped { path: place.path.clone(), reason: reason.into() });
    }

    fn container(&mut self, place: &Place, kind: ContainerKind, bytes: usize) {
        self.containers.push(Container { path: place.path.clone(), kind, bytes: bytes as u64 });
    }

    /// Appends what was found further on.
    pub(crate) fn join(&mut self, next: Self) {
        self.images.extend(next.images);
        self.containers.extend(next.containers);
        self.skipped.extend(next.skipped);
        self.faults.extend(next.faults);
        self.host_symbols.extend(next.host_symbols);
    }
}

impl Walker<'_> {
    /// Opens whatever `bytes` are.
    pub(crate) fn walk(&self, bytes: &[u8], place: &Place) -> Found {
        let mut found = Found::default();
        if place.depth > self.limits.depth {
            let limit = self.limits.depth;
            found.malformed(place, format!("more than {limit} containers within each other"));
            return found;
        }
        if !self.afford(bytes.len() as u64, place, &mut found) {
            return found;
        }
        if bytes.starts_with(b"\x7fELF") {
            match u16_at(bytes, 18) {
                Some(EM_AMDGPU) => self.image(amdgpu::read(bytes, self.detail), place, &mut found),
                Some(EM_CUDA) => self.image(cubin::read(bytes, self.detail), place, &mut found),
                Some(EM_INTELGT) => self.image(zebin::read(bytes, self.detail), place, &mut found),
                _ => return host::open(self, bytes, place),
            }
        } else if sequence::starts(bytes) {
            return sequence::open(self, bytes, place);
        } else if spirv::is_spirv(bytes) {
            self.image(spirv::read(bytes, self.detail), place, &mut found);
        } else if ptx::is_ptx(bytes) {
            self.image(ptx::read(bytes, self.detail), place, &mut found);
        } else if archive::is_archive(bytes) {
            return archive::open(self, bytes, place);
        } else if kpack::is_kpack(bytes) {
            return kpack::open(self, bytes, place);
        } else if package::is_package(bytes) {
            return package::open(self, bytes, place);
        } else if host::is_host(bytes) {
            return host::open(self, bytes, place);
        } else if place.device {
            let start = bytes.get(..bytes.len().min(8)).unwrap_or(bytes);
            let kind = if bytes.starts_with(b"BC\xc0\xde") {
                "LLVM bitcode, compiled at run time".to_owned()
            } else {
                format!("{} bytes of unknown form, beginning with {start:02x?}", bytes.len())
            };
            found.fault(place, FaultKind::Unreadable, kind);
        } else {
            found.skip(place, "no device code and no known container");
        }
        found
    }

    /// Charges `bytes` of work; false, and reported, once the file has cost too much.
    fn afford(&self, bytes: u64, place: &Place, found: &mut Found) -> bool {
        let pay = |left: u64| left.checked_sub(bytes);
        let paid = self.work.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pay).is_ok();
        if !paid {
            found.malformed(place, "the containers of this file unpack to more than its size allows");
        }
        paid
    }

    /// Puts an image that was read, or the refusal to read it, in its place.
    fn image(&self, read: Result<Image, ReadError>, place: &Place, found: &mut Found) {
        match read {
            Ok(image) => {
                let id = place.container_id.as_deref().unwrap_or("");
                if id.contains("amdgcnspirv") || id.contains("spirv64-amd") {
                    let message = "SPIR-V for AMD: host calls are decided when it is compiled at run time";
                    found.fault(place, FaultKind::Unreadable, message);
                }
                found.images.push(Image {
                    path: place.path.clone(),
                    container_id: place.container_id.clone(),
                    group: place.group.clone(),
                    loaded: place.loaded,
                    ..image
                });
            }
            Err(error) => found.refused(place, &error),
        }
    }

    /// Applies `open` to all items, in parallel unless the place forbids it, and joins in order.
    fn each<T: Sync>(&self, items: &[T], place: &Place, open: impl Fn(&T) -> Found + Sync + Send) -> Found {
        let parts: Vec<Found> = if place.sequential || items.len() < 2 {
            items.iter().map(open).collect()
        } else {
            items.par_iter().map(open).collect()
        };
        let mut found = Found::default();
        for part in parts {
            found.join(part);
        }
        found
    }
}
