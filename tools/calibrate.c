/* SPDX-License-Identifier: MIT
 *
 * `ringlab calibrate`: measure this machine, and say where the figures are and how good. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "tools/cache.h"
#include "tools/commands.h"
#include "tools/ranks.h"
#include "tools/result_json.h"
#include "tools/table.h"
#include "tools/units.h"

static const char *const grade_words[MODEL_N_GRADES] = {
    [MODEL_GRADE_FORWARD] = "forward blocks",
    [MODEL_GRADE_BACKWARD] = "backward blocks",
    [MODEL_GRADE_HEAD_DIM] = "of another head_dim",
    [MODEL_GRADE_HOPS] = "hops",
};

/* The one device that a calibrated topology has, many times. */
static const struct model_device *device_of(const struct model_topology *topology)
{
    return topology->n_devices > 0 ? topology->vertices[topology->devices[0]].device : NULL;
}

static enum ring_status print_grades(const struct model_grade *grades, struct ring_error *error)
{
    static const char *const headers[] = {
        "<kept out and predicted", "n", "median error", "p95", "worst", "bias"};
    struct tool_table table;
    unsigned n = 0;
    for (size_t i = 0; i < MODEL_N_GRADES; i++)
        n += grades[i].n;
    if (n == 0) /* as of CUDA devices */
        return RING_OK;
    tool_table_init(&table, sizeof headers / sizeof *headers, headers);
    for (size_t i = 0; i < MODEL_N_GRADES; i++) {
        if (grades[i].n == 0)
            continue;
        tool_table_cell(&table, "%s", grade_words[i]);
        tool_table_cell(&table, "%u", grades[i].n);
        tool_table_cell(&table, "%s", tool_percent(grades[i].median).text);
        tool_table_cell(&table, "%s", tool_percent(grades[i].p95).text);
        tool_table_cell(&table, "%s", tool_percent(grades[i].worst).text);
        tool_table_cell(&table, "%s", tool_signed_percent(grades[i].bias).text);
    }
    enum ring_status status = tool_table_print(&table, 2, stdout);
    tool_table_fini(&table);
    return status == RING_OK ? RING_OK : ring_fail(error, status, "out of memory for a table");
}

static json_t *grades_json(const struct model_grade *grades)
{
    json_t *object = json_object();
    for (size_t i = 0; i < MODEL_N_GRADES; i++)
        if (grades[i].n > 0)
            json_object_set_new(
                object, model_grade_names[i],
                json_pack("{sI so so so so}", "n", (json_int_t)grades[i].n, "median",
                          tool_json_number(grades[i].median), "p95", tool_json_number(grades[i].p95), "worst",
                          tool_json_number(grades[i].worst), "bias", tool_json_number(grades[i].bias)));
    return object;
}

static enum ring_status print_json(const char *path, const struct model_device *device,
                                   struct ring_error *error)
{
    json_t *document =
        json_pack("{ss ss ss* so so so so}", "format", "ringlab-calibration-1", "topology", path, "source",
                  device->source, "step_overhead_s", tool_json_number(device->step_s), "poll_s",
                  tool_json_number(device->poll_s), "memory_bytes_per_s",
                  tool_json_number(device->memory_bytes_per_s), "grades", grades_json(device->grades));
    bool good =
        document != NULL && json_dumpf(document, stdout, JSON_INDENT(1)) == 0 && putchar('\n') == '\n';
    json_decref(document);
    return tool_json_done(good, stdout, "calibration", error);
}

enum ring_status tool_calibrate(const struct tool_options *options, struct ring_error *error)
{
    char path[4096];
    struct config_summary summary;
    struct config_cluster cluster;
    enum ring_status status = tool_cache_calibrate(options, error);
    if (status == RING_OK)
        status = config_cache_path(
            path, sizeof path, tool_ranks_device(options) ? "this-machine-cuda.yaml" : "this-machine.yaml",
            error);
    if (status == RING_OK)
        status = config_check(path, &summary, error);
    if (status == RING_OK)
        status = config_cluster_load(path, &cluster, error);
    if (status != RING_OK)
        return status;
    const struct model_device *device = device_of(cluster.topology);
    if (options->json) {
        status = print_json(path, device, error);
    } else {
        printf("%s: %s\n", path, summary.text);
        status = print_grades(device->grades, error);
    }
    config_cluster_free(&cluster);
    char noise[512];
    if (!tool_ranks_device(options) && tool_cache_noise(true, noise, sizeof noise))
        fprintf(stderr, "ringlab: %s\n", noise);
    return status;
}
