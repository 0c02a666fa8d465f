//! The libraries in Rust, in this process. They take dense permutations.

use std::collections::BTreeMap;
use std::rc::Rc;

use bytemuck::Pod;
use candle_core::{Device, Tensor, WithDType};
use minormajor::{Plan, measure};
use ndarray::{
    ArrayView, ArrayViewMut, Dimension, IntoDimension, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6, IxDyn,
};
use strided_view::{StridedView, StridedViewMut};
use threadteam::{Exec, Pool};

use crate::case::Permutation;
use crate::contest::{Contestant, Expected, here};

/// Names and versions, from the lock file.
pub fn versions() -> Vec<String> {
    let lock = include_str!("../../../Cargo.lock");
    let version = |name: &str| {
        let (_, rest) = lock.split_once(&format!("name = \"{name}\"\nversion = \""))?;
        rest.split('"').next()
    };
    ["ndarray", "candle-core", "strided-perm", "transpose"]
        .map(|name| format!("{name} {}", version(name).unwrap_or("unknown")))
        .to_vec()
}

/// What they keep from case to case.
#[derive(Default)]
pub struct Libraries {
    /// The threads of strided-perm.
    pools: BTreeMap<usize, Rc<Pool>>,
}

/// A permutation of a source, and how its box steps.
struct Job<'a> {
    source: &'a [u8],
    permutation: Permutation,
}

impl Job<'_> {
    /// The sizes of the result.
    fn result(&self) -> Vec<usize> {
        let Permutation { dimensions, order } = &self.permutation;
        order.iter().map(|&from| dimensions[from]).collect()
    }
}

impl Libraries {
    /// Those who can do a plan.
    ///
    /// # Errors
    ///
    /// Where a library refuses what it should take.
    pub fn invite<'a>(
        &mut self,
        plan: &Plan,
        source: &'a [u8],
        threads: usize,
    ) -> Result<Vec<Box<dyn Contestant + 'a>>, String> {
        let Some(permutation) = Permutation::of(plan) else {
            return Ok(Vec::new());
        };
        let pool = match self.pools.get(&threads) {
            Some(pool) => Rc::clone(pool),
            None => {
                let pool = Pool::builder().threads(threads).build();
                let pool = Rc::new(pool.map_err(|error| error.to_string())?);
                self.pools.insert(threads, Rc::clone(&pool));
                pool
            }
        };
        let job = Job {
            source,
            permutation,
        };
        let mut invited = match plan.unit_bytes() {
            Some(1) => generic::<u8>(&job, &pool),
            Some(2) => generic::<u16>(&job, &pool),
            Some(4) => generic::<f32>(&job, &pool),
            Some(8) => generic::<f64>(&job, &pool),
            _ => generic::<u128>(&job, &pool),
        }?;
        match plan.unit_bytes() {
            Some(1) => invited.push(candle::<u8>(&job)?),
            Some(2) => invited.push(candle::<half::bf16>(&job)?),
            Some(4) => invited.push(candle::<f32>(&job)?),
            Some(8) => invited.push(candle::<f64>(&job)?),
            _ => {}
        }
        Ok(invited)
    }
}

type Invited<'a> = Result<Vec<Box<dyn Contestant + 'a>>, String>;

fn generic<'a, T: Pod + Send + Sync>(job: &Job<'a>, pool: &Rc<Pool>) -> Invited<'a> {
    let mut invited = vec![strided::<T>(job, pool)?];
    if let [rows, columns] = job.permutation.dimensions[..]
        && job.permutation.order == [1, 0]
    {
        let source: &[T] = bytemuck::cast_slice(job.source);
        invited.push(here("transpose", move |destination| {
            let destination = &mut destination[..size_of_val(source)];
            transpose::transpose(source, bytemuck::cast_slice_mut(destination), columns, rows);
        }));
    }
    invited.push(match job.permutation.dimensions.len() {
        1 => ndarray::<T, Ix1>(job)?,
        2 => ndarray::<T, Ix2>(job)?,
        3 => ndarray::<T, Ix3>(job)?,
        4 => ndarray::<T, Ix4>(job)?,
        5 => ndarray::<T, Ix5>(job)?,
        6 => ndarray::<T, Ix6>(job)?,
        _ => ndarray::<T, IxDyn>(job)?,
    });
    Ok(invited)
}

