//! Files: round trips through every format, and every error, which is one line and leaves no
//! file behind.

use std::fs;
use std::path::{Path, PathBuf};

use minormajor::files::{FileError, RelayoutOptions, RelayoutReport, inspect, npy, relayout_file};
use minormajor::plan::ByteOrder;
use minormajor::{ArrayShape, ElementType, Layout, Shape};

struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> Directory {
        Directory(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// A .npy file in C order, each byte of it unlike its neighbours.
    fn write_npy(&self, name: &str, element_type: ElementType, sizes: &[i64]) -> PathBuf {
        let mut bytes = npy::header(element_type, ByteOrder::Little, sizes, false).unwrap();
        let data = sizes.iter().product::<i64>() * i64::from(element_type.byte_width());
        bytes.extend((0..data).map(|i| (i * 7 + i / 256) as u8));
        self.write(name, bytes)
    }

    /// Names of what is there, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text.parse().unwrap();
    shape.as_array().unwrap().clone()
}

fn options(layout: &str) -> RelayoutOptions {
    let mut options = RelayoutOptions::default();
    if !layout.is_empty() {
        let zeros = vec![
            "1";
            layout
                .split(':')
                .next()
                .unwrap()
                .matches(|c: char| c.is_ascii_digit())
                .count()
        ];
        let shape = array(&format!("f32[{}]{layout}", zeros.join(",")));
        options.layout = shape.layout().cloned();
    }
    options
}

fn run(input: &Path, output: &Path, layout: &str) -> Result<RelayoutReport, FileError> {
    relayout_file(input, output, &options(layout), &|_, _| {})
}

fn shape_of(path: &Path) -> String {
    inspect(path).unwrap().arrays[0].shape.to_string()
}

const TYPES: [ElementType; 14] = [
    ElementType::Pred,
    ElementType::S8,
    ElementType::S16,
    ElementType::S32,
    ElementType::S64,
    ElementType::U8,
    ElementType::U16,
    ElementType::U32,
    ElementType::U64,
    ElementType::F16,
    ElementType::F32,
    ElementType::F64,
    ElementType::C64,
    ElementType::C128,
];

#[test]
fn every_type_goes_through_every_layout_and_back() {
    let directory = Directory::new();
    for element_type in TYPES {
        for sizes in [&[7, 11][..], &[3, 5, 13], &[17], &[], &[0, 3], &[1, 19, 1]] {
            let rank = sizes.len();
            let first = directory.write_npy("first.npy", element_type, sizes);
            let fortran = directory.path("fortran.npy");
            let mut to_fortran = RelayoutOptions::default();
            to_fortran.layout = Some(Layout::ascending(rank));
            relayout_file(&first, &fortran, &to_fortran, &|_, _| {}).unwrap();

            let tiled = directory.path("tiled.bin");
            let order: Vec<_> = (0..rank).rev().map(|d| d.to_string()).collect();
            let layout = format!("{{{}:T(8,128)(2,1)}}", order.join(","));
            let report = run(&fortran, &tiled, if rank == 0 { "" } else { &layout }).unwrap();
            assert_eq!(shape_of(&tiled), report.arrays[0].destination.to_string());

            let last = directory.path("last.npy");
            run(&tiled, &last, "").unwrap();
            assert!(
                fs::read(&first).unwrap() == fs::read(&last).unwrap(),
                "{element_type} {sizes:?}"
            );
        }
    }
    let expected = [
        "first.npy",
        "fortran.npy",
        "last.npy",
        "tiled.bin",
        "tiled.bin.shape",
    ];
    assert_eq!(directory.names(), expected);
}

#[test]
fn the_shipped_picture_comes_back_from_every_layout() {
    let directory = Directory::new();
    let picture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/astronaut.npy");
    let bytes = fs::read(&picture).unwrap();
    for (name, layout) in [
        ("fortran.npy", "{0,1,2}"),
        ("tiled.bin", "{2,1,0:T(8,128)}"),
        ("planes.bin", "{1,0,2:T(8,128)(4,1)}"),
        ("padded.bin", "{1,2,0:PAD(513,514,4;highest)}"),
    ] {
        let (there, back) = (directory.path(name), directory.path("back.npy"));
        run(&picture, &there, layout).unwrap();
        assert!(fs::read(&there).unwrap() != bytes);
        run(&there, &back, "").unwrap();
        assert!(fs::read(&back).unwrap() == bytes, "{layout}");
    }
}

#[test]
fn fortran_order_is_what_numpy_means_by_it() {
    let directory = Directory::new();
    let mut bytes = npy::header(ElementType::U8, ByteOrder::Little, &[2, 3], false).unwrap();
    bytes.extend(b"abcdef");
    let input = directory.write("c.npy", bytes);
    let output = directory.path("f.npy");
    let report = run(&input, &output, "{0,1}").unwrap();
    assert_eq!((report.bytes_read, report.bytes_written), (6, 6));
    let mut expected = npy::header(ElementType::U8, ByteOrder::Little, &[2, 3], true).unwrap();
    expected.extend(b"adbecf");
    assert_eq!(fs::read(&output).unwrap(), expected);
    assert_eq!(shape_of(&output), "u8[2,3]{0,1}");
}

#[test]
fn layouts_that_are_written_otherwise_but_lie_alike_fit_a_npy() {
    let directory = Directory::new();
    let input = directory.write_npy("in.npy", ElementType::F32, &[1, 512]);
    let output = directory.path("out.npy");
    for layout in [
        "{0,1}",
        "{1,0:T(128)}",
        "{1,0:T(1,128)}",
        "{1,0:S(5)}",
        "{1,0:PAD(1,512)}",
        "{1,0:L(4)}",
    ] {
        run(&input, &output, layout).unwrap();
        // Both orders are the same bytes, and C order is what NumPy calls that.
        assert!(
            fs::read(&input).unwrap() == fs::read(&output).unwrap(),
            "{layout}"
        );
    }
}

#[test]
fn layouts_that_a_npy_cannot_say_are_errors_that_name_them() {
    let directory = Directory::new();
    let input = directory.write_npy("in.npy", ElementType::F32, &[6, 8]);
    let output = directory.path("out.npy");
    for layout in [
        "{1,0:T(4,4)}",
        "{0,1:PAD(6,9)}",
        "{1,0:E(64)}",
        "{1,0:L(100)}",
    ] {
        let error = run(&input, &output, layout).unwrap_err();
        assert!(
            matches!(error, FileError::ShapeOutsideFormat { .. }),
            "{error:?}"
        );
        let text = error.to_string();
        assert!(
            text.contains(&layout[1..]) && text.contains(".bin"),
            "{text}"
        );
    }
    let middle = directory.write_npy("3.npy", ElementType::F32, &[2, 3, 4]);
    let error = run(&middle, &output, "{1,2,0}").unwrap_err();
    assert!(
        matches!(error, FileError::ShapeOutsideFormat { .. }),
        "{error:?}"
    );
    assert_eq!(directory.names(), ["3.npy", "in.npy"]);
}

#[test]
fn raw_shapes_come_from_the_file_beside_or_from_the_caller() {
    let directory = Directory::new();
    let input = directory.write("in.bin", [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
    let output = directory.path("out.npy");
    let error = run(&input, &output, "").unwrap_err();
    assert!(matches!(error, FileError::NoShape { .. }), "{error}");
    assert!(error.to_string().ends_with("in.bin.shape"), "{error}");

    let mut given = RelayoutOptions::default();
    given.input_shape = Some(array("s16[2,3]{0,1}"));
    relayout_file(&input, &output, &given, &|_, _| {}).unwrap();
    let written = fs::read(&output).unwrap();
    assert_eq!(
        written[written.len() - 12..],
        [1, 0, 3, 0, 5, 0, 2, 0, 4, 0, 6, 0]
    );

    directory.write("in.bin.shape", "  s16[2,3]{0,1} // columns\n");
    relayout_file(&input, &output, &given, &|_, _| {}).unwrap();
    assert_eq!(fs::read(&output).unwrap(), written);
    // The output, which says its shape too, is another than the one given.
    let error = relayout_file(&output, directory.path("back.bin"), &given, &|_, _| {}).unwrap_err();
    assert!(matches!(error, FileError::OtherShape { .. }), "{error}");
    directory.write("in.bin.shape", "s16[3,2]");
    let error = relayout_file(&input, &output, &given, &|_, _| {}).unwrap_err();
    assert!(matches!(error, FileError::OtherShape { .. }), "{error}");
    assert_eq!(directory.names(), ["in.bin", "in.bin.shape", "out.npy"]);
}

#[test]
fn types_without_a_name_in_numpy_move_as_raw_bytes() {
    let directory = Directory::new();
    let input = directory.write("in.bin", (0..30).collect::<Vec<u8>>());
    directory.write("in.bin.shape", "bf16[3,5]{1,0}\n");
    let error = run(&input, &directory.path("out.npy"), "").unwrap_err();
    assert!(
        error.to_string().contains("no element type bf16"),
        "{error}"
    );
    let output = directory.path("out.bin");
    run(&input, &output, "{0,1:PAD(4,5;one)}").unwrap();
    let text = fs::read_to_string(directory.path("out.bin.shape")).unwrap();
    assert_eq!(text, "bf16[3,5]{0,1:PAD(4,5;one)}\n");
    assert_eq!(
        fs::read(&output).unwrap()[..8],
        [0, 1, 10, 11, 20, 21, 0x80, 0x3f]
    );
}

#[test]
fn an_old_raw_output_is_replaced_with_its_shape() {
    let directory = Directory::new();
    let input = directory.write_npy("in.npy", ElementType::U8, &[4, 6]);
    let output = directory.path("out.bin");
    run(&input, &output, "{0,1}").unwrap();
    run(&input, &output, "{1,0:T(3,4)}").unwrap();
    assert_eq!(shape_of(&output), "u8[4,6]{1,0:T(3,4)}");
    assert_eq!(directory.names(), ["in.npy", "out.bin", "out.bin.shape"]);
}

#[test]
fn files_that_lie_about_their_size_are_errors() {
    let directory = Directory::new();
    let whole = fs::read(directory.write_npy("whole.npy", ElementType::F64, &[5, 7])).unwrap();
    fs::remove_file(directory.path("whole.npy")).unwrap();
    let output = directory.path("out.bin");
    let cases: [(&str, Vec<u8>, &str); 8] = [
        (
            "short.npy",
            whole[..whole.len() - 1].to_vec(),
            "holds 279 bytes of data, but f64[5,7]{1,0} takes 280",
        ),
        (
            "long.npy",
            [&whole[..], b"x"].concat(),
            "bytes behind the array",
        ),
        ("cut.npy", whole[..100].to_vec(), "truncated"),
        ("empty.npy", vec![], "not a .npy file"),
        ("zip.npy", b"PK\x03\x04".to_vec(), "not a .npy file"),
        (
            "huge.npy",
            npy::header(
                ElementType::F64,
                ByteOrder::Little,
                &[1 << 40, 1 << 10],
                false,
            )
            .unwrap(),
            "holds 0 bytes",
        ),
        (
            "claims.npy",
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}".to_vec(),
            "claims 4294967295 bytes",
        ),
        (
            "beyond.npy",
            npy::header(ElementType::F64, ByteOrder::Little, &[i64::MAX, 2], false).unwrap(),
            "2^63 - 1",
        ),
    ];
    for (name, bytes, expected) in cases {
        let input = directory.write(name, bytes);
        for error in [
            run(&input, &output, "").unwrap_err(),
            inspect(&input).unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(text.contains(expected) && text.contains(name), "{text}");
            assert!(!text.contains('\n'));
        }
        fs::remove_file(input).unwrap();
    }
    let raw = directory.write("raw.bin", [0; 23]);
    for (shape, expected) in [
        (
            "f32[2,3]",
            "holds 23 bytes of data, but f32[2,3]{1,0} takes 24",
        ),
        ("f32[2,3\n", "column 8"),
        ("  f32[2,3", "column 10"),
        ("f32[2,\n\u{1b}]", "column 8"),
        ("f32[2,?]", "unbounded"),
        ("(f32[2])", "expected an array, found tuple"),
        ("", "column 1"),
        ("u4[47]{0:E(4)}", "takes 24"),
    ] {
        directory.write("raw.bin.shape", shape);
        let text = run(&raw, &output, "").unwrap_err().to_string();
        assert!(
            text.contains(expected) && !text.contains('\n'),
            "{shape}: {text}"
        );
    }
    directory.write("raw.bin.shape", b"\xff\xfe");
    assert!(
        run(&raw, &output, "")
            .unwrap_err()
            .to_string()
            .contains("raw.bin.shape")
    );
    assert_eq!(directory.names(), ["raw.bin", "raw.bin.shape"]);
}

#[test]
fn paths_that_cannot_be_are_errors() {
    let directory = Directory::new();
    let input = directory.write_npy("in.npy", ElementType::U8, &[4, 6]);
    let before = fs::read(&input).unwrap();
    fs::create_dir(directory.path("dir.npy")).unwrap();
    fs::hard_link(&input, directory.path("hard.npy")).unwrap();
    let names = directory.names();
    let unknown = directory.path("in.xyz");
    fs::write(&unknown, b"").unwrap();
    let path = |name: &str| directory.path(name);
    let error = |input: &Path, output: &Path| run(input, output, "{0,1}").unwrap_err();
    for (error, expected) in [
        (
            error(&path("none.npy"), &path("out.npy")),
            "none.npy: there is no such file",
        ),
        (
            error(&path("dir.npy"), &path("out.npy")),
            "dir.npy: is a directory",
        ),
        (
            error(&unknown, &path("out.npy")),
            "in.xyz: the name says no format that is known; use one that ends in .npy, .npz, .safetensors, .safetensors.index.json, .tsr",
        ),
        (error(&input, &path("out")), "out: the name says no format"),
        (error(&input, &path("dir.npy")), "dir.npy: is a directory"),
        (error(&input, &path("none/out.npy")), "create it first"),
        (error(&input, &path("in.npy/out.npy")), "create it first"),
        (error(&input, &input), "is the input itself"),
        (
            error(&input, &path("dir.npy/../in.npy")),
            "is the input itself",
        ),
        (error(&input, &path("hard.npy")), "is the input itself"),
        (
            run(&input, &path("out.bin"), "{0}").unwrap_err(),
            "u8[4,6]{1,0} can't have the layout {0}",
        ),
        (
            run(&input, &path("out.bin"), "{1,0:PAD(3,6)}").unwrap_err(),
            "dimension 0 is padded to 3",
        ),
        (
            run(&input, &path("out.bin"), "{1,0:PAD(36028797018963968,6)}").unwrap_err(),
            "no room for its 216172782113783808 bytes",
        ),
        (
            inspect(path("none.npy")).unwrap_err(),
            "there is no such file",
        ),
        (inspect(path("dir.npy")).unwrap_err(), "is a directory"),
        (inspect(&unknown).unwrap_err(), "ends in .npy, .npz, "),
    ] {
        let text = error.to_string();
        assert!(text.contains(expected) && !text.contains('\n'), "{text}");
    }
    fs::remove_file(unknown).unwrap();
    assert_eq!(fs::read(&input).unwrap(), before);
    assert_eq!(directory.names(), names);
}

#[cfg(unix)]
#[test]
fn links_are_followed_to_the_input_and_otherwise_replaced() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let directory = Directory::new();
    let input = directory.write_npy("in.npy", ElementType::U8, &[4, 6]);
    let link = directory.path("link.npy");
    symlink(&input, &link).unwrap();
    assert!(matches!(
        run(&input, &link, ""),
        Err(FileError::OutputIsInput { .. })
    ));
    assert!(matches!(
        run(&link, &input, ""),
        Err(FileError::OutputIsInput { .. })
    ));
    let other = directory.write("other.npy", b"keep");
    fs::remove_file(&link).unwrap();
    symlink(&other, &link).unwrap();
    run(&input, &link, "{0,1}").unwrap();
    assert_eq!(fs::read(other).unwrap(), b"keep");
    assert!(!link.is_symlink());
    // Permissions are those of any new file.
    let plain = fs::metadata(directory.write("plain", b""))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(fs::metadata(&link).unwrap().permissions().mode(), plain);
    // To open a pipe would wait for its other end.
    let pipe = directory.path("pipe.npy");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if made.is_ok_and(|status| status.success()) {
        for error in [
            inspect(&pipe).unwrap_err(),
            run(&input, &pipe, "").unwrap_err(),
        ] {
            assert!(matches!(error, FileError::NotAFile { .. }), "{error}");
        }
    }
    #[cfg(target_os = "linux")]
    {
        let error = inspect("/dev/null").unwrap_err();
        assert!(matches!(error, FileError::NotAFile { .. }), "{error}");
        let error = run(&input, Path::new("/proc/out.npy"), "").unwrap_err();
        assert!(matches!(error, FileError::NotWritable { .. }), "{error}");
        assert!(
            error.to_string().contains("can't write in /proc"),
            "{error}"
        );
    }
}

#[test]
fn messages_stay_on_one_line_whatever_the_path() {
    let error = inspect("no\nsuch\x1b[31m.npy").unwrap_err();
    assert!(!error.to_string().contains(char::is_control), "{error}");
}

/// Rows upside down, of every second column, into rows with a gap: what lies between is zero, and
/// no shape stands beside it.
#[test]
fn raw_files_may_have_strides() {
    use minormajor::files::FileStrides;
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.bin"), folder.path().join("out.bin"));
    fs::write(&input, b"..a-b-c-d-e-f-").unwrap();
    fs::write(folder.path().join("out.bin.shape"), "u8[9]").unwrap();
    let strides = |strides: &[i64], offset| FileStrides {
        strides: strides.to_vec(),
        offset,
    };
    let mut options = RelayoutOptions::default();
    options.input_shape = Some(array("u8[2,3]"));
    options.input_strides = Some(strides(&[-6, 2], 8));
    options.output_strides = Some(strides(&[4, 1], 1));
    let report = relayout_file(&input, &output, &options, &|_, _| {}).unwrap();
    assert_eq!(fs::read(&output).unwrap(), b"\0def\0abc");
    assert!(!folder.path().join("out.bin.shape").exists());
    assert_eq!(report.arrays[0].destination.to_string(), "u8[2,3]");

    options.input_strides = Some(strides(&[0, 1], 12));
    let short = relayout_file(&input, &output, &options, &|_, _| {}).unwrap_err();
    assert!(short.to_string().contains("reaches to byte 15"), "{short}");
    options.input_strides = Some(strides(&[-6, 2], 0));
    let before = relayout_file(&input, &output, &options, &|_, _| {}).unwrap_err();
    assert!(before.to_string().contains("before the buffer"), "{before}");
    options.input_strides = Some(strides(&[-6, 2], 8));
    let npy = folder.path().join("out.npy");
    let no_strides = relayout_file(&input, &npy, &options, &|_, _| {}).unwrap_err();
    assert!(
        no_strides.to_string().contains("has no strides of its own"),
        "{no_strides}"
    );
    assert_eq!(fs::read(&output).unwrap(), b"\0def\0abc");
    assert!(!npy.exists());
}

#[test]
fn a_bound_on_memory_that_can_t_be_kept_says_the_least() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.bin"), folder.path().join("out.bin"));
    fs::write(&input, b"abcdef").unwrap();
    let mut options = RelayoutOptions::default();
    options.input_shape = Some(array("u8[2,3]"));
    options.layout = Some(Layout::ascending(2));
    options.memory = Some(1000);
    let refused = relayout_file(&input, &output, &options, &|_, _| {}).unwrap_err();
    let text = refused.to_string();
    let least = text
        .split("at least ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
    assert!(!output.exists());
    options.memory = Some(least.parse().unwrap());
    let report = relayout_file(&input, &output, &options, &|_, _| {}).unwrap();
    assert!(report.extra.heap <= options.memory.unwrap());
    assert_eq!(fs::read(&output).unwrap(), b"adbecf");
}
