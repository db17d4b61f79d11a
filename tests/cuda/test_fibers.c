/* SPDX-License-Identifier: MIT
 *
 * The shim under the kernels: that its barriers, warps and copies are those of a GPU as far as a kernel can
 * tell, and that it catches the mistakes it is there to catch. */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cuda/fibers.h"
#include "tests/support/cmocka_all.h"

enum { THREADS = 96, SIZE = THREADS * 16 };
static unsigned found[THREADS];
static unsigned char source[SIZE] __attribute__((aligned(16)));

/* Thread i writes, its neighbour two warps on reads: with a barrier in between unless args says no. */
static void exchange(const void *args)
{
    const bool *barrier = args;
    unsigned i = fiber_place.thread.x;
    unsigned *numbers = (unsigned *)(void *)fiber_shared();
    numbers[i] = i + 1000 * fiber_place.block.x;
    if (*barrier)
        fiber_barrier();
    found[i] = numbers[(i + 64) % THREADS];
}

static void what_is_written_before_a_barrier_is_read_after_it_in_any_order(void **state)
{
    static const bool barrier = true;
    (void)state;
    for (int way = 0; way < 2; way++) {
        fiber_order.last_warp_first = way == 1;
        fiber_run(exchange, &barrier, (struct fiber_dim){3, 1, 1}, THREADS, THREADS * sizeof(unsigned));
        for (unsigned i = 0; i < THREADS; i++)
            assert_int_equal(found[i], (i + 64) % THREADS + 2000);
    }
}

static void a_missing_barrier_shows_in_one_of_the_orders(void **state)
{
    static const bool barrier = false;
    bool wrong = false;
    (void)state;
    for (int way = 0; way < 2; way++) {
        fiber_order.last_warp_first = way == 1;
        fiber_run(exchange, &barrier, (struct fiber_dim){1, 1, 1}, THREADS, THREADS * sizeof(unsigned));
        for (unsigned i = 0; i < THREADS; i++)
            wrong = wrong || found[i] != (i + 64) % THREADS;
    }
    assert_true(wrong);
}

/* Copies 16 bytes a thread and reads its own: after the wait that args allows to be late by so many groups.
 */
static void copy_and_read(const void *args)
{
    const unsigned *n_newest = args;
    unsigned i = fiber_place.thread.x;
    unsigned char *to = fiber_shared() + 16 * i;
    fiber_copy(to, source + 16 * i, true);
    fiber_copy_commit();
    fiber_copy_wait(*n_newest);
    found[i] = to[3];
    fiber_copy_wait(0);
}

static void a_copy_that_nobody_waits_for_is_not_there_yet(void **state)
{
    static const unsigned waits[] = {0, 1};
    (void)state;
    for (unsigned i = 0; i < SIZE; i++)
        source[i] = (unsigned char)(i % 251);
    fiber_order = (struct fiber_order){.late_copies = true};
    fiber_run(copy_and_read, &waits[0], (struct fiber_dim){1, 1, 1}, THREADS, SIZE);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(found[i], (16 * i + 3) % 251);
    fiber_run(copy_and_read, &waits[1], (struct fiber_dim){1, 1, 1}, THREADS, SIZE);
    assert_int_equal(found[5], 0xff); /* what shared memory begins as */
    fiber_order = (struct fiber_order){.late_copies = false};
    fiber_run(copy_and_read, &waits[1], (struct fiber_dim){1, 1, 1}, THREADS, SIZE);
    assert_int_equal(found[5], (16 * 5 + 3) % 251);
}

static void reverse(void *lanes[FIBER_LANES])
{
    unsigned **numbers = (unsigned **)lanes;
    for (unsigned i = 0; i < FIBER_LANES / 2; i++) {
        unsigned kept = *numbers[i];
        *numbers[i] = *numbers[FIBER_LANES - 1 - i];
        *numbers[FIBER_LANES - 1 - i] = kept;
    }
}

static void keep(void *lanes[FIBER_LANES])
{
    (void)lanes;
}

static void three_times_reversed(const void *args)
{
    (void)args;
    unsigned mine = fiber_place.thread.x;
    for (int i = 0; i < 3; i++)
        fiber_together(reverse, &mine);
    found[fiber_place.thread.x] = mine;
}

static void an_instruction_of_a_warp_sees_all_its_lanes(void **state)
{
    (void)state;
    fiber_run(three_times_reversed, NULL, (struct fiber_dim){1, 1, 1}, THREADS, 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(found[i], i / 32 * 32 + 31 - i % 32);
}

static void some_lanes_leave(const void *args)
{
    (void)args;
    unsigned mine = 0;
    if (fiber_place.thread.x % 32 < 30)
        fiber_together(reverse, &mine);
}

static void lanes_disagree(const void *args)
{
    (void)args;
    unsigned mine = 0;
    fiber_together(fiber_place.thread.x % 2 == 0 ? reverse : keep, &mine);
}

static void a_warp_misses_the_barrier(const void *args)
{
    (void)args;
    if (fiber_place.thread.x >= 32)
        fiber_barrier();
}

static void copies_are_left(const void *args)
{
    (void)args;
    fiber_copy(fiber_shared() + 16 * fiber_place.thread.x, source, true);
}

static void copies_are_misplaced(const void *args)
{
    (void)args;
    fiber_copy(fiber_shared() + 16 * fiber_place.thread.x + 8, source, true);
}

static void mistakes_end_the_program(void **state)
{
    static void (*const kernels[])(const void *) = {
        some_lanes_leave, lanes_disagree, a_warp_misses_the_barrier, copies_are_left, copies_are_misplaced};
    (void)state;
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            int nowhere = open("/dev/null", O_WRONLY);
            dup2(nowhere, 2);
            signal(SIGABRT, SIG_DFL);
            fiber_order = (struct fiber_order){.late_copies = true};
            fiber_run(kernels[i], NULL, (struct fiber_dim){1, 1, 1}, THREADS, SIZE);
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_before_a_barrier_is_read_after_it_in_any_order),
        cmocka_unit_test(a_missing_barrier_shows_in_one_of_the_orders),
        cmocka_unit_test(a_copy_that_nobody_waits_for_is_not_there_yet),
        cmocka_unit_test(an_instruction_of_a_warp_sees_all_its_lanes),
        cmocka_unit_test(mistakes_end_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
