/* SPDX-License-Identifier: MIT
 *
 * The tensors of a run as NumPy files in global token order, for whoever trusts their own tools more. Q, K,
 * V and dO are made anew - any rank can make any token - so only the results travel. */
#include "exec/verify.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "exec/kernels/npy.h"
#include "exec/memory.h"

static enum ring_status write_tensor(const char *directory, const char *name, enum ring_dtype dtype,
                                     const void *data, const uint64_t *shape, uint32_t n_dims,
                                     struct ring_error *error)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s.npy", directory, name);

    if (n < 0 || (size_t)n >= sizeof path)
        return ring_fail(error, RING_IO, "%.200s...: the path is too long", directory);
    return npy_write(path, dtype, data, shape, n_dims, error);
}

static enum ring_status dump_inputs(const struct exec_session *session, const char *directory,
                                    struct ring_error *error)
{
    static const struct {
        enum data_tensor tensor;
        const char *name;
        bool kv; /* of the kv heads */
    } inputs[] = {{DATA_Q, "q", false}, {DATA_K, "k", true}, {DATA_V, "v", true}, {DATA_DO, "d_out", false}};
    size_t n_inputs = session->plan.pass == RING_PASS_FORWARD ? 3 : 4;
    const struct ring_problem *problem = &session->plan.problem;
    struct ring_layout whole = {RING_LAYOUT_CONTIGUOUS, problem->tokens, 1};
    struct ring_shard all = ring_layout_shard(&whole, 0);
    uint64_t element = ring_dtype_bytes(problem->dtype);
    void *data = exec_memory_alloc((uint64_t)problem->batch * problem->heads * problem->tokens *
                                   problem->head_dim * element);
    enum ring_status status =
        data ? RING_OK : ring_fail(error, RING_NO_MEMORY, "out of memory for a whole tensor");

    for (size_t i = 0; i < n_inputs && status == RING_OK; i++) {
        uint32_t heads = inputs[i].kv ? problem->kv_heads : problem->heads;
        uint64_t shape[] = {problem->batch, heads, problem->tokens, problem->head_dim};
        data_fill(&session->data, problem, inputs[i].tensor, &all, data);
        status = write_tensor(directory, inputs[i].name, problem->dtype, data, shape, 4, error);
    }
    exec_memory_free(data);
    return status;
}

/* A tensor of results: heads * batch sequences, rows of width elements. */
struct tensor {
    const char *name;
    const void *mine;
    enum ring_dtype dtype;
    uint32_t heads, width, n_dims;
};

/* Puts a rank's rows of every sequence and head where its tokens are in the whole. */
static void scatter(const struct exec_session *session, int rank, const char *rows, uint64_t n_sequences,
                    uint64_t row_bytes, char *whole)
{
    struct ring_shard shard = ring_layout_shard(&session->plan.layout, (uint32_t)rank);

    for (uint64_t sequence = 0; sequence < n_sequences; sequence++) {
        for (uint64_t i = 0; i < shard.tokens; i++) {
            uint64_t to = sequence * session->plan.problem.tokens + ring_shard_position(&shard, i);
            memcpy(whole + to * row_bytes, rows + (sequence * shard.tokens + i) * row_bytes, row_bytes);
        }
    }
}

static enum ring_status dump_result(const struct exec_session *session, const char *directory,
                                    struct tensor tensor, struct ring_error *error)
{
    const struct ring_problem *problem = &session->plan.problem;
    uint64_t row_bytes = (uint64_t)tensor.width * ring_dtype_bytes(tensor.dtype);
    uint64_t n_sequences = (uint64_t)problem->batch * tensor.heads;
    uint64_t largest = n_sequences * ring_layout_max_tokens(&session->plan.layout) * row_bytes;
    bool writes = session->rank == 0;
    char *whole = writes ? exec_memory_alloc(n_sequences * problem->tokens * row_bytes) : NULL;
    char *rows = writes ? exec_memory_alloc(largest) : NULL;

    enum ring_status status = writes && (!whole || !rows)
                                  ? ring_fail(error, RING_NO_MEMORY, "out of memory for a whole tensor")
                                  : RING_OK;
    status = exec_agree(session->comm, &session->bound, status, error);
    for (int rank = 0; rank < session->n_ranks && status == RING_OK; rank++) {
        uint64_t tokens = ring_layout_shard(&session->plan.layout, (uint32_t)rank).tokens;
        status = exec_collect(session->comm, &session->bound, rank, tensor.mine,
                              n_sequences * tokens * row_bytes, rows, tensor.name, error);
        if (status == RING_OK && writes)
            scatter(session, rank, rows, n_sequences, row_bytes, whole);
    }
    uint64_t shape[] = {problem->batch, tensor.heads, problem->tokens, tensor.width};
    if (status == RING_OK && writes)
        status = write_tensor(directory, tensor.name, tensor.dtype, whole, shape, tensor.n_dims, error);
    exec_memory_free(whole);
    exec_memory_free(rows);
    return exec_agree(session->comm, &session->bound, status, error);
}

/* All tensors of results into tensors, which has room for five; returns how many there are. */
static size_t list_results(const struct exec_session *session, const struct exec_results *results,
                           struct tensor *tensors)
{
    const struct ring_problem *problem = &session->plan.problem;
    enum ring_dtype state = session->kernel->state,
                    travels = problem->dtype == RING_FP64 ? RING_FP64 : session->plan.gradient_dtype;
    uint32_t heads = problem->heads, kv_heads = problem->kv_heads, d = problem->head_dim;
    uint64_t half_bytes =
        (uint64_t)problem->batch * kv_heads * session->shard.tokens * d * ring_dtype_bytes(travels);
    size_t n = 0;

    tensors[n++] = (struct tensor){"out", results->out, state, heads, d, 4};
    tensors[n++] = (struct tensor){"lse", results->lse, state, heads, 1, 3};
    if (!results->d_q)
        return n;
    tensors[n++] = (struct tensor){"d_q", results->d_q, state, heads, d, 4};
    tensors[n++] = (struct tensor){"d_k", results->gradient, travels, kv_heads, d, 4};
    tensors[n++] =
        (struct tensor){"d_v", (const char *)results->gradient + half_bytes, travels, kv_heads, d, 4};
    return n;
}

enum ring_status exec_dump(struct exec_session *session, const char *directory,
                           const struct exec_results *results, struct ring_error *error)
{
    struct tensor tensors[5];
    size_t n = list_results(session, results, tensors);
    enum ring_status status = RING_OK;

    exec_progress(session, "writing tensors to %s", directory);
    if (session->rank == 0) {
        if (mkdir(directory, 0777) != 0 && errno != EEXIST)
            status = ring_fail(error, RING_IO, "%s: %s", directory, strerror(errno));
        if (status == RING_OK)
            status = dump_inputs(session, directory, error);
    }
    status = exec_agree_when_done(session->comm, &session->bound, status, error);
    for (size_t i = 0; i < n && status == RING_OK; i++)
        status = dump_result(session, directory, tensors[i], error);
    return status;
}
