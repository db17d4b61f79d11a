/* SPDX-License-Identifier: MIT
 *
 * Stands in for import_hwloc.c where hwloc was not there to build it with. */
#include "tools/import.h"

enum ring_status tool_import_hwloc(const char *path, struct tool_machine *machine, struct ring_error *error)
{
    (void)machine;
    return ring_fail(error, RING_UNSUPPORTED,
                     "%s: this ringlab was built without hwloc (install libhwloc-dev and build again)", path);
}
