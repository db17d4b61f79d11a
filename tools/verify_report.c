/* SPDX-License-Identifier: MIT
 *
 * See verify_report.h. */
#include "tools/verify_report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report.h"
#include "tools/result_json.h"
#include "tools/table.h"

enum { MAX_ROWS = 16 };

static bool read_row(const char *line, struct verify_report *report)
{
    return sscanf(line, "%" SCNu32 " %" SCNu64 " %" SCNu64 " %lf %lf %lf %lf %lf %lf %" SCNu64 " %" SCNx64,
                  &report->rank, &report->rows_checked, &report->rows_total, &report->out_error2,
                  &report->out_norm2, &report->out_worst, &report->out_bound, &report->lse_worst,
                  &report->lse_bound, &report->n_bad, &report->checksum) == 11;
}

/* Keys up to the line "rows". False if it is another kind of file. */
static bool read_keys(FILE *file, struct tool_verified *verified)
{
    char line[512], word[64];
    if (fgets(line, sizeof line, file) == NULL || strcmp(line, "ringlab-verify 1\n") != 0)
        return false;
    while (fgets(line, sizeof line, file) != NULL && strcmp(line, "rows\n") != 0) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "kernel ", 7) == 0)
            snprintf(verified->kernel, sizeof verified->kernel, "%.63s", line + 7);
        else if (strncmp(line, "transport ", 10) == 0)
            snprintf(verified->detail, sizeof verified->detail, "%.255s", line + 10);
        else if (sscanf(line, "state %63s", word) == 1)
            for (int i = 0; i < RING_N_DTYPES; i++)
                if (strcmp(word, ring_dtype_names[i]) == 0)
                    verified->state = (enum ring_dtype)i;
    }
    return fgets(line, sizeof line, file) != NULL; /* the names of the columns */
}

enum ring_status tool_verify_read(const char *path, uint32_t n_ranks, struct tool_verified *verified,
                                  struct ring_error *error)
{
    char line[1024];
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return ring_fail(error, RING_WORLD, "the ranks left no result (%s: %s)", path, strerror(errno));
    *verified = (struct tool_verified){
        .world = "mpi", .n_ranks = n_ranks, .reports = calloc(n_ranks, sizeof *verified->reports)};
    bool good = verified->reports != NULL && read_keys(file, verified);
    for (uint32_t i = 0; good && i < n_ranks; i++)
        good = fgets(line, sizeof line, file) != NULL && read_row(line, &verified->reports[i]) &&
               verified->reports[i].rank == i;
    fclose(file);
    return good ? RING_OK
                : ring_fail(error, RING_WORLD,
                            "%s: not what ringlab-rank of this version leaves for %" PRIu32 " ranks", path,
                            n_ranks);
}

/* All ranks as one; the worst of their errors against its bound. */
static struct verify_report add_up(const struct tool_verified *verified)
{
    struct verify_report sum = {0};
    double out_ratio = -1, lse_ratio = -1;
    for (uint32_t i = 0; i < verified->n_ranks; i++) {
        const struct verify_report *report = &verified->reports[i];
        sum.rows_checked += report->rows_checked;
        sum.rows_total += report->rows_total;
        sum.out_error2 += report->out_error2;
        sum.out_norm2 += report->out_norm2;
        sum.n_bad += report->n_bad;
        if (!(report->out_worst / report->out_bound <= out_ratio)) {
            out_ratio = report->out_worst / report->out_bound;
            sum.out_worst = report->out_worst;
            sum.out_bound = report->out_bound;
        }
        if (!(report->lse_worst / report->lse_bound <= lse_ratio)) {
            lse_ratio = report->lse_worst / report->lse_bound;
            sum.lse_worst = report->lse_worst;
            sum.lse_bound = report->lse_bound;
        }
    }
    return sum;
}

static double relative_error(const struct verify_report *report)
{
    return report->out_norm2 > 0 ? sqrt(report->out_error2 / report->out_norm2) : sqrt(report->out_error2);
}

static void report_row(struct tool_table *table, const char *name, const char *device,
                       const struct verify_report *report, bool with_checksum)
{
    tool_table_cell(table, "%s", name);
    tool_table_cell(table, "%s", device);
    tool_table_cell(table, "%" PRIu64 " of %" PRIu64, report->rows_checked, report->rows_total);
    tool_table_cell(table, "%.2e", relative_error(report));
    tool_table_cell(table, "%.3f", report->out_worst / report->out_bound);
    tool_table_cell(table, "%.1e", report->lse_worst);
    tool_table_cell(table, "%.3f", report->lse_worst / report->lse_bound);
    tool_table_cell(table, "%" PRIu64, report->n_bad);
    if (with_checksum)
        tool_table_cell(table, "%016" PRIx64, report->checksum);
    else
        tool_table_cell(table, "%s", "");
}

