/* SPDX-License-Identifier: MIT
 *
 * A result as a JSON document: writing. The keys are in docs/FORMATS.md. Rows (ranks, steps, links) are
 * written one a line, as they are made, so that a document of a million steps needs no memory and can be read
 * by eye. The scenario inside is a scenario as people write it, units and all. */
#include "tools/result.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "tools/file.h"
#include "tools/memory.h"
#include "tools/passes.h"
#include "tools/result_json.h"

json_t *tool_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

enum ring_status tool_json_done(bool good, FILE *stream, const char *what, struct ring_error *error)
{
    if (good || ferror(stream))
        return RING_OK;
    return ring_fail(error, RING_NO_MEMORY, "out of memory for the %s as JSON", what);
}

const char *tool_json_keep(struct tool_result *result, const json_t *value)
{
    char *text = value == NULL ? NULL : json_dumps(value, JSON_COMPACT);
    const char *kept = text == NULL ? NULL : tool_result_keep(result, "%s", text);
    free(text);
    return kept;
}

static json_t *text_or_null(const char *text)
{
    json_t *value = text == NULL ? NULL : json_string(text);
    return value == NULL ? json_null() : value; /* a name that is not UTF-8 is lost, the document is not */
}

/* A time with its unit, in the fewest digits that give the same double again. */
static json_t *seconds_text(double seconds)
{
    char text[64];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g s", digits, seconds);
        if (strtod(text, NULL) == seconds)
            break;
    }
    return json_string(text);
}

static json_t *problem_json(const struct ring_problem *problem)
{
    return json_pack("{sI sI sI sI sI ss ss}", "tokens", (json_int_t)problem->tokens, "batch",
                     (json_int_t)problem->batch, "heads", (json_int_t)problem->heads, "kv_heads",
                     (json_int_t)problem->kv_heads, "head_dim", (json_int_t)problem->head_dim, "dtype",
                     ring_dtype_names[problem->dtype], "mask", ring_mask_names[problem->mask]);
}

static json_t *placement_json(const struct tool_result *result)
{
    json_t *names;
    if (result->question.natural)
        return json_string("natural");
    names = json_array();
    for (uint32_t rank = 0; rank < result->n_ranks; rank++)
        json_array_append_new(names, text_or_null(result->ranks[rank].device));
    return names;
}

static json_t *compute_json(const struct model_compute *compute)
{
    if (!(compute->block_s > 0))
        return json_string("model");
    return json_pack("{so ss}", "block", seconds_text(compute->block_s), "core",
                     compute->core_free ? "free" : "busy");
}

static json_t *scenario_json(const struct tool_result *result)
{
    const struct tool_question *question = &result->question;
    const struct ring_plan_spec *plan = &question->plan;
    json_t *ring = json_pack("{sI ss ss ss sb ss sI so}", "devices", (json_int_t)plan->n_ranks, "layout",
                             ring_layout_names[plan->layout], "pass", ring_pass_names[plan->pass],
                             "gradients", ring_dtype_names[plan->gradient_dtype], "keep_kv", plan->keep_kv,
                             "strategy", plan->strategy, "buffers", (json_int_t)plan->n_buffers, "placement",
                             placement_json(result));
    json_t *measure =
        json_pack("{sI sI so so}", "repeats", (json_int_t)question->measure.repeats, "warmups",
                  (json_int_t)question->measure.warmups, "timeout", seconds_text(question->measure.timeout_s),
                  "kernel", text_or_null(question->measure.kernel));
    json_t *scenario = json_pack(
        "{so so so so so ss sI s{so sI} so}", "name", text_or_null(question->name), "problem",
        problem_json(&plan->problem), "ring", ring, "cluster", text_or_null(question->cluster), "compute",
        compute_json(&question->compute), "progress", model_progress_names[question->progress], "threads",
        (json_int_t)question->compute.threads, "data", "kind", text_or_null(question->data.kind), "seed",
        (json_int_t)question->data.seed, "measure", measure);
    if (question->faults != NULL) {
        json_object_set_new(scenario, "faults", json_loads(question->faults, 0, NULL));
        json_object_set_new(scenario, "fault_seed", json_integer((json_int_t)question->fault_seed));
    }
    return scenario;
}

