/* SPDX-License-Identifier: MIT
 *
 * Memory that runs out: every single allocation of a load fails once, and each time the load says so, gives
 * nothing and leaves nothing behind (which ASan sees). The linker hands the C library's allocation to us
 * (--wrap). */
#include "tests/config/support.h"

static long n_left = -1; /* allocations until one fails; negative: none does */

static bool runs_out(void)
{
    return n_left >= 0 && n_left-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
    return runs_out() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return runs_out() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return runs_out() ? NULL : __real_realloc(memory, size);
}

char *__wrap_strdup(const char *text)
{
    return runs_out() ? NULL : __real_strdup(text);
}

static void a_load_without_memory_says_so_and_leaves_nothing(void **state)
{
    static const char *const paths[] = {FILES "full.yaml", FILES "minimal.yaml", FILES "minimal.yaml",
                                        FILES "minimal.yaml", FILES "minimal.yaml"};
    static const char *const items[] = {"ring.buffers=4", "ring.placement={random: 3}",
                                        "cluster=" FILES "machines.yaml", "cluster=" FILES "fly.yaml",
                                        "cluster=" FILES "torus.yaml"};

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        const struct config_overrides overrides = {&items[i], 1};
        enum ring_status status = RING_NO_MEMORY;
        long n = 0;
        for (; status != RING_OK; n++) {
            struct config_scenario *scenario;
            struct ring_error error = {""};
            n_left = n;
            status = config_scenario_load(paths[i], &overrides, &scenario, &error);
            n_left = -1;
            if (status == RING_OK) {
                assert_non_null(scenario);
                config_scenario_free(scenario);
                break;
            }
            assert_null(scenario);
            assert_int_equal(status, RING_NO_MEMORY);
            assert_non_null(strstr(error.text, "out of memory"));
        }
        assert_true(n > 20); /* it did fail, again and again */
    }
}

static void a_check_without_memory_says_so(void **state)
{
    static const char *const paths[] = {FILES "machines.yaml", FILES "minimal.yaml"};

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        enum ring_status status = RING_NO_MEMORY;
        long n = 0;
        for (; status != RING_OK; n++) {
            struct config_summary summary;
            struct ring_error error = {""};
            n_left = n;
            status = config_check(paths[i], &summary, &error);
            n_left = -1;
            assert_true(status == RING_OK || status == RING_NO_MEMORY);
        }
        assert_true(n > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_without_memory_says_so_and_leaves_nothing),
        cmocka_unit_test(a_check_without_memory_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
