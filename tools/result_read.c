/* SPDX-License-Identifier: MIT
 *
 * A result as a JSON document: reading. Everything is checked before it is believed, and the first thing that
 * is wrong is named with its place in the document; a file of someone else is refused in one line. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/memory.h"
#include "tools/reader.h"
#include "tools/result.h"
#include "tools/result_json.h"

enum { MAX_RANKS = 1 << 20, MAX_STEPS = 1 << 20 };

static void read_problem(struct tool_reader *reader, const json_t *object, struct ring_problem *problem)
{
    problem->tokens = tool_reader_count(reader, object, "tokens", INT64_MAX);
    problem->batch = (uint32_t)tool_reader_count(reader, object, "batch", UINT32_MAX);
    problem->heads = (uint32_t)tool_reader_count(reader, object, "heads", UINT32_MAX);
    problem->kv_heads = (uint32_t)tool_reader_count(reader, object, "kv_heads", UINT32_MAX);
    problem->head_dim = (uint32_t)tool_reader_count(reader, object, "head_dim", UINT32_MAX);
    problem->dtype =
        (enum ring_dtype)tool_reader_word(reader, object, "dtype", ring_dtype_names, RING_N_DTYPES);
    problem->mask = (enum ring_mask)tool_reader_word(reader, object, "mask", ring_mask_names, RING_N_MASKS);
}

static void read_ring(struct tool_reader *reader, const json_t *ring)
{
    struct tool_question *question = &reader->result->question;
    struct ring_plan_spec *plan = &question->plan;
    plan->n_ranks = (uint32_t)tool_reader_count(reader, ring, "devices", MAX_RANKS);
    plan->layout =
        (enum ring_layout_kind)tool_reader_word(reader, ring, "layout", ring_layout_names, RING_N_LAYOUTS);
    plan->pass = (enum ring_pass)tool_reader_word(reader, ring, "pass", ring_pass_names, RING_N_PASSES);
    plan->gradient_dtype =
        (enum ring_dtype)tool_reader_word(reader, ring, "gradients", ring_dtype_names, RING_N_DTYPES);
    plan->keep_kv = json_is_true(tool_reader_member(reader, ring, "keep_kv", true));
    plan->strategy = tool_reader_text(reader, ring, "strategy", true);
    plan->n_buffers = (uint32_t)tool_reader_count(reader, ring, "buffers", UINT32_MAX);
    question->natural = json_is_string(tool_reader_member(reader, ring, "placement", true));
}

static void read_scenario(struct tool_reader *reader, const json_t *scenario)
{
    struct tool_question *question = &reader->result->question;
    const json_t *compute = tool_reader_member(reader, scenario, "compute", true);
    const json_t *data = tool_reader_member(reader, scenario, "data", true);
    const json_t *measure = tool_reader_member(reader, scenario, "measure", true);
    question->name = tool_reader_text(reader, scenario, "name", true);
    question->cluster = tool_reader_text(reader, scenario, "cluster", true);
    read_problem(reader, tool_reader_member(reader, scenario, "problem", true), &question->plan.problem);
    read_ring(reader, tool_reader_member(reader, scenario, "ring", true));
    if (json_is_object(compute)) {
        const char *core = json_string_value(tool_reader_member(reader, compute, "core", true));
        question->compute.block_s = tool_reader_seconds(reader, compute, "block");
        question->compute.core_free = core != NULL && strcmp(core, "free") == 0;
    }
    question->progress = (enum model_progress)tool_reader_word(reader, scenario, "progress",
                                                               model_progress_names, MODEL_N_PROGRESS);
    question->compute.threads = 1; /* of results from before there was a choice */
    if (tool_reader_member(reader, scenario, "threads", false) != NULL)
        question->compute.threads = (uint32_t)tool_reader_count(reader, scenario, "threads", UINT32_MAX);
    question->data.kind = tool_reader_text(reader, data, "kind", true);
    question->data.seed = tool_reader_count(reader, data, "seed", UINT64_MAX);
    question->measure.repeats = (uint32_t)tool_reader_count(reader, measure, "repeats", UINT32_MAX);
    question->measure.warmups = (uint32_t)tool_reader_count(reader, measure, "warmups", UINT32_MAX);
    question->measure.timeout_s = tool_reader_seconds(reader, measure, "timeout");
    question->measure.kernel = tool_reader_text(reader, measure, "kernel", false);
    const json_t *faults = tool_reader_member(reader, scenario, "faults", false);
    if (json_is_array(faults)) {
        question->faults = tool_json_keep(reader->result, faults);
        question->fault_seed = tool_reader_count(reader, scenario, "fault_seed", UINT64_MAX);
    }
}