static json_t *repeats_json(const struct tool_result *result)
{
    struct tool_spread spread = tool_result_spread(result);
    json_t *all = json_array();
    for (size_t i = 0; i < result->n_repeats; i++)
        json_array_append_new(all, tool_json_number(result->repeats_s[i]));
    return json_pack("{sf sf sf so}", "min", spread.min_s, "median", spread.median_s, "max", spread.max_s,
                     "all", all);
}

static json_t *totals_json(const struct tool_result *result)
{
    double sent = 0;
    for (uint32_t rank = 0; rank < result->n_ranks; rank++)
        sent += (double)result->ranks[rank].bytes_sent;
    return json_pack(
        "{so so so so so so}", "tokens_per_s", tool_json_number(tool_result_tokens_per_s(result)), "flops",
        tool_json_number(result->flops), "bytes_sent", tool_json_number(sent), "moving_s",
        tool_json_number(result->moving_s), "exposed_s", tool_json_number(tool_result_exposed_s(result)),
        "overlap", tool_json_number(tool_result_overlap(result)));
}

static json_t *rank_json(const struct tool_result *result, size_t index)
{
    const struct tool_rank *rank = &result->ranks[index];
    return json_pack("{sI so so so so so so sI sI sI sI sI so}", "rank", (json_int_t)index, "device",
                     text_or_null(rank->device), "compute_s", tool_json_number(rank->compute_s), "transfer_s",
                     tool_json_number(rank->transfer_s), "wait_s", tool_json_number(rank->wait_s),
                     "overhead_s", tool_json_number(rank->overhead_s), "end_s", tool_json_number(rank->end_s),
                     "bytes_sent", (json_int_t)rank->bytes_sent, "visible_pairs",
                     (json_int_t)rank->visible_pairs, "memory_bytes", (json_int_t)rank->memory_bytes,
                     "device_memory_bytes", (json_int_t)rank->device_memory_bytes, "run_bytes",
                     (json_int_t)rank->run_bytes, "resident_bytes",
                     rank->resident_bytes > 0 ? json_integer((json_int_t)rank->resident_bytes) : json_null());
}

static json_t *pass_json(const struct tool_result *result, size_t index)
{
    const struct tool_pass *pass = &result->passes[index];
    return json_pack("{ss sI sI so so so so so}", "pass", ring_pass_names[pass->pass], "first_step",
                     (json_int_t)pass->first_step, "n_steps", (json_int_t)pass->n_steps, "time_s",
                     tool_json_number(pass->time_s), "compute_s", tool_json_number(pass->compute_s),
                     "exposed_s", tool_json_number(pass->exposed_s), "bytes_sent",
                     tool_json_number(pass->bytes_sent), "crossover_bytes_per_s",
                     tool_json_number(pass->crossover_bytes_per_s));
}

static json_t *step_json(const struct tool_result *result, size_t index)
{
    const struct ring_parts *parts = &result->steps[index];
    return json_pack("{sI sI so so so so so so}", "rank", (json_int_t)(index / result->n_steps), "step",
                     (json_int_t)(index % result->n_steps), "begin_s", tool_json_number(parts->begin_s),
                     "end_s", tool_json_number(parts->end_s), "compute_s", tool_json_number(parts->compute_s),
                     "transfer_s", tool_json_number(parts->transfer_s), "wait_s",
                     tool_json_number(parts->wait_s), "overhead_s", tool_json_number(parts->overhead_s));
}

static json_t *link_json(const struct tool_result *result, size_t index)
{
    const struct tool_link *link = &result->links[index];
    return json_pack("{so so so so}", "name", text_or_null(link->name), "bytes",
                     tool_json_number(link->bytes), "busy_s", tool_json_number(link->busy_s), "bytes_per_s",
                     tool_json_number(link->bytes_per_s));
}

static json_t *note_json(const struct tool_result *result, size_t index)
{
    return text_or_null(result->notes[index]);
}

/* Writes one value, which it takes over, without a newline. */
static bool write_value(json_t *value, FILE *stream)
{
    bool good = value != NULL && json_dumpf(value, stream, JSON_COMPACT | JSON_ENCODE_ANY) == 0;
    json_decref(value);
    return good;
}