fn ndarray<'a, T: Pod, D: Dimension + 'a>(
    job: &Job<'a>,
) -> Result<Box<dyn Contestant + 'a>, String> {
    let said = |error: ndarray::ShapeError| error.to_string();
    let source: &[T] = bytemuck::cast_slice(job.source);
    let view = ArrayView::from_shape(&job.permutation.dimensions[..], source).map_err(said)?;
    let view = view.permuted_axes(&job.permutation.order[..]);
    let view = view.into_dimensionality::<D>().map_err(said)?;
    let sizes = view.raw_dim();
    Ok(here("ndarray", move |destination| {
        let destination = bytemuck::cast_slice_mut(&mut destination[..size_of_val(source)]);
        if let Ok(mut result) =
            ArrayViewMut::from_shape(sizes.clone().into_dimension(), destination)
        {
            result.assign(&view);
        }
    }))
}

fn strided<'a, T: Pod + Send + Sync>(
    job: &Job<'a>,
    pool: &Rc<Pool>,
) -> Result<Box<dyn Contestant + 'a>, String> {
    let source: &[T] = bytemuck::cast_slice(job.source);
    let row_major = |sizes: &[usize]| -> Vec<isize> {
        let mut strides = vec![1; sizes.len()];
        for i in (1..sizes.len()).rev() {
            strides[i - 1] = strides[i] * sizes[i] as isize;
        }
        strides
    };
    let sizes = job.result();
    let (from, to) = (row_major(&job.permutation.dimensions), row_major(&sizes));
    let from: Vec<isize> = job.permutation.order.iter().map(|&i| from[i]).collect();
    let view =
        StridedView::<T>::new(source, &sizes, &from, 0).map_err(|error| error.to_string())?;
    let pool = Rc::clone(pool);
    Ok(here("strided-perm", move |destination| {
        let destination = bytemuck::cast_slice_mut(&mut destination[..size_of_val(source)]);
        let result = StridedViewMut::<T>::new(destination, &sizes, &to, 0);
        if let (Ok(mut result), Ok(exec)) = (result, Exec::new(&pool, pool.width().get())) {
            let _ = strided_perm::copy_into(&mut result, &view, exec);
        }
    }))
}

/// `contiguous` allocates its result, so it does not write the shared destination. What is contiguous already it shares,
/// which moves nothing: that is copied.
struct Candle<F> {
    run: F,
}

fn candle<'a, T: WithDType + Pod>(job: &Job<'a>) -> Result<Box<dyn Contestant + 'a>, String> {
    let source: &[T] = bytemuck::cast_slice(job.source);
    let tensor = Tensor::from_slice(source, &job.permutation.dimensions[..], &Device::Cpu);
    let permuted = tensor.and_then(|tensor| tensor.permute(&job.permutation.order[..]));
    let permuted = permuted.map_err(|error| error.to_string())?;
    let timed = measure::repeated(move |result: &mut Option<Tensor>| {
        // Freed before the next is made, so that its pages serve again.
        *result = None;
        *result = match permuted.is_contiguous() {
            true => permuted.copy().ok(),
            false => permuted.contiguous().ok(),
        };
    });
    Ok(Box::new(Candle { run: timed }))
}

impl<F: FnMut(&mut Option<Tensor>) -> f64> Contestant for Candle<F> {
    fn name(&self) -> &str {
        "candle"
    }

    fn turn(&mut self, _: &mut [u8]) -> Result<f64, String> {
        Ok((self.run)(&mut None))
    }

    fn is_right(&mut self, _: &mut [u8], expected: &Expected) -> Result<bool, String> {
        let mut result = None;
        (self.run)(&mut result);
        let bytes = result.map(|tensor| bytes_of(&tensor)).transpose();
        let bytes = bytes.map_err(|error| error.to_string())?;
        Ok(bytes.is_some_and(|bytes| expected.is(&bytes)))
    }
}

/// The elements of a contiguous tensor.
fn bytes_of(tensor: &Tensor) -> candle_core::Result<Vec<u8>> {
    use candle_core::DType;
    let flat = tensor.flatten_all()?;
    Ok(match tensor.dtype() {
        DType::U8 => flat.to_vec1::<u8>()?,
        DType::BF16 => bytemuck::cast_slice(&flat.to_vec1::<half::bf16>()?).to_vec(),
        DType::F64 => bytemuck::cast_slice(&flat.to_vec1::<f64>()?).to_vec(),
        _ => bytemuck::cast_slice(&flat.to_vec1::<f32>()?).to_vec(),
    })
}
