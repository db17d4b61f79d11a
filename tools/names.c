/* SPDX-License-Identifier: MIT
 *
 * Optimal string alignment distance (Damerau 1964, Levenshtein 1966, each pair of letters swapped at most
 * once). */
#include "tools/names.h"

#include <string.h>

enum { MAX_LETTERS = 40 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t tool_name_distance(const char *one, const char *other)
{
    size_t n = strlen(one), m = strlen(other);
    size_t cost[MAX_LETTERS + 1][MAX_LETTERS + 1];
    if (n > MAX_LETTERS || m > MAX_LETTERS)
        return n + m;
    for (size_t i = 0; i <= n; i++)
        cost[i][0] = i;
    for (size_t j = 0; j <= m; j++)
        cost[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            size_t best = smaller(cost[i - 1][j], cost[i][j - 1]) + 1;
            best = smaller(best, cost[i - 1][j - 1] + (one[i - 1] != other[j - 1]));
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
                best = smaller(best, cost[i - 2][j - 2] + 1);
            cost[i][j] = best;
        }
    }
    return cost[n][m];
}

const char *tool_name_nearest(const char *word, const char *const *names)
{
    const char *nearest = NULL;
    size_t best = 0;
    for (size_t i = 0; names[i] != NULL; i++) {
        size_t distance = tool_name_distance(word, names[i]);
        size_t allowed = strlen(names[i]) / 3 > 1 ? strlen(names[i]) / 3 : 1;
        if (distance <= allowed && (nearest == NULL || distance < best)) {
            nearest = names[i];
            best = distance;
        }
    }
    return nearest;
}
