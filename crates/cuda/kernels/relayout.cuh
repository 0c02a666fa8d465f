// Boxes of a plan: loops of (extent, source stride, destination stride).
#pragma once
#include "registers.cuh"

struct RunsParams {
    u64 source;
    u64 destination;
    u128 pattern;
    Walk walk;
};

template <class V>
MM_DEVICE V pattern_of(const u128& pattern);
template <>
MM_MEMBER u8 pattern_of<u8>(const u128& pattern) {
    return u8(pattern.w[0]);
}
template <>
MM_MEMBER u16 pattern_of<u16>(const u128& pattern) {
    return u16(pattern.w[0]);
}
template <>
MM_MEMBER u32 pattern_of<u32>(const u128& pattern) {
    return pattern.w[0];
}
template <>
MM_MEMBER u64 pattern_of<u64>(const u128& pattern) {
    return u64(pattern.w[1]) << 32 | pattern.w[0];
}
template <>
MM_MEMBER u128 pattern_of<u128>(const u128& pattern) {
    return pattern;
}

// Moves items of one vector each, or fills them: both sides share the fastest loop.
template <class V, bool FILL>
struct Runs {
    typedef RunsParams Params;
    enum { BARRIERS = 0, PHASES = 1 };

    MM_DEVICE void prepare(const Params&, u32, Shared) {}

    template <int>
    MM_DEVICE void phase(const Params& p, u64 work, u32 thread, Shared) {
        Begin start = begin(p.walk, work, thread);
        V value[MM_ITEMS];
        i64 to[MM_ITEMS];
        MM_UNROLL
        for (u32 k = 0; k < MM_ITEMS; k++) {
            u32 item = start.first + k * MM_THREADS;
            if (item < p.walk.items) {
                i64 from = start.offset[0];
                to[k] = start.offset[1];
                add_offsets(p.walk, item, from, to[k]);
                if constexpr (FILL) {
                    value[k] = pattern_of<V>(p.pattern);
                } else {
                    value[k] = read<V>(p.source + from);
                }
            }
        }
        MM_UNROLL
        for (u32 k = 0; k < MM_ITEMS; k++) {
            if (start.first + k * MM_THREADS < p.walk.items) {
                write<V>(p.destination + to[k], value[k]);
            }
        }
    }

    MM_DEVICE u64 work(const Params& p) { return p.walk.work; }
};

// A digit of a table's index; its stride in bytes, and in the tile, in elements.
struct TableDigit {
    u32 extent;
    u32 magic;
    u32 shift;
    u32 words;
    i64 stride;
};

#define MM_TABLE_DIGITS 10
#define MM_WHOLE 2

// Where the rows or the columns of a tile lie.
struct Table {
    u32 entries;
    u32 digits;
    // Which of `ragged` cuts it at the array's end, or MM_WHOLE; that loop is the last digit, and
    // each of its steps is `step` entries.
    u32 ragged;
    u32 step;
    // Fastest first.
    TableDigit digit[MM_TABLE_DIGITS];
};

// How threads go through one side of a tile: a warp takes 2^lanes vectors of 2^(5-lanes) rows.
struct Side {
    u32 lanes;
    // Such pieces beside each other, as a divisor, and in all.
    u32 across;
    u32 across_magic;
    u32 across_shift;
    u32 pieces;
    u32 unused;
    Table rows;
    Table columns;
};

// A loop that tiles cut into chunks, the last one shorter: the place among `outer`.
struct Ragged {
    u64 extent;
    u32 chunk;
    u32 outer;
};

struct TilesParams {
    u64 source;
    u64 destination;
    u64 work;
    // Words from one row of the tile to the next: odd, so that both sides reach all banks.
    u32 pitch;
    // Bytes of the tile itself; tables follow.
    u32 tile_bytes;
    u32 outer_count;
    u32 unused;
    Ragged ragged[2];
    Side load;
    Side store;
    Outer outer[MM_OUTER];
};

// Moves tiles through shared memory. A tile is a set of digits of the box's loops; the columns of
// its load side are digits with small strides in the source, those of its store side digits with
// small strides in the destination, and rows are all its other digits. The tile lies in shared
// memory as the load side sees it, in words of PACK elements that are neighbours in the
// destination.
//   WIDTH  bytes of an element;
//   LOAD   elements that a thread reads at once from each of PACK rows;
//   STORE  words that a thread writes at once.
template <int WIDTH, int PACK, int LOAD, int STORE>
struct Tiles {
    typedef TilesParams Params;
    enum { BARRIERS = 1, PHASES = 2, WORD = WIDTH * PACK };
    // Reads that are under way at once in each thread.
    enum : u32 { ROUNDS = 4 / PACK };
    typedef typename Access<WORD>::Type Word;

