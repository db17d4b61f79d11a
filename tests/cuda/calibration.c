/* SPDX-License-Identifier: MIT
 *
 * The whole calibration of a device, on one whose every figure is known: the files must say these figures, as
 * a prediction reads them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "exec/bounded.h"
#include "exec/cuda/calibrate.h"
#include "models/device.h"
#include "tests/cuda/device_priced.h"
#include "tests/cuda/ranks.h"

enum { HEADS = 16 };

static enum ring_status expect(const char *what, double found, double wanted, double tolerance,
                               struct ring_error *error)
{
    if (fabs(found / wanted - 1) <= tolerance)
        return RING_OK;
    return ring_fail(error, RING_WORLD, "%s: %g is written down, %g was the price", what, found, wanted);
}

/* What a prediction makes of a block that was measured. One launch follows the other, so no block is seen to
 * take less than a launch. */
static enum ring_status check_block(const struct model_device *device, enum ring_pass pass,
                                    enum ring_dtype dtype, uint32_t head_dim, uint64_t q, uint64_t k,
                                    bool causal, struct ring_error *error)
{
    struct ring_problem problem = {
        .tokens = q, .batch = 1, .heads = HEADS, .kv_heads = HEADS, .head_dim = head_dim, .dtype = dtype};
    struct ring_work work = {q, k, causal ? q * (q + 1) / 2 : q * k};
    struct model_block_cost cost;
    char what[128];
    enum ring_status status = model_device_block(device, &problem, pass, &work, &cost, error);

    if (status != RING_OK)
        return status;
    snprintf(what, sizeof what, "%s %s %u, %llu x %llu %s", ring_pass_names[pass], ring_dtype_names[dtype],
             head_dim, (unsigned long long)q, (unsigned long long)k, causal ? "causal" : "full");
    if (cost.outside)
        return ring_fail(error, RING_WORLD, "%s: not measured", what);
    double wanted_s = cost.flops / device_priced_rate(pass, dtype, head_dim, (double)q, (double)k);
    return expect(what, cost.kernel_s, fmax(wanted_s, device_price_usual.launch_s), 0.02, error);
}

static enum ring_status check_blocks(const struct model_device *device, struct ring_error *error)
{
    static const enum ring_dtype dtypes[] = {RING_BF16, RING_FP16, RING_FP32};
    static const uint32_t head_dims[] = {64, 128, 256};
    enum ring_status status = RING_OK;

    for (size_t i = 0; i < 9 && status == RING_OK; i++)
        for (int pass = 0; pass < 2 && status == RING_OK; pass++)
            for (uint64_t side = 256; side <= 2048 && status == RING_OK; side *= 2) {
                enum ring_dtype dtype = dtypes[i / 3];
                status = check_block(device, (enum ring_pass)pass, dtype, head_dims[i % 3], side, side, true,
                                     error);
                if (status == RING_OK)
                    status = check_block(device, (enum ring_pass)pass, dtype, head_dims[i % 3], side, side,
                                         false, error);
                if (status == RING_OK && pass == RING_PASS_FORWARD)
                    status = check_block(device, RING_PASS_FORWARD, dtype, head_dims[i % 3], side, 512, false,
                                         error);
            }
    return status;
}

/* The number behind words in a text. */
static double number_behind(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    return at ? strtod(at + strlen(words), NULL) : (double)NAN;
}

/* Of the line that begins with words, the rate of copies of 64 MiB, GB/s. */
static double copy_rate(const char *text, const char *words)
{
    const char *line = strstr(text, words);
    return line ? number_behind(line, "65536 KiB at ") : (double)NAN;
}

static enum ring_status check_costs(const char *device, int n_ranks, struct ring_error *error)
{
    const struct device_price *price = &device_price_usual;
    const struct {
        const char *words;
        double found, wanted, tolerance;
    } figures[] = {
        {"launch cost", number_behind(device, "# launch cost: "), 1e6 * price->launch_s, 0.01},
        {"merge cost", number_behind(device, "folding a block in takes "), 100 * price->merge_share, 0.05},
        {"slowed", number_behind(device, "a kernel takes "), price->slowed, 0.01},
        /* A launch, the kernel and half a question in vain, less the launch. */
        {"step", number_behind(device, "step_overhead: "), 1e6 * (price->kernel_s + price->question_s / 2),
         0.2},
        {"adding", number_behind(device, "memory_bandwidth: "), 1e-9 * price->add_bytes_per_s, 0.06},
        {"in", copy_rate(device, "# copies, host to device"), 1e-9 * price->in_bytes_per_s, 0.02},
        {"out", copy_rate(device, "# copies, device to host"), 1e-9 * price->out_bytes_per_s, 0.02},
        {"both", copy_rate(device, "# copies, both at once"), 1e-9 * price->in_bytes_per_s, 0.02},
        {"within", copy_rate(device, "# copies, within"), 1e-9 * price->within_bytes_per_s, 0.2},
        {"peer", copy_rate(device, "# copies, from the rank before"), 1e-9 * price->peer_bytes_per_s, 0.06},
    };
    size_t n = sizeof figures / sizeof *figures - (n_ranks == 1 ? 1 : 0); /* alone there is no peer */
    enum ring_status status = RING_OK;

