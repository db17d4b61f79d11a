/* SPDX-License-Identifier: MIT
 *
 * Whole runs on the test device, as ringlab-rank makes them: sessions on real data whose blocks are computed
 * by the CUDA kernels and moved in each way, at each pace. All of them must give the same bits, and the right
 * ones. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernels/verify.h"
#include "exec/kernels/verify_gradient.h"
#include "exec/measure.h"
#include "exec/memory.h"
#include "exec/processor.h"
#include "tests/cuda/device_stream.h"
#include "tests/cuda/ranks.h"

#define SCENARIO "tests/mpi/small.yaml"

/* What one run came to on this rank. */
struct outcome {
    uint64_t rows, gradients; /* checksums */
    uint64_t n_bad;
    bool backward;
};

static enum ring_status check_rows(const struct exec_session *session, const struct exec_results *results,
                                   struct outcome *outcome, struct ring_error *error)
{
    struct verify_report report;
    struct oracle *oracle = NULL;
    enum ring_status status = oracle_open(&oracle, &session->plan.problem, &session->data, error);

    if (status != RING_OK)
        return status;
    verify_rank_rough(&session->plan, (uint32_t)session->rank, oracle, RING_FP32, results->out, results->lse,
                      session->kernel->weight_u, 0, &report);
    oracle_close(oracle);
    outcome->rows = report.checksum;
    outcome->n_bad += report.n_bad;
    return RING_OK;
}

static enum ring_status check_gradients(const struct exec_session *session,
                                        const struct exec_results *results, struct outcome *outcome,
                                        struct ring_error *error)
{
    struct verify_gradient_report report;
    struct oracle_gradient *oracle = NULL;
    enum ring_status status = oracle_gradient_open(&oracle, &session->plan.problem, &session->data, error);

    if (status != RING_OK)
        return status;
    verify_gradient_rough(&session->plan, (uint32_t)session->rank, oracle, RING_FP32, results->d_q,
                          results->gradient, session->kernel->weight_u, 0, &report);
    oracle_gradient_close(oracle);
    outcome->gradients = report.checksum;
    outcome->n_bad += report.n_bad;
    return RING_OK;
}

static enum ring_status check(struct exec_session *session, struct outcome *outcome, struct ring_error *error)
{
    const struct ring_problem *problem = &session->plan.problem;
    uint64_t n_rows = (uint64_t)problem->batch * problem->heads * session->shard.tokens;
    void *out = exec_memory_alloc(n_rows * problem->head_dim * sizeof(float));
    void *lse = exec_memory_alloc(n_rows * sizeof(float));
    struct exec_results results;
    enum ring_status status = session->processor->results(session, out, lse, &results, error);

    if (status == RING_OK)
        status = check_rows(session, &results, outcome, error);
    if (status == RING_OK && session->plan.pass != RING_PASS_FORWARD)
        status = check_gradients(session, &results, outcome, error);
    exec_memory_free(out);
    exec_memory_free(lse);
    return status;
}

/* At least what the plan's slots and the rank's rows need was taken. */
static enum ring_status check_memory(const struct exec_session *session, struct ring_error *error)
{
    uint64_t taken = session->processor->device_bytes(session), needed = 0;

    for (uint32_t slot = 0; slot < session->memory.n_slots; slot++)
        needed += session->memory.slots[slot].bytes;
    if (taken > needed)
        return RING_OK;
    return ring_fail(error, RING_WORLD, "%" PRIu64 " bytes were taken, and slots alone are %" PRIu64, taken,
                     needed);
}

/* A reader of a result is told the device and how blocks moved. */
static enum ring_status check_description(const struct exec_session *session, enum exec_move move,
                                          struct ring_error *error)
{
    static const char *const ways[EXEC_N_MOVES] = {[EXEC_MOVE_STAGED] =
                                                       ", test device 0, staged in 4096 KiB chunks",
                                                   [EXEC_MOVE_AWARE] = ", test device 0, CUDA-aware MPI",
                                                   [EXEC_MOVE_PEER] = ", test device 0, peer copies"};
    char text[512];

