// Runs kernels on the host, and says where one does what it must not.
#include "kernels.cu"

#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

struct Kernel {
    u64 params;
    void (*run)(const void*, u32, Runner&);
};

std::map<std::string, Kernel>& table() {
    static std::map<std::string, Kernel> kernels;
    return kernels;
}

struct Fault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <class... A>
std::string text(const char* format, A... values) {
    char buffer[256];
    std::snprintf(buffer, sizeof buffer, format, values...);
    return buffer;
}

struct Region {
    u64 address;
    u64 bytes;
};

// What a warp asked for, in the order of each thread's accesses in a phase.
struct Asked {
    u64 address;
    u32 bytes;
    u8 kind;  // 0 and 1: reads and writes of global memory, 2 and 3: of shared memory
};

struct Counts {
    u64 bytes[2];
    u64 sectors[2];
    u64 wavefronts;
    u64 requests;
};

// A byte of shared memory: who touched it last, and between which barriers.
struct Touched {
    u32 written_epoch = 0, writer = 0, read_epoch = 0, reader = 0;
};

struct Launch : Runner {
    const Region* regions;
    u64 count;
    bool notes;
    bool backwards;
    std::vector<u8> shared;
    std::vector<Touched> touched;
    // Who wrote a byte of global memory: only in launches that are small enough to note it.
    std::vector<std::vector<u32>> writers;
    std::vector<std::vector<Asked>> asked;
    Counts counts = {};
    u32 epoch = 0, block = 0, thread = 0;
    u64 last = 0;

    void begin_block() override {
        std::fill(shared.begin(), shared.end(), 0xcd);
        std::fill(touched.begin(), touched.end(), Touched());
        epoch = 1;
    }

    void barrier() override {
        epoch++;
        if (notes) {
            // What is done once a block, before all work, is not counted.
            for (u32 warp = 0; warp < MM_THREADS / 32 && epoch > 2; warp++) {
                count_warp(warp);
            }
            asked.assign(MM_THREADS, {});
        }
    }

    void begin_thread(u32 b, u32 t) override {
        block = b;
        thread = t;
    }

    u32 thread_at(u32 place) override { return backwards ? MM_THREADS - 1 - place : place; }

    std::string where() const { return text("block %u, thread %u", block, thread); }

    void count_warp(u32 warp) {
        size_t most = 0;
        for (u32 lane = 0; lane < 32; lane++) {
            most = std::max(most, asked[warp * 32 + lane].size());
        }
        for (size_t n = 0; n < most; n++) {
            std::vector<Asked> lanes;
            for (u32 lane = 0; lane < 32; lane++) {
                auto& all = asked[warp * 32 + lane];
                if (n < all.size()) {
                    lanes.push_back(all[n]);
                }
            }
            u8 kind = lanes[0].kind;
            u32 width = lanes[0].bytes;
            if (kind < 2) {
                std::vector<u64> sectors;
                for (auto& a : lanes) {
                    counts.bytes[kind] += a.bytes;
                    sectors.push_back(a.address / 32);
                }
                std::sort(sectors.begin(), sectors.end());
                counts.sectors[kind] +=
                    std::unique(sectors.begin(), sectors.end()) - sectors.begin();
                continue;
            }
            // A wavefront reaches 32 banks of 4 bytes, each for one word.
            size_t group = width <= 4 ? 32 : 128 / width;
            for (size_t first = 0; first < lanes.size(); first += group) {
                std::vector<std::vector<u64>> banks(32);
                for (size_t k = first; k < std::min(first + group, lanes.size()); k++) {
                    for (u32 b = 0; b < std::max(width / 4, 1u); b++) {
                        u64 word = lanes[k].address / 4 + b;
                        auto& bank = banks[word % 32];
                        if (std::find(bank.begin(), bank.end(), word) == bank.end()) {
                            bank.push_back(word);
                        }
                    }
                }
                size_t worst = 1;
                for (auto& bank : banks) {
                    worst = std::max(worst, bank.size());
                }
                counts.wavefronts += worst;
                counts.requests += 1;
            }
        }
    }
};

thread_local Launch* current = nullptr;

}  // namespace

Entry::Entry(const char* name, u64 params, void (*run)(const void*, u32, Runner&)) {
    table()[name] = Kernel{params, run};
}

