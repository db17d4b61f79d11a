/* SPDX-License-Identifier: MIT
 *
 * Pictures of tori and meshes: the nodes of each layer as a square grid, layers side by side. Cables to the
 * next place are straight, those that close a ring are bows; the third side, from layer to layer, is said in
 * words. */
#include <math.h>
#include <stdlib.h>

#include "tools/topology_picture.h"

enum { MARGIN = 24, TOP = 96, CELL = 74, BOX_W = 50, BOX_H = 26, MOST_SHOWN = 16, MOST_LAYERS = 8 };

struct sheet {
    const struct model_topology *topology;
    uint32_t side[3], shown[3];
    uint32_t *place; /* [n_vertices] of the node that a router stands for, or TOOL_NO_ITEM */
};

/* The vertex that stands in the grid for its node: its router, or its only device. */
static bool is_router(const struct model_topology *topology, const struct model_vertex *vertex)
{
    return topology->devices_forward ? vertex->device != NULL
                                     : !vertex->device && vertex->node == 0 && vertex->kind == MODEL_SWITCH;
}

static uint32_t coordinate(const struct sheet *sheet, uint32_t place, int side)
{
    for (int i = 0; i < side; i++)
        place /= sheet->side[i];
    return place % sheet->side[side];
}

static bool is_shown(const struct sheet *sheet, uint32_t place)
{
    return coordinate(sheet, place, 0) < sheet->shown[0] && coordinate(sheet, place, 1) < sheet->shown[1] &&
           coordinate(sheet, place, 2) < sheet->shown[2];
}

static double left_of(const struct sheet *sheet, uint32_t place)
{
    return MARGIN + 10 + CELL * (double)coordinate(sheet, place, 0) +
           ((double)sheet->shown[0] * CELL + 36) * (double)coordinate(sheet, place, 2);
}

static double top_of(const struct sheet *sheet, uint32_t place)
{
    return TOP + CELL * (double)coordinate(sheet, place, 1);
}

static void draw_cable(const struct sheet *sheet, FILE *file, uint32_t a, uint32_t b, double bytes_per_s)
{
    const struct tool_svg_style style = {NULL, tool_line_colour(0), tool_line_width(bytes_per_s), false};
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    double x1 = left_of(sheet, low) + BOX_W / 2.0, y1 = top_of(sheet, low) + BOX_H / 2.0;
    double x2 = left_of(sheet, high) + BOX_W / 2.0, y2 = top_of(sheet, high) + BOX_H / 2.0;
    bool far_x = x2 - x1 > CELL * 1.5, far_y = y2 - y1 > CELL * 1.5;

    if (far_x) {
        tool_svg_arc(file, x1, y1 - BOX_H / 2.0, x2, y2 - BOX_H / 2.0, 16, style);
    } else if (far_y) { /* a bow to the left */
        double x = x1 - BOX_W / 2.0;
        tool_svg_line(file, x, y1, x - 10, y1 + 10, style);
        tool_svg_line(file, x - 10, y1 + 10, x - 10, y2 - 10, style);
        tool_svg_line(file, x - 10, y2 - 10, x, y2, style);
    } else {
        tool_svg_line(file, x1, y1, x2, y2, style);
    }
}

static void draw_cables(const struct sheet *sheet, FILE *file)
{
    const struct model_topology *topology = sheet->topology;

    for (size_t i = 0; i < topology->n_links; i++) {
        const struct model_link *link = &topology->links[i];
        uint32_t a = sheet->place[link->from], b = sheet->place[link->to];
        if (a == TOOL_NO_ITEM || b == TOOL_NO_ITEM || a > b || !is_shown(sheet, a) || !is_shown(sheet, b) ||
            coordinate(sheet, a, 2) != coordinate(sheet, b, 2))
            continue;
        draw_cable(sheet, file, a, b, link->classes[link->n_classes - 1].bytes_per_s);
    }
}

