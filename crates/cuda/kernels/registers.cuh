// Vectors that a thread holds.
#pragma once
#include "walk.cuh"

// BYTES bytes as words of 32 bits.
template <int BYTES>
struct Registers {
    u32 w[(BYTES + 3) / 4];

    MM_MEMBER void read_from(u64 address) {
        if constexpr (BYTES == 16) {
            u128 v = read<u128>(address);
            w[0] = v.w[0], w[1] = v.w[1], w[2] = v.w[2], w[3] = v.w[3];
        } else if constexpr (BYTES == 8) {
            u64 v = read<u64>(address);
            w[0] = u32(v), w[1] = u32(v >> 32);
        } else {
            w[0] = read<typename Access<BYTES>::Type>(address);
        }
    }

    MM_MEMBER void write_to(u64 address) const {
        if constexpr (BYTES == 16) {
            write<u128>(address, u128{{w[0], w[1], w[2], w[3]}});
        } else if constexpr (BYTES == 8) {
            write<u64>(address, u64(w[1]) << 32 | w[0]);
        } else {
            write(address, typename Access<BYTES>::Type(w[0]));
        }
    }

    // Word number k of WIDTH bytes.
    template <int WIDTH>
    MM_MEMBER typename Access<WIDTH>::Type get(int k) const {
        if constexpr (WIDTH == 16) {
            return u128{{w[0], w[1], w[2], w[3]}};
        } else if constexpr (WIDTH == 8) {
            return u64(w[2 * k + 1]) << 32 | w[2 * k];
        } else {
            return typename Access<WIDTH>::Type(w[k * WIDTH / 4] >> (k * WIDTH % 4 * 8));
        }
    }

    template <int WIDTH>
    MM_MEMBER void set(int k, typename Access<WIDTH>::Type v) {
        if constexpr (WIDTH == 16) {
            w[0] = v.w[0], w[1] = v.w[1], w[2] = v.w[2], w[3] = v.w[3];
        } else if constexpr (WIDTH == 8) {
            w[2 * k] = u32(v), w[2 * k + 1] = u32(v >> 32);
        } else {
            u32 shift = k * WIDTH % 4 * 8;
            u32 rest = shift == 0 ? 0 : w[k * WIDTH / 4];
            w[k * WIDTH / 4] = rest | u32(v) << shift;
        }
    }
};
