/* SPDX-License-Identifier: MIT
 *
 * A machine written as a topology file. */
#include "tools/import.h"

static bool any_nvlink(const struct tool_machine *machine)
{
    for (uint32_t i = 0; i < machine->n_devices; i++)
        for (uint32_t j = 0; j < machine->n_devices; j++)
            if (machine->nvlinks[i][j] > 0)
                return true;
    return false;
}

/* How many cables each device has, if every two devices say the same and are more than two: then what they
 * count is each device's own cables to the NVSwitch. 0: a mesh, or nothing. */
static uint32_t switched(const struct tool_machine *machine)
{
    uint32_t n = machine->n_devices > 2 ? machine->nvlinks[0][1] : 0;

    for (uint32_t i = 0; i < machine->n_devices; i++)
        for (uint32_t j = 0; j < machine->n_devices; j++)
            if (i != j && machine->nvlinks[i][j] != n)
                return 0;
    return n >= 6 ? n : 0;
}

static void write_mesh(const struct tool_machine *machine, FILE *file)
{
    const char *comma = "";

    fputs("      mesh:\n        link: nvlink\n        pairs: [", file);
    for (uint32_t i = 0; i < machine->n_devices; i++)
        for (uint32_t j = i + 1; j < machine->n_devices; j++) {
            if (machine->nvlinks[i][j] == 0)
                continue;
            if (machine->nvlinks[i][j] == 1)
                fprintf(file, "%s[%u, %u]", comma, i, j);
            else
                fprintf(file, "%s[%u, %u, %u]", comma, i, j, machine->nvlinks[i][j]);
            comma = ", ";
        }
    fputs("]\n", file);
}

static void write_part(const struct tool_machine *machine, uint32_t part, FILE *file)
{
    if (part < machine->n_devices)
        fprintf(file, "%u", part);
    else if (machine->n_nics > 1)
        fprintf(file, "nic%u", part - machine->n_devices);
    else
        fputs("nic", file);
}

/* Parts of a switch, or (pcie -1) those that hang on a socket itself. */
static void write_parts(const struct tool_machine *machine, int socket, int pcie, const char **comma,
                        FILE *file)
{
    for (uint32_t part = 0; part < machine->n_devices + machine->n_nics; part++) {
        if (machine->socket[part] != socket || machine->pcie[part] != pcie)
            continue;
        fputs(*comma, file);
        write_part(machine, part, file);
        *comma = ", ";
    }
}

static bool has_parts(const struct tool_machine *machine, int socket, int pcie)
{
    for (uint32_t part = 0; part < machine->n_devices + machine->n_nics; part++)
        if (machine->socket[part] == socket && machine->pcie[part] == pcie)
            return true;
    return false;
}

static void write_tree(const struct tool_machine *machine, FILE *file)
{
    fputs("        tree: [", file);
    for (int socket = 0; socket < machine->n_sockets; socket++) {
        const char *comma = "";
        fputs(socket > 0 ? ", [" : "[", file);
        for (int pcie = 0; pcie < machine->n_switches; pcie++) {
            const char *inner = "";
            if (!has_parts(machine, socket, pcie))
                continue;
            fprintf(file, "%s[", comma);
            write_parts(machine, socket, pcie, &inner, file);
            fputc(']', file);
            comma = ", ";
        }
        write_parts(machine, socket, -1, &comma, file);
        fputc(']', file);
    }
    fputs("]\n", file);
}

static void write_links(const struct tool_machine *machine, FILE *file)
{
    uint32_t n = switched(machine);

    fputs("  links: # nominal: put your machine's own figures here\n", file);
    if (n > 0)
        fprintf(file,
                "    nvlink: {bandwidth: %u GB/s, latency: 8 us, source: \"nominal, %u NVLinks of 25 GB/s "
                "one way\"}\n",
                25 * n, n);
    else if (any_nvlink(machine))
        fputs("    nvlink: {bandwidth: 25 GB/s, latency: 8 us, source: \"nominal, one NVLink, one way\"}\n",
              file);
    if (machine->pcie_bytes_per_s > 0)
        fprintf(file, "    pcie: {bandwidth: %.4g GB/s, latency: 8 us, source: \"link speed as found\"}\n",
                machine->pcie_bytes_per_s / 1e9);
    else
        fputs("    pcie: {bandwidth: 31.5 GB/s, latency: 8 us, source: \"nominal, PCI Express 4.0 x16\"}\n",
              file);
    if (machine->n_sockets > 1)
        fputs("    sockets: {bandwidth: 40 GB/s, source: \"a guess at what joins the sockets\"}\n", file);
    if (machine->n_nics > 0)
        fputs("    network: {bandwidth: 25 GB/s, latency: 10 us, source: \"nominal, 200 Gb/s\"}\n", file);
}

void tool_write_machine(const struct tool_machine *machine, FILE *file)
{
    fprintf(file,
            "# Written by ringlab topology --import. The file of the device is for you to name.\n"
            "topology:\n  name: imported\n  source: %s\n",
            machine->source);
    write_links(machine, file);
    fputs("  nodes:\n    - name: node\n      count: 1 # how many of these machines\n", file);
    fprintf(file, "      devices: {name: gpu, count: %u, device: gpu.yaml}%s%s\n", machine->n_devices,
            machine->device_name[0] ? " # " : "", machine->device_name);
    if (switched(machine) > 0)
        fputs("      inside: nvlink\n", file);
    else if (any_nvlink(machine))
        write_mesh(machine, file);
    if (machine->n_nics > 0) {
        fprintf(file, "      nics: {count: %u, link: network} #", machine->n_nics);
        for (uint32_t i = 0; i < machine->n_nics; i++)
            fprintf(file, " %s", machine->nic_names[i]);
        fputc('\n', file);
    }
    fputs("      pcie:\n        link: pcie\n", file);
    if (machine->n_sockets > 1)
        fputs("        between: sockets\n", file);
    write_tree(machine, file);
}
