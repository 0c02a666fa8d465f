//! Maps of files, the empty ones too.

use std::fs::{File, OpenOptions};

use minormajor_kernels::{Advice, MappedFile, MappedFileMut, Memory, advise_huge_pages};

fn scratch(name: &str) -> (std::path::PathBuf, File) {
    let path =
        std::env::temp_dir().join(format!("minormajor-kernels-{}-{name}", std::process::id()));
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path)
        .unwrap();
    (path, file)
}

#[test]
fn what_is_written_is_read_back() {
    let (path, file) = scratch("written");
    let mut out = MappedFileMut::open_write(&file, 100_003).unwrap();
    assert_eq!(out.len(), 100_003);
    assert!(out.iter().all(|&b| b == 0));
    out[0] = 1;
    out[100_002] = 2;
    for advice in [
        Advice::HugePages,
        Advice::Sequential,
        Advice::Random,
        Advice::WillNeed,
        Advice::DontNeed,
    ] {
        out.advise(advice);
    }
    out.flush().unwrap();
    assert_eq!((out[0], out[100_002]), (1, 2));
    drop(out);
    let back = MappedFile::open_read(&file).unwrap();
    back.advise(Advice::DontNeed);
    assert_eq!((back.len(), back[0], back[100_002]), (100_003, 1, 2));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn empty_files_are_empty_slices() {
    let (path, file) = scratch("empty");
    let mut out = MappedFileMut::open_write(&file, 0).unwrap();
    assert!(out.is_empty() && out.as_mut().is_empty());
    out.flush().unwrap();
    out.advise(Advice::Sequential);
    let back = MappedFile::open_read(&file).unwrap();
    assert!(back.is_empty());
    back.advise(Advice::Sequential);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_length_beyond_memory_is_an_error() {
    let (path, file) = scratch("long");
    let error = MappedFileMut::open_write(&file, u64::MAX).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert_eq!(file.metadata().unwrap().len(), 0);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn memory_is_zero_and_can_be_advised() {
    let mut memory = Memory::zeroed(5_000_001).unwrap();
    advise_huge_pages(&mut memory);
    assert!(memory.iter().all(|&b| b == 0));
    memory[5_000_000] = 1;
    assert!(Memory::zeroed(0).unwrap().is_empty());
    advise_huge_pages(&mut []);
    advise_huge_pages(&mut [1, 2, 3]);
}

/// Memory that is not touched costs nothing, so offsets of gigabytes can be tried.
#[cfg(target_pointer_width = "64")]
#[test]
fn offsets_beyond_32_bits() {
    use minormajor_kernels::{Loop, Move};

    const FAR: usize = (1 << 31) + 4;
    let mut source = Memory::zeroed(2 * FAR + 1000).unwrap();
    for i in 0..3 {
        for j in 0..5 {
            source[i * FAR + 4 * j] = (10 * i + j) as u8;
        }
    }
    let m = Move::new(
        4,
        0,
        0,
        &[
            Loop {
                extent: 3,
                source: FAR as isize,
                destination: 4,
            },
            Loop {
                extent: 5,
                source: 4,
                destination: FAR as isize,
            },
        ],
    )
    .unwrap();
    assert_eq!(m.destination_len(), 4 * FAR + 12);
    let mut destination = Memory::zeroed(m.destination_len()).unwrap();
    m.run(&source, &mut destination).unwrap();
    for i in 0..3 {
        for j in 0..5 {
            assert_eq!(destination[j * FAR + 4 * i], (10 * i + j) as u8);
        }
    }
}
