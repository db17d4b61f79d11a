/* SPDX-License-Identifier: MIT
 *
 * What `ringlab validate --json` prints: the page's figures as one document. */
#include "tools/result_json.h"
#include "tools/validate.h"

static json_t *parts_json(const double *values)
{
    json_t *object = json_object();
    for (enum tool_part part = 0; part < TOOL_N_PARTS; part++)
        json_object_set_new(object, tool_part_names[part], tool_json_number(values[part]));
    return object;
}

static json_t *figures_json(const struct tool_accuracy *accuracy)
{
    return json_pack("{so so so so sI sI so so}", "median", tool_json_number(accuracy->median), "p95",
                     tool_json_number(accuracy->p95), "worst", tool_json_number(accuracy->worst), "bias",
                     tool_json_number(accuracy->bias), "pairs", (json_int_t)accuracy->n_pairs, "pairs_right",
                     (json_int_t)accuracy->n_right, "part_bias", parts_json(accuracy->part_bias),
                     "part_median", parts_json(accuracy->part_median));
}

/* A figure that is 0 where it is unknown. */
static json_t *known(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

static json_t *trial_json(const struct tool_trial *trial)
{
    json_t *row =
        json_pack("{ss so so so}", "scenario", trial->label, "predicted_s",
                  tool_json_number(trial->predicted_s), "measured_s", tool_json_number(trial->measured_s),
                  "error", tool_json_number(tool_trial_error(trial, false)));
    json_object_set_new(row, "error_as_calibrated", tool_json_number(tool_trial_error(trial, true)));
    json_object_set_new(row, "lowest_s", tool_json_number(trial->lowest_s));
    json_object_set_new(row, "highest_s", tool_json_number(trial->highest_s));
    json_object_set_new(row, "slowdown", tool_json_number(trial->slowdown));
    json_object_set_new(row, "core_share", known(trial->core_share));
    json_object_set_new(row, "difference_s", parts_json(trial->parts_s));
    return row;
}

static json_t *circumstances_json(const struct tool_circumstances *c)
{
    return json_pack("{ss ss sI ss ss ss sI so sI}", "date", c->date, "processor", c->processor, "processors",
                     (json_int_t)c->n_processors, "load", c->load, "protection",
                     c->real_time ? "real-time ranks" : "none", "predicted_from", c->calibrated, "rounds",
                     (json_int_t)c->n_rounds, "seconds", tool_json_number(c->seconds), "failed",
                     (json_int_t)c->n_failed);
}

enum ring_status tool_validate_write(const struct tool_trial *trials, size_t n,
                                     const struct tool_circumstances *circumstances, FILE *file,
                                     struct ring_error *error)
{
    struct tool_accuracy as_is, calibrated;
    enum ring_status status = tool_accuracy_find_both(trials, n, &as_is, &calibrated, error);
    if (status != RING_OK)
        return status;
    json_t *rows = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(rows, trial_json(&trials[i]));
    json_t *root =
        json_pack("{ss ss so so so so}", "schema", TOOL_VALIDATE_SCHEMA, "ringlab", RINGLAB_VERSION,
                  "circumstances", circumstances_json(circumstances), "accuracy", figures_json(&as_is),
                  "accuracy_as_calibrated", figures_json(&calibrated), "trials", rows);
    if (root == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for the document");
    bool good = json_dumpf(root, file, JSON_INDENT(1)) == 0 && fputc('\n', file) != EOF;
    json_decref(root);
    return good ? RING_OK : ring_fail(error, RING_IO, "the document could not be written");
}