static void read_rank(struct tool_reader *reader, const json_t *row, struct tool_rank *rank)
{
    rank->device = tool_reader_text(reader, row, "device", true);
    rank->compute_s = tool_reader_amount(reader, row, "compute_s");
    rank->transfer_s = tool_reader_amount(reader, row, "transfer_s");
    rank->wait_s = tool_reader_amount(reader, row, "wait_s");
    rank->overhead_s = tool_reader_amount(reader, row, "overhead_s");
    rank->end_s = tool_reader_amount(reader, row, "end_s");
    rank->bytes_sent = tool_reader_count(reader, row, "bytes_sent", INT64_MAX);
    rank->visible_pairs = tool_reader_count(reader, row, "visible_pairs", INT64_MAX);
    rank->memory_bytes = tool_reader_count(reader, row, "memory_bytes", INT64_MAX);
    rank->device_memory_bytes = tool_reader_count(reader, row, "device_memory_bytes", INT64_MAX);
    rank->run_bytes = tool_reader_count(reader, row, "run_bytes", INT64_MAX);
    if (!json_is_null(tool_reader_member(reader, row, "resident_bytes", true)))
        rank->resident_bytes = tool_reader_count(reader, row, "resident_bytes", INT64_MAX);
}

static void read_ranks(struct tool_reader *reader, const json_t *root)
{
    struct tool_result *result = reader->result;
    const json_t *rows = tool_reader_member(reader, root, "ranks", true);
    size_t n = json_array_size(rows);
    uint64_t n_steps = tool_reader_count(reader, root, "n_steps", MAX_STEPS);
    if (reader->status == RING_OK && (n == 0 || n > MAX_RANKS || n != result->question.plan.n_ranks))
        tool_reader_complain(reader, "\"ranks\" has %zu rows where the scenario has %u devices", n,
                             result->question.plan.n_ranks);
    if (reader->status != RING_OK)
        return;
    reader->status = tool_result_allocate(result, (uint32_t)n, (uint32_t)n_steps, false, reader->error);
    for (size_t i = 0; i < n && reader->status == RING_OK; i++) {
        const json_t *row = json_array_get(rows, i);
        if (tool_reader_count(reader, row, "rank", MAX_RANKS) != i)
            tool_reader_complain(reader, "\"ranks\" are not in order");
        read_rank(reader, row, &result->ranks[i]);
    }
}

static void read_steps(struct tool_reader *reader, const json_t *root)
{
    struct tool_result *result = reader->result;
    const json_t *rows = tool_reader_member(reader, root, "steps", false);
    size_t n = json_array_size(rows), wanted = (size_t)result->n_ranks * result->n_steps;
    if (rows == NULL || reader->status != RING_OK)
        return;
    if (n == 0 || n != wanted) {
        tool_reader_complain(reader, "\"steps\" has %zu rows where %u ranks and %u steps make %zu", n,
                             result->n_ranks, result->n_steps, wanted);
        return;
    }
    result->steps = calloc(n, sizeof *result->steps);
    if (result->steps == NULL) {
        reader->status = ring_fail(reader->error, RING_NO_MEMORY, "%s: out of memory", reader->path);
        return;
    }
    for (size_t i = 0; i < n && reader->status == RING_OK; i++) {
        const json_t *row = json_array_get(rows, i);
        struct ring_parts *parts = &result->steps[i];
        if (tool_reader_count(reader, row, "rank", MAX_RANKS) != i / result->n_steps ||
            tool_reader_count(reader, row, "step", MAX_STEPS) != i % result->n_steps)
            tool_reader_complain(reader, "\"steps\" are not in order of rank and step");
        *parts = (struct ring_parts){
            .begin_s = tool_reader_amount(reader, row, "begin_s"),
            .end_s = tool_reader_amount(reader, row, "end_s"),
            .compute_s = tool_reader_amount(reader, row, "compute_s"),
            .transfer_s = tool_reader_amount(reader, row, "transfer_s"),
            .wait_s = tool_reader_amount(reader, row, "wait_s"),
            .overhead_s = tool_reader_amount(reader, row, "overhead_s"),
        };
        if (parts->end_s < parts->begin_s)
            tool_reader_complain(reader, "\"steps\": a step of rank %zu ends before it begins",
                                 i / result->n_steps);
    }
}

