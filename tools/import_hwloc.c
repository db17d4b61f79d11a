/* SPDX-License-Identifier: MIT
 *
 * Machines as hwloc saves them (`lstopo --of xml`): GPUs and NICs by their PCI class, with the bridges above
 * them. Says nothing of NVLink, which hwloc's objects do not show. */
#include <hwloc.h>
#include <string.h>

#include "tools/import.h"

/* PCI classes: display controllers and accelerators, and network controllers. */
enum { DISPLAY = 0x03, NETWORK = 0x02, ACCELERATOR = 0x12 };

static bool is_class(hwloc_obj_t object, unsigned base)
{
    return object->attr->pcidev.class_id >> 8 == base;
}

/* The bridge next above that other parts may hang on too: not the host bridge, and not a port that only
 * leads to this one. */
static hwloc_obj_t switch_above(hwloc_obj_t object)
{
    hwloc_obj_t found = NULL;

    for (hwloc_obj_t at = object->parent; at && at->type == HWLOC_OBJ_BRIDGE; at = at->parent)
        if (at->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI && at->io_arity > 1 && !found)
            found = at;
    return found;
}

static hwloc_obj_t socket_above(hwloc_topology_t topology, hwloc_obj_t object)
{
    hwloc_obj_t at = hwloc_get_non_io_ancestor_obj(topology, object);
    hwloc_obj_t package = at;

    while (package && package->type != HWLOC_OBJ_PACKAGE)
        package = package->parent;
    return package ? package : NULL;
}

/* The number of an object among those seen, from 0; a new one is added. */
static int number(const void **seen, int *n, const void *object)
{
    for (int i = 0; i < *n; i++)
        if (seen[i] == object)
            return i;
    seen[*n] = object;
    return (*n)++;
}

struct parts {
    hwloc_obj_t items[2 * TOOL_MOST_PARTS];
    uint32_t n;
};

static void find_parts(hwloc_topology_t topology, struct parts *devices, struct parts *nics)
{
    for (hwloc_obj_t object = hwloc_get_next_pcidev(topology, NULL); object;
         object = hwloc_get_next_pcidev(topology, object)) {
        struct parts *parts = is_class(object, DISPLAY) || is_class(object, ACCELERATOR) ? devices
                              : is_class(object, NETWORK)                                ? nics
                                                                                         : NULL;
        if (parts && parts->n < TOOL_MOST_PARTS)
            parts->items[parts->n++] = object;
    }
}

/* The name that the system has for a NIC ("mlx5_0"), else its place on the bus. */
static void name_nic(hwloc_obj_t object, char *name, size_t size)
{
    const hwloc_obj_t child = object->io_first_child;
    const char *text = child && child->name ? child->name : object->name ? object->name : "";

    snprintf(name, size, "%s", text[0] ? text : "nic");
    for (char *at = name; *at; at++)
        *at = *at < ' ' ? ' ' : *at;
}

static void take_parts(hwloc_topology_t topology, const struct parts *devices, const struct parts *nics,
                       struct tool_machine *machine)
{
    const void *sockets[2 * TOOL_MOST_PARTS], *switches[2 * TOOL_MOST_PARTS];

    machine->n_devices = devices->n;
    machine->n_nics = nics->n;
    for (uint32_t i = 0; i < devices->n + nics->n; i++) {
        hwloc_obj_t object = i < devices->n ? devices->items[i] : nics->items[i - devices->n];
        hwloc_obj_t bridge = switch_above(object);
        double speed = (double)object->attr->pcidev.linkspeed * 1e9;
        machine->socket[i] = number(sockets, &machine->n_sockets, socket_above(topology, object));
        machine->pcie[i] = bridge ? number(switches, &machine->n_switches, bridge) : -1;
        if (i < devices->n && speed > 0)
            machine->pcie_bytes_per_s = speed;
        if (i >= devices->n)
            name_nic(object, machine->nic_names[i - devices->n], sizeof machine->nic_names[0]);
    }
    if (devices->n > 0 && devices->items[0]->name) {
        snprintf(machine->device_name, sizeof machine->device_name, "%s", devices->items[0]->name);
        for (char *at = machine->device_name; *at; at++)
            *at = *at < ' ' ? ' ' : *at;
    }
}

enum ring_status tool_import_hwloc(const char *path, struct tool_machine *machine, struct ring_error *error)
{
    hwloc_topology_t topology;
    struct parts devices = {.n = 0}, nics = {.n = 0};
    enum ring_status status = RING_OK;

    *machine = (struct tool_machine){.source = "hwloc XML"};
    if (hwloc_topology_init(&topology) != 0)
        return ring_fail(error, RING_NO_MEMORY, "out of memory");
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_set_xml(topology, path) != 0 || hwloc_topology_load(topology) != 0) {
        status = ring_fail(error, RING_BAD_INPUT, "%s: not what hwloc writes (lstopo --of xml)", path);
    } else {
        find_parts(topology, &devices, &nics);
        take_parts(topology, &devices, &nics, machine);
        if (devices.n == 0)
            status =
                ring_fail(error, RING_BAD_INPUT,
                          "%s: found no GPU, accepted: a machine with display or accelerator devices", path);
    }
    hwloc_topology_destroy(topology);
    return status;
}
