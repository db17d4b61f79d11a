/* SPDX-License-Identifier: MIT
 *
 * What one rank of a run owns. See session.h; what it does with it is in pass.c. */
#include "exec/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "exec/memory.h"
#include "exec/pin.h"
#include "exec/processor.h"

#define EXEC_DEVICE_NAME(name, text) text,
const char *const exec_device_names[EXEC_N_DEVICES] = {EXEC_DEVICES(EXEC_DEVICE_NAME)};
#undef EXEC_DEVICE_NAME

/* Before a scenario has said how patient to be. */
#define OPENING_TIMEOUT_S 60.0

static enum ring_status load(struct exec_session *session, const struct exec_session_spec *spec,
                             struct ring_error *error)
{
    enum ring_status status =
        config_scenario_load(spec->scenario_path, &spec->overrides, &session->scenario, error);
    if (status != RING_OK)
        return status;
    const struct config_scenario *scenario = session->scenario;
    if (scenario->plan.n_ranks != (uint32_t)session->n_ranks)
        return ring_fail(error, RING_BAD_INPUT,
                         "%s: ring.devices is %" PRIu32 ", but %d ranks were started (start %" PRIu32
                         ", or --set ring.devices=%d)",
                         spec->scenario_path, scenario->plan.n_ranks, session->n_ranks,
                         scenario->plan.n_ranks, session->n_ranks);
    return ring_plan_init(&session->plan, &scenario->plan, error);
}

static enum ring_status find_data(struct exec_session *session, struct ring_error *error)
{
    const struct config_data *data = &session->scenario->data;

    session->data.seed = data->seed;
    for (int kind = 0; kind < DATA_N_KINDS; kind++) {
        if (strcmp(data->kind, data_kind_names[kind]) == 0) {
            session->data.kind = (enum data_kind)kind;
            return RING_OK;
        }
    }
    return ring_fail(error, RING_UNSUPPORTED, "data.kind '%s' cannot be run", data->kind);
}

static enum ring_status open_slots(struct exec_session *session, struct ring_error *error)
{
    struct ring_memory *memory = &session->memory;
    enum ring_status status = RING_OK;

    memory->n_slots = session->plan.n_slots;
    memory->slots = calloc(memory->n_slots, sizeof *memory->slots);
    if (!memory->slots)
        return ring_fail(error, RING_NO_MEMORY, "rank %d: out of memory for %" PRIu32 " slots", session->rank,
                         memory->n_slots);
    for (uint32_t slot = 0; slot < memory->n_slots && status == RING_OK; slot++) {
        uint64_t bytes = ring_plan_slot_bytes(&session->plan, (uint32_t)session->rank, slot);
        memory->slots[slot].bytes = bytes;
        status = session->processor->take(session, bytes, &memory->slots[slot].data, error);
    }
    return status;
}

/* That each rank computes with. */
static int threads_of(const struct exec_session *session)
{
    return (int)session->scenario->compute.threads;
}

static enum ring_status open_transport(struct exec_session *session, const struct exec_session_spec *spec,
                                       struct ring_error *error)
{
    struct exec_transport_spec transport = {
        .comm = session->comm,
        .progress = session->scenario->progress,
        .compute = session->compute,
        .mover = session->mover,
        .bound = session->bound,
        .clock_offset_s = session->clock.offset_s,
        .fault = spec->fault,
        .spare_core = session->clock.ranks_here * (threads_of(session) + 1) <= session->clock.cores_here,
        .hardship = &session->hardship,
    };
    return exec_transport_open(&session->transport, &transport, error);
}

/* All ranks compute with the same: a device, or the CPU where there is none for each and that will do. */
static enum ring_status choose_processor(struct exec_session *session, const struct exec_session_spec *spec,
                                         struct ring_error *error)
{
    struct ring_error why = {""};