    for (size_t i = 0; i < n && status == RING_OK; i++)
        status = expect(figures[i].words, figures[i].found, figures[i].wanted, figures[i].tolerance, error);
    return status;
}

/* A staged hop of 64 MiB takes at least the copy out, and at most both copies one after the other and what
 * posting chunks costs. */
static enum ring_status check_hop(const char *topology, struct ring_error *error)
{
    const struct device_price *price = &device_price_usual;
    const double bytes = 64 << 20;
    const char *last = NULL;

    for (const char *at = topology; (at = strstr(at, "- {")) != NULL; at++)
        last = at;
    if (!last)
        return ring_fail(error, RING_WORLD, "there are no classes");
    double bytes_per_s = 1e9 * number_behind(last, "bandwidth: "),
           hop_s = 1e-6 * number_behind(last, "latency: ") + bytes / bytes_per_s;
    double least_s = bytes / price->out_bytes_per_s, most_s = least_s + bytes / price->in_bytes_per_s;
    if (hop_s >= 0.99 * least_s && hop_s <= 1.5 * most_s)
        return RING_OK;
    return ring_fail(error, RING_WORLD, "a hop takes %g s, and %g to %g would be right", hop_s, least_s,
                     most_s);
}

static enum ring_status read_text(const char *path, char *text, size_t size, struct ring_error *error)
{
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(text, 1, size - 1, file) : 0;

    if (file)
        fclose(file);
    text[n] = '\0';
    return n > 0 ? RING_OK : ring_fail(error, RING_IO, "%s: nothing there", path);
}

static enum ring_status check_files(const char *path, const char *device_path, int n_ranks,
                                    struct ring_error *error)
{
    static char device[1 << 17], topology[1 << 14];
    struct config_cluster cluster;
    enum ring_status status = config_cluster_load(path, &cluster, error);

    if (status != RING_OK)
        return status;
    if (cluster.topology->n_devices != (size_t)n_ranks || strcmp(cluster.topology->name, "this-machine-cuda"))
        status = ring_fail(error, RING_WORLD, "topology %s has %zu devices", cluster.topology->name,
                           cluster.topology->n_devices);
    if (status == RING_OK)
        status = check_blocks(cluster.topology->vertices[cluster.topology->devices[0]].device, error);
    config_cluster_free(&cluster);
    if (status == RING_OK)
        status = read_text(device_path, device, sizeof device, error);
    if (status == RING_OK)
        status = read_text(path, topology, sizeof topology, error);
    if (status == RING_OK)
        status = check_costs(device, n_ranks, error);
    if (status == RING_OK && n_ranks > 1)
        status = check_hop(topology, error);
    if (status == RING_OK && (!strstr(device, "priced device, 132 multiprocessors at up to 1980 MHz") ||
                              !strstr(device, "driver for CUDA 13.0, runtime 12.8") ||
                              !strstr(device, "\n# a stamp\n") || !strstr(topology, "\n# a stamp\n")))
        status = ring_fail(error, RING_WORLD, "where the figures are from is not said");
    return status;
}

enum ring_status device_ranks_calibration(struct ring_error *error)
{
    char folder[] = "/tmp/ringlab-calibration-XXXXXX", path[64] = "", device_path[80] = "";
    struct device_price price = device_price_usual;
    struct exec_bound bound = {.timeout_s = 60, .crowded = true};
    bool no_device = true;
    int rank = 0, n_ranks = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    price.n_sharing = n_ranks;
    device_priced_set(&price);
    if (rank == 0 && !mkdtemp(folder))
        return ring_fail(error, RING_IO, "no folder to write to");
    snprintf(path, sizeof path, "%s/gpu.yaml", folder);
    snprintf(device_path, sizeof device_path, "%s/gpu-device.yaml", folder);
    struct exec_device_calibrate_spec spec = {
        .common = {.comm = MPI_COMM_WORLD, .seconds = 15, .stamp = "a stamp", .path = path},
        .runtime = &device_priced_runtime,
        .move = EXEC_MOVE_STAGED,
        .now_s = device_priced_now,
    };
    enum ring_status status = exec_calibrate_device(&spec, &no_device, error);
    if (status == RING_OK && rank == 0)
        status = check_files(path, device_path, n_ranks, error);
    if (rank == 0) {
        device_ranks_report("calibrated in %g s of the device's time", device_priced_now());
        unlink(path);
        unlink(device_path);
        rmdir(folder);
    }
    return exec_agree(MPI_COMM_WORLD, &bound, status, error);
}
