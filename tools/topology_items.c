/* SPDX-License-Identifier: MIT
 *
 * What a picture of a topology shows: which vertices become boxes of their own and which go into one box a
 * node, and which links become one line. */
#include <stdlib.h>
#include <string.h>

#include "tools/topology_picture.h"

enum { MOST_DEVICES_IN_FULL = 32, MOST_IN_ROW = 24 };

/* A link between two items, a < b. */
struct strand {
    uint32_t a, b;
    const struct model_link *link;
    const struct model_link *shared; /* by both directions; NULL: none */
    bool backward;
};

static double bytes_per_s(const struct model_link *link)
{
    return link->classes[link->n_classes - 1].bytes_per_s;
}

static bool is_cable(const struct model_topology *topology, uint32_t vertex)
{
    return topology->vertices[vertex].kind == MODEL_CABLE && !topology->vertices[vertex].device;
}

/* "gpu3" of "node0.gpu3" where the frame says node0. */
static const char *short_name(const struct model_vertex *vertex)
{
    const char *dot = strchr(vertex->name, '.');

    return vertex->node > 0 && dot ? dot + 1 : vertex->name;
}

/* By a link, or over the two vertices in the middle of a limited cable. */
static bool linked_to_device(const struct model_topology *topology, uint32_t vertex, int most_vertices)
{
    for (uint32_t i = topology->out_first[vertex]; i < topology->out_first[vertex + 1]; i++) {
        uint32_t to = topology->links[topology->out_links[i]].to;
        if (topology->vertices[to].device || (most_vertices > 0 && is_cable(topology, to) &&
                                              linked_to_device(topology, to, most_vertices - 1)))
            return true;
    }
    return false;
}

/* A NIC stands above its device; one in a PCIe tree beside the devices. */
static uint32_t row_inside(const struct model_topology *topology, uint32_t v)
{
    const struct model_vertex *vertex = &topology->vertices[v];

    if (vertex->device)
        return 2;
    if (vertex->kind == MODEL_NIC)
        return linked_to_device(topology, v, 2) ? 3 : 2;
    return vertex->kind == MODEL_SOCKET ? 0 : 1;
}

static struct tool_item *add_item(struct tool_picture *picture, enum tool_item_kind kind, uint32_t row,
                                  uint32_t node)
{
    struct tool_item *item = &picture->items[picture->n_items++];

    *item = (struct tool_item){.kind = kind, .row = row, .node = node, .parent = TOOL_NO_ITEM};
    return item;
}

/* Each vertex a box. */
static void add_vertices(struct tool_picture *picture)
{
    const struct model_topology *topology = picture->topology;

    for (uint32_t v = 0; v < topology->n_vertices; v++) {
        const struct model_vertex *vertex = &topology->vertices[v];
        if (is_cable(topology, v) || (vertex->node == 0 && !vertex->device))
            continue;
        picture->item_of_vertex[v] = (uint32_t)picture->n_items;
        struct tool_item *item = add_item(picture,
                                          vertex->device              ? TOOL_ITEM_DEVICE
                                          : vertex->kind == MODEL_NIC ? TOOL_ITEM_NIC
                                                                      : TOOL_ITEM_SWITCH,
                                          row_inside(topology, v), vertex->node);
        snprintf(item->label, sizeof item->label, "%.64s", short_name(vertex));
        if (vertex->node > picture->n_nodes)
            picture->n_nodes = vertex->node;
    }
}

static void describe_node(struct tool_item *item, const struct model_vertex *first, size_t n_devices,
                          size_t n_nics)
{
    const char *dot = strchr(first->name, '.');
    size_t length = dot ? (size_t)(dot - first->name) : strlen(first->name);

    snprintf(item->label, sizeof item->label, "%.*s", (int)(length < 64 ? length : 64), first->name);
    if (n_nics > 0)
        snprintf(item->detail, sizeof item->detail, "%zu dev., %zu NIC%s", n_devices, n_nics,
                 n_nics == 1 ? "" : "s");
    else
        snprintf(item->detail, sizeof item->detail, "%zu dev.", n_devices);
}

