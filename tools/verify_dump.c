/* SPDX-License-Identifier: MIT
 *
 * The tensors of a simulated run as NumPy files: the same names, shapes and order as a run under MPI writes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernels/npy.h"
#include "tools/file.h"
#include "tools/verify.h"

static enum ring_status write_tensor(const char *folder, const char *name, enum ring_dtype dtype,
                                     const void *data, const uint64_t *shape, uint32_t n_dims,
                                     struct ring_error *error)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return ring_fail(error, RING_IO, "%.200s...: the path is too long", folder);
    return npy_write(path, dtype, data, shape, n_dims, error);
}

static enum ring_status write_inputs(const struct ring_plan *plan, const struct data_spec *data,
                                     const char *folder, struct ring_error *error)
{
    static const enum data_tensor tensors[] = {DATA_Q, DATA_K, DATA_V};
    static const char *const names[] = {"q", "k", "v"};
    const struct ring_problem *problem = &plan->problem;
    const struct ring_layout whole = {RING_LAYOUT_CONTIGUOUS, problem->tokens, 1};
    const struct ring_shard all = ring_layout_shard(&whole, 0);
    size_t bytes = (size_t)problem->batch * problem->heads * problem->tokens * problem->head_dim *
                   ring_dtype_bytes(problem->dtype);
    void *tensor = malloc(bytes);
    enum ring_status status = RING_OK;
    if (tensor == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for a whole tensor");
    for (int i = 0; i < 3 && status == RING_OK; i++) {
        uint32_t heads = tensors[i] == DATA_Q ? problem->heads : problem->kv_heads;
        const uint64_t shape[] = {problem->batch, heads, problem->tokens, problem->head_dim};
        data_fill(data, problem, tensors[i], &all, tensor);
        status = write_tensor(folder, names[i], problem->dtype, tensor, shape, 4, error);
    }
    free(tensor);
    return status;
}

/* Copies the rows of one rank, each of row_bytes, to their places in the whole. */
static void place_rows(const struct ring_plan *plan, uint32_t rank, const char *rows, size_t row_bytes,
                       char *whole)
{
    struct ring_shard shard = ring_layout_shard(&plan->layout, rank);
    uint64_t n_sequences = (uint64_t)plan->problem.batch * plan->problem.heads;
    for (uint64_t sequence = 0; sequence < n_sequences; sequence++) {
        for (uint64_t i = 0; i < shard.tokens; i++) {
            uint64_t to = sequence * plan->problem.tokens + ring_shard_position(&shard, i);
            memcpy(whole + to * row_bytes, rows + (sequence * shard.tokens + i) * row_bytes, row_bytes);
        }
    }
}

enum ring_status tool_verify_dump(const struct ring_plan *plan, const struct data_spec *data,
                                  enum ring_dtype state, const struct tool_outputs *outputs,
                                  const char *folder, struct ring_error *error)
{
    const struct ring_problem *problem = &plan->problem;
    const uint64_t shape[] = {problem->batch, problem->heads, problem->tokens, problem->head_dim};
    size_t lse_bytes = ring_dtype_bytes(state), out_bytes = problem->head_dim * lse_bytes;
    size_t n_rows = (size_t)problem->batch * problem->heads * problem->tokens;
    char *out = malloc(n_rows * out_bytes), *lse = malloc(n_rows * lse_bytes);
    enum ring_status status = tool_make_folder(folder, error);
    if (status == RING_OK && (out == NULL || lse == NULL))
        status = ring_fail(error, RING_NO_MEMORY, "out of memory for a whole tensor");
    for (uint32_t rank = 0; status == RING_OK && rank < plan->n_ranks; rank++) {
        place_rows(plan, rank, outputs[rank].out, out_bytes, out);
        place_rows(plan, rank, outputs[rank].lse, lse_bytes, lse);
    }
    if (status == RING_OK)
        status = write_inputs(plan, data, folder, error);
    if (status == RING_OK)
        status = write_tensor(folder, "out", state, out, shape, 4, error);
    if (status == RING_OK)
        status = write_tensor(folder, "lse", state, lse, shape, 3, error);
    free(out);
    free(lse);
    return status;
}
