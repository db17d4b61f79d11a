/* SPDX-License-Identifier: MIT
 *
 * What goes wrong in the simulated world comes back as a status and a line, and leaves nothing running. */
#include "tests/support/cmocka_all.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/child.h"
#include "tests/sim/scene.h"

/* --- deadlocks: the ring, with one rank that forgets to send at one step
 * ------------------------------------- */

static uint32_t forgetful_rank, forgotten_step;

static void forgetful_step(const struct ring_plan *plan, uint32_t rank, uint32_t step,
                           struct ring_plan_step *out)
{
    ring_plan_kinds[0]->step(plan, rank, step, out);
    if (rank == forgetful_rank && step == forgotten_step)
        out->n_sends = out->n_await_sends = 0;
}

/* A ring of n_ranks whose steps are these. */
static enum ring_status play_steps(uint32_t n_ranks,
                                   void (*steps)(const struct ring_plan *, uint32_t, uint32_t,
                                                 struct ring_plan_step *),
                                   struct ring_error *error)
{
    struct ring_plan_kind kind = *ring_plan_kinds[0];
    struct scene scene;
    double ends_s[64];

    kind.name = "altered";
    kind.step = steps;
    scene_init(&scene);
    topology_builder_star(&scene.cluster, n_ranks, 25e9, 1e-6);
    scene.spec.n_ranks = n_ranks;
    scene.spec.problem.tokens = 1024;
    scene_build(&scene);
    scene.plan.kind = &kind;
    struct sim_spec spec = {.ring = &scene.ring};
    enum ring_status status = sim_run(&spec, ends_s, NULL, error);
    scene_fini(&scene);
    return status;
}

static enum ring_status play_forgetful(uint32_t n_ranks, uint32_t rank, uint32_t step,
                                       struct ring_error *error)
{
    forgetful_rank = rank;
    forgotten_step = step;
    return play_steps(n_ranks, forgetful_step, error);
}

/* Of 5 ranks rank 1 keeps block 3 at the last hop: rank 2 never gets it, all others finish. */
static void a_deadlock_says_who_waits_for_what_at_which_hop(void **state)
{
    struct ring_error error = {""};

    (void)state;
    assert_int_equal(play_forgetful(5, 1, 3, &error), RING_DEADLOCK);
    assert_string_equal(error.text, "nobody can go on: rank 2 waits for block 3 from rank 1 at hop 3");
}

/* Of 4 ranks rank 1 sends nothing at hop 0, so rank 2 hangs there; its send of hop 0 is taken, but it never
 * sends block 1 at hop 1, for which rank 3 waits, having passed block 2 on to rank 0; so rank 0 comes as far
 * as hop 2. Rank 1 wants to be rid of block 0 at hop 1, for which rank 2 never asks. */
static void a_deadlock_that_goes_round_names_everybody(void **state)
{
    struct ring_error error = {""};

    (void)state;
    assert_int_equal(play_forgetful(4, 1, 0, &error), RING_DEADLOCK);
    assert_string_equal(error.text, "nobody can go on: rank 2 waits for block 1 from rank 1 at hop 0; "
                                    "rank 1 waits for rank 2 to take block 0 at hop 1; "
                                    "rank 3 waits for block 1 from rank 2 at hop 1; "
                                    "rank 0 waits for block 1 from rank 3 at hop 2");
}

static void a_long_list_of_who_waits_ends_with_how_many_more(void **state)
{
    struct ring_error error = {""};

    (void)state;
    assert_int_equal(play_forgetful(64, 1, 0, &error), RING_DEADLOCK);
    const char *more = strstr(error.text, "; and ");
    assert_non_null(more);
    assert_true(strtoul(more + 6, NULL, 10) > 30);
    assert_string_equal(strrchr(error.text, ' '), " more");
}

/* --- messages that cannot be -------------------------------------------------------------------------------
 */

static void short_buffer_step(const struct ring_plan *plan, uint32_t rank, uint32_t step,
                              struct ring_plan_step *out)
{
    ring_plan_kinds[0]->step(plan, rank, step, out);
    if (rank == 2 && out->n_receives > 0)
        out->receives[0].bytes -= 1;
}

