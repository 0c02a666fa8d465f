//! Products: operands brought into forms that cuBLAS takes.

use minormajor::backend::{DeviceError, Operand, Strided};
use minormajor::{ElementType, Plan};

use super::CudaBackend;
use super::memory::Memory;
use crate::driver::Queue;
use crate::product::{self, Part, Place};

/// An operand as cuBLAS takes it.
struct Matrices {
    address: u64,
    place: Place,
    lie: product::Lie,
    /// Keeps the copy until the product is queued.
    #[allow(dead_code)]
    copy: Option<Memory>,
}

impl Matrices {
    fn part(&self) -> Part<'_> {
        Part {
            address: self.address,
            place: &self.place,
            lie: self.lie,
        }
    }
}

impl CudaBackend {
    /// The product of two operands, in new memory.
    pub(super) fn multiplied(
        &self,
        left: &Operand<'_>,
        right: &Operand<'_>,
        result: &Strided,
    ) -> Result<Memory, DeviceError> {
        let sizes = left.place.sizes();
        let made = self.new_memory(Queue::Main, result.bytes())?;
        if made.bytes == 0 {
            return Ok(made);
        }
        if sizes[sizes.len() - 1] == 0 {
            self.zero(&made)?;
            return Ok(made);
        }
        let (a, b) = (self.matrices(left)?, self.matrices(right)?);
        let place = Place::from(result);
        // Batches may be minor to matrices; then the product is made elsewhere, and moved.
        let direct = product::lie(&place);
        let columns = place.columns(1);
        let (to, target) = match direct {
            Some(_) => (None, &place),
            None => {
                let bytes = columns.sizes.iter().product::<i64>() * columns.width();
                (
                    Some(self.new_memory(Queue::Main, bytes as usize)?),
                    &columns,
                )
            }
        };
        let lie = direct
            .or_else(|| product::lie(&columns))
            .ok_or_else(|| self.failed("a result is not column-major"))?;
        let part = Part {
            address: to.as_ref().map_or(made.address, |to| to.address),
            place: target,
            lie,
        };
        for product in product::products(a.part(), b.part(), part) {
            let counts = [product.m, product.n, product.k, product.batch];
            let leading = [product.left, product.right, product.result].map(|m| m.leading);
            if let Some(long) = counts
                .into_iter()
                .chain(leading)
                .find(|&n| n > i64::from(i32::MAX))
            {
                return Err(self.unsupported(format!(
                    "cuBLAS takes sizes and strides of matrices below 2^31, not {long}"
                )));
            }
            let multiplied = self.driver.product(&product);
            multiplied.map_err(|fault| self.fault(fault))?;
        }
        let Some(to) = to else {
            return Ok(made);
        };
        let views = columns
            .view(&place)
            .and_then(|from| Ok((from, place.view(&place)?)));
        let (from, into) = views.map_err(|error| self.failed(error))?;
        let plan = Plan::new(&from, &into).map_err(|error| self.failed(error))?;
        self.relaid(&plan, &to)
    }

    /// An operand of a product in a form that cuBLAS takes: as it is, or as a copy.
    fn matrices(&self, operand: &Operand<'_>) -> Result<Matrices, DeviceError> {
        let memory = self.memory(operand.storage)?;
        let place = Place::from(&operand.place);
        // Bytes are multiplied four at a time: columns begin at multiples of four.
        let multiple = if place.element_type == ElementType::S8 {
            4
        } else {
            1
        };
        let batches = &place.strides[..place.strides.len() - 2];
        let is_aligned = |leading: i64| {
            let address = memory
                .address
                .wrapping_add_signed(place.offset * place.width());
            leading % multiple == 0
                && address.is_multiple_of(multiple as u64)
                && batches.iter().all(|stride| stride % multiple == 0)
        };
        if let Some(lie) = product::lie(&place)
            && is_aligned(lie.leading)
        {
            return Ok(Matrices {
                address: memory.address,
                place,
                lie,
                copy: None,
            });
        }
        let columns = place.columns(multiple);
        let views = place
            .view(&place)
            .and_then(|from| Ok((from, columns.view(&place)?)));
        let (from, to) = views.map_err(|error| self.failed(error))?;
        let plan = Plan::new(&from, &to).map_err(|error| self.failed(error))?;
        self.note(format!(
            "mm: an operand of sizes {:?} and strides {:?} was copied, {} bytes, since BLAS takes \
             matrices with one stride of 1{}",
            place.sizes,
            place.strides,
            plan.destination_bytes(),
            if multiple > 1 {
                " and the other a multiple of 4"
            } else {
                ""
            },
        ));
        let copy = self.relaid(&plan, memory)?;
        let lie =
            product::lie(&columns).ok_or_else(|| self.failed("a copy is not column-major"))?;
        Ok(Matrices {
            address: copy.address,
            place: columns,
            lie,
            copy: Some(copy),
        })
    }
}