void note_global(u64 address, u32 bytes, bool writes) {
    Launch& l = *current;
    const char* what = writes ? "write" : "read";
    if (address % bytes != 0) {
        throw Fault(l.where() + text(": %s of %u bytes at a place that is no multiple of them",
                                     what, bytes));
    }
    auto inside = [&](const Region& r) {
        return address >= r.address && address + bytes <= r.address + r.bytes;
    };
    if (l.last >= l.count || !inside(l.regions[l.last])) {
        // The last region that begins at the address or before; they are in order.
        auto above = [](u64 a, const Region& r) { return a < r.address; };
        u64 k = std::upper_bound(l.regions, l.regions + l.count, address, above) - l.regions;
        k = k > 0 && inside(l.regions[k - 1]) ? k - 1 : l.count;
        if (k == l.count) {
            i64 nearest = -1, distance = 0;
            for (u64 n = 0; n < l.count; n++) {
                i64 d = i64(address - l.regions[n].address);
                i64 far = d < 0 ? -d : d - i64(l.regions[n].bytes);
                if (nearest < 0 || far < distance) {
                    nearest = i64(n);
                    distance = far;
                }
            }
            i64 offset = nearest < 0 ? 0 : i64(address - l.regions[nearest].address);
            u64 size = nearest < 0 ? 0 : l.regions[nearest].bytes;
            throw Fault(l.where() + text(": %s of %u bytes outside of every allocation, at %lld "
                                         "of the nearest, which has %llu bytes",
                                         what, bytes, offset, size));
        }
        l.last = k;
    }
    if (!l.writers.empty()) {
        auto& writers = l.writers[l.last];
        if (writers.empty()) {
            writers.resize(l.regions[l.last].bytes);
        }
        u32 self = l.block * MM_THREADS + l.thread + 1;
        u64 offset = address - l.regions[l.last].address;
        for (u32 b = 0; b < bytes; b++) {
            u32& writer = writers[offset + b];
            if (writer != 0 && writer != self) {
                throw Fault(l.where() + text(": %s of byte %llu, which another thread wrote", what,
                                             offset + b));
            }
            if (writes) {
                writer = self;
            }
        }
    }
    if (l.notes) {
        l.asked[l.thread].push_back(Asked{address, bytes, u8(writes)});
    }
}

u8* note_shared(u32 offset, u32 bytes, bool writes) {
    Launch& l = *current;
    const char* what = writes ? "write" : "read";
    if (u64(offset) + bytes > l.shared.size() || offset % bytes != 0) {
        throw Fault(l.where() + text(": %s of %u bytes at %u of %llu bytes of shared memory", what,
                                     bytes, offset, (unsigned long long)l.shared.size()));
    }
    for (u32 b = offset; b < offset + bytes; b++) {
        Touched& t = l.touched[b];
        bool after = t.written_epoch == l.epoch && t.writer != l.thread;
        bool before = writes && t.read_epoch == l.epoch && t.reader != l.thread;
        if (after || before) {
            throw Fault(l.where() + text(": %s of byte %u of shared memory, which thread %u %s "
                                         "since the last barrier",
                                         what, b, after ? t.writer : t.reader,
                                         after ? "wrote" : "read"));
        }
        if (!writes && t.written_epoch == 0) {
            throw Fault(l.where() + text(": read of byte %u of shared memory, which nobody wrote",
                                         b));
        }
        if (writes) {
            t.written_epoch = l.epoch;
            t.writer = l.thread;
        } else {
            bool others = t.read_epoch == l.epoch && t.reader != l.thread;
            t.read_epoch = l.epoch;
            t.reader = others ? ~0u : l.thread;
        }
    }
    if (l.notes) {
        l.asked[l.thread].push_back(Asked{offset, bytes, u8(2 + writes)});
    }
    return &l.shared[offset];
}

// The bytes of a kernel's parameters; 0 where there is no such kernel.
extern "C" u64 minormajor_emulator_params(const char* name) {
    auto found = table().find(name);
    return found == table().end() ? 0 : found->second.params;
}

// Runs a kernel; 0, or 1 with the reason in `message`. `flags`: 1 counts transactions, 2 goes
// through threads backwards, 4 notes who wrote each byte.
extern "C" int minormajor_emulator_run(const char* name, const u8* params, u32 grid, u32 shared,
                                       const Region* regions, u64 count, u32 flags, Counts* counts,
                                       char* message, u64 message_bytes) {
    try {
        auto found = table().find(name);
        if (found == table().end()) {
            throw Fault("there is no such kernel");
        }
        Launch launch;
        launch.regions = regions;
        launch.count = count;
        launch.notes = flags & 1;
        launch.backwards = flags & 2;
        launch.shared.resize(shared);
        launch.touched.resize(shared);
        if (launch.notes) {
            launch.asked.resize(MM_THREADS);
        }
        if (flags & 4) {
            launch.writers.resize(count);
        }
        current = &launch;
        found->second.run(params, grid, launch);
        current = nullptr;
        *counts = launch.counts;
        return 0;
    } catch (const std::exception& fault) {
        current = nullptr;
        std::snprintf(message, message_bytes, "%s", fault.what());
        return 1;
    }
}
