/* SPDX-License-Identifier: MIT
 *
 * The readers of the three kinds of file, each given a tree that is already there. */
#ifndef CONFIG_LOAD_H
#define CONFIG_LOAD_H

#include "config/reader.h"

/* A device, kept. NULL after a failure. */
const struct model_device *config_read_device(struct config_reader *reader, const struct config_node *root);
/* The device of the file that a scalar names; a file named many times is read once. */
const struct model_device *config_load_device(struct config_reader *reader, const struct config_node *node);

/* A calibrated device's `grades`, [MODEL_N_GRADES]. */
void config_read_grades(struct config_reader *reader, const struct config_node *node,
                        struct model_grade *grades);

/* A topology, indexed and with every pair of devices connected; kept. NULL after a failure. */
const struct model_topology *config_read_topology(struct config_reader *reader,
                                                  const struct config_node *root);

/* A scenario, kept, except scenario->pool, which the caller sets. NULL after a failure. */
struct config_scenario *config_read_scenario(struct config_reader *reader, const struct config_node *root,
                                             const char *path);

/* What is below the key `set`, kept, except set->pool, which the caller sets. */
void config_read_set(struct config_reader *reader, const struct config_node *root, struct config_set *set);

/* Applies one `key.path=value`; the tree with the change, whose unchanged parts are shared. NULL after a
 * failure. */
const struct config_node *config_override(struct config_reader *reader, const struct config_node *root,
                                          const char *item);

#endif
