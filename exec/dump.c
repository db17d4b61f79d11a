/* SPDX-License-Identifier: MIT
 *
 * The tensors of a run as NumPy files in global token order, for whoever trusts their own tools more. Q, K
 * and V are made anew - any rank can make any token - so only the results travel. */
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
    } inputs[] = {{DATA_Q, "q"}, {DATA_K, "k"}, {DATA_V, "v"}};
    const struct ring_problem *problem = &session->plan.problem;
    struct ring_layout whole = {RING_LAYOUT_CONTIGUOUS, problem->tokens, 1};
    struct ring_shard all = ring_layout_shard(&whole, 0);
    uint64_t element = ring_dtype_bytes(problem->dtype);
    void *data = exec_memory_alloc((uint64_t)problem->batch * problem->heads * problem->tokens *
                                   problem->head_dim * element);
    enum ring_status status =
        data ? RING_OK : ring_fail(error, RING_NO_MEMORY, "out of memory for a whole tensor");

    for (size_t i = 0; i < sizeof inputs / sizeof *inputs && status == RING_OK; i++) {
        uint32_t heads = inputs[i].tensor == DATA_Q ? problem->heads : problem->kv_heads;
        uint64_t shape[] = {problem->batch, heads, problem->tokens, problem->head_dim};
        data_fill(&session->data, problem, inputs[i].tensor, &all, data);
        status = write_tensor(directory, inputs[i].name, problem->dtype, data, shape, 4, error);
    }
    exec_memory_free(data);
    return status;
}

/* Puts a rank's rows of every sequence and head where its tokens are in the whole. */
static void scatter(const struct exec_session *session, int rank, const char *rows, uint64_t row_bytes,
                    char *whole)
{
    const struct ring_problem *problem = &session->plan.problem;
    struct ring_shard shard = ring_layout_shard(&session->plan.layout, (uint32_t)rank);
    uint64_t n_sequences = (uint64_t)problem->batch * problem->heads;

    for (uint64_t sequence = 0; sequence < n_sequences; sequence++) {
        for (uint64_t i = 0; i < shard.tokens; i++) {
            uint64_t to = sequence * problem->tokens + ring_shard_position(&shard, i);
            memcpy(whole + to * row_bytes, rows + (sequence * shard.tokens + i) * row_bytes, row_bytes);
        }
    }
}

/* One result tensor, rows of width elements of the kernel's state type. */
static enum ring_status dump_result(const struct exec_session *session, const char *directory,
                                    const char *name, const void *mine, uint32_t width,
                                    struct ring_error *error)
{
    const struct ring_problem *problem = &session->plan.problem;
    uint64_t row_bytes = (uint64_t)width * ring_dtype_bytes(session->kernel->state);
    uint64_t n_sequences = (uint64_t)problem->batch * problem->heads;
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
        status = exec_collect(session->comm, &session->bound, rank, mine, n_sequences * tokens * row_bytes,
                              rows, "the output of a rank", error);
        if (status == RING_OK && writes)
            scatter(session, rank, rows, row_bytes, whole);
    }
    uint64_t shape[] = {problem->batch, problem->heads, problem->tokens, width};
    if (status == RING_OK && writes)
        status =
            write_tensor(directory, name, session->kernel->state, whole, shape, width > 1 ? 4 : 3, error);
    exec_memory_free(whole);
    exec_memory_free(rows);
    return exec_agree(session->comm, &session->bound, status, error);
}

enum ring_status exec_dump(struct exec_session *session, const char *directory, const void *out,
                           const void *lse, struct ring_error *error)
{
    enum ring_status status = RING_OK;

    exec_progress(session, "writing tensors to %s", directory);
    if (session->rank == 0) {
        if (mkdir(directory, 0777) != 0 && errno != EEXIST)
            status = ring_fail(error, RING_IO, "%s: %s", directory, strerror(errno));
        if (status == RING_OK)
            status = dump_inputs(session, directory, error);
    }
    status = exec_agree_when_done(session->comm, &session->bound, status, error);
    if (status == RING_OK)
        status = dump_result(session, directory, "out", out, session->plan.problem.head_dim, error);
    if (status == RING_OK)
        status = dump_result(session, directory, "lse", lse, 1, error);
    return status;
}
