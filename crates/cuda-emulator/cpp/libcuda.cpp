// The driver's and cuBLAS's functions, as far as they are called, on the host: so that the calls
// themselves are tested. Work is done at once. What a caller must not do ends in an error.
#include "emulator.cpp"

#include <cstdlib>
#include <mutex>
#include <set>

namespace {

enum { OK = 0, INVALID_VALUE = 1, NO_MEMORY = 2, NOT_FOUND = 500, LAUNCH_FAILED = 719 };

std::mutex guard;
std::map<u64, u64> allocations;
std::set<void*> pinned, streams, events, destroyed;
int contexts = 0;
thread_local void* context = nullptr;
char last_fault[512] = "no description";
const u64 MEMORY = 64 << 20;

u64 used() {
    u64 sum = 0;
    for (auto& a : allocations) {
        sum += a.second;
    }
    return sum;
}

bool inside(u64 address, u64 bytes) {
    auto next = allocations.upper_bound(address);
    if (next == allocations.begin()) {
        return false;
    }
    --next;
    return address + bytes <= next->first + next->second;
}

// Whether a handle is one of these. The driver says nothing of those that were destroyed: they may be anything by then.
bool alive(const std::set<void*>& all, void* handle) {
    if (destroyed.count(handle) == 1) {
        std::fprintf(stderr, "a stream or an event is used that was destroyed\n");
        std::abort();
    }
    return all.count(handle) == 1;
}

// A name in a module's text is a kernel if the emulator has it too.
struct Function {
    std::string name;
};
std::map<std::string, Function> functions;
std::string module_text;

}  // namespace

#define LOCKED std::lock_guard<std::mutex> lock(guard)
#define IN_CONTEXT                 \
    LOCKED;                        \
    if (context == nullptr) {      \
        return 201;                \
    }