static void draw_places(const struct sheet *sheet, FILE *file)
{
    const struct tool_svg_style style = {"#cfe8d5", "#444", 1, false};

    for (size_t v = 0; v < sheet->topology->n_vertices; v++) {
        uint32_t place = sheet->place[v];
        char text[32];
        if (place == TOOL_NO_ITEM || !is_shown(sheet, place))
            continue;
        snprintf(text, sizeof text, "%u", place);
        tool_svg_box(file, left_of(sheet, place), top_of(sheet, place), BOX_W, BOX_H, style);
        tool_svg_text(file, left_of(sheet, place) + BOX_W / 2.0, top_of(sheet, place) + 17, 11, "middle",
                      text);
    }
}

/* What the boxes are, and what is not drawn. */
static void draw_words(const struct sheet *sheet, FILE *file)
{
    const struct model_topology *topology = sheet->topology;
    char text[256];
    const char *name = "";

    for (size_t v = 0; v < topology->n_vertices && !name[0]; v++)
        name = sheet->place[v] == 0 ? topology->vertices[v].name : "";
    snprintf(text, sizeof text, "%u x %u x %u; place 0 is %.64s%s%s", sheet->side[0], sheet->side[1],
             sheet->side[2], name, topology->devices_forward ? "" : ", each a router with its node",
             sheet->side[2] > 1
                 ? "; one layer beside the other, each place also joined to the same of the next layers"
                 : "");
    tool_svg_text(file, MARGIN, 68, 11, "start", text);
    if (sheet->shown[0] < sheet->side[0] || sheet->shown[1] < sheet->side[1] ||
        sheet->shown[2] < sheet->side[2]) {
        snprintf(text, sizeof text, "only the first %u x %u x %u are shown", sheet->shown[0], sheet->shown[1],
                 sheet->shown[2]);
        tool_svg_text(file, MARGIN, 82, 11, "start", text);
    }
}

/* The grid's own kind of link. */
static struct tool_line kind_of(const struct sheet *sheet)
{
    struct tool_line line = {.count = 0};

    for (size_t i = 0; i < sheet->topology->n_links && line.count == 0; i++) {
        const struct model_link *link = &sheet->topology->links[i];
        if (sheet->place[link->from] == TOOL_NO_ITEM || sheet->place[link->to] == TOOL_NO_ITEM)
            continue;
        line.type = link->type;
        line.bytes_per_s = link->classes[link->n_classes - 1].bytes_per_s;
        line.latency_s = link->classes[link->n_classes - 1].latency_s;
        line.count = 1;
    }
    return line;
}

enum ring_status tool_draw_grid(const struct model_topology *topology, FILE *file, struct ring_error *error)
{
    struct sheet sheet = {.topology = topology,
                          .place = malloc((topology->n_vertices + 1) * sizeof *sheet.place)};
    uint32_t n = 0;

    if (!sheet.place)
        return ring_fail(error, RING_NO_MEMORY, "out of memory for a picture of %zu vertices",
                         topology->n_vertices);
    for (int i = 0; i < 3; i++) {
        sheet.side[i] = topology->grid[i] > 0 ? topology->grid[i] : 1;
        sheet.shown[i] = sheet.side[i] < (i < 2 ? MOST_SHOWN : MOST_LAYERS)
                             ? sheet.side[i]
                             : (i < 2 ? MOST_SHOWN : MOST_LAYERS);
    }
    for (size_t v = 0; v < topology->n_vertices; v++)
        sheet.place[v] = is_router(topology, &topology->vertices[v]) ? n++ : TOOL_NO_ITEM;
    double width = fmax(left_of(&sheet, 0) + (sheet.shown[0] * CELL + 36.0) * sheet.shown[2], 640);
    double legend = TOP + (double)sheet.shown[1] * CELL;
    const struct tool_line line = kind_of(&sheet), *kinds[] = {&line};
    tool_svg_begin(file, width, legend + 40);
    tool_draw_title(file, topology);
    draw_words(&sheet, file);
    draw_cables(&sheet, file);
    draw_places(&sheet, file);
    tool_draw_legend(file, kinds, 1, legend + 8);
    tool_svg_end(file);
    free(sheet.place);
    return RING_OK;
}
