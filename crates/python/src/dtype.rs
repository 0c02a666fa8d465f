//! NumPy's element types and XLA's.

use minormajor::plan::ByteOrder;
use minormajor::{ElementKind, ElementType};
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::prelude::*;

use crate::error::error;

/// The types of `ml_dtypes`, by their names there.
const ML_DTYPES: [(&str, ElementType); 18] = [
    ("bfloat16", ElementType::Bf16),
    ("float8_e3m4", ElementType::F8e3m4),
    ("float8_e4m3", ElementType::F8e4m3),
    ("float8_e4m3b11fnuz", ElementType::F8e4m3b11fnuz),
    ("float8_e4m3fn", ElementType::F8e4m3fn),
    ("float8_e4m3fnuz", ElementType::F8e4m3fnuz),
    ("float8_e5m2", ElementType::F8e5m2),
    ("float8_e5m2fnuz", ElementType::F8e5m2fnuz),
    ("float8_e8m0fnu", ElementType::F8e8m0fnu),
    ("float6_e2m3fn", ElementType::F6e2m3fn),
    ("float6_e3m2fn", ElementType::F6e3m2fn),
    ("float4_e2m1fn", ElementType::F4e2m1fn),
    ("int4", ElementType::S4),
    ("uint4", ElementType::U4),
    ("int2", ElementType::S2),
    ("uint2", ElementType::U2),
    ("int1", ElementType::S1),
    ("uint1", ElementType::U1),
];

/// The element type of an array's elements; `None` for NumPy's that have no name in XLA: dates,
/// texts, structures, long doubles.
pub fn element_type(dtype: &Bound<'_, PyArrayDescr>) -> PyResult<Option<ElementType>> {
    use ElementType::*;
    let plain = match (dtype.kind(), dtype.itemsize()) {
        (b'b', 1) => Some(Pred),
        (b'i', 1) => Some(S8),
        (b'i', 2) => Some(S16),
        (b'i', 4) => Some(S32),
        (b'i', 8) => Some(S64),
        (b'u', 1) => Some(U8),
        (b'u', 2) => Some(U16),
        (b'u', 4) => Some(U32),
        (b'u', 8) => Some(U64),
        (b'f', 2) => Some(F16),
        (b'f', 4) => Some(F32),
        (b'f', 8) => Some(F64),
        (b'c', 8) => Some(C64),
        (b'c', 16) => Some(C128),
        _ => None,
    };
    if !is_foreign(dtype) {
        return Ok(plain);
    }
    let scalar = dtype.typeobj();
    if scalar.module()? != "ml_dtypes" {
        return Ok(None);
    }
    let name = scalar.name()?;
    let known = ML_DTYPES.iter().find(|(known, _)| name == *known);
    Ok(known.map(|&(_, element_type)| element_type))
}

/// Whether a type is none of NumPy's own.
pub fn is_foreign(dtype: &Bound<'_, PyArrayDescr>) -> bool {
    // NumPy gives its own numbers below 256, and others those from there on.
    dtype.num() >= 256
}

/// As [`element_type`].
///
/// # Errors
///
/// A type that has no name in XLA.
pub fn named_element_type(dtype: &Bound<'_, PyArrayDescr>) -> PyResult<ElementType> {
    element_type(dtype)?.ok_or_else(|| {
        error(format!(
            "NumPy's {dtype} has no element type of XLA's; expected bool, a number, or one of ml_dtypes"
        ))
    })
}

/// The order of the bytes of an array's elements.
pub fn byte_order(dtype: &Bound<'_, PyArrayDescr>) -> ByteOrder {
    let is_native = dtype.is_native_byteorder().unwrap_or(true);
    match cfg!(target_endian = "little") == is_native {
        true => ByteOrder::Little,
        false => ByteOrder::Big,
    }
}

/// NumPy's type for elements of an element type, each in bytes of its own.
///
/// # Errors
///
/// A type of `ml_dtypes` where that is not installed.
pub fn dtype_of(py: Python<'_>, element_type: ElementType) -> PyResult<Bound<'_, PyArrayDescr>> {
    let known = ML_DTYPES.iter().find(|&&(_, known)| known == element_type);
    if let Some((name, _)) = known {
        let module = py.import("ml_dtypes").map_err(|_| {
            error(format!(
                "NumPy has no type for {element_type}: install ml_dtypes, which has one"
            ))
        })?;
        return PyArrayDescr::new(py, module.getattr(*name)?);
    }
    let kind = match element_type.kind() {
        ElementKind::Predicate => 'b',
        ElementKind::SignedInteger => 'i',
        ElementKind::UnsignedInteger => 'u',
        ElementKind::Complex(_) => 'c',
        _ => 'f',
    };
    PyArrayDescr::new(py, format!("{kind}{}", element_type.byte_width()))
}

/// An element type from its name in XLA or ml_dtypes, or from anything that NumPy takes for a type.
///
/// # Errors
///
/// What is neither.
pub fn from_argument(argument: &Bound<'_, PyAny>) -> PyResult<ElementType> {
    if let Ok(name) = argument.extract::<std::borrow::Cow<'_, str>>() {
        if let Ok(element_type) = name.parse() {
            return Ok(element_type);
        }
        if let Some((_, element_type)) = ML_DTYPES.iter().find(|(known, _)| *known == name) {
            return Ok(*element_type);
        }
    }
    let dtype = PyArrayDescr::new(argument.py(), argument).map_err(|_| {
        error(format!(
            "expected an element type such as 'f32' or numpy.float32, found {argument:?}"
        ))
    })?;
    named_element_type(&dtype)
}