static const char *device_name(const struct tool_setup *setup, uint32_t rank)
{
    const struct model_topology *topology = setup->scenario->topology;
    return topology->vertices[topology->devices[setup->scenario->placement[rank]]].name;
}

enum ring_status tool_verify_print(const struct tool_setup *setup, const struct tool_verified *verified,
                                   FILE *file, struct ring_error *error)
{
    static const char *const headers[] = {"<rank",         "<device",  "rows checked",
                                          "rel. L2 error", "of bound", "lse error",
                                          "of bound",      "bad rows", "checksum"};
    struct tool_style style = tool_style_for(file);
    struct verify_report sum = add_up(verified);
    struct tool_table table;
    char text[512];
    fprintf(file, "%sverified: %s%s\n", style.bold, setup->scenario->name, style.off);
    snprintf(text, sizeof text, "%" PRIu32 " ranks; %s: %s; kernel %s, %s accumulators", verified->n_ranks,
             verified->world, verified->detail, verified->kernel, ring_dtype_names[verified->state]);
    tool_report_wrapped(text, 2, file);
    fputc('\n', file);
    tool_table_init(&table, 9, headers);
    for (uint32_t i = 0; i < verified->n_ranks; i++) {
        const struct verify_report *report = &verified->reports[i];
        char name[16];
        snprintf(name, sizeof name, "%" PRIu32, i);
        if (verified->n_ranks <= MAX_ROWS || report->n_bad > 0)
            report_row(&table, name, device_name(setup, i), report, true);
    }
    report_row(&table, "all", "", &sum, false);
    enum ring_status status = tool_table_print(&table, 2, file);
    tool_table_fini(&table);
    if (status != RING_OK)
        return ring_fail(error, status, "out of memory for the table");
    if (sum.n_bad == 0)
        fprintf(file, "\n  %sexact%s: every checked row is within its bound of the fp64 single shot.\n",
                style.good, style.off);
    else
        fprintf(file,
                "\n  %swrong%s: %" PRIu64 " of %" PRIu64 " checked rows differ from the fp64 single shot by "
                "more than rounding explains.\n",
                style.bad, style.off, sum.n_bad, sum.rows_checked);
    return RING_OK;
}

static json_t *report_json(const struct verify_report *report, const char *device)
{
    char checksum[32];
    snprintf(checksum, sizeof checksum, "%016" PRIx64, report->checksum);
    return json_pack(
        "{sI ss sI sI so so so so so sI ss}", "rank", (json_int_t)report->rank, "device", device,
        "rows_checked", (json_int_t)report->rows_checked, "rows_total", (json_int_t)report->rows_total,
        "relative_error", tool_json_number(relative_error(report)), "out_worst",
        tool_json_number(report->out_worst), "out_bound", tool_json_number(report->out_bound), "lse_worst",
        tool_json_number(report->lse_worst), "lse_bound", tool_json_number(report->lse_bound), "bad_rows",
        (json_int_t)report->n_bad, "checksum", checksum);
}

enum ring_status tool_verify_write(const struct tool_setup *setup, const struct tool_verified *verified,
                                   FILE *file, struct ring_error *error)
{
    struct verify_report sum = add_up(verified);
    json_t *ranks = json_array();
    for (uint32_t i = 0; i < verified->n_ranks; i++)
        json_array_append_new(ranks, report_json(&verified->reports[i], device_name(setup, i)));
    json_t *root =
        json_pack("{ss ss ss ss ss ss sb so sI sI so}", "schema", TOOL_VERIFY_SCHEMA, "ringlab",
                  RINGLAB_VERSION, "world", verified->world, "world_detail", verified->detail, "kernel",
                  verified->kernel, "state", ring_dtype_names[verified->state], "within_bounds",
                  sum.n_bad == 0, "relative_error", tool_json_number(relative_error(&sum)), "bad_rows",
                  (json_int_t)sum.n_bad, "rows_checked", (json_int_t)sum.rows_checked, "ranks", ranks);
    bool good = root != NULL && json_dumpf(root, file, JSON_INDENT(1)) == 0;
    json_decref(root);
    fputc('\n', file);
    return good ? RING_OK : ring_fail(error, RING_NO_MEMORY, "the report could not be written as JSON");
}
