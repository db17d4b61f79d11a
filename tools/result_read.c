/* SPDX-License-Identifier: MIT
 *
 * A result as a JSON document: reading. Everything is checked before it is believed, and the first thing that
 * is wrong is named with its place in the document; a file of someone else is refused in one line. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/result.h"
#include "tools/result_json.h"

enum { MAX_RANKS = 1 << 20, MAX_STEPS = 1 << 20 };

/* The first failure sticks: after it every call returns something harmless. */
struct reader {
    struct tool_result *result;
    const char *path;
    struct ring_error *error;
    enum ring_status status;
};

static void complain(struct reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void complain(struct reader *reader, const char *format, ...)
{
    char text[512];
    va_list arguments;
    if (reader->status != RING_OK)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    reader->status = ring_fail(reader->error, RING_BAD_INPUT, "%s: %s", reader->path, text);
}

/* The member of an object; json_null() where it is missing, with a complaint if it may not be. */
static const json_t *member(struct reader *reader, const json_t *object, const char *key, bool needed)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL && needed)
        complain(reader, "has no \"%s\"", key);
    return value;
}

static double number(struct reader *reader, const json_t *object, const char *key)
{
    const json_t *value = member(reader, object, key, true);
    if (value == NULL || json_is_null(value))
        return (double)NAN;
    if (!json_is_number(value))
        complain(reader, "\"%s\" is not a number", key);
    return json_number_value(value);
}

/* A figure that time and size are made of: there, and not negative. */
static double amount(struct reader *reader, const json_t *object, const char *key)
{
    double value = number(reader, object, key);
    if (!(value >= 0)) {
        complain(reader, "\"%s\" is not a number of 0 or more", key);
        return 0;
    }
    return value;
}

static uint64_t count(struct reader *reader, const json_t *object, const char *key, uint64_t limit)
{
    const json_t *value = member(reader, object, key, true);
    json_int_t n = json_integer_value(value);
    if (value == NULL)
        return 0;
    if (!json_is_integer(value) || n < 0 || (uint64_t)n > limit) {
        complain(reader, "\"%s\" is not a whole number from 0 to %" PRIu64, key, limit);
        return 0;
    }
    return (uint64_t)n;
}

static const char *text(struct reader *reader, const json_t *object, const char *key, bool needed)
{
    const json_t *value = member(reader, object, key, needed);
    if (value == NULL || json_is_null(value)) {
        if (needed && value != NULL)
            complain(reader, "\"%s\" is null", key);
        return NULL;
    }
    if (!json_is_string(value)) {
        complain(reader, "\"%s\" is not a text", key);
        return NULL;
    }
    const char *kept = tool_result_keep(reader->result, "%s", json_string_value(value));
    if (kept == NULL && reader->status == RING_OK)
        reader->status = ring_fail(reader->error, RING_NO_MEMORY, "%s: out of memory", reader->path);
    return kept;
}

/* Index of a word in one of the engine's lists of names. */
static int word(struct reader *reader, const json_t *object, const char *key, const char *const *names, int n)
{
    const char *found = json_string_value(member(reader, object, key, true));
    for (int i = 0; found != NULL && i < n; i++)
        if (strcmp(names[i], found) == 0)
            return i;
    complain(reader, "\"%s\" is '%s', which no result of this version has", key, found == NULL ? "?" : found);
    return 0;
}

static double seconds(struct reader *reader, const json_t *object, const char *key)
{
    struct ring_error error = {""};
    double value = 0;
    const char *found = text(reader, object, key, true);
    if (found != NULL && config_quantity(found, CONFIG_SECONDS, &value, &error) != RING_OK)
        complain(reader, "\"%s\": %s", key, error.text);
    return value;
}

static void read_problem(struct reader *reader, const json_t *object, struct ring_problem *problem)
{
    problem->tokens = count(reader, object, "tokens", INT64_MAX);
    problem->batch = (uint32_t)count(reader, object, "batch", UINT32_MAX);
    problem->heads = (uint32_t)count(reader, object, "heads", UINT32_MAX);
    problem->kv_heads = (uint32_t)count(reader, object, "kv_heads", UINT32_MAX);
    problem->head_dim = (uint32_t)count(reader, object, "head_dim", UINT32_MAX);
    problem->dtype = (enum ring_dtype)word(reader, object, "dtype", ring_dtype_names, RING_N_DTYPES);
    problem->mask = (enum ring_mask)word(reader, object, "mask", ring_mask_names, RING_N_MASKS);
}

