/* SPDX-License-Identifier: MIT
 *
 * What the tests of config/ share: files made for one test, and loading that must succeed or fail. */
#ifndef TESTS_CONFIG_SUPPORT_H
#define TESTS_CONFIG_SUPPORT_H

/* cmocka wants these before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/config.h"
#include "config/files.h"
#include "config/load.h"

#define FILES "tests/config/files/"

/* A folder of this process's own under /tmp. */
static inline const char *test_folder(void)
{
    static char folder[64];

    if (!folder[0]) {
        snprintf(folder, sizeof folder, "/tmp/ringlab-config-%ld", (long)getpid());
        mkdir(folder, 0700);
    }
    return folder;
}

/* Writes a file into it; the path is valid until the next call. */
static inline const char *test_file(const char *name, const void *bytes, size_t length)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return path;
}

static inline int test_remove_folder(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", test_folder());
    return system(command);
}

/* A topology from a file's path; freed with config_reader_close(reader). */
static inline const struct model_topology *test_topology(struct config_reader *reader, const char *path)
{
    static struct ring_error error;

    assert_int_equal(config_reader_open(reader, &error), RING_OK);
    const struct config_node *root = config_load_tree(reader, path, NULL);
    const struct model_topology *topology = root ? config_read_topology(reader, root) : NULL;
    if (!topology)
        fail_msg("%s", error.text);
    return topology;
}

/* A scenario that must load, with overrides ended by NULL. */
static inline struct config_scenario *test_scenario(const char *path, const char *const *items)
{
    struct config_overrides overrides = {items, 0};
    struct config_scenario *scenario;
    struct ring_error error = {""};

    while (items && items[overrides.n_items])
        overrides.n_items++;
    if (config_scenario_load(path, &overrides, &scenario, &error) != RING_OK)
        fail_msg("%s", error.text);
    return scenario;
}

#endif
