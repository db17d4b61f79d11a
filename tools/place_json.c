/* SPDX-License-Identifier: MIT
 *
 * Orders of devices as one JSON document; the keys are in docs/FORMATS.md. */
#include "tools/place.h"
#include "tools/result_json.h"

static json_t *links_json(const struct tool_order *order)
{
    json_t *list = json_array();

    for (size_t i = 0; i < order->n_links; i++)
        json_array_append_new(list, json_pack("{ss sI sf}", "link", order->links[i].name, "hops",
                                              (json_int_t)order->links[i].n_hops, "bytes_per_s",
                                              order->links[i].bytes_per_s));
    return list;
}

static json_t *devices_json(const struct tool_places *places, const struct tool_order *order)
{
    const struct model_topology *topology = places->setup->scenario->topology;
    json_t *list = json_array();

    for (uint32_t rank = 0; rank < places->setup->plan.n_ranks; rank++)
        json_array_append_new(
            list, json_string(topology->vertices[topology->devices[order->device_of_rank[rank]]].name));
    return list;
}

static json_t *order_json(const struct tool_places *places, const struct tool_order *order)
{
    const struct model_place_found *found = &order->found;
    json_t *object = json_pack("{ss so ss sf sf sf so so}", "order", order->name, "time_s",
                               tool_json_number(order->time_s), "world", order->world, "worst_hop_s",
                               found->score.worst_hop_s, "shared_bytes", found->score.shared_bytes, "hops_s",
                               found->score.hops_s, "shared_links", links_json(order), "devices",
                               devices_json(places, order));
    if (object != NULL && found->n_orders > 0)
        json_object_update_new(object, json_pack("{sI sb sb}", "orders_tried", (json_int_t)found->n_orders,
                                                 "all_tried", (int)found->all, "proved", (int)found->proved));
    return object;
}

enum ring_status tool_place_write(const struct tool_places *places, FILE *file, struct ring_error *error)
{
    const struct tool_setup *setup = places->setup;
    char text[1024];
    json_t *orders = json_array();

    tool_place_sentence(places, text, sizeof text);
    for (size_t i = 0; i < places->n_orders; i++)
        json_array_append_new(orders, order_json(places, &places->orders[i]));
    json_t *document = json_pack(
        "{ss ss ss ss sI sI sf ss sf ss so so}", "schema", TOOL_PLACE_SCHEMA, "ringlab", RINGLAB_VERSION,
        "file", setup->path, "topology", setup->scenario->topology->name, "ranks",
        (json_int_t)setup->plan.n_ranks, "devices", (json_int_t)setup->scenario->topology->n_devices, "bytes",
        places->bytes, "effort", model_effort_names[places->effort], "least_hop_s", places->least_hop_s,
        "text", text, "placement", devices_json(places, places->best), "orders", orders);
    bool good = document != NULL && json_dumpf(document, file, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) == 0;
    fputc('\n', file);
    json_decref(document);
    return good ? RING_OK : ring_fail(error, RING_IO, "the orders cannot be written as JSON");
}
