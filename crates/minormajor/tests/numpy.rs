//! NumPy reads what we write, and we read what it writes.

mod python;

use std::fs;

use minormajor::files::npy::{NpyError, header};
use minormajor::files::{FileError, RelayoutOptions, inspect, relayout_file};
use minormajor::plan::ByteOrder;
use minormajor::{ElementType, Layout, Shape};
use python::{ask, python};

/// Arrays of every type and of many sizes, whose elements all differ where the type allows it.
const ARRAYS: &str = r#"
import itertools, numpy as np
NAMES = dict(zip("b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split(),
                 "pred s8 s16 s32 s64 u8 u16 u32 u64 f16 f32 f64 c64 c128".split()))
SIZES = [(), (0,), (1,), (7,), (5, 7), (1, 9), (3, 0, 2), (3, 5, 7), (2, 1, 3, 2, 1, 2)]
def arrays():
    for (dtype, name), (number, sizes) in itertools.product(NAMES.items(), enumerate(SIZES)):
        count = int(np.prod(sizes))
        values = (np.arange(count) * 37 + 11) % 251
        if dtype == "b1":
            values = values % 3 == 0
        elif dtype[0] in "if":
            values = values - 125
        elif dtype[0] == "c":
            values = values - 1j * values[::-1]
        yield f"{name}.{number}", values.astype(dtype).reshape(sizes)
"#;

const TYPES: [&str; 14] = [
    "pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "c64",
    "c128",
];
const SIZES: [&[i64]; 9] = [
    &[],
    &[0],
    &[1],
    &[7],
    &[5, 7],
    &[1, 9],
    &[3, 0, 2],
    &[3, 5, 7],
    &[2, 1, 3, 2, 1, 2],
];

#[test]
fn numpy_agrees_on_every_element_of_every_type_in_both_orders() {
    let Some(python) = python("numpy") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    ask(
        &python,
        directory.path(),
        &format!(
            r#"{ARRAYS}
for name, array in arrays():
    np.save(f"{{name}}.c.npy", array)
    np.save(f"{{name}}.f.npy", np.asfortranarray(array).reshape(array.shape, order="F"))
"#
        ),
    );
    for name in TYPES {
        for (number, sizes) in SIZES.iter().enumerate() {
            let stem = format!("{name}.{number}");
            let text: Vec<_> = sizes.iter().map(i64::to_string).collect();
            let c: Shape = format!("{name}[{}]", text.join(",")).parse().unwrap();
            let c = c.as_array().unwrap();
            let f = c.with_layout(Layout::ascending(sizes.len())).unwrap();
            // What NumPy writes is read. An array that is in both orders it calls C.
            assert_eq!(
                inspect(path(&format!("{stem}.c.npy"))).unwrap().arrays[0].shape,
                *c
            );
            let both = sizes.iter().filter(|&&size| size != 1).count() < 2 || sizes.contains(&0);
            let expected = if both { c } else { &f };
            assert_eq!(
                inspect(path(&format!("{stem}.f.npy"))).unwrap().arrays[0].shape,
                *expected
            );
            for from in ["c", "f"] {
                for (to, shape) in [("c", c), ("f", &f)] {
                    let mut options = RelayoutOptions::default();
                    options.layout = shape.layout().cloned();
                    let input = path(&format!("{stem}.{from}.npy"));
                    let output = path(&format!("{stem}.{from}{to}.npy"));
                    relayout_file(&input, &output, &options, &|_, _| {}).unwrap();
                    // Byte for byte what NumPy would have saved.
                    let theirs = fs::read(path(&format!("{stem}.{to}.npy"))).unwrap();
                    assert!(
                        fs::read(&output).unwrap() == theirs,
                        "{stem} from {from} to {to}"
                    );
                }
            }
        }
    }
    ask(
        &python,
        directory.path(),
        &format!(
            r#"{ARRAYS}
count = 0
for name, array in arrays():
    for orders in ("cc", "cf", "fc", "ff"):
        ours = np.load(f"{{name}}.{{orders}}.npy")
        assert ours.dtype == array.dtype and ours.shape == array.shape, (name, ours.dtype, ours.shape)
        assert ours.flags.f_contiguous if orders[1] == "f" else ours.flags.c_contiguous, (name, orders)
        assert np.array_equal(ours, array), (name, orders)
        count += 1
assert count == 14 * 9 * 4, count
"#
        ),
    );
}

