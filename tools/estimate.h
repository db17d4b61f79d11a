/* SPDX-License-Identifier: MIT
 *
 * How long a real run will take, as far as this machine's calibration can say. Nothing is measured for it. */
#ifndef TOOL_ESTIMATE_H
#define TOOL_ESTIMATE_H

#include "tools/options.h"
#include "tools/setup.h"

/* Says on standard error how long so many passes will take, if that is known and worth saying. on_data: a
 * scenario's fixed block times do not count. */
void tool_estimate_say(const struct tool_setup *setup, const struct tool_options *options, bool on_data,
                       uint32_t n_passes);

#endif