    struct Tables {
        u32 load_rows, load_columns, store_rows, store_columns, row_words, column_words;
    };

    MM_DEVICE Tables tables(const Params& p) {
        Tables t;
        t.load_rows = p.tile_bytes;
        t.load_columns = t.load_rows + 8 * p.load.rows.entries;
        t.store_rows = t.load_columns + 8 * (p.load.columns.entries / LOAD);
        t.store_columns = t.store_rows + 8 * p.store.rows.entries;
        t.row_words = t.store_columns + 8 * (p.store.columns.entries / (STORE * PACK));
        t.column_words = t.row_words + 4 * p.store.rows.entries;
        return t;
    }

    MM_DEVICE void locate(const Table& table, u32 n, i64& bytes, u32& words) {
        bytes = 0;
        u32 parts = 0;
        MM_LOOP
        for (u32 d = 0; d < table.digits; d++) {
            u32 next = divide(n, table.digit[d].magic, table.digit[d].shift);
            u32 digit = n - next * table.digit[d].extent;
            bytes += i64(digit) * table.digit[d].stride;
            parts += digit * table.digit[d].words;
            n = next;
        }
        words = parts / PACK;
    }

    MM_DEVICE void prepare(const Params& p, u32 thread, Shared shared) {
        Tables t = tables(p);
        i64 bytes;
        u32 words;
        MM_LOOP
        for (u32 n = thread; n < p.load.rows.entries; n += MM_THREADS) {
            locate(p.load.rows, n, bytes, words);
            // The rows of a word are apart, so that the words of a warp are neighbours.
            u32 place = n % PACK * (p.load.rows.entries / PACK) + n / PACK;
            shared.put(t.load_rows + 8 * place, bytes);
        }
        MM_LOOP
        for (u32 n = thread; n < p.load.columns.entries / LOAD; n += MM_THREADS) {
            locate(p.load.columns, n * LOAD, bytes, words);
            shared.put(t.load_columns + 8 * n, bytes);
        }
        MM_LOOP
        for (u32 n = thread; n < p.store.rows.entries; n += MM_THREADS) {
            locate(p.store.rows, n, bytes, words);
            shared.put(t.store_rows + 8 * n, bytes);
            shared.put(t.row_words + 4 * n, words);
        }
        MM_LOOP
        for (u32 n = thread; n < p.store.columns.entries / PACK; n += MM_THREADS) {
            locate(p.store.columns, n * PACK, bytes, words);
            if (n % STORE == 0) {
                shared.put(t.store_columns + 8 * (n / STORE), bytes);
            }
            shared.put(t.column_words + 4 * n, words);
        }
    }

    // Where the tile begins on a side, and how many steps its ragged loops have.
    MM_DEVICE i64 begin(const Params& p, u64 work, int side, u32 (&steps)[2]) {
        i64 base = 0;
        u64 digits = work;
        MM_LOOP
        for (u32 d = 0; d < p.outer_count; d++) {
            u64 next = divide(digits, p.outer[d].magic, p.outer[d].shift);
            u64 digit = digits - next * p.outer[d].extent;
            base += i64(digit) * p.outer[d].stride[side];
            digits = next;
            MM_UNROLL
            for (int r = 0; r < 2; r++) {
                if (p.ragged[r].outer == d) {
                    u64 rest = p.ragged[r].extent - digit * p.ragged[r].chunk;
                    steps[r] = rest < p.ragged[r].chunk ? u32(rest) : p.ragged[r].chunk;
                }
            }
        }
        return base;
    }

    MM_DEVICE u64 work(const Params& p) { return p.work; }

    MM_DEVICE u32 entries(const Table& table, const u32 (&steps)[2]) {
        return table.ragged == MM_WHOLE ? table.entries
                                        : (table.ragged == 0 ? steps[0] : steps[1]) * table.step;
    }

    // The row and the vector that an item is.
    MM_DEVICE void place(const Side& side, u32 item, u32& row, u32& vector) {
        u32 lane = item & 31, piece = item >> 5;
        u32 down = divide(piece, side.across_magic, side.across_shift);
        vector = ((piece - down * side.across) << side.lanes) + (lane & ((1u << side.lanes) - 1));
        row = (down << (5 - side.lanes)) + (lane >> side.lanes);
    }