static void read_passes(struct tool_reader *reader, const json_t *root)
{
    struct tool_result *result = reader->result;
    const json_t *rows = tool_reader_member(reader, root, "passes", true);
    size_t n = json_array_size(rows);
    if (reader->status == RING_OK && (n == 0 || n > TOOL_MAX_PASSES))
        tool_reader_complain(reader, "\"passes\" has %zu rows where 1 or 2 are read", n);
    if (reader->status != RING_OK)
        return;
    result->n_passes = (uint32_t)n;
    for (size_t i = 0; i < n && reader->status == RING_OK; i++) {
        const json_t *row = json_array_get(rows, i);
        struct tool_pass *pass = &result->passes[i];
        *pass = (struct tool_pass){
            .pass = (enum ring_pass)tool_reader_word(reader, row, "pass", ring_pass_names, RING_PASS_BOTH),
            .first_step = (uint32_t)tool_reader_count(reader, row, "first_step", MAX_STEPS),
            .n_steps = (uint32_t)tool_reader_count(reader, row, "n_steps", MAX_STEPS),
            .time_s = tool_reader_amount(reader, row, "time_s"),
            .compute_s = tool_reader_amount(reader, row, "compute_s"),
            .exposed_s = tool_reader_amount(reader, row, "exposed_s"),
            .bytes_sent = tool_reader_amount(reader, row, "bytes_sent"),
            .crossover_bytes_per_s = tool_reader_number(reader, row, "crossover_bytes_per_s"),
        };
        uint32_t expected = i == 0 ? 0 : result->passes[0].n_steps;
        if (reader->status == RING_OK &&
            (pass->first_step != expected || pass->n_steps > result->n_steps - expected))
            tool_reader_complain(reader, "\"passes\": pass %zu does not follow the one before", i);
    }
}

static void read_links(struct tool_reader *reader, const json_t *root)
{
    struct tool_result *result = reader->result;
    const json_t *rows = tool_reader_member(reader, root, "links", true);
    size_t n = json_array_size(rows);
    if (reader->status != RING_OK || n == 0)
        return;
    result->links = calloc(n, sizeof *result->links);
    if (result->links == NULL) {
        reader->status = ring_fail(reader->error, RING_NO_MEMORY, "%s: out of memory", reader->path);
        return;
    }
    result->n_links = n;
    for (size_t i = 0; i < n && reader->status == RING_OK; i++) {
        const json_t *row = json_array_get(rows, i);
        result->links[i] = (struct tool_link){
            .name = tool_reader_text(reader, row, "name", true),
            .bytes = tool_reader_amount(reader, row, "bytes"),
            .busy_s = tool_reader_amount(reader, row, "busy_s"),
            .bytes_per_s = tool_reader_number(reader, row, "bytes_per_s"),
        };
    }
}

static void read_repeats(struct tool_reader *reader, const json_t *root)
{
    struct tool_result *result = reader->result;
    const json_t *repeats = tool_reader_member(reader, root, "repeats", false);
    if (repeats == NULL || reader->status != RING_OK)
        return;
    const json_t *all = tool_reader_member(reader, repeats, "all", true);
    size_t n = json_array_size(all);
    result->repeats_s = calloc(n + 1, sizeof *result->repeats_s);
    if (result->repeats_s == NULL) {
        reader->status = ring_fail(reader->error, RING_NO_MEMORY, "%s: out of memory", reader->path);
        return;
    }
    result->n_repeats = n;
    for (size_t i = 0; i < n; i++) {
        if (!json_is_number(json_array_get(all, i)))
            tool_reader_complain(reader, "\"repeats\" holds something that is not a number");
        result->repeats_s[i] = json_number_value(json_array_get(all, i));
    }
}