/* Each node a box, the first of them; vertices of a node stand together. */
static void add_nodes(struct tool_picture *picture)
{
    const struct model_topology *topology = picture->topology;
    size_t n_shown = 0, n_hidden = 0;

    for (uint32_t v = 0; v < topology->n_vertices;) {
        const struct model_vertex *first = &topology->vertices[v];
        uint32_t node = first->device ? first->node : 0;
        size_t n_devices = 0, n_nics = 0;
        bool alone = first->device && node == 0;
        if (!alone && first->node == 0) {
            v++;
            continue;
        }
        bool shown = n_shown < MOST_IN_ROW;
        n_shown += shown;
        n_hidden += !shown;
        uint32_t index = shown ? (uint32_t)picture->n_items : (uint32_t)TOOL_NO_ITEM;
        do {
            const struct model_vertex *vertex = &topology->vertices[v];
            n_devices += vertex->device != NULL;
            n_nics += !vertex->device && vertex->kind == MODEL_NIC;
            picture->item_of_vertex[v++] = index;
        } while (!alone && v < topology->n_vertices && topology->vertices[v].node == first->node);
        if (shown)
            describe_node(add_item(picture, TOOL_ITEM_NODE, 2, 0), first, n_devices, n_nics);
    }
    if (n_hidden > 0)
        snprintf(add_item(picture, TOOL_ITEM_MORE, 2, 0)->label, sizeof picture->items->label, "%zu more",
                 n_hidden);
}

/* How far each switch of the fabric is from the nearest device or node: its row. */
static void add_fabric(struct tool_picture *picture, uint32_t *distance, uint32_t *queue)
{
    const struct model_topology *topology = picture->topology;
    size_t n_queued = 0, n_done = 0, n_in_row[64] = {0};

    for (uint32_t v = 0; v < topology->n_vertices; v++) {
        bool outside = topology->vertices[v].node == 0 && !topology->vertices[v].device;
        distance[v] = outside ? UINT32_MAX : 0;
        if (!outside)
            queue[n_queued++] = v;
    }
    while (n_done < n_queued) {
        uint32_t v = queue[n_done++];
        for (uint32_t i = topology->out_first[v]; i < topology->out_first[v + 1]; i++) {
            uint32_t to = topology->links[topology->out_links[i]].to;
            if (distance[to] != UINT32_MAX)
                continue;
            distance[to] = distance[v] + (is_cable(topology, to) ? 0 : 1);
            queue[n_queued++] = to;
        }
    }
    for (uint32_t v = 0; v < topology->n_vertices; v++) {
        const struct model_vertex *vertex = &topology->vertices[v];
        if (vertex->node > 0 || vertex->device || is_cable(topology, v))
            continue;
        uint32_t level = distance[v] < 63 ? distance[v] : 63;
        if (n_in_row[level]++ >= MOST_IN_ROW)
            continue;
        picture->item_of_vertex[v] = (uint32_t)picture->n_items;
        snprintf(add_item(picture, TOOL_ITEM_SWITCH, 3 + level, 0)->label, sizeof picture->items->label,
                 "%.64s", vertex->name);
    }
    for (uint32_t level = 0; level < 64; level++)
        if (n_in_row[level] > MOST_IN_ROW)
            snprintf(add_item(picture, TOOL_ITEM_MORE, 3 + level, 0)->label, sizeof picture->items->label,
                     "%zu more", n_in_row[level] - MOST_IN_ROW);
}

static void add_strand(const struct tool_picture *picture, struct strand *strands, size_t *n, uint32_t from,
                       uint32_t to, const struct model_link *link, const struct model_link *shared)
{
    uint32_t a = picture->item_of_vertex[from], b = picture->item_of_vertex[to];

    if (a == TOOL_NO_ITEM || b == TOOL_NO_ITEM || a == b)
        return;
    strands[(*n)++] = (struct strand){a < b ? a : b, a < b ? b : a, link, shared, a > b};
}

/* The link that both directions of a limited cable cross, from its first vertex, or NULL. */
static const struct model_link *middle(const struct model_topology *topology, uint32_t in)
{
    for (uint32_t i = topology->out_first[in]; i < topology->out_first[in + 1]; i++)
        if (is_cable(topology, topology->links[topology->out_links[i]].to))
            return &topology->links[topology->out_links[i]];
    return NULL;
}

/* Limited cables lead over two vertices of their own: from an end into the first, from the second to the
 * other end. */
static void add_limited(const struct tool_picture *picture, struct strand *strands, size_t *n,
                        const struct model_link *link)
{
    const struct model_topology *topology = picture->topology;
    const struct model_link *shared = middle(topology, link->to);

    for (uint32_t i = shared ? topology->out_first[shared->to] : 0;
         shared && i < topology->out_first[shared->to + 1]; i++) {
        uint32_t to = topology->links[topology->out_links[i]].to;
        if (to != link->from)
            add_strand(picture, strands, n, link->from, to, link, shared);
    }
}

