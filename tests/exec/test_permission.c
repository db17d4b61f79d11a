/* SPDX-License-Identifier: MIT
 *
 * A processor may have matrix units that the process may not use. Linux refuses them, for one, to a process
 * whose alternate stack for signals could not hold their registers; once granted they stay, so this is a
 * program of its own. On a processor without them everything here holds as well. */
#include <signal.h>
#include <string.h>

#include "exec/kernels/gradient.h"
#include "tests/support/cmocka_all.h"

static void refused_matrix_units_leave_the_next_kernel_and_no_trace(void **state)
{
    static char small[4096];
    const stack_t stack = {.ss_sp = small, .ss_size = sizeof small};
    (void)state;
    if (sigaltstack(&stack, NULL) != 0) {
        print_message("SKIPPED: no alternate stack of 4096 bytes\n");
        skip();
    }
    const struct block_kernel *kernel = block_kernel_find("auto", RING_BF16, 64);
    assert_ptr_equal(kernel, block_kernel_find("tiled", RING_BF16, 64));
    assert_true(kernel->weight_u == 0.0);
    assert_string_equal(block_gradient_find(kernel)->name, kernel->name);
    assert_null(block_kernel_find("amx", RING_BF16, 64));
}

static void who_names_a_kernel_that_is_refused_is_told_what_there_is(void **state)
{
    const struct block_kernel *kernel;
    struct ring_error error;
    (void)state;
    assert_int_equal(block_kernel_choose("amx", RING_BF16, 64, "a.yaml:1:1", "a.yaml:2:2", &kernel, &error),
                     RING_UNSUPPORTED);
    assert_non_null(strstr(error.text, "a.yaml:2:2: measure.kernel 'amx' is no kernel for bf16"));
    assert_non_null(strstr(error.text, "(accepted here: auto, tiled-"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_matrix_units_leave_the_next_kernel_and_no_trace),
        cmocka_unit_test(who_names_a_kernel_that_is_refused_is_told_what_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
