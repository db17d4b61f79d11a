/* SPDX-License-Identifier: MIT
 *
 * See verify_report.h. */
#include "tools/verify_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report.h"
#include "tools/result_json.h"
#include "tools/table.h"

enum { MAX_ROWS = 16 };

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

/* Relative to what the rows come to, or to a part of what they would have come to had nothing cancelled: as
 * verify_gradient.h judges. */
static double frobenius_error(const struct verify_frobenius *sum)
{
    double norm2 = fmax(sum->norm2, sum->gross2 / (64.0 * 64.0));
    return norm2 > 0 ? sqrt(sum->error2 / norm2) : sqrt(sum->error2);
}

static void add_frobenius(struct verify_frobenius *sum, const struct verify_frobenius *one)
{
    sum->error2 += one->error2;
    sum->norm2 += one->norm2;
    sum->gross2 += one->gross2;
    sum->bound = fmax(sum->bound, one->bound);
}

static struct verify_gradient_report add_up_gradients(const struct tool_verified *verified)
{
    struct verify_gradient_report sum = {0};
    for (uint32_t i = 0; verified->gradients != NULL && i < verified->n_ranks; i++) {
        const struct verify_gradient_report *report = &verified->gradients[i];
        sum.rows_checked += report->rows_checked;
        sum.rows_total += report->rows_total;
        sum.keys_checked += report->keys_checked;
        sum.keys_total += report->keys_total;
        add_frobenius(&sum.d_q, &report->d_q);
        add_frobenius(&sum.d_k, &report->d_k);
        add_frobenius(&sum.d_v, &report->d_v);
        sum.n_bad += report->n_bad;
    }
    return sum;
}

static void gradient_row(struct tool_table *table, const char *name,
                         const struct verify_gradient_report *report, bool with_checksum)
{
    const struct verify_frobenius *const tensors[] = {&report->d_q, &report->d_k, &report->d_v};
    tool_table_cell(table, "%s", name);
    tool_table_cell(table, "%" PRIu64 " of %" PRIu64, report->rows_checked, report->rows_total);
    tool_table_cell(table, "%" PRIu64 " of %" PRIu64, report->keys_checked, report->keys_total);
    for (int i = 0; i < 3; i++) {
        tool_table_cell(table, "%.2e", frobenius_error(tensors[i]));
        tool_table_cell(table, "%.3f", frobenius_error(tensors[i]) / tensors[i]->bound);
    }
    tool_table_cell(table, "%" PRIu64, report->n_bad);
    if (with_checksum)
        tool_table_cell(table, "%016" PRIx64, report->checksum);
    else
        tool_table_cell(table, "%s", "");
}

static enum ring_status print_gradients(const struct tool_verified *verified, FILE *file)
{
    static const char *const headers[] = {"<rank",    "dQ rows",  "dK, dV rows", "dQ error",
                                          "of bound", "dK error", "of bound",    "dV error",
                                          "of bound", "bad",      "checksum"};
    struct verify_gradient_report sum = add_up_gradients(verified);
    struct tool_table table;
    if (verified->gradients == NULL)
        return RING_OK;
    fputc('\n', file);
    tool_table_init(&table, 11, headers);
    for (uint32_t i = 0; i < verified->n_ranks; i++) {
        char name[16];
        snprintf(name, sizeof name, "%" PRIu32, i);
        if (verified->n_ranks <= MAX_ROWS || verified->gradients[i].n_bad > 0)
            gradient_row(&table, name, &verified->gradients[i], true);
    }
    gradient_row(&table, "all", &sum, false);
    enum ring_status status = tool_table_print(&table, 2, file);
    tool_table_fini(&table);
    return status;
}

static void print_judgement(const struct tool_verified *verified, const struct verify_report *sum, FILE *file)
{
    struct tool_style style = tool_style_for(file);
    uint64_t n_bad = add_up_gradients(verified).n_bad;
    if (sum->n_bad == 0 && n_bad == 0)
        fprintf(file, "\n  %sexact%s: every checked row%s is within its bound of the fp64 single shot.\n",
                style.good, style.off, verified->gradients != NULL ? " and gradient" : "");
    if (sum->n_bad > 0)
        fprintf(file,
                "\n  %swrong%s: %" PRIu64 " of %" PRIu64 " checked rows differ from the fp64 single shot by "
                "more than rounding explains.\n",
                style.bad, style.off, sum->n_bad, sum->rows_checked);
    if (n_bad > 0)
        fprintf(file,
                "\n  %swrong%s: %" PRIu64 " of %" PRIu32 " gradients differ from the fp64 single shot by "
                "more than rounding explains.\n",
                style.bad, style.off, n_bad, 3 * verified->n_ranks);
}

