/* SPDX-License-Identifier: MIT
 *
 * A comparison as text. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <string.h>

#include "tools/compare.h"
#include "tools/passes.h"
#include "tools/report.h"
#include "tools/table.h"
#include "tools/units.h"

enum { MAX_STEPS = 16, SHOWN_STEPS = 8 };

#define TIME(seconds) tool_figure(TOOL_SECONDS, seconds).text

/* What the two sides are called: in a column, and in a sentence before "step". */
struct sides {
    const char *first, *second;
    const char *of_first, *of_second;
};

static struct sides name_sides(const struct tool_result *predicted, const struct tool_result *measured)
{
    if (predicted->n_repeats == 0 && measured->n_repeats > 0)
        return (struct sides){"predicted", "measured", "predicted", "measured"};
    return (struct sides){"first", "second", "first result's", "second result's"};
}

/* In per cent of what was measured; "-" where that is next to nothing, for then no error says anything. */
static struct tool_figure error_text(struct tool_pair pair, double step_s)
{
    static const double negligible = 0.001; /* of the step */
    return tool_signed_percent(pair.measured_s < negligible * step_s ? (double)NAN : tool_pair_error(pair));
}

static void pair_row(struct tool_table *table, struct tool_unit unit, const char *name, struct tool_pair pair,
                     double step_s)
{
    double difference_s = pair.predicted_s - pair.measured_s;
    tool_table_cell(table, "%s", name);
    tool_table_cell(table, "%s", tool_figure_in(unit, pair.predicted_s, 3).text);
    tool_table_cell(table, "%s", tool_figure_in(unit, pair.measured_s, 3).text);
    tool_table_cell(table, "%s", tool_signed_in(unit, difference_s, 3).text);
    tool_table_cell(table, "%s", error_text(pair, step_s).text);
    tool_table_cell(table, "%s", tool_signed_percent(difference_s / step_s).text);
}

/* One unit for both tables: that of the longest step of the ring. */
static struct tool_unit choose_unit(const struct tool_comparison *comparison)
{
    double longest_s = 0;
    for (uint32_t i = 0; i < comparison->n_steps; i++)
        longest_s = fmax(longest_s,
                         fmax(comparison->steps[i].time.predicted_s, comparison->steps[i].time.measured_s));
    if (!(longest_s > 0))
        longest_s = fmax(comparison->all.time.predicted_s, comparison->all.time.measured_s);
    return tool_unit_for(TOOL_SECONDS, longest_s);
}

static enum ring_status print_totals(const struct tool_comparison *comparison, struct sides sides,
                                     struct tool_unit unit, FILE *file)
{
    struct tool_table table;
    double step_s = comparison->all.time.measured_s;
    char first[32], second[32], difference[32];
    snprintf(first, sizeof first, "%s %s", sides.first, unit.name);
    snprintf(second, sizeof second, "%s %s", sides.second, unit.name);
    snprintf(difference, sizeof difference, "difference %s", unit.name);
    const char *headers[] = {"<", first, second, difference, "error", "of the step"};
    tool_table_init(&table, 6, headers);
    pair_row(&table, unit, "step time", comparison->all.time, step_s);
    for (uint32_t i = 0; comparison->n_passes > 1 && i < comparison->n_passes; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s pass", ring_pass_names[comparison->pass_names[i]]);
        pair_row(&table, unit, name, comparison->passes[i], step_s);
    }
    for (enum tool_part part = 0; part < TOOL_N_PARTS; part++) {
        char name[32];
        snprintf(name, sizeof name, "%s, mean rank", tool_part_names[part]);
        pair_row(&table, unit, name, comparison->all.parts[part], step_s);
    }
    enum ring_status status = tool_table_print(&table, 2, file);
    tool_table_fini(&table);
    return status;
}

/* Marks the steps to show: all, or the few whose durations differ most. */
static void choose_steps(const struct tool_comparison *comparison, bool *shown)
{
    for (uint32_t i = 0; i < comparison->n_steps; i++)
        shown[i] = comparison->n_steps <= MAX_STEPS;
    for (int n = 0; comparison->n_steps > MAX_STEPS && n < SHOWN_STEPS; n++) {
        uint32_t worst = 0;
        double worst_s = -1;
        for (uint32_t i = 0; i < comparison->n_steps; i++) {
            struct tool_pair time = comparison->steps[i].time;
            double now_s = fabs(time.predicted_s - time.measured_s);
            if (!shown[i] && now_s > worst_s) {
                worst = i;
                worst_s = now_s;
            }
        }
        shown[worst] = true;
    }
}

