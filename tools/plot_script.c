/* SPDX-License-Identifier: MIT
 *
 * See plot.h. The colours are those of Okabe and Ito ("Color Universal Design", 2008), which stay apart for
 * readers who see fewer colours; waiting is a light grey, since nothing happens in it. */
#include "tools/plot.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/units.h"

enum part { COMPUTE, WAIT, TRANSFER, OVERHEAD, N_PARTS }; /* in drawing order */

/* What is drawn in one colour: the parts, and where a step has two passes the second one's computing. */
enum { BACKWARD = N_PARTS, N_SERIES };
static const char *const series_names[N_SERIES] = {"compute", "wait for a peer", "transfer", "overhead",
                                                   "compute, backward"};
static const char *const series_colours[N_SERIES] = {"#0072B2", "#D4D8DC", "#E69F00", "#CC79A7", "#56B4E9"};

enum {
    WIDTH = 1200,
    LEFT = 150, /* room for names, in pixels */
    RIGHT = 30,
    PANEL_TOP = 62,
    PANEL_BOTTOM = 34,
    LEGEND = 70,
    MAX_ROWS_HEIGHT = 1600,
    NUMBERED_STEPS = 16,
};

struct bar {
    double begin_s, parts[N_PARTS];
};

static struct bar step_bar(const struct ring_parts *parts)
{
    return (struct bar){parts->begin_s,
                        {parts->compute_s, parts->wait_s, parts->transfer_s, parts->overhead_s}};
}

static struct bar rank_bar(const struct tool_rank *rank)
{
    return (struct bar){0, {rank->compute_s, rank->wait_s, rank->transfer_s, rank->overhead_s}};
}

static uint32_t bars_of_rank(const struct tool_result *result)
{
    return result->steps != NULL ? result->n_steps : 1;
}

static struct bar bar_at(const struct tool_result *result, uint32_t rank, uint32_t index)
{
    if (result->steps == NULL)
        return rank_bar(&result->ranks[rank]);
    return step_bar(&result->steps[(size_t)rank * result->n_steps + index]);
}

/* Whether a step is one of the second of two passes. */
static bool in_second_pass(const struct tool_result *result, uint32_t index)
{
    return result->n_passes > 1 && result->steps != NULL && index >= result->passes[1].first_step;
}