static void read_ring(struct reader *reader, const json_t *ring)
{
    struct tool_question *question = &reader->result->question;
    struct ring_plan_spec *plan = &question->plan;
    plan->n_ranks = (uint32_t)count(reader, ring, "devices", MAX_RANKS);
    plan->layout = (enum ring_layout_kind)word(reader, ring, "layout", ring_layout_names, RING_N_LAYOUTS);
    plan->pass = (enum ring_pass)word(reader, ring, "pass", ring_pass_names, RING_N_PASSES);
    plan->gradient_dtype = (enum ring_dtype)word(reader, ring, "gradients", ring_dtype_names, RING_N_DTYPES);
    plan->keep_kv = json_is_true(member(reader, ring, "keep_kv", true));
    plan->strategy = text(reader, ring, "strategy", true);
    plan->n_buffers = (uint32_t)count(reader, ring, "buffers", UINT32_MAX);
    question->natural = json_is_string(member(reader, ring, "placement", true));
}

static void read_scenario(struct reader *reader, const json_t *scenario)
{
    struct tool_question *question = &reader->result->question;
    const json_t *compute = member(reader, scenario, "compute", true);
    const json_t *data = member(reader, scenario, "data", true);
    const json_t *measure = member(reader, scenario, "measure", true);
    question->name = text(reader, scenario, "name", true);
    question->cluster = text(reader, scenario, "cluster", true);
    read_problem(reader, member(reader, scenario, "problem", true), &question->plan.problem);
    read_ring(reader, member(reader, scenario, "ring", true));
    if (json_is_object(compute)) {
        const char *core = json_string_value(member(reader, compute, "core", true));
        question->compute.block_s = seconds(reader, compute, "block");
        question->compute.core_free = core != NULL && strcmp(core, "free") == 0;
    }
    question->progress =
        (enum model_progress)word(reader, scenario, "progress", model_progress_names, MODEL_N_PROGRESS);
    question->data.kind = text(reader, data, "kind", true);
    question->data.seed = count(reader, data, "seed", UINT64_MAX);
    question->measure.repeats = (uint32_t)count(reader, measure, "repeats", UINT32_MAX);
    question->measure.warmups = (uint32_t)count(reader, measure, "warmups", UINT32_MAX);
    question->measure.timeout_s = seconds(reader, measure, "timeout");
    question->measure.kernel = text(reader, measure, "kernel", false);
}

static void read_rank(struct reader *reader, const json_t *row, struct tool_rank *rank)
{
    rank->device = text(reader, row, "device", true);
    rank->compute_s = amount(reader, row, "compute_s");
    rank->transfer_s = amount(reader, row, "transfer_s");
    rank->wait_s = amount(reader, row, "wait_s");
    rank->overhead_s = amount(reader, row, "overhead_s");
    rank->end_s = amount(reader, row, "end_s");
    rank->bytes_sent = count(reader, row, "bytes_sent", INT64_MAX);
    rank->visible_pairs = count(reader, row, "visible_pairs", INT64_MAX);
    rank->memory_bytes = count(reader, row, "memory_bytes", INT64_MAX);
    rank->device_memory_bytes = count(reader, row, "device_memory_bytes", INT64_MAX);
}

static void read_ranks(struct reader *reader, const json_t *root)
{
    struct tool_result *result = reader->result;
    const json_t *rows = member(reader, root, "ranks", true);
    size_t n = json_array_size(rows);
    uint64_t n_steps = count(reader, root, "n_steps", MAX_STEPS);
    if (reader->status == RING_OK && (n == 0 || n > MAX_RANKS || n != result->question.plan.n_ranks))
        complain(reader, "\"ranks\" has %zu rows where the scenario has %u devices", n,
                 result->question.plan.n_ranks);
    if (reader->status != RING_OK)
        return;
    reader->status = tool_result_allocate(result, (uint32_t)n, (uint32_t)n_steps, false, reader->error);
    for (size_t i = 0; i < n && reader->status == RING_OK; i++) {
        const json_t *row = json_array_get(rows, i);
        if (count(reader, row, "rank", MAX_RANKS) != i)
            complain(reader, "\"ranks\" are not in order");
        read_rank(reader, row, &result->ranks[i]);
    }
}

