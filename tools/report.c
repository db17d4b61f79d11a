/* SPDX-License-Identifier: MIT
 *
 * See report.h; the tables are report_tables.c's. */
#include "tools/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/memory.h"
#include "tools/table.h"
#include "tools/units.h"

enum { LINE_WIDTH = 100 };

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
    const struct ring_plan_spec *plan = &question->plan;
    char text[1024], block[80] = "", gradients[64] = "";
    if (question->compute.block_s > 0)
        snprintf(block, sizeof block, "; each %sblock computes for %s",
                 plan->pass == RING_PASS_FORWARD ? "" : "forward ", TIME(question->compute.block_s));
    if (plan->pass != RING_PASS_FORWARD)
        snprintf(gradients, sizeof gradients, "; gradients travel in %s%s",
                 ring_dtype_names[plan->gradient_dtype], plan->keep_kv ? ", K/V are kept" : "");
    snprintf(text, sizeof text,
             "%s %s, %s layout, %s mask: %" PRIu64 " tokens, batch %" PRIu32 ", %" PRIu32 " heads (%" PRIu32
             " kv) of %" PRIu32 ", %s%s%s",
             plan->pass == RING_PASS_BOTH ? "forward and backward" : ring_pass_names[plan->pass],
             plan->strategy, ring_layout_names[plan->layout], ring_mask_names[problem->mask], problem->tokens,
             problem->batch, problem->heads, problem->kv_heads, problem->head_dim,
             ring_dtype_names[problem->dtype], gradients, block);
    tool_report_wrapped(text, 2, file);
    snprintf(text, sizeof text, "%" PRIu32 " rank%s on %s; %s%s%s%s%s", result->n_ranks,
             result->n_ranks == 1 ? "" : "s", short_name(question->cluster).text, result->world,
             result->world_detail != NULL ? ": " : "",
             result->world_detail != NULL ? result->world_detail : "",
             result->kernel != NULL ? "; kernel " : "", result->kernel != NULL ? result->kernel : "");
    tool_report_wrapped(text, 2, file);
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

/* Of a measured run: how much of the processes lay in memory, beside what the model says they hold. */
static void print_resident(const struct tool_result *result, FILE *file)
{
    const struct tool_rank *fullest = &result->ranks[0];
    for (uint32_t i = 0; i < result->n_ranks; i++)
        if (result->ranks[i].resident_bytes > fullest->resident_bytes)
            fullest = &result->ranks[i];
    if (fullest->resident_bytes == 0 || fullest->run_bytes == 0)
        return;
    fprintf(file, "  %-14s %s    on the fullest rank, %.3f x the %s of its blocks and rows\n",
            result->on_device ? "device memory" : "in memory", SIZE((double)fullest->resident_bytes),
            (double)fullest->resident_bytes / (double)fullest->run_bytes, SIZE((double)fullest->run_bytes));
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
    tool_seeds_print(&result->seeds, file);
    print_resident(result, file);
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

/* The whole answer to what does not fit. */
static enum ring_status report_unfit(const struct tool_result *result, FILE *file, struct ring_error *error)
{
    enum ring_status status = tool_memory_print(result, file, error);
    if (status == RING_OK)
        print_verdict(result, file);
    return status;
}

enum ring_status tool_report(const struct tool_result *result, FILE *file, struct ring_error *error)
{
    struct tool_style style = tool_style_for(file);
    fprintf(file, "%s%s: %s%s\n", style.bold, result->n_repeats > 0 ? "measured" : "predicted",
            result->question.name, style.off);
    tool_report_question(result, file);
    fputc('\n', file);
    if (isnan(result->time_s))
        return report_unfit(result, file, error);
    if (tool_report_ranks(result, file) != RING_OK)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for the table");
    fputc('\n', file);
    if (tool_report_passes(result, file) != RING_OK)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for the table");
    print_totals(result, file);
    print_verdict(result, file);
    if (result->n_repeats > 0)
        return RING_OK;
    fputc('\n', file);
    return tool_memory_print(result, file, error);
}
