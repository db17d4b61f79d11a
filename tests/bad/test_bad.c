/* SPDX-License-Identifier: MIT
 *
 * Wrong input and what is said about it, as data. NAME.yaml is a scenario, a topology or a device with one
 * thing wrong; NAME.err is the whole line that it must be answered with. NAME.set, where there is one, has
 * `--set` items, one a line. A new case is two files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>

#include <cmocka.h>

#include "config/config.h"

enum { MOST_CASES = 512, MOST_ITEMS = 8 };

static const char folder[] = "tests/bad";

/* The lines of folder/name.suffix in text, split at their ends; how many. */
static size_t read_lines(const char *name, const char *suffix, char *text, size_t size, const char **lines)
{
    char path[512];
    size_t n = 0;

    snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
    for (char *line = strtok(text, "\n"); line && n < MOST_ITEMS; line = strtok(NULL, "\n"))
        lines[n++] = line;
    return n;
}

static void is_refused_with_its_line(void **state)
{
    const char *name = *state;
    char path[512], wanted_text[2048], set_text[2048];
    const char *wanted[MOST_ITEMS], *items[MOST_ITEMS];
    struct ring_error error = {"no error at all"};
    enum ring_status status;

    snprintf(path, sizeof path, "%s/%s.yaml", folder, name);
    size_t n_wanted = read_lines(name, ".err", wanted_text, sizeof wanted_text, wanted);
    size_t n_items = read_lines(name, ".set", set_text, sizeof set_text, items);
    if (n_items > 0) {
        struct config_overrides overrides = {items, n_items};
        struct config_scenario *scenario;
        status = config_scenario_load(path, &overrides, &scenario, &error);
        assert_null(scenario);
    } else {
        struct config_summary summary;
        status = config_check(path, &summary, &error);
    }
    if (n_wanted != 1)
        fail_msg("%s.err must have one line, it has %zu; found: %s", name, n_wanted, error.text);
    assert_string_equal(error.text, wanted[0]);
    assert_int_not_equal(status, RING_OK);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct CMUnitTest *)a)->name, ((const struct CMUnitTest *)b)->name);
}

/* Every NAME.yaml of the folder is a test of its name. */
static size_t find_cases(struct CMUnitTest *cases)
{
    static char names[MOST_CASES][128];
    DIR *directory = opendir(folder);
    size_t n = 0;

    for (struct dirent *entry; directory && n < MOST_CASES && (entry = readdir(directory));) {
        size_t length = strlen(entry->d_name);
        if (length <= 5 || length >= sizeof names[0] || strcmp(entry->d_name + length - 5, ".yaml") != 0)
            continue;
        memcpy(names[n], entry->d_name, length - 5);
        cases[n] = (struct CMUnitTest){
            .name = names[n], .test_func = is_refused_with_its_line, .initial_state = names[n]};
        n++;
    }
    if (directory)
        closedir(directory);
    qsort(cases, n, sizeof *cases, by_name);
    return n;
}

int main(void)
{
    static struct CMUnitTest cases[MOST_CASES];
    size_t n = find_cases(cases);

    if (n == 0) {
        fprintf(stderr, "no cases in %s\n", folder);
        return 1;
    }
    return _cmocka_run_group_tests("wrong input", cases, n, NULL, NULL);
}
