/* SPDX-License-Identifier: MIT
 *
 * A YAML document as a tree that remembers where everything stood. Says nothing of what the keys mean: that
 * is for the files that read them. The only file that includes yaml.h is tree.c. */
#ifndef CONFIG_TREE_H
#define CONFIG_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config_reader;

/* What a text came from: a file, or one `--set`. */
struct config_source {
    const char *name;      /* as in messages: the path, or "--set ring.devices" */
    const char *directory; /* what paths in it are relative to; "": the current directory */
    bool is_file;          /* messages say line and column */
};

/* A place in it, both from 1. */
struct config_mark {
    const struct config_source *source;
    uint32_t line, column;
};

enum config_node_kind { CONFIG_SCALAR, CONFIG_LIST, CONFIG_MAP };

/* One `key: value`. */
struct config_entry {
    const struct config_node *key; /* a scalar */
    const struct config_node *value;
};

/* Never changed once made, so that an alias is simply a second pointer. */
struct config_node {
    enum config_node_kind kind;
    struct config_mark mark;
    bool plain;        /* a scalar without quotes */
    uint32_t n_values; /* this and all below it, aliases written out; 0 while still being read */
    size_t n;          /* items or entries */
    const char *text;  /* of a scalar */
    const struct config_node *const *items;
    const struct config_entry *entries; /* in file order, then what `<<` merged in */
};

enum {
    CONFIG_MAX_DEPTH = 64,
    CONFIG_MAX_VALUES = 400000, /* of a document, aliases written out: an alias bomb stops here */
};

/* Parses one document. Fails with the place of what is not YAML, of duplicate keys, cyclic aliases, tags, a
 * second document and documents too large or too deep. NULL after a failure. */
const struct config_node *config_tree_parse(struct config_reader *reader, const struct config_source *source,
                                            const char *text, size_t length);

/* The entry of a key in a map, or NULL; also NULL for a node that is not a map. */
const struct config_entry *config_find(const struct config_node *map, const char *key);

#endif