    exec_describe_transport(session, text, sizeof text);
    size_t length = strlen(text), wanted = strlen(ways[move]);
    if (length < wanted || strcmp(text + length - wanted, ways[move]) != 0)
        return ring_fail(error, RING_WORLD, "it says '%.300s', not '%s'", text, ways[move]);
    return RING_OK;
}

static enum ring_status run(const char *const *sets, size_t n_sets, enum exec_move move,
                            struct outcome *outcome, struct ring_error *error)
{
    struct exec_session session;
    struct exec_session_spec spec = {
        .comm = MPI_COMM_WORLD,
        .scenario_path = SCENARIO,
        .overrides = {sets, n_sets},
        .needs_data = true,
        .device = EXEC_DEVICE_CUDA,
        .move = move,
        .runtime = &device_stream_runtime,
    };
    enum ring_status status = exec_session_open(&session, &spec, error);

    *outcome = (struct outcome){0};
    if (status != RING_OK)
        return status;
    for (int repeat = 0; repeat < 2 && status == RING_OK; repeat++)
        status = exec_pass(&session, NULL, NULL, error);
    if (status == RING_OK)
        status = check(&session, outcome, error);
    if (status == RING_OK)
        status = check_description(&session, move, error);
    if (status == RING_OK)
        status = check_memory(&session, error);
    status = exec_agree(session.comm, &session.bound, status, error);
    if (status == RING_OK)
        exec_session_close(&session);
    return status;
}

/* Every pace and way of one question, or with a stride of 4 one of each. */
static enum ring_status run_all(const char *const *sets, size_t n_sets, uint32_t stride,
                                struct ring_error *error)
{
    static const enum exec_move moves[] = {EXEC_MOVE_STAGED, EXEC_MOVE_AWARE, EXEC_MOVE_PEER};
    struct outcome first = {0}, outcome;
    enum ring_status status = RING_OK;

    for (uint32_t i = 0; i < 3 * DEVICE_STREAM_N_PACES && status == RING_OK; i += stride) {
        enum device_stream_pace pace = (enum device_stream_pace)(i / 3);
        device_stream_set(pace, i + 7);
        status = run(sets, n_sets, moves[i % 3], &outcome, error);
        if (status == RING_OK && outcome.n_bad > 0)
            status = ring_fail(error, RING_WORLD, "%" PRIu64 " rows or tensors are out of bounds (%s, %s)",
                               outcome.n_bad, exec_move_names[moves[i % 3]], device_stream_paces[pace]);
        if (i == 0)
            first = outcome;
        if (status == RING_OK && memcmp(&first, &outcome, sizeof first) != 0)
            status = ring_fail(error, RING_WORLD, "other bits than at first (%s, %s)",
                               exec_move_names[moves[i % 3]], device_stream_paces[pace]);
        struct exec_bound bound = {.timeout_s = 60, .crowded = true};
        status = exec_agree(MPI_COMM_WORLD, &bound, status, error);
    }
    return status;
}

static enum ring_status refuses_without_a_device(struct ring_error *error)
{
    struct exec_session session;
    struct exec_session_spec spec = {.comm = MPI_COMM_WORLD,
                                     .scenario_path = SCENARIO,
                                     .device = EXEC_DEVICE_CUDA,
                                     .runtime = &device_stream_runtime};
    struct ring_error said = {""};
    char devices[64];
    int n_ranks = 0;

    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    snprintf(devices, sizeof devices, "ring.devices=%d", n_ranks);
    const char *sets[] = {devices};
    spec.overrides = (struct config_overrides){sets, 1};
    device_stream_set_count(0);
    enum ring_status status = exec_session_open(&session, &spec, &said);
    if (status != RING_UNSUPPORTED || !session.no_device ||
        strcmp(said.text, "no usable CUDA device is there: the test has none") != 0)
        return ring_fail(error, RING_WORLD, "no device, and it said: %s", said.text);
    spec.device = EXEC_DEVICE_AUTO;
    status = exec_session_open(&session, &spec, error);
    if (status == RING_OK && session.processor != &exec_processor_cpu)
        status =
            ring_fail(error, RING_WORLD, "auto did not come to the CPU but to %s", session.processor->name);
    if (status == RING_OK)
        exec_session_close(&session);
    device_stream_set_count(1);
    return status;
}

