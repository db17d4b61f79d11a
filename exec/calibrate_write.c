/* SPDX-License-Identifier: MIT
 *
 * What was measured, as a device and a topology (docs/FORMATS.md), with how and when. */
#include "exec/calibration.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exec/calibrate_files.h"

static void processor_name(char *out, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");

    snprintf(out, size, "unknown processor");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(out, size, "%.150s", strchr(line, ':') + 2);
            break;
        }
    if (file)
        fclose(file);
}

/* Where and how the figures were taken; a YAML text in one line, so without quotes and backslashes. */
static void describe(const struct exec_calibration *c, char *out, size_t size)
{
    char cpu[160], day[32] = "";
    time_t now = time(NULL);
    struct tm parts;

    processor_name(cpu, sizeof cpu);
    if (gmtime_r(&now, &parts))
        strftime(day, sizeof day, "%Y-%m-%d %H:%M UTC", &parts);
    snprintf(out, size,
             "ringlab calibrate on %s, %s, %d ranks at once, load before %.1f, %.0f s, ringlab %s, %s", day,
             cpu, c->n_ranks, c->load, exec_clock_s() - c->begun_s, EXEC_VERSION, EXEC_BUILD_FLAGS);
    for (char *at = out; *at; at++)
        if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ')
            *at = ' ';
}

static void write_head(const struct exec_calibration *c, const char *what, FILE *file)
{
    fprintf(file, "# %s, as measured; made by `ringlab calibrate` and made anew by it.\n", what);
    if (c->spec->stamp)
        fprintf(file, "# %s\n", c->spec->stamp);
}

static void write_list(FILE *file, const double *values, size_t n, double unit, const char *name)
{
    fputc('[', file);
    for (size_t i = 0; i < n; i++)
        fprintf(file, "%s%.4g%s%s", i ? ", " : "", values[i] / unit, name[0] ? " " : "", name);
    fputc(']', file);
}

static void write_rates(const struct model_curve *curve, FILE *file)
{
    if (curve->square) {
        fputs("      rates: ", file);
        write_list(file, curve->rates_flop_per_s, curve->n_q, 1e9, "GFLOP/s");
        fputc('\n', file);
        return;
    }
    fputs("      rates:\n", file);
    for (size_t q = 0; q < curve->n_q; q++) {
        fputs("        - ", file);
        write_list(file, curve->rates_flop_per_s + q * curve->n_k, curve->n_k, 1e9, "GFLOP/s");
        fputc('\n', file);
    }
}

static void write_curve(const struct exec_calibration *c, const struct model_curve *curve, FILE *file)
{
    fprintf(file, "    - pass: %s\n      dtype: %s\n      head_dim: %" PRIu32 "\n      blocks: %s\n",
            ring_pass_names[curve->pass], ring_dtype_names[curve->dtype], curve->head_dim,
            curve->causal ? "causal" : "full");
    fprintf(file,
            "      source: \"kernel %s, median of %u rounds, each sample over the reference around it\"\n",
            curve->source, c->n_rounds);
    if (curve->reference_s > 0)
        fprintf(file, "      reference: {tokens: %.0f, time: %.5g ms}\n", curve->reference_tokens,
                1e3 * curve->reference_s);
    fputs(curve->square ? "      tokens: " : "      q_tokens: ", file);
    write_list(file, curve->q_tokens, curve->n_q, 1, "");
    if (!curve->square) {
        fputs("\n      k_tokens: ", file);
        write_list(file, curve->k_tokens, curve->n_k, 1, "");
    }
    fputc('\n', file);
    write_rates(curve, file);
}

static void write_by_dtype(const char *key, const double *bytes_per_s, FILE *file)
{
    const char *between = "";

    fprintf(file, "  %s: {", key);
    for (size_t i = 0; i < RING_N_DTYPES; i++)
        if (bytes_per_s[i] > 0) {
            fprintf(file, "%s%s: %.4g GB/s", between, ring_dtype_names[i], 1e-9 * bytes_per_s[i]);
            between = ", ";
        }
    fputs("}\n", file);
}

