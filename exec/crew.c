/* SPDX-License-Identifier: MIT
 *
 * Threads that share a task. See crew.h; which piece is whose, ring_compute decides. */
#include "exec/crew.h"

#include <sched.h>
#include <stdatomic.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "exec/clock.h"

#ifdef _OPENMP
static const bool has_threads = true;
#else
static const bool has_threads = false;
#endif

enum ring_status exec_crew_check(uint32_t n_threads, const char *place, struct ring_error *error)
{
    cpu_set_t cores;

    if (n_threads <= 1)
        return RING_OK;
    if (!has_threads)
        return ring_fail(error, RING_UNSUPPORTED,
                         "%s: %u threads a rank need OpenMP, which the compiler of this build does not have "
                         "(1 is left)",
                         place, n_threads);
    int n_cores = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
    if (n_threads <= (unsigned)n_cores)
        return RING_OK;
    return ring_fail(error, RING_BAD_INPUT,
                     "%s: found %u threads a rank, accepted: 1 to %d, as many as the cores that a rank may "
                     "run on here",
                     place, n_threads, n_cores);
}

/* One task while it is shared. */
struct shift {
    const struct ring_compute *kernel;
    const struct ring_task *task;
    const struct exec_crew_duty *duty;
    atomic_bool stop;
    atomic_int n_working; /* beside the calling thread */
    atomic_flag failed;
    enum ring_status status;
    struct ring_error *error; /* of the first to fail */
    struct exec_crew_time time;
};

static void note_failure(struct shift *shift, enum ring_status status, const struct ring_error *error)
{
    atomic_store(&shift->stop, true);
    if (atomic_flag_test_and_set(&shift->failed))
        return;
    shift->status = status;
    *shift->error = *error;
}

/* Keeps the core for so much longer. */
static void endure(struct shift *shift, uint32_t hand, double extra_s)
{
    double begun_s = exec_clock_s();

    while (exec_clock_s() - begun_s < extra_s && !atomic_load(&shift->stop))
        if (hand == 0 && !shift->duty->look(shift->duty->context))
            atomic_store(&shift->stop, true);
}

static void work(struct shift *shift, uint32_t hand)
{
    struct ring_error error;
    enum ring_lent lent = RING_LENT_WAITING;

    while (lent != RING_LENT_ALL && !atomic_load(&shift->stop)) {
        double begun_s = exec_clock_s();
        enum ring_status status =
            shift->kernel->lend(shift->kernel->context, shift->task, hand, &lent, &error);
        if (status != RING_OK)
            note_failure(shift, status, &error);
        else if (lent == RING_LENT_WAITING)
            sched_yield();
        else if (lent == RING_LENT_WORK)
            endure(shift, hand, shift->duty->extra_s(shift->duty->context, begun_s));
        if (hand == 0 && !shift->duty->look(shift->duty->context))
            atomic_store(&shift->stop, true);
    }
}

/* The calling thread goes on looking while others finish. */
static void lead(struct shift *shift)
{
    work(shift, 0);
    while (atomic_load(&shift->n_working) > 0) {
        if (!atomic_load(&shift->stop) && !shift->duty->look(shift->duty->context))
            atomic_store(&shift->stop, true);
        sched_yield();
    }
}

#ifdef _OPENMP
static void follow(struct shift *shift, uint32_t hand)
{
    double begun_s = exec_clock_s(), cpu_s = exec_clock_cpu_s();

    atomic_fetch_add(&shift->n_working, 1);
    work(shift, hand);
    cpu_s = exec_clock_cpu_s() - cpu_s;
    double wall_s = exec_clock_s() - begun_s;
#pragma omp critical(exec_crew)
    {
        shift->time.cpu_s += cpu_s;
        shift->time.wall_s += wall_s;
    }
    atomic_fetch_sub(&shift->n_working, 1);
}
#endif

enum ring_status exec_crew_compute(const struct ring_compute *kernel, const struct ring_task *task,
                                   const struct exec_crew_duty *duty, struct exec_crew_time *time,
                                   struct ring_error *error)
{
    struct shift shift = {
        .kernel = kernel, .task = task, .duty = duty, .failed = ATOMIC_FLAG_INIT, .error = error};

    kernel->share(kernel->context, task);
#ifdef _OPENMP
#pragma omp parallel num_threads(kernel->n_hands)
    {
        uint32_t hand = (uint32_t)omp_get_thread_num();
        if (hand == 0)
            lead(&shift);
        else
            follow(&shift, hand);
    }
#else
    lead(&shift);
#endif
    time->cpu_s += shift.time.cpu_s;
    time->wall_s += shift.time.wall_s;
    return shift.status;
}