/* A dozen runs with a slow producer, streams in random order: verify itself holds them to the first one's
 * bits. */
static enum ring_status run_often(const char *devices, struct ring_error *error)
{
    const char *sets[] = {devices,
                          "problem.tokens=24",
                          "problem.heads=2",
                          "problem.kv_heads=1",
                          "problem.head_dim=8",
                          "problem.dtype=bf16",
                          "ring.pass=both",
                          "faults=[{device: host.core0, slow: 5x}]"};
    struct exec_session session;
    struct exec_session_spec spec = {
        .comm = MPI_COMM_WORLD,
        .scenario_path = SCENARIO,
        .overrides = {sets, sizeof sets / sizeof *sets},
        .needs_data = true,
        .device = EXEC_DEVICE_CUDA,
        .move = EXEC_MOVE_PEER,
        .runtime = &device_stream_runtime,
    };
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    struct exec_verify_spec verify = {.fallback = file, .repeats = 12};

    device_stream_set(DEVICE_STREAM_RANDOM, 5);
    enum ring_status status = exec_session_open(&session, &spec, error);
    if (status == RING_OK)
        status = exec_verify(&session, &verify, error);
    if (status == RING_OK)
        exec_session_close(&session);
    fclose(file);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (status == RING_OK && rank == 0 && !strstr(text, "\nrepeats 12\n"))
        status = ring_fail(error, RING_WORLD, "the file does not say that there were 12 runs");
    free(text);
    return status;
}

enum ring_status device_ranks_sessions(struct ring_error *error)
{
    static const char *const questions[][4] = {
        {"ring.pass=both", "problem.mask=causal", "ring.layout=zigzag", "problem.dtype=bf16"},
        {"ring.pass=forward", "problem.mask=full", "ring.layout=contiguous", "problem.dtype=fp32"},
        {"ring.pass=backward", "problem.mask=causal", "ring.layout=striped", "problem.dtype=fp32"},
        {"ring.pass=both", "problem.kv_heads=1", "ring.buffers=3", "problem.dtype=fp16"},
        {"ring.pass=both", "problem.kv_heads=1", "ring.buffers=3",
         "faults=[{device: host.core0, slow: 3x}, {link: host.core0 -> host.core1, latency: 2 ms}]"},
    };
    char devices[64];
    int n_ranks = 0;
    enum ring_status status = refuses_without_a_device(error);

    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    snprintf(devices, sizeof devices, "ring.devices=%d", n_ranks);
    for (size_t i = 0; i < sizeof questions / sizeof *questions && status == RING_OK; i++) {
        const char *sets[] = {devices,         "problem.tokens=64", "problem.heads=2", "problem.kv_heads=2",
                              questions[i][0], questions[i][1],     questions[i][2],   questions[i][3]};
        status = run_all(sets, sizeof sets / sizeof *sets, i == 0 ? 1 : 4, error);
        device_ranks_report("%s: %s %s %s %s", status == RING_OK ? "ok" : "FAILED", questions[i][0],
                            questions[i][1], questions[i][2], questions[i][3]);
    }
    if (status == RING_OK)
        status = run_often(devices, error);
    device_ranks_report("%s: 12 runs with a slow producer", status == RING_OK ? "ok" : "FAILED");
    return status;
}
