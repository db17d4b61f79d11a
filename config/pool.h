/* SPDX-License-Identifier: MIT
 *
 * Memory that is given back all at once. A loaded scenario is a few hundred small pieces that live and die
 * together, and a load that fails half way must leave nothing: both are one close. */
#ifndef CONFIG_POOL_H
#define CONFIG_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct config_pool;

/* NULL without memory. */
struct config_pool *config_pool_open(void);

/* Calls what was registered, last first, then frees everything. NULL is fine. */
void config_pool_close(struct config_pool *pool);

/* n * size zeroed bytes, aligned for anything; never NULL for n = 0. NULL without memory. */
void *config_pool_alloc(struct config_pool *pool, size_t n, size_t size);

/* A copy of the first length bytes of text, ended by 0. NULL without memory. */
char *config_pool_text(struct config_pool *pool, const char *text, size_t length);

/* Has close(item) called when the pool closes. False without memory. */
bool config_pool_on_close(struct config_pool *pool, void (*close)(void *item), void *item);

#endif
