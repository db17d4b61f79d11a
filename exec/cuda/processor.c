/* SPDX-License-Identifier: MIT
 *
 * A device as what a rank computes with: its lanes, its memory, and the kernels of cuda_block.h. See
 * exec/processor.h. */
#include "exec/processor.h"

#include <stdlib.h>
#include <string.h>

#include "exec/cuda/attention.h"
#include "exec/cuda/move.h"
#include "exec/memory.h"

/* session->device. */
struct gpu {
    const struct exec_device_runtime *runtime;
    char name[EXEC_DEVICE_NAME_BYTES];
    struct exec_lanes lanes;
    struct exec_attention *attention;
    struct exec_compute_lane compute;
    struct exec_mover *mover;
    struct block_kernel kernel; /* what its results are like; its functions are none */
    void *d_q, *gradient;       /* on the host */
};

static bool serves(const struct exec_session *session)
{
    const struct exec_device_runtime *runtime = session->runtime;
    const struct ring_problem *problem = &session->plan.problem;

    return runtime && runtime->kernels.supports &&
           runtime->kernels.supports(problem->dtype, problem->head_dim);
}

static enum ring_status open_gpu(struct exec_session *session, struct ring_error *error)
{
    struct gpu *gpu = calloc(1, sizeof *gpu);
    int n_devices = 0;

    session->device = gpu;
    if (!gpu)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for a device");
    gpu->runtime = session->runtime;
    enum ring_status status = gpu->runtime
                                  ? gpu->runtime->count(&n_devices, error)
                                  : ring_fail(error, RING_UNSUPPORTED, "this program knows no devices");
    if (status == RING_OK)
        status = gpu->runtime->open(session->clock.rank_here % n_devices, gpu->name, error);
    return status == RING_OK ? exec_lanes_open(&gpu->lanes, gpu->runtime, session->clock.offset_s, error)
                             : status;
}

/* Before anything is given back that others may read, or that copies may still reach. */
static void close_mover(struct exec_session *session)
{
    struct gpu *gpu = session->device;

    if (!gpu || !gpu->lanes.runtime)
        return;
    for (int lane = 0; lane < EXEC_N_LANES; lane++)
        if (gpu->lanes.streams[lane])
            gpu->runtime->settle(gpu->lanes.streams[lane], NULL);
    exec_mover_close(gpu->mover);
    gpu->mover = NULL;
}

static void close_gpu(struct exec_session *session)
{
    struct gpu *gpu = session->device;

    if (!gpu)
        return;
    exec_attention_close(gpu->attention);
    exec_lanes_close(&gpu->lanes);
    exec_memory_free(gpu->d_q);
    exec_memory_free(gpu->gradient);
    free(gpu);
    session->device = NULL;
}

static enum ring_status take(struct exec_session *session, uint64_t bytes, void **memory,
                             struct ring_error *error)
{
    struct gpu *gpu = session->device;

    return gpu->runtime->take(bytes, memory, error);
}

static void give(struct exec_session *session, void *memory)
{
    struct gpu *gpu = session->device;

    if (memory)
        gpu->runtime->give(memory);
}

/* Half of K and V, made on the host. */
static enum ring_status fill_home(struct exec_session *session, enum data_tensor tensor, uint64_t offset,
                                  uint64_t bytes, struct ring_error *error)
{
    struct gpu *gpu = session->device;
    char *home = session->memory.slots[RING_HOME_SLOT].data;
    void *stream = gpu->lanes.streams[EXEC_LANE_COMPUTE], *host = exec_memory_alloc(bytes);

    if (!host)
        return ring_fail(error, RING_NO_MEMORY, "rank %d: out of memory for a block", session->rank);
    data_fill(&session->data, &session->plan.problem, tensor, &session->shard, host);
    enum ring_status status = gpu->runtime->copy(home + offset, host, bytes, stream, error);
    if (status == RING_OK)
        status = gpu->runtime->settle(stream, error);
    exec_memory_free(host);
    return status;
}

static enum ring_status open_data(struct exec_session *session, struct ring_error *error)
{
    struct gpu *gpu = session->device;
    const struct ring_problem *problem = &session->plan.problem;
    const char *name = session->scenario->measure.kernel;
    uint64_t k_bytes = ring_problem_kv_bytes(problem, session->shard.tokens) / 2;

