/* SPDX-License-Identifier: MIT
 *
 * Stands in for sim/ where SimGrid was not there to build it with. */
#include "sim/export.h"
#include "sim/sim.h"

enum ring_status sim_run(const struct sim_spec *spec, double *ends_s, struct ring_trace *traces,
                         struct ring_error *error)
{
    (void)ends_s;
    (void)traces;
    const char *what = spec->ring->shared_what;
    if (what != NULL)
        return ring_fail(error, RING_UNSUPPORTED,
                         "%s is shared, which needs SimGrid, and this ringlab was built without it (install "
                         "libsimgrid-dev and build again)",
                         what);
    return ring_fail(error, RING_UNSUPPORTED,
                     "this ringlab was built without SimGrid (install libsimgrid-dev and build again)");
}

const char *sim_description(void)
{
    return "SimGrid is not built in";
}

enum ring_status sim_export(const struct model_topology *topology, FILE *file, struct ring_error *error)
{
    (void)topology;
    (void)file;
    return ring_fail(error, RING_UNSUPPORTED,
                     "this ringlab was built without SimGrid (install libsimgrid-dev and build again)");
}
