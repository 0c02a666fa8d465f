//! Moves that were prepared, kept for calls that move such arrays again.

use std::rc::Rc;

use minormajor::{Layout, Plan, Relayout};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::array::Moved;
use crate::error;
use crate::kept::{Kept, Key};
use crate::memory::{self, Dense};
use crate::order::{Order, Strides};
use crate::{layout, text};

/// A move of an array to strides.
pub struct Prepared {
    pub relayout: Relayout,
    /// What a new array is made of, where an order was asked for.
    pub destination: Option<Dense>,
    /// Where an order was asked for; else the strides were.
    pub order: Option<Order>,
    /// Whether the array has the order already.
    pub is_there: bool,
}

/// Where an array shall be.
pub enum Wanted<'a> {
    /// In row-major or column-major order: `C`, `F`.
    Letter(&'a str),
    /// In a layout, as text.
    Text(&'a str),
    /// In a layout. Boxed: the call of a small array is not to pay for its size.
    Layout(Box<Layout>),
    /// In an order, of a layout that says nothing else.
    Order(&'a [usize]),
    /// At these strides.
    Strides(&'a [isize]),
}

impl<'a> Wanted<'a> {
    /// A layout that was given, its text or its order. Texts are read when they are new.
    pub fn new(argument: &'a Bound<'_, PyAny>) -> PyResult<Wanted<'a>> {
        if let Ok(text) = argument.cast::<PyString>() {
            return text.to_str().map(Wanted::Text);
        }
        match argument.cast::<layout::Layout>() {
            Ok(layout) => Ok(match layout.get().order() {
                Some(order) => Wanted::Order(order),
                None => Wanted::Layout(Box::new(layout.get().inner().clone())),
            }),
            Err(_) => text::layout(argument).map(Box::new).map(Wanted::Layout),
        }
    }

    /// Numbers that no other wish has: beside those of the array what a move depends on.
    fn write(&self, key: &mut Key) {
        let (tag, text) = match self {
            Wanted::Letter(letter) => (0, *letter),
            Wanted::Text(text) => (1, *text),
            Wanted::Order(order) => {
                key.push(2);
                return key.extend(order.iter().map(|&dimension| dimension as u64));
            }
            // Those that say more are refused, and never kept.
            Wanted::Layout(layout) => match Order::of_layout(layout) {
                Some(order) => return Wanted::Order(order.minor_to_major()).write(key),
                None => return key.push(3),
            },
            Wanted::Strides(strides) => {
                key.push(4);
                return key.extend(strides.iter().map(|&stride| stride as u64));
            }
        };
        key.push(tag);
        key.push_text(text);
    }

    /// The order that is wanted; `None` where strides are.
    pub fn order(&self, py: Python<'_>, rank: usize) -> PyResult<Option<Order>> {
        Ok(Some(match self {
            Wanted::Letter(letter) => Order::of_letter(letter, rank)?,
            Wanted::Text(text) => {
                let layout = text.parse();
                let layout = layout.map_err(|found| error::parse(py, text, &found))?;
                Order::new(&layout, rank)?
            }
            Wanted::Layout(layout) => Order::new(layout, rank)?,
            Wanted::Order(order) => {
                let layout = Layout::new(order.iter().map(|&dimension| dimension as i64));
                Order::new(&layout.map_err(error::error)?, rank)?
            }
            Wanted::Strides(_) => return Ok(None),
        }))
    }
}

thread_local! {
    static KEPT: Kept<Rc<Prepared>> = const { Kept::new() };
}

/// The move of an array to where it is wanted.
///
/// # Errors
///
/// A layout that is none, or that strides can't say; strides under which elements overlap.
pub fn prepared(
    array: &Bound<'_, PyUntypedArray>,
    wanted: &Wanted<'_>,
    threads: usize,
) -> PyResult<Rc<Prepared>> {
    let (sizes, strides, width) = (array.shape(), array.strides(), memory::width(array));
    let mut key = Key::new();
    // All that a move depends on.
    key.extend([threads as u64, width as u64, sizes.len() as u64]);
    key.extend(sizes.iter().map(|&size| size as u64));
    key.extend(strides.iter().map(|&stride| stride as u64));
    wanted.write(&mut key);
    if let Some(known) = KEPT.with(|kept| kept.get(&key)) {
        return Ok(known);
    }
    let order = wanted.order(array.py(), sizes.len())?;
    let to: Strides = match (&order, wanted) {
        (Some(order), _) => order.strides(sizes, width)?,
        (None, Wanted::Strides(strides)) => (*strides).into(),
        (None, _) => unreachable!("all other wishes are orders"),
    };
    let from_view = Moved::new(sizes, strides, width).view()?;
    let to_view = Moved::new(sizes, &to, width).view()?;
    let plan = Plan::new(&from_view, &to_view).map_err(error::plan)?;
    let relayout = Relayout::new(&plan).map_err(error::plan)?.threads(threads);
    let destination = order.as_ref().map(|_| Dense::new(sizes, &to, width));
    let made = Rc::new(Prepared {
        relayout,
        destination: destination.transpose()?,
        is_there: order.as_ref().is_some_and(|order| order.is_met_by(array)),
        order,
    });
    KEPT.with(|kept| kept.insert(key, made.clone()));
    Ok(made)
}
