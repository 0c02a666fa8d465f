//! Matrix products as cuBLAS defines them: column-major, transposed by flags, one by one.

use half::{bf16, f16};
use minormajor::ElementType;
use minormajor_cuda::product::{Matrix, Product};

use crate::memory::Memory;

/// Runs a product; also what cuBLAS would refuse is refused.
pub(crate) fn run(memory: &mut Memory, product: &Product) -> Result<(), String> {
    match product.element_type {
        ElementType::F32 => naive(memory, product, f32::from_le_bytes, f64::from, |x| {
            (x as f32).to_le_bytes()
        }),
        ElementType::F64 => naive(memory, product, f64::from_le_bytes, |x| x, f64::to_le_bytes),
        ElementType::F16 => naive(memory, product, f16::from_le_bytes, f64::from, |x| {
            f16::from_f64(x).to_le_bytes()
        }),
        ElementType::Bf16 => naive(memory, product, bf16::from_le_bytes, f64::from, |x| {
            bf16::from_f64(x).to_le_bytes()
        }),
        ElementType::S8 => {
            let is_aligned = |m: &Matrix| {
                m.leading % 4 == 0 && m.batch_stride % 4 == 0 && m.address.is_multiple_of(4)
            };
            let [left, right] = [product.left, product.right];
            if !(left.transposed && is_aligned(&left) && !right.transposed && is_aligned(&right)) {
                return Err(format!(
                    "bytes do not lie along the sum by fours: {product:?}"
                ));
            }
            if product.k % 4 != 0 {
                return Err(format!(
                    "a sum of bytes that ends in less than four: {product:?}"
                ));
            }
            naive(memory, product, i8::from_le_bytes, f64::from, |x| {
                (x as i64 as i32).to_le_bytes()
            })
        }
        other => Err(format!("no products of {other}")),
    }
}

fn naive<T, const IN: usize, const OUT: usize>(
    memory: &mut Memory,
    product: &Product,
    read: impl Fn([u8; IN]) -> T,
    widen: impl Fn(T) -> f64,
    write: impl Fn(f64) -> [u8; OUT],
) -> Result<(), String> {
    let Product { m, n, k, batch, .. } = *product;
    for (matrix, rows, columns) in [
        (product.left, m, k),
        (product.right, k, n),
        (product.result, m, n),
    ] {
        let rows = if matrix.transposed { columns } else { rows };
        if matrix.leading < rows.max(1) {
            return Err(format!("{} is less than {rows} rows", matrix.leading));
        }
    }
    if product.result.transposed {
        return Err("results are not transposed".to_owned());
    }
    let place = |matrix: &Matrix, b: i64, row: i64, column: i64, width: usize| {
        let (row, column) = if matrix.transposed {
            (column, row)
        } else {
            (row, column)
        };
        let element = b * matrix.batch_stride + row + column * matrix.leading;
        matrix.address.wrapping_add_signed(element * width as i64)
    };
    for b in 0..batch {
        for i in 0..m {
            for j in 0..n {
                let mut sum = 0.0;
                for l in 0..k {
                    let mut get = |matrix: &Matrix, row, column| -> Result<f64, String> {
                        let bytes = memory.bytes(place(matrix, b, row, column, IN), IN as u64)?;
                        let bytes = <[u8; IN]>::try_from(&*bytes).map_err(|e| e.to_string())?;
                        Ok(widen(read(bytes)))
                    };
                    sum += get(&product.left, i, l)? * get(&product.right, l, j)?;
                }
                let to = place(&product.result, b, i, j, OUT);
                memory.bytes(to, OUT as u64)?.copy_from_slice(&write(sum));
            }
        }
    }
    Ok(())
}
