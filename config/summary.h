/* SPDX-License-Identifier: MIT
 *
 * What a file holds, in one line, for `ringlab check`. */
#ifndef CONFIG_SUMMARY_H
#define CONFIG_SUMMARY_H

#include "config/load.h"

/* Writes at most size bytes, cut where there is no more room. Fail as the reader does. */
void config_describe_topology(struct config_reader *reader, const struct model_topology *topology, char *text,
                              size_t size);
void config_describe_device(struct config_reader *reader, const struct model_device *device, char *text,
                            size_t size);
/* Also names the hops that leave the fastest kind of link that the ring uses. */
void config_describe_scenario(struct config_reader *reader, const struct config_scenario *scenario,
                              char *text, size_t size);

#endif
