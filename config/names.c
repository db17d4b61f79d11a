/* SPDX-License-Identifier: MIT
 *
 * The table of names (FNV-1a, linear probing) and the edit distance behind "did you mean". */
#include "config/names.h"

#include <string.h>
#include <strings.h>

enum { LONGEST = 64 }; /* longer words have no near ones */

static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        hash = (hash ^ *at) * UINT64_C(1099511628211);
    return hash ^ hash >> 32;
}

/* The slot that holds text, or the empty one where it would go. */
static struct config_name *slot_of(const struct config_names *names, const char *text)
{
    size_t mask = names->n_slots - 1, at = (size_t)hash_text(text) & mask;

    while (names->slots[at].text && strcmp(names->slots[at].text, text) != 0)
        at = (at + 1) & mask;
    return &names->slots[at];
}

static bool grow(struct config_names *names)
{
    struct config_names larger = {.pool = names->pool, .n = names->n};

    larger.n_slots = names->n_slots ? 2 * names->n_slots : 8;
    larger.slots = config_pool_alloc(names->pool, larger.n_slots, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < names->n_slots; i++)
        if (names->slots[i].text)
            *slot_of(&larger, names->slots[i].text) = names->slots[i];
    *names = larger;
    return true;
}

struct config_name *config_names_find(const struct config_names *names, const char *text)
{
    if (names->n == 0)
        return NULL;
    struct config_name *slot = slot_of(names, text);
    return slot->text ? slot : NULL;
}

bool config_names_put(struct config_names *names, const char *text, size_t index, const void *item)
{
    if (2 * (names->n + 1) > names->n_slots && !grow(names))
        return false;
    struct config_name *slot = slot_of(names, text);
    names->n += slot->text ? 0 : 1;
    *slot = (struct config_name){.text = text, .index = index, .item = item};
    return true;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance (insertions, deletions, replacements), a swap of two neighbours counting as one.
 * Upper and lower case are half as far apart as two letters, so everything counts double. */
static size_t distance(const char *a, const char *b)
{
    size_t n_a = strlen(a), n_b = strlen(b);
    size_t rows[3][LONGEST + 1];

    if (n_a > LONGEST || n_b > LONGEST)
        return SIZE_MAX;
    size_t *before = rows[0], *above = rows[1], *here = rows[2];
    for (size_t j = 0; j <= n_b; j++)
        above[j] = 2 * j;
    for (size_t i = 1; i <= n_a; i++) {
        here[0] = 2 * i;
        for (size_t j = 1; j <= n_b; j++) {
            size_t replace = a[i - 1] == b[j - 1] ? 0 : strncasecmp(&a[i - 1], &b[j - 1], 1) == 0 ? 1 : 2;
            here[j] = smaller(above[j - 1] + replace, 2 + smaller(above[j], here[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                here[j] = smaller(here[j], before[j - 2] + 2);
        }
        size_t *row = before;
        before = above;
        above = here;
        here = row;
    }
    return above[n_b];
}

/* Near enough: one edit in a short word (or three letters in the wrong case), in a longer one as many as a
 * third of its letters. */
static size_t reach(const char *text)
{
    size_t length = strlen(text);

    return length < 6 ? 3 : 2 * (length / 3);
}

const char *config_nearest_word(const char *const *words, size_t n, const char *text)
{
    const char *best = NULL;
    size_t best_distance = reach(text) + 1;

    for (size_t i = 0; i < n; i++) {
        size_t d = distance(text, words[i]);
        if (d < best_distance) {
            best = words[i];
            best_distance = d;
        }
    }
    return best;
}

const char *config_names_nearest(const struct config_names *names, const char *text)
{
    const char *best = NULL;
    size_t best_distance = reach(text) + 1;

    for (size_t i = 0; i < names->n_slots; i++) {
        const char *word = names->slots[i].text;
        size_t d = word ? distance(text, word) : SIZE_MAX;
        /* Slots are in no order of ours: ties go to the first in the alphabet. */
        if (d < best_distance || (best && d == best_distance && strcmp(word, best) < 0)) {
            best = word;
            best_distance = d;
        }
    }
    return best;
}
