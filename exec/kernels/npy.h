/* SPDX-License-Identifier: MIT
 *
 * NumPy's .npy files, so that anyone can check our tensors with their own tools. Format 1.0 and 2.0,
 * little-endian fp32 and fp64, C order (NEP 1, https://numpy.org/neps/nep-0001-npy-format.html). NumPy has no
 * bf16: 16-bit types are written as the fp32 numbers they are. */
#ifndef NPY_H
#define NPY_H

#include "engine/problem.h"

enum { NPY_MAX_DIMS = 8 };

/* Writes data [shape[0]]...[shape[n_dims - 1]] of dtype to path: whole, or not at all (a file beside it is
 * renamed when complete). RING_IO with the path and the system's reason; RING_BAD_INPUT for too many
 * dimensions. */
enum ring_status npy_write(const char *path, enum ring_dtype dtype, const void *data, const uint64_t *shape,
                           uint32_t n_dims, struct ring_error *error);

struct npy_array {
    enum ring_dtype dtype; /* RING_FP32 or RING_FP64, as the file has it */
    uint32_t n_dims;
    uint64_t shape[NPY_MAX_DIMS];
    void *data; /* owned; npy_free */
};

/* Reads a whole file. RING_IO, RING_NO_MEMORY, or RING_BAD_INPUT with what was found and what is wanted:
 * another type or order, a shape that does not fit the file's size, not a .npy file. */
enum ring_status npy_read(const char *path, struct npy_array *out, struct ring_error *error);
void npy_free(struct npy_array *array);

#endif
