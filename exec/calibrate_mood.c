/* SPDX-License-Identifier: MIT
 *
 * A shared machine is now faster, now slower, for tens of seconds. What it was like at any moment is read off
 * reference blocks that were timed all through the calibration. */
#include "exec/calibration.h"

enum { REACH = 2 }; /* neighbours on either side */

void exec_mood_smooth(struct exec_mood *moods, size_t n)
{
    double raw[2 * REACH + 1] = {0}; /* the last ratios that are overwritten already, by number */

    for (size_t i = 0; i < n; i++) {
        double near[2 * REACH + 1];
        size_t first = i < REACH ? 0 : i - REACH, last = i + REACH < n ? i + REACH : n - 1;
        raw[i % (2 * REACH + 1)] = moods[i].ratio;
        for (size_t j = first; j <= last; j++)
            near[j - first] = j <= i ? raw[j % (2 * REACH + 1)] : moods[j].ratio;
        moods[i].ratio = exec_median(near, last - first + 1);
    }
}

double exec_mood_at(const struct exec_mood *moods, size_t n, double at_s)
{
    size_t low = 0, high = n;

    if (n == 0)
        return 1;
    while (low < high) { /* the first that is later */
        size_t middle = low + (high - low) / 2;
        if (moods[middle].at_s > at_s)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == 0)
        return moods[0].ratio;
    if (low == n)
        return moods[n - 1].ratio;
    const struct exec_mood *before = &moods[low - 1], *after = &moods[low];
    double along = (at_s - before->at_s) / (after->at_s - before->at_s);
    return before->ratio + along * (after->ratio - before->ratio);
}
