/* SPDX-License-Identifier: MIT
 *
 * Files are written whole or not at all. */
#include "tools/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_all.h"

static char folder[] = "/tmp/ringlab-test-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(strrchr(folder, '-') + 1, "XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/result", folder);
    return 0;
}

static size_t n_files(void)
{
    size_t n = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        n += entry->d_name[0] != '.';
    closedir(directory);
    return n;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void a_committed_file_is_there_and_nothing_else(void **state)
{
    (void)state;
    struct tool_file file;
    struct ring_error error;
    char *text;
    size_t size;
    assert_int_equal(tool_file_open(&file, path, &error), RING_OK);
    fputs("all of it", file.stream);
    assert_int_equal(access(path, F_OK), -1); /* not before it is whole */
    assert_int_equal(tool_file_commit(&file, &error), RING_OK);
    assert_int_equal(n_files(), 1);
    assert_int_equal(tool_file_read(path, 100, &text, &size, &error), RING_OK);
    assert_string_equal(text, "all of it");
    assert_int_equal(size, 9);
    free(text);
}

static void a_discarded_file_leaves_what_was_there(void **state)
{
    (void)state;
    struct tool_file file;
    struct ring_error error;
    FILE *old = fopen(path, "w");
    fputs("old", old);
    fclose(old);
    assert_int_equal(tool_file_open(&file, path, &error), RING_OK);
    fputs("half", file.stream);
    tool_file_discard(&file);
    tool_file_discard(&file); /* twice is no harm */
    assert_int_equal(n_files(), 1);
    char *text;
    size_t size;
    assert_int_equal(tool_file_read(path, 100, &text, &size, &error), RING_OK);
    assert_string_equal(text, "old");
    free(text);
}

static void the_mode_is_what_the_umask_leaves(void **state)
{
    (void)state;
    struct tool_file file;
    struct ring_error error;
    struct stat info;
    mode_t mask = umask(022);
    assert_int_equal(tool_file_open(&file, path, &error), RING_OK);
    assert_int_equal(tool_file_commit(&file, &error), RING_OK);
    umask(mask);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0644);
}

static void a_place_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct tool_file file;
    struct ring_error error;
    assert_int_equal(tool_file_open(&file, "/nowhere/at/all", &error), RING_IO);
    assert_non_null(strstr(error.text, "/nowhere/at/all"));
    assert_int_equal(tool_file_open(&file, "", &error), RING_IO);
    assert_int_equal(tool_file_open(&file, folder, &error), RING_IO);
    assert_int_equal(tool_file_probe("/nowhere/x", &error), RING_IO);
    assert_int_equal(n_files(), 0);
}

static void a_full_device_fails_the_commit(void **state)
{
    (void)state;
    struct tool_file file;
    struct ring_error error;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(tool_file_open(&file, "/dev/full", &error), RING_OK);
    fputs("x", file.stream);
    assert_int_equal(tool_file_commit(&file, &error), RING_IO);
    assert_string_equal(error.text, "/dev/full: No space left on device");
    assert_int_equal(tool_file_open(&file, "/dev/full", &error), RING_OK);
    for (int i = 0; i < 100000; i++) /* more than the buffer holds: it fails on the way */
        fputs("0123456789", file.stream);
    assert_int_equal(tool_file_commit(&file, &error), RING_IO);
    assert_string_equal(error.text, "/dev/full: No space left on device");
    assert_int_equal(access("/dev/full", F_OK), 0);
}

static void too_large_a_file_is_refused(void **state)
{
    (void)state;
    struct ring_error error;
    char *text;
    size_t size;
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 100000; i++)
        fputs("0123456789", file);
    fclose(file);
    assert_int_equal(tool_file_read(path, 999999, &text, &size, &error), RING_BAD_INPUT);
    assert_int_equal(tool_file_read(path, 1000000, &text, &size, &error), RING_OK);
    assert_int_equal(size, 1000000);
    free(text);
}

static void folders_are_made_with_their_parents(void **state)
{
    (void)state;
    struct ring_error error;
    char deep[96], middle[96];
    snprintf(middle, sizeof middle, "%s/a", folder);
    snprintf(deep, sizeof deep, "%s/a//b/", folder);
    assert_int_equal(tool_make_folder(deep, &error), RING_OK);
    assert_int_equal(tool_make_folder(deep, &error), RING_OK);
    assert_int_equal(tool_make_folder("/dev/null/x", &error), RING_IO);
    assert_int_equal(rmdir(deep), 0);
    assert_int_equal(rmdir(middle), 0);
}

/* A child holds the lock and lets it go by ending; before that it has told that it has it. */
static void a_second_holder_waits_for_the_first(void **state)
{
    (void)state;
    char lock[96], word = 0;
    bool waited = true;
    int pipe_ends[2], null = open("/dev/null", O_WRONLY), errors = dup(STDERR_FILENO);
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t child = fork();
    if (child == 0) {
        bool child_waited;
        int held = tool_file_lock(path, "", &child_waited);
        word = held >= 0 && !child_waited ? 'y' : 'n';
        _exit(write(pipe_ends[1], &word, 1) == 1 && usleep(100000) == 0 ? 0 : 1);
    }
    assert_int_equal(read(pipe_ends[0], &word, 1), 1);
    assert_int_equal(word, 'y');
    dup2(null, STDERR_FILENO);
    int held = tool_file_lock(path, "somebody has it", &waited);
    dup2(errors, STDERR_FILENO);
    assert_true(held >= 0);
    assert_true(waited);
    assert_int_equal(waitpid(child, NULL, 0), child);
    int all[] = {held, pipe_ends[0], pipe_ends[1], null, errors};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        close(all[i]);
    snprintf(lock, sizeof lock, "%s.lock", path);
    assert_int_equal(unlink(lock), 0);
    assert_int_equal(tool_file_lock("/dev/null/x", "", &waited), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_committed_file_is_there_and_nothing_else, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_discarded_file_leaves_what_was_there, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_mode_is_what_the_umask_leaves, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_place_that_is_not_there_is_named, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_full_device_fails_the_commit, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(too_large_a_file_is_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_second_holder_waits_for_the_first, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(folders_are_made_with_their_parents, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