    if (name && strcmp(name, "auto") != 0 && strcmp(name, "cuda") != 0)
        return ring_fail(error, RING_UNSUPPORTED,
                         "measure.kernel '%s': no such kernel on a CUDA device (cuda or auto)", name);
    if (!serves(session))
        return ring_fail(error, RING_UNSUPPORTED,
                         "no CUDA kernel for %s and head_dim %u (bf16, fp16 or fp32, a multiple of %d up to "
                         "%d)",
                         ring_dtype_names[problem->dtype], problem->head_dim, CUDA_BLOCK_HEAD_DIM_STEP,
                         CUDA_BLOCK_MAX_HEAD_DIM);
    /* On matrix units a weight is rounded to the inputs' type before it meets its value. */
    gpu->kernel = (struct block_kernel){.name = "cuda",
                                        .dtype = problem->dtype,
                                        .state = RING_FP32,
                                        .weight_u = problem->dtype == RING_BF16   ? 0x1p-8
                                                    : problem->dtype == RING_FP16 ? 0x1p-11
                                                                                  : 0};
    session->kernel = &gpu->kernel;
    enum ring_status status = fill_home(session, DATA_K, 0, k_bytes, error);
    if (status == RING_OK)
        status = fill_home(session, DATA_V, k_bytes, k_bytes, error);
    if (status == RING_OK)
        status = exec_attention_open(&gpu->attention, &session->plan, (uint32_t)session->rank, &session->data,
                                     &gpu->lanes, error);
    if (status != RING_OK)
        return status;
    struct exec_launch launch = exec_attention_launch(gpu->attention);
    exec_compute_lane_init(&gpu->compute, &gpu->lanes, &launch);
    session->compute = (struct exec_compute){.worker = &gpu->compute.worker};
    return RING_OK;
}

static enum ring_status open_mover(struct exec_session *session, struct ring_error *error)
{
    struct gpu *gpu = session->device;
    struct exec_mover_spec spec = {
        .comm = session->comm,
        .bound = session->bound,
        .lanes = &gpu->lanes,
        .move = session->move,
        .stage_bytes = EXEC_STAGE_BYTES,
        .memory = session->memory.slots,
        .n_memory = session->memory.n_slots,
    };
    enum ring_status status = exec_mover_open(&gpu->mover, &spec, error);

    if (status == RING_OK)
        session->mover = exec_mover_worker(gpu->mover);
    return status;
}

/* The first launch of a pass begins its state anew; only the clocks are to be set. */
static enum ring_status reset(struct exec_session *session, struct ring_error *error)
{
    struct gpu *gpu = session->device;

    return exec_lanes_set_clock(&gpu->lanes, error);
}

static enum ring_status fetch_gradients(struct exec_session *session, struct ring_error *error)
{
    struct gpu *gpu = session->device;
    struct ring_buffer slot = session->memory.slots[ring_plan_own_gradient_slot(&session->plan)];
    void *stream = gpu->lanes.streams[EXEC_LANE_COMPUTE];

    if (!gpu->gradient)
        gpu->gradient = exec_memory_alloc(slot.bytes);
    if (!gpu->gradient)
        return ring_fail(error, RING_NO_MEMORY, "rank %d: out of memory for its gradients", session->rank);
    enum ring_status status = gpu->runtime->copy(gpu->gradient, slot.data, slot.bytes, stream, error);
    return status == RING_OK ? gpu->runtime->settle(stream, error) : status;
}

static enum ring_status results(struct exec_session *session, void *out, void *lse,
                                struct exec_results *found, struct ring_error *error)
{
    struct gpu *gpu = session->device;
    const struct ring_problem *problem = &session->plan.problem;
    bool backward = session->plan.pass != RING_PASS_FORWARD;
    uint64_t bytes =
        (uint64_t)problem->batch * problem->heads * session->shard.tokens * problem->head_dim * sizeof(float);

    if (backward && !gpu->d_q)
        gpu->d_q = exec_memory_alloc(bytes);
    if (backward && !gpu->d_q)
        return ring_fail(error, RING_NO_MEMORY, "rank %d: out of memory for its gradients", session->rank);
    enum ring_status status = exec_attention_results(gpu->attention, out, lse, gpu->d_q, error);
    if (status == RING_OK && backward)
        status = fetch_gradients(session, error);
    *found = (struct exec_results){out, lse, gpu->d_q, gpu->gradient};
    return status;
}

static uint64_t device_bytes(const struct exec_session *session)
{
    const struct gpu *gpu = session->device;

    return gpu->runtime->most_taken();
}

static void describe(const struct exec_session *session, char *out, size_t size)
{
    const struct gpu *gpu = session->device;
    char way[128];

    exec_mover_describe(gpu->mover, way, sizeof way);
    snprintf(out, size, "%s, %s", gpu->name, way);
}

const struct exec_processor exec_processor_cuda = {
    .name = "cuda",
    .serves = serves,
    .open = open_gpu,
    .close = close_gpu,
    .take = take,
    .give = give,
    .open_data = open_data,
    .open_mover = open_mover,
    .close_mover = close_mover,
    .reset = reset,
    .results = results,
    .device_bytes = device_bytes,
    .describe = describe,
};
