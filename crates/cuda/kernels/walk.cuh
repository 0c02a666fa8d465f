// Going through the elements of one or two places at once.
#pragma once
#include "platform.cuh"

#define MM_OUTER 40
#define MM_INNER 10
// Items that a thread takes at once.
#define MM_ITEMS 4

// Loops over items: work items take a chunk of the inner loops in one pass of the outer ones.
struct Walk {
    u64 work;
    // Chunks of MM_THREADS * MM_ITEMS items in a pass, as a divisor.
    u64 chunks;
    u64 chunks_magic;
    u32 chunks_shift;
    // Items in a pass.
    u32 items;
    u32 inner_count;
    u32 outer_count;
    // Fastest first.
    Inner inner[MM_INNER];
    Outer outer[MM_OUTER];
};

// Where a work item begins.
struct Begin {
    u64 pass;
    u32 first;
    i64 offset[2];
};

MM_DEVICE Begin begin(const Walk& walk, u64 work, u32 thread) {
    Begin b;
    u64 rest = b.pass = divide(work, walk.chunks_magic, walk.chunks_shift);
    b.first = u32(work - rest * walk.chunks) * (MM_THREADS * MM_ITEMS) + thread;
    b.offset[0] = b.offset[1] = 0;
    MM_LOOP
    for (u32 d = 0; d < walk.outer_count; d++) {
        u64 next = divide(rest, walk.outer[d].magic, walk.outer[d].shift);
        i64 digit = i64(rest - next * walk.outer[d].extent);
        b.offset[0] += digit * walk.outer[d].stride[0];
        b.offset[1] += digit * walk.outer[d].stride[1];
        rest = next;
    }
    return b;
}

// Adds an item's offsets.
MM_DEVICE void add_offsets(const Walk& walk, u32 item, i64& first, i64& second) {
    MM_LOOP
    for (u32 d = 0; d < walk.inner_count; d++) {
        u32 next = divide(item, walk.inner[d].magic, walk.inner[d].shift);
        i64 digit = item - next * walk.inner[d].extent;
        first += digit * walk.inner[d].stride[0];
        second += digit * walk.inner[d].stride[1];
        item = next;
    }
}

// So many bytes as one access.
template <int BYTES>
struct Access;
template <>
struct Access<1> {
    typedef u8 Type;
};
template <>
struct Access<2> {
    typedef u16 Type;
};
template <>
struct Access<4> {
    typedef u32 Type;
};
template <>
struct Access<8> {
    typedef u64 Type;
};
template <>
struct Access<16> {
    typedef u128 Type;
};
