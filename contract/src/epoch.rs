//! Epochs: numbers of the calls on a workspace (contract, rules 1 and 9).

/// The last epoch before the count starts again at 1; 0 and `0xFFFF_FFFF` are never epochs.
pub const LAST: u32 = 0xFFFF_FFFE;

/// The epoch after `epoch`. `next(0)` is the first call of a prepared workspace.
#[must_use]
pub const fn next(epoch: u32) -> u32 {
    if epoch == LAST { 1 } else { epoch.wrapping_add(1) }
}

/// Which of the two banks the call with this epoch uses.
#[must_use]
pub const fn bank(epoch: u32) -> u32 {
    epoch & 1
}

/// Whether this call, of any kind, puts its own `ll` bank back to "never written".
#[must_use]
pub const fn refills_ll(epoch: u32) -> bool {
    epoch == LAST || epoch == LAST - 1
}

/// Whether this call, of any kind, stores its flag to every peer.
#[must_use]
pub const fn refreshes_flags(epoch: u32) -> bool {
    epoch == LAST || epoch == 0x8000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrap_skips_the_values_that_are_never_epochs() {
        assert_eq!([next(0), next(1), next(LAST - 1), next(LAST)], [1, 2, LAST, 1]);
        assert_ne!(bank(LAST), bank(next(LAST)), "two calls in a row never share a bank");
    }
}