/* 256 tokens a rank, K and V, 16 floats each: 32768 bytes. */
static void a_message_too_long_for_its_buffer_is_refused(void **state)
{
    struct ring_error error = {""};

    (void)state;
    assert_int_equal(play_steps(4, short_buffer_step, &error), RING_BAD_INPUT);
    assert_string_equal(error.text, "rank 2, hop 0: 32768 bytes from rank 1 for a buffer of 32767");
}

static void stranger_step(const struct ring_plan *plan, uint32_t rank, uint32_t step,
                          struct ring_plan_step *out)
{
    ring_plan_kinds[0]->step(plan, rank, step, out);
    if (rank == 1 && step == 1)
        out->sends[0].peer = 0;
}

static void a_message_between_ranks_that_never_talk_is_refused(void **state)
{
    struct ring_error error = {""};

    (void)state;
    assert_int_equal(play_steps(4, stranger_step, &error), RING_BAD_INPUT);
    assert_string_equal(error.text,
                        "rank 1, hop 1: a message from rank 1 to rank 0, who never talk in this plan");
}

/* --- what happens in a computation
 * --------------------------------------------------------------------------- */

static uint32_t one_piece(void *context, const struct ring_task *task)
{
    (void)context;
    (void)task;
    return 1;
}

typedef enum ring_status (*piece)(void *context, const struct ring_task *task, uint32_t piece,
                                  struct ring_error *error);

/* A ring of 3 whose computations are this; one small buffer serves all. */
static enum ring_status play_piece(piece run_piece, void *context, struct ring_error *error)
{
    static char data[4096];
    struct ring_buffer slots[3] = {{data, sizeof data}, {data, sizeof data}, {data, sizeof data}};
    struct ring_memory memory[3] = {{slots, 3}, {slots, 3}, {slots, 3}};
    struct ring_compute one = {.n_pieces = one_piece, .run_piece = run_piece, .context = context};
    struct ring_compute compute[3] = {one, one, one};
    struct scene scene;
    double ends_s[3];

    scene_init(&scene);
    topology_builder_star(&scene.cluster, 3, 25e9, 1e-6);
    scene.spec.n_ranks = 3;
    scene.spec.problem.tokens = 48;
    scene_build(&scene);
    assert_true(ring_plan_block_bytes(&scene.plan, 0) <= sizeof data);
    struct sim_spec spec = {.ring = &scene.ring, .memory = memory, .compute = compute};
    enum ring_status status = sim_run(&spec, ends_s, NULL, error);
    scene_fini(&scene);
    return status;
}

static enum ring_status refuse(void *context, const struct ring_task *task, uint32_t number,
                               struct ring_error *error)
{
    (void)context;
    (void)number;
    if (task->rank == 1 && task->step == 1)
        return ring_fail(error, RING_UNSUPPORTED, "rank 1 has no kernel for this");
    return RING_OK;
}

static void a_failed_computation_ends_the_run_with_its_own_line(void **state)
{
    struct ring_error error = {""};

    (void)state;
    assert_int_equal(play_piece(refuse, NULL, &error), RING_UNSUPPORTED);
    assert_string_equal(error.text, "rank 1 has no kernel for this");
}

static enum ring_status moan_and_abort(void *context, const struct ring_task *task, uint32_t number,
                                       struct ring_error *error)
{
    (void)context;
    (void)task;
    (void)number;
    (void)error;
    fprintf(stderr, "something is rotten\n\n");
    raise(SIGABRT);
    return RING_OK;
}

static void the_last_words_of_a_dead_simulator_are_passed_on(void **state)
{
    struct ring_error error = {""};

    (void)state;
    assert_int_equal(play_piece(moan_and_abort, NULL, &error), RING_WORLD);
    assert_string_equal(error.text, "the simulator died (Aborted): something is rotten");
}