static void read_steps(struct reader *reader, const json_t *root)
{
    struct tool_result *result = reader->result;
    const json_t *rows = member(reader, root, "steps", false);
    size_t n = json_array_size(rows), wanted = (size_t)result->n_ranks * result->n_steps;
    if (rows == NULL || reader->status != RING_OK)
        return;
    if (n == 0 || n != wanted) {
        complain(reader, "\"steps\" has %zu rows where %u ranks and %u steps make %zu", n, result->n_ranks,
                 result->n_steps, wanted);
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
        if (count(reader, row, "rank", MAX_RANKS) != i / result->n_steps ||
            count(reader, row, "step", MAX_STEPS) != i % result->n_steps)
            complain(reader, "\"steps\" are not in order of rank and step");
        *parts = (struct ring_parts){
            .begin_s = amount(reader, row, "begin_s"),
            .end_s = amount(reader, row, "end_s"),
            .compute_s = amount(reader, row, "compute_s"),
            .transfer_s = amount(reader, row, "transfer_s"),
            .wait_s = amount(reader, row, "wait_s"),
            .overhead_s = amount(reader, row, "overhead_s"),
        };
        if (parts->end_s < parts->begin_s)
            complain(reader, "\"steps\": a step of rank %zu ends before it begins", i / result->n_steps);
    }
}

static void read_links(struct reader *reader, const json_t *root)
{
    struct tool_result *result = reader->result;
    const json_t *rows = member(reader, root, "links", true);
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
            .name = text(reader, row, "name", true),
            .bytes = amount(reader, row, "bytes"),
            .busy_s = amount(reader, row, "busy_s"),
            .bytes_per_s = number(reader, row, "bytes_per_s"),
        };
    }
}

static void read_repeats(struct reader *reader, const json_t *root)
{
    struct tool_result *result = reader->result;
    const json_t *repeats = member(reader, root, "repeats", false);
    if (repeats == NULL || reader->status != RING_OK)
        return;
    const json_t *all = member(reader, repeats, "all", true);
    size_t n = json_array_size(all);
    result->repeats_s = calloc(n + 1, sizeof *result->repeats_s);
    if (result->repeats_s == NULL) {
        reader->status = ring_fail(reader->error, RING_NO_MEMORY, "%s: out of memory", reader->path);
        return;
    }
    result->n_repeats = n;
    for (size_t i = 0; i < n; i++) {
        if (!json_is_number(json_array_get(all, i)))
            complain(reader, "\"repeats\" holds something that is not a number");
        result->repeats_s[i] = json_number_value(json_array_get(all, i));
    }
}

static void read_rest(struct reader *reader, const json_t *root)
{
    struct tool_result *result = reader->result;
    const json_t *bound = member(reader, root, "bound", true), *totals = member(reader, root, "totals", true);
    const json_t *verdict = member(reader, root, "verdict", true),
                 *notes = member(reader, root, "notes", false);
    result->world = text(reader, root, "world", true);
    result->world_detail = text(reader, root, "world_detail", false);
    result->kernel = text(reader, root, "kernel", false);
    result->question.path = text(reader, root, "file", false);
    result->time_s = amount(reader, root, "time_s");
    if (json_object_get(root, "drift") != NULL)
        result->drift = amount(reader, root, "drift");
    result->bound = (struct model_bound){.compute_s = amount(reader, bound, "compute_s"),
                                         .network_s = amount(reader, bound, "network_s"),
                                         .time_s = amount(reader, bound, "time_s")};
    result->flops = amount(reader, totals, "flops");
    result->moving_s = amount(reader, totals, "moving_s");
    result->verdict = (struct tool_verdict){
        .limit = (enum tool_limit)word(reader, verdict, "limit", tool_limit_names, TOOL_N_LIMITS),
        .culprit = text(reader, verdict, "culprit", false),
        .text = text(reader, verdict, "text", true)};
    for (size_t i = 0; i < json_array_size(notes); i++)
        if (json_is_string(json_array_get(notes, i)))
            tool_result_note(result, "%s", json_string_value(json_array_get(notes, i)));
}

static void read_document(struct reader *reader, const json_t *root)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (schema == NULL)
        complain(reader, "not a result of ringlab (no \"schema\"); make one with `ringlab predict --out`");
    else if (strcmp(schema, TOOL_RESULT_SCHEMA) != 0)
        complain(reader, "schema '%.60s' where " TOOL_RESULT_SCHEMA " is read", schema);
    if (reader->status != RING_OK)
        return;
    read_scenario(reader, member(reader, root, "scenario", true));
    read_ranks(reader, root);
    read_steps(reader, root);
    read_links(reader, root);
    read_repeats(reader, root);
    read_rest(reader, root);
}

enum ring_status tool_result_load(struct tool_result *result, const char *path, struct ring_error *error)
{
    struct reader reader = {result, path, error, RING_OK};
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
    if (root == NULL)
        return ring_fail(error, RING_BAD_INPUT, "%s:%d:%d: not JSON: %s", path, where.line, where.column,
                         where.text);
    read_document(&reader, root);
    json_decref(root);
    if (reader.status != RING_OK)
        tool_result_fini(result);
    return reader.status;
}
