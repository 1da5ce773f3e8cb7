//! Placeholder until the first code lands.
