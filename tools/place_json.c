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

static bool write_value(const char *key, json_t *value, FILE *file)
{
    fprintf(file, ",\n\"%s\": ", key);
    bool good = value != NULL && json_dumpf(value, file, JSON_ENCODE_ANY) == 0;
    json_decref(value);
    return good;
}

static bool write_orders(const struct tool_places *places, FILE *file)
{
    bool good = true;

    fputs(",\n\"orders\": [\n", file);
    for (size_t i = 0; i < places->n_orders; i++) {
        json_t *order = order_json(places, &places->orders[i]);
        good &= order != NULL && json_dumpf(order, file, 0) == 0;
        json_decref(order);
        fputs(i + 1 < places->n_orders ? ",\n" : "\n]}\n", file);
    }
    return good;
}

enum ring_status tool_place_write(const struct tool_places *places, FILE *file, struct ring_error *error)
{
    const struct tool_setup *setup = places->setup;
    char text[1024];

    tool_place_sentence(places, text, sizeof text);
    fputs("{\"schema\": \"" TOOL_PLACE_SCHEMA "\"", file);
    bool good = write_value("ringlab", json_string(RINGLAB_VERSION), file);
    good &= write_value("file", json_string(setup->path), file);
    good &= write_value("topology", json_string(setup->scenario->topology->name), file);
    good &= write_value("ranks", json_integer(setup->plan.n_ranks), file);
    good &= write_value("devices", json_integer((json_int_t)setup->scenario->topology->n_devices), file);
    good &= write_value("keep_devices", json_boolean(places->keep_devices), file);
    good &= write_value("effort", json_string(model_effort_names[places->effort]), file);
    good &= write_value("hop_bytes", json_integer((json_int_t)places->bytes), file);
    good &= write_value("least_hop_s", tool_json_number(places->least_hop_s), file);
    good &= write_value("text", json_string(text), file);
    good &= write_value("placement", devices_json(places, places->best), file);
    good &= write_orders(places, file);
    return good ? RING_OK : ring_fail(error, RING_IO, "the orders cannot be written as JSON");
}
