/* SPDX-License-Identifier: MIT
 *
 * See memory.h. */
#include "tools/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "models/recurrence.h"
#include "tools/passes.h"
#include "tools/simulate.h"
#include "tools/table.h"
#include "tools/units.h"
#include "tools/verdict.h"

#define SIZE(bytes) tool_figure(TOOL_BYTES, (double)(bytes)).text

/* The items of struct model_memory, in its order. */
static const struct {
    const char *key, *what;
    size_t offset;
} items[] = {
    {"q", "queries", offsetof(struct model_memory, q_bytes)},
    {"kv", "own K and V", offsetof(struct model_memory, kv_bytes)},
    {"buffers", "travelling K and V", offsetof(struct model_memory, buffer_bytes)},
    {"out", "output", offsetof(struct model_memory, out_bytes)},
    {"state", "running m, l and o", offsetof(struct model_memory, state_bytes)},
    {"lse", "log-sum-exp", offsetof(struct model_memory, lse_bytes)},
    {"d_out", "dO", offsetof(struct model_memory, d_out_bytes)},
    {"d_q", "dQ", offsetof(struct model_memory, d_q_bytes)},
    {"delta", "delta", offsetof(struct model_memory, delta_bytes)},
    {"contribution", "dK and dV of the block in hand", offsetof(struct model_memory, contribution_bytes)},
    {"gradients", "travelling dK and dV", offsetof(struct model_memory, gradient_bytes)},
    {"own_gradient", "own dK and dV", offsetof(struct model_memory, own_gradient_bytes)},
    {"staging", "staging", offsetof(struct model_memory, staging_bytes)},
};
enum { N_ITEMS = sizeof items / sizeof items[0] };

static uint64_t item_bytes(const struct model_memory *memory, int item)
{
    uint64_t bytes;
    memcpy(&bytes, (const char *)memory + items[item].offset, sizeof bytes);
    return bytes;
}

/* What is there is not shown as nothing. */
static struct tool_figure share_text(double share)
{
    struct tool_figure figure = tool_percent(share);
    if (share > 0 && strcmp(figure.text, "0 %") == 0)
        snprintf(figure.text, sizeof figure.text, "< 0.1 %%");
    return figure;
}

static struct tool_figure bytes_text(struct tool_unit unit, double bytes)
{
    struct tool_figure figure = tool_figure_in(unit, bytes, 2);
    if (bytes > 0 && strcmp(figure.text, "0.00") == 0)
        snprintf(figure.text, sizeof figure.text, "< 0.01");
    return figure;
}

enum ring_status tool_memory_print(const struct tool_result *result, FILE *file, struct ring_error *error)
{
    const struct model_fit *fit = &result->fit;
    struct tool_unit unit = tool_unit_for(TOOL_BYTES, (double)fit->memory.total_bytes / 10);
    struct tool_table table;
    char sharing[64] = "";
    const char *headers[] = {"<memory", unit.name, ""};
    tool_table_init(&table, 3, headers);
    for (int i = 0; i < N_ITEMS; i++) {
        uint64_t bytes = item_bytes(&fit->memory, i);
        if (bytes == 0)
            continue;
        tool_table_cell(&table, "%s", items[i].what);
        tool_table_cell(&table, "%s", bytes_text(unit, (double)bytes).text);
        tool_table_cell(&table, "%s", share_text((double)bytes / (double)fit->memory.total_bytes).text);
    }
    tool_table_cell(&table, "in all, rank %" PRIu32, fit->rank);
    tool_table_cell(&table, "%s", tool_figure_in(unit, (double)fit->memory.total_bytes, 2).text);
    enum ring_status status = tool_table_print(&table, 2, file);
    tool_table_fini(&table);
    if (status != RING_OK)
        return ring_fail(error, status, "out of memory for the table");
    if (fit->n_sharing > 1)
        snprintf(sharing, sizeof sharing, "; %" PRIu32 " ranks on it need %s", fit->n_sharing,
                 SIZE(fit->needed_bytes));
    const char *device = result->ranks[fit->rank].device;
    if (fit->capacity_bytes == 0)
        fprintf(file, "  how much %s has is unknown%s\n", device, sharing);
    else
        fprintf(file, "  %s has %s%s: %s full; up to %" PRIu64 " tokens fit\n", device,
                SIZE(fit->capacity_bytes), sharing,
                share_text((double)fit->needed_bytes / (double)fit->capacity_bytes).text,
                fit->largest_tokens);
    return RING_OK;
}

/* 0: there is none, or nobody knows. */
static json_t *count_or_null(uint64_t count)
{
    return count > 0 ? json_integer((json_int_t)count) : json_null();
}

static uint64_t read_count_or_null(struct tool_reader *reader, const json_t *object, const char *key,
                                   uint64_t limit)
{
    return json_is_null(json_object_get(object, key)) ? 0 : tool_reader_count(reader, object, key, limit);
}

