/* SPDX-License-Identifier: MIT
 *
 * How every library here reports failure: a status to branch on and one line of context to read. The line is
 * written once, by whoever decides that something is an error; everyone above passes both on untouched. No
 * library prints or exits: that is main's business. */
#ifndef RING_STATUS_H
#define RING_STATUS_H

/* X(name, text): the one list of what can go wrong. The text names the kind; struct ring_error has the case.
 */
#define RING_STATUS(X)                                                                                       \
    X(OK, "ok")                                                                                              \
    X(BAD_INPUT, "bad input")                                                                                \
    X(NO_MEMORY, "out of memory")                                                                            \
    X(IO, "file cannot be read or written")                                                                  \
    X(TIMED_OUT, "timed out")                                                                                \
    X(DEADLOCK, "deadlock")                                                                                  \
    X(UNSUPPORTED, "not supported here")                                                                     \
    X(WORLD, "the world failed")

enum ring_status {
#define RING_STATUS_ENUM(name, text) RING_##name,
    RING_STATUS(RING_STATUS_ENUM)
#undef RING_STATUS_ENUM
};

/* One line without a newline: place, found, wanted. Owned by the caller; untouched on success. */
struct ring_error {
    char text[1024];
};

/* The kind in words, for example "bad input". */
const char *ring_status_text(enum ring_status status);

/* Writes the line into error (which may be NULL) and returns status, so that a failure is one statement. */
enum ring_status ring_fail(struct ring_error *error, enum ring_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
