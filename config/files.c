/* SPDX-License-Identifier: MIT
 *
 * Files as bytes and paths. A file may be anything at all: a directory, a pipe that never ends, a video. */
#include "config/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Length of the UTF-8 sequence at text, or 0 where it is none; control characters other than white space are
 * not text either. */
static size_t character(const unsigned char *text, size_t left)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    size_t n = 0;

    while (n < 4 && (text[0] & forms[n].mask) != forms[n].lead)
        n++;
    if (n == 4 || n + 1 > left)
        return 0;
    uint32_t code = text[0] & (unsigned char)~forms[n].mask;
    for (size_t i = 1; i <= n; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    if (code < forms[n].least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return 0;
    bool control = (code < ' ' && code != '\t' && code != '\n' && code != '\r') || code == 0x7f;
    return control ? 0 : n + 1;
}

static bool check_text(struct config_reader *reader, const struct config_source *source, const char *text,
                       size_t length)
{
    struct config_mark mark = {source, 1, 1};
    const unsigned char *bytes = (const unsigned char *)text;

    for (size_t at = 0, n; at < length; at += n) {
        n = character(bytes + at, length - at);
        if (n == 0) {
            config_fail(reader, &mark, "found the byte 0x%02x, accepted: text in UTF-8", bytes[at]);
            return false;
        }
        mark.column++;
        if (bytes[at] == '\n') {
            mark.line++;
            mark.column = 1;
        }
    }
    return true;
}

/* Up to CONFIG_MAX_FILE bytes of an open file; more is an error. malloc'ed: only the parser needs it. */
static char *read_all(struct config_reader *reader, int file, const char *path, size_t *length)
{
    size_t room = 1 << 16, n = 0;
    char *text = malloc(room);

    for (;;) {
        if (!text) {
            config_fail_memory(reader);
            return NULL;
        }
        ssize_t got = read(file, text + n, room - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            config_fail_as(reader, RING_IO, NULL, "%s: %s", path, strerror(errno));
        n += got > 0 ? (size_t)got : 0;
        if (n > CONFIG_MAX_FILE)
            config_fail(reader, NULL, "%s: found more than %d MiB, accepted: at most that", path,
                        CONFIG_MAX_FILE >> 20);
        if (got <= 0 || !config_ok(reader))
            break;
        if (n == room) {
            char *larger = realloc(text, room *= 2);
            if (!larger)
                free(text);
            text = larger;
        }
    }
    *length = n;
    return text;
}

/* Why a file cannot be read, said where it is named. */
static void fail_open(struct config_reader *reader, const char *path, const struct config_node *named_by,
                      const char *why)
{
    if (!named_by)
        config_fail_as(reader, RING_IO, NULL, "%s: %s", path, why);
    else if (strcmp(named_by->text, path) == 0)
        config_fail_as(reader, RING_IO, &named_by->mark, "%s: %s", config_found(reader, named_by), why);
    else
        config_fail_as(reader, RING_IO, &named_by->mark, "%s: %s (looked for %s)",
                       config_found(reader, named_by), why, path);
}

static int open_regular(struct config_reader *reader, const char *path, const struct config_node *named_by)
{
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer must not hang us */

    if (file < 0 || fstat(file, &info) != 0)
        fail_open(reader, path, named_by, errno == ENOENT ? "no such file" : strerror(errno));
    else if (S_ISDIR(info.st_mode))
        fail_open(reader, path, named_by, "is a directory, accepted: a YAML file");
    else if (!S_ISREG(info.st_mode))
        fail_open(reader, path, named_by, "is not a regular file, accepted: a YAML file");
    if (!config_ok(reader) && file >= 0) {
        close(file);
        file = -1;
    }
    return file;
}

static const char *directory_of(struct config_reader *reader, const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? config_text(reader, "%.*s", (int)(slash - path + 1), path) : "";
}

const struct config_node *config_load_tree(struct config_reader *reader, const char *path,
                                           const struct config_node *named_by)
{
    struct config_source *source = config_scratch(reader, 1, sizeof *source);

    if (!source)
        return NULL;
    *source = (struct config_source){config_text(reader, "%s", path), directory_of(reader, path), true};
    int file = config_ok(reader) ? open_regular(reader, path, named_by) : -1;
    if (file < 0)
        return NULL;
    size_t length = 0;
    char *text = read_all(reader, file, path, &length);
    close(file);
    const char *start = text;
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        start += 3; /* a byte order mark */
        length -= 3;
    }
    const struct config_node *root = NULL;
    if (config_ok(reader) && check_text(reader, source, start, length))
        root = config_tree_parse(reader, source, start, length);
    free(text);
    return root;
}

/* "a/b/../c" as "a/c", when that is the same file (it is not where b is a link to elsewhere). */
static const char *shorten(struct config_reader *reader, const char *path)
{
    char *copy = config_scratch(reader, strlen(path) + 1, 1);
    size_t n = 0;

    if (!copy)
        return NULL;
    for (const char *at = path; *at;) {
        size_t length = strcspn(at, "/");
        if (length == 2 && at[0] == '.' && at[1] == '.' && n > 1 && copy[n - 1] == '/' &&
            !(n >= 3 && memcmp(copy + n - 3, "../", 3) == 0)) {
            for (n--; n > 0 && copy[n - 1] != '/'; n--)
                ;
            at += at[2] == '/' ? 3 : 2;
            continue;
        }
        if (length == 1 && at[0] == '.' && at[1] == '/') {
            at += 2;
            continue;
        }
        length += at[length] == '/' ? 1 : 0;
        memcpy(copy + n, at, length);
        n += length;
        at += length;
    }
    copy[n] = 0;
    struct stat before, after;
    bool same = stat(path, &before) == 0 && stat(copy, &after) == 0 && before.st_dev == after.st_dev &&
                before.st_ino == after.st_ino;
    return same ? copy : path;
}

const char *config_resolve(struct config_reader *reader, const struct config_node *node)
{
    if (!config_ok(reader))
        return NULL;
    if (node->text[0] == 0) {
        config_fail(reader, &node->mark, "found nothing, accepted: the path of a file");
        return NULL;
    }
    const char *directory = node->text[0] == '/' ? "" : node->mark.source->directory;
    const char *path = config_text(reader, "%s%s", directory, node->text);
    if (strlen(path) >= PATH_MAX) {
        config_fail(reader, &node->mark, "%s is too long for a path", config_found(reader, node));
        return NULL;
    }
    return config_ok(reader) ? shorten(reader, path) : NULL;
}

bool config_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

const char *config_absolute(struct config_reader *reader, const char *path)
{
    char *real = config_ok(reader) ? realpath(path, NULL) : NULL;

    if (!real && config_ok(reader))
        config_fail_as(reader, RING_IO, NULL, "%s: %s", path, strerror(errno));
    const char *kept = real ? config_keep_text(reader, real) : NULL;
    free(real);
    return kept;
}
