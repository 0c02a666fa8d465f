//! Where the rows and the columns of a tile are.

/// Where the rows or the columns of a tile are.
pub(crate) trait Places {
    /// # Safety
    ///
    /// The tile has this place.
    unsafe fn at(&self, i: usize) -> *const u8;
}

/// Places that can be found from several of them.
pub(crate) trait Parted: Places + Copy {
    /// Those from `first` on, so many bytes further on. A few places from each of several are found by steps in registers, where a compiler
    /// keeps one of each in memory, or multiplies anew, for many from one: u8[224,800] to columns takes a Zen 3 a tenth less time so.
    ///
    /// # Safety
    ///
    /// The tile has the first one, and as many bytes there.
    unsafe fn from(&self, first: usize, bytes: usize) -> Self;

    /// The same places, of which a compiler does not know how they were found: it takes steps from here, and not from where many
    /// others are known from, whose distances it would keep in memory.
    fn anew(self) -> Self;
}

/// An equal step apart.
#[derive(Clone, Copy)]
pub(crate) struct Steps {
    pub(crate) base: *const u8,
    pub(crate) step: isize,
}

impl Places for Steps {
    #[inline(always)]
    unsafe fn at(&self, i: usize) -> *const u8 {
        // SAFETY: the place is one of the plane's, so the offset stays in its buffer.
        unsafe { self.base.offset(i as isize * self.step) }
    }
}

impl Parted for Steps {
    #[inline(always)]
    unsafe fn from(&self, first: usize, bytes: usize) -> Self {
        // SAFETY: as of `at`; the bytes are there by the caller's promise.
        let base = unsafe { self.at(first).add(bytes) };
        Steps { base, ..*self }
    }

    #[inline(always)]
    fn anew(self) -> Self {
        let base = unknown(self.base);
        Steps { base, ..self }
    }
}

/// This address, which for a compiler could be any other one.
#[inline(always)]
#[allow(clippy::pointers_in_nomem_asm_block)] // nothing is read or written there
fn unknown(address: *const u8) -> *const u8 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut address = address;
        // SAFETY: there is no instruction; the register holds what it held.
        unsafe {
            std::arch::asm!(
                "/* {0} */",
                inout(reg) address,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        address
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    address
}

/// At offsets from a base.
#[derive(Clone, Copy)]
pub(crate) struct Table<'a> {
    pub(crate) base: *const u8,
    pub(crate) offsets: &'a [isize],
}

impl Places for Table<'_> {
    #[inline(always)]
    unsafe fn at(&self, i: usize) -> *const u8 {
        debug_assert!(i < self.offsets.len());
        // SAFETY: the place is one of the table, whose offsets stay in the buffer.
        unsafe { self.base.offset(*self.offsets.get_unchecked(i)) }
    }
}

impl Parted for Table<'_> {
    #[inline(always)]
    unsafe fn from(&self, first: usize, bytes: usize) -> Self {
        debug_assert!(first < self.offsets.len());
        // SAFETY: the table has the first one. The bytes are there at each of its places, though not at the base.
        let offsets = unsafe { self.offsets.get_unchecked(first..) };
        let base = self.base.wrapping_add(bytes);
        Table { base, offsets }
    }

    #[inline(always)]
    fn anew(self) -> Self {
        self
    }
}

/// At pointers, some bytes further on.
#[derive(Clone, Copy)]
pub(crate) struct Listed<'a> {
    pub(crate) places: &'a [*const u8],
    pub(crate) offset: usize,
}

impl Places for Listed<'_> {
    #[inline(always)]
    unsafe fn at(&self, i: usize) -> *const u8 {
        debug_assert!(i < self.places.len());
        // SAFETY: the place is one of the list; the tile has the bytes that are `offset` further on.
        unsafe { self.places.get_unchecked(i).add(self.offset) }
    }
}
