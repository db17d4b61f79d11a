/* SPDX-License-Identifier: MIT
 *
 * Numbers as people read them. Inside everything is SI; here a figure gets the unit that makes it short: 2.56
 * ms, 235 MB, 25.0 GB/s, 413 TFLOP/s. A column of a table shares one unit, chosen by its largest value. */
#ifndef TOOL_UNITS_H
#define TOOL_UNITS_H

enum tool_quantity { TOOL_SECONDS, TOOL_BYTES, TOOL_BYTES_PER_S, TOOL_FLOP_PER_S, TOOL_PER_S };

/* A value in this unit is the SI value divided by size. name is a constant. */
struct tool_unit {
    const char *name;
    double size;
};

/* The unit in which largest (its sign is ignored) has one to three digits before the point. */
struct tool_unit tool_unit_for(enum tool_quantity quantity, double largest);

/* Room for any figure that tool_figure writes. */
struct tool_figure {
    char text[32];
};

/* The value with four significant digits and its own unit, for a sentence: "10.99 ms". An infinite value is
 * "unlimited", a NaN "unknown". Returned by value, so that several fit into one printf. */
struct tool_figure tool_figure(enum tool_quantity quantity, double value);

/* The value in a given unit with so many decimals and without the unit's name, for a column. */
struct tool_figure tool_figure_in(struct tool_unit unit, double value, int decimals);

/* A share as a percentage, "43 %"; below 10 % with one decimal. */
struct tool_figure tool_percent(double share);

/* A signed difference as a percentage, "+3.2 %"; "-" where it is not finite. */
struct tool_figure tool_signed_percent(double share);

/* A signed difference in a given unit, "+2.108"; without a sign where it rounds to zero. */
struct tool_figure tool_signed_in(struct tool_unit unit, double value, int decimals);

#endif
