/* SPDX-License-Identifier: MIT
 *
 * The nearest right name. */
#include "tools/names.h"

#include "tests/support/cmocka_all.h"

static const char *const commands[] = {"predict", "measure", "compare", "verify", "check", "plot", NULL};

static void a_letter_changed_lost_added_or_swapped_is_one(void **state)
{
    (void)state;
    assert_int_equal(tool_name_distance("plot", "plot"), 0);
    assert_int_equal(tool_name_distance("plit", "plot"), 1);
    assert_int_equal(tool_name_distance("plt", "plot"), 1);
    assert_int_equal(tool_name_distance("ploot", "plot"), 1);
    assert_int_equal(tool_name_distance("polt", "plot"), 1);
    assert_int_equal(tool_name_distance("", "plot"), 4);
}

static void the_nearest_command_is_offered(void **state)
{
    (void)state;
    assert_string_equal(tool_name_nearest("preditc", commands), "predict");
    assert_string_equal(tool_name_nearest("mesure", commands), "measure");
    assert_string_equal(tool_name_nearest("chekc", commands), "check");
}

static void nothing_is_offered_for_a_strange_word(void **state)
{
    (void)state;
    assert_null(tool_name_nearest("frobnicate", commands));
    assert_null(tool_name_nearest("", commands));
    assert_null(tool_name_nearest("a-word-that-is-longer-than-forty-letters-altogether", commands));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_letter_changed_lost_added_or_swapped_is_one),
        cmocka_unit_test(the_nearest_command_is_offered),
        cmocka_unit_test(nothing_is_offered_for_a_strange_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
