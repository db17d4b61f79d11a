/* SPDX-License-Identifier: MIT
 *
 * The launcher: flags by version, a command that can be pasted, and ends of every kind - played by a shell
 * that poses as mpirun, so that no MPI is needed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka_all.h"
#include "tools/launch.h"

static char fake[] = "/tmp/ringlab-mpirun-XXXXXX";
static struct tool_launch_outcome outcome;
static struct ring_error error;

static void assert_flags(struct tool_launch_facts facts, bool bind, const char *expected)
{
    const char *flags[TOOL_LAUNCH_MAX_FLAGS];
    char text[1024] = "";
    uint32_t n = tool_launch_flags(&facts, bind, flags);

    for (uint32_t i = 0; i < n; i++) {
        strcat(text, i ? " " : "");
        strcat(text, flags[i]);
    }
    assert_string_equal(text, expected);
}

static void flags_follow_the_version(void **state)
{
    const char *four = "mpirun (Open MPI) 4.1.4\n", *five = "mpirun (Open MPI) 5.0.7\n";

    (void)state;
    assert_flags((struct tool_launch_facts){.version_text = four}, false,
                 "--bind-to none --mca pml ob1 --mca btl self,vader --mca mpi_yield_when_idle 1");
    assert_flags((struct tool_launch_facts){.version_text = four, .root = true, .oversubscribed = true}, true,
                 "--allow-run-as-root --oversubscribe --bind-to none --mca pml ob1 --mca btl self,vader "
                 "--mca mpi_yield_when_idle 1");
    assert_flags((struct tool_launch_facts){.version_text = five, .oversubscribed = true}, false,
                 "--map-by :OVERSUBSCRIBE --bind-to none --mca pml ob1 --mca btl self,sm "
                 "--mca mpi_yield_when_idle 1");
    assert_flags((struct tool_launch_facts){.version_text = five}, true,
                 "--bind-to core --mca pml ob1 --mca btl self,sm --mca mpi_yield_when_idle 1");
    assert_flags((struct tool_launch_facts){.version_text = four, .no_single_copy = true}, false,
                 "--bind-to none --mca pml ob1 --mca btl self,vader --mca mpi_yield_when_idle 1 "
                 "--mca btl_vader_single_copy_mechanism none");
    assert_flags((struct tool_launch_facts){.version_text = "HYDRA build details:\n Version: 4.0\n"}, true,
                 "");
}

static void the_command_can_be_pasted_into_a_shell(void **state)
{
    const char *words[] = {"measure", "my scenario.yaml", "--set", "ring.devices=3", "it's", "", NULL};
    struct tool_launch_spec spec = {.n_ranks = 3,
                                    .program = "/opt/rank",
                                    .arguments = words,
                                    .mpirun = fake,
                                    .mpi_args = "--host 'a b' -x P=\"q r\""};
    char text[1024], expected[1024];

    (void)state;
    snprintf(expected, sizeof expected,
             "%s -n 3 --host 'a b' -x 'P=q r' /opt/rank measure 'my scenario.yaml' --set ring.devices=3 "
             "'it'\\''s' ''",
             fake);
    assert_int_equal(tool_launch_command(&spec, text, sizeof text, &error), RING_OK);
    assert_string_equal(text, expected);
}

static void an_open_quote_in_mpi_args_is_refused(void **state)
{
    struct tool_launch_spec spec = {
        .n_ranks = 1, .program = "/bin/true", .mpirun = fake, .mpi_args = "--host 'a"};

    (void)state;
    assert_int_equal(tool_launch(&spec, &outcome, &error), RING_BAD_INPUT);
}

/* The posing mpirun runs the words after its own three ("-n 1 PROGRAM ..."). */
static enum ring_status run_shell(const char *script, double timeout_s, int progress_fd)
{
    const char *words[] = {"-c", script, NULL};
    struct tool_launch_spec spec = {.n_ranks = 1,
                                    .program = "/bin/sh",
                                    .arguments = words,
                                    .mpirun = fake,
                                    .timeout_s = timeout_s,
                                    .progress_fd = progress_fd};
    error.text[0] = '\0';
    return tool_launch(&spec, &outcome, &error);
}

static void a_good_end_is_ok(void **state)
{
    (void)state;
    assert_int_equal(run_shell("exit 0", 20, 0), RING_OK);
    assert_int_equal(outcome.exit_code, 0);
}

static void the_ranks_own_line_is_the_error(void **state)
{
    (void)state;
    assert_int_equal(run_shell("echo noise >&2; echo 'ringlab-rank: s.yaml:3:1: no' >&2; exit 1", 20, 0),
                     RING_BAD_INPUT);
    assert_string_equal(error.text, "s.yaml:3:1: no");
    assert_int_equal(run_shell("echo '-----' >&2; echo 'no slots' >&2; exit 3", 20, 0), RING_WORLD);
    assert_string_equal(error.text, "no slots");
    assert_int_equal(run_shell("kill -KILL $$", 20, 0), RING_WORLD);
    assert_int_equal(outcome.exit_code, 137);
}

