/* SPDX-License-Identifier: MIT
 *
 * What was measured, as a device and a topology (docs/FORMATS.md), with how and when. */
#include "exec/calibration.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exec/output.h"

/* Where and how the figures were taken; a YAML text in one line, so without quotes and backslashes. */
static void describe(const struct exec_calibration *c, char *out, size_t size)
{
    char cpu[160] = "unknown processor", day[32] = "", line[256];
    double load = 0;
    time_t now = time(NULL);
    struct tm parts;

    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(cpu, sizeof cpu, "%.150s", strchr(line, ':') + 2);
            break;
        }
    if (file)
        fclose(file);
    file = fopen("/proc/loadavg", "re");
    if (!file || fscanf(file, "%lf", &load) != 1)
        load = -1;
    if (file)
        fclose(file);
    if (gmtime_r(&now, &parts))
        strftime(day, sizeof day, "%Y-%m-%d %H:%M UTC", &parts);
    snprintf(out, size, "ringlab calibrate on %s, %s, %d ranks at once, load before %.1f, %s", day, cpu,
             c->n_ranks, load, EXEC_BUILD_FLAGS);
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

static void write_table(const struct exec_calibration *c, const struct exec_kernel_table *table, FILE *file)
{
    double tokens[EXEC_MAX_TOKENS], squares[EXEC_MAX_TOKENS];

    for (size_t i = 0; i < c->n_tokens; i++) {
        tokens[i] = (double)c->tokens[i];
        squares[i] = table->full[i][i];
    }
    for (int causal = 0; causal < 2; causal++) {
        bool square = causal || table->pass == RING_PASS_BACKWARD;
        fprintf(file, "    - pass: %s\n      dtype: %s\n      head_dim: %" PRIu32 "\n      blocks: %s\n",
                ring_pass_names[table->pass], ring_dtype_names[table->dtype], table->head_dim,
                causal ? "causal" : "full");
        fprintf(file, "      source: \"kernel %s, median of %u rounds\"\n", table->kernel->name, c->n_rounds);
        fputs(square ? "      tokens: " : "      q_tokens: ", file);
        write_list(file, tokens, c->n_tokens, 1, "");
        fputs(square ? "\n      rates: " : "\n      k_tokens: ", file);
        if (square) {
            write_list(file, causal ? table->causal : squares, c->n_tokens, 1e9, "GFLOP/s");
            fputc('\n', file);
            continue;
        }
        write_list(file, tokens, c->n_tokens, 1, "");
        fputs("\n      rates:\n", file);
        for (size_t q = 0; q < c->n_tokens; q++) {
            fputs("        - ", file);
            write_list(file, table->full[q], c->n_tokens, 1e9, "GFLOP/s");
            fputc('\n', file);
        }
    }
}

static void write_device(const struct exec_calibration *c, const char *source, FILE *file)
{
    double memory_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);

    write_head(c, "A core of this machine", file);
    fprintf(file, "device:\n  name: this-machine-core\n  cores: 1\n  source: \"%s\"\n", source);
    fprintf(file, "  memory: %.0f B\n  memory_bandwidth: %.4g GB/s\n", memory_bytes / c->n_ranks,
            1e-9 * c->copy_bytes_per_s);
    fprintf(file, "  step_overhead: %.4g us\n  merge: 0 B # folded in by the kernel\n", 1e6 * c->step_s);
    fprintf(file, "  # in processor time; meanwhile a rank had %.0f %% of its core\n", 100 * c->core_share);
    fprintf(file, "  # spread between rounds, (largest - smallest) / median: %.1f %%\n",
            100 * c->kernel_spread);
    fputs("  curves:\n", file);
    for (size_t i = 0; i < c->n_tables; i++)
        write_table(c, &c->tables[i], file);
}

/* Straight lines from size to size: a class serves up to a measured size and passes through it and the one
 * before. */
static void write_classes(const struct exec_calibration *c, FILE *file)
{
    for (size_t i = 0; i < c->n_sizes; i++) {
        double bytes = (double)c->sizes[i], hop_s = c->hop_s[i];
        double bytes_per_s = bytes / hop_s, latency_s = 0;
        if (i > 0 && hop_s > c->hop_s[i - 1]) {
            bytes_per_s = (bytes - (double)c->sizes[i - 1]) / (hop_s - c->hop_s[i - 1]);
            latency_s = hop_s - bytes / bytes_per_s;
        }
        if (i == 0 || latency_s < 0) { /* no line through both: the hop is all latency, or all bytes */
            latency_s = i == 0 ? 0.9 * hop_s : 0;
            bytes_per_s = bytes / (hop_s - latency_s);
        }
        fputs("        - {", file);
        if (i + 1 < c->n_sizes)
            fprintf(file, "up_to: %" PRIu64 " B, ", c->sizes[i]);
        fprintf(file, "bandwidth: %.5g GB/s, latency: %.5g us}\n", 1e-9 * bytes_per_s, 1e6 * latency_s);
    }
}

static void write_topology(const struct exec_calibration *c, const char *source, const char *device,
                           FILE *file)
{
    write_head(c, "This machine", file);
    fprintf(file, "topology:\n  name: this-machine\n  source: \"%s\"\n  links:\n    shared-memory:\n",
            source);
    fputs("      moved_by: receiver\n", file);
    if (c->n_sizes) {
        fprintf(file, "      source: \"hops of all ranks in a ring, each sending and receiving; the faster "
                      "quarter of trials\"\n");
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
    static const char ending[] = ".yaml";
    struct exec_output topology = {.file = NULL}, device = {.file = NULL};
    char source[512], device_path[PATH_MAX];
    size_t n = strlen(path), stem = n > 5 && strcmp(path + n - 5, ending) == 0 ? n - 5 : n;

    describe(c, source, sizeof source);
    if ((size_t)snprintf(device_path, sizeof device_path, "%.*s-core%s", (int)stem, path, ending) >=
        sizeof device_path)
        return ring_fail(error, RING_IO, "%.200s...: the path is too long", path);
    const char *slash = strrchr(device_path, '/');
    enum ring_status status = exec_output_open(&device, device_path, error);
    if (status == RING_OK)
        status = exec_output_open(&topology, path, error);
    if (status == RING_OK) {
        write_device(c, source, device.file);
        write_topology(c, source, slash ? slash + 1 : device_path, topology.file);
        status = exec_output_commit(&device, error);
    }
    if (status == RING_OK)
        status = exec_output_commit(&topology, error);
    exec_output_discard(&device);
    exec_output_discard(&topology);
    return status;
}
