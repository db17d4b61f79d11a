/* SPDX-License-Identifier: MIT
 *
 * The file that `ringlab-rank verify` leaves (docs/FORMATS.md), read. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/verify_report.h"

static bool read_row(const char *line, struct verify_report *report)
{
    return sscanf(line, "%" SCNu32 " %" SCNu64 " %" SCNu64 " %lf %lf %lf %lf %lf %lf %" SCNu64 " %" SCNx64,
                  &report->rank, &report->rows_checked, &report->rows_total, &report->out_error2,
                  &report->out_norm2, &report->out_worst, &report->out_bound, &report->lse_worst,
                  &report->lse_bound, &report->n_bad, &report->checksum) == 11;
}

static bool read_gradients(const char *line, struct verify_gradient_report *report)
{
    struct verify_frobenius *const tensors[] = {&report->d_q, &report->d_k, &report->d_v};
    int n = 0;
    if (sscanf(line, "%" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "%n", &report->rank,
               &report->rows_checked, &report->rows_total, &report->keys_checked, &report->keys_total,
               &n) != 5)
        return false;
    line += n;
    for (int i = 0; i < 3; i++, line += n)
        if (sscanf(line, "%lf %lf %lf %lf%n", &tensors[i]->error2, &tensors[i]->norm2, &tensors[i]->gross2,
                   &tensors[i]->bound, &n) != 4)
            return false;
    return sscanf(line, "%" SCNu64 " %" SCNx64, &report->n_bad, &report->checksum) == 2;
}

/* Keys up to the line "rows". False if it is another kind of file. */
static bool read_keys(FILE *file, struct tool_verified *verified)
{
    char *line = NULL, word[64];
    size_t size = 0;
    bool good = getline(&line, &size, file) > 0 && strcmp(line, "ringlab-verify 1\n") == 0, more = good;
    while (more && (more = getline(&line, &size, file) > 0) && strcmp(line, "rows\n") != 0) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "kernel ", 7) == 0)
            snprintf(verified->kernel, sizeof verified->kernel, "%.63s", line + 7);
        else if (strncmp(line, "transport ", 10) == 0)
            snprintf(verified->detail, sizeof verified->detail, "%.255s", line + 10);
        else if (strncmp(line, "repeats ", 8) == 0)
            verified->n_repeats = (uint32_t)strtoul(line + 8, NULL, 10);
        else if (sscanf(line, "state %63s", word) == 1)
            for (int i = 0; i < RING_N_DTYPES; i++)
                if (strcmp(word, ring_dtype_names[i]) == 0)
                    verified->state = (enum ring_dtype)i;
    }
    good = more && getline(&line, &size, file) > 0; /* the names of the columns */
    free(line);
    return good;
}

/* The rows of gradients, behind a line that says so and the names of their columns. Good too if the file ends
 * before: then there was no backward pass. */
static bool read_backward(FILE *file, uint32_t n_ranks, struct tool_verified *verified)
{
    char line[1024];
    if (fgets(line, sizeof line, file) == NULL)
        return true;
    verified->gradients = calloc(n_ranks, sizeof *verified->gradients);
    bool good = verified->gradients != NULL && strcmp(line, "gradients\n") == 0 &&
                fgets(line, sizeof line, file) != NULL;
    for (uint32_t i = 0; good && i < n_ranks; i++)
        good = fgets(line, sizeof line, file) != NULL && read_gradients(line, &verified->gradients[i]) &&
               verified->gradients[i].rank == i;
    return good;
}

enum ring_status tool_verify_read(const char *path, uint32_t n_ranks, struct tool_verified *verified,
                                  struct ring_error *error)
{
    char line[1024];
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return ring_fail(error, RING_WORLD, "the ranks left no result (%s: %s)", path, strerror(errno));
    *verified = (struct tool_verified){
        .world = "mpi", .n_ranks = n_ranks, .reports = calloc(n_ranks, sizeof *verified->reports)};
    bool good = verified->reports != NULL && read_keys(file, verified);
    for (uint32_t i = 0; good && i < n_ranks; i++)
        good = fgets(line, sizeof line, file) != NULL && read_row(line, &verified->reports[i]) &&
               verified->reports[i].rank == i;
    good = good && read_backward(file, n_ranks, verified);
    fclose(file);
    return good ? RING_OK
                : ring_fail(error, RING_WORLD,
                            "%s: not what ringlab-rank of this version leaves for %" PRIu32 " ranks", path,
                            n_ranks);
}
