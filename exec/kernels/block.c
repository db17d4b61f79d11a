/* SPDX-License-Identifier: MIT
 *
 * Which block kernels there are, and which one serves. The kernels themselves are in block_reference.c and
 * block_tiled.c; states and their merging in block_state.c. */
#include "exec/kernels/block.h"

#include <string.h>
#ifdef BLOCK_HAS_AMX
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "exec/kernels/block_objects.h"

static bool tiled_supports(size_t head_dim)
{
    return head_dim > 0 && head_dim % 8 == 0 && head_dim <= BLOCK_TILED_MAX_HEAD_DIM;
}

bool block_tiled_portable_supports(size_t head_dim)
{
    return tiled_supports(head_dim);
}

#ifdef BLOCK_HAS_X86
bool block_tiled_avx512_supports(size_t head_dim)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("fma") && tiled_supports(head_dim);
}

bool block_tiled_avx2_supports(size_t head_dim)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && tiled_supports(head_dim);
}
#endif

#ifdef BLOCK_HAS_AMX
/* The matrix units' registers are large, and a process has to ask for them (Linux 5.16 and later). */
bool block_amx_supports(size_t head_dim)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-bf16") &&
           block_tiled_avx512_supports(head_dim) &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}
#endif

const struct block_kernel *const block_kernels[] = {
#ifdef BLOCK_HAS_X86
    &block_tiled_avx512_fp32,   &block_tiled_avx512_bf16,   &block_tiled_avx2_fp32,
    &block_tiled_avx2_bf16,
#endif
    &block_tiled_portable_fp32, &block_tiled_portable_bf16, &block_reference_fp32,
    &block_reference_bf16,      &block_reference_fp64,      NULL,
};

const struct block_kernel *const block_rough_kernels[] = {
#ifdef BLOCK_HAS_AMX
    &block_amx_bf16,
#endif
    NULL,
};

/* "tiled-avx2" is meant by itself and by "tiled"; everything by "auto" and NULL. */
static bool is_meant(const char *name, const char *wanted)
{
    if (wanted == NULL || strcmp(wanted, "auto") == 0 || strcmp(wanted, name) == 0)
        return true;
    const char *dash = strchr(name, '-');
    return dash != NULL && strlen(wanted) == (size_t)(dash - name) &&
           strncmp(wanted, name, strlen(wanted)) == 0;
}

const struct block_kernel *block_kernel_find(const char *name, enum ring_dtype dtype, size_t head_dim)
{
    for (size_t i = 0; block_kernels[i] != NULL; i++) {
        const struct block_kernel *kernel = block_kernels[i];
        if (kernel->dtype == dtype && is_meant(kernel->name, name) && kernel->supports(head_dim))
            return kernel;
    }
    for (size_t i = 0; name != NULL && block_rough_kernels[i] != NULL; i++) {
        const struct block_kernel *kernel = block_rough_kernels[i];
        if (kernel->dtype == dtype && strcmp(kernel->name, name) == 0 && kernel->supports(head_dim))
            return kernel;
    }
    return NULL;
}
