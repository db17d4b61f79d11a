/* SPDX-License-Identifier: MIT
 *
 * See file.h. A path that is not an ordinary file (a pipe, /dev/stdout) cannot be renamed over and is written
 * directly. */
#include "tools/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static enum ring_status fail_io(const char *path, int code, struct ring_error *error)
{
    return ring_fail(error, RING_IO, "%s: %s", path, strerror(code));
}

static void close_and_free(struct tool_file *file)
{
    if (file->stream != NULL)
        fclose(file->stream);
    free(file->path);
    free(file->temporary);
    memset(file, 0, sizeof *file);
}

/* mkstemp makes the file private; a result is an ordinary file, so it gets what the umask leaves. */
static int open_temporary(char *name)
{
    mode_t mask = umask(0);
    umask(mask);
    int fd = mkstemp(name);
    if (fd >= 0 && fchmod(fd, 0666 & ~mask) != 0) {
        /* A file system without modes keeps its own; the content is what counts. */
        errno = 0;
    }
    return fd;
}

enum ring_status tool_file_open(struct tool_file *file, const char *path, struct ring_error *error)
{
    struct stat info;
    memset(file, 0, sizeof *file);
    if (path[0] == '\0')
        return ring_fail(error, RING_IO, "the name of a file to write is empty");
    bool direct = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
    if (direct && S_ISDIR(info.st_mode))
        return fail_io(path, EISDIR, error);
    file->path = strdup(path);
    if (file->path == NULL || (!direct && asprintf(&file->temporary, "%s.XXXXXX", path) < 0)) {
        file->temporary = NULL;
        close_and_free(file);
        return ring_fail(error, RING_NO_MEMORY, "%s: out of memory", path);
    }
    int fd = direct ? open(path, O_WRONLY | O_CLOEXEC) : open_temporary(file->temporary);
    if (fd >= 0)
        file->stream = fdopen(fd, "w");
    if (file->stream == NULL) {
        int code = errno;
        if (fd >= 0)
            close(fd);
        close_and_free(file);
        return fail_io(path, code, error);
    }
    return RING_OK;
}

enum ring_status tool_file_commit(struct tool_file *file, struct ring_error *error)
{
    int code = 0;
    enum ring_status status = RING_OK;
    bool failed = ferror(file->stream) != 0; /* by then errno may be another's: what is left is tried again */
    if (fflush(file->stream) != 0 || failed)
        code = errno == 0 ? EIO : errno;
    if (fclose(file->stream) != 0 && code == 0)
        code = errno;
    file->stream = NULL;
    if (code == 0 && file->temporary != NULL && rename(file->temporary, file->path) != 0)
        code = errno;
    if (code != 0) {
        status = fail_io(file->path, code, error);
        if (file->temporary != NULL)
            unlink(file->temporary);
    }
    close_and_free(file);
    return status;
}

void tool_file_discard(struct tool_file *file)
{
    if (file->temporary != NULL)
        unlink(file->temporary);
    close_and_free(file);
}

enum ring_status tool_file_probe(const char *path, struct ring_error *error)
{
    struct tool_file file;
    enum ring_status status = tool_file_open(&file, path, error);
    if (status == RING_OK)
        tool_file_discard(&file);
    return status;
}

enum ring_status tool_make_folder(const char *path, struct ring_error *error)
{
    char *copy = strdup(path);
    enum ring_status status = RING_OK;
    if (copy == NULL)
        return ring_fail(error, RING_NO_MEMORY, "%s: out of memory", path);
    for (char *at = copy + 1; at[-1] != '\0' && status == RING_OK; at++) {
        char kept = *at;
        if (kept != '/' && kept != '\0')
            continue;
        *at = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            status = fail_io(copy, errno, error);
        *at = kept;
    }
    struct stat info;
    if (status == RING_OK && (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)))
        status = fail_io(path, ENOTDIR, error);
    free(copy);
    return status;
}

enum ring_status tool_file_read(const char *path, size_t max_bytes, char **text, size_t *size,
                                struct ring_error *error)
{
    FILE *stream = fopen(path, "re");
    char *buffer = NULL;
    size_t used = 0, capacity = 0, n;
    if (stream == NULL)
        return fail_io(path, errno, error);
    do {
        if (capacity - used < 2) {
            capacity = capacity == 0 ? 65536 : 2 * capacity;
            char *larger = realloc(buffer, capacity);
            if (larger == NULL) {
                free(buffer);
                fclose(stream);
                return ring_fail(error, RING_NO_MEMORY, "%s: out of memory", path);
            }
            buffer = larger;
        }
        n = fread(buffer + used, 1, capacity - used - 1, stream);
        used += n;
    } while (n > 0 && used <= max_bytes);
    int code = ferror(stream) ? errno : 0;
    fclose(stream);
    if (code != 0 || used > max_bytes) {
        free(buffer);
        return code != 0 ? fail_io(path, code, error)
                         : ring_fail(error, RING_BAD_INPUT, "%s: larger than the %zu MB that are read", path,
                                     max_bytes / 1000000);
    }
    buffer[used] = '\0';
    *text = buffer;
    *size = used;
    return RING_OK;
}

int tool_file_lock(const char *path, const char *words, bool *waited)
{
    size_t length = strlen(path);
    char *lock = malloc(length + sizeof ".lock"), *slash;
    struct ring_error ignored;
    *waited = false;
    if (lock == NULL)
        return -1;
    memcpy(lock, path, length + 1);
    slash = strrchr(lock, '/');
    if (slash != NULL && slash != lock) {
        *slash = '\0';
        (void)tool_make_folder(lock, &ignored); /* where it fails, opening does */
        *slash = '/';
    }
    memcpy(lock + length, ".lock", sizeof ".lock");
    int file = open(lock, O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    free(lock);
    if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        fprintf(stderr, "%s\n", words);
        *waited = flock(file, LOCK_EX) == 0;
    }
    return file;
}
