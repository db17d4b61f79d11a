/* SPDX-License-Identifier: MIT
 *
 * See pin.h. Left to itself the system moves ranks that wait for each other between the cores as it sees fit;
 * then no placement describes the run. */
#include "exec/pin.h"

#include <sched.h>

void exec_pin(uint32_t core)
{
    cpu_set_t allowed, one;

    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2)
        return;
    uint32_t left = core % (uint32_t)CPU_COUNT(&allowed);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || left-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}
