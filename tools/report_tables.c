/* SPDX-License-Identifier: MIT
 *
 * The tables of a report. Up to sixteen ranks have a row each; more are summed up, with the few that matter
 * shown. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "tools/report.h"
#include "tools/sort.h"
#include "tools/table.h"
#include "tools/units.h"
#include "tools/verdict.h"

enum { MAX_ROWS = 16 };

/* One unit for each kind of column. */
struct columns {
    struct tool_unit time, sent, memory;
};

/* Room for the header texts that carry the units. */
struct headers {
    char text[9][48];
};

static void rank_cells(struct tool_table *table, const struct columns *columns, const struct tool_rank *rank)
{
    const double times[] = {rank->compute_s, rank->transfer_s, rank->wait_s, rank->overhead_s, rank->end_s};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        tool_table_cell(table, "%s", tool_figure_in(columns->time, times[i], 3).text);
    tool_table_cell(table, "%s", tool_figure_in(columns->sent, (double)rank->bytes_sent, 2).text);
    tool_table_cell(table, "%s", tool_figure_in(columns->memory, (double)rank->memory_bytes, 2).text);
}

static double rank_field(const struct tool_rank *rank, int field)
{
    const double values[] = {rank->compute_s,           rank->transfer_s, rank->wait_s,
                             rank->overhead_s,          rank->end_s,      (double)rank->bytes_sent,
                             (double)rank->memory_bytes};
    return values[field];
}

/* A row whose every column is that column's quantile: 0 the smallest, 0.5 the median, 1 the largest. */
static void quantile_row(struct tool_table *table, const struct columns *columns,
                         const struct tool_result *result, const char *name, double quantile)
{
    double *values = malloc(result->n_ranks * sizeof *values), found[7];
    if (values == NULL) {
        table->failed = true;
        return;
    }
    for (int field = 0; field < 7; field++) {
        for (uint32_t i = 0; i < result->n_ranks; i++)
            values[i] = rank_field(&result->ranks[i], field);
        tool_sort(values, result->n_ranks);
        found[field] = values[(size_t)(quantile * (result->n_ranks - 1))];
    }
    free(values);
    struct tool_rank row = {.compute_s = found[0],
                            .transfer_s = found[1],
                            .wait_s = found[2],
                            .overhead_s = found[3],
                            .end_s = found[4],
                            .bytes_sent = (uint64_t)found[5],
                            .memory_bytes = (uint64_t)found[6]};
    tool_table_cell(table, "%s", name);
    tool_table_cell(table, "%s", "");
    rank_cells(table, columns, &row);
}

static void summary_rows(struct tool_table *table, const struct columns *columns,
                         const struct tool_result *result)
{
    struct tool_losses losses = tool_losses_of(result);
    uint32_t last = 0;
    for (uint32_t i = 0; i < result->n_ranks; i++)
        if (result->ranks[i].end_s > result->ranks[last].end_s)
            last = i;
    const uint32_t shown[] = {last, losses.busiest, losses.exposed};
    const char *const why[] = {"ends last", "busiest", "most transfer"};
    quantile_row(table, columns, result, "min", 0);
    quantile_row(table, columns, result, "median", 0.5);
    quantile_row(table, columns, result, "max", 1);
    for (size_t i = 0; i < 3; i++) {
        bool again = i > 0 && (shown[i] == shown[0] || (i == 2 && shown[i] == shown[1]));
        if (again || (i == 2 && result->ranks[shown[i]].transfer_s == 0))
            continue;
        tool_table_cell(table, "%s: %" PRIu32, why[i], shown[i]);
        tool_table_cell(table, "%s", result->ranks[shown[i]].device);
        rank_cells(table, columns, &result->ranks[shown[i]]);
    }
}

