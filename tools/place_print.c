/* SPDX-License-Identifier: MIT
 *
 * Orders of devices for people: a row each, the links that they share, what a bad one costs, and the best as
 * lines for a scenario. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/place.h"
#include "tools/report.h"
#include "tools/table.h"
#include "tools/units.h"

enum { MAX_LINKS = 4, LINE_WIDTH = 100 };

/* Differences of a step's time below this part of it are not worth a word. */
static const double matters = 0.005;

#define TIME(seconds) tool_figure(TOOL_SECONDS, seconds).text

static const char *name_of(const struct tool_places *places, uint32_t device)
{
    const struct model_topology *topology = places->setup->scenario->topology;

    return topology->vertices[topology->devices[device]].name;
}

/* The unit of a column is that of its smallest figure: bad orders may be a thousand times as slow. */
static struct tool_unit unit_of(const struct tool_places *places, bool of_hop)
{
    double least = INFINITY;

    for (size_t i = 0; i < places->n_orders; i++) {
        const struct tool_order *order = &places->orders[i];
        double value = of_hop ? order->found.score.worst_hop_s : order->time_s;
        least = value > 0 ? fmin(least, value) : least;
    }
    return tool_unit_for(TOOL_SECONDS, isinf(least) ? 1 : least);
}

static enum ring_status print_table(const struct tool_places *places, FILE *file, struct ring_error *error)
{
    struct tool_unit step = unit_of(places, false);
    struct tool_unit hop = unit_of(places, true);
    char headers[2][32];
    struct tool_table table;

    snprintf(headers[0], sizeof headers[0], "step %s", step.name);
    snprintf(headers[1], sizeof headers[1], "worst hop %s", hop.name);
    tool_table_init(
        &table, 6,
        (const char *const[]){"<order", headers[0], "over best", headers[1], "shared links", "<world"});
    for (size_t i = 0; i < places->n_orders; i++) {
        const struct tool_order *order = &places->orders[i];
        double over = order->time_s / places->best->time_s - 1;
        tool_table_cell(&table, "%s", order->name);
        if (isnan(order->time_s))
            tool_table_cell(&table, "?");
        else
            tool_table_cell(&table, "%s", tool_figure_in(step, order->time_s, 3).text);
        tool_table_cell(&table, "%s", order == places->best ? "-" : tool_signed_percent(over).text);
        tool_table_cell(&table, "%s", tool_figure_in(hop, order->found.score.worst_hop_s, 3).text);
        tool_table_cell(&table, "%zu", order->n_links);
        tool_table_cell(&table, "%s", order->world);
    }
    enum ring_status status = tool_table_print(&table, 2, file);
    tool_table_fini(&table);
    return status == RING_OK ? status : ring_fail(error, status, "out of memory for the table of orders");
}

static void print_links(const struct tool_order *order, FILE *file)
{
    if (order->n_links == 0)
        return;
    fprintf(file, "\n  %s shares\n", order->name);
    for (size_t i = 0; i < order->n_links && i < MAX_LINKS; i++) {
        const struct tool_shared_link *link = &order->links[i];
        fprintf(file, "    %s: %" PRIu32 " hops, %s each of its %s\n", link->name, link->n_hops,
                tool_figure(TOOL_BYTES_PER_S, link->bytes_per_s / link->n_hops).text,
                tool_figure(TOOL_BYTES_PER_S, link->bytes_per_s).text);
    }
    if (order->n_links > MAX_LINKS)
        fprintf(file, "    and %zu more\n", order->n_links - MAX_LINKS);
}

/* A name stands bare where YAML cannot take it for anything else. */
static bool is_plain(const char *name)
{
    static const char *const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return strchr(letters, name[0]) != NULL && name[strspn(name, letters)] != '\0' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/") == strlen(name);
}

static void print_list(const struct tool_places *places, FILE *file)
{
    size_t width = 0;

    fputs("\nring:\n  placement: [", file);
    width = strlen("  placement: [");
    for (uint32_t rank = 0; rank < places->setup->plan.n_ranks; rank++) {
        const char *name = name_of(places, places->best->device_of_rank[rank]);
        const char *quote = is_plain(name) ? "" : "'";
        size_t length = strlen(name) + 2 * strlen(quote) + 2;
        if (rank > 0 && width + length > LINE_WIDTH) {
            fputs(",\n    ", file);
            width = 4;
        } else if (rank > 0) {
            fputs(", ", file);
        }
        fprintf(file, "%s%s%s", quote, name, quote);
        width += length;
    }
    fputs("]\n", file);
}

