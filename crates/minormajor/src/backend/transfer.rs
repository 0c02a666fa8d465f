//! From the host to a device and back, in another layout: where the relayout is done.

use std::fmt;
use std::sync::Arc;

use minormajor_core::Plan;
use minormajor_core::plan::PlanClass;

use super::{Backend, DeviceError, Storage};
use crate::executor::{Relayout, RunError};

/// Where an array is moved to its new layout on the way between host and device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Route {
    /// Nowhere: the bytes are right already.
    Raw,
    /// Raw bytes over the link, and a relayout on the device.
    OnDevice,
    /// A relayout on the host, since then fewer bytes go over the link.
    OnHost,
}

/// How an array gets from host to device or back: the route that moves the fewest bytes over the
/// link between them, and of equal ones the relayout on the device, which is the faster of the two.
///
/// ```
/// use minormajor::{Plan, Shape, backend::{Route, Transfer}};
///
/// let rows: Shape = "f32[3,5]{1,0}".parse()?;
/// let columns: Shape = "f32[3,5]{0,1}".parse()?;
/// let tiles: Shape = "f32[3,5]{1,0:T(8,128)}".parse()?;
/// let plan = |from: &Shape, to: &Shape| -> Result<_, Box<dyn std::error::Error>> {
///     Ok(Plan::new(from.as_array()?, to.as_array()?)?)
/// };
/// assert_eq!(Transfer::upload(&plan(&rows, &rows)?).route, Route::Raw);
/// assert_eq!(Transfer::upload(&plan(&rows, &columns)?).route, Route::OnDevice);
/// let untile = Transfer::upload(&plan(&tiles, &rows)?);
/// assert_eq!(
///     untile.to_string(),
///     "relayout on the host, then 60 bytes over the link (raw they would be 4096)"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Where the relayout is done.
    pub route: Route,
    /// Bytes over the link.
    pub link_bytes: i64,
    /// Bytes over the link if the relayout were done on the other side.
    other_bytes: i64,
    to_device: bool,
}

impl Transfer {
    /// From the host to a device.
    pub fn upload(plan: &Plan) -> Transfer {
        Transfer::new(plan, plan.source_bytes(), plan.destination_bytes(), true)
    }

    /// From a device to the host.
    pub fn download(plan: &Plan) -> Transfer {
        Transfer::new(plan, plan.destination_bytes(), plan.source_bytes(), false)
    }

    fn new(plan: &Plan, by_device: i64, by_host: i64, to_device: bool) -> Transfer {
        let (route, link_bytes, other_bytes) = match plan.class() {
            PlanClass::Identity => (Route::Raw, plan.destination_bytes(), by_host),
            _ if by_host < by_device => (Route::OnHost, by_host, by_device),
            _ => (Route::OnDevice, by_device, by_host),
        };
        Transfer {
            route,
            link_bytes,
            other_bytes,
            to_device,
        }
    }
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Transfer {
            link_bytes,
            other_bytes,
            ..
        } = self;
        let (host, device) = ("relayout on the host", "relayout on the device");
        match (self.route, self.to_device) {
            (Route::Raw, _) => write!(f, "{link_bytes} bytes over the link, as they are"),
            (Route::OnHost, true) => write!(
                f,
                "{host}, then {link_bytes} bytes over the link (raw they would be {other_bytes})"
            ),
            (Route::OnDevice, true) => write!(f, "{link_bytes} bytes over the link, then {device}"),
            (Route::OnHost, false) => write!(
                f,
                "{link_bytes} bytes over the link (relaid they would be {other_bytes}), then {host}"
            ),
            (Route::OnDevice, false) => {
                write!(f, "{device}, then {link_bytes} bytes over the link")
            }
        }
    }
}

/// [`Backend::upload_relaid`] of the other methods.
pub(super) fn upload_relaid<B: Backend + ?Sized>(
    backend: &B,
    plan: &Plan,
    bytes: &[u8],
) -> Result<Arc<dyn Storage>, DeviceError> {
    match Transfer::upload(plan).route {
        Route::Raw => backend.upload(&bytes[..plan.destination_bytes() as usize]),
        Route::OnDevice => {
            let raw = backend.upload(&bytes[..plan.source_bytes() as usize])?;
            backend.relayout(plan, &*raw)
        }
        Route::OnHost => {
            let mut relaid = host_bytes(backend.name(), plan.destination_bytes() as usize)?;
            on_host(backend.name(), plan, bytes, &mut relaid)?;
            backend.upload(&relaid)
        }
    }
}

/// [`Backend::download_relaid`] of the other methods.
pub(super) fn download_relaid<B: Backend + ?Sized>(
    backend: &B,
    plan: &Plan,
    storage: &dyn Storage,
    into: &mut [u8],
) -> Result<(), DeviceError> {
    match Transfer::download(plan).route {
        Route::Raw => backend.download(storage, 0, into),
        Route::OnDevice => backend.download(&*backend.relayout(plan, storage)?, 0, into),
        Route::OnHost => {
            let mut raw = host_bytes(backend.name(), plan.source_bytes() as usize)?;
            backend.download(storage, 0, &mut raw)?;
            on_host(backend.name(), plan, &raw, into)
        }
    }
}

/// [`Backend::upload_from`] of the other methods.
pub(super) fn upload_from<B: Backend + ?Sized>(
    backend: &B,
    bytes: usize,
    write: &mut dyn FnMut(&mut [u8]) -> Result<(), DeviceError>,
) -> Result<Arc<dyn Storage>, DeviceError> {
    let mut made = host_bytes(backend.name(), bytes)?;
    write(&mut made)?;
    backend.upload(&made)
}

/// Zeros on the host.
fn host_bytes(device: &str, bytes: usize) -> Result<Vec<u8>, DeviceError> {
    let mut made = Vec::new();
    made.try_reserve_exact(bytes)
        .map_err(|_| DeviceError::OutOfMemory {
            device: format!("the host of {device}"),
            bytes,
            free: None,
        })?;
    made.resize(bytes, 0);
    Ok(made)
}

/// Runs a plan on the host.
pub(super) fn on_host(
    device: &str,
    plan: &Plan,
    source: &[u8],
    destination: &mut [u8],
) -> Result<(), DeviceError> {
    let run = Relayout::new(plan).and_then(|relayout| relayout.run(source, destination));
    run.map_err(|error: RunError| DeviceError::Failed {
        device: device.to_owned(),
        what: error.to_string(),
    })
}