/* Simulated time has to come from somewhere; what is computed does not depend on it. False: all is known. */
static bool note_unpriced(const struct tool_setup *setup, const struct tool_verified *verified, char *text,
                          size_t size)
{
    bool made_up = setup->unpriced.text[0] != '\0' && strcmp(verified->world, "simgrid") == 0;
    snprintf(text, size, "%s: simulated times are made up, 1 ms a block", setup->unpriced.text);
    return made_up;
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
    char text[sizeof setup->unpriced.text + 64];
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
    if (print_gradients(verified, file) != RING_OK)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for the table");
    print_judgement(verified, &sum, file);
    if (verified->n_repeats > 1)
        fprintf(file, "  %" PRIu32 " runs gave the same bits on every rank\n", verified->n_repeats);
    if (note_unpriced(setup, verified, text, sizeof text))
        tool_report_wrapped(text, 2, file);
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

static json_t *gradients_json(const struct verify_gradient_report *report)
{
    static const char *const names[] = {"d_q", "d_k", "d_v"};
    const struct verify_frobenius *const tensors[] = {&report->d_q, &report->d_k, &report->d_v};
    char checksum[32];
    snprintf(checksum, sizeof checksum, "%016" PRIx64, report->checksum);
    json_t *object = json_pack("{sI sI sI sI sI ss}", "rows_checked", (json_int_t)report->rows_checked,
                               "rows_total", (json_int_t)report->rows_total, "keys_checked",
                               (json_int_t)report->keys_checked, "keys_total", (json_int_t)report->keys_total,
                               "bad", (json_int_t)report->n_bad, "checksum", checksum);
    for (int i = 0; i < 3; i++)
        json_object_set_new(object, names[i],
                            json_pack("{so so}", "relative_error",
                                      tool_json_number(frobenius_error(tensors[i])), "bound",
                                      tool_json_number(tensors[i]->bound)));
    return object;
}

enum ring_status tool_verify_write(const struct tool_setup *setup, const struct tool_verified *verified,
                                   FILE *file, struct ring_error *error)
{
    struct verify_report sum = add_up(verified);
    json_t *ranks = json_array();
    struct verify_gradient_report gradients = add_up_gradients(verified);
    for (uint32_t i = 0; i < verified->n_ranks; i++) {
        json_t *rank = report_json(&verified->reports[i], device_name(setup, i));
        if (verified->gradients != NULL)
            json_object_set_new(rank, "gradients", gradients_json(&verified->gradients[i]));
        json_array_append_new(ranks, rank);
    }
    json_t *root = json_pack("{ss ss ss ss ss ss sb so sI sI so}", "schema", TOOL_VERIFY_SCHEMA, "ringlab",
                             RINGLAB_VERSION, "world", verified->world, "world_detail", verified->detail,
                             "kernel", verified->kernel, "state", ring_dtype_names[verified->state],
                             "within_bounds", sum.n_bad == 0 && gradients.n_bad == 0, "relative_error",
                             tool_json_number(relative_error(&sum)), "bad_rows", (json_int_t)sum.n_bad,
                             "rows_checked", (json_int_t)sum.rows_checked, "ranks", ranks);
    if (root != NULL && verified->gradients != NULL)
        json_object_set_new(root, "bad_gradients", json_integer((json_int_t)gradients.n_bad));
    if (root != NULL && verified->n_repeats > 1)
        json_object_set_new(root, "equal_runs", json_integer((json_int_t)verified->n_repeats));
    char note[sizeof setup->unpriced.text + 64];
    if (root != NULL && note_unpriced(setup, verified, note, sizeof note))
        json_object_set_new(root, "note", json_string(note));
    bool good = root != NULL && json_dumpf(root, file, JSON_INDENT(1)) == 0;
    json_decref(root);
    fputc('\n', file);
    return tool_json_done(good, file, "report", error);
}
