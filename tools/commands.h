/* SPDX-License-Identifier: MIT
 *
 * The commands of `ringlab`: a table. A new command is one file and one row. */
#ifndef TOOL_COMMANDS_H
#define TOOL_COMMANDS_H

#include <stddef.h>

#include "engine/status.h"
#include "tools/options.h"

struct tool_command {
    const char *name;
    const char *summary;       /* one line of `ringlab --help` */
    const char *arguments;     /* "[SCENARIO.yaml]" */
    const char *doc;           /* for argp: what it does, then after \v an example */
    const char *const *worlds; /* values of --world, ended by NULL; NULL: no such option */
    unsigned takes;            /* TOOL_TAKES_... */
    size_t min_files, max_files;
    /* Prints the result to standard output. Whatever it returns but RING_OK ends the program with error's
     * line. */
    enum ring_status (*run)(const struct tool_options *options, struct ring_error *error);
};

extern const struct tool_command tool_commands[]; /* ended by a row without a name */

enum ring_status tool_predict(const struct tool_options *options, struct ring_error *error);
enum ring_status tool_measure(const struct tool_options *options, struct ring_error *error);
enum ring_status tool_compare(const struct tool_options *options, struct ring_error *error);
enum ring_status tool_verify(const struct tool_options *options, struct ring_error *error);
enum ring_status tool_check(const struct tool_options *options, struct ring_error *error);
enum ring_status tool_calibrate(const struct tool_options *options, struct ring_error *error);
enum ring_status tool_place(const struct tool_options *options, struct ring_error *error);
enum ring_status tool_topology(const struct tool_options *options, struct ring_error *error);
enum ring_status tool_validate(const struct tool_options *options, struct ring_error *error);
enum ring_status tool_plot(const struct tool_options *options, struct ring_error *error);

#endif