static void who_waited_first_comes_before_who_was_stopped_with_the_rest(void **state)
{
    (void)state;
    run_shell(
        "echo 'ringlab-rank: rank 3: step 1: stopped from outside while computing' >&2;"
        "echo 'ringlab-rank: rank 2: hop 1: block 0 from rank 1: stopped from outside while waiting "
        "for it' >&2;"
        "echo 'ringlab-rank: rank 5: waiting for all ranks to be ready: no end after 5 s' >&2;"
        "echo 'ringlab-rank: rank 4: hop 3: block 1 from rank 3 has not arrived after 5 s' >&2;"
        "echo 'ringlab-rank: rank 0: hop 2: block 2 to rank 1 has not been taken after 5 s' >&2; exit 3",
        20, 0);
    assert_string_equal(error.text, "rank 0: hop 2: block 2 to rank 1 has not been taken after 5 s");
    run_shell("echo 'ringlab-rank: rank 0: hop 2: block 2 to rank 1 has not been taken after 5 s' >&2;"
              "echo 'ringlab-rank: rank 3: out of memory' >&2; exit 3",
              20, 0);
    assert_string_equal(error.text, "rank 3: out of memory");
}

#define KILLED                                                                                               \
    "echo 'mpirun noticed that process rank 1 with PID 0 on node here exited on signal 9 (Killed).' >&2; "   \
    "exit 137"

static void a_killed_rank_comes_before_those_that_it_left_behind(void **state)
{
    (void)state;
    run_shell("echo 'ringlab-rank: rank 0: step 2: stopped from outside while computing' >&2;" KILLED, 20, 0);
    assert_string_equal(error.text,
                        "rank 1 was killed by signal 9 (Killed); rank 0 computed step 2 meanwhile");
    run_shell(
        "echo 'ringlab-rank: rank 0: step 1: stopped from outside while computing; pending hop 1: block 3 "
        "from rank 12, hop 1: block 0 to rank 1' >&2;" KILLED,
        20, 0);
    assert_string_equal(error.text,
                        "rank 1 was killed by signal 9 (Killed); rank 0 waited for rank 1 to take "
                        "block 0 at hop 1, and computed step 1 meanwhile");
    run_shell("echo 'ringlab-rank: rank 12: hop 0: block 3 from rank 11: stopped from outside while waiting "
              "for it' >&2;"
              "echo 'ringlab-rank: rank 2: hop 2: block 3 from rank 1: stopped from outside while waiting "
              "for it' >&2;" KILLED,
              20, 0);
    assert_string_equal(
        error.text, "rank 1 was killed by signal 9 (Killed); rank 2 waited for block 3 from rank 1 at hop 2");
    run_shell("echo 'ringlab-rank: rank 0: hop 2: block 2 to rank 1: stopped from outside while waiting "
              "for it' >&2;" KILLED,
              20, 0);
    assert_string_equal(
        error.text,
        "rank 1 was killed by signal 9 (Killed); rank 0 waited for rank 1 to take block 2 at hop 2");
    run_shell(KILLED, 20, 0);
    assert_string_equal(error.text, "rank 1 was killed by signal 9 (Killed)");
    run_shell("echo 'prterun noticed that process rank 1 with PID 22101 on node here exited on' >&2;"
              "echo 'signal 9 (Killed).' >&2; exit 137",
              20, 0);
    assert_string_equal(error.text, "rank 1 was killed by signal 9 (Killed)");
}

static void progress_is_passed_on_without_its_mark(void **state)
{
    int ends[2];
    char text[64] = "";

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(run_shell("echo 'ringlab-progress: half' >&2; echo other >&2", 20, ends[1]), RING_OK);
    close(ends[1]);
    assert_int_equal(read(ends[0], text, sizeof text - 1), 5);
    close(ends[0]);
    assert_string_equal(text, "half\n");
}

static void the_time_limit_ends_the_whole_group(void **state)
{
    char script[128];

    (void)state;
    snprintf(script, sizeof script, "trap '' TERM; sleep 3210.%d & wait; sleep 3210.%d", (int)getpid(),
             (int)getpid());
    assert_int_equal(run_shell(script, 0.2, 0), RING_TIMED_OUT);
    assert_true(outcome.timed_out);
    snprintf(script, sizeof script, "pgrep -f '[s]leep 3210.%d' >/dev/null", (int)getpid());
    assert_int_not_equal(system(script), 0);
}

static void a_missing_mpirun_says_what_to_install(void **state)
{
    struct tool_launch_spec spec = {.n_ranks = 1, .program = "/bin/true", .mpirun = "/nowhere/mpirun"};

    (void)state;
    assert_int_equal(tool_launch(&spec, &outcome, &error), RING_UNSUPPORTED);
    assert_non_null(strstr(error.text, "/nowhere/mpirun"));
    assert_non_null(strstr(error.text, "install openmpi-bin"));
    spec.mpi_args = "";
    assert_int_equal(tool_launch(&spec, &outcome, &error), RING_UNSUPPORTED);
}

static int make_fake(void **state)
{
    (void)state;
    int fd = mkstemp(fake);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file)
        return -1;
    fputs(
        "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'something else 1.0'; exit 0; }\nshift 2\nexec \"$@\"\n",
        file);
    fchmod(fd, 0700);
    return fclose(file);
}

static int remove_fake(void **state)
{
    (void)state;
    return unlink(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_follow_the_version),
        cmocka_unit_test(the_command_can_be_pasted_into_a_shell),
        cmocka_unit_test(an_open_quote_in_mpi_args_is_refused),
        cmocka_unit_test(a_good_end_is_ok),
        cmocka_unit_test(the_ranks_own_line_is_the_error),
        cmocka_unit_test(who_waited_first_comes_before_who_was_stopped_with_the_rest),
        cmocka_unit_test(a_killed_rank_comes_before_those_that_it_left_behind),
        cmocka_unit_test(progress_is_passed_on_without_its_mark),
        cmocka_unit_test(the_time_limit_ends_the_whole_group),
        cmocka_unit_test(a_missing_mpirun_says_what_to_install),
    };
    return cmocka_run_group_tests(tests, make_fake, remove_fake);
}
