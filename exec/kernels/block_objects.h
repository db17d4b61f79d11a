/* SPDX-License-Identifier: MIT
 *
 * The objects that block_tiled.c becomes, one per instruction set, as block.c and the build name them.
 * Private to the kernels. */
#ifndef BLOCK_OBJECTS_H
#define BLOCK_OBJECTS_H

#include "exec/kernels/block.h"

enum { BLOCK_TILED_MAX_HEAD_DIM = 256 };

/* Within block_tiled.c, BLOCK_TILED(x) is x of the instruction set at hand, which the build defines as
 * BLOCK_TILED_ISA; BLOCK_TILED_NAME is the kernels' name. */
#define BLOCK_TILED_JOIN(isa, what)   block_tiled_##isa##_##what
#define BLOCK_TILED_EXPAND(isa, what) BLOCK_TILED_JOIN(isa, what)
#define BLOCK_TILED(what)             BLOCK_TILED_EXPAND(BLOCK_TILED_ISA, what)
#define BLOCK_TILED_TEXT(isa)         #isa
#define BLOCK_TILED_EXPAND_TEXT(isa)  BLOCK_TILED_TEXT(isa)
#define BLOCK_TILED_NAME              "tiled-" BLOCK_TILED_EXPAND_TEXT(BLOCK_TILED_ISA)

/* supports is in block.c, so that no code of an instruction set runs before the processor is known to have
 * it. */
extern const struct block_kernel block_tiled_avx512_fp32, block_tiled_avx512_bf16;
extern const struct block_kernel block_tiled_avx2_fp32, block_tiled_avx2_bf16;
extern const struct block_kernel block_tiled_portable_fp32, block_tiled_portable_bf16;
bool block_tiled_avx512_supports(size_t head_dim);
bool block_tiled_avx2_supports(size_t head_dim);
bool block_tiled_portable_supports(size_t head_dim);

/* In block_amx.c, which becomes two: on matrix units, and (BLOCK_MATRIX_DOT) with dot products of vectors.
 * Within it BLOCK_MATRIX(x) is x of the one at hand. */
#if defined(BLOCK_MATRIX_DOT)
#define BLOCK_MATRIX(what) block_dot_##what
#define BLOCK_MATRIX_NAME  "bf16-avx512"
#else
#define BLOCK_MATRIX(what) block_amx_##what
#define BLOCK_MATRIX_NAME  "amx"
#endif
extern const struct block_kernel block_amx_bf16, block_dot_bf16;
bool block_amx_supports(size_t head_dim);
bool block_dot_supports(size_t head_dim);

/* In block_reference.c. */
extern const struct block_kernel block_reference_fp64, block_reference_fp32, block_reference_bf16;

#endif
