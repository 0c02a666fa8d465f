// Every kernel that is shipped. `cargo xtask ptx` makes kernels.ptx of this.
#include "relayout.cuh"


// runs_N moves runs in vectors of N bytes, fill_N fills them.
#define MM_RUNS(bytes)                                                 \
    MM_KERNEL(runs_##bytes, Runs<Access<bytes>::Type, false>) \
    MM_KERNEL(fill_##bytes, Runs<Access<bytes>::Type, true>)
MM_RUNS(1)
MM_RUNS(2)
MM_RUNS(4)
MM_RUNS(8)
MM_RUNS(16)

// tiles_WIDTH_PACK_LOAD_STORE
#define MM_TILES(width, pack, load, store) \
    MM_KERNEL(tiles_##width##_##pack##_##load##_##store, Tiles<width, pack, load, store>)
MM_TILES(1, 1, 1, 1)
MM_TILES(1, 1, 1, 16)
MM_TILES(1, 1, 16, 1)
MM_TILES(1, 1, 16, 16)
MM_TILES(1, 4, 4, 1)
MM_TILES(1, 4, 4, 4)
MM_TILES(1, 4, 16, 1)
MM_TILES(1, 4, 16, 4)
MM_TILES(2, 1, 1, 1)
MM_TILES(2, 1, 1, 8)
MM_TILES(2, 1, 8, 1)
MM_TILES(2, 1, 8, 8)
MM_TILES(2, 2, 2, 1)
MM_TILES(2, 2, 2, 4)
MM_TILES(2, 2, 8, 1)
MM_TILES(2, 2, 8, 4)
MM_TILES(4, 1, 1, 1)
MM_TILES(4, 1, 1, 4)
MM_TILES(4, 1, 4, 1)
MM_TILES(4, 1, 4, 4)
MM_TILES(8, 1, 1, 1)
MM_TILES(8, 1, 1, 2)
MM_TILES(8, 1, 2, 1)
MM_TILES(8, 1, 2, 2)
MM_TILES(16, 1, 1, 1)
