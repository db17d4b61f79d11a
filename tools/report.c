/* SPDX-License-Identifier: MIT
 *
 * See report.h. Up to sixteen ranks have a row each; more are summed up, with the few that matter shown. */
#include "tools/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/table.h"
#include "tools/units.h"
#include "tools/verdict.h"

enum { MAX_ROWS = 16, LINE_WIDTH = 100 };

#define TIME(seconds) tool_figure(TOOL_SECONDS, seconds).text
#define SIZE(bytes)   tool_figure(TOOL_BYTES, bytes).text

void tool_report_wrapped(const char *text, int indent, FILE *file)
{
    size_t room = (size_t)(LINE_WIDTH - indent);
    while (text != NULL && *text != '\0') {
        size_t cut = 0, width = 0, i = 0;
        for (; text[i] != '\0' && width <= room; i++) {
            width += ((unsigned char)text[i] & 0xc0) != 0x80;
            if (text[i] == ' ' && width <= room + 1)
                cut = i;
        }
        if (text[i] == '\0' && width <= room)
            cut = i;
        if (cut == 0) /* one word longer than a line */
            cut = i;
        fprintf(file, "%*s%.*s\n", indent, "", (int)cut, text);
        text += cut;
        while (*text == ' ')
            text++;
    }
}

void tool_report_notes(const struct tool_result *result, const char *mark, FILE *file)
{
    char text[1024];
    for (size_t i = 0; i < result->n_notes; i++) {
        snprintf(text, sizeof text, "%s: %s", mark, result->notes[i]);
        tool_report_wrapped(text, 2, file);
    }
}

/* "dgx-h100" for "topologies/dgx-h100.yaml". */
static struct tool_figure short_name(const char *path)
{
    struct tool_figure name;
    const char *slash = strrchr(path, '/');
    snprintf(name.text, sizeof name.text, "%s", slash == NULL ? path : slash + 1);
    char *dot = strrchr(name.text, '.');
    if (dot != NULL && dot != name.text)
        *dot = '\0';
    return name;
}

void tool_report_question(const struct tool_result *result, FILE *file)
{
    const struct tool_question *question = &result->question;
    const struct ring_problem *problem = &question->plan.problem;
    char text[1024], block[64] = "";
    if (question->compute.block_s > 0)
        snprintf(block, sizeof block, "; each block computes for %s", TIME(question->compute.block_s));
    snprintf(text, sizeof text,
             "%s %s, %s layout, %s mask: %" PRIu64 " tokens, batch %" PRIu32 ", %" PRIu32 " heads (%" PRIu32
             " kv) of %" PRIu32 ", %s%s",
             ring_pass_names[question->plan.pass], question->plan.strategy,
             ring_layout_names[question->plan.layout], ring_mask_names[problem->mask], problem->tokens,
             problem->batch, problem->heads, problem->kv_heads, problem->head_dim,
             ring_dtype_names[problem->dtype], block);
    tool_report_wrapped(text, 2, file);
    snprintf(text, sizeof text, "%" PRIu32 " rank%s on %s; %s%s%s%s%s", result->n_ranks,
             result->n_ranks == 1 ? "" : "s", short_name(question->cluster).text, result->world,
             result->world_detail != NULL ? ": " : "",
             result->world_detail != NULL ? result->world_detail : "",
             result->kernel != NULL ? "; kernel " : "", result->kernel != NULL ? result->kernel : "");
    tool_report_wrapped(text, 2, file);
}

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

static int ascending(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
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
        qsort(values, result->n_ranks, sizeof *values, ascending);
        found[field] = values[(size_t)(quantile * (result->n_ranks - 1))];
    }
    free(values);
    struct tool_rank row = {NULL,     found[0],           found[1], found[2],           found[3],
                            found[4], (uint64_t)found[5], 0,        (uint64_t)found[6], 0};
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

static enum ring_status print_ranks(const struct tool_result *result, FILE *file)
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

static void print_repeats(const struct tool_result *result, FILE *file)
{
    struct tool_spread spread = tool_result_spread(result);
    if (result->n_repeats == 0)
        return;
    fprintf(file, "  %-14s %zu: min %s, median %s, max %s\n", "repeats", result->n_repeats,
            TIME(spread.min_s), TIME(spread.median_s), TIME(spread.max_s));
}

static void print_links(const struct tool_result *result, FILE *file)
{
    const struct tool_link *busiest = NULL;
    for (size_t i = 0; i < result->n_links; i++)
        if (busiest == NULL || result->links[i].busy_s > busiest->busy_s)
            busiest = &result->links[i];
    if (busiest == NULL)
        return;
    fprintf(file, "  %-14s %s: %s at %s, busy for %s (%s)\n", "busiest link", busiest->name,
            SIZE(busiest->bytes), tool_figure(TOOL_BYTES_PER_S, busiest->bytes_per_s).text,
            TIME(busiest->busy_s), tool_percent(busiest->busy_s / result->time_s).text);
}

static void print_totals(const struct tool_result *result, FILE *file)
{
    double overlap = tool_result_overlap(result);
    double rate = result->flops / result->time_s / result->n_ranks;
    struct tool_style style = tool_style_for(file);
    fprintf(file, "  %s%-14s %s%s    %s tokens/s, %s a device\n", style.bold, "step time",
            TIME(result->time_s), style.off, tool_figure(TOOL_PER_S, tool_result_tokens_per_s(result)).text,
            tool_figure(TOOL_FLOP_PER_S, rate).text);
    print_repeats(result, file);
    if (result->bound.time_s > 0)
        fprintf(file, "  %-14s %s    compute %s, network %s; the step takes %.2f x that\n", "lower bound",
                TIME(result->bound.time_s), TIME(result->bound.compute_s), TIME(result->bound.network_s),
                result->time_s / result->bound.time_s);
    if (!isnan(overlap))
        fprintf(file,
                "  %-14s %s    of transfer on the worst rank; %s of all transfer (%s a rank) overlaps\n",
                "exposed", TIME(tool_result_exposed_s(result)), tool_percent(overlap).text,
                TIME(result->moving_s / result->n_ranks));
    print_links(result, file);
}

static void print_verdict(const struct tool_result *result, FILE *file)
{
    const struct tool_verdict *verdict = &result->verdict;
    struct tool_style style = tool_style_for(file);
    fprintf(file, "\n  %-14s %s%s%s%s%s\n", "limit",
            verdict->limit == TOOL_LIMIT_COMPUTE ? style.good : style.bad, tool_limit_names[verdict->limit],
            style.off, verdict->culprit != NULL ? ": " : "",
            verdict->culprit != NULL ? verdict->culprit : "");
    tool_report_wrapped(verdict->text, 2, file);
    if (result->n_notes > 0)
        fputc('\n', file);
    tool_report_notes(result, "note", file);
}

enum ring_status tool_report(const struct tool_result *result, FILE *file, struct ring_error *error)
{
    struct tool_style style = tool_style_for(file);
    fprintf(file, "%s%s: %s%s\n", style.bold, result->n_repeats > 0 ? "measured" : "predicted",
            result->question.name, style.off);
    tool_report_question(result, file);
    fputc('\n', file);
    if (print_ranks(result, file) != RING_OK)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for the table");
    fputc('\n', file);
    print_totals(result, file);
    print_verdict(result, file);
    return RING_OK;
}
