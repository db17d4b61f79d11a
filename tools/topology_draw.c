/* SPDX-License-Identifier: MIT
 *
 * Draws clusters whose nodes meet in switches, once everything has its place: frames round nodes, lines, and
 * boxes over both. */
#include <math.h>
#include <string.h>

#include "tools/topology_picture.h"

enum {
    LABELLED_LINES = 64,
    LABELLED_BOWS = 8,
    THIN_FROM_LINES = 120,
};

static double clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

static void draw_label(FILE *file, const struct tool_line *line, double x, double y)
{
    char text[64];

    if (line->count > 1)
        snprintf(text, sizeof text, "%u x %.4g", line->count, line->bytes_per_s / 1e9);
    else
        snprintf(text, sizeof text, "%.4g", line->bytes_per_s / 1e9);
    tool_svg_text(file, x, y, 9, "middle", text);
}

/* Where on the long edge of a wide box a line to something at x ends: below it, or as far along the edge as
 * x is along the picture. */
static double land(const struct tool_picture *picture, const struct tool_item *wide, double x)
{
    double low = wide->x + 6, high = wide->x + wide->w - 6;

    return x >= low && x <= high ? x : low + (high - low) * clamp(x / picture->width, 0, 1);
}

/* Boxes of one row: a bow over them; between sockets, which have their own row to themselves, straight. */
static void draw_bow(FILE *file, const struct tool_item *a, const struct tool_item *b,
                     const struct tool_line *line, struct tool_svg_style style, bool labelled)
{
    double ax = a->x + a->w / 2, bx = b->x + b->w / 2, up = tool_picture_bow(a, b);

    if (a->row == 0) {
        tool_svg_line(file, ax, a->y + a->h / 2, bx, b->y + b->h / 2, style);
        up = -a->h / 2;
    } else {
        tool_svg_arc(file, ax + (bx > ax ? 6 : -6), a->y, bx - (bx > ax ? 6 : -6), b->y, up, style);
    }
    if (labelled)
        draw_label(file, line, (ax + bx) / 2, a->y - up - 3);
}

static struct tool_svg_style style_of(const struct tool_picture *picture, const struct tool_line *line,
                                      size_t kind)
{
    double width = picture->n_lines < THIN_FROM_LINES ? tool_line_width(line->bytes_per_s) : 0.5;

    return (struct tool_svg_style){NULL, tool_line_colour(kind), width, line->forwards != line->backwards};
}

static void draw_line(const struct tool_picture *picture, FILE *file, const struct tool_line *line,
                      size_t kind, bool labelled)
{
    const struct tool_item *a = &picture->items[line->a], *b = &picture->items[line->b];
    const struct tool_item *above = a->row > b->row ? a : b, *below = a->row > b->row ? b : a;
    const struct tool_svg_style style = style_of(picture, line, kind);
    double above_x = above->x + above->w / 2, below_x = below->x + below->w / 2;

    if (above->w > below->w + 20)
        above_x = land(picture, above, below_x);
    else if (below->w > above->w + 20)
        below_x = land(picture, below, above_x);
    tool_svg_line(file, above_x, above->y + above->h, below_x, below->y, style);
    if (labelled)
        draw_label(file, line, (above_x + below_x) / 2 + 3, (above->y + above->h + below->y) / 2 + 3);
}

/* Bandwidths stand at the lines where there are few of them; where cables are many they are counted. */
static void draw_lines(const struct tool_picture *picture, FILE *file, const struct tool_line *const *kinds,
                       size_t n_kinds)
{
    size_t n_bows = 0, n_straight = 0;

    for (size_t i = 0; i < picture->n_lines; i++)
        *(picture->items[picture->lines[i].a].row == picture->items[picture->lines[i].b].row ? &n_bows
                                                                                             : &n_straight) +=
            1;
    for (size_t i = 0; i < picture->n_lines; i++) {
        const struct tool_line *line = &picture->lines[i];
        const struct tool_item *a = &picture->items[line->a], *b = &picture->items[line->b];
        size_t kind = tool_line_kind(line, kinds, n_kinds);
        if (a->row == b->row)
            draw_bow(file, a, b, line, style_of(picture, line, kind), n_bows <= LABELLED_BOWS);
        else
            draw_line(picture, file, line, kind,
                      n_straight <= LABELLED_LINES && (line->count > 1 || n_straight <= LABELLED_LINES / 2));
    }
}

