/* SPDX-License-Identifier: MIT
 *
 * See fault_words.h. */
#include "tools/fault_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/result.h"
#include "tools/result_json.h"
#include "tools/units.h"

#define TIME(seconds) tool_figure(TOOL_SECONDS, seconds).text

void tool_fault_words(const struct model_fault *fault, char *text, size_t size)
{
    char what[160], when[96] = "";
    bool dies = fault->kind == MODEL_FAULT_DEVICE_DIES || fault->kind == MODEL_FAULT_LINK_DIES;

    switch (fault->kind) {
    case MODEL_FAULT_SLOW:
        snprintf(what, sizeof what, "computes %.4g x as long", fault->amount);
        break;
    case MODEL_FAULT_JITTER:
        snprintf(what, sizeof what, "jitters by %.4g %%", 100 * fault->amount);
        break;
    case MODEL_FAULT_BANDWIDTH:
        snprintf(what, sizeof what, "has %.4g %% of its bandwidth", 100 * fault->amount);
        break;
    case MODEL_FAULT_LATENCY:
        snprintf(what, sizeof what, "is %s late", TIME(fault->amount));
        break;
    case MODEL_FAULT_FLAP:
        snprintf(what, sizeof what, "is down for %s of every %s", TIME(fault->down_s), TIME(fault->period_s));
        break;
    default:
        snprintf(what, sizeof what, "dies at %s", TIME(fault->from_s));
        break;
    }
    if (!dies && fault->from_s > 0 && !isinf(fault->to_s))
        snprintf(when, sizeof when, " from %s to %s", TIME(fault->from_s), TIME(fault->to_s));
    else if (!dies && fault->from_s > 0)
        snprintf(when, sizeof when, " from %s on", TIME(fault->from_s));
    else if (!dies && !isinf(fault->to_s))
        snprintf(when, sizeof when, " until %s", TIME(fault->to_s));
    snprintf(text, size, "%s%s", what, when);
}

/* In the fewest digits that give the same double again, times scale and with what follows it. */
static json_t *text_of(double value, const char *unit)
{
    char text[64];

    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    strcat(text, unit);
    return json_string(text);
}

static json_t *fault_json(const struct model_fault *fault)
{
    bool dies = fault->kind == MODEL_FAULT_DEVICE_DIES || fault->kind == MODEL_FAULT_LINK_DIES;
    json_t *object = json_pack("{ss}", model_fault_of_device(fault) ? "device" : "link", fault->subject);
    const char *key = model_fault_names[fault->kind];

    if (dies)
        json_object_set_new(object, key, text_of(fault->from_s, " s"));
    else if (fault->kind == MODEL_FAULT_FLAP)
        json_object_set_new(object, key,
                            json_pack("{so so}", "period", text_of(fault->period_s, " s"), "down",
                                      text_of(fault->down_s, " s")));
    else if (fault->kind == MODEL_FAULT_SLOW)
        json_object_set_new(object, key, text_of(fault->amount, "x"));
    else if (fault->kind == MODEL_FAULT_LATENCY)
        json_object_set_new(object, key, text_of(fault->amount, " s"));
    else
        json_object_set_new(object, key, text_of(fault->amount * 100, " %"));
    if (!dies && fault->from_s > 0)
        json_object_set_new(object, "from", text_of(fault->from_s, " s"));
    if (!dies && !isinf(fault->to_s))
        json_object_set_new(object, "to", text_of(fault->to_s, " s"));
    return object;
}

json_t *tool_faults_json(const struct model_faults *faults)
{
    json_t *list = json_array();

    for (size_t i = 0; i < faults->n; i++)
        json_array_append_new(list, fault_json(&faults->items[i]));
    return list;
}

const char *tool_faults_keep(struct tool_result *result, const struct model_faults *faults)
{
    json_t *list = tool_faults_json(faults);
    const char *kept = tool_json_keep(result, list);

    json_decref(list);
    return kept;
}

enum { MOST_NOTED = 8 };

void tool_faults_note(struct tool_result *result, const struct model_faults *faults)
{
    char text[256];

    for (size_t i = 0; i < faults->n && i < MOST_NOTED; i++) {
        tool_fault_words(&faults->items[i], text, sizeof text);
        tool_result_note(result, "fault: %s %s", faults->items[i].subject, text);
    }
    if (faults->n > MOST_NOTED)
        tool_result_note(result, "and %zu more faults", faults->n - MOST_NOTED);
}
