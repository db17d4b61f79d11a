/* SPDX-License-Identifier: MIT
 *
 * A machine as other programs describe it, turned into a topology file: what is joined to what is theirs, how
 * wide each kind of link is they mostly do not say, so the figures written are nominal and say so. */
#ifndef TOOL_IMPORT_H
#define TOOL_IMPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/status.h"

enum { TOOL_MOST_PARTS = 64 };

/* What both importers find: which part (a device, then NICs) is under which PCIe switch and socket. */
struct tool_machine {
    const char *source; /* what it was read from, for the file */
    uint32_t n_devices, n_nics;
    char nic_names[TOOL_MOST_PARTS][48];
    /* by part: devices from 0, NICs from n_devices; groups numbered from 0; no switch: -1 */
    int socket[2 * TOOL_MOST_PARTS], pcie[2 * TOOL_MOST_PARTS];
    int n_sockets, n_switches;
    uint32_t nvlinks[TOOL_MOST_PARTS][TOOL_MOST_PARTS]; /* cables between two devices */
    double pcie_bytes_per_s;                            /* 0: unknown */
    char device_name[64];                               /* "": unknown */
};

/* Text of `nvidia-smi topo -m`. RING_BAD_INPUT with the line. */
enum ring_status tool_import_smi(const char *text, struct tool_machine *machine, struct ring_error *error);

/* XML as `lstopo --of xml` writes it. RING_UNSUPPORTED where hwloc was not there to build with. */
enum ring_status tool_import_hwloc(const char *path, struct tool_machine *machine, struct ring_error *error);

/* The topology file. */
void tool_write_machine(const struct tool_machine *machine, FILE *file);

#endif