static void draw_frames(const struct tool_picture *picture, FILE *file)
{
    const struct tool_svg_style style = {"#f4f6f8", "#b8c0c8", 1, false};

    for (uint32_t node = 1; node <= picture->n_nodes; node++) {
        double x1 = 1e30, y1 = 1e30, x2 = 0, y2 = 0, arcs = 0;
        const char *name = NULL;
        for (size_t i = 0; i < picture->n_items; i++) {
            const struct tool_item *item = &picture->items[i];
            if (item->node != node)
                continue;
            x1 = fmin(x1, item->x);
            y1 = fmin(y1, item->y);
            x2 = fmax(x2, item->x + item->w);
            y2 = fmax(y2, item->y + item->h);
            arcs = item->row == 2 && y1 >= item->y ? tool_picture_bow_room(picture, 2) : arcs;
        }
        if (x2 <= 0)
            continue;
        for (size_t v = 0; v < picture->topology->n_vertices && !name; v++)
            name = picture->topology->vertices[v].node == node ? picture->topology->vertices[v].name : NULL;
        char label[80];
        snprintf(label, sizeof label, "%.*s", (int)strcspn(name ? name : "", "."), name ? name : "");
        tool_svg_box(file, x1 - TOOL_PICTURE_FRAME, y1 - TOOL_PICTURE_FRAME - arcs * 0.9,
                     x2 - x1 + 2 * TOOL_PICTURE_FRAME, y2 - y1 + 2 * TOOL_PICTURE_FRAME + arcs * 0.9 + 10,
                     style);
        tool_svg_text(file, x1 - TOOL_PICTURE_FRAME + 6, y2 + TOOL_PICTURE_FRAME + 4, 11, "start", label);
    }
}

static void draw_item(FILE *file, const struct tool_item *item)
{
    static const char *const fills[] = {
        [TOOL_ITEM_DEVICE] = "#cfe8d5", [TOOL_ITEM_NODE] = "#dfe9f5", [TOOL_ITEM_SWITCH] = "#fde3c8",
        [TOOL_ITEM_NIC] = "#e6dff2",    [TOOL_ITEM_MORE] = "#ffffff",
    };
    const struct tool_svg_style style = {fills[item->kind], item->kind == TOOL_ITEM_MORE ? "#aaa" : "#444", 1,
                                         item->kind == TOOL_ITEM_MORE};
    double middle = item->x + item->w / 2, y = item->y + item->h / 2 + 4;
    double size = strlen(item->label) > 11 ? 8 : 11;

    tool_svg_box(file, item->x, item->y, item->w, item->h, style);
    tool_svg_text(file, middle, item->detail[0] ? y - 7 : y, size, "middle", item->label);
    if (item->detail[0])
        tool_svg_text(file, middle, y + 8, 9, "middle", item->detail);
}

enum ring_status tool_draw_topology(const struct model_topology *topology, FILE *file,
                                    struct ring_error *error)
{
    const struct tool_line *kinds[TOOL_MOST_KINDS];
    struct tool_picture picture;

    if (topology->grid[0] > 0)
        return tool_draw_grid(topology, file, error);
    enum ring_status status = tool_picture_init(&picture, topology, error);
    if (status != RING_OK)
        return status;
    tool_picture_place(&picture);
    size_t n_kinds = tool_line_kinds(picture.lines, picture.n_lines, kinds);
    double legend = picture.height + 12;
    tool_svg_begin(file, picture.width, legend + 20 * (double)n_kinds + 16);
    tool_draw_title(file, topology);
    draw_frames(&picture, file);
    draw_lines(&picture, file, kinds, n_kinds);
    for (size_t i = 0; i < picture.n_items; i++)
        draw_item(file, &picture.items[i]);
    tool_draw_legend(file, kinds, n_kinds, legend);
    tool_svg_end(file);
    tool_picture_fini(&picture);
    return RING_OK;
}
