//! Products: operands brought into forms that cuBLAS takes.

use minormajor::backend::{DeviceError, Operand, Strided};
use minormajor::{ElementType, Plan};

use super::CudaBackend;
use super::memory::Memory;
use crate::driver::Queue;
use crate::product::{self, BYTES_AT_A_TIME, Part, Place};

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
        let (a, b) = (self.matrices(left, true)?, self.matrices(right, false)?);
        let place = Place::from(result);
        // Batches may be minor to matrices; then the product is made elsewhere, and moved.
        let direct = product::lie(&place);
        let columns = place.packed(false, 1);
        let (to, target) = match direct {
            Some(_) => (None, &place),
            None => {
                let bytes = columns.packed_bytes() as usize;
                (Some(self.new_memory(Queue::Main, bytes)?), &columns)
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

    /// An operand of a product in a form that cuBLAS takes: as it is, or as a copy. Bytes have to lie
    /// along the sum, the left one's columns and the right one's rows.
    fn matrices(&self, operand: &Operand<'_>, is_left: bool) -> Result<Matrices, DeviceError> {
        let memory = self.memory(operand.storage)?;
        let place = Place::from(&operand.place);
        let of_bytes = place.element_type == ElementType::S8;
        let direct = match of_bytes {
            false => product::lie(&place),
            true => product::lie_as(&place, is_left).filter(|lie| {
                let (rows, columns) = place.matrix();
                let sum = if is_left { columns } else { rows };
                let address = memory.address.wrapping_add_signed(place.offset);
                let batches = &place.strides[..place.strides.len() - 2];
                let is_whole = |elements: &i64| elements % BYTES_AT_A_TIME == 0;
                address.is_multiple_of(BYTES_AT_A_TIME as u64)
                    && [sum, lie.leading].iter().chain(batches).all(is_whole)
            }),
        };
        if let Some(lie) = direct {
            return Ok(Matrices {
                address: memory.address,
                place,
                lie,
                copy: None,
            });
        }
        let (copied, reason) = match of_bytes {
            false => (
                place.packed(false, 1),
                "BLAS takes matrices with one stride of 1".to_owned(),
            ),
            true => (
                place.packed(is_left, BYTES_AT_A_TIME),
                format!(
                    "bytes are taken along the sum, lines of a multiple of {BYTES_AT_A_TIME} with \
                     zeros behind them"
                ),
            ),
        };
        let views = place
            .view(&place)
            .and_then(|from| Ok((from, copied.view(&place)?)));
        let (from, to) = views.map_err(|error| self.failed(error))?;
        let plan = Plan::new(&from, &to).map_err(|error| self.failed(error))?;
        self.note(format!(
            "mm: an operand of sizes {:?} and strides {:?} was copied, {} bytes, since {reason}",
            place.sizes,
            place.strides,
            copied.packed_bytes(),
        ));
        let copy = self.relaid_with_room(&plan, memory, copied.packed_bytes() as usize)?;
        let lie = product::lie_as(&copied, of_bytes && is_left)
            .ok_or_else(|| self.failed("a copy is not packed"))?;
        Ok(Matrices {
            address: copy.address,
            place: copied,
            lie,
            copy: Some(copy),
        })
    }
}
