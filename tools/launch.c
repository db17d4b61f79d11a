/* SPDX-License-Identifier: MIT
 *
 * Runs mpirun in a process group of its own, listens to what it says, and makes sure that it ends: by itself,
 * at the time limit, or because the user wants to stop. */
#include "tools/launch_command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/last_words.h"

enum {
    TICK_MS = 50,       /* how soon an end without output is seen */
    GRACE_MS = 3000,    /* between asking mpirun to stop and killing it: it has ranks to stop first */
    AFTER_END_MS = 200, /* how long stderr is still read after mpirun has ended */
    LINE_BYTES = TOOL_LAST_WORDS_LINE,
};

/* What the ranks and mpirun say, cut into lines. */
struct listener {
    int fd;
    int progress_fd;
    char line[LINE_BYTES];
    size_t n;
    struct tool_last_words words;
};

static volatile sig_atomic_t interrupted;

static void note_signal(int number)
{
    interrupted = number;
}

static double clock_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void take_line(struct listener *listener)
{
    char *line = listener->line;
    line[listener->n] = '\0';
    size_t n = listener->n;
    listener->n = 0;
    const size_t progress_mark = strlen(TOOL_LAUNCH_PROGRESS_MARK),
                 error_mark = strlen(TOOL_LAUNCH_ERROR_MARK);
    if (strncmp(line, TOOL_LAUNCH_PROGRESS_MARK, progress_mark) == 0) {
        line[n] = '\n';
        if (listener->progress_fd > 0 &&
            write(listener->progress_fd, line + progress_mark, n + 1 - progress_mark) < 0)
            listener->progress_fd = 0; /* nobody looks any more */
    } else if (strncmp(line, TOOL_LAUNCH_ERROR_MARK, error_mark) == 0) {
        tool_last_words_of_rank(&listener->words, line + error_mark);
    } else {
        tool_last_words_of_mpirun(&listener->words, line);
    }
}

/* Reads what is there. false at the end of the stream. */
static bool listen_once(struct listener *listener)
{
    char bytes[4096];
    ssize_t got = read(listener->fd, bytes, sizeof bytes);
    if (got < 0)
        return errno == EINTR || errno == EAGAIN;
    for (ssize_t i = 0; i < got; i++) {
        if (bytes[i] == '\n')
            take_line(listener);
        else if (listener->n < LINE_BYTES - 1)
            listener->line[listener->n++] = bytes[i];
    }
    return got > 0;
}

