/* SPDX-License-Identifier: MIT
 *
 * `ringlab-rank`: one rank of a real run. `ringlab` starts it through mpirun; anyone may start it with an
 * mpirun or srun of their own, on as many machines as they like, or without either as a single rank.
 * Signals and the way out are here, arguments in options.c; what a rank does is in session.c, measure.c,
 * verify.c and calibrate.c. */
#include <inttypes.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec/calibrate.h"
#include "exec/cuda/calibrate.h"
#include "exec/cuda/device.h"
#include "exec/measure.h"
#include "exec/options.h"
#include "exec/verify.h"

enum { EXIT_BAD_INPUT = 1, EXIT_WORLD = 3 }; /* and EXEC_EXIT_USAGE */

/* How long the parts outside our own waits (MPI's start and end) may take before the process ends itself. */
enum { MPI_EDGE_TIMEOUT_S = 60 };

/* An abort ends the others, and what they were about to say with them; who is nearest to the trouble may
 * not have been the first. */
#define LAST_WORDS_S 0.2

/* The launchers tell each process its number before MPI does: on a usage error one of them speaks. */
static bool is_first_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value)
            return strcmp(value, "0") == 0;
    }
    return true;
}

static int usage(const char *text)
{
    if (is_first_rank())
        fprintf(stderr, "ringlab-rank: %s (see ringlab-rank --help)\n", text);
    return EXEC_EXIT_USAGE;
}

static volatile sig_atomic_t stop;

static void note_stop(int number)
{
    stop = number;
}

/* MPI's own start and end cannot be bounded from inside: SIGALRM ends the process then. */
static void too_late(int number)
{
    static const char text[] =
        "ringlab-rank: MPI did not start or end in time: is a rank or a machine gone?\n";
    (void)number;
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    _exit(written < 0 ? EXIT_WORLD : EXIT_WORLD);
}

/* For tests of lost ranks: NAME=rank:hop makes that rank send itself a signal when it is to send that hop. */
static struct exec_fault read_fault(int rank)
{
    static const struct {
        const char *name;
        int signal;
    } faults[] = {{"RINGLAB_TEST_KILL", SIGKILL}, {"RINGLAB_TEST_STOP", SIGSTOP}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const char *value = getenv(faults[i].name);
        int wanted;
        uint32_t hop;
        if (value && sscanf(value, "%d:%" SCNu32, &wanted, &hop) == 2 && wanted == rank)
            return (struct exec_fault){faults[i].signal, hop};
    }
    return (struct exec_fault){0, 0};
}

static enum ring_status run_scenario(const struct exec_options *options, bool *failed_alone, bool *no_device,
                                     struct ring_error *error)
{
    struct exec_session session;
    bool verifies = strcmp(options->command, "verify") == 0;
    int rank = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct exec_session_spec spec = {
        .comm = MPI_COMM_WORLD,
        .scenario_path = options->scenario,
        .overrides = {options->sets, options->n_sets},
        .needs_data = verifies,
        .stop = &stop,
        .fault = read_fault(rank),
        .device = options->device,
        .move = options->move,
        .runtime = exec_device_runtime(),
        .progress = options->progress ? stderr : NULL,
    };
    enum ring_status status = exec_session_open(&session, &spec, error);
    if (status != RING_OK) {
        *no_device = session.no_device;
        return status;
    }
    if (verifies) {
        struct exec_verify_spec verify = {options->out, stdout, options->dump, options->max_rows,
                                          options->repeats};
        status = exec_verify(&session, &verify, error);
    } else {
        status = exec_measure(&session, options->out, stdout, error);
    }
    *failed_alone = session.failed_alone;
    exec_session_close(&session);
    return status;
}

