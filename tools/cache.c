/* SPDX-License-Identifier: MIT
 *
 * See cache.h. A stamp in the files says which machine and which way of calibrating they are from. */
#include "tools/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "exec/kernels/block.h"
#include "tools/devices.h"
#include "tools/file.h"
#include "tools/launch.h"
#include "tools/ranks.h"
#include "tools/result.h"
#include "tools/setup.h"

enum {
    FORMAT = 8, /* raised when what calibrate measures changes its meaning */
    CUDA_FORMAT = 1,
    MAX_DAYS = 30, /* machines change their ways: kernels, firmware, neighbours */
    TIMEOUT_S = 180,
    MAX_BYTES = 64 << 20,
    PATH_BYTES = 4096,
};

/* Of a calibration, for all of it. */
#define SECONDS      "30"
#define CUDA_SECONDS "40"

static const char file_name[] = "this-machine.yaml", core_file_name[] = "this-machine-core.yaml",
                  cuda_file_name[] = "this-machine-cuda.yaml";

/* A build for debugging measures itself. */
#ifdef __OPTIMIZE__
static const char build[] = "";
#else
static const char build[] = ", not optimised";
#endif

/* One line that is the same exactly as long as the figures can be trusted, but for their age. */
static void make_stamp(char *out, size_t size)
{
    char name[200];
    const struct block_kernel *kernel = block_kernel_find(NULL, RING_FP32, 64),
                              *short_kernel = block_kernel_find(NULL, RING_BF16, 64);
    tool_ranks_processor_name(name, sizeof name);
    snprintf(out, size, "calibration %d, %s, %u processors, %s, bf16 %s%s", FORMAT, name,
             tool_ranks_processors(), kernel == NULL ? "no kernel" : kernel->name,
             short_kernel == NULL ? "no kernel" : short_kernel->name, build);
}

/* What else runs here is measured as well. The load is that of the last minute, in which the build that made
 * this command may have run: only one that no build leaves behind means company. */
static bool is_busy(double load, double n_processors)
{
    return load > 2 * n_processors;
}

static void warn_if_busy(void)
{
    double load, n = tool_ranks_processors();
    if (getloadavg(&load, 1) == 1 && is_busy(load, n))
        fprintf(stderr,
                "ringlab: this machine is busy (load %.1f on %.0f processors): calibrated now, it will seem "
                "slower than it is\n",
                load, n);
}

/* Of CUDA devices: what they give depends on how many ranks share one. */
static void make_cuda_stamp(const struct tool_devices *devices, uint32_t n_ranks, char *out, size_t size)
{
    snprintf(out, size, "calibration %d, %s, %u ranks", CUDA_FORMAT, devices->text,
             n_ranks > devices->n ? n_ranks : devices->n);
}

/* n_ranks: on CUDA devices, of the scenario that is to be run; 0: none. */
static enum ring_status calibrate(const struct tool_options *options, uint32_t n_ranks,
                                  struct ring_error *error)
{
    char path[PATH_BYTES], place[PATH_BYTES], stamp[320];
    bool cuda = tool_ranks_device(options);
    struct tool_devices devices = {.n = 0};
    enum ring_status status = config_cache_path(path, sizeof path, cuda ? cuda_file_name : file_name, error);
    if (status == RING_OK && cuda)
        status = tool_devices_ask(&devices, error);
    if (status != RING_OK)
        return status;
    if (options->n_ranks > 0)
        n_ranks = options->n_ranks;
    if (cuda)
        make_cuda_stamp(&devices, n_ranks, stamp, sizeof stamp);
    else
        make_stamp(stamp, sizeof stamp);
    char *slash = strrchr(path, '/');
    if (slash != NULL) {
        *slash = '\0';
        status = tool_make_folder(path, error);
        *slash = '/';
    }
    if (status != RING_OK)
        return status;
    warn_if_busy();
    const char *extra[12] = {"--out", path, "--stamp", stamp, "--seconds", cuda ? CUDA_SECONDS : SECONDS};
    size_t n_extra = 6;
    if (cuda) {
        extra[n_extra++] = "--device";
        extra[n_extra++] = "cuda";
        extra[n_extra++] = options->move != NULL ? "--move" : NULL;
        extra[n_extra++] = options->move;
    }
    uint32_t usual = cuda ? (n_ranks > devices.n ? n_ranks : devices.n) : tool_ranks_processors();
    struct tool_ranks ranks = {.task = "calibrate",
                               .extra = extra,
                               .n_ranks = options->n_ranks > 0 ? options->n_ranks : usual,
                               .timeout_s = TIMEOUT_S};
    status = tool_ranks_run(&ranks, options, place, sizeof place, error);
    if (status == RING_OK)
        tool_ranks_forget(place);
    return status;
}

