/* SPDX-License-Identifier: MIT
 *
 * Figures as people read them: four digits, the unit that makes them short, no sign on a zero. */
#include "tools/units.h"

#include <math.h>

#include "tests/support/cmocka_all.h"

static void a_time_gets_the_unit_that_makes_it_short(void **state)
{
    (void)state;
    assert_string_equal(tool_figure(TOOL_SECONDS, 2.561e-3).text, "2.561 ms");
    assert_string_equal(tool_figure(TOOL_SECONDS, 25e-9).text, "25.00 ns");
    assert_string_equal(tool_figure(TOOL_SECONDS, 0.3759).text, "375.9 ms");
    assert_string_equal(tool_figure(TOOL_SECONDS, 12).text, "12.00 s");
    assert_string_equal(tool_figure(TOOL_SECONDS, 0).text, "0 s");
    assert_string_equal(tool_figure(TOOL_SECONDS, -1.5e-6).text, "-1.500 us");
}

static void rounding_never_gives_a_thousand_of_a_unit(void **state)
{
    (void)state;
    assert_string_equal(tool_figure(TOOL_SECONDS, 0.99999e-3).text, "1.000 ms");
    assert_string_equal(tool_figure(TOOL_BYTES, 999.99e6).text, "1.000 GB");
    assert_string_equal(tool_figure(TOOL_SECONDS, 9.9999e-3).text, "10.00 ms");
}

static void sizes_and_rates_are_decimal(void **state)
{
    (void)state;
    assert_string_equal(tool_figure(TOOL_BYTES, 33554432).text, "33.55 MB");
    assert_string_equal(tool_figure(TOOL_BYTES, 512).text, "512 B");
    assert_string_equal(tool_figure(TOOL_BYTES_PER_S, 50e9).text, "50.00 GB/s");
    assert_string_equal(tool_figure(TOOL_FLOP_PER_S, 989e12).text, "989.0 TFLOP/s");
    assert_string_equal(tool_figure(TOOL_PER_S, 5.96e6).text, "5.960 M");
}

static void what_is_no_number_is_said_in_words(void **state)
{
    (void)state;
    assert_string_equal(tool_figure(TOOL_BYTES_PER_S, (double)INFINITY).text, "unlimited");
    assert_string_equal(tool_figure(TOOL_SECONDS, (double)NAN).text, "unknown");
    assert_string_equal(tool_percent((double)NAN).text, "-");
    assert_string_equal(tool_signed_percent((double)INFINITY).text, "-");
}

static void a_huge_value_fits_the_room(void **state)
{
    (void)state;
    assert_string_equal(tool_figure(TOOL_SECONDS, 1e300).text, "1.000e+300 s");
    struct tool_unit unit = tool_unit_for(TOOL_SECONDS, 1e-3);
    assert_string_equal(tool_figure_in(unit, 1e300, 3).text, "1.000e+303");
}

static void shares_are_percentages_and_a_zero_has_no_sign(void **state)
{
    (void)state;
    assert_string_equal(tool_percent(0.4322).text, "43 %");
    assert_string_equal(tool_percent(0.0312).text, "3.1 %");
    assert_string_equal(tool_percent(1e-17).text, "0 %");
    assert_string_equal(tool_percent(1).text, "100 %");
    assert_string_equal(tool_signed_percent(-0.2345).text, "-23.4 %");
    assert_string_equal(tool_signed_percent(0.041).text, "+4.1 %");
    assert_string_equal(tool_signed_percent(-0.0001).text, "0.0 %");
    struct tool_unit ms = tool_unit_for(TOOL_SECONDS, 0.5);
    assert_string_equal(tool_signed_in(ms, -1e-8, 3).text, "0.000");
    assert_string_equal(tool_signed_in(ms, 2.1084e-3, 3).text, "+2.108");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_gets_the_unit_that_makes_it_short),
        cmocka_unit_test(rounding_never_gives_a_thousand_of_a_unit),
        cmocka_unit_test(sizes_and_rates_are_decimal),
        cmocka_unit_test(what_is_no_number_is_said_in_words),
        cmocka_unit_test(a_huge_value_fits_the_room),
        cmocka_unit_test(shares_are_percentages_and_a_zero_has_no_sign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
