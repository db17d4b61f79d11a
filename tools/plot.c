/* SPDX-License-Identifier: MIT
 *
 * `ringlab plot`: reads results, has gnuplot draw them, and puts the picture in place when it is whole. */
#include "tools/plot.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/commands.h"
#include "tools/file.h"

extern char **environ;

/* What gnuplot complained of: its first line that is no echo of the script or pointer into it. */
static enum ring_status complain(FILE *words, int code, struct ring_error *error)
{
    char line[256], text[256] = "";
    rewind(words);
    while (fgets(line, sizeof line, words) != NULL && text[0] == '\0') {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "gnuplot> ", 9) != 0 && line[strspn(line, " ^\t")] != '\0')
            memcpy(text, line, sizeof text);
    }
    return ring_fail(error, RING_WORLD, "gnuplot failed (%d)%s%s", code, text[0] != '\0' ? ": " : "", text);
}

static enum ring_status spawn(FILE *script, FILE *words, pid_t *child, struct ring_error *error)
{
    char *arguments[] = {(char[]){"gnuplot"}, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(words), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(words), STDERR_FILENO);
    int code = posix_spawnp(child, arguments[0], &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (code == ENOENT)
        return ring_fail(error, RING_UNSUPPORTED,
                         "gnuplot is not installed (Debian and Ubuntu: gnuplot-nox)");
    return code == 0 ? RING_OK : ring_fail(error, RING_WORLD, "gnuplot does not start: %s", strerror(code));
}

enum ring_status tool_plot_run(FILE *script, struct ring_error *error)
{
    FILE *words = tmpfile();
    pid_t child;
    int code = 0;
    if (words == NULL)
        return ring_fail(error, RING_IO, "no temporary file: %s", strerror(errno));
    rewind(script);
    enum ring_status status = spawn(script, words, &child, error);
    if (status == RING_OK) {
        while (waitpid(child, &code, 0) < 0 && errno == EINTR)
            continue;
        if (code != 0)
            status = complain(words, WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code), error);
    }
    fclose(words);
    return status;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

/* gnuplot does not say when it cannot write: a picture is whole if it ends as its kind does. What goes to no
 * ordinary file (a pipe, a device) is drawn elsewhere first, and then copied. */
static enum ring_status check_whole(const struct tool_plot *plot, const char *path, struct ring_error *error)
{
    static const char png_end[] = {'I', 'E', 'N', 'D', '\xae', 'B', '`', '\x82'};
    const char *end = plot->svg ? "</svg>" : png_end;
    size_t length = plot->svg ? strlen(end) : sizeof png_end, n = 0;
    char last[16] = "";
    FILE *picture = fopen(plot->output, "re");
    if (picture != NULL && fseek(picture, -(long)(sizeof last), SEEK_END) == 0)
        n = fread(last, 1, sizeof last, picture);
    if (picture != NULL)
        fclose(picture);
    if (memmem(last, n, end, length) != NULL)
        return RING_OK;
    return ring_fail(error, RING_IO, "%s: gnuplot did not write the whole picture (is there room for it?)",
                     path);
}

static enum ring_status copy(const char *from, struct tool_file *to, struct ring_error *error)
{
    char *text;
    size_t size;
    enum ring_status status = tool_file_read(from, SIZE_MAX, &text, &size, error);
    if (status != RING_OK)
        return status;
    fwrite(text, 1, size, to->stream); /* committing the file looks whether it went well */
    free(text);
    return RING_OK;
}

/* The script goes to gnuplot; the picture to a neighbour of path, then to path. */
static enum ring_status draw(const struct tool_result *results, size_t n_results, const char *path,
                             struct ring_error *error)
{
    struct tool_file picture;
    if (!ends_with(path, ".svg") && !ends_with(path, ".png"))
        return ring_fail(error, RING_BAD_INPUT, "%s: a picture is .svg or .png", path);
    enum ring_status status = tool_file_open(&picture, path, error);
    if (status != RING_OK)
        return status;
    char elsewhere[] = "/tmp/ringlab-picture-XXXXXX";
    int fd = picture.temporary != NULL ? -1 : mkstemp(elsewhere);
    struct tool_plot plot = {results, n_results, picture.temporary != NULL ? picture.temporary : elsewhere,
                             ends_with(path, ".svg")};
    FILE *script = tmpfile();
    if (script == NULL || (picture.temporary == NULL && fd < 0)) {
        status = ring_fail(error, RING_IO, "no temporary file: %s", strerror(errno));
    } else {
        tool_plot_script(&plot, script);
        status = fflush(script) == 0
                     ? tool_plot_run(script, error)
                     : ring_fail(error, RING_IO, "no room for a temporary file: %s", strerror(errno));
    }
    if (script != NULL)
        fclose(script);
    if (status == RING_OK)
        status = check_whole(&plot, path, error);
    if (status == RING_OK && fd >= 0)
        status = copy(elsewhere, &picture, error);
    if (fd >= 0) {
        close(fd);
        unlink(elsewhere);
    }
    if (status == RING_OK)
        return tool_file_commit(&picture, error);
    tool_file_discard(&picture);
    return status;
}

/* timeline.json -> timeline.svg, in the working folder's terms. */
static enum ring_status default_name(const char *result, char *out, size_t size, struct ring_error *error)
{
    size_t length = strlen(result) - (ends_with(result, ".json") ? 5 : 0);
    if (length + sizeof ".svg" > size)
        return ring_fail(error, RING_IO, "%.200s...: the path is too long", result);
    memcpy(out, result, length);
    strcpy(out + length, ".svg");
    return RING_OK;
}

enum ring_status tool_plot(const struct tool_options *options, struct ring_error *error)
{
    struct tool_result results[TOOL_PLOT_MAX_RESULTS];
    char path[4096];
    size_t n = 0;
    enum ring_status status = RING_OK;
    while (status == RING_OK && n < options->n_files) {
        tool_result_init(&results[n]);
        status = tool_result_load(&results[n], options->files[n], error);
        n++;
    }
    if (status == RING_OK && options->out != NULL)
        snprintf(path, sizeof path, "%s", options->out);
    else if (status == RING_OK)
        status = default_name(options->files[0], path, sizeof path, error);
    if (status == RING_OK)
        status = draw(results, n, path, error);
    if (status == RING_OK)
        printf("%s\n", path);
    while (n > 0)
        tool_result_fini(&results[--n]);
    return status;
}
