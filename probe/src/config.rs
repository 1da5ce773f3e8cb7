//! PCI configuration space: the registers that decide how far an AtomicOp or a peer's request gets.
//!
//! From the PCI Express Base Specification, revision 5.0: header 7.5.1, capability list 7.5.1.1.11, PCI Express capability
//! 7.5.3 (Link Capabilities 7.5.3.6, Link Status 7.5.3.8, Device Capabilities 2 7.5.3.15, Device Control 2 7.5.3.16),
//! extended capabilities 7.6.3, ACS 7.7.8; what the bits mean together: AtomicOps 6.15, ACS 6.12.
//! A process without privileges sees 64 bytes, the header alone (Linux, `drivers/pci/pci-sysfs.c`). Left out: everything
//! else that lies there.

/// What a look-up of a capability can end in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found<T> {
    Present(T),
    Absent,
    /// The bytes end before the list does.
    Hidden,
    /// The list runs in a circle.
    Circular,
}

/// The bytes of a configuration space, as many as are shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config<'a>(pub(crate) &'a [u8]);

/// Device/Port Type of the PCI Express capability (7.5.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortKind {
    /// 0000b, 0001b.
    Endpoint,
    /// 0100b.
    RootPort,
    /// 0101b.
    UpstreamPort,
    /// 0110b.
    DownstreamPort,
    /// 0111b, 1000b.
    Bridge,
    /// 1001b, 1010b.
    RootComplexEndpoint,
    /// A reserved value.
    Reserved,
}

/// The PCI Express capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Express {
    pub(crate) kind: PortKind,
    /// Device Capabilities 2; 0 where the capability's version has none.
    pub(crate) capabilities_2: u32,
    /// Device Control 2; 0 where the capability's version has none.
    pub(crate) control_2: u16,
    link_capabilities: u32,
    link_status: u16,
}

/// The Access Control Services capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessControl {
    /// ACS Control (7.7.8.3).
    pub(crate) control: u16,
}

const CAPABILITY_EXPRESS: u8 = 0x10;
const EXTENDED_ACS: u32 = 0x0d;
/// Most capabilities that fit: 192 bytes of 4 each, and 3840 bytes of 4 each.
const MOST: usize = 48;
const MOST_EXTENDED: usize = 960;

impl Config<'_> {
    fn byte(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    fn word(self, at: usize) -> Option<u16> {
        let bytes = self.0.get(at..at.checked_add(2)?)?;
        Some(u16::from_le_bytes(bytes.try_into().ok()?))
    }

    fn double(self, at: usize) -> Option<u32> {
        let bytes = self.0.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    /// Whether the function answered: all ones is what a read of nothing gives (2.3.2).
    pub(crate) fn answers(self) -> Option<bool> {
        self.word(0).map(|vendor| vendor != 0xffff)
    }

    /// Bit 7 of the Header Type (7.5.1.1.9).
    pub(crate) fn multifunction(self) -> Option<bool> {
        self.byte(0x0e).map(|kind| kind & 0x80 != 0)
    }

    fn capability(self, wanted: u8) -> Found<usize> {
        match self.word(0x06) {
            Some(status) if status & 0x10 == 0 => return Found::Absent, // Status, Capabilities List
            Some(_) => {}
            None => return Found::Hidden,
        }
        let Some(mut at) = self.byte(0x34) else { return Found::Hidden };
        for _ in 0..MOST {
            let place = usize::from(at & 0xfc);
            if place < 0x40 {
                return Found::Absent;
            }
            match (self.byte(place), self.byte(place + 1)) {
                (Some(id), Some(_)) if id == wanted => return Found::Present(place),
                (Some(_), Some(next)) => at = next,
                _ => return Found::Hidden,
            }
        }
        Found::Circular
    }

    fn extended(self, wanted: u32) -> Found<usize> {
        let mut place = 0x100;
        for _ in 0..MOST_EXTENDED {
            let Some(header) = self.double(place) else { return Found::Hidden };
            if header == 0 || header == u32::MAX {
                return Found::Absent;
            }
            if header & 0xffff == wanted {
                return Found::Present(place);
            }
            // At most 0xffc: a dozen bits.
            place = usize::try_from(header >> 20 & 0xffc).unwrap_or(0);
            if place < 0x100 {
                return Found::Absent;
            }
        }
        Found::Circular
    }

    pub(crate) fn express(self) -> Found<Express> {
        let place = match self.capability(CAPABILITY_EXPRESS) {
            Found::Present(place) => place,
            Found::Absent => return Found::Absent,
            Found::Hidden => return Found::Hidden,
            Found::Circular => return Found::Circular,
        };
        self.express_at(place).map_or(Found::Hidden, Found::Present)
    }

    fn express_at(self, place: usize) -> Option<Express> {
        let flags = self.word(place + 0x02)?;
        // Version 1 ends before these registers.
        let second = flags & 0xf >= 2;
        Some(Express {
            kind: match flags >> 4 & 0xf {
                0 | 1 => PortKind::Endpoint,
                4 => PortKind::RootPort,
                5 => PortKind::UpstreamPort,
                6 => PortKind::DownstreamPort,
                7 | 8 => PortKind::Bridge,
                9 | 10 => PortKind::RootComplexEndpoint,
                _ => PortKind::Reserved,
            },
            link_capabilities: self.double(place + 0x0c)?,
            link_status: self.word(place + 0x12)?,
            capabilities_2: if second { self.double(place + 0x24)? } else { 0 },
            control_2: if second { self.word(place + 0x28)? } else { 0 },
        })
    }

    pub(crate) fn access_control(self) -> Found<AccessControl> {
        match self.extended(EXTENDED_ACS) {
            Found::Present(place) => match self.word(place + 0x06) {
                Some(control) => Found::Present(AccessControl { control }),
                None => Found::Hidden,
            },
            Found::Absent => Found::Absent,
            Found::Hidden => Found::Hidden,
            Found::Circular => Found::Circular,
        }
    }
}

impl Express {
    /// Rate in GT/s and lanes, now and at most. The code of a rate is an index into the vector of Link Capabilities 2
    /// (7.5.3.18), whose first six bits mean the rates of the six generations.
    pub(crate) fn link(self) -> [(Option<f64>, Option<u32>); 2] {
        let rate = |code| match code {
            1 => Some(2.5),
            2 => Some(5.0),
            3 => Some(8.0),
            4 => Some(16.0),
            5 => Some(32.0),
            6 => Some(64.0),
            _ => None,
        };
        let read = |register: u32| (rate(register & 0xf), Some(register >> 4 & 0x3f).filter(|lanes| *lanes > 0));
        [read(u32::from(self.link_status)), read(self.link_capabilities)]
    }
}
