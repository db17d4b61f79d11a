/* SPDX-License-Identifier: MIT
 *
 * Names and what they stand for: a table to look them up in, and the name that was probably meant by one that
 * is not there. */
#ifndef CONFIG_NAMES_H
#define CONFIG_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/pool.h"

struct config_name {
    const char *text; /* borrowed */
    size_t index;
    const void *item;
};

/* An open hash table. Zero it and set pool; its memory is the pool's. */
struct config_names {
    struct config_pool *pool;
    struct config_name *slots;
    size_t n, n_slots;
};

/* The entry of that name, or NULL. */
struct config_name *config_names_find(const struct config_names *names, const char *text);

/* Adds a name, or replaces what it stood for. False without memory. */
bool config_names_put(struct config_names *names, const char *text, size_t index, const void *item);

/* The name nearest to text by edit distance, if it is near enough to have been meant; otherwise NULL. */
const char *config_names_nearest(const struct config_names *names, const char *text);

/* The same among n words. */
const char *config_nearest_word(const char *const *words, size_t n, const char *text);

#endif
