/* SPDX-License-Identifier: MIT
 *
 * Quantities: what each unit is in SI, to the last bit, and what is no quantity. */
#include <math.h>

#include "config/quantity.h"
#include "tests/config/support.h"

static void a_unit_is_what_it_says_to_the_last_bit(void **state)
{
    static const struct {
        const char *text;
        enum config_unit unit;
        double value;
    } cases[] = {
        {"200Gbps", CONFIG_BYTES_PER_S, 25e9},
        {"25GB/s", CONFIG_BYTES_PER_S, 25e9},
        {"25 GB/s", CONFIG_BYTES_PER_S, 25e9},
        {"3600Gbps", CONFIG_BYTES_PER_S, 450e9},
        {"0.000025ms", CONFIG_SECONDS, 25e-9},
        {"400 Gbps", CONFIG_BYTES_PER_S, 50e9},
        {"400 Gbit/s", CONFIG_BYTES_PER_S, 50e9},
        {"8 bps", CONFIG_BYTES_PER_S, 1},
        {"1e3 B/s", CONFIG_BYTES_PER_S, 1000},
        {"+1.5e-3 TB/s", CONFIG_BYTES_PER_S, 1.5e9},
        {".5 PB/s", CONFIG_BYTES_PER_S, 0.5e15},
        {"1 EB/s", CONFIG_BYTES_PER_S, 1e18},
        {"1 kB/s", CONFIG_BYTES_PER_S, 1000},
        {"1 KiB/s", CONFIG_BYTES_PER_S, 1024},
        {"2 MiB/s", CONFIG_BYTES_PER_S, 2097152},
        {"80 GB", CONFIG_BYTES, 80e9},
        {"80 GiB", CONFIG_BYTES, 85899345920.0},
        {"1 TiB", CONFIG_BYTES, 1099511627776.0},
        {"0 B", CONFIG_BYTES, 0},
        {"28B", CONFIG_BYTES, 28},
        {"1.5 us", CONFIG_SECONDS, 1.5e-6},
        {"1.5 \xc2\xb5s", CONFIG_SECONDS, 1.5e-6}, /* the micro sign, and the Greek letter */
        {"1.5 \xce\xbcs", CONFIG_SECONDS, 1.5e-6},
        {"1.3744 ms", CONFIG_SECONDS, 1.3744e-3},
        {"2 min", CONFIG_SECONDS, 120},
        {"7. s", CONFIG_SECONDS, 7},
        {"0 s", CONFIG_SECONDS, 0},
        {"  1\t ns", CONFIG_SECONDS, 1e-9},
        {"989 TFLOP/s", CONFIG_FLOP_PER_S, 989e12},
        {"989 TFLOPS", CONFIG_FLOP_PER_S, 989e12},
        {"1 PFLOP/s", CONFIG_FLOP_PER_S, 1e15},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ring_error error = {""};
        double value = -1;
        if (config_quantity(cases[i].text, cases[i].unit, &value, &error) != RING_OK)
            fail_msg("%s: %s", cases[i].text, error.text);
        if (value != cases[i].value)
            fail_msg("%s is %.17g, found %.17g", cases[i].text, cases[i].value, value);
    }
}

static void what_is_no_quantity_is_refused_with_the_units_accepted(void **state)
{
    static const struct {
        const char *text;
        enum config_unit unit;
    } cases[] = {
        {"200", CONFIG_BYTES_PER_S},     {"25Gi B/s", CONFIG_BYTES_PER_S},
        {"200 foo", CONFIG_BYTES_PER_S}, {"", CONFIG_BYTES_PER_S},
        {" ", CONFIG_SECONDS},           {"GB/s", CONFIG_BYTES_PER_S},
        {".", CONFIG_SECONDS},           {"e5 s", CONFIG_SECONDS},
        {"1e s", CONFIG_SECONDS},        {"--1 s", CONFIG_SECONDS},
        {"1 2 s", CONFIG_SECONDS},       {"1 s s", CONFIG_SECONDS},
        {"1 ss", CONFIG_SECONDS},        {"1 kms", CONFIG_SECONDS},
        {"1 Ks", CONFIG_SECONDS},        {"nan s", CONFIG_SECONDS},
        {"NaN", CONFIG_SECONDS},         {"inf s", CONFIG_SECONDS},
        {"infinity", CONFIG_SECONDS},    {"0x1p3 s", CONFIG_SECONDS},
        {"1_0 s", CONFIG_SECONDS},       {"1,5 s", CONFIG_SECONDS},
        {"1.2.3 s", CONFIG_SECONDS},     {"25 GB", CONFIG_BYTES_PER_S},
        {"25 GB/s", CONFIG_BYTES},       {"25 Gbps", CONFIG_BYTES},
        {"1 GFLOP", CONFIG_FLOP_PER_S},  {"1 gb/s", CONFIG_BYTES_PER_S},
        {"1 GBps", CONFIG_BYTES_PER_S},  {"64 KB", CONFIG_BYTES},
        {"1 MiFLOP", CONFIG_FLOP_PER_S}, {"1 s ", CONFIG_SECONDS},
        {"1 s\n", CONFIG_SECONDS},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ring_error error = {""};
        double value;
        if (config_quantity(cases[i].text, cases[i].unit, &value, &error) != RING_BAD_INPUT)
            fail_msg("'%s' was taken for %g", cases[i].text, value);
        if (!strstr(error.text, "accepted: ") ||
            !strstr(error.text, cases[i].unit == CONFIG_SECONDS ? "ms" : "k M G T P E"))
            fail_msg("'%s' is answered by: %s", cases[i].text, error.text);
    }
}

