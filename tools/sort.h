/* SPDX-License-Identifier: MIT
 *
 * Numbers in ascending order, for whoever looks for a median, a quantile or a worst. */
#ifndef TOOL_SORT_H
#define TOOL_SORT_H

#include <stdlib.h>

static inline int tool_compare_doubles(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* In place. No value may be NaN. */
static inline void tool_sort(double *values, size_t n)
{
    qsort(values, n, sizeof *values, tool_compare_doubles);
}

#endif