/* The child's side: own group, no input, everything it says into the pipe. */
static void become_mpirun(const struct tool_launch_words *words, int said, int failed, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* our own end must not leave ranks behind */
    if (getppid() != parent)
        _exit(127);
    const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
    /* With these OpenMP binds every rank to the first cores that it may run on, all ranks to the same. */
    const char *const binding[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"};
    for (size_t i = 0; i < sizeof binding / sizeof *binding; i++)
        unsetenv(binding[i]);
    int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    dup2(said, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    execvp(words->list[0], words->list);
    int reason = errno;
    if (write(failed, &reason, sizeof reason) < 0)
        _exit(126);
    _exit(127);
}

/* Starts it. Returns 0, or why not (an errno). */
static int start(const struct tool_launch_words *words, pid_t *child, int *said)
{
    int output[2], failure[2];
    if (pipe2(output, O_CLOEXEC) != 0)
        return errno;
    if (pipe2(failure, O_CLOEXEC) != 0) {
        close(output[0]);
        close(output[1]);
        return errno;
    }
    pid_t parent = getpid();
    *child = fork();
    int reason = *child < 0 ? errno : 0;
    if (*child == 0)
        become_mpirun(words, output[1], failure[1], parent);
    close(output[1]);
    close(failure[1]);
    if (*child > 0) {
        setpgid(*child, *child); /* whoever of us comes first */
        int sent;
        ssize_t got;
        while ((got = read(failure[0], &sent, sizeof sent)) < 0 && errno == EINTR)
            ;
        if (got == (ssize_t)sizeof sent) {
            reason = sent;
            waitpid(*child, NULL, 0);
        }
    }
    close(failure[0]);
    if (reason)
        close(output[0]);
    else
        fcntl(output[0], F_SETFL, O_NONBLOCK);
    *said = output[0];
    return reason;
}

/* Listens until the child has ended, and ends it where that is due. Returns its wait status. */
static int attend(pid_t child, struct listener *listener, const struct tool_launch_spec *spec,
                  struct tool_launch_outcome *outcome, double begun_s)
{
    bool open = true;
    double stop_s = 0; /* when it was asked to stop; 0: not yet */
    bool killed = false;
    int status = 0;
    for (;;) {
        struct pollfd ready = {listener->fd, POLLIN, 0};
        poll(&ready, open ? 1 : 0, TICK_MS);
        while (open && (ready.revents & (POLLIN | POLLHUP))) {
            open = listen_once(listener);
            poll(&ready, 1, 0);
        }
        if (waitpid(child, &status, WNOHANG) == child)
            return status;
        double now_s = clock_s();
        bool late = spec->timeout_s > 0 && now_s - begun_s > spec->timeout_s;
        if (stop_s == 0 && (late || interrupted)) {
            outcome->timed_out = late;
            outcome->interrupted = interrupted;
            stop_s = now_s;
            kill(-child, SIGTERM);
            kill(-child, SIGCONT); /* a stopped mpirun would never see it */
        } else if (stop_s > 0 && !killed && now_s - stop_s > 1e-3 * GRACE_MS) {
            killed = true;
            kill(-child, SIGKILL);
        }
    }
}

/* Ranks lead groups of their own. Those that a killed mpirun left behind have come to us (we are their
 * subreaper): end them, and them alone - our other children were here before. */
static void reap_orphans(const char *program)
{
    char path[64], name[64], wanted[64];
    const char *slash = strrchr(program, '/');
    snprintf(wanted, sizeof wanted, "%.15s", slash ? slash + 1 : program); /* as the kernel keeps it */
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *children = fopen(path, "re");
    int pid;
    while (children && fscanf(children, "%d", &pid) == 1) {
        snprintf(path, sizeof path, "/proc/%d/comm", pid);
        FILE *comm = fopen(path, "re");
        bool ours = comm && fgets(name, sizeof name, comm) && strncmp(name, wanted, strlen(wanted)) == 0;
        if (comm)
            fclose(comm);
        if (ours && kill(pid, SIGKILL) == 0)
            waitpid(pid, NULL, 0);
    }
    if (children)
        fclose(children);
}

static const char interrupted_word[] = "interrupted";

bool tool_launch_interrupted(const struct ring_error *error)
{
    return strncmp(error->text, interrupted_word, sizeof interrupted_word - 1) == 0;
}

static enum ring_status judge(const struct tool_launch_spec *spec, const struct tool_launch_outcome *outcome,
                              struct ring_error *error)
{
    const char *words = outcome->last_words;
    const char *between = words[0] ? ": " : "";
    if (outcome->interrupted)
        return ring_fail(error, RING_WORLD, "%s (%s)", interrupted_word, strsignal(outcome->interrupted));
    if (outcome->timed_out)
        return ring_fail(error, RING_TIMED_OUT, "%u ranks were not done after %g s and were stopped%s%s",
                         spec->n_ranks, spec->timeout_s, between, words);
    if (outcome->exit_code == 0)
        return RING_OK;
    if (words[0])
        return ring_fail(error, outcome->exit_code <= 2 ? RING_BAD_INPUT : RING_WORLD, "%s", words);
    if (outcome->exit_code > 128)
        return ring_fail(error, RING_WORLD, "mpirun was killed by signal %d (%s) and said nothing",
                         outcome->exit_code - 128, strsignal(outcome->exit_code - 128));
    return ring_fail(error, RING_WORLD, "mpirun ended with %d and said nothing", outcome->exit_code);
}

static enum ring_status run(const struct tool_launch_spec *spec, const struct tool_launch_words *words,
                            struct tool_launch_outcome *outcome, struct ring_error *error)
{
    struct listener listener = {.progress_fd = spec->progress_fd};
    pid_t child = -1;
    double begun_s = clock_s();
    int reason = start(words, &child, &listener.fd);
    if (reason)
        return ring_fail(error, reason == ENOENT ? RING_UNSUPPORTED : RING_WORLD,
                         "%s: %s (install openmpi-bin, or name yours with --mpirun)", words->list[0],
                         strerror(reason));
    int status = attend(child, &listener, spec, outcome, begun_s);
    kill(-child, SIGKILL); /* helpers of mpirun that outlived it */
    struct pollfd ready = {listener.fd, POLLIN, 0};
    while (poll(&ready, 1, AFTER_END_MS) == 1 && listen_once(&listener))
        ;
    take_line(&listener);
    close(listener.fd);
    outcome->seconds = clock_s() - begun_s;
    outcome->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    tool_last_words_tell(&listener.words, outcome->last_words, sizeof outcome->last_words);
    tool_last_words_fini(&listener.words);
    return judge(spec, outcome, error);
}

enum ring_status tool_launch(const struct tool_launch_spec *spec, struct tool_launch_outcome *outcome,
                             struct ring_error *error)
{
    *outcome = (struct tool_launch_outcome){.exit_code = -1};
    struct tool_launch_words words;
    enum ring_status status = tool_launch_words_init(&words, spec, error);
    if (status != RING_OK)
        return status;
    tool_launch_words_text(&words, outcome->command, sizeof outcome->command);

    interrupted = 0;
    int was_subreaper = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &was_subreaper);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction before[3], note = {.sa_handler = note_signal};
    for (int i = 0; i < 3; i++)
        sigaction(signals[i], &note, &before[i]);

    char found[4096];
    const char *program = spec->program;
    if (!program)
        program = tool_launch_find_rank(found, sizeof found, NULL) == RING_OK ? found : "ringlab-rank";
    status = run(spec, &words, outcome, error);
    reap_orphans(program);

    for (int i = 0; i < 3; i++)
        sigaction(signals[i], &before[i], NULL);
    prctl(PR_SET_CHILD_SUBREAPER, was_subreaper);
    tool_launch_words_fini(&words);
    return status;
}
