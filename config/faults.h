/* SPDX-License-Identifier: MIT
 *
 * The faults: of a scenario. */
#ifndef CONFIG_FAULTS_H
#define CONFIG_FAULTS_H

#include "config/reader.h"

/* Reads the list into items that are kept; list NULL: none. Names are those of the topology. */
void config_read_faults(struct config_reader *reader, const struct config_node *list,
                        const struct model_topology *topology, struct model_faults *faults);

/* Writes them as YAML that reads the same; nothing if there are none. */
void config_show_faults(const struct model_faults *faults, FILE *file);

#endif
