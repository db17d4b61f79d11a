/* SPDX-License-Identifier: MIT
 *
 * Files that are written whole or not at all. See output.h. */
#include "exec/output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum ring_status exec_output_open(struct exec_output *output, const char *path, struct ring_error *error)
{
    output->file = NULL;
    int n = snprintf(output->path, sizeof output->path, "%s", path);
    int m = snprintf(output->temporary, sizeof output->temporary, "%s.XXXXXX", path);
    if (n < 0 || m < 0 || (size_t)m >= sizeof output->temporary)
        return ring_fail(error, RING_IO, "%.200s...: the path is too long", path);
    int fd = mkstemp(output->temporary);
    if (fd < 0)
        return ring_fail(error, RING_IO, "%s: %s", path, strerror(errno));
    mode_t mask = umask(0); /* mkstemp is stricter than a file that others may read needs */
    umask(mask);
    fchmod(fd, 0666 & ~mask);
    output->file = fdopen(fd, "w");
    if (output->file)
        return RING_OK;
    close(fd);
    unlink(output->temporary);
    return ring_fail(error, RING_NO_MEMORY, "%s: out of memory", path);
}

enum ring_status exec_output_commit(struct exec_output *output, struct ring_error *error)
{
    errno = 0;
    bool bad = ferror(output->file) != 0;
    bad = fclose(output->file) != 0 || bad;
    output->file = NULL;
    if (!bad && rename(output->temporary, output->path) == 0)
        return RING_OK;
    int reason = errno ? errno : EIO;
    unlink(output->temporary);
    return ring_fail(error, RING_IO, "%s: %s", output->path, strerror(reason));
}

void exec_output_discard(struct exec_output *output)
{
    if (!output->file)
        return;
    fclose(output->file);
    output->file = NULL;
    unlink(output->temporary);
}
