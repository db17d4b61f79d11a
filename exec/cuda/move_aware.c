/* SPDX-License-Identifier: MIT
 *
 * Messages whose memory is handed to MPI as it is. MPI follows no stream: a message is only posted once all
 * that it must not overtake is done, which the host asks and does not wait for. */
#include "exec/cuda/move_parts.h"

static enum ring_status step(struct exec_mover *mover, struct exec_load *load, struct ring_error *error)
{
    struct exec_flight *flight = load->flight;
    enum exec_touch touch = flight->kind == EXEC_SEND ? EXEC_READS : EXEC_WRITES;
    bool clear = false;
    enum ring_status status = RING_OK;

    if (!load->posted && exec_mover_may_post(mover, load)) {
        status = exec_lanes_clear(mover->lanes, touch, flight->buffer, &clear, error);
        if (status == RING_OK && clear) {
            status = exec_flight_start(flight, flight->buffer, mover->comm, mover->rank, error);
            load->posted = true;
        }
    }
    if (status == RING_OK && load->posted)
        status = exec_flight_test(flight, mover->rank, error);
    return status;
}

const struct exec_way exec_way_aware = {step};
