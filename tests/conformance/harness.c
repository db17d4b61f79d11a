/* SPDX-License-Identifier: MIT
 *
 * Runs the cases over a world, with cmocka's reporting: each case is a test whose name begins with the
 * world's. */
#include "tests/conformance/suite.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka_all.h"

struct test {
    const struct conformance_world *world;
    const struct conformance_case *one;
    char name[128];
};

static void play_as_test(void **state)
{
    const struct test *test = *state;
    struct ring_error error = {""};
    enum ring_status status = test->world->run(test->world->context, test->one, &error);

    if (status != RING_OK)
        fail_msg("%s: %s: %s", test->name, ring_status_text(status), error.text);
}

int conformance_run_all(const struct conformance_world *world)
{
    struct test *tests = calloc(conformance_n_cases, sizeof *tests);
    struct CMUnitTest *units = calloc(conformance_n_cases, sizeof *units);
    int n_failed = 1;

    if (tests && units) {
        for (uint32_t i = 0; i < conformance_n_cases; i++) {
            tests[i].world = world;
            tests[i].one = &conformance_cases[i];
            snprintf(tests[i].name, sizeof tests[i].name, "%s: %s", world->name, conformance_cases[i].name);
            units[i] = (struct CMUnitTest){tests[i].name, play_as_test, NULL, NULL, &tests[i]};
        }
        n_failed = _cmocka_run_group_tests(world->name, units, conformance_n_cases, NULL, NULL);
    }
    free(tests);
    free(units);
    return n_failed;
}
