//! What kind of work a plan is, and why.

use std::fmt;

use super::change::Change;
use super::side::Side;
use super::{Loop, Plan, unit_name};
use crate::layout::PaddingValue;

/// What kind of work a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum PlanClass {
    /// The bytes are those of the destination already: hand the buffer over.
    #[default]
    Identity,
    /// Every element is at its position already, but padding must hold its value.
    Retag,
    /// The dimensions keep their order: runs of elements are copied, with or without padding.
    Copy,
    /// The dimensions change their order.
    Permute,
    /// Tiles on either side cut the array into pieces.
    Retile,
    /// No boxes describe it: element by element.
    General,
}

impl PlanClass {
    /// The class in a word.
    pub const fn name(self) -> &'static str {
        match self {
            PlanClass::Identity => "identity",
            PlanClass::Retag => "retag",
            PlanClass::Copy => "copy",
            PlanClass::Permute => "permute",
            PlanClass::Retile => "retile",
            PlanClass::General => "general",
        }
    }
}

impl fmt::Display for PlanClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a plan's class and reason rest on.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub class: PlanClass,
    pub elements: i64,
    pub general_bytes_written: i64,
    /// Of each side, whether it is a strided view.
    pub strided: [bool; 2],
    padding_elements: i64,
    padding_value: Option<PaddingValue>,
    /// The most minor dimension of more than one element, on both sides.
    minor: [Option<usize>; 2],
    tiled: [bool; 2],
    /// Fills, 0 or 1, of bits behind the last packed element that are zero in the source as well.
    zero_already: usize,
}

impl Facts {
    pub fn new(plan: &Plan, from: &Side<'_>, to: &Side<'_>, padding_value: PaddingValue) -> Facts {
        let padding_elements = to.allocated - to.elements;
        let written = match padding_value {
            PaddingValue::Unknown => to.elements,
            _ => to.allocated,
        };
        let mut facts = Facts {
            class: PlanClass::General,
            elements: to.elements,
            general_bytes_written: match written == to.allocated {
                true => plan.destination_bytes,
                // What packed elements leave of the last byte is written, too.
                false => {
                    let padding = (to.allocated - written) * plan.elements.destination_bits();
                    super::bytes(8 * plan.destination_bytes - padding)
                }
            },
            strided: [from.array().is_none(), to.array().is_none()],
            padding_elements,
            padding_value: Some(padding_value),
            minor: [from.minor_dimension(), to.minor_dimension()],
            tiled: [from.is_tiled(), to.is_tiled()],
            zero_already: usize::from(
                from.array().is_some()
                    && from.allocated == to.allocated
                    && plan.units_in_tail(to) > 0,
            ),
        };
        let same_shape = || from.array().is_some() && from.array() == to.array();
        facts.class = facts.classify(plan, same_shape);
        facts
    }

    /// Those of a plan between dense arrays of so many elements and bytes, which is one box of
    /// these loops; with the most minor dimension of more than one element on both sides.
    pub fn dense(loops: &[Loop], elements: i64, bytes: i64, minor: [Option<usize>; 2]) -> Facts {
        Facts {
            // An order that both sides share is one run: there is nothing between.
            class: match loops {
                [] => PlanClass::Identity,
                [run] if run.source == run.destination => PlanClass::Identity,
                _ => PlanClass::Permute,
            },
            elements,
            general_bytes_written: bytes,
            padding_value: Some(PaddingValue::Zero),
            minor,
            ..Facts::default()
        }
    }

    fn classify(&self, plan: &Plan, same_shape: impl Fn() -> bool) -> PlanClass {
        if plan.general.is_some() {
            let unchanged = plan.elements.change == Change::None;
            return if self.padding_elements == 0 && unchanged && same_shape() {
                PlanClass::Identity
            } else {
                PlanClass::General
            };
        }
        let elements = &plan.elements;
        let in_place = plan.source_bytes == plan.destination_bytes
            && elements.change == Change::None
            && elements.source_unit_bits == elements.destination_unit_bits
            && plan.boxes.iter().all(|b| {
                b.source == b.destination && b.loops.iter().all(|l| l.source == l.destination)
            });
        if in_place {
            return if plan.fills.len() == self.zero_already || same_shape() {
                PlanClass::Identity
            } else {
                PlanClass::Retag
            };
        }
        if self.tiled[0] || self.tiled[1] {
            return PlanClass::Retile;
        }
        // Untiled, so one box. Its loops fall by the greater stride, so an order that both sides
        // share is one in which both strides fall.
        let keeps_order = plan.boxes.iter().all(|b| {
            let falls = |stride: fn(&super::Loop) -> i64| {
                b.loops.windows(2).all(|w| stride(&w[0]) >= stride(&w[1]))
            };
            falls(|l| l.source) && falls(|l| l.destination)
        });
        if keeps_order {
            PlanClass::Copy
        } else {
            PlanClass::Permute
        }
    }

