/* SPDX-License-Identifier: MIT
 *
 * A comparison as JSON: the errors first, then both results as they are. */
#include <math.h>
#include <string.h>

#include "tools/compare.h"
#include "tools/result_json.h"

static json_t *pair_json(struct tool_pair pair, double step_s)
{
    double difference_s = pair.predicted_s - pair.measured_s;
    return json_pack("{so so so so so}", "predicted_s", tool_json_number(pair.predicted_s), "measured_s",
                     tool_json_number(pair.measured_s), "difference_s", tool_json_number(difference_s),
                     "error", tool_json_number(tool_pair_error(pair)), "of_step",
                     tool_json_number(difference_s / step_s));
}

/* time and the four parts of one step, or of all. */
static json_t *compared_json(const struct tool_compared_step *step, double step_s)
{
    json_t *object = json_object();
    json_object_set_new(object, "time", pair_json(step->time, step_s));
    for (enum tool_part part = 0; part < TOOL_N_PARTS; part++)
        json_object_set_new(object, tool_part_names[part], pair_json(step->parts[part], step_s));
    return object;
}

static bool write_value(const char *key, json_t *value, FILE *file)
{
    fprintf(file, "\"%s\": ", key);
    bool good = value != NULL && json_dumpf(value, file, JSON_COMPACT | JSON_ENCODE_ANY) == 0;
    json_decref(value);
    fputs(",\n", file);
    return good;
}

enum ring_status tool_compare_write(const struct tool_result *predicted, const struct tool_result *measured,
                                    const struct tool_comparison *comparison, bool with_steps, FILE *file,
                                    struct ring_error *error)
{
    double step_s = comparison->all.time.measured_s;
    char sentence[512];
    json_t *steps = json_array();
    bool good = true;
    tool_compare_sentence(predicted, measured, comparison, sentence, sizeof sentence);
    for (uint32_t i = 0; i < comparison->n_steps; i++)
        json_array_append_new(steps, compared_json(&comparison->steps[i], step_s));
    fputs("{", file);
    good &= write_value("schema", json_string(TOOL_COMPARE_SCHEMA), file);
    good &= write_value("ringlab", json_string(RINGLAB_VERSION), file);
    good &= write_value("error", tool_json_number(tool_pair_error(comparison->all.time)), file);
    if (measured->drift > 0) {
        struct tool_pair scaled = {tool_compare_scaled(predicted, measured), step_s};
        good &= write_value("error_without_drift", tool_json_number(tool_pair_error(scaled)), file);
    }
    good &= write_value("text", json_string(sentence), file);
    good &= write_value(
        "different", comparison->different != NULL ? json_string(comparison->different) : json_null(), file);
    good &= write_value("worst_part", json_string(tool_part_names[comparison->worst]), file);
    json_t *passes = json_object();
    for (uint32_t i = 0; i < comparison->n_passes; i++)
        json_object_set_new(passes, ring_pass_names[comparison->pass_names[i]],
                            pair_json(comparison->passes[i], step_s));
    good &= write_value("passes", passes, file);
    good &= write_value("mean_rank", compared_json(&comparison->all, step_s), file);
    good &= write_value("mean_rank_steps", steps, file);
    if (!good)
        return tool_json_done(good, file, "comparison", error);
    fputs("\"predicted\": ", file);
    enum ring_status status = tool_result_write(predicted, with_steps, file, error);
    fputs(",\"measured\": ", file);
    if (status == RING_OK)
        status = tool_result_write(measured, with_steps, file, error);
    fputs("}\n", file);
    return status;
}
