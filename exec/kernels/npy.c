/* SPDX-License-Identifier: MIT
 *
 * .npy: ten bytes (magic, version, length of the header), a Python dictionary in ASCII padded to 64 bytes,
 * the numbers. Written beside the target and renamed, so that a reader never meets half a file. */
#include "exec/kernels/npy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec/kernels/data.h"

static const char magic[] = "\x93NUMPY";
enum { MAGIC_BYTES = 6, PRELUDE_BYTES = 10, ALIGN = 64, MAX_HEADER = 4096 };

static const char *type_text(enum ring_dtype dtype)
{
    return dtype == RING_FP64 ? "<f8" : "<f4";
}

/* The prelude and the dictionary into text (MAX_HEADER bytes); returns their length, a multiple of ALIGN. */
static size_t write_header(char *text, enum ring_dtype dtype, const uint64_t *shape, uint32_t n_dims)
{
    size_t n = PRELUDE_BYTES;
    n += (size_t)snprintf(text + n, MAX_HEADER - n, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                          type_text(dtype));
    for (uint32_t i = 0; i < n_dims; i++)
        n += (size_t)snprintf(text + n, MAX_HEADER - n, "%llu%s", (unsigned long long)shape[i],
                              n_dims == 1 ? "," : (i + 1 < n_dims ? ", " : ""));
    n += (size_t)snprintf(text + n, MAX_HEADER - n, "), }");
    while ((n + 1) % ALIGN != 0)
        text[n++] = ' ';
    text[n++] = '\n';
    memcpy(text, magic, MAGIC_BYTES);
    text[6] = 1;
    text[7] = 0;
    text[8] = (char)((n - PRELUDE_BYTES) & 0xff);
    text[9] = (char)((n - PRELUDE_BYTES) >> 8);
    return n;
}

/* Writes n numbers, the 16-bit types as fp32. */
static bool write_numbers(FILE *file, enum ring_dtype dtype, const void *data, size_t n)
{
    if (dtype == RING_FP32 || dtype == RING_FP64)
        return fwrite(data, ring_dtype_bytes(dtype), n, file) == n;
    float some[1024];
    for (size_t first = 0; first < n;) {
        size_t n_some = n - first < 1024 ? n - first : 1024;
        for (size_t i = 0; i < n_some; i++)
            some[i] = (float)data_load(dtype, data, first + i);
        if (fwrite(some, sizeof(float), n_some, file) != n_some)
            return false;
        first += n_some;
    }
    return true;
}

enum ring_status npy_write(const char *path, enum ring_dtype dtype, const void *data, const uint64_t *shape,
                           uint32_t n_dims, struct ring_error *error)
{
    if (n_dims > NPY_MAX_DIMS)
        return ring_fail(error, RING_BAD_INPUT, "%s: %u dimensions, at most %d are written", path, n_dims,
                         NPY_MAX_DIMS);
    size_t n = 1;
    for (uint32_t i = 0; i < n_dims; i++)
        n *= shape[i];
    char *beside;
    if (asprintf(&beside, "%s.%ld.tmp", path, (long)getpid()) < 0)
        return ring_fail(error, RING_NO_MEMORY, "%s: cannot be written", path);
    char header[MAX_HEADER];
    size_t n_header = write_header(header, dtype, shape, n_dims);
    FILE *file = fopen(beside, "wb");
    bool good =
        file != NULL && fwrite(header, 1, n_header, file) == n_header && write_numbers(file, dtype, data, n);
    int reason = errno;
    if (file != NULL && fclose(file) != 0 && good) {
        good = false;
        reason = errno;
    }
    if (good && rename(beside, path) != 0) {
        good = false;
        reason = errno;
    }
    if (!good && file != NULL)
        unlink(beside);
    free(beside);
    if (!good)
        return ring_fail(error, RING_IO, "%s: cannot be written: %s", path, strerror(reason));
    return RING_OK;
}

/* What follows key and its colon in the dictionary, or NULL. */
static const char *value_of(const char *dictionary, const char *key)
{
    const char *at = strstr(dictionary, key);
    if (at == NULL)
        return NULL;
    at += strlen(key);
    at += strspn(at, " ");
    if (*at != ':')
        return NULL;
    return at + 1 + strspn(at + 1, " ");
}

/* Reads "(2, 3)" into the array's shape; false where it is no such thing. */
static bool read_shape(const char *text, struct npy_array *out)
{
    if (text == NULL || *text != '(')
        return false;
    text += 1 + strspn(text + 1, " ");
    while (*text != ')') {
        char *end;
        if (out->n_dims == NPY_MAX_DIMS || *text < '0' || *text > '9')
            return false;
        errno = 0;
        out->shape[out->n_dims++] = strtoull(text, &end, 10);
        if (errno != 0)
            return false;
        text = end + strspn(end, " ");
        if (*text == ',')
            text += 1 + strspn(text + 1, " ");
        else if (*text != ')')
            return false;
    }
    return true;
}

