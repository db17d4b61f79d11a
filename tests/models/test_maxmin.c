/* SPDX-License-Identifier: MIT
 *
 * Max-min shares against figures worked by hand. */
#include <math.h>

#include "models/maxmin.h"
#include "tests/support/cmocka_all.h"

enum { MAX_FLOWS = 8 };

static void assert_rates(const double *bytes_per_s, size_t n_links, const struct model_flow *flows,
                         size_t n_flows, const double *expected)
{
    struct model_maxmin maxmin;
    double rates[MAX_FLOWS];

    assert_int_equal(model_maxmin_init(&maxmin, bytes_per_s, n_links, NULL), RING_OK);
    for (int again = 0; again < 2; again++) { /* a question leaves nothing behind */
        model_maxmin_rates(&maxmin, flows, n_flows, rates);
        for (size_t i = 0; i < n_flows; i++)
            if (isinf(expected[i]))
                assert_true(isinf(rates[i]));
            else
                assert_true(fabs(rates[i] - expected[i]) <= 1e-12 * expected[i]);
    }
    model_maxmin_fini(&maxmin);
}

#define FLOW(...)                                                                                            \
    {                                                                                                        \
        (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)          \
    }

static void flows_of_one_link_have_equal_parts(void **state)
{
    const struct model_flow flows[] = {FLOW(0), FLOW(0), FLOW(0)};

    (void)state;
    assert_rates((const double[]){30}, 1, flows, 3, (const double[]){10, 10, 10});
}

static void who_is_held_up_elsewhere_leaves_the_rest_to_others(void **state)
{
    /* link 0 (10): flows a and b, 5 each; link 1 (20): b and c: b has 5, so c has 15 */
    const struct model_flow flows[] = {FLOW(0), FLOW(0, 1), FLOW(1)};

    (void)state;
    assert_rates((const double[]){10, 20}, 2, flows, 3, (const double[]){5, 5, 15});
}

static void three_levels_are_settled_from_the_narrowest_on(void **state)
{
    /* link 0 (6): a, b, c: 2 each. Link 1 (12): c, d: d has 10. Link 2 (40): d, e, f: 10, then 15 each. */
    const struct model_flow flows[] = {FLOW(0), FLOW(0), FLOW(0, 1), FLOW(1, 2), FLOW(2), FLOW(2)};

    (void)state;
    assert_rates((const double[]){6, 12, 40}, 3, flows, 6, (const double[]){2, 2, 2, 10, 15, 15});
}

static void a_flow_of_no_links_is_not_limited(void **state)
{
    const struct model_flow flows[] = {{NULL, 0}, FLOW(1)};

    (void)state;
    assert_rates((const double[]){1, 7}, 2, flows, 2, (const double[]){(double)INFINITY, 7});
}

static void links_as_narrow_as_each_other_are_one_level(void **state)
{
    /* thirds do not add up in binary; nobody may get less for it */
    const struct model_flow flows[] = {FLOW(0), FLOW(0, 1), FLOW(0, 1), FLOW(1)};

    (void)state;
    assert_rates((const double[]){0.1, 0.1}, 2, flows, 4,
                 (const double[]){0.1 / 3, 0.1 / 3, 0.1 / 3, 0.1 / 3});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flows_of_one_link_have_equal_parts),
        cmocka_unit_test(who_is_held_up_elsewhere_leaves_the_rest_to_others),
        cmocka_unit_test(three_levels_are_settled_from_the_narrowest_on),
        cmocka_unit_test(a_flow_of_no_links_is_not_limited),
        cmocka_unit_test(links_as_narrow_as_each_other_are_one_level),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