static enum ring_status interrupt(void *context, const struct ring_task *task, uint32_t number,
                                  struct ring_error *error)
{
    (void)context;
    (void)task;
    (void)number;
    (void)error;
    raise(SIGINT);
    return RING_OK;
}

static void ctrl_c_ends_the_simulator(void **state)
{
    struct ring_error error = {""};

    (void)state;
    assert_int_equal(play_piece(interrupt, NULL, &error), RING_WORLD);
    assert_string_equal(error.text, "the simulation was interrupted (Interrupt)");
}

static enum ring_status hang(void *context, const struct ring_task *task, uint32_t number,
                             struct ring_error *error)
{
    volatile pid_t *pid = context;

    (void)task;
    (void)number;
    (void)error;
    *pid = getpid();
    while (*pid)
        pause();
    return RING_OK;
}

/* The one who asked is killed while its simulator hangs: the simulator, which falls to us, must be dead soon.
 */
static void the_simulator_dies_with_who_asked_for_it(void **state)
{
    volatile pid_t *simulator = sim_shared_alloc(sizeof *simulator);
    const struct timespec pause_time = {.tv_nsec = 1000000};
    pid_t ended = 0;
    int how = 0;

    (void)state;
    assert_non_null((void *)simulator);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t asker = fork();
    if (asker == 0) {
        play_piece(hang, (void *)simulator, NULL);
        _exit(0);
    }
    for (int i = 0; i < 10000 && *simulator == 0; i++)
        nanosleep(&pause_time, NULL);
    assert_true(*simulator > 0);
    kill(asker, SIGKILL);
    assert_int_equal(waitpid(asker, &how, 0), asker);
    for (int i = 0; i < 10000 && ended == 0; i++) {
        nanosleep(&pause_time, NULL);
        ended = waitpid(*simulator, &how, WNOHANG);
    }
    assert_int_equal(ended, *simulator);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    sim_shared_free((void *)simulator, sizeof *simulator);
}

/* --- the child alone
 * ----------------------------------------------------------------------------------------- */

static enum ring_status say_what_simgrid_says(void *context, struct ring_error *error)
{
    (void)context;
    (void)error;
    fprintf(stderr,
            "[0.000000] [ker_engine/INFO] nothing to see\n"
            "[host:actor:(1) 0.5] ./src/x.cpp:17: [root/CRITICAL] Parse error at line 3: no such link\n"
            "Backtrace (most recent call first):\n  -> 0# main\n");
    _exit(3);
}

static void the_critical_line_is_the_one_that_counts(void **state)
{
    struct ring_error error = {""};

    (void)state;
    assert_int_equal(sim_in_child(say_what_simgrid_says, NULL, &error), RING_WORLD);
    assert_string_equal(error.text,
                        "the simulator ended by itself with status 3: Parse error at line 3: no such link");
}

static enum ring_status succeed(void *context, struct ring_error *error)
{
    (void)error;
    *(int *)context = 42; /* in the child's own memory */
    printf("this must not be seen\n");
    fflush(stdout);
    return RING_OK;
}

static void a_child_changes_nothing_here(void **state)
{
    int value = 1;

    (void)state;
    assert_int_equal(sim_in_child(succeed, &value, NULL), RING_OK);
    assert_int_equal(value, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadlock_says_who_waits_for_what_at_which_hop),
        cmocka_unit_test(a_deadlock_that_goes_round_names_everybody),
        cmocka_unit_test(a_long_list_of_who_waits_ends_with_how_many_more),
        cmocka_unit_test(a_message_too_long_for_its_buffer_is_refused),
        cmocka_unit_test(a_message_between_ranks_that_never_talk_is_refused),
        cmocka_unit_test(a_failed_computation_ends_the_run_with_its_own_line),
        cmocka_unit_test(the_last_words_of_a_dead_simulator_are_passed_on),
        cmocka_unit_test(ctrl_c_ends_the_simulator),
        cmocka_unit_test(the_simulator_dies_with_who_asked_for_it),
        cmocka_unit_test(the_critical_line_is_the_one_that_counts),
        cmocka_unit_test(a_child_changes_nothing_here),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