extern "C" {
int cuInit(unsigned flags) { return flags == 0 ? OK : INVALID_VALUE; }
int cuDriverGetVersion(int* version) { return *version = 12010, OK; }
int cuDeviceGetCount(int* count) { return *count = 1, OK; }
int cuDeviceGet(int* device, int ordinal) {
    *device = 7;
    return ordinal == 0 ? OK : 101;
}
int cuDeviceGetName(char* name, int bytes, int device) {
    std::snprintf(name, bytes, "Emulated card %d", device);
    return OK;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
    *value = attribute == 16 ? 3 : attribute == 75 ? 8 : attribute == 76 ? 0 : attribute == 115;
    return device == 7 ? OK : INVALID_VALUE;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = MEMORY, OK; }
int cuDevicePrimaryCtxRetain(void** made, int) {
    LOCKED;
    contexts++;
    *made = &contexts;
    return OK;
}
int cuDevicePrimaryCtxRelease_v2(int) {
    LOCKED;
    return --contexts, OK;
}
int cuCtxSetCurrent(void* made) { return context = made, made == &contexts ? OK : INVALID_VALUE; }
int cuCtxSynchronize() { return OK; }
int cuModuleLoadData(void** module, const void* image) {
    IN_CONTEXT;
    module_text = static_cast<const char*>(image);
    *module = &module_text;
    return OK;
}
int cuModuleUnload(void* module) { return module == &module_text ? OK : INVALID_VALUE; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
    IN_CONTEXT;
    std::string entry = std::string(".entry ") + name + "(";
    if (module != &module_text || module_text.find(entry) == std::string::npos ||
        minormajor_emulator_params(name) == 0) {
        return NOT_FOUND;
    }
    *function = &functions.emplace(name, Function{name}).first->second;
    return OK;
}
int cuDeviceGetDefaultMemPool(void** pool, int) { return *pool = &allocations, OK; }
int cuMemPoolSetAttribute(void* pool, int attribute, void* value) {
    bool fits = pool == &allocations && attribute == 4 && *static_cast<u64*>(value) == ~0ull;
    return fits ? OK : INVALID_VALUE;
}
int cuMemPoolTrimTo(void* pool, size_t) { return pool == &allocations ? OK : INVALID_VALUE; }
int cuMemAllocAsync(u64* address, size_t bytes, void* stream) {
    IN_CONTEXT;
    if (!alive(streams, stream) || bytes == 0) {
        return INVALID_VALUE;
    }
    if (used() + bytes > MEMORY) {
        return NO_MEMORY;
    }
    void* made = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::memset(made, 0xa5, bytes);
    *address = u64(made);
    allocations[*address] = bytes;
    return OK;
}
int cuMemFreeAsync(u64 address, void* stream) {
    IN_CONTEXT;
    if (!alive(streams, stream) || allocations.erase(address) == 0) {
        return INVALID_VALUE;
    }
    std::free(reinterpret_cast<void*>(address));
    return OK;
}
int cuPointerGetAttribute(void* value, int attribute, u64 address) {
    IN_CONTEXT;
    if (attribute != 9 || !inside(address, 1)) {
        return INVALID_VALUE;
    }
    return *static_cast<int*>(value) = 0, OK;
}
int cuMemGetInfo_v2(size_t* free, size_t* total) {
    IN_CONTEXT;
    *total = MEMORY;
    *free = MEMORY - used();
    return OK;
}
int cuMemAllocHost_v2(void** pointer, size_t bytes) {
    IN_CONTEXT;
    pinned.insert(*pointer = std::malloc(bytes));
    return OK;
}
int cuMemFreeHost(void* pointer) {
    IN_CONTEXT;
    if (pinned.erase(pointer) == 0) {
        return INVALID_VALUE;
    }
    std::free(pointer);
    return OK;
}
int cuMemcpyHtoDAsync_v2(u64 to, const void* from, size_t bytes, void* stream) {
    IN_CONTEXT;
    if (!inside(to, bytes) || !alive(streams, stream)) {
        return INVALID_VALUE;
    }
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return OK;
}
int cuMemcpyDtoHAsync_v2(void* to, u64 from, size_t bytes, void* stream) {
    IN_CONTEXT;
    if (!inside(from, bytes) || !alive(streams, stream)) {
        return INVALID_VALUE;
    }
    std::memcpy(to, reinterpret_cast<void*>(from), bytes);
    return OK;
}
int cuMemcpyDtoDAsync_v2(u64 to, u64 from, size_t bytes, void* stream) {
    IN_CONTEXT;
    if (!inside(from, bytes) || !inside(to, bytes) || !alive(streams, stream)) {
        return INVALID_VALUE;
    }
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
    return OK;
}
int cuMemsetD8Async(u64 address, u8 value, size_t bytes, void* stream) {
    IN_CONTEXT;
    if (!inside(address, bytes) || !alive(streams, stream)) {
        return INVALID_VALUE;
    }
    std::memset(reinterpret_cast<void*>(address), value, bytes);
    return OK;
}
static int made(std::set<void*>& all, void** handle) {
    all.insert(*handle = std::malloc(1));
    return OK;
}
static int ended(std::set<void*>& all, void* handle) {
    if (!alive(all, handle)) {
        return INVALID_VALUE;
    }
    all.erase(handle);
    // Not freed, so that no other has its address.
    destroyed.insert(handle);
    return OK;
}
int cuStreamCreate(void** stream, unsigned) {
    IN_CONTEXT;
    return made(streams, stream);
}
int cuStreamDestroy_v2(void* stream) {
    IN_CONTEXT;
    return ended(streams, stream);
}
int cuStreamSynchronize(void* stream) {
    IN_CONTEXT;
    return alive(streams, stream) ? OK : INVALID_VALUE;
}
int cuStreamWaitEvent(void* stream, void* event, unsigned) {
    IN_CONTEXT;
    return alive(streams, stream) && alive(events, event) ? OK : INVALID_VALUE;
}
int cuEventCreate(void** event, unsigned) {
    IN_CONTEXT;
    return made(events, event);
}
int cuEventRecord(void* event, void* stream) { return cuStreamWaitEvent(stream, event, 0); }
int cuEventSynchronize(void* event) {
    IN_CONTEXT;
    return alive(events, event) ? OK : INVALID_VALUE;
}
int cuEventElapsedTime(float* milliseconds, void*, void*) { return *milliseconds = 1, OK; }
int cuEventDestroy_v2(void* event) {
    IN_CONTEXT;
    return ended(events, event);
}
int cuLaunchKernel(void* function, unsigned grid, unsigned grid_y, unsigned grid_z, unsigned block,
                   unsigned block_y, unsigned block_z, unsigned shared, void* stream,
                   void** parameters, void**) {
    IN_CONTEXT;
    if (grid == 0 || grid_y != 1 || grid_z != 1 || block != MM_THREADS || block_y != 1 ||
        block_z != 1 || shared > 48 << 10 || !alive(streams, stream)) {
        return INVALID_VALUE;
    }
    std::vector<Region> regions;
    for (auto& a : allocations) {
        regions.push_back(Region{a.first, a.second});
    }
    Counts counts;
    const char* name = static_cast<Function*>(function)->name.c_str();
    int status = minormajor_emulator_run(name, static_cast<u8*>(parameters[0]), grid, shared,
                                         regions.data(), regions.size(), 0, &counts, last_fault,
                                         sizeof last_fault);
    return status == 0 ? OK : LAUNCH_FAILED;
}
int cuGetErrorName(int error, const char** name) {
    *name = error == NO_MEMORY       ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
                                     : "CUDA_ERROR_INVALID_VALUE";
    return OK;
}
int cuGetErrorString(int error, const char** text) {
    *text = error == LAUNCH_FAILED ? last_fault : "emulated";
    return OK;
}

int cublasCreate_v2(void** handle) { return made(events, handle); }
int cublasDestroy_v2(void* handle) { return ended(events, handle); }
int cublasSetStream_v2(void*, void* stream) { return alive(streams, stream) ? 0 : 7; }
int cublasSetMathMode(void*, int mode) { return mode == 16 ? 0 : 7; }
// f32 and bytes only.
int cublasGemmStridedBatchedEx(void* handle, int ta, int tb, int m, int n, int k, const void* alpha,
                               const void* a, int a_type, int lda, long long sa, const void* b,
                               int b_type, int ldb, long long sb, const void* beta, void* c,
                               int c_type, int ldc, long long sc, int batch, int compute,
                               int algorithm) {
    if (!alive(events, handle) || a_type != b_type || algorithm != -1 || ldc < m ||
        lda < (ta ? k : m) || ldb < (tb ? n : k)) {
        return 7;
    }
    auto each = [&](auto zero, auto from, auto get) {
        if (*static_cast<const decltype(zero)*>(alpha) != 1 ||
            *static_cast<const decltype(zero)*>(beta) != 0) {
            return 7;
        }
        for (int x = 0; x < batch; x++) {
            for (int i = 0; i < m; i++) {
                for (int j = 0; j < n; j++) {
                    decltype(zero) sum = 0;
                    for (int l = 0; l < k; l++) {
                        auto left = static_cast<decltype(from)>(a)[x * sa + (ta ? l + i * lda : i + l * lda)];
                        auto right = static_cast<decltype(from)>(b)[x * sb + (tb ? j + l * ldb : l + j * ldb)];
                        sum += get(left) * get(right);
                    }
                    static_cast<decltype(zero)*>(c)[x * sc + i + j * (long long)ldc] = sum;
                }
            }
        }
        return 0;
    };
    if (a_type == 0 && c_type == 0 && compute == 68) {
        return each(0.0f, static_cast<const float*>(a), [](float x) { return x; });
    }
    if (a_type == 3 && c_type == 10 && compute == 72) {
        // Of bytes, what the card's library was seen to take: see BYTES_AT_A_TIME.
        long long places = k | lda | ldb | sa | sb | (long long)a | (long long)b;
        if (ta != 1 || tb != 0 || places % 4 != 0) {
            return 15;
        }
        return each(0, static_cast<const i8*>(a), [](i8 x) { return int(x); });
    }
    return 15;
}
}