    pub fn reason(&self, plan: &Plan) -> String {
        let padding = self.padding(plan);
        let longest = {
            let contiguous = |l: &&super::Loop| l.source == 1 && l.destination == 1;
            let runs = plan.boxes.iter().map(|b| {
                let run = b.loops.iter().find(contiguous);
                run.map_or(1, |l| l.extent)
            });
            runs.max().unwrap_or(1)
        };
        let run = || match longest * plan.destination_unit_bits() {
            bits if bits % 8 == 0 => format!("{} bytes", bits / 8),
            bits => format!("{bits} bits"),
        };
        let padding = self.change(plan) + &padding;
        if self.elements == 0 {
            return format!("the array has no elements: there is nothing to move{padding}");
        }
        match self.class {
            PlanClass::Identity => {
                "every element is at its position already: the buffer can be handed over as it is"
                    .to_owned()
            }
            PlanClass::Retag => format!(
                "every element is at its position already: the buffer can be handed over once its padding holds its value{padding}"
            ),
            PlanClass::Copy => format!(
                "the dimensions stand in the same order on both sides: runs of up to {} are copied{padding}",
                run()
            ),
            PlanClass::Permute => match self.minor {
                [Some(from), Some(to)] if from != to => format!(
                    "dimension {from} is the minor one in the source, dimension {to} in the destination: a transpose{padding}"
                ),
                _ => format!(
                    "the minor dimension stays, the others change their order: runs of up to {} are moved{padding}",
                    run()
                ),
            },
            PlanClass::Retile => {
                let tiles = match self.tiled {
                    [false, _] => "the destination is tiled",
                    [_, false] => "the source is tiled",
                    _ => "both sides are tiled",
                };
                let boxes = match plan.boxes.len() {
                    1 => "one box".to_owned(),
                    count => format!(
                        "{count} boxes, cut where tiles are ragged or do not divide each other"
                    ),
                };
                let runs = match longest {
                    1 => "no two neighbours in the source are neighbours in the destination"
                        .to_owned(),
                    _ => format!("runs of up to {} are moved", run()),
                };
                format!("{tiles}: {boxes}; {runs}{padding}")
            }
            PlanClass::General => {
                format!(
                    "`*` in a tile ties dimensions together, or tiles cut the array into too many pieces: element by element{padding}"
                )
            }
        }
    }

    /// What becomes of the elements.
    fn change(&self, plan: &Plan) -> String {
        match plan.change() {
            Change::None => String::new(),
            Change::Bits => {
                let [from, to] =
                    [plan.source_unit_bits(), plan.destination_unit_bits()].map(unit_name);
                format!("; elements of {from} become elements of {to}")
            }
            Change::Values {
                source,
                destination,
            } => format!("; {source} becomes {destination}"),
        }
    }

    fn padding(&self, plan: &Plan) -> String {
        let wide = plan.elements.destination_units > plan.elements.value_units;
        let rest = if wide {
            "; the bytes behind each value are zeroed"
        } else {
            ""
        };
        match (self.padding_elements, self.padding_value) {
            (0, _) | (_, None) => rest.to_owned(),
            (1, Some(PaddingValue::Unknown)) => {
                format!("; 1 element of padding is left alone{rest}")
            }
            (count, Some(PaddingValue::Unknown)) => {
                format!("; {count} elements of padding are left alone{rest}")
            }
            (1, Some(value)) => format!("; 1 element of padding is filled with {value}{rest}"),
            (count, Some(value)) => {
                format!("; {count} elements of padding are filled with {value}{rest}")
            }
        }
    }
}
