//! Libraries of functions, opened at run time.

/// A struct of a library's functions, which keeps the library open.
macro_rules! library {
    (
        $(#[$doc:meta])*
        $name:ident {
            $(fn $function:ident($($argument:ident: $type:ty),* $(,)?);)*
        }
    ) => {
        $(#[$doc])*
        #[allow(non_snake_case)]
        pub(super) struct $name {
            $(pub $function: unsafe extern "C" fn($($argument: $type),*) -> std::ffi::c_int,)*
            _library: libloading::Library,
        }

        impl $name {
            /// Opens the first of these libraries that is there.
            ///
            /// # Errors
            ///
            /// What the system said of the first, or the function that is missing.
            #[allow(non_snake_case)]
            pub fn open(names: &[std::ffi::OsString]) -> Result<$name, String> {
                let library = $crate::nvidia::library::first(names)?;
                $(
                    // SAFETY: the function of this name has these arguments, all of C's types, and
                    // returns an enum: NVIDIA's documentation says so, and names that end in a
                    // version keep their arguments for good. The pointer is used as long as the
                    // library is open, since both are in one struct.
                    #[allow(unsafe_code)]
                    let $function = unsafe {
                        *library
                            .get::<unsafe extern "C" fn($($type),*) -> std::ffi::c_int>(
                                concat!(stringify!($function), "\0").as_bytes(),
                            )
                            .map_err(|_| {
                                format!("the library has no {}: it is too old", stringify!($function))
                            })?
                    };
                )*
                Ok($name { $($function,)* _library: library })
            }
        }
    };
}

pub(super) use library;
use std::ffi::OsString;

/// The first library of these names that can be opened.
pub(super) fn first(names: &[OsString]) -> Result<libloading::Library, String> {
    let mut reason = None;
    for name in names {
        // SAFETY: a library of NVIDIA's: what it does when it is opened is to set itself up.
        #[allow(unsafe_code)]
        match unsafe { libloading::Library::new(name) } {
            Ok(library) => return Ok(library),
            Err(error) => {
                // Some systems name the library themselves.
                let (name, error) = (name.display().to_string(), error.to_string());
                reason.get_or_insert_with(|| match error.contains(&name) {
                    true => error,
                    false => format!("{name}: {error}"),
                });
            }
        }
    }
    Err(reason.unwrap_or_else(|| "no name of a library".to_owned()))
}