/* Of the CPU, or of devices where they are asked for; with auto where there are some. */
static enum ring_status run_calibrate(const struct exec_options *options, bool *no_device,
                                      struct ring_error *error)
{
    struct exec_calibrate_spec spec = {
        .comm = MPI_COMM_WORLD,
        .seconds = options->seconds,
        .stamp = options->stamp,
        .path = options->out,
        .stop = &stop,
        .progress = options->progress ? stderr : NULL,
    };
    struct exec_device_calibrate_spec device = {
        .common = spec, .runtime = exec_device_runtime(), .move = options->move};
    if (options->device == EXEC_DEVICE_CPU)
        return exec_calibrate(&spec, error);
    enum ring_status status = exec_calibrate_device(&device, no_device, error);
    if (!*no_device || options->device == EXEC_DEVICE_CUDA)
        return status;
    *no_device = false;
    return exec_calibrate(&spec, error);
}

/* For the launcher, and without MPI: how many devices a run could use here, and what they are. */
static int show_devices(void)
{
    const struct exec_device_runtime *runtime = exec_device_runtime();
    struct exec_device_facts facts;
    struct ring_error error = {""};
    char name[EXEC_DEVICE_NAME_BYTES];
    int n_devices = 0;
    enum ring_status status = runtime->count(&n_devices, &error);

    if (status == RING_OK)
        status = runtime->open(0, name, &error);
    if (status == RING_OK)
        status = runtime->facts(&facts, &error);
    if (status != RING_OK) {
        fprintf(stderr, "ringlab-rank: no usable CUDA device is there: %s\n", error.text);
        return EXIT_WORLD;
    }
    printf("%d %s, driver for CUDA %d.%d\n", n_devices, facts.name, facts.driver / 1000,
           facts.driver % 1000 / 10);
    return 0;
}

/* Says why, once, and leaves: together if all ranks know, by force if only this one does. */
static int leave(enum ring_status status, bool failed_alone, bool no_device, const struct ring_error *error)
{
    int rank = 0;
    int code = status == RING_OK ? 0 : EXIT_WORLD;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!no_device && (status == RING_BAD_INPUT || status == RING_UNSUPPORTED || status == RING_IO))
        code = EXIT_BAD_INPUT;
    bool alone = failed_alone || status == RING_TIMED_OUT || status == RING_WORLD;
    if (status != RING_OK && (alone || rank == 0))
        fprintf(stderr, "ringlab-rank: %s\n", error->text);
    fflush(NULL);
    if (alone) {
        exec_nap(LAST_WORDS_S);
        alarm(MPI_EDGE_TIMEOUT_S / 10);
        MPI_Abort(MPI_COMM_WORLD, code);
    }
    alarm(MPI_EDGE_TIMEOUT_S);
    MPI_Finalize();
    return code;
}

#ifdef __SANITIZE_ADDRESS__
/* Open MPI keeps memory of plugins that it has unloaded by the end, which no suppression can name any more.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

int main(int argc, char **argv)
{
    struct exec_options options = {.seconds = 15, .max_rows = 0};
    struct ring_error error = {""};
    bool failed_alone = false, no_device = false;
    struct sigaction noted = {.sa_handler = note_stop,
                              .sa_flags = (int)SA_RESETHAND}; /* a second one ends at once */

    if (!exec_options_parse(&options, argc, argv, !is_first_rank()))
        return EXEC_EXIT_USAGE;
    if (!options.command)
        return usage("what to do? measure, verify or calibrate");
    if (strcmp(options.command, "devices") == 0)
        return show_devices();
    bool calibrates = strcmp(options.command, "calibrate") == 0;
    if (!calibrates && strcmp(options.command, "measure") != 0 && strcmp(options.command, "verify") != 0)
        return usage("the first argument is measure, verify or calibrate");
    if (!calibrates && !options.scenario)
        return usage("which scenario?");
    options.progress = options.progress || isatty(STDERR_FILENO);

    signal(SIGALRM, too_late);
    sigaction(SIGTERM, &noted, NULL);
    sigaction(SIGINT, &noted, NULL);
    exec_clock_sharpen();
    alarm(MPI_EDGE_TIMEOUT_S);
    int provided = 0;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) {
        fprintf(stderr, "ringlab-rank: MPI does not start\n");
        return EXIT_WORLD;
    }
    alarm(0);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    enum ring_status status = calibrates ? run_calibrate(&options, &no_device, &error)
                                         : run_scenario(&options, &failed_alone, &no_device, &error);
    return leave(status, failed_alone, no_device, &error);
}