static void write_grades(const struct model_grade *grades, FILE *file)
{
    fputs("  # of what was timed in between and kept out of these figures\n  grades:\n", file);
    for (size_t i = 0; i < MODEL_N_GRADES; i++)
        if (grades[i].n > 0)
            fprintf(file,
                    "    %s: {n: %" PRIu32
                    ", median: %.2f %%, p95: %.2f %%, worst: %.2f %%, bias: %+.2f %%}\n",
                    model_grade_names[i], grades[i].n, 100 * grades[i].median, 100 * grades[i].p95,
                    100 * grades[i].worst, 100 * grades[i].bias);
}

static void write_device(const void *context, const char *source, FILE *file)
{
    const struct exec_calibration *c = context;
    static struct exec_calibrated calibrated; /* large */
    const struct model_device *device = &calibrated.device;
    double memory_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);

    exec_calibration_device(c, &calibrated);
    write_head(c, "A core of this machine", file);
    fprintf(file, "device:\n  name: %s\n  cores: 1\n  source: \"%s\"\n", device->name, source);
    fprintf(file, "  memory: %.0f B\n  memory_bandwidth: %.4g GB/s\n", memory_bytes / c->n_ranks,
            1e-9 * device->memory_bytes_per_s);
    fprintf(file, "  step_overhead: %.4g us # of which launch %.4g us\n", 1e6 * device->step_s,
            1e6 * c->launch_s);
    fputs("  merge: 0 B # folded in by the kernel\n", file);
    write_by_dtype("add", device->add_bytes_per_s, file);
    write_by_dtype("prepare", device->prepare_bytes_per_s, file);
    fprintf(file, "  poll: %.4g us\n", 1e6 * device->poll_s);
    fprintf(file, "  # in processor time; meanwhile a rank had %.0f %% of its core\n", 100 * c->core_share);
    fprintf(file, "  # spread between rounds, (largest - smallest) / median: %.1f %%\n",
            100 * c->kernel_spread);
    fprintf(file, "  # drift of reference blocks meanwhile, likewise: %.1f %%\n", 100 * c->drift);
    write_grades(device->grades, file);
    fputs("  curves:\n", file);
    for (size_t i = 0; i < device->n_curves; i++)
        write_curve(c, &device->curves[i], file);
}

static void write_classes(const struct exec_calibration *c, FILE *file)
{
    struct model_size_class classes[EXEC_MAX_CLASSES];
    size_t n = exec_calibration_classes(c->hops, c->n_hops, classes);

    for (size_t i = 0; i < n; i++) {
        fputs("        - {", file);
        if (i + 1 < n)
            fprintf(file, "up_to: %" PRIu64 " B, ", classes[i].up_to_bytes);
        fprintf(file, "bandwidth: %.5g GB/s, latency: %.5g us}\n", 1e-9 * classes[i].bytes_per_s,
                1e6 * classes[i].latency_s);
    }
}

static void write_topology(const void *context, const char *source, const char *device, FILE *file)
{
    const struct exec_calibration *c = context;

    write_head(c, "This machine", file);
    fprintf(file, "topology:\n  name: this-machine\n  source: \"%s\"\n  links:\n    shared-memory:\n",
            source);
    fputs("      moved_by: receiver\n", file);
    if (c->n_hops) {
        fprintf(file,
                "      source: \"hops of all ranks in a ring, each sending and receiving; medians of trials, "
                "from 256 KiB on of the copy in processor time\"\n");
        fprintf(file, "      # spread between trials: %.1f %%\n      classes:\n", 100 * c->link_spread);
        write_classes(c, file);
    } else {
        fputs("      source: \"there was one rank: a copy in memory stands for a hop\"\n", file);
        fprintf(file, "      bandwidth: %.4g GB/s\n      latency: 1 us\n", 1e-9 * c->copy_bytes_per_s / 2);
    }
    fprintf(file, "  nodes:\n    - name: host\n      devices: {name: core, count: %d, device: %s}\n",
            c->n_ranks, device);
    fputs("      inside: shared-memory\n  share_devices: true\n", file);
}

enum ring_status exec_calibration_write(const struct exec_calibration *c, const char *path,
                                        struct ring_error *error)
{
    struct exec_calibrate_writer writer = {.device = write_device, .topology = write_topology, .context = c};

    describe(c, writer.source, sizeof writer.source);
    return exec_calibrate_write(&writer, path, "-core", error);
}