/* How an order was found. */
static void print_found(const struct tool_places *places, FILE *file)
{
    const struct model_place_found *best = &places->best->found, *worst = &places->worst->found;

    if (best->all)
        fprintf(file, "  best and worst of all %" PRIu64 " orders\n", best->n_orders);
    else
        fprintf(file, "  best of %" PRIu64 " orders tried, worst of %" PRIu64 " (effort %s)%s\n",
                best->n_orders, worst->n_orders, model_effort_names[places->effort],
                best->proved ? "; no order has a faster worst hop" : "");
}

/* Why the worst hop of the worst order is slow. */
static void say_why(const struct tool_order *worst, const struct tool_order *best, char *text, size_t size)
{
    if (worst->n_links > 0)
        snprintf(text, size, "%" PRIu32 " hops share %s%s", worst->links[0].n_hops, worst->links[0].name,
                 worst->n_links > 1 ? ", and others like it" : "");
    else
        snprintf(text, size, "some hops go a slower way, though none shares it");
    size_t n = strlen(text);
    snprintf(text + n, size - n, "; its worst hop takes %s, the best order's %s",
             TIME(worst->found.score.worst_hop_s), TIME(best->found.score.worst_hop_s));
}

static void say_cost(const struct tool_places *places, char *text, size_t size)
{
    const struct tool_order *best = places->best, *worst = places->worst;
    double lost_s = worst->time_s - best->time_s;
    char why[512];

    say_why(worst, best, why, sizeof why);
    if (isnan(lost_s))
        snprintf(text, size,
                 "In the worst order %s. What that costs a step needs SimGrid, which is not built in.", why);
    else if (lost_s > matters * best->time_s)
        snprintf(text, size, "A bad order costs up to %s a step (%s). In the worst %s.", TIME(lost_s),
                 tool_signed_percent(lost_s / best->time_s).text, why);
    else if (model_score_same(&worst->found.score, &best->found.score))
        snprintf(text, size, "Every order is as good as any other: all hops take %s and none shares a link.",
                 TIME(best->found.score.worst_hop_s));
    else if (worst->found.score.worst_hop_s < best->found.score.worst_hop_s * (1 + 1e-9))
        snprintf(text, size, "The order hardly matters: in each the worst hop takes %s.",
                 TIME(best->found.score.worst_hop_s));
    else
        snprintf(text, size, "The order hardly matters: computing hides the hops. In the worst %s.", why);
}

void tool_place_sentence(const struct tool_places *places, char *text, size_t size)
{
    const struct tool_order *given = places->scenario;
    double best_s = places->best->time_s, given_s = given->time_s - best_s;
    const char *name = given == places->natural ? "natural" : "scenario's";

    say_cost(places, text, size);
    size_t n = strlen(text);
    if (isnan(given_s) || !(places->worst->time_s - best_s > matters * best_s))
        return;
    if (given_s > matters * best_s)
        snprintf(text + n, size - n, " The %s order costs %s; the list below saves that.", name,
                 TIME(given_s));
    else
        snprintf(text + n, size - n, " The %s order is as good as the best.", name);
}

enum ring_status tool_place_print(const struct tool_places *places, FILE *file, struct ring_error *error)
{
    const struct tool_setup *setup = places->setup;
    char text[1024];

    char own[48] = "";
    if (places->keep_devices)
        snprintf(own, sizeof own, "the scenario's %" PRIu32 " of ", setup->plan.n_ranks);
    fprintf(file, "place: %s\n  %" PRIu32 " ranks on %s%zu devices of %s, %s a hop\n", setup->scenario->name,
            setup->plan.n_ranks, own, setup->scenario->topology->n_devices, setup->scenario->topology->name,
            tool_figure(TOOL_BYTES, places->bytes).text);
    print_found(places, file);
    fputc('\n', file);
    enum ring_status status = print_table(places, file, error);
    for (size_t i = 0; i < places->n_orders && status == RING_OK; i++)
        print_links(&places->orders[i], file);
    if (status != RING_OK)
        return status;
    tool_place_sentence(places, text, sizeof text);
    fputc('\n', file);
    tool_report_wrapped(text, 2, file);
    print_list(places, file);
    return RING_OK;
}
