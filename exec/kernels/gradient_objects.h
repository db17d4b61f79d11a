/* SPDX-License-Identifier: MIT
 *
 * The objects that gradient_tiled.c becomes, one per instruction set, as gradient.c and the build name them.
 * Private to the kernels. */
#ifndef GRADIENT_OBJECTS_H
#define GRADIENT_OBJECTS_H

#include "exec/kernels/block_objects.h"
#include "exec/kernels/gradient.h"

/* Within gradient_tiled.c, BLOCK_GRADIENT(x) is x of the instruction set at hand. */
#define BLOCK_GRADIENT_JOIN(isa, what)   block_gradient_##isa##_##what
#define BLOCK_GRADIENT_EXPAND(isa, what) BLOCK_GRADIENT_JOIN(isa, what)
#define BLOCK_GRADIENT(what)             BLOCK_GRADIENT_EXPAND(BLOCK_TILED_ISA, what)

extern const struct block_gradient_kernel block_gradient_avx512_fp32, block_gradient_avx512_bf16;
extern const struct block_gradient_kernel block_gradient_avx2_fp32, block_gradient_avx2_bf16;
extern const struct block_gradient_kernel block_gradient_portable_fp32, block_gradient_portable_bf16;

/* In gradient_amx.c, which becomes two as block_amx.c does. */
#if defined(BLOCK_MATRIX_DOT)
#define BLOCK_GRADIENT_MATRIX(what) block_gradient_dot_##what
#else
#define BLOCK_GRADIENT_MATRIX(what) block_gradient_amx_##what
#endif
extern const struct block_gradient_kernel block_gradient_amx_bf16, block_gradient_dot_bf16;

/* In gradient_reference.c. */
extern const struct block_gradient_kernel block_gradient_reference_fp64, block_gradient_reference_fp32,
    block_gradient_reference_bf16;

#endif
