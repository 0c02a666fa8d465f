//! What `--help` teaches. Every example's output is what the program answers: a test runs them.

/// About shapes, for all commands.
pub const SHAPES: &str = "\
A shape's text is XLA's: an element type, the sizes of the dimensions, and the layout in braces.

  f32[2,3]                         2 rows of 3 floats; without a layout, the default one
  f32[2,3]{1,0}                    the same: dimension 1 is the most minor, rows are adjacent
  f32[2,3]{0,1}                    dimension 0 is the most minor: columns are adjacent
  f32[2,3]{0,1:PAD(3,5)}           padded to 3 rows of 5 with zeros; PAD(3,5;lowest) with others
  bf16[16,256]{1,0:T(8,128)(2,1)}  in tiles of 8 x 128, each cut into tiles of 2 x 1
  f32[<=8,3]  f32[?,3]             a size known at run time: at most 8; not bounded
  (f32[2], token[])                a tuple

A layout lists the dimensions from the most minor (whose elements are adjacent in memory) to the
most major, then properties in this order: T tiles, L tail alignment in elements, E bits an
element, S memory space, SC splits, M metadata bytes, PAD padded sizes and value.

Quote shapes for the shell:

  $ minormajor index 'f32[2,3]{0,1}' 1,0
  element [1, 0] is at position 1, byte 4

Every command has examples: minormajor draw --help";

/// Of every command.
pub const EXIT: &str = "\
The exit code is 0 if everything was answered; 1 if something was not: a shape, a layout, a rule
or a file is wrong; 2 if the command line is wrong; 3 if the system failed: a disk is full, or a
file can't be read or written.";

/// Of the program.
pub fn top() -> String {
    format!("{SHAPES}\n\n{EXIT}")
}