json_t *tool_memory_json(const struct model_fit *fit)
{
    json_t *object = json_pack(
        "{sb sI sI sI so so so}", "fits", fit->fits, "rank", (json_int_t)fit->rank, "ranks_on_device",
        (json_int_t)fit->n_sharing, "needed_bytes", (json_int_t)fit->needed_bytes, "capacity_bytes",
        count_or_null(fit->capacity_bytes), "largest_tokens", count_or_null(fit->largest_tokens),
        "smallest_ranks", count_or_null(fit->smallest_ranks));
    json_t *list = json_object();
    for (int i = 0; i < N_ITEMS; i++)
        json_object_set_new(list, items[i].key, json_integer((json_int_t)item_bytes(&fit->memory, i)));
    json_object_set_new(list, "total", json_integer((json_int_t)fit->memory.total_bytes));
    json_object_set_new(object, "items", list);
    return object;
}

void tool_memory_read(struct tool_reader *reader, const json_t *object, struct model_fit *fit)
{
    const json_t *list = tool_reader_member(reader, object, "items", true);
    *fit = (struct model_fit){
        .fits = json_is_true(tool_reader_member(reader, object, "fits", true)),
        .rank = (uint32_t)tool_reader_count(reader, object, "rank", UINT32_MAX),
        .n_sharing = (uint32_t)tool_reader_count(reader, object, "ranks_on_device", UINT32_MAX),
        .needed_bytes = tool_reader_count(reader, object, "needed_bytes", INT64_MAX),
        .capacity_bytes = read_count_or_null(reader, object, "capacity_bytes", INT64_MAX),
        .largest_tokens = read_count_or_null(reader, object, "largest_tokens", INT64_MAX),
        .smallest_ranks = (uint32_t)read_count_or_null(reader, object, "smallest_ranks", UINT32_MAX),
    };
    for (int i = 0; i < N_ITEMS; i++) {
        uint64_t bytes = tool_reader_count(reader, list, items[i].key, INT64_MAX);
        memcpy((char *)&fit->memory + items[i].offset, &bytes, sizeof bytes);
    }
    fit->memory.total_bytes = tool_reader_count(reader, list, "total", INT64_MAX);
}

void tool_memory_advice(const struct model_fit *fit, const struct ring_plan_spec *plan, char *text,
                        size_t size)
{
    char tokens[96], ranks[128];
    snprintf(tokens, sizeof tokens, "on %" PRIu32 " ranks at most %" PRIu64 " tokens fit", plan->n_ranks,
             fit->largest_tokens);
    if (fit->largest_tokens == 0)
        snprintf(tokens, sizeof tokens, "on %" PRIu32 " ranks no sequence fits", plan->n_ranks);
    snprintf(ranks, sizeof ranks, "%" PRIu64 " tokens fit on %" PRIu32 " ranks or more", plan->problem.tokens,
             fit->smallest_ranks);
    if (fit->smallest_ranks == 0)
        snprintf(ranks, sizeof ranks, "%" PRIu64 " tokens fit on no number of such ranks",
                 plan->problem.tokens);
    snprintf(text, size, "%s; %s", tokens, ranks);
}

enum ring_status tool_memory_unfit(const struct tool_setup *setup, const char *world,
                                   struct tool_result *result, struct ring_error *error)
{
    tool_result_init(result);
    enum ring_status status =
        tool_result_allocate(result, setup->plan.n_ranks, setup->plan.n_steps, false, error);
    tool_passes_init(result, &setup->plan);
    if (status == RING_OK)
        status = tool_describe(result, setup, error);
    if (status != RING_OK)
        return status;
    bool simgrid = strcmp(world, "simgrid") == 0 ||
                   (strcmp(world, "auto") == 0 && !model_recurrence_serves(&setup->ring));
    result->world = simgrid ? "simgrid" : "recurrence";
    result->world_detail = "nothing was simulated";
    result->time_s = result->moving_s = (double)NAN;
    for (uint32_t i = 0; i < result->n_ranks; i++) {
        struct tool_rank *rank = &result->ranks[i];
        rank->compute_s = rank->transfer_s = rank->wait_s = rank->overhead_s = rank->end_s = (double)NAN;
    }
    for (uint32_t i = 0; i < result->n_passes; i++) {
        struct tool_pass *pass = &result->passes[i];
        pass->time_s = pass->compute_s = pass->exposed_s = (double)NAN;
    }
    result->n_notes = 0; /* they are of times */
    tool_verdict_find(result, &setup->ring);
    return RING_OK;
}

enum ring_status tool_memory_refuse(const struct tool_setup *setup, struct ring_error *error)
{
    const struct model_fit *fit = &setup->fit;
    const struct model_topology *topology = setup->scenario->topology;
    char advice[256];
    if (fit->fits)
        return RING_OK;
    tool_memory_advice(fit, &setup->scenario->plan, advice, sizeof advice);
    const char *device = topology->vertices[topology->devices[setup->scenario->placement[fit->rank]]].name;
    return ring_fail(error, RING_BAD_INPUT, "%s: it does not fit: %s are needed on %s, which has %s (%s)",
                     setup->path, SIZE(fit->needed_bytes), device, SIZE(fit->capacity_bytes), advice);
}