/* Reads magic, version and dictionary; dictionary has room for MAX_HEADER bytes and is ended by a zero. */
static enum ring_status read_header(FILE *file, const char *path, char *dictionary, struct ring_error *error)
{
    unsigned char prelude[12];
    if (fread(prelude, 1, PRELUDE_BYTES, file) != PRELUDE_BYTES || memcmp(prelude, magic, MAGIC_BYTES) != 0)
        return ring_fail(error, RING_BAD_INPUT, "%s: not a NumPy .npy file", path);
    size_t n = prelude[8] | (size_t)prelude[9] << 8;
    if (prelude[6] == 2 || prelude[6] == 3) {
        if (fread(prelude + PRELUDE_BYTES, 1, 2, file) != 2)
            return ring_fail(error, RING_BAD_INPUT, "%s: ends within its header", path);
        n |= (size_t)prelude[10] << 16 | (size_t)prelude[11] << 24;
    } else if (prelude[6] != 1) {
        return ring_fail(error, RING_BAD_INPUT, "%s: .npy version %d, wanted 1, 2 or 3", path, prelude[6]);
    }
    if (n >= MAX_HEADER)
        return ring_fail(error, RING_BAD_INPUT, "%s: a header of %zu bytes, wanted at most %d", path, n,
                         MAX_HEADER - 1);
    if (fread(dictionary, 1, n, file) != n)
        return ring_fail(error, RING_BAD_INPUT, "%s: ends within its header", path);
    dictionary[n] = 0;
    return RING_OK;
}

/* Type and shape from the dictionary. */
static enum ring_status read_kind(const char *path, const char *dictionary, struct npy_array *out,
                                  struct ring_error *error)
{
    const char *type = value_of(dictionary, "'descr'"), *order = value_of(dictionary, "'fortran_order'");
    if (type != NULL && strncmp(type, "'<f4'", 5) == 0)
        out->dtype = RING_FP32;
    else if (type != NULL && strncmp(type, "'<f8'", 5) == 0)
        out->dtype = RING_FP64;
    else
        return ring_fail(error, RING_BAD_INPUT, "%s: type %.12s, wanted '<f4' or '<f8'", path,
                         type != NULL ? type : "missing");
    if (order == NULL || strncmp(order, "False", 5) != 0)
        return ring_fail(error, RING_BAD_INPUT, "%s: Fortran order, wanted C order", path);
    if (!read_shape(value_of(dictionary, "'shape'"), out))
        return ring_fail(error, RING_BAD_INPUT, "%s: no shape of at most %d dimensions in its header", path,
                         NPY_MAX_DIMS);
    return RING_OK;
}

/* The numbers, exactly as many as the shape says and the file has left. */
static enum ring_status read_numbers(FILE *file, const char *path, struct npy_array *out,
                                     struct ring_error *error)
{
    long begin = ftell(file);
    if (begin < 0 || fseek(file, 0, SEEK_END) != 0)
        return ring_fail(error, RING_IO, "%s: cannot be read: %s", path, strerror(errno));
    uint64_t found = (uint64_t)(ftell(file) - begin), wanted = ring_dtype_bytes(out->dtype);
    bool too_large = false;
    for (uint32_t i = 0; i < out->n_dims; i++)
        too_large |= __builtin_mul_overflow(wanted, out->shape[i], &wanted);
    if (too_large || found != wanted)
        return ring_fail(error, RING_BAD_INPUT, "%s: %llu bytes of numbers, its shape wants %s%llu", path,
                         (unsigned long long)found, too_large ? "over " : "",
                         too_large ? ~0ull : (unsigned long long)wanted);
    out->data = malloc(wanted > 0 ? wanted : 1);
    if (out->data == NULL)
        return ring_fail(error, RING_NO_MEMORY, "%s: %llu bytes", path, (unsigned long long)wanted);
    if (fseek(file, begin, SEEK_SET) != 0 || fread(out->data, 1, wanted, file) != wanted)
        return ring_fail(error, RING_IO, "%s: cannot be read: %s", path, strerror(errno));
    return RING_OK;
}

enum ring_status npy_read(const char *path, struct npy_array *out, struct ring_error *error)
{
    *out = (struct npy_array){.data = NULL};
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return ring_fail(error, RING_IO, "%s: cannot be read: %s", path, strerror(errno));
    char dictionary[MAX_HEADER];
    enum ring_status status = read_header(file, path, dictionary, error);
    if (status == RING_OK)
        status = read_kind(path, dictionary, out, error);
    if (status == RING_OK)
        status = read_numbers(file, path, out, error);
    fclose(file);
    if (status != RING_OK)
        npy_free(out);
    return status;
}

void npy_free(struct npy_array *array)
{
    free(array->data);
    array->data = NULL;
}
