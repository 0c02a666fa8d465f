// The host's side of kernels: every access is checked against what was allocated, and noted.
#pragma once
#include <cmath>
#include <cstring>

#define MM_DEVICE static inline
#define MM_MEMBER inline
#define MM_UNROLL
#define MM_LOOP
#define MM_UNROLL_4

// Each throws a Fault where the access is not allowed.
void note_global(u64 address, u32 bytes, bool writes);
u8* note_shared(u32 offset, u32 bytes, bool writes);

template <class V>
static V read(u64 address) {
    note_global(address, sizeof(V), false);
    V value;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof(V));
    return value;
}

template <class V>
static void write(u64 address, V value) {
    note_global(address, sizeof(V), true);
    std::memcpy(reinterpret_cast<void*>(address), &value, sizeof(V));
}

static void raise(u64 address) {
    note_global(address, 4, false);
    *reinterpret_cast<u32*>(address) = 1;
}

struct Shared {
    template <class V>
    V get(u32 offset) const {
        V value;
        std::memcpy(&value, note_shared(offset, sizeof(V), false), sizeof(V));
        return value;
    }
    template <class V>
    void put(u32 offset, V value) const {
        std::memcpy(note_shared(offset, sizeof(V), true), &value, sizeof(V));
    }
};

static inline u32 mulhi(u32 a, u32 b) { return u32(u64(a) * b >> 32); }
static inline u64 mulhi(u64 a, u64 b) { return u64((unsigned __int128)a * b >> 64); }

static inline u32 permute(u32 a, u32 b, u32 selector) {
    u64 both = u64(b) << 32 | a;
    u32 result = 0;
    for (int k = 0; k < 4; k++) {
        result |= u32(both >> (8 * (selector >> (4 * k) & 7)) & 255) << (8 * k);
    }
    return result;
}

// Goes through a launch block by block, phase by phase and thread by thread.
struct Runner {
    virtual void begin_block() = 0;
    virtual void barrier() = 0;
    virtual void begin_thread(u32 block, u32 thread) = 0;
    virtual u32 thread_at(u32 place) = 0;
};

template <class K, int N>
static void phases(const typename K::Params& p, u64 work, u32 block, Runner& runner) {
    if constexpr (N < K::PHASES) {
        for (u32 place = 0; place < MM_THREADS; place++) {
            u32 thread = runner.thread_at(place);
            runner.begin_thread(block, thread);
            K::template phase<N>(p, work, thread, Shared{});
        }
        runner.barrier();
        phases<K, N + 1>(p, work, block, runner);
    }
}

template <class K>
static void run(const void* bytes, u32 grid, Runner& runner) {
    typename K::Params p;
    std::memcpy(&p, bytes, sizeof p);
    for (u32 block = 0; block < grid; block++) {
        runner.begin_block();
        for (u32 place = 0; place < MM_THREADS; place++) {
            u32 thread = runner.thread_at(place);
            runner.begin_thread(block, thread);
            K::prepare(p, thread, Shared{});
        }
        runner.barrier();
        for (u64 work = block; work < K::work(p); work += grid) {
            phases<K, 0>(p, work, block, runner);
        }
    }
}

// Puts a kernel where the emulator finds it by its name.
struct Entry {
    Entry(const char* name, u64 params, void (*run)(const void*, u32, Runner&));
};

#define MM_KERNEL(name, ...) \
    static Entry entry_##name(#name, sizeof(__VA_ARGS__::Params), run<__VA_ARGS__>);
