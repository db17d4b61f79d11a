/* SPDX-License-Identifier: MIT
 *
 * The order in which this machine is measured. See calibrate.h. */
#include "exec/calibrate.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "exec/calibrate_files.h"
#include "exec/calibration.h"
#include "exec/progress.h"

#define TIMEOUT_S 60.0

/* Of the time to spend; hops and costs take what they take, a few seconds. */
#define KERNELS_SHARE 0.82

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double exec_median(double *values, size_t n)
{
    if (n == 0)
        return NAN;
    qsort(values, n, sizeof *values, compare);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double exec_spread(const double *values, size_t n)
{
    return (values[n - 1] - values[0]) / values[n / 2];
}

enum ring_status exec_calibrate_settle(const struct exec_calibration *c, double *trials_s, size_t n,
                                       double *value, const char *what, struct ring_error *error)
{
    *value = exec_median(trials_s, n);
    return exec_maximum(c->comm, &c->bound, value, 1, what, error);
}

void exec_calibrate_progress(const struct exec_calibration *c, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    exec_progress_line(c->rank == 0 ? c->spec->progress : NULL, "calibrating: ", format, arguments);
    va_end(arguments);
}

static enum ring_status write_files(struct exec_calibration *c, const char *path, struct ring_error *error)
{
    enum ring_status status = RING_OK;

    if (c->rank == 0) {
        exec_calibration_grade(c);
        status = exec_calibration_write(c, path, error);
    }
    return exec_agree(c->comm, &c->bound, status, error);
}

static double load_average(void)
{
    double load;
    return getloadavg(&load, 1) == 1 ? load : -1;
}

enum ring_status exec_calibrate(const struct exec_calibrate_spec *spec, struct ring_error *error)
{
    struct exec_calibration *c = calloc(1, sizeof *c);
    char path[PATH_MAX];

    if (!c)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for a calibration");
    c->comm = spec->comm;
    c->spec = spec;
    c->begun_s = exec_clock_s();
    c->load = load_average();
    MPI_Comm_rank(spec->comm, &c->rank);
    MPI_Comm_size(spec->comm, &c->n_ranks);
    c->bound = (struct exec_bound){TIMEOUT_S, spec->stop, true, c->rank};
    enum ring_status status = exec_calibrate_meet(c->comm, &c->bound, &c->clock, error);
    if (status == RING_OK)
        status = exec_calibrate_place(spec, &c->bound, "this-machine.yaml", path, sizeof path, error);
    if (status == RING_OK)
        status = exec_calibrate_hops(c, error);
    if (status == RING_OK)
        status = exec_calibrate_costs(c, error);
    if (status == RING_OK)
        status = exec_calibrate_streams(c, error);
    if (status == RING_OK)
        status = exec_calibrate_kernels(c, KERNELS_SHARE * spec->seconds, error);
    if (status == RING_OK)
        status = write_files(c, path, error);
    free(c);
    return status;
}
