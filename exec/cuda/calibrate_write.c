/* SPDX-License-Identifier: MIT
 *
 * What was measured on devices, as a device and a topology (docs/FORMATS.md), with how and when. Figures that
 * no model asks for stand there as comments. */
#include <inttypes.h>
#include <time.h>

#include "exec/calibrate_files.h"
#include "exec/cuda/calibration.h"

#define EXEC_GPU_COPY_TEXT(name, text) text,
static const char *const copy_names[EXEC_GPU_N_COPIES] = {EXEC_GPU_COPIES(EXEC_GPU_COPY_TEXT)};
#undef EXEC_GPU_COPY_TEXT

/* Where and how the figures were taken; a YAML text in one line, so without quotes and backslashes. */
static void describe(const struct exec_gpu_calibration *c, char *out, size_t size)
{
    const struct exec_device_facts *facts = &c->facts;
    char day[32] = "", sharing[64] = "";
    time_t now = time(NULL);
    struct tm parts;

    if (gmtime_r(&now, &parts))
        strftime(day, sizeof day, "%Y-%m-%d %H:%M UTC", &parts);
    if (c->n_ranks > c->n_devices)
        snprintf(sharing, sizeof sharing, " sharing %d device%s", c->n_devices, c->n_devices > 1 ? "s" : "");
    snprintf(
        out, size,
        "ringlab calibrate --device cuda on %s, %s, %d multiprocessors at up to %.0f MHz, memory at up to "
        "%.0f MHz, driver for CUDA %d.%d, runtime %d.%d, %d rank%s at once%s, %s",
        day, facts->name, facts->n_processors, 1e-6 * facts->clock_hz, 1e-6 * facts->memory_clock_hz,
        facts->driver / 1000, facts->driver % 1000 / 10, facts->runtime / 1000, facts->runtime % 1000 / 10,
        c->n_ranks, c->n_ranks > 1 ? "s" : "", sharing, EXEC_BUILD_FLAGS);
    for (char *at = out; *at; at++)
        if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ')
            *at = ' ';
}

static void write_head(const struct exec_gpu_calibration *c, const char *what, FILE *file)
{
    fprintf(file, "# %s, as measured; made by `ringlab calibrate --device cuda` and made anew by it.\n",
            what);
    if (c->spec->common.stamp)
        fprintf(file, "# %s\n", c->spec->common.stamp);
}

static void write_sides(size_t n, FILE *file)
{
    for (size_t i = 0; i < n; i++)
        fprintf(file, "%s%d", i ? ", " : "[", EXEC_GPU_FIRST_SIDE << i);
    fputs("]\n", file);
}

static void write_rates(const double *rates, size_t stride, size_t n, FILE *file)
{
    for (size_t i = 0; i < n; i++)
        fprintf(file, "%s%.5g TFLOP/s", i ? ", " : "[", 1e-12 * rates[i * stride]);
    fputs("]\n", file);
}

static void write_curve(const struct exec_gpu_calibration *c, const struct exec_gpu_table *table, bool causal,
                        FILE *file)
{
    bool square = causal || table->pass == RING_PASS_BACKWARD;

    fprintf(file, "    - pass: %s\n      dtype: %s\n      head_dim: %" PRIu32 "\n      blocks: %s\n",
            ring_pass_names[table->pass], ring_dtype_names[table->dtype], table->head_dim,
            causal ? "causal" : "full");
    fprintf(file, "      source: \"kernel cuda, %d heads, median of %u rounds\"\n", EXEC_GPU_HEADS,
            c->n_rounds);
    fputs(square ? "      tokens: " : "      q_tokens: ", file);
    write_sides(table->n_sides, file);
    if (square) {
        fputs("      rates: ", file);
        write_rates(causal ? table->causal : table->full[0], causal ? 1 : EXEC_GPU_SIDES + 1, table->n_sides,
                    file);
        return;
    }
    fputs("      k_tokens: ", file);
    write_sides(table->n_sides, file);
    fputs("      rates:\n", file);
    for (size_t q = 0; q < table->n_sides; q++) {
        fputs("        - ", file);
        write_rates(table->full[q], 1, table->n_sides, file);
    }
}

/* The share of a device that a rank has. */
static double ranks_a_device(const struct exec_gpu_calibration *c)
{
    return c->n_ranks > c->n_devices ? (double)c->n_ranks / c->n_devices : 1;
}

