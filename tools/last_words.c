/* SPDX-License-Identifier: MIT
 *
 * See last_words.h. A rank that fails by itself knows why; one that waited in vain knows where; one that was
 * stopped with the rest knows only what it did meanwhile, which is worth saying if a neighbour died. */
#include "tools/last_words.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 1024, ROOM = 600 };

/* What kind of line it is, the one that tells most first. */
enum kind { KIND_REASON, KIND_AT_A_HOP, KIND_WAITED, KIND_STOPPED };

void tool_last_words_of_rank(struct tool_last_words *words, const char *line)
{
    if (words->n_lines >= MOST_LINES)
        return;
    char(*lines)[TOOL_LAST_WORDS_LINE] = realloc(words->lines, (words->n_lines + 1) * sizeof *lines);
    if (lines == NULL)
        return;
    words->lines = lines;
    snprintf(lines[words->n_lines++], sizeof *lines, "%s", line);
}

/* mpirun frames its advice with dashes and blank lines and says that it stops because something stopped. */
static bool is_decoration(const char *line)
{
    if (strncmp(line, "Primary job ", 12) == 0 || strncmp(line, "a non-zero exit code.", 21) == 0)
        return true;
    return line[strspn(line, "-=* \t")] == '\0';
}

/* "... noticed that process rank 2 with PID 9 on node host exited on signal 9 (Killed).": newer ones break
 * it into lines where it gets long. */
static bool goes_on(const char *death)
{
    size_t length = strlen(death);
    return strstr(death, "noticed that process rank") != NULL && death[length - 1] != '.';
}

void tool_last_words_of_mpirun(struct tool_last_words *words, const char *line)
{
    size_t length = strlen(words->death);
    if (goes_on(words->death) && !is_decoration(line)) {
        snprintf(words->death + length, TOOL_LAST_WORDS_LINE - length, " %s", line + strspn(line, " \t"));
        return;
    }
    bool death = strstr(line, "noticed that process rank") || strstr(line, "exited on signal");
    char *kept = death ? words->death : words->other;
    if (kept[0] == '\0' && (death || !is_decoration(line)))
        snprintf(kept, TOOL_LAST_WORDS_LINE, "%s", line);
}

static enum kind kind_of(const char *line)
{
    if (strstr(line, "stopped from outside") || strstr(line, "MPI did not start or end in time"))
        return KIND_STOPPED;
    if (strstr(line, ": hop "))
        return KIND_AT_A_HOP;
    return strstr(line, ": no end after ") ? KIND_WAITED : KIND_REASON;
}

static long hop_of(const char *line)
{
    const char *at = strstr(line, ": hop ");
    return at ? strtol(at + strlen(": hop "), NULL, 10) : LONG_MAX;
}

/* A message as exec/flight.c describes it: "hop 2: block 3 from rank 1". */
struct message {
    unsigned hop, block;
    char way[5]; /* "from" or "to" */
    int peer;
};

/* The first one in the line that is from or to that rank; of any rank, if it is -1. */
static bool find_message(const char *line, int rank, struct message *message)
{
    for (const char *at = line; (at = strstr(at, "hop ")) != NULL; at++)
        if (sscanf(at, "hop %u: block %u %4s rank %d", &message->hop, &message->block, message->way,
                   &message->peer) == 4 &&
            (rank < 0 || message->peer == rank))
            return true;
    return false;
}

static bool is_about(const char *line, int rank)
{
    struct message ignored;
    return rank >= 0 && find_message(line, rank, &ignored);
}

/* Who waits at a later hop waits because of an earlier one. */
static bool tells_more(const char *line, const char *than, int dead)
{
    enum kind kind = kind_of(line), other = kind_of(than);
    if (kind != other)
        return kind < other;
    if (is_about(line, dead) != is_about(than, dead))
        return is_about(line, dead);
    return hop_of(line) < hop_of(than);
}

/* Of a rank that was stopped because another one died: what it did then. */
static void tell_neighbour(const char *line, int dead, char *out, size_t size)
{
    struct message at;
    int rank;
    unsigned step;
    bool computed = sscanf(line, "rank %d: step %u: ", &rank, &step) == 2;
    bool known = find_message(line, dead, &at) || (!computed && find_message(line, -1, &at));
    if (kind_of(line) != KIND_STOPPED || sscanf(line, "rank %d: ", &rank) != 1)
        snprintf(out, size, "%.*s", ROOM, kind_of(line) == KIND_STOPPED ? "" : line);
    else if (known && strcmp(at.way, "from") == 0)
        snprintf(out, size, "rank %d waited for block %u from rank %d at hop %u", rank, at.block, at.peer,
                 at.hop);
    else if (known)
        snprintf(out, size, "rank %d waited for rank %d to take block %u at hop %u", rank, at.peer, at.block,
                 at.hop);
    if (computed && known)
        snprintf(out + strlen(out), size - strlen(out), ", and computed step %u meanwhile", step);
    else if (computed)
        snprintf(out, size, "rank %d computed step %u meanwhile", rank, step);
}

void tool_last_words_tell(const struct tool_last_words *words, char *out, size_t size)
{
    const char *best = words->n_lines > 0 ? words->lines[0] : NULL;
    const char *died = strstr(words->death, "process rank "), *by = strstr(words->death, "exited on signal ");
    int dead = died ? (int)strtol(died + strlen("process rank "), NULL, 10) : -1;
    char neighbour[TOOL_LAST_WORDS_LINE] = "";
    for (size_t i = 1; i < words->n_lines; i++)
        if (tells_more(words->lines[i], best, dead))
            best = words->lines[i];
    if (words->death[0] == '\0') {
        snprintf(out, size, "%.*s", ROOM, best ? best : words->other);
        return;
    }
    if (best)
        tell_neighbour(best, dead, neighbour, sizeof neighbour);
    const char *between = neighbour[0] ? "; " : "";
    if (died && by) {
        const char *signal = by + strlen("exited on ");
        snprintf(out, size, "rank %d was killed by %.*s%s%s", dead, (int)strcspn(signal, ".\n"), signal,
                 between, neighbour);
    } else
        snprintf(out, size, "%.300s%s%s", words->death, between, neighbour);
}

void tool_last_words_fini(struct tool_last_words *words)
{
    free(words->lines);
    words->lines = NULL;
    words->n_lines = 0;
}
