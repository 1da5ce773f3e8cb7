//! Opening a driver and finding its functions.
#![allow(unsafe_code, reason = "C interfaces, opened at run time")]

use std::ffi::c_char;

use libloading::Library;

use super::{Answer, Driver, State};

/// A driver's library.
pub(super) struct Api {
    library: Library,
    pub(super) name: &'static str,
}

impl Api {
    /// Opens the first of these libraries that is there.
    pub(super) fn open(driver: Driver, names: &[&'static str]) -> Result<Self, Box<Answer>> {
        let mut first = None;
        for name in names {
            // SAFETY: a driver's initialisers run; they are what any program that uses this driver runs. The caller sits in a
            // process of its own.
            match unsafe { Library::new(*name) } {
                Ok(library) => return Ok(Self { library, name }),
                Err(error) => {
                    // Found and broken is worth telling; not found is the rule.
                    let text = reason(&error);
                    if !text.contains("cannot open shared object file") || !text.contains(name) {
                        first.get_or_insert(text);
                    }
                }
            }
        }
        let state = if first.is_some() { State::Failed } else { State::Absent };
        Err(Box::new(Answer::empty(driver, state, first)))
    }

    /// A function of the library.
    ///
    /// # Safety
    /// `T` must be the function pointer type of the C declaration, and the result must not outlive the library.
    pub(super) unsafe fn function<T: Copy>(&self, name: &str) -> Result<T, String> {
        // SAFETY: the caller's contract.
        let found = unsafe { self.library.get::<T>(name) };
        found.map(|symbol| *symbol).map_err(|error| reason(&error))
    }
}

/// The loader's own words, which name the library, if it had any.
fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Text in a buffer that a driver filled, up to its zero.
pub(super) fn text(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> = buffer.iter().map(|letter| letter.cast_unsigned()).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes)
        .trim()
        .chars()
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect()
}

/// A table of a driver's functions, all of which give a status.
macro_rules! functions {
    ($(#[$about:meta])* $table:ident { $($field:ident = $name:literal: ($($argument:ty),* $(,)?);)* }) => {
        $(#[$about])*
        struct $table {
            $($field: unsafe extern "C" fn($($argument),*) -> i32,)*
            /// Keeps the functions loaded.
            #[allow(dead_code, reason = "held for its drop; some tables read it too")]
            api: $crate::drivers::library::Api,
        }

        impl $table {
            fn load(api: $crate::drivers::library::Api) -> Result<Self, String> {
                Ok(Self {
                    // SAFETY: the signatures are those of the driver's header, and the library stays in the table.
                    $($field: unsafe { api.function($name) }?,)*
                    api,
                })
            }
        }
    };
}
pub(super) use functions;
