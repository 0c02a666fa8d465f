//! Buffers between pages that fault.

const PAGE: usize = 4096;

/// A buffer between two pages that can't be touched, flush with one of them.
pub struct Guarded {
    map: *mut u8,
    mapped: usize,
    start: usize,
    length: usize,
}

impl Guarded {
    pub fn new(bytes: &[u8], at_end: bool) -> Guarded {
        let inside = bytes.len().next_multiple_of(PAGE);
        let mapped = inside + 2 * PAGE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at an address of the system's choice.
        let map =
            unsafe { libc::mmap(std::ptr::null_mut(), mapped, libc::PROT_NONE, flags, -1, 0) };
        assert_ne!(map, libc::MAP_FAILED);
        let map = map.cast::<u8>();
        // SAFETY: pages 1 to the last but one of that mapping.
        let done = unsafe {
            libc::mprotect(
                map.add(PAGE).cast(),
                inside.max(1),
                libc::PROT_READ | libc::PROT_WRITE,
            )
        };
        assert_eq!(done, 0);
        let start = PAGE + if at_end { inside - bytes.len() } else { 0 };
        let mut guarded = Guarded {
            map,
            mapped,
            start,
            length: bytes.len(),
        };
        guarded.bytes().copy_from_slice(bytes);
        guarded
    }

    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: start..start + length of the map is readable, writable and initialised (to zero by the system).
        unsafe { std::slice::from_raw_parts_mut(self.map.add(self.start), self.length) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`.
        unsafe {
            libc::munmap(self.map.cast(), self.mapped);
        }
    }
}
