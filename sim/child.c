/* SPDX-License-Identifier: MIT
 *
 * A task in a child of its own, and what is left of it when it dies. */
#include "sim/child.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child leaves in shared memory. */
struct verdict {
    bool complete; /* the task returned */
    enum ring_status status;
    struct ring_error error;
};

void *sim_shared_alloc(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

void sim_shared_free(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

/* Never returns; no exit handler and no buffer of the parent's runs or is flushed a second time here. */
static void live(sim_task task, void *context, int words, struct verdict *verdict, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before that took hold */
        _exit(1);
    signal(SIGINT, SIG_DFL); /* what the parent does on these is for the parent alone */
    signal(SIGTERM, SIG_DFL);
    if (dup2(words, STDOUT_FILENO) < 0 || dup2(words, STDERR_FILENO) < 0)
        _exit(1);
    verdict->status = task(context, &verdict->error);
    verdict->complete = true;
    _exit(0);
}

/* The line that says most: the last that SimGrid calls critical, else the last that is not empty; without the
 * prefix in brackets. line [size], "" if there is none. */
static void last_words(int words, char *line, size_t size)
{
    char text[8192];
    off_t length = lseek(words, 0, SEEK_END);
    off_t begin = length > (off_t)sizeof text - 1 ? length - (off_t)sizeof text + 1 : 0;
    ssize_t n_read = pread(words, text, sizeof text - 1, begin);
    bool critical = false;

    line[0] = '\0';
    text[n_read > 0 ? n_read : 0] = '\0';
    for (char *rest = text, *next = strsep(&rest, "\n"); next; next = strsep(&rest, "\n")) {
        bool is_critical = strstr(next, "CRITICAL") || strstr(next, "ERROR");
        if (next[strspn(next, " \t\r")] == '\0' || (critical && !is_critical))
            continue;
        critical = is_critical;
        char *mark = strstr(next, "CRITICAL] ");
        if (mark)
            next = mark + strlen("CRITICAL] ");
        snprintf(line, size, "%s", next);
    }
}

static enum ring_status obituary(int state, int words, struct ring_error *error)
{
    char line[512];

    if (WIFSIGNALED(state) && (WTERMSIG(state) == SIGINT || WTERMSIG(state) == SIGTERM))
        return ring_fail(error, RING_WORLD, "the simulation was interrupted (%s)",
                         strsignal(WTERMSIG(state)));
    last_words(words, line, sizeof line);
    if (WIFSIGNALED(state))
        return ring_fail(error, RING_WORLD, "the simulator died (%s)%s%s", strsignal(WTERMSIG(state)),
                         *line ? ": " : "", line);
    return ring_fail(error, RING_WORLD, "the simulator ended by itself with status %d%s%s",
                     WIFEXITED(state) ? WEXITSTATUS(state) : -1, *line ? ": " : "", line);
}

static enum ring_status wait_for_child(pid_t child, int words, const struct verdict *verdict,
                                       struct ring_error *error)
{
    int state = 0;
    pid_t ended;

    do {
        ended = waitpid(child, &state, 0);
    } while (ended < 0 && errno == EINTR);
    if (!verdict->complete)
        return obituary(state, words, error);
    if (verdict->status != RING_OK)
        return ring_fail(error, verdict->status, "%s", verdict->error.text);
    return RING_OK;
}

enum ring_status sim_in_child(sim_task task, void *context, struct ring_error *error)
{
    struct verdict *verdict = sim_shared_alloc(sizeof *verdict);
    int words = memfd_create("ringlab-sim-words", MFD_CLOEXEC);
    enum ring_status status;

    if (!verdict || words < 0) {
        status =
            ring_fail(error, RING_NO_MEMORY, "no memory for the simulator's process: %s", strerror(errno));
    } else {
        pid_t parent = getpid(), child = fork();
        if (child == 0)
            live(task, context, words, verdict, parent);
        status = child < 0 ? ring_fail(error, RING_WORLD, "the simulator's process cannot start: %s",
                                       strerror(errno))
                           : wait_for_child(child, words, verdict, error);
    }
    if (words >= 0)
        close(words);
    sim_shared_free(verdict, sizeof *verdict);
    return status;
}