#[test]
fn headers_are_those_that_numpy_writes_at_every_length() {
    let Some(python) = python("numpy") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    ask(
        &python,
        directory.path(),
        r#"
import numpy as np
for ones in range(44):
    for width in (1, 10, 100):
        array = np.zeros((1,) * ones + (2, width), dtype="u1")
        np.save(f"{ones}.{width}.C.npy", array)
        np.save(f"{ones}.{width}.F.npy", np.asfortranarray(array))
"#,
    );
    for ones in 0..44 {
        for width in [1, 10, 100] {
            for (order, fortran_order) in [("C", false), ("F", width > 1)] {
                let path = directory.path().join(format!("{ones}.{width}.{order}.npy"));
                let theirs = fs::read(path).unwrap();
                let sizes = [vec![1; ones], vec![2, width]].concat();
                let ours =
                    header(ElementType::U8, ByteOrder::Little, &sizes, fortran_order).unwrap();
                let theirs = &theirs[..theirs.len() - 2 * width as usize];
                assert_eq!(ours, theirs, "{sizes:?} {order}");
            }
        }
    }
}

#[test]
fn headers_of_every_version_are_read() {
    let Some(python) = python("numpy") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    ask(
        &python,
        directory.path(),
        r#"
import numpy as np
for version in [(1, 0), (2, 0), (3, 0)]:
    for order in "CF":
        array = np.array(np.arange(15, dtype="<i4").reshape(3, 5), order=order)
        with open(f"{version[0]}{order}.npy", "wb") as file:
            np.lib.format.write_array(file, array, version=version)
"#,
    );
    let mut options = RelayoutOptions::default();
    options.layout = Some(Layout::descending(2));
    for version in 1..=3 {
        for (order, layout) in [("C", "{1,0}"), ("F", "{0,1}")] {
            let input = directory.path().join(format!("{version}{order}.npy"));
            let shape = inspect(&input).unwrap().arrays[0].shape.to_string();
            assert_eq!(shape, format!("s32[3,5]{layout}"));
            let output = directory.path().join("out.bin");
            relayout_file(&input, &output, &options, &|_, _| {}).unwrap();
            let expected: Vec<u8> = (0..15i32).flat_map(i32::to_le_bytes).collect();
            assert_eq!(
                fs::read(output).unwrap(),
                expected,
                "version {version}, order {order}"
            );
        }
    }
}

#[test]
fn other_types_are_errors_that_name_them() {
    let Some(python) = python("numpy") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    ask(
        &python,
        directory.path(),
        r#"
import numpy as np
TYPES = ["<U3", "S5", "<M8[ns]", "<m8[s]", "V2", "O",
         [("a", "<f4"), ("b", "<i2", (2,))], "<f16", "<c32"]
for number, dtype in enumerate(TYPES):
    np.save(f"{number}.npy", np.zeros(3, dtype=dtype))
"#,
    );
    let names = [
        "<U3",
        "|S5",
        "<M8[ns]",
        "<m8[s]",
        "|V2",
        "|O",
        "[('a', '<f4'), ('b', '<i2', (2,))]",
        "<f16",
        "<c32",
    ];
    for (number, name) in names.iter().enumerate() {
        let error = inspect(directory.path().join(format!("{number}.npy"))).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(name) && text.contains("can't be read: "),
            "{name}: {text}"
        );
        let FileError::Npy { source, .. } = &error else {
            panic!("{name}: {error:?}");
        };
        assert!(
            matches!(**source, NpyError::DataType { .. }),
            "{name}: {error:?}"
        );
    }
}