enum ring_status tool_cache_calibrate(const struct tool_options *options, struct ring_error *error)
{
    return calibrate(options, 0, error);
}

/* Why the file cannot be used, as the end of "this machine's calibration is ..."; NULL if it can. */
static const char *staleness(const char *path, const char *stamp)
{
    struct stat info;
    char *text;
    size_t size;
    struct ring_error ignored;
    if (stat(path, &info) != 0)
        return "missing";
    if (time(NULL) - info.st_mtime > MAX_DAYS * 86400L)
        return "over a month old";
    if (tool_file_read(path, MAX_BYTES, &text, &size, &ignored) != RING_OK)
        return "unreadable";
    bool ours = strstr(text, stamp) != NULL;
    /* A file without a stamp was put there by hand: whoever did that knows why. */
    bool stamped = strstr(text, "calibration ") != NULL;
    free(text);
    return ours || !stamped ? NULL : "of another machine or version";
}

/* Whether the files are why a scenario does not load: then they are as good as old, whatever they once were.
 */
static const char *damage(const char *path, const struct ring_error *why_not)
{
    struct config_summary summary;
    struct ring_error ignored;
    const char *slash = strrchr(path, '/');
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    if (strstr(why_not->text, folder) == NULL)
        return NULL;
    if (access(path, F_OK) != 0)
        return "missing";
    return config_check(path, &summary, &ignored) == RING_OK ? NULL : "damaged";
}

/* Two that measure a machine at once would measure each other. */
static enum ring_status recalibrate(const char *why, const char *path, const struct tool_options *options,
                                    uint32_t n_ranks, struct ring_error *error)
{
    struct stat before = {.st_mtime = 0}, after;
    bool waited;
    stat(path, &before);
    int lock =
        tool_file_lock(path, "ringlab: another ringlab is measuring this machine: waiting for it", &waited);
    bool done = waited && stat(path, &after) == 0 && after.st_mtime > before.st_mtime;
    enum ring_status status = RING_OK;
    if (!done) {
        fprintf(stderr, "ringlab: this machine's calibration (%s) is %s: measuring it, about %s\n", path, why,
                tool_ranks_device(options) ? "a minute" : SECONDS " s");
        status = calibrate(options, n_ranks, error);
    }
    if (lock >= 0)
        close(lock);
    return status;
}

/* The same for CUDA devices: asked of them where they are to be used, and only then. */
static const char *cuda_staleness(const char *path, uint32_t n_ranks)
{
    struct tool_devices devices;
    struct ring_error ignored;
    char stamp[320];
    if (tool_devices_ask(&devices, &ignored) != RING_OK)
        return NULL;
    make_cuda_stamp(&devices, n_ranks, stamp, sizeof stamp);
    const char *why = staleness(path, stamp);
    return why != NULL && strcmp(why, "of another machine or version") == 0
               ? "of another machine, version or number of ranks"
               : why;
}

