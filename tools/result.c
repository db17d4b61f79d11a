/* SPDX-License-Identifier: MIT
 *
 * Memory and sums of a result. */
#include "tools/result.h"
#include "tools/sort.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define TOOL_LIMIT_TEXT(name, text) text,
const char *const tool_limit_names[TOOL_N_LIMITS] = {TOOL_LIMITS(TOOL_LIMIT_TEXT)};
#undef TOOL_LIMIT_TEXT

void tool_result_init(struct tool_result *result)
{
    memset(result, 0, sizeof *result);
}

void tool_result_fini(struct tool_result *result)
{
    for (size_t i = 0; i < result->n_strings; i++)
        free(result->strings[i]);
    free(result->strings);
    free(result->notes);
    free(result->repeats_s);
    free(result->ranks);
    free(result->steps);
    free(result->links);
    tool_blame_fini(&result->blame);
    memset(result, 0, sizeof *result);
}

/* Takes text over. Names come from files and go to terminals: control characters do not survive. */
static const char *own(struct tool_result *result, char *text)
{
    for (char *at = text; at != NULL && *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
    size_t n = result->n_strings;
    char **strings = text == NULL ? NULL : realloc(result->strings, (n + 1) * sizeof *strings);
    if (strings == NULL) {
        free(text);
        return NULL;
    }
    result->strings = strings;
    result->strings[result->n_strings++] = text;
    return text;
}

const char *tool_result_keep(struct tool_result *result, const char *format, ...)
{
    va_list arguments;
    char *text;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    return own(result, text);
}

void tool_result_note(struct tool_result *result, const char *format, ...)
{
    va_list arguments;
    char *text;
    const char **notes = realloc(result->notes, (result->n_notes + 1) * sizeof *notes);
    if (notes == NULL)
        return;
    result->notes = notes;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    if (own(result, text) != NULL)
        result->notes[result->n_notes++] = text;
}

enum ring_status tool_result_allocate(struct tool_result *result, uint32_t n_ranks, uint32_t n_steps,
                                      bool with_steps, struct ring_error *error)
{
    result->n_ranks = n_ranks;
    result->n_steps = n_steps;
    result->ranks = calloc(n_ranks, sizeof *result->ranks);
    if (with_steps && n_steps > 0)
        result->steps = calloc((size_t)n_ranks * n_steps, sizeof *result->steps);
    if (result->ranks == NULL || (with_steps && n_steps > 0 && result->steps == NULL))
        return ring_fail(error, RING_NO_MEMORY, "out of memory for the result of %u ranks and %u steps",
                         n_ranks, n_steps);
    return RING_OK;
}

double tool_result_exposed_s(const struct tool_result *result)
{
    double worst = 0;
    for (uint32_t rank = 0; rank < result->n_ranks; rank++)
        worst = fmax(worst, result->ranks[rank].transfer_s);
    return worst;
}

double tool_result_overlap(const struct tool_result *result)
{
    double exposed = 0;
    for (uint32_t rank = 0; rank < result->n_ranks; rank++)
        exposed += result->ranks[rank].transfer_s;
    if (!(result->moving_s > 0))
        return (double)NAN;
    return fmin(fmax(1 - exposed / result->moving_s, 0), 1);
}

double tool_result_tokens_per_s(const struct tool_result *result)
{
    const struct ring_problem *problem = &result->question.plan.problem;
    return (double)problem->tokens * problem->batch / result->time_s;
}

struct tool_spread tool_result_spread(const struct tool_result *result)
{
    size_t n = result->n_repeats;
    struct tool_spread spread = {result->time_s, result->time_s, result->time_s};
    double *sorted = malloc(n * sizeof *sorted);
    if (sorted == NULL || n == 0) {
        free(sorted);
        return spread;
    }
    memcpy(sorted, result->repeats_s, n * sizeof *sorted);
    tool_sort(sorted, n);
    spread.min_s = sorted[0];
    spread.median_s = sorted[(n - 1) / 2]; /* one that took place: it is shown */
    spread.max_s = sorted[n - 1];
    free(sorted);
    return spread;
}
