/* SPDX-License-Identifier: MIT
 *
 * Which block kernels there are, and which one serves. The kernels themselves are in block_reference.c,
 * block_tiled.c and block_amx.c; states and their merging in block_state.c. */
#include "exec/kernels/block.h"

#include <stdio.h>
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

#ifdef BLOCK_HAS_DOT
bool block_dot_supports(size_t head_dim)
{
    return block_tiled_avx512_supports(head_dim) && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512bf16");
}
#endif

#ifdef BLOCK_HAS_AMX
/* The matrix units' registers are large, and a process has to ask for them (Linux 5.16 and later); its
 * children have what it got. Asking again gives the same answer. */
bool block_amx_supports(size_t head_dim)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return block_dot_supports(head_dim) && __builtin_cpu_supports("amx-tile") &&
           __builtin_cpu_supports("amx-bf16") &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}
#endif

const struct block_kernel *const block_kernels[] = {
#ifdef BLOCK_HAS_AMX
    &block_amx_bf16,
#endif
#ifdef BLOCK_HAS_X86
    &block_tiled_avx512_fp32,
    &block_tiled_avx512_bf16,
    &block_tiled_avx2_fp32,
    &block_tiled_avx2_bf16,
#endif
#ifdef BLOCK_HAS_DOT
    &block_dot_bf16,
#endif
    &block_tiled_portable_fp32,
    &block_tiled_portable_bf16,
    &block_reference_fp32,
    &block_reference_bf16,
    &block_reference_fp64,
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
    return NULL;
}

static void add_word(char *list, size_t size, const char *word)
{
    size_t n = strlen(list);
    snprintf(list + n, size - n, "%s%s", n > 0 ? ", " : "", word);
}

/* What could be computed here with some other choice: types, or kernels of that type. */
static void list_types(size_t head_dim, char *list, size_t size)
{
    list[0] = '\0';
    for (int dtype = 0; dtype < RING_N_DTYPES; dtype++)
        if (block_kernel_find(NULL, (enum ring_dtype)dtype, head_dim) != NULL)
            add_word(list, size, ring_dtype_names[dtype]);
}

static void list_kernels(enum ring_dtype dtype, size_t head_dim, char *list, size_t size)
{
    snprintf(list, size, "auto");
    for (size_t i = 0; block_kernels[i] != NULL; i++)
        if (block_kernels[i]->dtype == dtype && block_kernels[i]->supports(head_dim))
            add_word(list, size, block_kernels[i]->name);
}

enum ring_status block_kernel_choose(const char *name, enum ring_dtype dtype, size_t head_dim,
                                     const char *dtype_place, const char *kernel_place,
                                     const struct block_kernel **kernel, struct ring_error *error)
{
    char list[256];
    *kernel = block_kernel_find(name, dtype, head_dim);
    if (*kernel != NULL)
        return RING_OK;
    if (block_kernel_find(NULL, dtype, head_dim) == NULL) {
        list_types(head_dim, list, sizeof list);
        return ring_fail(error, RING_UNSUPPORTED,
                         "%s: no CPU kernel computes problem.dtype %s (accepted for a run on the CPU: %s)",
                         dtype_place, ring_dtype_names[dtype], list);
    }
    list_kernels(dtype, head_dim, list, sizeof list);
    return ring_fail(error, RING_UNSUPPORTED,
                     "%s: measure.kernel '%s' is no kernel for %s and head_dim %zu (accepted here: %s)",
                     kernel_place, name, ring_dtype_names[dtype], head_dim, list);
}
