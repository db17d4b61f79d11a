/* SPDX-License-Identifier: MIT
 *
 * The words of an mpirun command: which flags this version wants, where the programs are, and how the whole
 * reads in a shell. Running it is launch.c's business. */
#include "tools/launch_command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

uint32_t tool_launch_flags(const struct tool_launch_facts *facts, bool bind_to_core, const char **out)
{
    const char *name = strstr(facts->version_text, "Open MPI)");
    if (!name)
        return 0;
    long major = strtol(name + strlen("Open MPI)"), NULL, 10);
    bool prrte = major >= 5; /* another launcher, and vader was renamed */
    uint32_t n = 0;
    if (facts->root)
        out[n++] = "--allow-run-as-root";
    if (facts->oversubscribed && prrte) {
        out[n++] = "--map-by";
        out[n++] = ":OVERSUBSCRIBE";
    } else if (facts->oversubscribed) {
        out[n++] = "--oversubscribe";
    }
    out[n++] = "--bind-to";
    out[n++] = bind_to_core && !facts->oversubscribed ? "core" : "none";
    /* Shared memory without guesswork: one way for the bytes, so that a calibration holds for the run after
     * it. */
    const char *const parameters[][2] = {
        {"pml", "ob1"}, {"btl", prrte ? "self,sm" : "self,vader"}, {"mpi_yield_when_idle", "1"}};
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        out[n++] = "--mca";
        out[n++] = parameters[i][0];
        out[n++] = parameters[i][1];
    }
    if (facts->no_single_copy) {
        out[n++] = "--mca";
        out[n++] = prrte ? "smsc" : "btl_vader_single_copy_mechanism";
        out[n++] = prrte ? "^cma" : "none";
    }
    return n;
}

/* Whether this process may read another's memory at all: some containers forbid the call, and Open MPI then
 * fills stderr with complaints. Reading one's own shows it. */
static bool single_copy_refused(void)
{
    char from = 1, to = 0;
    struct iovec local = {&to, 1}, remote = {&from, 1};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != 1;
}

int tool_launch_ask(const char *program, const char *word, char *text, size_t size)
{
    int ends[2];
    text[0] = '\0';
    if (pipe(ends) != 0)
        return TOOL_LAUNCH_NOT_STARTED;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        execlp(program, program, word, (char *)NULL);
        _exit(TOOL_LAUNCH_NOT_STARTED);
    }
    close(ends[1]);
    size_t n = 0;
    char rest[256];
    for (;;) {
        bool room = n + 1 < size;
        ssize_t got = read(ends[0], room ? text + n : rest, room ? size - 1 - n : sizeof rest);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if (room)
            n += (size_t)got;
    }
    close(ends[0]);
    text[n] = '\0';
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child < 0)
        return TOOL_LAUNCH_NOT_STARTED;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

enum ring_status tool_launch_find_rank(char *out, size_t size, struct ring_error *error)
{
    const char *named = getenv("RINGLAB_RANK");
    if (named && *named) {
        if (access(named, X_OK) != 0)
            return ring_fail(error, RING_UNSUPPORTED, "RINGLAB_RANK=%s: %s", named, strerror(errno));
        snprintf(out, size, "%s", named);
        return RING_OK;
    }
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    const char *const places[] = {"", "/../libexec/ringlab"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int length = snprintf(out, size, "%s%s/ringlab-rank", self, places[i]);
        if (length > 0 && (size_t)length < size && access(out, X_OK) == 0)
            return RING_OK;
    }
    return ring_fail(error, RING_UNSUPPORTED,
                     "%s/ringlab-rank: the MPI program is not built "
                     "(install libopenmpi-dev and openmpi-bin and build again)",
                     self);
}

/* Appends a word; the list stays ended by NULL. */
static bool add_word(struct tool_launch_words *words, const char *text, size_t length)
{
    if (words->n + 2 > TOOL_LAUNCH_MAX_WORDS)
        return false;
    char *copy = strndup(text, length);
    if (!copy)
        return false;
    words->list[words->n++] = copy;
    words->list[words->n] = NULL;
    return true;
}

/* Splits the user's --mpi-args the way a shell would split it, quotes but no expansion. */
static bool add_split(struct tool_launch_words *words, const char *text)
{
    char word[4096];
    size_t n = 0;
    char quote = 0;
    bool open = false; /* a word has begun, be it empty */
    for (const char *c = text;; c++) {
        bool blank = *c == ' ' || *c == '\t' || *c == '\n';
        if (*c == '\0' || (blank && !quote)) {
            if (open && !add_word(words, word, n))
                return false;
            n = 0;
            open = false;
            if (*c == '\0')
                return quote == 0;
        } else if (quote ? *c == quote : (*c == '\'' || *c == '"')) {
            quote = quote ? 0 : *c;
            open = true;
        } else if (n < sizeof word) {
            word[n++] = *c;
            open = true;
        } else {
            return false;
        }
    }
}

