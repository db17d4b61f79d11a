/* SPDX-License-Identifier: MIT
 *
 * Running ringlab-rank from a test. See support.h. */
#include "tests/mpi/support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_all.h"

static char folder[64];

const char *result_path(const char *name)
{
    static char path[128];

    if (!folder[0]) {
        snprintf(folder, sizeof folder, "/tmp/ringlab-test-XXXXXX");
        assert_non_null(mkdtemp(folder));
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

void remove_results(void)
{
    char path[512];
    DIR *listing = folder[0] ? opendir(folder) : NULL;

    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            remove(path);
    }
    if (listing)
        closedir(listing);
    if (folder[0])
        rmdir(folder);
    folder[0] = '\0';
}

char *read_text(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t size = 0;

    assert_non_null(file);
    ssize_t n = getdelim(&text, &size, '\0', file);
    fclose(file);
    assert_true(n > 0);
    return text;
}

/* As anyone may start it: a program like any other, one rank. */
static enum ring_status run_alone(const char *const *words, struct tool_launch_outcome *outcome,
                                  struct ring_error *error)
{
    char program[4096];
    const char *arguments[64] = {program};
    enum ring_status status = tool_launch_find_rank(program, sizeof program, error);

    for (int i = 0; i < 62 && words[i]; i++)
        arguments[i + 1] = words[i];
    if (status != RING_OK)
        return status;
    pid_t child = fork();
    if (child == 0) {
        execv(program, (char *const *)arguments);
        _exit(127);
    }
    int ended = 0;
    assert_int_equal(waitpid(child, &ended, 0), child);
    outcome->exit_code = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    return outcome->exit_code == 0 ? RING_OK : RING_WORLD;
}

enum ring_status run_ranks(uint32_t n_ranks, double timeout_s, const char *const *words,
                           struct tool_launch_outcome *outcome, struct ring_error *error)
{
    struct tool_launch_spec spec = {.n_ranks = n_ranks, .arguments = words, .timeout_s = timeout_s};

    error->text[0] = '\0';
    enum ring_status status = n_ranks ? tool_launch(&spec, outcome, error) : run_alone(words, outcome, error);
    if (status == RING_UNSUPPORTED && strstr(error->text, "openmpi-bin")) {
        print_message("SKIPPED: %s\n", error->text);
        skip();
    }
    return status;
}

static bool has_assignment(const char *pid, const char *assignment)
{
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/%s/comm", pid);
    FILE *file = fopen(path, "re");
    bool found = file && fgets(name, sizeof name, file) && strncmp(name, "ringlab-rank", 12) == 0;
    if (file)
        fclose(file);
    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    file = found ? fopen(path, "re") : NULL;
    char *word = NULL;
    size_t size = 0;
    found = false;
    while (file && !found && getdelim(&word, &size, '\0', file) > 0)
        found = strcmp(word, assignment) == 0;
    free(word);
    if (file)
        fclose(file);
    return found;
}

int count_processes(const char *assignment)
{
    DIR *listing = opendir("/proc");
    int n = 0;

    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing));)
        n += entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && has_assignment(entry->d_name, assignment);
    closedir(listing);
    return n;
}