    session->processor = &exec_processor_cpu;
    if (spec->device == EXEC_DEVICE_CPU)
        return RING_OK;
    if (spec->device == EXEC_DEVICE_AUTO && !exec_processor_cuda.serves(session))
        return RING_OK;
    session->processor = &exec_processor_cuda;
    enum ring_status status = exec_processor_cuda.open(session, &why);
    status = exec_agree(session->comm, &session->bound, status, &why);
    if (status == RING_OK)
        return RING_OK;
    exec_processor_cuda.close(session);
    session->processor = &exec_processor_cpu;
    if (status == RING_UNSUPPORTED && spec->device == EXEC_DEVICE_AUTO)
        return RING_OK;
    session->no_device = status == RING_UNSUPPORTED;
    if (status == RING_UNSUPPORTED)
        return ring_fail(error, status, "no usable CUDA device is there: %.900s", why.text);
    return ring_fail(error, status, "%.1000s", why.text);
}

/* The part in which each rank works alone. */
static enum ring_status open_own(struct exec_session *session, bool needs_data, struct ring_error *error)
{
    enum ring_status status = find_data(session, error);

    session->shard = ring_layout_shard(&session->plan.layout, (uint32_t)session->rank);
    session->baseline_bytes = exec_memory_resident();
    if (status == RING_OK)
        status = exec_hardship_open(&session->hardship, session->scenario, (uint32_t)session->rank, error);
    if (status == RING_OK)
        status = open_slots(session, error);
    session->compute = (struct exec_compute){
        .block_s = session->scenario->compute.block_s,
        .backward_block_s = session->scenario->compute.backward_block_s,
        .core_free = session->scenario->compute.core_free,
    };
    if (status == RING_OK && (needs_data || session->scenario->compute.block_s <= 0))
        status = session->processor->open_data(session, error);
    return status;
}

/* Ranks that take turns do it on the core that the placement gives them, as a prediction has it. */
static void take_seat(const struct exec_session *session)
{
    const struct config_scenario *scenario = session->scenario;

    if (session->bound.crowded && session->clock.n_hosts == 1 && scenario->compute.threads <= 1 &&
        scenario->compute.block_s <= 0)
        exec_pin(scenario->placement[session->rank]);
}

enum ring_status exec_session_open(struct exec_session *session, const struct exec_session_spec *spec,
                                   struct ring_error *error)
{
    *session = (struct exec_session){
        .comm = spec->comm, .progress = spec->progress, .runtime = spec->runtime, .move = spec->move};
    MPI_Comm_rank(spec->comm, &session->rank);
    MPI_Comm_size(spec->comm, &session->n_ranks);
    MPI_Comm_set_errhandler(spec->comm, MPI_ERRORS_RETURN);
    session->bound = (struct exec_bound){OPENING_TIMEOUT_S, spec->stop, true, session->rank};

    enum ring_status status = load(session, spec, error);
    status = exec_agree(session->comm, &session->bound, status, error);
    if (status == RING_OK) {
        session->bound.timeout_s = session->scenario->measure.timeout_s;
        status = exec_clock_agree(session->comm, &session->bound, &session->clock, error);
        session->bound.crowded = session->clock.ranks_here * threads_of(session) > session->clock.cores_here;
        session->pass_bound = session->bound;
        session->pass_bound.timeout_s *= session->plan.n_steps + 1.0;
        take_seat(session);
    }
    if (status == RING_OK)
        status = choose_processor(session, spec, error);
    if (status == RING_OK) {
        status = open_own(session, spec->needs_data, error);
        status = exec_agree_when_done(session->comm, &session->bound, status, error);
    }
    if (status == RING_OK)
        status = session->processor->open_mover(session, error);
    if (status == RING_OK)
        status = open_transport(session, spec, error);
    if (status != RING_OK) {
        bool no_device = session->no_device;
        exec_session_close(session);
        session->no_device = no_device;
    }
    return status;
}

void exec_session_close(struct exec_session *session)
{
    exec_transport_close(session->transport);
    if (session->processor)
        session->processor->close_mover(session);
    for (uint32_t slot = 0; session->memory.slots && slot < session->memory.n_slots; slot++)
        session->processor->give(session, session->memory.slots[slot].data);
    if (session->processor)
        session->processor->close(session);
    free(session->memory.slots);
    exec_hardship_close(&session->hardship);
    if (session->scenario)
        config_scenario_free(session->scenario);
    *session = (struct exec_session){.comm = MPI_COMM_NULL};
}
