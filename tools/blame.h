/* SPDX-License-Identifier: MIT
 *
 * Who is to blame for a predicted step, in a result: what models/blame.h and models/path.h find, the verdict
 * that follows from it, and the lines that a reader gets. */
#ifndef TOOL_BLAME_H
#define TOOL_BLAME_H

#include <jansson.h>

#include "models/blame.h"
#include "models/path.h"

struct tool_result;
struct tool_setup;

struct tool_culprit {
    const char *name; /* the result's */
    bool device;
    double saves_s, alone_s; /* as in struct model_culprit */
};

struct tool_blame {
    struct tool_culprit *culprits; /* in the order in which repair pays most */
    size_t n_culprits;
    double healed_s;        /* the step with all of them repaired */
    struct model_path path; /* empty if the steps are not kept */
    uint32_t *wave; /* [n_ranks] first step that is late, n_steps: none is; NULL: nobody is to blame */
};

/* Fills result->blame, and puts whoever is to blame into the verdict. To be called when all else is there.
 * simgrid: in which world the ring is played again. */
enum ring_status tool_blame_find(struct tool_result *result, const struct tool_setup *setup, bool simgrid,
                                 struct ring_error *error);
void tool_blame_fini(struct tool_blame *blame);

/* A new object; NULL without memory. */
json_t *tool_blame_json(const struct tool_result *result);

/* blame_words.c: the verdict's sentences and the notes. */
void tool_blame_say(struct tool_result *result, const struct tool_setup *setup);

#endif