enum ring_status tool_report_ranks(const struct tool_result *result, FILE *file)
{
    static const char *const names[] = {"rank",     "<device", "compute", "transfer", "wait",
                                        "overhead", "end",     "sent",    "memory"};
    const char *headers[9];
    struct headers texts;
    struct tool_table table;
    double end_s = 0, sent = 0, memory = 0;
    for (uint32_t i = 0; i < result->n_ranks; i++) {
        end_s = fmax(end_s, result->ranks[i].end_s);
        sent = fmax(sent, (double)result->ranks[i].bytes_sent);
        memory = fmax(memory, (double)result->ranks[i].memory_bytes);
    }
    struct columns columns = {tool_unit_for(TOOL_SECONDS, end_s), tool_unit_for(TOOL_BYTES, sent),
                              tool_unit_for(TOOL_BYTES, memory)};
    for (int i = 0; i < 9; i++) {
        const char *unit = i < 2    ? ""
                           : i < 7  ? columns.time.name
                           : i == 7 ? columns.sent.name
                                    : columns.memory.name;
        snprintf(texts.text[i], sizeof texts.text[i], "%s%s%s%s",
                 i == 0 && result->n_ranks > MAX_ROWS ? "<" : "", names[i], i < 2 ? "" : " ", unit);
        headers[i] = texts.text[i];
    }
    tool_table_init(&table, 9, headers);
    if (result->n_ranks > MAX_ROWS)
        summary_rows(&table, &columns, result);
    for (uint32_t i = 0; result->n_ranks <= MAX_ROWS && i < result->n_ranks; i++) {
        tool_table_cell(&table, "%" PRIu32, i);
        tool_table_cell(&table, "%s", result->ranks[i].device);
        rank_cells(&table, &columns, &result->ranks[i]);
    }
    enum ring_status status = tool_table_print(&table, 2, file);
    tool_table_fini(&table);
    return status;
}

enum ring_status tool_report_passes(const struct tool_result *result, FILE *file)
{
    double longest_s = 0, sent = 0;
    char time[48], compute[48], exposed[48], bytes[48], hides[48];
    struct tool_table table;
    if (result->n_passes < 2)
        return RING_OK;
    for (uint32_t i = 0; i < result->n_passes; i++) {
        longest_s = fmax(longest_s, result->passes[i].time_s);
        sent = fmax(sent, result->passes[i].bytes_sent);
    }
    struct tool_unit unit = tool_unit_for(TOOL_SECONDS, longest_s), size = tool_unit_for(TOOL_BYTES, sent);
    snprintf(time, sizeof time, "time %s", unit.name);
    snprintf(compute, sizeof compute, "compute %s", unit.name);
    snprintf(exposed, sizeof exposed, "exposed %s", unit.name);
    snprintf(bytes, sizeof bytes, "sent %s", size.name);
    double least = 0; /* infinite ones and unknown ones do not choose the unit */
    for (uint32_t i = 0; i < result->n_passes; i++)
        if (isfinite(result->passes[i].crossover_bytes_per_s))
            least = fmax(least, result->passes[i].crossover_bytes_per_s);
    struct tool_unit rate = tool_unit_for(TOOL_BYTES_PER_S, least);
    snprintf(hides, sizeof hides, "hides from %s", rate.name);
    const char *headers[] = {"<pass", time, "of forward", compute, exposed, bytes, hides};
    tool_table_init(&table, least > 0 ? 7 : 6, headers);
    for (uint32_t i = 0; i < result->n_passes; i++) {
        const struct tool_pass *pass = &result->passes[i];
        tool_table_cell(&table, "%s", ring_pass_names[pass->pass]);
        tool_table_cell(&table, "%s", tool_figure_in(unit, pass->time_s, 3).text);
        tool_table_cell(&table, "%.2f x", pass->time_s / result->passes[0].time_s);
        tool_table_cell(&table, "%s", tool_figure_in(unit, pass->compute_s, 3).text);
        tool_table_cell(&table, "%s", tool_figure_in(unit, pass->exposed_s, 3).text);
        tool_table_cell(&table, "%s", tool_figure_in(size, pass->bytes_sent, 2).text);
        if (least > 0)
            tool_table_cell(&table, "%s",
                            isfinite(pass->crossover_bytes_per_s)
                                ? tool_figure_in(rate, pass->crossover_bytes_per_s, 2).text
                                : "never");
    }
    enum ring_status status = tool_table_print(&table, 2, file);
    tool_table_fini(&table);
    fputc('\n', file);
    return status;
}