/* "3", or "backward 3" where there are two passes. */
static void name_step(const struct tool_comparison *comparison, uint32_t index, char *out, size_t size)
{
    bool backward = comparison->n_passes > 1 && index >= comparison->backward_step;
    snprintf(out, size, "%s%" PRIu32,
             comparison->n_passes < 2 ? ""
             : backward               ? "backward "
                                      : "forward ",
             backward ? index - comparison->backward_step : index);
}

static void step_row(struct tool_table *table, struct tool_unit unit,
                     const struct tool_comparison *comparison, uint32_t index)
{
    const struct tool_compared_step *step = &comparison->steps[index];
    char name[32];
    name_step(comparison, index, name, sizeof name);
    tool_table_cell(table, "%s", name);
    tool_table_cell(table, "%s", tool_figure_in(unit, step->time.predicted_s, 3).text);
    tool_table_cell(table, "%s", tool_figure_in(unit, step->time.measured_s, 3).text);
    tool_table_cell(table, "%s", error_text(step->time, comparison->all.time.measured_s).text);
    for (enum tool_part part = 0; part < TOOL_N_PARTS; part++)
        tool_table_cell(
            table, "%s",
            tool_signed_in(unit, step->parts[part].predicted_s - step->parts[part].measured_s, 3).text);
}

static enum ring_status print_steps(const struct tool_comparison *comparison, struct sides sides,
                                    struct tool_unit unit, FILE *file)
{
    struct tool_table table;
    bool *shown = calloc(comparison->n_steps + 1, sizeof *shown);
    if (shown == NULL)
        return RING_NO_MEMORY;
    char first[32], second[32];
    snprintf(first, sizeof first, "%s %s", sides.first, unit.name);
    snprintf(second, sizeof second, "%s %s", sides.second, unit.name);
    const char *headers[] = {"step",      first,        second,   "error",
                             "d compute", "d transfer", "d wait", "d overhead"};
    tool_table_init(&table, 8, headers);
    choose_steps(comparison, shown);
    for (uint32_t i = 0; i < comparison->n_steps; i++)
        if (shown[i])
            step_row(&table, unit, comparison, i);
    fprintf(file, "\n  Steps of the ring, means over ranks%s; d is the difference in %s\n",
            comparison->n_steps > MAX_STEPS ? " (those that differ most)" : "", unit.name);
    enum ring_status status = tool_table_print(&table, 2, file);
    tool_table_fini(&table);
    free(shown);
    return status;
}

/* "4.1 % below the measured step": how the first stands to the second. */
static void write_relation(double error, struct sides sides, char *out, size_t size)
{
    if (fabs(error) < 0.0005)
        snprintf(out, size, "equal to the %s step", sides.of_second);
    else
        snprintf(out, size, "%s %s the %s step", tool_percent(fabs(error)).text,
                 error < 0 ? "below" : "above", sides.of_second);
}

void tool_compare_sentence(const struct tool_result *predicted, const struct tool_result *measured,
                           const struct tool_comparison *comparison, char *out, size_t size)
{
    struct sides sides = name_sides(predicted, measured);
    struct tool_pair part = comparison->all.parts[comparison->worst];
    double step_s = comparison->all.time.measured_s, difference_s = part.predicted_s - part.measured_s;
    char where[192] = "", relation[64], step[32];
    write_relation(tool_pair_error(comparison->all.time), sides, relation, sizeof relation);
    if (fabs(difference_s) <= 1e-6 * step_s) {
        snprintf(out, size, "The %s step is %s, and so is each part on the mean rank.", sides.of_first,
                 relation);
        return;
    }
    name_step(comparison, comparison->worst_step, step, sizeof step);
    if (comparison->steps != NULL && measured->n_ranks > 1)
        snprintf(where, sizeof where, ", most on rank %" PRIu32 " (%s) and at step %s",
                 comparison->worst_rank, measured->ranks[comparison->worst_rank].device, step);
    snprintf(
        out, size,
        "The %s step is %s. Of its parts, %s differs most: %s too %s on the mean rank (%s of the step)%s.",
        sides.of_first, relation, tool_part_names[comparison->worst], TIME(fabs(difference_s)),
        difference_s < 0 ? "short" : "long", tool_percent(fabs(difference_s) / step_s).text, where);
}

/* A machine that runs slower than just before makes a right model look wrong; said apart, never folded into
 * the figures above. */
