/* SPDX-License-Identifier: MIT
 *
 * Starts `ringlab-rank`, the MPI program, on so many ranks and waits for it, with a time limit and without a
 * shell. Which flags an mpirun needs depends on its version and is decided here and nowhere else; what the
 * ranks do and leave in files is their business. Nothing is printed. */
#ifndef TOOL_LAUNCH_H
#define TOOL_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"

/* Arguments are borrowed for the call. Zero every field that has no value. */
struct tool_launch_spec {
    uint32_t n_ranks;
    const char *program;          /* NULL: what tool_launch_find_rank says */
    const char *const *arguments; /* of the program, after its name; ended by NULL; NULL: none */
    const char *mpirun;           /* --mpirun: a program name or path; NULL: $RINGLAB_MPIRUN, else "mpirun" */
    const char *mpi_args; /* --mpi-args: words in place of our own flags (-n stays ours). Split at blanks;
                             '...' and "..." keep blanks in a word. NULL: our flags */
    bool bind_to_core;    /* a core a rank; best when nothing else runs here. Ignored when oversubscribed */
    double timeout_s;     /* everything is killed after so long; 0: never */
    int progress_fd;      /* where the ranks' progress lines go as they come, > 0; 0: nowhere */
};

struct tool_launch_outcome {
    int exit_code; /* of mpirun; 128 + signal if a signal ended it; -1 if it never started */
    bool timed_out;
    int interrupted;       /* SIGINT, SIGTERM or SIGHUP came meanwhile and was passed on; 0: none */
    double seconds;        /* from start to end, mpirun's own time included */
    char command[8192];    /* the command as one can paste it into a shell */
    char last_words[1024]; /* the line of stderr that tells most; "" if there was none */
};

/* The marks at the start of the lines that ranks write to stderr, as exec/progress.c and exec/main.c have
 * them. A progress line is passed on without its mark; of the others the first one with the error mark is the
 * last word. */
#define TOOL_LAUNCH_PROGRESS_MARK "ringlab-progress: "
#define TOOL_LAUNCH_ERROR_MARK    "ringlab-rank: "

/* Runs it to the end. RING_OK exactly if it exited with 0. RING_BAD_INPUT if it exited with 1 or 2, and its
 * line is the error's; RING_TIMED_OUT; RING_UNSUPPORTED if mpirun or the program cannot be found, saying what
 * to install; RING_WORLD for every other end. Whatever the outcome, no process of it is left. */
enum ring_status tool_launch(const struct tool_launch_spec *spec, struct tool_launch_outcome *outcome,
                             struct ring_error *error);

/* Whether that is an error of a launch that a signal to us ended: then nothing else should begin. */
bool tool_launch_interrupted(const struct ring_error *error);

/* Renders the command that tool_launch would run, quoted for a shell, into out. The same failures. */
enum ring_status tool_launch_command(const struct tool_launch_spec *spec, char *out, size_t size,
                                     struct ring_error *error);

/* Path of ringlab-rank: $RINGLAB_RANK, else beside the running program, else ../libexec/ringlab beside its
 * folder. RING_UNSUPPORTED, saying that the MPI part is not built. */
enum ring_status tool_launch_find_rank(char *out, size_t size, struct ring_error *error);

/* The words of an mpirun command, made from facts so that a test can ask for each. version_text is what
 * `mpirun --version` prints. */
struct tool_launch_facts {
    const char *version_text;
    bool root;
    bool oversubscribed; /* more ranks than cores */
    bool no_single_copy; /* process_vm_readv is refused here, as in some containers */
};
enum { TOOL_LAUNCH_MAX_FLAGS = 32 };
/* Writes string constants into out (room for TOOL_LAUNCH_MAX_FLAGS), returns how many; -n and its number are
 * not among them. An mpirun that is not Open MPI gets none. */
uint32_t tool_launch_flags(const struct tool_launch_facts *facts, bool bind_to_core, const char **out);

#endif
