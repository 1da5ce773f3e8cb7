//! Where a PCI function sits: `domain:bus:device.function`, as Linux writes it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Address of a PCI function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// Domain (segment group); 32 bits, since Linux counts virtual ones from 0x10000.
    pub domain: u32,
    /// Bus.
    pub bus: u8,
    /// Device, 0 to 31.
    pub device: u8,
    /// Function, 0 to 7.
    pub function: u8,
}

impl Address {
    /// Reads `0000:03:00.0`; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (front, function) = text.rsplit_once('.')?;
        let mut parts = front.split(':');
        let (domain, bus, device) = (parts.next()?, parts.next()?, parts.next()?);
        let hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let shaped = (4..=8).contains(&domain.len()) && bus.len() == 2 && device.len() == 2 && function.len() == 1;
        if !shaped || parts.next().is_some() || ![domain, bus, device, function].into_iter().all(hexadecimal) {
            return None;
        }
        let address = Self {
            domain: u32::from_str_radix(domain, 16).ok()?,
            bus: u8::from_str_radix(bus, 16).ok()?,
            device: u8::from_str_radix(device, 16).ok()?,
            function: u8::from_str_radix(function, 16).ok()?,
        };
        (address.device < 32 && address.function < 8).then_some(address)
    }

    /// Whether both are functions of one device.
    #[must_use]
    pub fn same_slot(self, other: Self) -> bool {
        (self.domain, self.bus, self.device) == (other.domain, other.bus, other.device)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:04x}:{:02x}:{:02x}.{:x}", self.domain, self.bus, self.device, self.function)
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom(format_args!("`{text}` is no PCI address")))
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn only_addresses_are_read() {
        for text in ["0000:03:00.0", "10000:e1:1f.7"] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
        for text in ["", ".", "pci0000:00", "0000:03:00", "0000:03:20.0", "0000:03:00.8", "0000:+3:00.0", "0:0:0.0"] {
            assert_eq!(Address::parse(text), None, "{text}");
        }
    }
}
