/* SPDX-License-Identifier: MIT
 *
 * A fixed block, timed now and compared with then. See probe.h. */
#include "exec/probe.h"

#include <string.h>

enum { PROBE_TOKENS = 2048, COLD_BLOCKS = 1, MAX_BLOCKS = 64 };
#define LOOK_S 15e-3

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
    const struct model_device *core = topology->vertices[topology->devices[device]].device;
    struct ring_problem one_head = *problem;
    one_head.batch = one_head.heads = one_head.kv_heads = 1;
    struct ring_work work = {PROBE_TOKENS, PROBE_TOKENS, (uint64_t)PROBE_TOKENS * PROBE_TOKENS};
    struct model_block_cost cost;
    if (model_device_block(core, &one_head, RING_PASS_FORWARD, &work, &cost, NULL) != RING_OK)
        return RING_OK;
    probe->expected_s = cost.kernel_s;
    double n_blocks = LOOK_S / cost.kernel_s;
    probe->n_blocks = n_blocks < 1 ? 1 : n_blocks > MAX_BLOCKS ? MAX_BLOCKS : (size_t)n_blocks;
    return exec_kernel_bench_open(&probe->bench, RING_PASS_FORWARD, problem->dtype, problem->head_dim,
                                  PROBE_TOKENS, 2, error);
}

void exec_probe_close(struct exec_probe *probe)
{
    exec_kernel_bench_close(&probe->bench);
}

enum ring_status exec_probe_look(struct exec_probe *probe, const struct exec_session *session, double *drift,
                                 struct ring_error *error)
{
    enum ring_status status = exec_barrier(session->comm, &session->pass_bound, "all ranks to probe", error);

    *drift = 0;
    if (status != RING_OK || !(probe->expected_s > 0))
        return status;
    exec_kernel_bench_time(&probe->bench, PROBE_TOKENS, PROBE_TOKENS, false,
                           COLD_BLOCKS); /* into caches that others filled */
    *drift =
        exec_kernel_bench_time(&probe->bench, PROBE_TOKENS, PROBE_TOKENS, false, probe->n_blocks).wall_s /
        probe->expected_s;
    return status;
}
