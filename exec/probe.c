/* SPDX-License-Identifier: MIT
 *
 * A fixed block, timed now and compared with then. See probe.h. */
#include "exec/probe.h"

#include <string.h>

#include "exec/calibration.h"

enum { OLD_TOKENS = 2048, MOST_LOOKS = 64 };

/* The block that the calibration timed all along, in processor time as there: somebody else on the core is no
 * slower core. A file without one is asked what it says of a large block. */
static double find_block(const struct model_device *core, const struct ring_problem *problem, size_t *tokens)
{
    struct ring_problem one_head = *problem;
    one_head.batch = one_head.heads = one_head.kv_heads = 1;
    struct ring_work work = {OLD_TOKENS, OLD_TOKENS, (uint64_t)OLD_TOKENS * OLD_TOKENS};
    struct model_block_cost cost;

    *tokens = OLD_TOKENS;
    if (model_device_block(core, &one_head, RING_PASS_FORWARD, &work, &cost, NULL) != RING_OK)
        return 0;
    if (cost.curve->head_dim != problem->head_dim || !(cost.curve->reference_s > 0))
        return cost.kernel_s;
    *tokens = (size_t)cost.curve->reference_tokens;
    return cost.curve->reference_s;
}

enum ring_status exec_probe_open(struct exec_probe *probe, const struct exec_session *session,
                                 struct ring_error *error)
{
    const struct config_scenario *scenario = session->scenario;
    const struct model_topology *topology = scenario->topology;
    const struct ring_problem *problem = &session->plan.problem;

    *probe = (struct exec_probe){.expected_s = 0};
    if (!session->kernel || strcmp(topology->name, "this-machine") != 0)
        return RING_OK;
    if (session->kernel != block_kernel_find(NULL, problem->dtype, problem->head_dim))
        return RING_OK; /* another kernel than the calibrated one */
    uint32_t device = scenario->placement[session->rank];
    probe->expected_s =
        find_block(topology->vertices[topology->devices[device]].device, problem, &probe->tokens);
    if (!(probe->expected_s > 0))
        return RING_OK;
    return exec_kernel_bench_open(&probe->bench, RING_PASS_FORWARD, problem->dtype, problem->head_dim,
                                  probe->tokens, EXEC_BENCH_HEADS, error);
}

void exec_probe_close(struct exec_probe *probe)
{
    exec_kernel_bench_close(&probe->bench);
}

/* Of one block, without whatever struck a few of them. */
static double median_block_s(struct exec_probe *probe, double seconds)
{
    double times_s[MOST_LOOKS], begun_s = exec_clock_s();
    size_t n = 0;

    do
        times_s[n++] = exec_kernel_bench_look(&probe->bench, probe->tokens).cpu_s;
    while (n < MOST_LOOKS && exec_clock_s() - begun_s < seconds);
    return exec_median(times_s, n);
}

enum ring_status exec_probe_look(struct exec_probe *probe, const struct exec_session *session, double seconds,
                                 double *drift, struct ring_error *error)
{
    enum ring_status status = exec_barrier(session->comm, &session->pass_bound, "all ranks to probe", error);

    *drift = 0;
    if (status == RING_OK && probe->expected_s > 0)
        *drift = median_block_s(probe, seconds) / probe->expected_s;
    return status;
}
