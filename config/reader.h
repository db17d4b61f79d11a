/* SPDX-License-Identifier: MIT
 *
 * Reading a tree into structs. What a map may hold is written down once, as a table of fields; reading, the
 * list of accepted keys in a message and writing it back (show.c) all follow from the table.
 *
 * A reader remembers its first failure. After it every call here is harmless and does nothing, so a function
 * can read a dozen keys and ask once, at the end, whether all is well. */
#ifndef CONFIG_READER_H
#define CONFIG_READER_H

#include "config/config.h"
#include "config/names.h"
#include "config/pool.h"
#include "config/tree.h"

struct config_reader {
    struct config_pool *keep;    /* what the caller gets */
    struct config_pool *scratch; /* trees and tables, gone when the load ends */
    struct config_names devices; /* device files by resolved path: each is read once */
    enum ring_status status;     /* the first failure */
    struct ring_error *error;    /* the caller's; may be NULL */
};

/* Even where it fails (RING_NO_MEMORY) the reader must be closed. */
enum ring_status config_reader_open(struct config_reader *reader, struct ring_error *error);

/* Frees scratch, and keep unless the caller has set it to NULL (having taken it over). */
void config_reader_close(struct config_reader *reader);

static inline bool config_ok(const struct config_reader *reader)
{
    return reader->status == RING_OK;
}

/* The first failure, as `file:line:column: text`, on one line whatever the text quotes. mark NULL: no place.
 */
void config_fail(struct config_reader *reader, const struct config_mark *mark, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void config_fail_as(struct config_reader *reader, enum ring_status status, const struct config_mark *mark,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The place alone, kept. */
const char *config_place_text(struct config_reader *reader, const struct config_mark *mark);
void config_fail_memory(struct config_reader *reader);

/* Zeroed memory that the caller gets, or that is gone when the load ends. NULL after a failure. */
void *config_keep(struct config_reader *reader, size_t n, size_t size);
void *config_scratch(struct config_reader *reader, size_t n, size_t size);
/* Room for one more element of an array in scratch, with its old elements; NULL after a failure. */
void *config_grown(struct config_reader *reader, void *array, size_t n, size_t *room, size_t size);
/* A copy that the caller gets; text NULL, or a failure: NULL. */
const char *config_keep_text(struct config_reader *reader, const char *text);
/* Formatted text in scratch; "" after a failure, so that it can be printed. */
const char *config_text(struct config_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes text one printable line: control characters (ASCII's, and those of Unicode that break lines) become
 * spaces, half a character at the end is cut. */
void config_make_printable(char *text);
/* A node for a message: 'text' (shortened), "nothing", "a list" or "a map". */
const char *config_found(struct config_reader *reader, const struct config_node *node);
/* "; did you mean 'x'?", or "" for x NULL. */
const char *config_did_you_mean(struct config_reader *reader, const char *nearest);

/* Fail unless the node is what it should be; what names it in the message. */
bool config_is_map(struct config_reader *reader, const struct config_node *node, const char *what);
bool config_is_list(struct config_reader *reader, const struct config_node *node, const char *what);
bool config_is_scalar(struct config_reader *reader, const struct config_node *node, const char *what);

/* A bare whole number from least to most; least after a failure. */
uint64_t config_read_count(struct config_reader *reader, const struct config_node *node, const char *what,
                           uint64_t least, uint64_t most);
/* A quantity of that unit; positive: zero is refused (it always is for rates). 0 after a failure. */
double config_read_quantity(struct config_reader *reader, const struct config_node *node, const char *what,
                            enum config_unit unit, bool positive);
/* The index of one of n words; 0 after a failure. */
size_t config_read_word(struct config_reader *reader, const struct config_node *node, const char *what,
                        const char *const *words, size_t n);
/* Free text, kept; line breaks become spaces. NULL after a failure. */
const char *config_read_text(struct config_reader *reader, const struct config_node *node, const char *what);
/* A name for a part of a cluster: letters, digits and `_ - . : + /`, at most 64, in scratch. "" after a
 * failure. */
const char *config_read_name(struct config_reader *reader, const struct config_node *node, const char *what);

enum config_field_kind {
    CONFIG_COUNT32,  /* uint32_t */
    CONFIG_COUNT64,  /* uint64_t */
    CONFIG_QUANTITY, /* double, SI */
    CONFIG_WORD,     /* an enum: the index of the word */
    CONFIG_CHOICE,   /* const char *: the word itself */
    CONFIG_BOOL,     /* bool */
    CONFIG_TEXT,     /* const char *, kept */
    CONFIG_NODE,     /* const struct config_node *: its reader comes later */
};

struct config_field {
    const char *key;
    enum config_field_kind kind;
    size_t offset;
    bool required;
    bool positive;            /* quantity: zero is refused */
    enum config_unit unit;    /* quantity */
    uint64_t least, most;     /* count */
    const char *const *words; /* word, choice */
    size_t n_words;
    const char *(*word)(size_t index); /* instead of words, for a list kept elsewhere; NULL past its end */
    const char *hint;                  /* what to write, if it is missing */
};

/* Reads a map into out. Keys that are absent leave out as it was: defaults are there before. */
void config_read_fields(struct config_reader *reader, const struct config_node *map, const char *what,
                        const struct config_field *fields, size_t n_fields, void *out);

#define CONFIG_N(array) (sizeof(array) / sizeof(array)[0])

#endif