static void read_rest(struct tool_reader *reader, const json_t *root)
{
    struct tool_result *result = reader->result;
    const json_t *bound = tool_reader_member(reader, root, "bound", true),
                 *totals = tool_reader_member(reader, root, "totals", true);
    const json_t *verdict = tool_reader_member(reader, root, "verdict", true),
                 *notes = tool_reader_member(reader, root, "notes", false);
    result->world = tool_reader_text(reader, root, "world", true);
    result->world_detail = tool_reader_text(reader, root, "world_detail", false);
    result->kernel = tool_reader_text(reader, root, "kernel", false);
    result->question.path = tool_reader_text(reader, root, "file", false);
    result->time_s = tool_reader_amount(reader, root, "time_s");
    if (json_object_get(root, "drift") != NULL)
        result->drift = tool_reader_amount(reader, root, "drift");
    if (json_object_get(root, "slowdown") != NULL)
        result->slowdown = tool_reader_amount(reader, root, "slowdown");
    result->bound = (struct model_bound){.compute_s = tool_reader_amount(reader, bound, "compute_s"),
                                         .network_s = tool_reader_amount(reader, bound, "network_s"),
                                         .time_s = tool_reader_amount(reader, bound, "time_s")};
    result->flops = tool_reader_amount(reader, totals, "flops");
    result->moving_s = tool_reader_amount(reader, totals, "moving_s");
    result->verdict = (struct tool_verdict){
        .limit = (enum tool_limit)tool_reader_word(reader, verdict, "limit", tool_limit_names, TOOL_N_LIMITS),
        .culprit = tool_reader_text(reader, verdict, "culprit", false),
        .text = tool_reader_text(reader, verdict, "text", true)};
    result->blame_text = tool_json_keep(result, json_object_get(root, "blame"));
    result->seeds_text = tool_json_keep(result, json_object_get(root, "seeds"));
    for (size_t i = 0; i < json_array_size(notes); i++)
        if (json_is_string(json_array_get(notes, i)))
            tool_result_note(result, "%s", json_string_value(json_array_get(notes, i)));
}

static void read_document(struct tool_reader *reader, const json_t *root)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (schema == NULL)
        tool_reader_complain(
            reader, "not a result of ringlab (no \"schema\"); make one with `ringlab predict --out`");
    else if (strcmp(schema, TOOL_RESULT_SCHEMA) != 0)
        tool_reader_complain(reader, "schema '%.60s' where " TOOL_RESULT_SCHEMA " is read", schema);
    if (reader->status != RING_OK)
        return;
    read_scenario(reader, tool_reader_member(reader, root, "scenario", true));
    tool_memory_read(reader, tool_reader_member(reader, root, "memory", true), &reader->result->fit);
    if (reader->status == RING_OK && !reader->result->fit.fits &&
        json_is_null(json_object_get(root, "time_s")))
        tool_reader_complain(reader, "nothing ran here: it did not fit in memory, so there are no times");
    read_ranks(reader, root);
    read_passes(reader, root);
    read_steps(reader, root);
    read_links(reader, root);
    read_repeats(reader, root);
    read_rest(reader, root);
}

enum ring_status tool_result_load(struct tool_result *result, const char *path, struct ring_error *error)
{
    struct tool_reader reader = {result, path, error, RING_OK};
    json_error_t where;
    tool_result_init(result);
    FILE *stream = fopen(path, "re");
    if (stream == NULL)
        return ring_fail(error, RING_IO, "%s: %m", path);
    json_t *root = json_loadf(stream, JSON_REJECT_DUPLICATES, &where);
    int reason = ferror(stream) ? errno : 0; /* a folder, for one */
    fclose(stream);
    if (root == NULL && reason != 0)
        return ring_fail(error, RING_IO, "%s: %s", path, strerror(reason));
    if (root == NULL && where.position == 0)
        return ring_fail(error, RING_BAD_INPUT, "%s: found nothing, accepted: a result of ringlab as JSON",
                         path);
    if (root == NULL)
        return ring_fail(error, RING_BAD_INPUT, "%s:%d:%d: not JSON: %s", path, where.line, where.column,
                         where.text);
    read_document(&reader, root);
    json_decref(root);
    if (reader.status != RING_OK)
        tool_result_fini(result);
    return reader.status;
}
