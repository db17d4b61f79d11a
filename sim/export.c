/* SPDX-License-Identifier: MIT
 *
 * See export.h. */
#include "sim/export.h"

#include "models/route.h"

/* A name as an attribute's value; ours have '>' and '<' in links, a file's have none of the others. */
static void write_name(FILE *file, const char *name)
{
    for (; *name; name++) {
        if (*name == '<')
            fputs("&lt;", file);
        else if (*name == '>')
            fputs("&gt;", file);
        else if (*name == '&')
            fputs("&amp;", file);
        else if (*name == '"')
            fputs("&quot;", file);
        else
            fputc(*name, file);
    }
}

/* The dense peak of the first type that the device has one for: any speed would do, as blocks are timed. */
static double speed(const struct model_device *device)
{
    for (int i = 0; i < RING_N_DTYPES; i++)
        if (device->peak_flop_per_s[i] > 0)
            return device->peak_flop_per_s[i];
    return 1e9;
}

static void write_parts(const struct model_topology *topology, FILE *file)
{
    for (size_t i = 0; i < topology->n_devices; i++) {
        const struct model_vertex *vertex = &topology->vertices[topology->devices[i]];
        fputs("<host id=\"", file);
        write_name(file, vertex->name);
        fprintf(file, "\" speed=\"%.6gf\"/>\n", speed(vertex->device));
    }
    for (size_t i = 0; i < topology->n_links; i++) {
        const struct model_link *link = &topology->links[i];
        const struct model_size_class *class = &link->classes[link->n_classes - 1];
        fputs("<link id=\"", file);
        write_name(file, link->name);
        fprintf(file, "\" bandwidth=\"%.15gBps\" latency=\"%.15gs\" sharing_policy=\"SHARED\"/>\n",
                class->bytes_per_s, class->latency_s);
    }
}

static enum ring_status write_route(struct model_router *router, uint32_t from, uint32_t to, FILE *file,
                                    struct ring_error *error)
{
    const struct model_topology *topology = router->topology;
    const uint32_t *links;
    size_t n;
    enum ring_status status = model_router_find(router, from, to, &links, &n, error);

    if (status != RING_OK)
        return status;
    fputs("<route src=\"", file);
    write_name(file, topology->vertices[from].name);
    fputs("\" dst=\"", file);
    write_name(file, topology->vertices[to].name);
    fputs("\" symmetrical=\"NO\">", file);
    for (size_t i = 0; i < n; i++) {
        fputs("<link_ctn id=\"", file);
        write_name(file, topology->links[links[i]].name);
        fputs("\"/>", file);
    }
    fputs("</route>\n", file);
    return RING_OK;
}

enum ring_status sim_export(const struct model_topology *topology, FILE *file, struct ring_error *error)
{
    struct model_router router;

    if (topology->n_devices > SIM_EXPORT_MOST_DEVICES)
        return ring_fail(error, RING_UNSUPPORTED,
                         "a platform of %zu devices would have %zu routes, wanted at most %d devices",
                         topology->n_devices, topology->n_devices * (topology->n_devices - 1),
                         SIM_EXPORT_MOST_DEVICES);
    enum ring_status status = model_router_init(&router, topology, error);
    if (status != RING_OK)
        return status;
    fputs("<?xml version=\"1.0\"?>\n"
          "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\">\n<zone id=\"cluster\" routing=\"Full\">\n",
          file);
    write_parts(topology, file);
    for (size_t i = 0; i < topology->n_devices && status == RING_OK; i++)
        for (size_t j = 0; j < topology->n_devices && status == RING_OK; j++)
            if (i != j)
                status = write_route(&router, topology->devices[i], topology->devices[j], file, error);
    model_router_fini(&router);
    fputs("</zone>\n</platform>\n", file);
    if (status == RING_OK && (fflush(file) != 0 || ferror(file)))
        status = ring_fail(error, RING_IO, "the platform could not be written");
    return status;
}
