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
    static const enum data_tensor tensors[] = {DATA_Q, DATA_K, DATA_V, DATA_DO};
    static const char *const names[] = {"q", "k", "v", "d_out"};
    int n_tensors = plan->pass == RING_PASS_FORWARD ? 3 : 4;
    const struct ring_problem *problem = &plan->problem;
    const struct ring_layout whole = {RING_LAYOUT_CONTIGUOUS, problem->tokens, 1};
    const struct ring_shard all = ring_layout_shard(&whole, 0);
    size_t bytes = (size_t)problem->batch * problem->heads * problem->tokens * problem->head_dim *
                   ring_dtype_bytes(problem->dtype);
    void *tensor = malloc(bytes);
    enum ring_status status = RING_OK;
    if (tensor == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for a whole tensor");
    for (int i = 0; i < n_tensors && status == RING_OK; i++) {
        bool kv = tensors[i] == DATA_K || tensors[i] == DATA_V;
        uint32_t heads = kv ? problem->kv_heads : problem->heads;
        const uint64_t shape[] = {problem->batch, heads, problem->tokens, problem->head_dim};
        data_fill(data, problem, tensors[i], &all, tensor);
        status = write_tensor(folder, names[i], problem->dtype, tensor, shape, 4, error);
    }
    free(tensor);
    return status;
}

/* A tensor of results. */
struct tensor {
    const char *name;
    enum ring_dtype dtype;
    uint32_t heads, width; /* width: elements of a row */
};

enum { OUT, LSE, D_Q, D_K, D_V, N_RESULTS };

/* A rank's rows of a tensor. */
static const char *rows_of(const struct ring_plan *plan, uint32_t rank, const struct tool_outputs *outputs,
                           int result, const struct tensor *tensor)
{
    uint64_t n =
        (uint64_t)plan->problem.batch * tensor->heads * ring_layout_shard(&plan->layout, rank).tokens;
    switch (result) {
    case OUT:
        return outputs->out;
    case LSE:
        return outputs->lse;
    case D_Q:
        return outputs->d_q;
    case D_K:
        return outputs->gradient;
    default: /* dV lies behind dK */
        return (const char *)outputs->gradient + n * tensor->width * ring_dtype_bytes(tensor->dtype);
    }
}

/* Copies the rows of one rank, each of row_bytes, to their places in the whole. */
static void place_rows(const struct ring_plan *plan, uint32_t rank, const char *rows, uint64_t n_sequences,
                       size_t row_bytes, char *whole)
{
    struct ring_shard shard = ring_layout_shard(&plan->layout, rank);
    for (uint64_t sequence = 0; sequence < n_sequences; sequence++) {
        for (uint64_t i = 0; i < shard.tokens; i++) {
            uint64_t to = sequence * plan->problem.tokens + ring_shard_position(&shard, i);
            memcpy(whole + to * row_bytes, rows + (sequence * shard.tokens + i) * row_bytes, row_bytes);
        }
    }
}

static enum ring_status write_result(const struct ring_plan *plan, const struct tool_outputs *outputs,
                                     int result, const struct tensor *tensor, const char *folder,
                                     struct ring_error *error)
{
    const struct ring_problem *problem = &plan->problem;
    const uint64_t shape[] = {problem->batch, tensor->heads, problem->tokens, tensor->width};
    size_t row_bytes = tensor->width * ring_dtype_bytes(tensor->dtype);
    uint64_t n_sequences = (uint64_t)problem->batch * tensor->heads;
    char *whole = malloc(n_sequences * problem->tokens * row_bytes);
    if (whole == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for a whole tensor");
    for (uint32_t rank = 0; rank < plan->n_ranks; rank++)
        place_rows(plan, rank, rows_of(plan, rank, &outputs[rank], result, tensor), n_sequences, row_bytes,
                   whole);
    enum ring_status status =
        write_tensor(folder, tensor->name, tensor->dtype, whole, shape, result == LSE ? 3 : 4, error);
    free(whole);
    return status;
}

enum ring_status tool_verify_dump(const struct ring_plan *plan, const struct data_spec *data,
                                  enum ring_dtype state, const struct tool_outputs *outputs,
                                  const char *folder, struct ring_error *error)
{
    const struct ring_problem *problem = &plan->problem;
    enum ring_dtype travels = problem->dtype == RING_FP64 ? RING_FP64 : plan->gradient_dtype;
    uint32_t d = problem->head_dim;
    const struct tensor tensors[N_RESULTS] = {
        [OUT] = {"out", state, problem->heads, d},      [LSE] = {"lse", state, problem->heads, 1},
        [D_Q] = {"d_q", state, problem->heads, d},      [D_K] = {"d_k", travels, problem->kv_heads, d},
        [D_V] = {"d_v", travels, problem->kv_heads, d},
    };
    int n = plan->pass == RING_PASS_FORWARD ? D_Q : N_RESULTS;
    enum ring_status status = tool_make_folder(folder, error);
    if (status == RING_OK)
        status = write_inputs(plan, data, folder, error);
    for (int i = 0; i < n && status == RING_OK; i++)
        status = write_result(plan, outputs, i, &tensors[i], folder, error);
    return status;
}
