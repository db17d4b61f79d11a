/* SPDX-License-Identifier: MIT
 *
 * From trials to figures: plain statistics. Nothing runs and nothing is printed here. */
#include <math.h>
#include <stdlib.h>

#include "tools/sort.h"
#include "tools/validate.h"

static const double apart =
    0.05; /* times that differ by less are not to be ranked: the measurement is not that sure */

double tool_trial_error(const struct tool_trial *trial, bool calibrated)
{
    double predicted_s = calibrated ? trial->calibrated_s : trial->predicted_s;
    return (predicted_s - trial->measured_s) / trial->measured_s;
}

static double median_of(double *values, size_t n)
{
    tool_sort(values, n);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static void find_errors(const struct tool_trial *trials, size_t n, bool calibrated, double *room,
                        struct tool_accuracy *accuracy)
{
    for (size_t i = 0; i < n; i++) {
        double error = tool_trial_error(&trials[i], calibrated);
        accuracy->bias += error / (double)n;
        room[i] = fabs(error);
        if (room[i] > accuracy->worst) {
            accuracy->worst = room[i];
            accuracy->worst_at = i;
        }
    }
    accuracy->median = median_of(room, n);
    accuracy->p95 = room[(95 * n + 99) / 100 - 1]; /* sorted by now */
}

static void find_parts(const struct tool_trial *trials, size_t n, double *room,
                       struct tool_accuracy *accuracy)
{
    for (enum tool_part part = 0; part < TOOL_N_PARTS; part++) {
        for (size_t i = 0; i < n; i++) {
            double share = trials[i].parts_s[part] / trials[i].measured_s;
            accuracy->part_bias[part] += share / (double)n;
            room[i] = fabs(share);
        }
        accuracy->part_median[part] = median_of(room, n);
    }
}

/* Does the prediction choose between two scenarios as the measurement does? A prediction that sees no
 * difference does not. */
static void find_order(const struct tool_trial *trials, size_t n, bool calibrated,
                       struct tool_accuracy *accuracy)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            double a = trials[i].measured_s, b = trials[j].measured_s;
            if (!(fabs(a - b) > apart * fmin(a, b)))
                continue;
            double p = calibrated ? trials[i].calibrated_s : trials[i].predicted_s,
                   q = calibrated ? trials[j].calibrated_s : trials[j].predicted_s;
            accuracy->n_pairs++;
            accuracy->n_right += (p < q && a < b) || (p > q && a > b);
        }
}

enum ring_status tool_accuracy_find(const struct tool_trial *trials, size_t n, bool calibrated,
                                    struct tool_accuracy *accuracy, struct ring_error *error)
{
    *accuracy = (struct tool_accuracy){.n = n};
    if (n == 0)
        return RING_OK;
    double *room = malloc(n * sizeof *room);
    if (room == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %zu errors", n);
    find_errors(trials, n, calibrated, room, accuracy);
    find_parts(trials, n, room, accuracy);
    find_order(trials, n, calibrated, accuracy);
    free(room);
    return RING_OK;
}

enum ring_status tool_accuracy_find_both(const struct tool_trial *trials, size_t n,
                                         struct tool_accuracy *as_is, struct tool_accuracy *calibrated,
                                         struct ring_error *error)
{
    enum ring_status status = tool_accuracy_find(trials, n, false, as_is, error);

    return status == RING_OK ? tool_accuracy_find(trials, n, true, calibrated, error) : status;
}
