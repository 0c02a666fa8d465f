//! Plans run in memory of the device, or of the host where the device has no way for one.

use minormajor::backend::{Argument, DeviceError, Route, Strided, Transfer};
use minormajor::{Plan, Relayout, StridedView};

use super::CudaBackend;
use super::memory::Memory;
use crate::compute::{self, Side};
use crate::driver::Queue;
use crate::relayout::{launches, supported};

/// Elements from which an operand in another order is brought into the result's first: fewer stay in
/// a cache.
const MANY: i64 = 1 << 16;

impl CudaBackend {
    /// Runs a plan in memory of the device, or of the host where the device has no way for it.
    pub(super) fn relaid(&self, plan: &Plan, source: &Memory) -> Result<Memory, DeviceError> {
        self.relaid_with_room(plan, source, plan.destination_bytes() as usize)
    }

    /// The same, in memory of no less than the plan's bytes; those that it doesn't write are zeros.
    pub(super) fn relaid_with_room(
        &self,
        plan: &Plan,
        source: &Memory,
        bytes: usize,
    ) -> Result<Memory, DeviceError> {
        let too_short = source.bytes < plan.source_bytes() as usize;
        if too_short {
            return Err(self.failed(format!(
                "the source takes {} bytes, and the storage has {}",
                plan.source_bytes(),
                source.bytes
            )));
        }
        if let Err(reason) = supported(plan) {
            self.note(format!("relayout on the host: {reason}"));
            let mut raw = self.host_bytes(plan.source_bytes() as usize)?;
            self.downloaded(source, 0, &mut raw)?;
            let mut made = self.on_host(plan, &raw)?;
            made.resize(bytes, 0);
            return self.uploaded(&made);
        }
        let made = self.new_memory(Queue::Main, bytes)?;
        if plan.bytes_written() < bytes as i64 {
            self.zero(&made)?;
        }
        self.relay(plan, source, &made)?;
        Ok(made)
    }

    /// Runs a plan on memory of the device that is there.
    pub(super) fn relay(
        &self,
        plan: &Plan,
        source: &Memory,
        destination: &Memory,
    ) -> Result<(), DeviceError> {
        if destination.bytes == 0 {
            return Ok(());
        }
        let card = self.driver.card();
        let launches = launches(plan, source.address, destination.address, card);
        for launch in &launches.map_err(|reason| self.unsupported(reason))? {
            self.launch(launch)?;
        }
        Ok(())
    }

    pub(super) fn on_host(&self, plan: &Plan, source: &[u8]) -> Result<Vec<u8>, DeviceError> {
        let mut made = self.host_bytes(plan.destination_bytes() as usize)?;
        let run = Relayout::new(plan).and_then(|relayout| relayout.run(source, &mut made));
        run.map_err(|error| self.failed(error))?;
        Ok(made)
    }

    /// Where a transfer's relayout is done: on the host too where kernels have no way for it.
    pub(super) fn route(transfer: Transfer, plan: &Plan) -> Route {
        match transfer.route {
            Route::OnDevice if supported(plan).is_err() => Route::OnHost,
            route => route,
        }
    }

    /// The same elements, with strides in bytes.
    pub(super) fn view(&self, place: &Strided) -> Result<StridedView, DeviceError> {
        let width = i64::from(place.element_type().byte_width());
        let strides: Vec<i64> = place
            .strides()
            .iter()
            .map(|stride| stride * width)
            .collect();
        let offset = place.offset() * width;
        StridedView::new(place.element_type(), place.sizes(), &strides, offset)
            .map_err(|error| self.failed(error))
    }

    /// A copy of a side whose neighbours lie far apart where those of the result do not: reading it
    /// as it is would read each sector of memory several times.
    pub(super) fn ordered(
        &self,
        argument: &Argument<'_>,
        result: &Strided,
    ) -> Result<Option<Memory>, DeviceError> {
        let Argument::Array(operand) = argument else {
            return Ok(None);
        };
        let place = &operand.place;
        if place.elements() < MANY || !compute::is_scattered(place, result) {
            return Ok(None);
        }
        let (from, to) = (self.view(place)?, self.view(result)?);
        let plan = Plan::new(&from, &to).map_err(|error| self.failed(error))?;
        Ok(Some(self.relaid(&plan, self.memory(operand.storage)?)?))
    }

    /// A side of an operation, or its copy in the order of the result.
    pub(super) fn side<'a>(
        &self,
        argument: &'a Argument<'a>,
        copy: &Option<Memory>,
        result: &'a Strided,
    ) -> Result<Side<'a>, DeviceError> {
        Ok(match (argument, copy) {
            (Argument::Array(_), Some(copy)) => Side::Array(copy.address, result),
            (Argument::Array(operand), None) => {
                Side::Array(self.memory(operand.storage)?.address, &operand.place)
            }
            (Argument::Scalar(value), _) => Side::Scalar(*value),
        })
    }
}
