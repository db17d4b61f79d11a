/* SPDX-License-Identifier: MIT
 *
 * `ringlab validate`: has the scenarios run (validate.c), and leaves a page, a picture and a few lines. Under
 * which circumstances they ran is found here. */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/commands.h"
#include "tools/file.h"
#include "tools/plot.h"
#include "tools/ranks.h"
#include "tools/validate.h"

enum { DEFAULT_ROUNDS = 3 };

static double clock_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum ring_status write_page(const struct tool_validation *v, const struct tool_trial *trials, size_t n,
                                   const char *path, struct ring_error *error)
{
    struct tool_file file;
    enum ring_status status = tool_file_open(&file, path, error);
    if (status != RING_OK)
        return status;
    status = tool_validate_page(trials, n, &v->circumstances, file.stream, error);
    if (status == RING_OK)
        return tool_file_commit(&file, error);
    tool_file_discard(&file);
    return status;
}

/* Without gnuplot the page stands alone. */
static enum ring_status draw(const struct tool_trial *trials, size_t n, const char *path,
                             struct ring_error *error)
{
    struct tool_file picture;
    enum ring_status status = tool_file_open(&picture, path, error);
    if (status != RING_OK)
        return status;
    FILE *script = tmpfile();
    if (script == NULL) {
        status = ring_fail(error, RING_IO, "no temporary file: %s", strerror(errno));
    } else {
        tool_validate_script(trials, n, picture.temporary != NULL ? picture.temporary : path, script);
        status = fflush(script) == 0 ? tool_plot_run(script, error)
                                     : ring_fail(error, RING_IO, "no room for a temporary file");
        fclose(script);
    }
    if (status == RING_OK)
        return tool_file_commit(&picture, error);
    tool_file_discard(&picture);
    return status;
}

static enum ring_status show(const struct tool_validation *v, const struct tool_trial *trials, size_t n,
                             struct ring_error *error)
{
    struct tool_accuracy as_is, calibrated;
    enum ring_status status = tool_accuracy_find_both(trials, n, &as_is, &calibrated, error);
    if (status != RING_OK)
        return status;
    printf("  %zu scenarios in %u round%s, %.0f s; load %s; protection: %s\n\n", n, v->circumstances.n_rounds,
           v->circumstances.n_rounds > 1 ? "s" : "", v->circumstances.seconds, v->circumstances.load,
           v->circumstances.real_time ? "real-time ranks" : "none");
    printf("                     median     p95   worst     bias  order right\n");
    const struct tool_accuracy *const rows[] = {&as_is, &calibrated};
    static const char *const names[] = {"as predicted", "as calibrated"};
    for (int i = 0; i < 2; i++)
        printf("  %-16s  %5.1f %%  %4.1f %%  %4.1f %%  %+5.1f %%  %.1f %% of %zu pairs\n", names[i],
               100 * rows[i]->median, 100 * rows[i]->p95, 100 * rows[i]->worst, 100 * rows[i]->bias,
               rows[i]->n_pairs > 0 ? 100.0 * (double)rows[i]->n_right / (double)rows[i]->n_pairs : 100.0,
               rows[i]->n_pairs);
    printf("\n  Worst: %s.\n", trials[as_is.worst_at].label);
    if (v->circumstances.n_failed > 0)
        printf("  %zu scenarios did not run.\n", v->circumstances.n_failed);
    return RING_OK;
}

static enum ring_status leave(struct tool_validation *v, const struct tool_trial *trials, size_t n,
                              struct ring_error *error)
{
    const char *folder = v->options->out != NULL ? v->options->out : "docs";
    char page[4096], picture[4096];
    int longest = snprintf(page, sizeof page, "%s/ACCURACY.md", folder);
    snprintf(picture, sizeof picture, "%s/accuracy.svg", folder);
    if (longest < 0 || (size_t)longest >= sizeof page)
        return ring_fail(error, RING_IO, "%.200s...: the path is too long", folder);
    enum ring_status status = write_page(v, trials, n, page, error);
    if (status == RING_OK)
        status = v->options->json ? tool_validate_write(trials, n, &v->circumstances, stdout, error)
                                  : show(v, trials, n, error);
    if (status != RING_OK)
        return status;
    status = draw(trials, n, picture, error);
    if (status == RING_UNSUPPORTED) {
        fprintf(stderr, "ringlab: no picture: %s\n", error->text);
        picture[0] = '\0';
        status = RING_OK;
    }
    if (status == RING_OK && !v->options->json)
        printf("  %s%s%s\n", page, picture[0] != '\0' ? " " : "", picture);
    return status;
}

/* --- circumstances ------------------------------------------------------------------------------------- */

static double load_now(void)
{
    double load;
    return getloadavg(&load, 1) == 1 ? load : (double)NAN;
}

/* What we start inherits it. */
static enum ring_status protect(struct tool_circumstances *c, struct ring_error *error)
{
    const struct sched_param priority = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_RR, &priority) != 0)
        return ring_fail(error, RING_UNSUPPORTED,
                         "--protect: %s (real-time priority needs root or CAP_SYS_NICE)", strerror(errno));
    c->real_time = true;
    return RING_OK;
}

static enum ring_status run(struct tool_validation *v, struct ring_error *error)
{
    struct tool_circumstances *c = &v->circumstances;
    double load = load_now();
    time_t now = time(NULL);
    struct tm parts;
    enum ring_status status = RING_OK;
    tool_ranks_processor_name(c->processor, sizeof c->processor);
    c->n_processors = tool_ranks_processors();
    strftime(c->date, sizeof c->date, "%Y-%m-%d %H:%M UTC", gmtime_r(&now, &parts));
    c->n_rounds = v->options->n_rounds > 0 ? v->options->n_rounds : DEFAULT_ROUNDS;
    if (v->options->protect)
        status = protect(c, error);
    if (status == RING_OK)
        status = tool_validate_rounds(v, error);
    if (status != RING_OK)
        return status;
    snprintf(c->load, sizeof c->load, "%.1f before, %.1f after", load, load_now());
    c->seconds = clock_s() - v->begun_s;
    struct tool_trial *trials = calloc(v->n_attempts, sizeof *trials);
    if (trials == NULL)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for %zu trials", v->n_attempts);
    size_t n = tool_validate_choose(v, trials);
    status = n > 0 ? leave(v, trials, n, error)
                   : ring_fail(error, RING_WORLD, "no scenario ran; the first: %s", c->first_failure);
    free(trials);
    return status;
}

enum ring_status tool_validate(const struct tool_options *options, struct ring_error *error)
{
    struct tool_validation v = {.options = options, .begun_s = clock_s()};
    enum ring_status status = tool_validate_load(&v, error);
    if (status == RING_OK)
        status = tool_make_folder(options->out != NULL ? options->out : "docs", error);
    if (status == RING_OK)
        status = run(&v, error);
    tool_validate_fini(&v);
    return status;
}
