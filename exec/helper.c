/* SPDX-License-Identifier: MIT
 *
 * Turns of the thread that looks after messages. See helper.h. */
#include "exec/helper.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "exec/transport_parts.h"

struct exec_helper {
    struct exec_transport *transport;
    pthread_t thread;
    pthread_mutex_t mpi; /* held in a turn, but for the pauses between looks */
    pthread_cond_t wake;
    atomic_bool turn; /* set by the rank under the mutex; cleared by either, at any time */
    bool quit;
    bool spare_core, restless;
    atomic_llong taken_ns;   /* see exec_helper_taken_s */
    enum ring_status status; /* of all its looks; stays as it is once it is bad */
    struct ring_error error;
};

static void look(struct exec_helper *helper)
{
    double cpu_s = exec_clock_cpu_s();

    helper->status = exec_transport_look_at_messages(helper->transport, &helper->error);
    if (!helper->restless)
        atomic_fetch_add(&helper->taken_ns, (long long)(1e9 * (exec_clock_cpu_s() - cpu_s)));
}

/* Looks until all messages are there or the rank wants to have MPI back. The mutex is held. */
static void take_turn(struct exec_helper *helper)
{
    while (atomic_load(&helper->turn) && helper->status == RING_OK) {
        look(helper);
        double interval_s = exec_transport_look_interval_s(helper->transport);
        if (isinf(interval_s))
            break;
        bool restless = helper->restless;
        pthread_mutex_unlock(&helper->mpi);
        if (restless)
            sched_yield();
        else
            exec_nap(interval_s);
        pthread_mutex_lock(&helper->mpi);
    }
    atomic_store(&helper->turn, false);
}

static void *help(void *context)
{
    struct exec_helper *helper = context;

    pthread_mutex_lock(&helper->mpi);
    while (!helper->quit) {
        if (atomic_load(&helper->turn))
            take_turn(helper);
        else
            pthread_cond_wait(&helper->wake, &helper->mpi);
    }
    pthread_mutex_unlock(&helper->mpi);
    return NULL;
}

/* Signals are for the rank: one that sleeps must wake of them. */
static int start_thread(struct exec_helper *helper)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&helper->thread, NULL, help, helper);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

enum ring_status exec_helper_open(struct exec_helper **out, struct exec_transport *transport, bool spare_core,
                                  struct ring_error *error)
{
    int provided = MPI_THREAD_SINGLE;

    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_SERIALIZED)
        return ring_fail(error, RING_UNSUPPORTED,
                         "rank %d: progress 'thread' needs an MPI in which threads may take turns "
                         "(MPI_THREAD_SERIALIZED), and this one has none (poll does without)",
                         transport->rank);
    struct exec_helper *helper = calloc(1, sizeof *helper);
    if (!helper)
        return ring_fail(error, RING_NO_MEMORY, "rank %d: out of memory for a thread", transport->rank);
    helper->transport = transport;
    helper->spare_core = spare_core;
    pthread_mutex_init(&helper->mpi, NULL);
    pthread_cond_init(&helper->wake, NULL);
    int code = start_thread(helper);
    if (code == 0) {
        *out = helper;
        return RING_OK;
    }
    pthread_cond_destroy(&helper->wake);
    pthread_mutex_destroy(&helper->mpi);
    free(helper);
    return ring_fail(error, RING_WORLD, "rank %d: no thread for its messages: %s", transport->rank,
                     strerror(code));
}

void exec_helper_close(struct exec_helper *helper)
{
    if (!helper)
        return;
    atomic_store(&helper->turn, false);
    pthread_mutex_lock(&helper->mpi);
    helper->quit = true;
    pthread_cond_signal(&helper->wake);
    pthread_mutex_unlock(&helper->mpi);
    pthread_join(helper->thread, NULL);
    pthread_cond_destroy(&helper->wake);
    pthread_mutex_destroy(&helper->mpi);
    free(helper);
}

void exec_helper_begin(struct exec_helper *helper, bool core_free)
{
    pthread_mutex_lock(&helper->mpi);
    helper->restless = helper->spare_core || core_free;
    atomic_store(&helper->taken_ns, 0);
    atomic_store(&helper->turn, true);
    pthread_cond_signal(&helper->wake);
    pthread_mutex_unlock(&helper->mpi);
}

double exec_helper_taken_s(const struct exec_helper *helper)
{
    return 1e-9 * (double)atomic_load(&helper->taken_ns);
}

enum ring_status exec_helper_end(struct exec_helper *helper, struct ring_error *error)
{
    atomic_store(&helper->turn, false);
    pthread_mutex_lock(&helper->mpi);
    enum ring_status status = helper->status;
    if (status != RING_OK && error)
        *error = helper->error;
    pthread_mutex_unlock(&helper->mpi);
    return status;
}