static void write_notes(const struct exec_gpu_calibration *c, FILE *file)
{
    fprintf(file,
            "  # launch cost: %.4g us from one empty kernel to the next, %.4g us of the host for each\n",
            1e6 * c->launch_s, 1e6 * c->enqueue_s);
    fprintf(file, "  # merge cost: folding a block in takes %.1f %% longer than beginning a state\n",
            100 * c->merge_share);
    fprintf(file,
            "  # slowed by copies: a kernel takes %.3f times as long while blocks are copied in and out\n",
            c->slowed);
    fprintf(file, "  # spread between rounds, (largest - smallest) / median: %.1f %%\n",
            100 * c->kernel_spread);
    for (int way = 0; way < EXEC_GPU_N_COPIES; way++) {
        if (c->copy_s[way][0] <= 0)
            continue;
        fprintf(file, "  # copies, %s:", copy_names[way]);
        for (size_t i = 0; i < EXEC_GPU_SIZES; i++)
            fprintf(file, "%s %" PRIu64 " KiB at %.4g GB/s", i ? "," : "", c->sizes[i] >> 10,
                    1e-9 * (double)c->sizes[i] / c->copy_s[way][i]);
        fputc('\n', file);
    }
}

static void write_device(const void *context, const char *source, FILE *file)
{
    const struct exec_gpu_calibration *c = context;
    write_head(c, "A CUDA device of this machine, as one rank has it", file);
    fprintf(file, "device:\n  name: this-machine-cuda-device\n  source: \"%s\"\n", source);
    fprintf(file, "  memory: %.0f B\n", (double)c->facts.memory_bytes / ranks_a_device(c));
    fprintf(file, "  memory_bandwidth: %.5g GB/s # reading and writing, as adding up gradients does\n",
            1e-9 * c->add_bytes_per_s);
    fprintf(file, "  step_overhead: %.4g us\n  merge: 0 B # folded in by the kernel\n", 1e6 * c->step_s);
    write_notes(c, file);
    fputs("  curves:\n", file);
    for (size_t i = 0; i < c->n_tables; i++)
        for (int causal = 0; causal < 2; causal++)
            write_curve(c, &c->tables[i], causal, file);
}

/* Straight lines from size to size: a class serves up to a measured size and passes through it and the one
 * before. A line that would begin below 0, or that is level, is all bytes or all latency. */
static void write_classes(const struct exec_gpu_calibration *c, FILE *file)
{
    for (size_t i = 0; i < EXEC_GPU_SIZES; i++) {
        double bytes = (double)c->sizes[i], hop_s = c->hop_s[i], latency_s = 0.9 * hop_s;
        if (i > 0 && hop_s > c->hop_s[i - 1]) {
            double a_byte_s = (hop_s - c->hop_s[i - 1]) / (bytes - (double)c->sizes[i - 1]);
            latency_s = hop_s > bytes * a_byte_s ? hop_s - bytes * a_byte_s : 0;
        }
        fputs("        - {", file);
        if (i + 1 < EXEC_GPU_SIZES)
            fprintf(file, "up_to: %" PRIu64 " B, ", c->sizes[i]);
        fprintf(file, "bandwidth: %.6g GB/s, latency: %.6g us}\n", 1e-9 * bytes / (hop_s - latency_s),
                1e6 * latency_s);
    }
}

static void write_topology(const void *context, const char *source, const char *device, FILE *file)
{
    const struct exec_gpu_calibration *c = context;

    write_head(c, "The CUDA devices of this machine", file);
    fprintf(file, "topology:\n  name: this-machine-cuda\n  source: \"%s\"\n  links:\n    between-ranks:\n",
            source);
    if (c->n_ranks > 1) {
        fprintf(file, "      source: \"hops of all ranks in a ring, each sending and receiving; %s\"\n",
                c->way);
        fprintf(file, "      # spread between trials: %.1f %%\n      classes:\n", 100 * c->hop_spread);
        write_classes(c, file);
    } else {
        fputs("      source: \"there was one rank: a copy within the device stands for a hop\"\n", file);
        fprintf(file, "      bandwidth: %.6g GB/s\n      latency: %.6g us\n",
                1e-9 * (double)c->sizes[EXEC_GPU_SIZES - 1] /
                    c->copy_s[EXEC_GPU_COPY_WITHIN][EXEC_GPU_SIZES - 1],
                1e6 * c->copy_s[EXEC_GPU_COPY_WITHIN][0]);
    }
    fprintf(file, "  nodes:\n    - name: host\n      devices: {name: gpu, count: %d, device: %s}\n",
            c->n_ranks, device);
    fputs("      inside: between-ranks\n  share_devices: true\n", file);
}

enum ring_status exec_gpu_calibration_write(const struct exec_gpu_calibration *c, const char *path,
                                            struct ring_error *error)
{
    struct exec_calibrate_writer writer = {.device = write_device, .topology = write_topology, .context = c};

    describe(c, writer.source, sizeof writer.source);
    return exec_calibrate_write(&writer, path, "-device", error);
}