static void print_drift(const struct tool_result *predicted, const struct tool_result *measured, FILE *file)
{
    char text[512];
    struct tool_pair scaled = {tool_compare_scaled(predicted, measured), measured->time_s};
    if (!(measured->drift > 0))
        return;
    char known[64] = "";
    if (predicted->slowdown > 0)
        snprintf(known, sizeof known, "; the prediction has %.2f x from looks before it",
                 predicted->slowdown);
    snprintf(
        text, sizeof text,
        "During the run, a fixed block took %.2f x its calibrated time%s. With that as the machine's speed "
        "it would be %s (error %s); nothing above is scaled by it.",
        measured->drift, known, TIME(scaled.predicted_s), tool_signed_percent(tool_pair_error(scaled)).text);
    tool_report_wrapped(text, 2, file);
}

/* The ratio of the passes, what stood exposed in each, and what each sent, on both sides. */
static void print_passes(const struct tool_result *predicted, const struct tool_result *measured,
                         const struct tool_comparison *comparison, struct sides sides, FILE *file)
{
    char text[512];
    const struct tool_pass *a = predicted->passes, *b = measured->passes;
    if (comparison->n_passes < 2)
        return;
    snprintf(text, sizeof text,
             "The backward pass takes %.2f x the forward one (%s) and %.2f x (%s). Exposed at most: forward "
             "%s and "
             "%s, backward %s and %s. Sent by a rank: forward %s, backward %s.",
             tool_passes_ratio(predicted), sides.first, tool_passes_ratio(measured), sides.second,
             TIME(a[0].exposed_s), TIME(b[0].exposed_s), TIME(a[1].exposed_s), TIME(b[1].exposed_s),
             tool_figure(TOOL_BYTES, b[0].bytes_sent).text, tool_figure(TOOL_BYTES, b[1].bytes_sent).text);
    tool_report_wrapped(text, 2, file);
}

static bool has_note(const struct tool_result *result, const char *note)
{
    for (size_t i = 0; i < result->n_notes; i++)
        if (strcmp(result->notes[i], note) == 0)
            return true;
    return false;
}

/* What holds for both is said once. */
static void print_notes(const struct tool_result *predicted, const struct tool_result *measured,
                        struct sides sides, FILE *file)
{
    const struct tool_result *const results[] = {predicted, measured};
    const char *const names[] = {sides.first, sides.second};
    char text[1024];
    for (int i = 0; i < 2; i++) {
        for (size_t j = 0; j < results[i]->n_notes; j++) {
            const char *note = results[i]->notes[j];
            bool shared = has_note(results[1 - i], note);
            if (shared && i == 1)
                continue;
            snprintf(text, sizeof text, "note%s%s%s: %s", shared ? "" : " (", shared ? "" : names[i],
                     shared ? "" : ")", note);
            tool_report_wrapped(text, 2, file);
        }
    }
}

enum ring_status tool_compare_print(const struct tool_result *predicted, const struct tool_result *measured,
                                    const struct tool_comparison *comparison, FILE *file,
                                    struct ring_error *error)
{
    struct sides sides = name_sides(predicted, measured);
    struct tool_style style = tool_style_for(file);
    char sentence[512];
    fprintf(file, "%s%s: %s%s\n", style.bold, sides.first, predicted->question.name, style.off);
    tool_report_question(predicted, file);
    fprintf(file, "%s%s: %s%s\n", style.bold, sides.second, measured->question.name, style.off);
    tool_report_question(measured, file);
    if (comparison->different != NULL)
        fprintf(file, "  %snote: the two differ in what was asked (%s)%s\n", style.bad, comparison->different,
                style.off);
    fputc('\n', file);
    struct tool_unit unit = choose_unit(comparison);
    if (print_totals(comparison, sides, unit, file) != RING_OK ||
        (comparison->steps != NULL && print_steps(comparison, sides, unit, file) != RING_OK))
        return ring_fail(error, RING_NO_MEMORY, "out of memory for the table");
    tool_compare_sentence(predicted, measured, comparison, sentence, sizeof sentence);
    fputc('\n', file);
    tool_report_wrapped(sentence, 2, file);
    print_passes(predicted, measured, comparison, sides, file);
    if (measured->n_repeats > 0) {
        struct tool_spread spread = tool_result_spread(measured);
        fprintf(file, "  Measured %zu times: %s to %s, median %s.\n", measured->n_repeats, TIME(spread.min_s),
                TIME(spread.max_s), TIME(spread.median_s));
    }
    print_drift(predicted, measured, file);
    print_notes(predicted, measured, sides, file);
    return RING_OK;
}