/* A text between gnuplot's single quotes, in which only the quote itself is special. */
static void write_quoted(const char *text, FILE *script)
{
    fputc('\'', script);
    for (; text != NULL && *text != '\0'; text++) {
        if (*text == '\'')
            fputc('\'', script);
        fputc((unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text, script);
    }
    fputc('\'', script);
}

/* Rows "from to bottom top" of one part, in the unit of the axis. Something narrower than a hundredth of a
 * pixel is left out. A step's computing begins a pixel late where there is room, so that steps can be told
 * apart without a border, which would hide what is thin. */
static void write_boxes(const struct tool_result *result, int series, struct tool_unit unit, double longest_s,
                        size_t panel, FILE *script)
{
    enum part part = series == BACKWARD ? COMPUTE : (enum part)series;
    double half = result->n_ranks <= 32 ? 0.4 : 0.46, pixel_s = longest_s / (WIDTH - LEFT - RIGHT);
    fprintf(script, "$p%zu_%d << EOD\n", panel, series);
    for (uint32_t rank = 0; rank < result->n_ranks; rank++) {
        for (uint32_t i = 0; i < bars_of_rank(result); i++) {
            struct bar bar = bar_at(result, rank, i);
            double from_s = bar.begin_s;
            if (part == COMPUTE && in_second_pass(result, i) != (series == BACKWARD))
                continue;
            for (enum part before = 0; before < part; before++)
                from_s += bar.parts[before];
            double gap_s = part == COMPUTE && i > 0 && bar.parts[part] > 6 * pixel_s ? pixel_s : 0;
            if (bar.parts[part] > 0.01 * pixel_s)
                fprintf(script, "%.9g %.9g %.9g %.9g\n", (from_s + gap_s) / unit.size,
                        (from_s + bar.parts[part]) / unit.size, rank - half, rank + half);
        }
    }
    /* gnuplot complains of a block without rows. */
    fprintf(script, "NaN NaN NaN NaN\nEOD\n");
}

static double rows_height(const struct tool_result *result)
{
    double row = result->n_ranks <= 8 ? 30 : result->n_ranks <= 16 ? 24 : result->n_ranks <= 32 ? 16 : 12;
    return fmin(fmax(row * result->n_ranks, 60), MAX_ROWS_HEIGHT);
}

/* The numbers of the steps inside their computing, where they fit. */
static void write_step_numbers(const struct tool_result *result, struct tool_unit unit, double longest_s,
                               FILE *script)
{
    if (result->steps == NULL || result->n_steps > result->n_passes * (NUMBERED_STEPS + 1) ||
        result->n_ranks > NUMBERED_STEPS)
        return;
    for (uint32_t rank = 0; rank < result->n_ranks; rank++) {
        for (uint32_t i = 0; i < result->n_steps; i++) {
            struct bar bar = bar_at(result, rank, i);
            bool second = in_second_pass(result, i);
            if (bar.parts[COMPUTE] * (WIDTH - LEFT - RIGHT) > 16 * longest_s)
                fprintf(
                    script,
                    "set label '%" PRIu32 "' at %.9g,%" PRIu32 " center front font ',9' textcolor rgb '%s'\n",
                    second ? i - result->passes[1].first_step : i,
                    (bar.begin_s + bar.parts[COMPUTE] / 2) / unit.size, rank, second ? "#202428" : "#FFFFFF");
        }
    }
}

static void write_rank_names(const struct tool_result *result, FILE *script)
{
    uint32_t every = result->n_ranks <= 32 ? 1 : result->n_ranks <= 64 ? 4 : (result->n_ranks + 15) / 16;
    fprintf(script, "set ytics (");
    for (uint32_t rank = 0; rank < result->n_ranks; rank += every) {
        char name[64];
        snprintf(name, sizeof name, "%.40s  %" PRIu32, result->ranks[rank].device, rank);
        if (result->n_ranks > 16)
            snprintf(name, sizeof name, "rank %" PRIu32, rank);
        fprintf(script, "%s", rank == 0 ? "" : ", ");
        write_quoted(name, script);
        fprintf(script, " %" PRIu32, rank);
    }
    fprintf(script, ") scale 0\n");
}

/* Two lines above a panel: what it is, and where the time of the mean rank went. */
static void write_title(const struct tool_result *result, FILE *script)
{
    double shares[N_PARTS] = {0};
    char first[512], second[512], passes[128] = "";
    for (uint32_t rank = 0; rank < result->n_ranks; rank++) {
        struct bar bar = rank_bar(&result->ranks[rank]);
        for (enum part part = 0; part < N_PARTS; part++)
            shares[part] += bar.parts[part] / result->n_ranks / result->time_s;
    }
    if (result->n_passes > 1)
        snprintf(passes, sizeof passes, ": forward %s, backward %s",
                 tool_figure(TOOL_SECONDS, result->passes[0].time_s).text,
                 tool_figure(TOOL_SECONDS, result->passes[1].time_s).text);
    snprintf(first, sizeof first, "%.200s: %s %s (%s)%s", result->question.name,
             result->n_repeats > 0 ? "measured" : "predicted", tool_figure(TOOL_SECONDS, result->time_s).text,
             result->world, passes);
    snprintf(second, sizeof second,
             "limit: %s%s%.80s; mean rank: compute %s, transfer %s, wait %s, overhead %s%s",
             tool_limit_names[result->verdict.limit], result->verdict.culprit != NULL ? ", " : "",
             result->verdict.culprit != NULL ? result->verdict.culprit : "",
             tool_percent(shares[COMPUTE]).text, tool_percent(shares[TRANSFER]).text,
             tool_percent(shares[WAIT]).text, tool_percent(shares[OVERHEAD]).text,
             result->steps == NULL ? "; sums of each rank, not in order" : "");
    fprintf(script, "set label 1 ");
    write_quoted(first, script);
    fprintf(script,
            " at graph 0, graph 1 left offset 0,2.1 font ',13' textcolor rgb '#202428'\nset label 2 ");
    write_quoted(second, script);
    fprintf(script, " at graph 0, graph 1 left offset 0,0.8 font ',10' textcolor rgb '#505860'\n");
}

/* Where a panel stands, in shares of the picture's height from below. */
struct place {
    double bottom, top;
    bool last;
};

static void write_panel(const struct tool_result *result, size_t panel, struct place place,
                        struct tool_unit unit, double longest_s, int n_series, FILE *script)
{
    fprintf(script, "unset label\nset bmargin at screen %.6f\nset tmargin at screen %.6f\n", place.bottom,
            place.top);
    fprintf(script, "set yrange [%.2f:-0.6]\n", result->n_ranks - 0.4);
    write_rank_names(result, script);
    write_title(result, script);
    write_step_numbers(result, unit, longest_s, script);
    if (place.last)
        fprintf(script,
                "set xlabel 'time since the start (%s)' offset 0,0.3\nset key at screen 0.5, screen 0.015 "
                "center bottom horizontal maxrows 1 reverse Left samplen 1.6 width 2\n",
                unit.name);
    else
        fprintf(script, "unset xlabel\nunset key\n");
    fprintf(script, "plot ");
    for (int series = 0; series < n_series; series++) {
        fprintf(
            script,
            "%s$p%zu_%d using 1:3:1:2:3:4 with boxxyerror fillstyle solid 1.0 noborder linecolor rgb '%s' "
            "title '%s'",
            series == 0 ? "" : ", \\\n     ", panel, series, series_colours[series], series_names[series]);
    }
    fprintf(script, "\n");
}

static void write_terminal(const struct tool_plot *plot, double height, FILE *script)
{
    if (plot->svg)
        fprintf(script,
                "set terminal svg size %d,%.0f dynamic noenhanced background rgb 'white' font "
                "'DejaVu Sans,Verdana,Arial,sans-serif,11'\n",
                WIDTH, height);
    else
        fprintf(
            script,
            "set terminal pngcairo size %d,%.0f noenhanced background rgb 'white' font 'DejaVu Sans,11'\n",
            WIDTH, height);
    fprintf(script, "set output ");
    write_quoted(plot->output, script);
    fputc('\n', script);
}

void tool_plot_script(const struct tool_plot *plot, FILE *script)
{
    double longest_s = 0, height = LEGEND;
    int n_series = N_PARTS; /* the colour of the second pass, only if somebody has one */
    for (size_t i = 0; i < plot->n_results; i++) {
        if (plot->results[i].n_passes > 1 && plot->results[i].steps != NULL)
            n_series = N_SERIES;
        longest_s = fmax(longest_s, plot->results[i].time_s);
        height += PANEL_TOP + rows_height(&plot->results[i]) + PANEL_BOTTOM;
    }
    if (!(longest_s > 0))
        longest_s = 1e-9; /* an empty axis cannot be drawn */
    struct tool_unit unit = tool_unit_for(TOOL_SECONDS, longest_s);
    for (size_t i = 0; i < plot->n_results; i++)
        for (int series = 0; series < n_series; series++)
            write_boxes(&plot->results[i], series, unit, longest_s, i, script);
    write_terminal(plot, height, script);
    fprintf(script,
            "set encoding utf8\nset multiplot\nset lmargin at screen %.6f\nset rmargin at screen %.6f\n"
            "set xrange [0:%.9g]\nset border 1 linecolor rgb '#808890'\nset tics nomirror textcolor rgb "
            "'#303840'\n"
            "set xtics out scale 0.5\nset grid xtics back linetype 1 linewidth 0.6 linecolor rgb '#E4E8EC'\n",
            (double)LEFT / WIDTH, 1 - (double)RIGHT / WIDTH, longest_s * 1.01 / unit.size);
    double from_top = 0;
    for (size_t i = 0; i < plot->n_results; i++) {
        double rows = rows_height(&plot->results[i]);
        struct place place = {.top = 1 - (from_top + PANEL_TOP) / height,
                              .bottom = 1 - (from_top + PANEL_TOP + rows) / height,
                              .last = i + 1 == plot->n_results};
        write_panel(&plot->results[i], i, place, unit, longest_s, n_series, script);
        from_top += PANEL_TOP + rows + PANEL_BOTTOM;
    }
    fprintf(script, "unset multiplot\nset output\n");
}
