/* SPDX-License-Identifier: MIT
 *
 * The lists of units and the choice among them. Only decimal multiples: the formats of the project say MB,
 * not MiB. */
#include "tools/units.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum { MAX_UNITS = 7 };

/* Ascending, each ended by a unit without a name. */
static const struct tool_unit units[][MAX_UNITS] = {
    [TOOL_SECONDS] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}},
    [TOOL_BYTES] = {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {NULL, 0}},
    [TOOL_BYTES_PER_S] = {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}, {NULL, 0}},
    [TOOL_FLOP_PER_S] = {{"FLOP/s", 1},
                         {"kFLOP/s", 1e3},
                         {"MFLOP/s", 1e6},
                         {"GFLOP/s", 1e9},
                         {"TFLOP/s", 1e12},
                         {"PFLOP/s", 1e15},
                         {NULL, 0}},
    [TOOL_PER_S] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {NULL, 0}},
};

/* What a quantity that is exactly zero is shown in. */
static const struct tool_unit zero_units[] = {
    [TOOL_SECONDS] = {"s", 1},         [TOOL_BYTES] = {"B", 1}, [TOOL_BYTES_PER_S] = {"B/s", 1},
    [TOOL_FLOP_PER_S] = {"FLOP/s", 1}, [TOOL_PER_S] = {"", 1},
};

struct tool_unit tool_unit_for(enum tool_quantity quantity, double largest)
{
    const struct tool_unit *list = units[quantity];
    double value = fabs(largest);
    size_t best = 0;
    if (!(value > 0) || isinf(value))
        return zero_units[quantity];
    /* 0.99995 and more would be rounded up to 1000 of the smaller unit. */
    while (list[best + 1].name != NULL && value >= 0.99995 * list[best + 1].size)
        best++;
    return list[best];
}

/* Decimals that give a value of one to three digits before the point four significant ones. */
static int four_digits(double scaled)
{
    double value = fabs(scaled);
    if (value < 9.9995)
        return 3;
    return value < 99.995 ? 2 : 1;
}

struct tool_figure tool_figure(enum tool_quantity quantity, double value)
{
    struct tool_figure figure;
    struct tool_unit unit = tool_unit_for(quantity, value);
    double scaled = value / unit.size;
    if (isnan(value) || isinf(value)) {
        snprintf(figure.text, sizeof figure.text, "%s", isnan(value) ? "unknown" : "unlimited");
        return figure;
    }
    /* Bytes and counts below a thousand are whole; zero needs no decimals. */
    int decimals = value == 0 || (unit.size == 1 && quantity == TOOL_BYTES) ? 0 : four_digits(scaled);
    if (fabs(scaled) >= 1e9)
        snprintf(figure.text, sizeof figure.text, "%.3e %s", scaled, unit.name);
    else
        snprintf(figure.text, sizeof figure.text, "%.*f%s%s", decimals, scaled,
                 unit.name[0] != '\0' ? " " : "", unit.name);
    return figure;
}

struct tool_figure tool_figure_in(struct tool_unit unit, double value, int decimals)
{
    struct tool_figure figure;
    if (isnan(value) || isinf(value))
        snprintf(figure.text, sizeof figure.text, "-");
    else if (fabs(value / unit.size) >= 1e12)
        snprintf(figure.text, sizeof figure.text, "%.3e", value / unit.size);
    else
        snprintf(figure.text, sizeof figure.text, "%.*f", decimals, value / unit.size);
    return figure;
}

struct tool_figure tool_percent(double share)
{
    struct tool_figure figure;
    double percent = 100 * share;
    if (isnan(percent) || isinf(percent))
        snprintf(figure.text, sizeof figure.text, "-");
    else
        snprintf(figure.text, sizeof figure.text, "%.*f %%",
                 fabs(percent) < 9.95 && fabs(percent) >= 0.05 ? 1 : 0, fabs(percent) < 0.05 ? 0 : percent);
    return figure;
}

struct tool_figure tool_signed_percent(double share)
{
    struct tool_figure figure;
    if (isnan(share) || isinf(share))
        snprintf(figure.text, sizeof figure.text, "-");
    else if (fabs(share) < 0.0005) /* a zero has no sign */
        snprintf(figure.text, sizeof figure.text, "0.0 %%");
    else
        snprintf(figure.text, sizeof figure.text, "%+.1f %%", 100 * share);
    return figure;
}

struct tool_figure tool_signed_in(struct tool_unit unit, double value, int decimals)
{
    struct tool_figure figure;
    double scaled = value / unit.size;
    if (isnan(value) || isinf(value))
        snprintf(figure.text, sizeof figure.text, "-");
    else if (fabs(scaled) < 0.5 * pow(10, -decimals))
        snprintf(figure.text, sizeof figure.text, "%.*f", decimals, 0.0);
    else
        snprintf(figure.text, sizeof figure.text, "%+.*f", decimals, scaled);
    return figure;
}
