/* SPDX-License-Identifier: MIT
 *
 * Messages through pinned memory. Of each, up to EXEC_STAGES chunks are under way: while one is copied,
 * another is on the wire. */
#include "exec/cuda/move_parts.h"

static struct ring_buffer chunk_of(const struct exec_mover *mover, const struct exec_load *load,
                                   uint64_t chunk)
{
    struct ring_buffer whole = load->flight->buffer;
    uint64_t at = chunk * mover->stage_bytes, left = whole.bytes - at;

    return (struct ring_buffer){whole.bytes ? (char *)whole.data + at : whole.data,
                                left < mover->stage_bytes ? left : mover->stage_bytes};
}

static struct exec_stage *stage_of(struct exec_load *load, uint64_t chunk)
{
    return &load->stages[chunk % EXEC_STAGES];
}

static bool has_room(const struct exec_load *load)
{
    return load->n_begun < load->n_chunks && load->n_begun - load->n_done < EXEC_STAGES;
}

/* A chunk between the device and its stage, in the lane of its direction. */
static enum ring_status copy(struct exec_mover *mover, struct exec_load *load, uint64_t chunk,
                             struct ring_error *error)
{
    bool sends = load->flight->kind == EXEC_SEND;
    enum exec_lane lane = sends ? EXEC_LANE_OUT : EXEC_LANE_IN;
    enum exec_touch touch = sends ? EXEC_READS : EXEC_WRITES;
    struct exec_lanes *lanes = mover->lanes;
    struct exec_stage *stage = stage_of(load, chunk);
    struct ring_buffer part = chunk_of(mover, load, chunk), whole = load->flight->buffer;
    enum ring_status status = chunk == 0 ? exec_lanes_before(lanes, lane, touch, whole, error) : RING_OK;

    if (status == RING_OK && part.bytes)
        status = lanes->runtime->copy(sends ? stage->memory : part.data, sends ? part.data : stage->memory,
                                      part.bytes, lanes->streams[lane], error);
    if (status == RING_OK)
        status = lanes->runtime->record(stage->event, lanes->streams[lane], error);
    if (status == RING_OK && chunk + 1 == load->n_chunks)
        status = exec_lanes_after(lanes, lane, touch, whole, error);
    return status;
}

static enum ring_status hand_to_mpi(struct exec_mover *mover, struct exec_load *load, uint64_t chunk,
                                    struct ring_error *error)
{
    const struct exec_flight *flight = load->flight;
    struct exec_stage *stage = stage_of(load, chunk);
    int length = (int)chunk_of(mover, load, chunk).bytes, peer = (int)flight->message.peer,
        tag = (int)flight->message.tag;
    int code = flight->kind == EXEC_SEND
                   ? MPI_Isend(stage->memory, length, MPI_BYTE, peer, tag, mover->comm, &stage->request)
                   : MPI_Irecv(stage->memory, length, MPI_BYTE, peer, tag, mover->comm, &stage->request);

    load->posted = chunk + 1 == load->n_chunks;
    return exec_mpi(code, mover->rank, "a chunk of a block", error);
}

static enum ring_status ask_mpi(struct exec_mover *mover, struct exec_stage *stage, bool *done,
                                struct ring_error *error)
{
    int flag = 0;
    int code = MPI_Test(&stage->request, &flag, MPI_STATUS_IGNORE);

    *done = flag;
    return exec_mpi(code, mover->rank, "a chunk of a block", error);
}

static enum ring_status ask_device(struct exec_mover *mover, struct exec_stage *stage, bool *done,
                                   struct ring_error *error)
{
    return mover->lanes->runtime->passed(stage->event, done, error);
}

/* begin: device to stage; hand over: the wire; then it is gone. */
static enum ring_status step_send(struct exec_mover *mover, struct exec_load *load, struct ring_error *error)
{
    enum ring_status status = RING_OK;
    bool done = true;

    while (status == RING_OK && load->n_handed < load->n_begun && exec_mover_may_post(mover, load)) {
        status = ask_device(mover, stage_of(load, load->n_handed), &done, error);
        if (status != RING_OK || !done)
            break;
        status = hand_to_mpi(mover, load, load->n_handed++, error);
    }
    for (done = true; status == RING_OK && done && load->n_done < load->n_handed; load->n_done += done)
        status = ask_mpi(mover, stage_of(load, load->n_done), &done, error);
    while (status == RING_OK && has_room(load)) {
        status = exec_mover_take_stage(mover, stage_of(load, load->n_begun), error);
        if (status == RING_OK)
            status = copy(mover, load, load->n_begun++, error);
    }
    return status;
}

/* begin: the wire; hand over: stage to device; then it has arrived. */
static enum ring_status step_receive(struct exec_mover *mover, struct exec_load *load,
                                     struct ring_error *error)
{
    enum ring_status status = RING_OK;
    bool done = true;

    for (; status == RING_OK && load->n_handed < load->n_begun;) {
        status = ask_mpi(mover, stage_of(load, load->n_handed), &done, error);
        if (status != RING_OK || !done)
            break;
        status = copy(mover, load, load->n_handed++, error);
    }
    for (done = true; status == RING_OK && done && load->n_done < load->n_handed; load->n_done += done)
        status = ask_device(mover, stage_of(load, load->n_done), &done, error);
    while (status == RING_OK && has_room(load) && exec_mover_may_post(mover, load)) {
        status = exec_mover_take_stage(mover, stage_of(load, load->n_begun), error);
        if (status == RING_OK)
            status = hand_to_mpi(mover, load, load->n_begun++, error);
    }
    return status;
}

static enum ring_status step(struct exec_mover *mover, struct exec_load *load, struct ring_error *error)
{
    enum ring_status status =
        load->flight->kind == EXEC_SEND ? step_send(mover, load, error) : step_receive(mover, load, error);

    load->flight->done = status == RING_OK && load->n_done == load->n_chunks;
    return status;
}

const struct exec_way exec_way_staged = {step};
