/* SPDX-License-Identifier: MIT
 *
 * `ringlab check`: one line a file, and the plan of a scenario proved where that is quick. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "engine/check.h"
#include "engine/plan.h"
#include "tools/commands.h"
#include "tools/setup.h"

enum { MAX_PROVED_RANKS = 256 };

/* A scenario that loads may still ask for what no plan or route can do; text grows by what was proved. */
static enum ring_status check_scenario(const char *path, char *text, size_t size, struct ring_error *error)
{
    const char *const files[] = {path, NULL};
    struct tool_options options = {.files = files, .n_files = 1, .world = "auto", .show = true};
    struct tool_setup setup;
    enum ring_status status = tool_setup_open(&setup, &options, error);
    if (status != RING_OK)
        return status;
    if (setup.plan.n_ranks <= MAX_PROVED_RANKS) {
        status = ring_plan_check(&setup.plan, error);
        snprintf(text + strlen(text), size - strlen(text), "; plan of %" PRIu32 " ranks proved",
                 setup.plan.n_ranks);
    }
    tool_setup_close(&setup);
    return status;
}

static enum ring_status check_file(const char *path, struct ring_error *error)
{
    struct config_summary summary;
    char text[sizeof summary.text + 64];
    enum ring_status status = config_check(path, &summary, error);
    if (status != RING_OK)
        return status;
    snprintf(text, sizeof text, "%s", summary.text);
    if (summary.kind == CONFIG_SCENARIO)
        status = check_scenario(path, text, sizeof text, error);
    if (status == RING_OK)
        printf("%s: %s\n", path, text);
    return status;
}

/* Errors of a file begin with its place; those of what it leads to may not. */
static void print_bad(const char *path, const struct ring_error *error)
{
    fflush(stdout);
    if (strstr(error->text, path) != NULL)
        fprintf(stderr, "ringlab: %s\n", error->text);
    else
        fprintf(stderr, "ringlab: %s: %s\n", path, error->text);
}

enum ring_status tool_check(const struct tool_options *options, struct ring_error *error)
{
    size_t n_bad = 0;
    for (size_t i = 0; i < options->n_files; i++) {
        struct ring_error line = {""};
        if (check_file(options->files[i], &line) == RING_OK)
            continue;
        if (options->n_files == 1) {
            *error = line;
            return RING_BAD_INPUT;
        }
        print_bad(options->files[i], &line);
        n_bad++;
    }
    return n_bad == 0 ? RING_OK
                      : ring_fail(error, RING_BAD_INPUT, "%zu of %zu files are bad", n_bad, options->n_files);
}
