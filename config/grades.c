/* SPDX-License-Identifier: MIT
 *
 * What a calibrated device file says of itself: how far its figures were from blocks and hops that had been
 * measured and kept out of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/load.h"

struct grade_draft {
    uint32_t n;
    const char *median, *p95, *worst, *bias;
};

static const struct config_field grade_fields[] = {
    {.key = "n",
     .kind = CONFIG_COUNT32,
     .offset = offsetof(struct grade_draft, n),
     .required = true,
     .least = 1,
     .most = UINT32_MAX,
     .hint = "how many were compared"},
    {.key = "median", .kind = CONFIG_TEXT, .offset = offsetof(struct grade_draft, median), .required = true},
    {.key = "p95", .kind = CONFIG_TEXT, .offset = offsetof(struct grade_draft, p95), .required = true},
    {.key = "worst", .kind = CONFIG_TEXT, .offset = offsetof(struct grade_draft, worst), .required = true},
    {.key = "bias", .kind = CONFIG_TEXT, .offset = offsetof(struct grade_draft, bias), .required = true},
};

/* "-1.5 %" as -0.015. */
static double read_percent(struct config_reader *reader, const struct config_node *node, const char *text)
{
    char *end = NULL;
    double value = text ? strtod(text, &end) : 0;

    if (text && (end == text || strcmp(end + strspn(end, " "), "%") != 0 || !isfinite(value)))
        config_fail(reader, &node->mark, "a grade is '%.40s', accepted: a percentage such as '1.5 %%'", text);
    return value / 100;
}

static void read_grade(struct config_reader *reader, const struct config_node *node, const char *name,
                       struct model_grade *grade)
{
    struct grade_draft draft = {.n = 0};

    config_read_fields(reader, node, name, grade_fields, CONFIG_N(grade_fields), &draft);
    if (!config_ok(reader))
        return;
    *grade = (struct model_grade){
        .n = draft.n,
        .median = read_percent(reader, node, draft.median),
        .p95 = read_percent(reader, node, draft.p95),
        .worst = read_percent(reader, node, draft.worst),
        .bias = read_percent(reader, node, draft.bias),
    };
}

void config_read_grades(struct config_reader *reader, const struct config_node *node,
                        struct model_grade *grades)
{
    const struct config_node *nodes[MODEL_N_GRADES] = {NULL};
    struct config_field names[MODEL_N_GRADES];

    for (size_t i = 0; i < MODEL_N_GRADES; i++)
        names[i] = (struct config_field){
            .key = model_grade_names[i], .kind = CONFIG_NODE, .offset = i * sizeof *nodes};
    config_read_fields(reader, node, "grades", names, MODEL_N_GRADES, nodes);
    for (size_t i = 0; i < MODEL_N_GRADES && config_ok(reader); i++)
        if (nodes[i])
            read_grade(reader, nodes[i], model_grade_names[i], &grades[i]);
}
