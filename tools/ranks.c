/* SPDX-License-Identifier: MIT
 *
 * See ranks.h. */
#include "tools/ranks.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tools/launch.h"
#include "tools/memory.h"
#include "tools/units.h"

enum { ALWAYS_ROOM_S = 120 };  /* for MPI's start, data and the reference of verify */
enum { MOST_RANKS = 1 << 16 }; /* that are tried to find a number on which a problem fits */

/* Open MPI keeps a few MB of shared memory there, and hangs or complains in its own words without. */
static const double least_room_bytes = 8e6;

static enum ring_status make_place(char *out, size_t size, struct ring_error *error)
{
    const char *folder = getenv("TMPDIR");
    if (folder == NULL || folder[0] == '\0')
        folder = "/tmp";
    int length = snprintf(out, size, "%s/ringlab-XXXXXX", folder);
    if (length < 0 || (size_t)length + sizeof "/result" > size)
        return ring_fail(error, RING_IO, "%s: the path is too long", folder);
    struct statvfs room;
    double free_bytes = statvfs(folder, &room) == 0 && room.f_blocks > 0
                            ? (double)room.f_bavail * (double)room.f_frsize
                            : NAN;
    if (free_bytes < least_room_bytes)
        return ring_fail(error, RING_IO, "%s: only %s free, and MPI wants %s there (TMPDIR says where else)",
                         folder, tool_figure(TOOL_BYTES, free_bytes).text,
                         tool_figure(TOOL_BYTES, least_room_bytes).text);
    if (mkdtemp(out) == NULL)
        return ring_fail(error, RING_IO, "%s: %s (TMPDIR says where else)", out, strerror(errno));
    strcat(out, "/result");
    return RING_OK;
}

void tool_ranks_forget(char *out)
{
    char *slash = strrchr(out, '/');
    if (slash == NULL)
        return;
    unlink(out);
    *slash = '\0';
    rmdir(out);
    out[0] = '\0';
}

/* The words after the program's name; ended by NULL. The caller frees the list. */
static const char **make_arguments(const struct tool_ranks *ranks, const struct tool_options *options,
                                   const char *out)
{
    size_t n = 0, n_extra = 0;
    while (ranks->extra != NULL && ranks->extra[n_extra] != NULL)
        n_extra++;
    const char **list = calloc(n_extra + 2 * options->n_sets + 12, sizeof *list);
    if (list == NULL)
        return NULL;
    list[n++] = ranks->task;
    if (ranks->scenario != NULL) {
        list[n++] = ranks->scenario;
        for (size_t i = 0; i < options->n_sets; i++) {
            list[n++] = "--set";
            list[n++] = options->sets[i];
        }
        if (options->device != NULL) {
            list[n++] = "--device";
            list[n++] = options->device;
        }
        if (options->move != NULL) {
            list[n++] = "--move";
            list[n++] = options->move;
        }
        list[n++] = "--out";
        list[n++] = out;
    }
    for (size_t i = 0; i < n_extra; i++)
        list[n++] = ranks->extra[i];
    if (isatty(STDERR_FILENO))
        list[n++] = "--progress";
    return list;
}

static enum ring_status launch(const struct tool_launch_spec *spec, bool quiet, struct ring_error *error)
{
    static struct tool_launch_outcome outcome; /* large */
    static char command[sizeof outcome.command];
    enum ring_status status = tool_launch_command(spec, command, sizeof command, error);
    if (status != RING_OK)
        return status;
    fflush(stdout);
    if (!quiet)
        fprintf(stderr, "%s\n", command);
    return tool_launch(spec, &outcome, error);
}

enum ring_status tool_ranks_run(const struct tool_ranks *ranks, const struct tool_options *options, char *out,
                                size_t size, struct ring_error *error)
{
    enum ring_status status = make_place(out, size, error);
    if (status != RING_OK) {
        out[0] = '\0';
        return status;
    }
    const char **arguments = make_arguments(ranks, options, out);
    struct tool_launch_spec spec = {
        .n_ranks = ranks->n_ranks,
        .arguments = arguments,
        .mpirun = options->mpirun,
        .mpi_args = options->mpi_args,
        .timeout_s = ranks->timeout_s,
        .progress_fd = isatty(STDERR_FILENO) && !options->quiet ? STDERR_FILENO : 0,
    };
    status = arguments == NULL ? ring_fail(error, RING_NO_MEMORY, "out of memory")
                               : launch(&spec, options->quiet, error);
    free(arguments);
    if (status != RING_OK)
        tool_ranks_forget(out);
    return status;
}

/* What the kernel says can be had without swapping; 0 if it does not say. */
static double available_bytes(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    double kib = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %lf kB", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return 1024 * kib;
}

enum ring_status tool_ranks_fit(const struct tool_setup *setup, const struct tool_options *options,
                                struct ring_error *error)
{
    double needed = 0, available = available_bytes();
    if (options->mpi_args != NULL || tool_ranks_device(options))
        return RING_OK;
    for (uint32_t rank = 0; rank < setup->plan.n_ranks; rank++)
        needed += (double)model_ring_memory(&setup->plan, rank).total_bytes;
    if (available <= 0 || needed <= available)
        return RING_OK;
    const struct ring_plan_spec *plan = &setup->scenario->plan;
    uint64_t share = (uint64_t)available / plan->n_ranks;
    struct model_fit fit = {.largest_tokens = model_largest_tokens(plan, share, 0),
                            .smallest_ranks = model_smallest_ranks(plan, share, 0, MOST_RANKS)};
    char advice[256];
    tool_memory_advice(&fit, plan, advice, sizeof advice);
    return ring_fail(
        error, RING_BAD_INPUT,
        "%s: %u ranks need %s together and this machine has %s free (with such a share each, %s; "
        "predict needs none of it; --mpi-args sends ranks to other machines)",
        setup->path, setup->plan.n_ranks, tool_figure(TOOL_BYTES, needed).text,
        tool_figure(TOOL_BYTES, available).text, advice);
}

bool tool_ranks_device(const struct tool_options *options)
{
    return options->device != NULL && strcmp(options->device, "cpu") != 0;
}

uint32_t tool_ranks_processors(void)
{
    cpu_set_t set;
    int n =
        sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

void tool_ranks_processor_name(char *out, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256];
    snprintf(out, size, "unknown processor");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(out, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
        break;
    }
    if (file != NULL)
        fclose(file);
    for (char *at = out; *at != '\0'; at++)
        if (*at == '"' || *at == '\\' || *at == ':' || *at == '#' || (unsigned char)*at < 0x20)
            *at = ' ';
}

double tool_ranks_timeout(const struct tool_setup *setup)
{
    const struct config_measure *measure = &setup->scenario->measure;
    return measure->timeout_s * (measure->repeats + measure->warmups + 1) + ALWAYS_ROOM_S;
}