enum ring_status tool_cache_load(const char *path, const struct config_overrides *overrides,
                                 const struct tool_options *options, struct config_scenario **out,
                                 struct ring_error *error)
{
    char cached[PATH_BYTES], stamp[320];
    struct ring_error ignored;
    bool cuda = tool_ranks_device(options);
    const char *file = cuda ? cuda_file_name : file_name;
    bool known = config_cache_path(cached, sizeof cached, file, &ignored) == RING_OK;
    enum ring_status status = config_scenario_load(path, overrides, out, error);
    if (status != RING_OK && !cuda && strstr(error->text, "/this-machine-cuda") != NULL)
        return status; /* only --device cuda makes these anew */
    const char *why = known && status != RING_OK ? damage(cached, error) : NULL;
    if (why != NULL && options->show) {
        ignored = *error;
        return strcmp(why, "missing") == 0
                   ? status
                   : ring_fail(error, status, "%.900s (`ringlab calibrate` measures it anew)", ignored.text);
    }
    if (why != NULL) {
        status = recalibrate(why, cached, options, 0, error);
        if (status == RING_OK)
            status = config_scenario_load(path, overrides, out, error);
        if (!cuda) /* only now it is known how many ranks will share a device */
            return status;
    }
    if (!known || status != RING_OK || options->show || strcmp((*out)->cluster_path, cached) != 0)
        return status;
    uint32_t n_ranks = (*out)->plan.n_ranks;
    make_stamp(stamp, sizeof stamp);
    why = NULL;
    if (!cuda)
        why = staleness(cached, stamp);
    else if (options->mpi_args == NULL)
        why = cuda_staleness(cached, n_ranks);
    if (why == NULL)
        return RING_OK;
    status = recalibrate(why, cached, options, n_ranks, error);
    if (status != RING_OK && tool_launch_interrupted(error)) {
        config_scenario_free(*out);
        *out = NULL;
        return status;
    }
    if (status != RING_OK) {
        fprintf(stderr, "ringlab: going on with the old figures: %s\n", error->text);
        return RING_OK;
    }
    config_scenario_free(*out);
    return config_scenario_load(path, overrides, out, error);
}

/* The number behind words in a text; otherwise, if they are not there. */
static double number_behind(const char *text, const char *words, double otherwise)
{
    const char *at = text == NULL ? NULL : strstr(text, words);
    return at == NULL ? otherwise : strtod(at + strlen(words), NULL);
}

bool tool_cache_noise(bool modelled, char *out, size_t n_out)
{
    const double most_spread = 50, least_share = 80; /* % */
    char cached[PATH_BYTES], core[PATH_BYTES], *topology = NULL, *device = NULL;
    size_t size;
    struct ring_error ignored;
    if (config_cache_path(cached, sizeof cached, file_name, &ignored) != RING_OK ||
        config_cache_path(core, sizeof core, core_file_name, &ignored) != RING_OK)
        return false;
    if (tool_file_read(cached, MAX_BYTES, &topology, &size, &ignored) != RING_OK)
        topology = NULL;
    if (tool_file_read(core, MAX_BYTES, &device, &size, &ignored) != RING_OK)
        device = NULL;
    double load = number_behind(topology, "load before ", 0);
    double n = number_behind(topology, "core, count: ", tool_ranks_processors());
    double share = number_behind(device, "meanwhile a rank had ", 100);
    double link = number_behind(topology, "spread between trials: ", 0);
    double kernel = number_behind(device, "(largest - smallest) / median: ", 0);
    snprintf(
        out, n_out,
        "this machine was calibrated while it was busy (load %.1f on %.0f processors, a rank had %.0f %% "
        "of its core, times of hops spread by %.0f %% and of blocks by %.0f %%): do not trust these "
        "times, run `ringlab calibrate` when it is free",
        load, n, share, link, kernel);
    free(topology);
    free(device);
    return is_busy(load, n) || link > most_spread ||
           (modelled && (share < least_share || kernel > most_spread));
}

void tool_cache_doubt(struct tool_result *result, const struct tool_setup *setup)
{
    char cached[PATH_BYTES], text[512];
    struct ring_error ignored;
    bool modelled = !(setup->scenario->compute.block_s > 0);
    if (config_cache_path(cached, sizeof cached, file_name, &ignored) == RING_OK &&
        strcmp(setup->scenario->cluster_path, cached) == 0 && tool_cache_noise(modelled, text, sizeof text))
        tool_result_note(result, "%s", text);
}