/// Of `describe`.
pub const DESCRIBE: &str = "\
Examples:

  $ minormajor describe 'f32[2,3]{0,1:PAD(3,5)}'
  f32[2,3]{0,1:PAD(3,5)}
    type              f32, float of 32 bits (8 exponent, 23 fraction)
    dimensions        2 x 3
    names             y = 2, x = 3
    rank              2, true rank 2
    minor to major    [0, 1]: dim 0 is minor (column-major)
    tiles             none
    padding           to [3, 5] with zero
    elements          6, allocated 15
    dense bytes       24 (24B)
    allocated bytes   60 (60B)
    expansion         36B (2.5x expansion)
    byte strides      [4, 12]
    proto             100b1a0202032a0d0a02000112020305180180010132020000

  $ printf 'token[]\\nf33[2]\\n' | minormajor describe -
  {\"shape\":\"token[]\",\"element_type\":\"token\",\"proto_hex\":\"1011\"}
  {\"input\":\"f33[2]\",\"error\":\"expected an element type such as f32, bf16, s32, u8 or
  pred, found `f33`; did you mean f32?\",\"column\":1}

Dense bytes are what the elements alone need; sizes and expansion in parentheses are written as
the TPU tools do. The exit code is 1 if any shape was wrong.";

/// Of `index`.
pub const INDEX: &str = "\
Examples:

  $ minormajor index 'f32[2,3]{0,1:PAD(3,5)}' 1,2
  element [1, 2] is at position 7, byte 28

  $ minormajor index 'f32[2,3]{0,1:PAD(3,5)}' --position 2
  position 2, byte 8 is padding: it pads the row of element [1, 0]

  $ minormajor index 's4[5]{0:E(4)}' 3 --json
  {\"index\":[3],\"position\":3,\"byte_offset\":1,\"bit_offset\":4}

  $ printf 'f32[2,3]\\t1,2\\nf32[]\\t\\nf32[2,3]\\t@4\\n' | minormajor index -
  {\"index\":[1,2],\"position\":5,\"byte_offset\":20}
  {\"index\":[],\"position\":0,\"byte_offset\":0}
  {\"index\":[1,1],\"position\":4,\"byte_offset\":16}

A position counts elements from the beginning of the buffer. Padding belongs to the nearest
element: the one found by taking every part of the index that is too large down to its greatest.";

/// Of `draw`.
pub const DRAW: &str = "\
Example:

  $ minormajor draw 'f32[2,3]{0,1:PAD(3,5)}'
  f32[2,3]{0,1:PAD(3,5)}
  dim 0 is minor, padded to [3, 5] with zero, 6 elements in 15 positions, 60 bytes

    the array, y down, x across    positions in memory, y down, x across
       0 1 2 3 4                      0 1 2 3 4
    0  a b c 0 0                   0  0 3 6 \u{b7} \u{b7}
    1  d e f 0 0                   1  1 4 7 \u{b7} \u{b7}
    2  0 0 0 0 0                   2  \u{b7} \u{b7} \u{b7} \u{b7} \u{b7}

    memory (brackets run along y; 0 is padding)
    a d 0 b e 0 c f 0 0 0 0 0 0 0
    \u{2514}\u{2500}\u{2500}\u{2500}\u{2518} \u{2514}\u{2500}\u{2500}\u{2500}\u{2518} \u{2514}\u{2500}\u{2500}\u{2500}\u{2518} \u{2514}\u{2500}\u{2500}\u{2500}\u{2518} \u{2514}\u{2500}\u{2500}\u{2500}\u{2518}
    0     3     6     9     12

With more than 26 elements the array shows positions, and memory shows indices. Of a large array,
the ends and what changes are shown: where tiles and padding begin.";

/// Of `plan`.
pub const PLAN: &str = "\
Example:

  $ minormajor plan 'f32[2,3]' '{0,1:PAD(3,5)}'
  f32[2,3]{1,0}
  to f32[2,3]{0,1:PAD(3,5)}

    class    permute
    why      dimension 1 is the minor one in the source, dimension 0 in the destination: a
             transpose; 9 elements of padding are filled with zero
    reads    24 bytes (24B)
    writes   60 bytes (60B)
    extra    0 bytes (0B) of heap, 524288 bytes (512.0K) of stack

    1 box to move: (extent, source stride, destination stride) in units of 4 bytes, outermost first
      from 0 to 0: (2, 3, 1) (3, 1, 3)

    2 boxes to fill: (extent, destination stride)
      zero at 2: (3, 3)
      zero at 9: (6, 1)

A box is a nest of loops: each runs `extent` times and steps by its strides. Extra is the most
memory that a run takes beside the two buffers.

A side may be a strided part of a buffer: rows of 3 floats every 16 bytes, behind 64 others.

  $ minormajor plan 'f32[2,3]' '{0,1}' --src-strides 16,4 --src-offset 64
  f32[2,3] from byte 64, strides of 16,4 bytes
  to f32[2,3]{0,1}

    class    permute
    why      dimension 1 is the minor one in the source, dimension 0 in the destination: a
             transpose
    reads    24 bytes (24B)
    writes   24 bytes (24B)
    extra    0 bytes (0B) of heap, 524288 bytes (512.0K) of stack

    1 box to move: (extent, source stride, destination stride) in units of 4 bytes, outermost first
      from 16 to 0: (2, 4, 1) (3, 1, 2)

A destination of another type converts: f32, f16 and bf16 to one another, rounded to the nearest,
ties to even, and NaNs stay NaNs. So does another byte order, --src-endian or --dst-endian.

  $ minormajor plan 'f32[2,3]' 'bf16[2,3]{0,1}' --src-endian big | grep -A2 why
    why      dimension 1 is the minor one in the source, dimension 0 in the destination: a
             transpose; big-endian f32 becomes bf16
    reads    24 bytes (24B)
    writes   12 bytes (12B)

Inside one buffer, with no more memory from the allocator than --memory says:

  $ minormajor plan 'f32[4096,8192]' '{0,1}' --in-place --memory 0
  f32[4096,8192]{1,0}
  to f32[4096,8192]{0,1}, in place

    class    permute
    why      dimension 1 is the minor one in the source, dimension 0 in the destination: a
             transpose
    buffer   134217728 bytes (128.00M)
    moves    268402688 bytes (255.97M)
    fills    0 bytes (0B)
    extra    0 bytes (0B) of heap, 589824 bytes (576.0K) of stack

    2 steps, one after another:
      swap in pairs: 4096 x 4096 blocks of 8 bytes
      through scratch: 4096 times 32768 bytes, 1 at a time, (2, 4, 16384) (4096, 8, 4) (4, 1, 1)";

/// Of `bitcast`.
pub const BITCAST: &str = "\
Examples:

  $ minormajor bitcast 'f32[8,128]{1,0:T(8,128)}' 'f32[128,8]{0,1:T(8,128)}' --transpose 1,0
  transpose, dimensions={1,0}
  of f32[8,128]{1,0:T(8,128)}
  to f32[128,8]{0,1:T(8,128)}

    free     yes: a new description of the same bytes

  $ minormajor bitcast 'f32[2,3]{1,0:PAD(2,4)}' 'f32[6]' --reshape
  reshape
  of f32[2,3]{1,0:PAD(2,4)}
  to f32[6]{0}

    free     no
    why      the operand goes from [0, 2] to [1, 0] (dimensions 0 and 1; 1 is padded from 3 to 4)
             by 2 elements, the result from [2] to [3] (dimension 0) by 1 element
    copy     the operand to f32[2,3]{1,0}
             24 bytes (24B), then it is free
    layout   none of the result makes it free

  $ minormajor bitcast 'f32[8,100]' 'f32[2,100]' --slice '[3:5],[0:100]' --json
  {\"operation\":\"slice, slice={[3:5], [0:100]}\",\"operand\":\"f32[8,100]{1,0}\",
  \"result\":\"f32[2,100]{1,0}\",\"free\":true,\"byte_offset\":1200,\"bytes_behind\":1200,
  \"padding_holds\":true}

Free is what is a new description of the same bytes: every element of the result lies where the
operand has it, tiles and padding counted, and the result's buffer ends no later. Without an
option the shapes say the operation: another type is converted, the same sizes are copied, others
are transposed if the layouts say so and it is free, else reshaped.";

/// Of `bench`.
pub const BENCH: &str = "\
Examples:

  $ minormajor bench 'f32[64,64]' '{0,1}' --threads 1
  f32[64,64]{1,0}
  to f32[64,64]{0,1}

    class      permute
    bytes      16384 (16.0K)
    threads    1
    relayout   249.12 ns (248.65 ns to 249.51 ns), 131.54 GB/s
    memcpy     183.67 ns (180.37 ns to 190.50 ns), 178.41 GB/s
    ratio      0.74
    predicted  268.00 ns

  $ minormajor bench 'f32[4096,4096]' '{0,1}' --threads 2 --json | tr ',' '\\n' | grep threads
  \"threads\":2

The first 16 numbers of each row of 64:

  $ minormajor bench 'f32[1000,16]' '{1,0}' --src-strides 256,4 --json | tr , '\\n' | grep '\"bytes'
  \"bytes\":64000

Both move between the same two buffers in turns, in at least seven rounds; the times are medians,
with the quartiles in parentheses. memcpy copies half of what both arrays take: the array's size
where there is no padding, whatever lies between elements that have strides of their own. GB/s
counts bytes read and written. The ratio is memcpy's time over the relayout's, both by as many
threads; arrays of a few MiB or less take one thread. In JSON, times are in seconds.";

/// Of `relayout`.
pub const RELAYOUT: &str = "\
Examples:

  $ minormajor relayout picture.npy columns.npy --to '{0,1,2}'
  columns.npy: permute to u8[512,512,3]{0,1,2}, 786432 bytes read, 786432 written
  in 0.001 s (1.57 GB/s), 0.003 s in all

  $ minormajor relayout picture.npy tiles.bin --to '{1,0,2:T(8,128)}'
  tiles.bin: retile to u8[512,512,3]{1,0,2:T(8,128)}, 786432 bytes read, 786432 written
  in 0.001 s (1.57 GB/s), 0.003 s in all

  $ cat tiles.bin.shape
  u8[512,512,3]{1,0,2:T(8,128)}

  $ minormajor relayout tiles.bin rows.npy
  rows.npy: retile to u8[512,512,3]{2,1,0}, 786432 bytes read, 786432 written
  in 0.001 s (1.57 GB/s), 0.003 s in all

Raw files may have strides of their own, in bytes. Here the rows are turned upside down; between
the elements of such an output there would be zeros, and no .shape file stands beside it:

  $ printf 'abcdef' > six.bin

  $ minormajor relayout six.bin rows.bin --shape 'u8[2,3]' --src-strides -3,1 --src-offset 3
  rows.bin: permute to u8[2,3]{1,0}, 6 bytes read, 6 written in 0.001 s (0.01 GB/s), 0.003 s in all

  $ cat rows.bin
  defabc

Values are converted on their way: here a big-endian f32, 1.0, becomes a half. Big-endian .npy files
are read as what they are; a big-endian raw output has no .shape file, which could not say so.

  $ printf '\\077\\200\\000\\000' > one.bin

  $ minormajor relayout one.bin half.npy --shape 'f32[1]' --src-endian big --type f16
  half.npy: copy to f16[1]{0}, 4 bytes read, 2 written in 0.001 s (0.01 GB/s), 0.003 s in all

Of a file of many arrays, rules say by name what becomes of each; the first that fits counts, and
what none fits stays as it is, its byte order too. Braces change the memory order, names of dimensions
the dimensions themselves:

  $ minormajor relayout picture.npy planes.npy --rule '*: HWC -> CHW'
  planes.npy: permute to u8[3,512,512]{2,1,0}, 786432 bytes read, 786432 written
  in 0.001 s (1.57 GB/s), 0.003 s in all

  $ minormajor relayout picture.npy columns.npz --rule '*: {0,1,2}' --dry-run | head -2
     bytes      time  rule  class    type  array    from                to
    768.0K  123.4 us     1  permute  u8    picture  [512,512,3]{2,1,0}  [512,512,3]{0,1,2}

The output is written beside its place and renamed when it is whole. GB/s counts bytes read and
written over the time that the move took; the whole includes writing to the disk.";

/// Of `inspect`.
pub const INSPECT: &str = "\
Examples:

  $ minormajor inspect picture.npy
  picture.npy: npy, array picture: u8[512,512,3]{2,1,0}, 786432 bytes from byte 128

  $ minormajor inspect picture.npy --json
  {\"file\":\"picture.npy\",\"format\":\"npy\",
  \"arrays\":[{\"name\":\"picture\",\"shape\":\"u8[512,512,3]{2,1,0}\"}]}

A raw file's shape is the text in NAME.bin.shape; the file's length must be that of its shape.";

/// Of `hlo`.
pub const HLO: &str = "\
Examples:

  $ printf '%%p = f32[999,4]{1,0:T(8,128)} parameter(0)\\n' | minormajor hlo -
  part of a module: 1 computation, 1 instruction
    arguments    500.0K in 1, padding 484.4K (32.0x expansion)
    results          0B in 0, no padding
    A run needs less than all results: those not needed at once share memory.

  results, those that waste most first
    allocated  elements         memory    opcode     name and shape
       500.0K     15.6K  32.0x  argument  parameter  p f32[999,4]{1,0:T(8,128)}
                                {0,1:T(8,128)} would take 32.0K, as would f32[4,999]{1,0:T(8,128)}

  no relayout moves elements; 0 others leave them in place

  $ printf '  1. Size: 64.0K\\n     Shape: f32[128,3]{1,0}\\n' | minormajor hlo -
  memory report of a TPU compiler

  allocations, those that waste most first
    printed  elements         in  explained by           opcode  name and shape
      64.0K      1.5K  42.7x      T(8,128), not printed          f32[128,3]{1,0}
                              {0,1:T(8,128)} would take 4.0K, as would f32[3,128]{1,0:T(8,128)}

  no relayout moves elements; 0 others leave them in place

Give the file NAME.txt that XLA dumps (in JAX: XLA_FLAGS='--xla_dump_to=FOLDER
--xla_dump_hlo_as_text', or compiled.as_text()), or the log of a TPU compiler that ran out of
memory. Orders are compared under the tiles as they are. What can't be read is said with its
line on standard error, and the exit code is 1.";

/// Of `sharding`.
pub const SHARDING: &str = "\
Examples:

  $ minormajor sharding '{devices=[4,2]<=[8]}' 'f32[9,4]'
  {devices=[4,2]<=[8]} of f32[9,4]{1,0}
    kind         tiled
    devices      8
    tiles        4 x 2, each on one device
    shard        f32[3,2]{1,0}, 24 bytes (24B)
    dimension 0  9 in 4 parts: 3 of 3, 1 empty
    dimension 1  4 in 2 parts of 2

    device  tile    offset  shard
         0  [0, 0]  [0, 0]  f32[3,2]{1,0}
         1  [0, 1]  [0, 2]  f32[3,2]{1,0}
         2  [1, 0]  [3, 0]  f32[3,2]{1,0}
         3  [1, 1]  [3, 2]  f32[3,2]{1,0}
         4  [2, 0]  [6, 0]  f32[3,2]{1,0}
         5  [2, 1]  [6, 2]  f32[3,2]{1,0}
         6  [3, 0]  [9, 0]  f32[0,2]{1,0}
         7  [3, 1]  [9, 2]  f32[0,2]{1,0}

  $ minormajor sharding \"{mesh['x'=2,'y'=3], [{'y'}, {}]}\" 'bf16[8,128]' --device 4
  device 4 has tile [1, 0]: bf16[3,128]{1,0} from [3, 0] to below [6, 128]

  $ minormajor sharding \"{mesh['x'=2,'y'=3], [{'y'}, {}]}\" 'bf16[8,128]' --index 7,5
  element [7, 5] is on devices 2, 5, at [1, 5] of the shard

  $ minormajor sharding '{devices=[2]<=[2]}' 'f32[3]' --device 1 --json
  {\"device\":1,\"shape\":\"f32[1]{0}\",\"tile\":[1],\"offset\":[2],\"limit\":[3]}

A dimension of size n in p parts has parts of n / p, rounded up: the last ones are shorter, or
empty. Shards stand in the order of the tiles; those of one tile are the same on all its devices.";

/// Of `completions`.
pub const COMPLETIONS: &str = "\
Example:

  $ minormajor completions bash > minormajor.bash && bash -n minormajor.bash

Shells read it from a place of their own:

  bash  ~/.local/share/bash-completion/completions/minormajor
  zsh   _minormajor in a folder of $fpath
  fish  ~/.config/fish/completions/minormajor.fish";

/// Of `man`.
pub const MAN: &str = "\
Example:

  $ minormajor man manual/man1 && ls manual/man1 | head -3
  minormajor-bench.1
  minormajor-bitcast.1
  minormajor-completions.1

  $ MANPATH=manual man minormajor-relayout | wc -l > lines

man finds pages in the folder man1 of each folder of MANPATH.";
