/* SPDX-License-Identifier: MIT
 *
 * See calibrate_files.h. */
#include "exec/calibrate_files.h"

#include <string.h>

#include "config/config.h"
#include "exec/output.h"

static enum ring_status find_place(const struct exec_calibrate_spec *spec, const char *file, char *path,
                                   size_t size, struct ring_error *error)
{
    struct exec_output trial;
    enum ring_status status = RING_OK;

    if (spec->path && (size_t)snprintf(path, size, "%s", spec->path) >= size)
        status = ring_fail(error, RING_IO, "%.200s...: the path is too long", spec->path);
    else if (!spec->path)
        status = config_cache_path(path, size, file, error);
    if (status != RING_OK)
        return status;
    status = exec_output_open(&trial, path, error);
    exec_output_discard(&trial);
    return status;
}

enum ring_status exec_calibrate_meet(MPI_Comm comm, struct exec_bound *bound, struct exec_clock *clock,
                                     struct ring_error *error)
{
    enum ring_status status = exec_clock_agree(comm, bound, clock, error);

    bound->crowded = clock->ranks_here > clock->cores_here;
    return status == RING_OK && clock->n_hosts > 1
               ? ring_fail(error, RING_BAD_INPUT, "calibrate measures one machine, and was started on %d",
                           clock->n_hosts)
               : status;
}

enum ring_status exec_calibrate_place(const struct exec_calibrate_spec *spec, const struct exec_bound *bound,
                                      const char *file, char *path, size_t size, struct ring_error *error)
{
    enum ring_status status = bound->rank == 0 ? find_place(spec, file, path, size, error) : RING_OK;

    return exec_agree(spec->comm, bound, status, error);
}

enum ring_status exec_calibrate_write(const struct exec_calibrate_writer *writer, const char *path,
                                      const char *suffix, struct ring_error *error)
{
    static const char ending[] = ".yaml";
    struct exec_output topology = {.file = NULL}, device = {.file = NULL};
    char device_path[PATH_MAX];
    size_t n = strlen(path), stem = n > 5 && strcmp(path + n - 5, ending) == 0 ? n - 5 : n;

    if ((size_t)snprintf(device_path, sizeof device_path, "%.*s%s%s", (int)stem, path, suffix, ending) >=
        sizeof device_path)
        return ring_fail(error, RING_IO, "%.200s...: the path is too long", path);
    const char *slash = strrchr(device_path, '/');
    enum ring_status status = exec_output_open(&device, device_path, error);
    if (status == RING_OK)
        status = exec_output_open(&topology, path, error);
    if (status == RING_OK) {
        writer->device(writer->context, writer->source, device.file);
        writer->topology(writer->context, writer->source, slash ? slash + 1 : device_path, topology.file);
        status = exec_output_commit(&device, error);
    }
    if (status == RING_OK)
        status = exec_output_commit(&topology, error);
    exec_output_discard(&device);
    exec_output_discard(&topology);
    return status;
}
