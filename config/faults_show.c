/* SPDX-License-Identifier: MIT
 *
 * A scenario's faults, written back. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "config/faults.h"
#include "config/quantity.h"

static void write_time(FILE *file, const char *key, double seconds)
{
    char text[64];

    config_quantity_format(seconds, CONFIG_SECONDS, text, sizeof text);
    fprintf(file, ", %s: %s", key, text);
}

/* Not by way of a percentage, whose rounding would not come back. */
static void write_share(FILE *file, const char *key, double value, const char *unit)
{
    int digits = 6;
    char text[40];

    for (; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fprintf(file, ", %s: %s%s", key, text, unit);
}

/* The percentage that reads as this share again. */
static double as_percent(double share)
{
    double value = share * 100;

    for (int i = 0; i < 8 && value * 0.01 != share; i++)
        value = nextafter(value, value * 0.01 < share ? INFINITY : 0);
    return value;
}

static void write_fault(FILE *file, const struct model_fault *fault)
{
    bool dies = fault->kind == MODEL_FAULT_DEVICE_DIES || fault->kind == MODEL_FAULT_LINK_DIES;

    fprintf(file, "  - {%s: \"%s\"", model_fault_of_device(fault) ? "device" : "link", fault->subject);
    switch (fault->kind) {
    case MODEL_FAULT_SLOW:
        write_share(file, "slow", fault->amount, "x");
        break;
    case MODEL_FAULT_JITTER:
        write_share(file, "jitter", as_percent(fault->amount), " %");
        break;
    case MODEL_FAULT_BANDWIDTH:
        write_share(file, "bandwidth", as_percent(fault->amount), " %");
        break;
    case MODEL_FAULT_LATENCY:
        write_time(file, "latency", fault->amount);
        break;
    case MODEL_FAULT_FLAP:
        fputs(", flap: {", file);
        char period[64], down[64];
        config_quantity_format(fault->period_s, CONFIG_SECONDS, period, sizeof period);
        config_quantity_format(fault->down_s, CONFIG_SECONDS, down, sizeof down);
        fprintf(file, "period: %s, down: %s}", period, down);
        break;
    default:
        write_time(file, "dies", fault->from_s);
        break;
    }
    if (!dies && fault->from_s > 0)
        write_time(file, "from", fault->from_s);
    if (!dies && !isinf(fault->to_s))
        write_time(file, "to", fault->to_s);
    fputs("}\n", file);
}

void config_show_faults(const struct model_faults *faults, FILE *file)
{
    if (faults->n == 0)
        return;
    fputs("faults:\n", file);
    for (size_t i = 0; i < faults->n; i++)
        write_fault(file, &faults->items[i]);
    fprintf(file, "fault_seed: %" PRIu64 "\n", faults->seed);
}
