/* SPDX-License-Identifier: MIT
 *
 * Blame in words: the verdict of a step that somebody is to blame for, a note for each fault, for the way on
 * which the time passes, and for how the delay travels. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/blame.h"
#include "tools/fault_words.h"
#include "tools/result.h"
#include "tools/setup.h"
#include "tools/units.h"

enum { MOST_NOTED = 8, LINE = 768 };

#define TIME(seconds) tool_figure(TOOL_SECONDS, seconds).text

/* Appends to a line as long as there is room. */
static void add(char *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(char *line, const char *format, ...)
{
    size_t used = strlen(line);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line + used, LINE - used, format, arguments);
    va_end(arguments);
}

static bool is_of(const struct model_fault *fault, const struct tool_culprit *culprit)
{
    return model_fault_of_device(fault) == culprit->device && strcmp(fault->subject, culprit->name) == 0;
}

static bool has_fault(const struct tool_culprit *culprit, const struct model_faults *faults)
{
    for (size_t i = 0; i < faults->n; i++)
        if (is_of(&faults->items[i], culprit))
            return true;
    return false;
}

/* What is wrong with a culprit: its faults, or that it differs from its like. */
static void say_why(const struct tool_culprit *culprit, const struct model_faults *faults, char *line)
{
    char text[256];
    bool first = true;

    for (size_t i = 0; i < faults->n; i++) {
        const struct model_fault *fault = &faults->items[i];
        if (!is_of(fault, culprit))
            continue;
        tool_fault_words(fault, text, sizeof text);
        add(line, "%s%s", first ? "" : " and ", text);
        first = false;
    }
    if (first)
        add(line, "%s than its like in this cluster", culprit->device ? "is slower" : "is thinner or later");
}

/* How much of the rest each one after the first costs. */
static void say_others(const struct tool_result *result, char *line)
{
    const struct tool_blame *blame = &result->blame;

    for (size_t i = 1; i < blame->n_culprits; i++)
        add(line, " Then %s costs %s more.", blame->culprits[i].name, TIME(blame->culprits[i].saves_s));
}

/* No one's repair saves much by itself. */
static void say_together(const struct tool_result *result, char *line)
{
    const struct tool_blame *blame = &result->blame;

    for (size_t i = 0; i < blame->n_culprits; i++)
        add(line, "%s%s", i == 0 ? "" : i + 1 < blame->n_culprits ? ", " : " and ", blame->culprits[i].name);
    add(line,
        " hide each other: repairing one alone saves next to nothing, all of them %s of the %s step (%s).",
        TIME(result->time_s - blame->healed_s), TIME(result->time_s),
        tool_percent(1 - blame->healed_s / result->time_s).text);
}

static enum tool_limit limit_of(const struct tool_result *result, const struct model_faults *faults)
{
    const struct tool_culprit *culprit = &result->blame.culprits[0];
    bool late = false;

    if (culprit->device)
        return TOOL_LIMIT_STRAGGLER;
    if (result->verdict.limit == TOOL_LIMIT_LATENCY)
        return TOOL_LIMIT_LATENCY;
    for (size_t i = 0; i < faults->n; i++)
        if (strcmp(faults->items[i].subject, culprit->name) == 0) {
            if (faults->items[i].kind != MODEL_FAULT_LATENCY)
                return TOOL_LIMIT_NETWORK;
            late = true;
        }
    return late ? TOOL_LIMIT_LATENCY : TOOL_LIMIT_NETWORK;
}

static void say_verdict(struct tool_result *result, const struct model_faults *faults)
{
    const struct tool_culprit *culprit = &result->blame.culprits[0];
    struct tool_verdict *verdict = &result->verdict;
    bool named = verdict->culprit != NULL && strcmp(verdict->culprit, culprit->name) == 0;
    char line[LINE] = "";

    if (named)
        add(line, "%s ", verdict->text);
    if (culprit->saves_s < 0.01 * result->time_s) {
        say_together(result, line);
    } else if (named) {
        if (has_fault(culprit, faults)) { /* the text above takes the link as it is */
            add(line, "By a fault, %s ", culprit->name);
            say_why(culprit, faults, line);
            add(line, ". ");
        }
        add(line, "Played again with it repaired, the step takes %s: %s less (%s).",
            TIME(result->time_s - culprit->saves_s), TIME(culprit->saves_s),
            tool_percent(culprit->saves_s / result->time_s).text);
        say_others(result, line);
    } else {
        add(line, "%s ", culprit->name);
        say_why(culprit, faults, line);
        add(line, ", which costs %s of the %s step (%s). Played again with it repaired, the step takes %s.",
            TIME(culprit->saves_s), TIME(result->time_s),
            tool_percent(culprit->saves_s / result->time_s).text, TIME(result->time_s - culprit->saves_s));
        say_others(result, line);
    }
    const char *text = tool_result_keep(result, "%s", line);
    *verdict = (struct tool_verdict){limit_of(result, faults), culprit->name, text};
}

static void note_path(struct tool_result *result)
{
    const struct model_path *path = &result->blame.path;
    char line[LINE] = "critical path: ";

    for (size_t i = 0; i < path->n_parts && i < MOST_NOTED; i++) {
        const struct model_path_part *part = &path->parts[i];
        uint32_t n = part->last_step - part->first_step + 1;
        const char *separator = i == 0 ? "" : ", ";
        if (part->kind == MODEL_PATH_COMPUTE)
            add(line, "%srank %" PRIu32 " computes %" PRIu32 " step%s (%s)", separator, part->rank, n,
                n == 1 ? "" : "s", TIME(part->end_s - part->begin_s));
        else
            add(line, "%s%" PRIu32 " message%s %" PRIu32 " -> %" PRIu32 " (%s)", separator, n,
                n == 1 ? "" : "s", part->rank, part->peer, TIME(part->end_s - part->begin_s));
    }
    if (path->n_parts > MOST_NOTED)
        add(line, " and %zu more parts", path->n_parts - MOST_NOTED);
    if (path->n_parts > 0)
        tool_result_note(result, "%s", line);
}

static void note_wave(struct tool_result *result)
{
    char line[LINE] = "the delay is felt by ";
    uint32_t n_steps_noted = 0;

    for (uint32_t step = 0; step < result->n_steps && n_steps_noted < MOST_NOTED; step++) {
        uint32_t n = 0;
        for (uint32_t rank = 0; rank < result->n_ranks; rank++) {
            if (result->blame.wave[rank] != step)
                continue;
            if (n == 0)
                add(line, "%s", n_steps_noted == 0 ? "rank " : "; ");
            add(line, "%s%" PRIu32, n == 0 ? "" : ", ", rank);
            n++;
        }
        if (n == 0)
            continue;
        add(line, " in step %" PRIu32, step);
        n_steps_noted++;
    }
    if (n_steps_noted > 0)
        tool_result_note(result, "%s", line);
}

void tool_blame_say(struct tool_result *result, const struct tool_setup *setup)
{
    const struct model_faults *faults = &setup->scenario->faults;

    if (result->blame.n_culprits == 0)
        return;
    if (result->verdict.limit != TOOL_LIMIT_MEMORY)
        say_verdict(result, faults);
    note_path(result);
    if (result->blame.wave != NULL)
        note_wave(result);
}