static bool write_member(const char *key, json_t *value, FILE *stream)
{
    fprintf(stream, " \"%s\": ", key);
    bool good = write_value(value, stream);
    fputs(",\n", stream);
    return good;
}

typedef json_t *make_row(const struct tool_result *result, size_t index);

static bool write_rows(const char *key, size_t n, make_row *make, const struct tool_result *result,
                       FILE *stream, bool last)
{
    bool good = true;
    fprintf(stream, " \"%s\": [", key);
    for (size_t i = 0; i < n && good; i++) {
        fputs(i == 0 ? "\n  " : ",\n  ", stream);
        good = write_value(make(result, i), stream);
    }
    fputs(last ? "]\n" : "],\n", stream);
    return good;
}

enum ring_status tool_result_write(const struct tool_result *result, bool with_steps, FILE *stream,
                                   struct ring_error *error)
{
    const struct tool_verdict *verdict = &result->verdict;
    size_t n_steps = with_steps && result->steps != NULL ? (size_t)result->n_ranks * result->n_steps : 0;
    bool good = true;
    fputs("{\n", stream);
    good &= write_member("schema", json_string(TOOL_RESULT_SCHEMA), stream);
    good &= write_member("ringlab", json_string(RINGLAB_VERSION), stream);
    good &= write_member("world", text_or_null(result->world), stream);
    good &= write_member("world_detail", text_or_null(result->world_detail), stream);
    good &= write_member("kernel", text_or_null(result->kernel), stream);
    good &= write_member("file", text_or_null(result->question.path), stream);
    good &= write_member("scenario", scenario_json(result), stream);
    good &= write_member("time_s", tool_json_number(result->time_s), stream);
    if (result->n_repeats > 0)
        good &= write_member("repeats", repeats_json(result), stream);
    if (result->drift > 0)
        good &= write_member("drift", tool_json_number(result->drift), stream);
    if (result->slowdown > 0)
        good &= write_member("slowdown", tool_json_number(result->slowdown), stream);
    good &= write_member("n_steps", json_integer(result->n_steps), stream);
    good &= write_member("bound",
                         json_pack("{so so so}", "compute_s", tool_json_number(result->bound.compute_s),
                                   "network_s", tool_json_number(result->bound.network_s), "time_s",
                                   tool_json_number(result->bound.time_s)),
                         stream);
    good &= write_member("totals", totals_json(result), stream);
    good &= write_member("verdict",
                         json_pack("{ss so so}", "limit", tool_limit_names[verdict->limit], "culprit",
                                   text_or_null(verdict->culprit), "text", text_or_null(verdict->text)),
                         stream);
    if (result->blame.culprits != NULL)
        good &= write_member("blame", tool_blame_json(result), stream);
    else if (result->blame_text != NULL)
        good &= write_member("blame", json_loads(result->blame_text, 0, NULL), stream);
    if (result->seeds.n > 0)
        good &= write_member("seeds", tool_seeds_json(&result->seeds), stream);
    else if (result->seeds_text != NULL)
        good &= write_member("seeds", json_loads(result->seeds_text, 0, NULL), stream);
    good &= write_rows("passes", result->n_passes, pass_json, result, stream, false);
    if (result->n_passes == 2)
        good &= write_member("backward_over_forward", tool_json_number(tool_passes_ratio(result)), stream);
    good &= write_member("memory", tool_memory_json(&result->fit), stream);
    good &= write_rows("notes", result->n_notes, note_json, result, stream, false);
    good &= write_rows("ranks", result->n_ranks, rank_json, result, stream, false);
    if (n_steps > 0)
        good &= write_rows("steps", n_steps, step_json, result, stream, false);
    good &= write_rows("links", result->n_links, link_json, result, stream, true);
    fputs("}\n", stream);
    return tool_json_done(good, stream, "result", error);
}

enum ring_status tool_result_save(const struct tool_result *result, bool with_steps, const char *path,
                                  struct ring_error *error)
{
    struct tool_file file;
    enum ring_status status = tool_file_open(&file, path, error);
    if (status != RING_OK)
        return status;
    status = tool_result_write(result, with_steps, file.stream, error);
    if (status != RING_OK) {
        tool_file_discard(&file);
        return status;
    }
    return tool_file_commit(&file, error);
}
