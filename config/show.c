/* SPDX-License-Identifier: MIT
 *
 * A scenario written back as YAML with every default filled in. Reading it gives the same scenario, from
 * whatever directory. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/faults.h"
#include "config/quantity.h"
#include "config/scenario.h"

/* Double quotes, always: there is no text that they cannot hold. It has no control characters (reader.c). */
static void write_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static void write_value(FILE *file, const struct config_field *field, const void *at)
{
    char quantity[64];

    switch (field->kind) {
    case CONFIG_COUNT32:
        fprintf(file, "%" PRIu32, *(const uint32_t *)at);
        break;
    case CONFIG_COUNT64:
        fprintf(file, "%" PRIu64, *(const uint64_t *)at);
        break;
    case CONFIG_QUANTITY:
        config_quantity_format(*(const double *)at, field->unit, quantity, sizeof quantity);
        fputs(quantity, file);
        break;
    case CONFIG_WORD:
        fputs(field->words[*(const unsigned *)at], file);
        break;
    case CONFIG_CHOICE:
        fputs(*(const char *const *)at, file);
        break;
    case CONFIG_BOOL:
        fputs(*(const bool *)at ? "true" : "false", file);
        break;
    case CONFIG_TEXT:
        write_text(file, *(const char *const *)at);
        break;
    case CONFIG_NODE:
        break;
    }
}

/* The fields of a section between braces, which the caller writes. */
static void write_fields(FILE *file, const struct config_section *section, const void *in)
{
    const char *separator = "";

    for (size_t i = 0; i < section->n_fields; i++) {
        const struct config_field *field = &section->fields[i];
        if (field->kind == CONFIG_NODE)
            continue;
        fprintf(file, "%s%s: ", separator, field->key);
        write_value(file, field, (const char *)in + field->offset);
        separator = ", ";
    }
}

static void write_section(FILE *file, const struct config_section *section, const void *in)
{
    fprintf(file, "%s: {", section->key);
    write_fields(file, section, in);
    fputs("}\n", file);
}

static bool is_natural(const struct config_scenario *scenario)
{
    for (uint32_t rank = 0; rank < scenario->plan.n_ranks; rank++)
        if (scenario->placement[rank] != rank % scenario->topology->n_devices)
            return false;
    return true;
}

static void write_ring(FILE *file, const struct config_scenario *scenario)
{
    const struct model_topology *topology = scenario->topology;
    const struct config_ring_section section = {
        .devices = scenario->plan.n_ranks,
        .buffers = scenario->plan.n_buffers,
        .layout = scenario->plan.layout,
        .pass = scenario->plan.pass,
        .gradients = scenario->plan.gradient_dtype,
        .keep_kv = scenario->plan.keep_kv,
        .strategy = scenario->plan.strategy,
    };

    fputs("ring: {", file);
    write_fields(file, &config_ring_section, &section);
    if (is_natural(scenario)) {
        fputs(", placement: natural}\n", file);
        return;
    }
    for (uint32_t rank = 0; rank < scenario->plan.n_ranks; rank++) {
        fputs(rank == 0 ? ", placement: [" : ", ", file);
        write_text(file, topology->vertices[topology->devices[scenario->placement[rank]]].name);
    }
    fputs("]}\n", file);
}

void config_scenario_show(const struct config_scenario *scenario, FILE *file)
{
    fputs("name: ", file);
    write_text(file, scenario->name);
    fputc('\n', file);
    write_section(file, &config_problem_section, &scenario->plan.problem);
    write_ring(file, scenario);
    fputs("cluster: ", file);
    write_text(file, scenario->cluster);
    fputc('\n', file);
    if (scenario->compute.block_s > 0) {
        const struct config_compute_section section = {scenario->compute.block_s,
                                                       scenario->compute.core_free};
        write_section(file, &config_compute_section, &section);
    } else {
        fputs("compute: model\n", file);
    }
    fprintf(file, "progress: %s\n", model_progress_names[scenario->progress]);
    fprintf(file, "threads: %" PRIu32 "\n", scenario->compute.threads);
    config_show_faults(&scenario->faults, file);
    write_section(file, &config_data_section, &scenario->data);
    write_section(file, &config_measure_section, &scenario->measure);
}