void tool_launch_words_fini(struct tool_launch_words *words)
{
    for (size_t i = 0; i < words->n; i++)
        free(words->list[i]);
    words->n = 0;
    words->list[0] = NULL;
}

static enum ring_status add_flags(struct tool_launch_words *words, const struct tool_launch_spec *spec,
                                  const char *mpirun, struct ring_error *error)
{
    if (spec->mpi_args) {
        if (!add_split(words, spec->mpi_args))
            return ring_fail(error, RING_BAD_INPUT, "--mpi-args '%s': an open quote or too many words",
                             spec->mpi_args);
        return RING_OK;
    }
    char version[1024];
    int code = tool_launch_ask(mpirun, "--version", version, sizeof version);
    if (code == TOOL_LAUNCH_NOT_STARTED)
        return ring_fail(error, RING_UNSUPPORTED,
                         "%s: cannot be run (install openmpi-bin, or name yours with --mpirun)", mpirun);
    if (code != 0)
        return ring_fail(error, RING_UNSUPPORTED,
                         "%s --version failed (exit status %d)%s%.*s; is it an mpirun?", mpirun, code,
                         version[0] != '\0' ? ": " : "", (int)strcspn(version, "\n"), version);
    long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct tool_launch_facts facts = {.version_text = version,
                                      .root = geteuid() == 0,
                                      .oversubscribed = n_cores > 0 && spec->n_ranks > (unsigned long)n_cores,
                                      .no_single_copy = single_copy_refused()};
    const char *flags[TOOL_LAUNCH_MAX_FLAGS];
    uint32_t n = tool_launch_flags(&facts, spec->bind_to_core, flags);
    for (uint32_t i = 0; i < n; i++)
        if (!add_word(words, flags[i], strlen(flags[i])))
            return ring_fail(error, RING_NO_MEMORY, "mpirun command: out of memory");
    return RING_OK;
}

enum ring_status tool_launch_words_init(struct tool_launch_words *words, const struct tool_launch_spec *spec,
                                        struct ring_error *error)
{
    words->n = 0;
    words->list[0] = NULL;
    const char *mpirun = spec->mpirun ? spec->mpirun : getenv("RINGLAB_MPIRUN");
    if (!mpirun || !*mpirun)
        mpirun = "mpirun";
    char found[PATH_MAX];
    const char *program = spec->program;
    if (!program) {
        enum ring_status status = tool_launch_find_rank(found, sizeof found, error);
        if (status != RING_OK)
            return status;
        program = found;
    }
    char count[16];
    snprintf(count, sizeof count, "%u", spec->n_ranks);
    bool fits = add_word(words, mpirun, strlen(mpirun)) && add_word(words, "-n", 2) &&
                add_word(words, count, strlen(count));
    enum ring_status status = add_flags(words, spec, mpirun, error);
    fits = fits && add_word(words, program, strlen(program));
    for (const char *const *argument = spec->arguments; fits && argument && *argument; argument++)
        fits = add_word(words, *argument, strlen(*argument));
    if (status == RING_OK && !fits)
        status =
            ring_fail(error, RING_BAD_INPUT, "mpirun command: more than %d words", TOOL_LAUNCH_MAX_WORDS);
    if (status != RING_OK)
        tool_launch_words_fini(words);
    return status;
}

void tool_launch_words_text(const struct tool_launch_words *words, char *out, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^";
    FILE *stream = fmemopen(out, size, "w");
    if (!stream) {
        out[0] = '\0';
        return;
    }
    for (size_t i = 0; i < words->n; i++) {
        const char *word = words->list[i];
        fputs(i ? " " : "", stream);
        if (*word && strspn(word, plain) == strlen(word)) {
            fputs(word, stream);
            continue;
        }
        fputc('\'', stream);
        for (const char *c = word; *c; c++)
            *c == '\'' ? fputs("'\\''", stream) : fputc(*c, stream);
        fputc('\'', stream);
    }
    fclose(stream);
    out[size - 1] = '\0';
}

enum ring_status tool_launch_command(const struct tool_launch_spec *spec, char *out, size_t size,
                                     struct ring_error *error)
{
    struct tool_launch_words words;
    enum ring_status status = tool_launch_words_init(&words, spec, error);
    if (status != RING_OK)
        return status;
    tool_launch_words_text(&words, out, size);
    tool_launch_words_fini(&words);
    return RING_OK;
}
