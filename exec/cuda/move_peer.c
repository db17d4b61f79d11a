/* SPDX-License-Identifier: MIT
 *
 * Messages between ranks of one machine that the receiver copies from the sender's memory. The sender says
 * where a block lies once it may be read; the receiver fetches it in its lane and says when it has it, which
 * ends the send. */
#include "exec/cuda/move_parts.h"

/* Which stage's request or event is for what. */
enum { WORD, THANKS, COPIED = WORD };

/* Where a buffer lies in what this rank shares. */
static enum ring_status find(const struct exec_mover *mover, struct ring_buffer buffer, uint64_t word[2],
                             struct ring_error *error)
{
    for (uint32_t i = 0; i < mover->reach.n_memory; i++) {
        const char *piece = mover->reach.own[i].data, *data = buffer.data;
        if (data >= piece && data + buffer.bytes <= piece + mover->reach.own[i].bytes) {
            word[0] = i;
            word[1] = (uint64_t)(data - piece);
            return RING_OK;
        }
    }
    return ring_fail(error, RING_WORLD, "rank %d: a block to send lies in no memory that is shared",
                     mover->rank);
}

static enum ring_status ask(const struct exec_mover *mover, MPI_Request *request, bool *done,
                            struct ring_error *error)
{
    int flag = 0;
    int code = MPI_Test(request, &flag, MPI_STATUS_IGNORE);

    *done = flag;
    return exec_mpi(code, mover->rank, "the word of a block", error);
}

static enum ring_status begin_send(struct exec_mover *mover, struct exec_load *load, struct ring_error *error)
{
    const struct ring_message *message = &load->flight->message;
    bool clear = false;
    enum ring_status status = exec_lanes_clear(mover->lanes, EXEC_READS, load->flight->buffer, &clear, error);

    if (status != RING_OK || !clear)
        return status;
    status = find(mover, load->flight->buffer, load->word, error);
    if (status == RING_OK)
        status = exec_mpi(MPI_Irecv(NULL, 0, MPI_BYTE, (int)message->peer, (int)message->tag, mover->thanks,
                                    &load->stages[THANKS].request),
                          mover->rank, "the word of a block", error);
    if (status == RING_OK)
        status = exec_mpi(MPI_Isend(load->word, sizeof load->word, MPI_BYTE, (int)message->peer,
                                    (int)message->tag, mover->words, &load->stages[WORD].request),
                          mover->rank, "the word of a block", error);
    load->posted = true;
    return status;
}

static enum ring_status step_send(struct exec_mover *mover, struct exec_load *load, struct ring_error *error)
{
    enum ring_status status = RING_OK;
    bool said = false, thanked = false;

    if (!load->posted && exec_mover_may_post(mover, load))
        status = begin_send(mover, load, error);
    if (status != RING_OK || !load->posted)
        return status;
    status = ask(mover, &load->stages[WORD].request, &said, error);
    if (status == RING_OK)
        status = ask(mover, &load->stages[THANKS].request, &thanked, error);
    load->flight->done = status == RING_OK && said && thanked;
    return status;
}

static enum ring_status fetch(struct exec_mover *mover, struct exec_load *load, struct ring_error *error)
{
    struct exec_lanes *lanes = mover->lanes;
    struct ring_buffer to = load->flight->buffer;
    void *stream = lanes->streams[EXEC_LANE_IN];
    const char *from =
        mover->reach.memory[load->flight->message.peer * mover->reach.n_memory + load->word[0]];
    enum ring_status status = exec_lanes_take_event(lanes, &load->stages[COPIED].event, error);

    if (status == RING_OK)
        status = exec_lanes_before(lanes, EXEC_LANE_IN, EXEC_WRITES, to, error);
    if (status == RING_OK && to.bytes)
        status = lanes->runtime->copy(to.data, from + load->word[1], to.bytes, stream, error);
    if (status == RING_OK)
        status = lanes->runtime->record(load->stages[COPIED].event, stream, error);
    if (status == RING_OK)
        status = exec_lanes_after(lanes, EXEC_LANE_IN, EXEC_WRITES, to, error);
    return status;
}

static enum ring_status step_receive(struct exec_mover *mover, struct exec_load *load,
                                     struct ring_error *error)
{
    const struct ring_message *message = &load->flight->message;
    enum ring_status status = RING_OK;
    bool done = false;

    if (!load->posted && exec_mover_may_post(mover, load)) {
        status = exec_mpi(MPI_Irecv(load->word, sizeof load->word, MPI_BYTE, (int)message->peer,
                                    (int)message->tag, mover->words, &load->stages[WORD].request),
                          mover->rank, "the word of a block", error);
        load->posted = true;
    }
    if (status == RING_OK && load->posted && load->n_begun == 0) {
        status = ask(mover, &load->stages[WORD].request, &done, error);
        load->n_begun = done;
        if (status == RING_OK && done)
            status = fetch(mover, load, error);
    }
    /* Thanks of one tag are matched in order as well. */
    if (status == RING_OK && load->n_begun == 1 && load->n_handed == 0 && exec_mover_is_oldest(mover, load)) {
        status = mover->lanes->runtime->passed(load->stages[COPIED].event, &done, error);
        if (status == RING_OK && done) {
            status = exec_mpi(MPI_Isend(NULL, 0, MPI_BYTE, (int)message->peer, (int)message->tag,
                                        mover->thanks, &load->stages[THANKS].request),
                              mover->rank, "the word of a block", error);
            load->n_handed = 1;
        }
    }
    if (status == RING_OK && load->n_handed == 1) {
        status = ask(mover, &load->stages[THANKS].request, &done, error);
        load->flight->done = status == RING_OK && done;
    }
    return status;
}

static enum ring_status step(struct exec_mover *mover, struct exec_load *load, struct ring_error *error)
{
    return load->flight->kind == EXEC_SEND ? step_send(mover, load, error) : step_receive(mover, load, error);
}

const struct exec_way exec_way_peer = {step};