    template <int N>
    MM_DEVICE void phase(const Params& p, u64 work, u32 thread, Shared shared) {
        u32 steps[2] = {0, 0};
        if constexpr (N == 0) {
            u64 base = p.source + begin(p, work, 0, steps);
            load(p, base, steps, thread, shared);
        } else {
            u64 base = p.destination + begin(p, work, 1, steps);
            store(p, base, steps, thread, shared);
        }
    }

    MM_DEVICE void load(const Params& p, u64 base, const u32 (&steps)[2], u32 thread,
                        Shared shared) {
        Tables t = tables(p);
        u32 rows = entries(p.load.rows, steps), columns = entries(p.load.columns, steps);
        u32 items = p.load.pieces * 32;
        MM_LOOP
        for (u32 first = thread; first < items; first += ROUNDS * MM_THREADS) {
            Registers<WIDTH * LOAD> in[ROUNDS][PACK];
            u32 at[ROUNDS];
            MM_UNROLL
            for (u32 k = 0; k < ROUNDS; k++) {
                u32 row, vector;
                place(p.load, first + k * MM_THREADS, row, vector);
                bool inside = first + k * MM_THREADS < items && row * PACK < rows &&
                              vector * LOAD < columns;
                at[k] = inside ? row * p.pitch + vector * LOAD : ~0u;
                if (inside) {
                    u64 column = base + shared.get<i64>(t.load_columns + 8 * vector);
                    MM_UNROLL
                    for (u32 r = 0; r < PACK; r++) {
                        u32 line_place = r * (p.load.rows.entries / PACK) + row;
                        i64 line = shared.get<i64>(t.load_rows + 8 * line_place);
                        in[k][r].read_from(column + line);
                    }
                }
            }
            MM_UNROLL
            for (u32 k = 0; k < ROUNDS; k++) {
                if (at[k] != ~0u) {
                    put(shared, at[k], in[k]);
                }
            }
        }
    }

    // Writes LOAD words, each of one element of every row.
    MM_DEVICE void put(Shared shared, u32 at, const Registers<WIDTH * LOAD> (&rows)[PACK]) {
        if constexpr (PACK == 1) {
            MM_UNROLL
            for (u32 j = 0; j < LOAD; j++) {
                shared.put<Word>((at + j) * WORD, rows[0].template get<WIDTH>(j));
            }
        } else if constexpr (PACK == 2) {
            MM_UNROLL
            for (u32 j = 0; j < LOAD; j += 2) {
                u32 a = rows[0].w[j / 2], b = rows[1].w[j / 2];
                shared.put<u32>((at + j) * 4, permute(a, b, 0x5410));
                shared.put<u32>((at + j + 1) * 4, permute(a, b, 0x7632));
            }
        } else {
            MM_UNROLL
            for (u32 j = 0; j < LOAD; j += 4) {
                u32 a = rows[0].w[j / 4], b = rows[1].w[j / 4];
                u32 c = rows[2].w[j / 4], d = rows[3].w[j / 4];
                u32 low = permute(a, b, 0x5140), high = permute(a, b, 0x7362);
                u32 low2 = permute(c, d, 0x5140), high2 = permute(c, d, 0x7362);
                shared.put<u32>((at + j) * 4, permute(low, low2, 0x5410));
                shared.put<u32>((at + j + 1) * 4, permute(low, low2, 0x7632));
                shared.put<u32>((at + j + 2) * 4, permute(high, high2, 0x5410));
                shared.put<u32>((at + j + 3) * 4, permute(high, high2, 0x7632));
            }
        }
    }

    MM_DEVICE void store(const Params& p, u64 base, const u32 (&steps)[2], u32 thread,
                         Shared shared) {
        Tables t = tables(p);
        u32 rows = entries(p.store.rows, steps), columns = entries(p.store.columns, steps);
        u32 items = p.store.pieces * 32;
        MM_LOOP
        for (u32 item = thread; item < items; item += MM_THREADS) {
            u32 row, vector;
            place(p.store, item, row, vector);
            if (row < rows && vector * (STORE * PACK) < columns) {
                u32 words = shared.get<u32>(t.row_words + 4 * row);
                Registers<WORD * STORE> out;
                MM_UNROLL
                for (u32 j = 0; j < STORE; j++) {
                    u32 word = words + shared.get<u32>(t.column_words + 4 * (vector * STORE + j));
                    out.template set<WORD>(j, shared.get<Word>(word * WORD));
                }
                i64 line = shared.get<i64>(t.store_rows + 8 * row);
                i64 column = shared.get<i64>(t.store_columns + 8 * vector);
                out.write_to(base + line + column);
            }
        }
    }
};
