/* SPDX-License-Identifier: MIT
 *
 * `ringlab topology`: draws a cluster, writes it for SimGrid, or makes a topology file of what other programs
 * say about a machine. */
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "sim/export.h"
#include "tools/commands.h"
#include "tools/file.h"
#include "tools/import.h"
#include "tools/topology_picture.h"

/* What is asked for, to standard output or, whole, into a file. */
static enum ring_status
write_out(const char *path, enum ring_status (*write)(const void *what, FILE *file, struct ring_error *error),
          const void *what, struct ring_error *error)
{
    struct tool_file file = {.stream = NULL};

    if (path == NULL)
        return write(what, stdout, error);
    enum ring_status status = tool_file_open(&file, path, error);
    if (status == RING_OK)
        status = write(what, file.stream, error);
    if (status == RING_OK)
        return tool_file_commit(&file, error);
    tool_file_discard(&file);
    return status;
}

static enum ring_status write_machine(const void *what, FILE *file, struct ring_error *error)
{
    (void)error;
    tool_write_machine(what, file);
    return RING_OK;
}

static enum ring_status write_platform(const void *what, FILE *file, struct ring_error *error)
{
    return sim_export(what, file, error);
}

static enum ring_status write_picture(const void *what, FILE *file, struct ring_error *error)
{
    return tool_draw_topology(what, file, error);
}

static enum ring_status import_file(const char *kind, const char *path, struct tool_machine *machine,
                                    struct ring_error *error)
{
    enum { MOST_BYTES = 1 << 20 };
    struct ring_error line = {""};
    char *text = NULL;
    size_t size;

    if (strcmp(kind, "hwloc") == 0)
        return tool_import_hwloc(path, machine, error);
    enum ring_status status = tool_file_read(path, MOST_BYTES, &text, &size, error);
    if (status == RING_OK) {
        status = tool_import_smi(text, machine, &line);
        if (status != RING_OK)
            ring_fail(error, status, "%.512s: %.480s", path, line.text);
    }
    free(text);
    return status;
}

/* DIR/two-nodes.yaml -> two-nodes.svg, in the working folder. */
static void picture_name(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    size_t length = dot && dot > base ? (size_t)(dot - base) : strlen(base);

    snprintf(out, size, "%.*s.svg", (int)(length < 200 ? length : 200), base);
}

enum ring_status tool_topology(const struct tool_options *options, struct ring_error *error)
{
    const char *path = options->files[0];
    struct config_cluster cluster;
    char picture[256];

    if (options->import != NULL) {
        struct tool_machine *machine = calloc(1, sizeof *machine);
        enum ring_status status = machine ? import_file(options->import, path, machine, error)
                                          : ring_fail(error, RING_NO_MEMORY, "out of memory");
        if (status == RING_OK)
            status = write_out(options->out, write_machine, machine, error);
        free(machine);
        return status;
    }
    enum ring_status status = config_cluster_load(path, &cluster, error);
    if (status != RING_OK)
        return status;
    if (options->simgrid) {
        status = write_out(options->out, write_platform, cluster.topology, error);
    } else {
        picture_name(path, picture, sizeof picture);
        const char *out = options->out != NULL ? options->out : picture;
        status = write_out(out, write_picture, cluster.topology, error);
        if (status == RING_OK)
            printf("%s\n", out);
    }
    config_cluster_free(&cluster);
    return status;
}