static int compare_strands(const void *left, const void *right)
{
    const struct strand *x = left, *y = right;
    double wide = bytes_per_s(x->link) - bytes_per_s(y->link);

    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    if (x->b != y->b)
        return x->b < y->b ? -1 : 1;
    if (wide < 0 || wide > 0)
        return wide < 0 ? -1 : 1;
    return strcmp(x->link->type ? x->link->type : "", y->link->type ? y->link->type : "");
}

/* Strands of one kind between the same boxes become one line. */
static void twist(struct tool_picture *picture, const struct strand *strands, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct model_link *link = strands[i].link, *shared = strands[i].shared;
        struct tool_line *line = &picture->lines[picture->n_lines];
        if (i == 0 || compare_strands(&strands[i - 1], &strands[i]) != 0) {
            line = &picture->lines[picture->n_lines++];
            *line = (struct tool_line){
                .a = strands[i].a,
                .b = strands[i].b,
                .type = link->type,
                .bytes_per_s = bytes_per_s(link),
                .latency_s = (shared ? shared : link)->classes[link->n_classes - 1].latency_s,
                .both_bytes_per_s = shared ? bytes_per_s(shared) : 0,
            };
        } else {
            line--;
        }
        line->forwards += !strands[i].backward;
        line->backwards += strands[i].backward;
        line->count = line->forwards > line->backwards ? line->forwards : line->backwards;
    }
}

static void find_parents(struct tool_picture *picture)
{
    for (size_t i = 0; i < picture->n_lines; i++) {
        struct tool_item *a = &picture->items[picture->lines[i].a], *b = &picture->items[picture->lines[i].b];
        if (a->row == 1 && b->row == 2)
            b->parent = picture->lines[i].a;
        if (b->row == 1 && a->row == 2)
            a->parent = picture->lines[i].b;
    }
}

static void fill(struct tool_picture *picture, struct strand *strands, uint32_t *distance, uint32_t *queue)
{
    const struct model_topology *topology = picture->topology;
    size_t n = 0;

    for (size_t v = 0; v < topology->n_vertices; v++)
        picture->item_of_vertex[v] = TOOL_NO_ITEM;
    if (topology->n_devices > MOST_DEVICES_IN_FULL)
        add_nodes(picture);
    else
        add_vertices(picture);
    add_fabric(picture, distance, queue);
    for (size_t i = 0; i < topology->n_links; i++) {
        const struct model_link *link = &topology->links[i];
        if (is_cable(topology, link->to) && !is_cable(topology, link->from))
            add_limited(picture, strands, &n, link);
        else if (!is_cable(topology, link->from))
            add_strand(picture, strands, &n, link->from, link->to, link, NULL);
    }
    qsort(strands, n, sizeof *strands, compare_strands);
    twist(picture, strands, n);
    find_parents(picture);
}

enum ring_status tool_picture_init(struct tool_picture *picture, const struct model_topology *topology,
                                   struct ring_error *error)
{
    enum { ROWS_THAT_MAY_OVERFLOW = 66 };
    size_t n = topology->n_vertices;
    struct strand *strands = calloc(topology->n_links + 1, sizeof *strands);
    uint32_t *distance = calloc(n + 1, sizeof *distance), *queue = calloc(n + 1, sizeof *queue);

    *picture = (struct tool_picture){
        .topology = topology,
        .items = calloc(n + ROWS_THAT_MAY_OVERFLOW, sizeof *picture->items),
        .lines = calloc(topology->n_links + 1, sizeof *picture->lines),
        .item_of_vertex = calloc(n + 1, sizeof *picture->item_of_vertex),
    };
    bool enough = strands && distance && queue && picture->items && picture->lines && picture->item_of_vertex;
    if (enough)
        fill(picture, strands, distance, queue);
    else
        tool_picture_fini(picture);
    free(strands);
    free(distance);
    free(queue);
    return enough ? RING_OK
                  : ring_fail(error, RING_NO_MEMORY, "out of memory for a picture of %zu vertices", n);
}

void tool_picture_fini(struct tool_picture *picture)
{
    free(picture->items);
    free(picture->lines);
    free(picture->item_of_vertex);
    *picture = (struct tool_picture){.topology = NULL};
}