static void a_unit_with_a_slip_is_answered_by_what_was_meant(void **state)
{
    static const struct {
        const char *text;
        enum config_unit unit;
        const char *meant; /* NULL: nothing is offered */
    } cases[] = {
        {"200 Gb/s", CONFIG_BYTES_PER_S, "Gbps"}, {"200 GBps", CONFIG_BYTES_PER_S, "GB/s"},
        {"1 KB/s", CONFIG_BYTES_PER_S, "kB/s"},   {"64 KB", CONFIG_BYTES, "kB"},
        {"1 MS", CONFIG_SECONDS, "ms"},           {"1 tflops", CONFIG_FLOP_PER_S, "TFLOPS"},
        {"200 foo", CONFIG_BYTES_PER_S, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ring_error error = {""};
        double value;
        char wanted[64];
        assert_int_equal(config_quantity(cases[i].text, cases[i].unit, &value, &error), RING_BAD_INPUT);
        snprintf(wanted, sizeof wanted, "(did you mean %s?)", cases[i].meant ? cases[i].meant : "");
        if (cases[i].meant ? !strstr(error.text, wanted) : strstr(error.text, "mean") != NULL)
            fail_msg("'%s' is answered by: %s", cases[i].text, error.text);
    }
}

static void values_that_make_no_sense_are_refused(void **state)
{
    static const struct {
        const char *text;
        enum config_unit unit;
        bool positive;
        const char *why;
    } cases[] = {
        {"0 GB/s", CONFIG_BYTES_PER_S, false, "is zero"},
        {"-0 GB/s", CONFIG_BYTES_PER_S, false, "is negative"},
        {"-1 us", CONFIG_SECONDS, false, "is negative"},
        {"-1e-400 us", CONFIG_SECONDS, false, "is negative"},
        {"0 us", CONFIG_SECONDS, true, "is zero"},
        {"1e-400 s", CONFIG_SECONDS, true, "is zero"},
        {"1e400 s", CONFIG_SECONDS, false, "is too large"},
        {"1e99999999999999999999 s", CONFIG_SECONDS, false, "is too large"},
        {"1e308 TB/s", CONFIG_BYTES_PER_S, false, "is too large"},
        {"1e-30 s", CONFIG_SECONDS, false, "is too small"},
        {"0.5 B/s", CONFIG_BYTES_PER_S, false, "is too small"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char why[256] = "";
        double value = 7;
        assert_false(
            config_quantity_parse(cases[i].text, cases[i].unit, cases[i].positive, &value, why, sizeof why));
        if (strncmp(why, cases[i].why, strlen(cases[i].why)) != 0)
            fail_msg("'%s' %s", cases[i].text, why);
        assert_true(value == 0);
    }
}

static void a_number_of_endless_digits_is_refused(void **state)
{
    char text[4096], why[256] = "";
    double value;

    (void)state;
    memset(text, '1', sizeof text);
    strcpy(text + sizeof text - 3, " s");
    assert_false(config_quantity_parse(text, CONFIG_SECONDS, false, &value, why, sizeof why));
    assert_non_null(strstr(why, "too many digits"));
}

static void what_is_written_is_read_back_to_the_last_bit(void **state)
{
    uint64_t bits = 1;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double value = (double)(bits >> 11) * exp2((double)(bits % 60) - 80); /* 1e-8 .. 1e9 */
        char text[64];
        double read = -1;
        struct ring_error error = {""};
        if (!(value > 1e-12 && value < 1e9))
            continue;
        config_quantity_format(value, CONFIG_SECONDS, text, sizeof text);
        assert_int_equal(config_quantity(text, CONFIG_SECONDS, &read, &error), RING_OK);
        if (read != value)
            fail_msg("%.17g is written '%s' and read %.17g", value, text, read);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_is_what_it_says_to_the_last_bit),
        cmocka_unit_test(what_is_no_quantity_is_refused_with_the_units_accepted),
        cmocka_unit_test(a_unit_with_a_slip_is_answered_by_what_was_meant),
        cmocka_unit_test(values_that_make_no_sense_are_refused),
        cmocka_unit_test(a_number_of_endless_digits_is_refused),
        cmocka_unit_test(what_is_written_is_read_back_to_the_last_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
