//! NumPy reads what we write, and we read what it writes.

mod python;

use std::fs;

use minormajor::files::npy::header;
use minormajor::files::{RelayoutOptions, inspect, relayout_file};
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

/// Dates, strings, structures and others: moved as they are, descriptions and byte orders kept.
#[test]
fn opaque_types_move_as_bytes() {
    let Some(python) = python("numpy") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    ask(
        &python,
        folder.path(),
        r#"
import numpy as np
TYPES = ["<U3", ">U2", "S5", "S1", "<M8[ns]", ">M8[25s]", "<m8[s]", "V2", "V3", "V16", "V37", "S0",
         [("a", "<f4"), ("b", ">i2", (2, 3)), ("c", [("d\u00e4", "u1"), (("title", "name"), "S3")])],
         [("x", "u1"), ("", "V3"), ("\u03b1", "<f8")], np.longdouble, np.clongdouble,
         [(f"field {i}", "<f4") for i in range(3000)]]
for number, dtype in enumerate(TYPES):
    dtype = np.dtype(dtype)
    random = np.random.default_rng(number).integers(32, 126, 15 * dtype.itemsize, dtype="u1")
    if dtype.kind == "U":
        random = random.astype(dtype.newbyteorder(dtype.byteorder).str[0] + "u4")[:15 * dtype.itemsize // 4]
    array = np.frombuffer(random.tobytes(), dtype).reshape(3, 5) if dtype.itemsize else np.zeros((3, 5), dtype)
    np.save(f"{number}.c.npy", array)
    np.save(f"{number}.f.npy", np.asfortranarray(array))
np.save("object.npy", np.array([None]), allow_pickle=True)
np.savez("object.npz", a=np.array([None]))
"#,
    );
    let at = |name: &str| folder.path().join(name);
    for number in 0..17 {
        for (from, to, layout) in [("c", "f", "{0,1}"), ("f", "c", "{1,0}")] {
            let mut options = RelayoutOptions::default();
            options.layout = Some(layout.parse().unwrap());
            // Opaque bytes have no order that could be asked for.
            options.output_order = Some(ByteOrder::Big);
            let output = at("ours.npy");
            relayout_file(
                at(&format!("{number}.{from}.npy")),
                &output,
                &options,
                &|_, _| {},
            )
            .unwrap();
            let theirs = fs::read(at(&format!("{number}.{to}.npy"))).unwrap();
            assert!(
                fs::read(&output).unwrap() == theirs,
                "{number} from {from} to {to}"
            );
        }
    }
    for name in ["object.npy", "object.npz"] {
        let text = inspect(at(name)).unwrap_err().to_string();
        assert!(
            text.contains("the element type |O can't be read: Python objects"),
            "{text}"
        );
    }
    // No format without the type takes them, and nothing else can be made of them.
    let moved = |output: &str, element_type| {
        let mut options = RelayoutOptions::default();
        options.element_type = element_type;
        let moved = relayout_file(at("4.c.npy"), at(output), &options, &|_, _| {});
        moved.unwrap_err().to_string()
    };
    for output in ["o.bin", "o.safetensors", "o.tsr"] {
        let text = moved(output, None);
        assert!(
            text.contains("no element type '<M8[ns]', which \"4.c\" is of")
                && text.contains("; choose an output that ends in .npy or .npz"),
            "{text}"
        );
    }
    let text = moved("o.npy", Some(ElementType::S64));
    assert!(text.contains("can't become s64"), "{text}");
}

/// ml_dtypes' types are saved without their names; the user says them.
#[test]
fn opaque_types_are_what_the_user_names_them() {
    let Some(python) = python("numpy, ml_dtypes") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    ask(
        &python,
        folder.path(),
        r#"
import numpy as np, ml_dtypes
array = np.arange(15, dtype="f4").reshape(3, 5)
np.save("f4.npy", array)
for name in ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4"]:
    np.save(f"{name}.npy", array.astype(name))
    np.save(f"{name}.f.npy", np.asfortranarray(array.astype(name)))
np.save("dates.npy", np.arange(15, dtype=">i8").reshape(3, 5).view(">M8[s]"))
np.save("numbers.npy", np.arange(15, dtype="<i8").reshape(3, 5))
"#,
    );
    let at = |name: &str| folder.path().join(name);
    let moved = |input: &str, output: &str, from: Option<ElementType>, to, layout: &str| {
        let mut options = RelayoutOptions::default();
        options.input_type = from;
        options.element_type = to;
        options.layout = Some(layout.parse().unwrap());
        relayout_file(at(input), at(output), &options, &|_, _| {})
            .map(|_| fs::read(at(output)).unwrap())
    };
    let same =
        |ours: Vec<u8>, theirs: &str| assert!(ours == fs::read(at(theirs)).unwrap(), "{theirs}");
    let bf16 = Some(ElementType::Bf16);
    same(
        moved(
            "bfloat16.npy",
            "o.npy",
            bf16,
            Some(ElementType::F32),
            "{1,0}",
        )
        .unwrap(),
        "f4.npy",
    );
    same(
        moved("f4.npy", "o.npy", None, bf16, "{0,1}").unwrap(),
        "bfloat16.f.npy",
    );
    for (name, element_type) in [
        ("bfloat16", ElementType::Bf16),
        ("float8_e4m3fn", ElementType::F8e4m3fn),
        ("float8_e5m2", ElementType::F8e5m2),
        ("int4", ElementType::S4),
    ] {
        let (c, f) = (format!("{name}.npy"), format!("{name}.f.npy"));
        same(moved(&c, "o.npy", None, None, "{0,1}").unwrap(), &f);
        same(
            moved(&c, "o.npy", Some(element_type), None, "{0,1}").unwrap(),
            &f,
        );
        moved(&c, "o.bin", Some(element_type), None, "{0,1}").unwrap();
        let said = fs::read_to_string(at("o.bin.shape")).unwrap();
        assert_eq!(said, format!("{element_type}[3,5]{{0,1}}\n"));
    }
    // Big-endian dates as big-endian numbers.
    same(
        moved("dates.npy", "o.npy", Some(ElementType::S64), None, "{1,0}").unwrap(),
        "numbers.npy",
    );
    for (input, found) in [("f4.npy", "f32"), ("int4.npy", "'<V1'")] {
        let text = moved(input, "o.npy", bf16, None, "{1,0}")
            .unwrap_err()
            .to_string();
        assert!(
            text.contains(&format!(
                "type {found}, and no opaque ones that can be bf16"
            )),
            "{text}"
        );
    }
    // The type of the file has no name that NumPy would keep.
    fs::write(at("raw.bin"), [0; 30]).unwrap();
    fs::write(at("raw.bin.shape"), "bf16[3,5]").unwrap();
    let text = moved("raw.bin", "o.npy", None, None, "{1,0}")
        .unwrap_err()
        .to_string();
    assert!(text.contains("no element type bf16"), "{text}");
}
