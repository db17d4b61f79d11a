/* SPDX-License-Identifier: MIT
 *
 * A topology as boxes and lines: what is drawn (topology_items.c), where (topology_layout.c, drawn by
 * topology_draw.c, for clusters of switches; topology_grid.c for tori), and how (topology_svg.c). Large
 * clusters are drawn with one box a node, and with the first boxes of a long row. */
#ifndef TOOL_TOPOLOGY_PICTURE_H
#define TOOL_TOPOLOGY_PICTURE_H

#include <stdio.h>

#include "models/topology.h"

enum { TOOL_NO_ITEM = UINT32_MAX };

/* A box. Rows count from below: sockets, switches inside nodes, devices, NICs, then the fabric. */
struct tool_item {
    char label[72], detail[72];
    uint32_t row;
    uint32_t node;   /* from 1; 0: outside */
    uint32_t parent; /* the item below that it hangs on, or TOOL_NO_ITEM */
    enum tool_item_kind {
        TOOL_ITEM_DEVICE,
        TOOL_ITEM_NODE,
        TOOL_ITEM_SWITCH,
        TOOL_ITEM_NIC,
        TOOL_ITEM_MORE
    } kind;
    double x, y, w, h; /* upper left corner */
};

/* All cables of one kind between two boxes. */
struct tool_line {
    uint32_t a, b; /* items, a < b */
    const char *type;
    double bytes_per_s, latency_s; /* of one, one way */
    double both_bytes_per_s;       /* 0: no common limit */
    uint32_t count;
    uint32_t forwards, backwards; /* how many lead from a to b, and back */
};

struct tool_picture {
    const struct model_topology *topology;
    struct tool_item *items;
    size_t n_items;
    struct tool_line *lines;
    size_t n_lines;
    uint32_t *item_of_vertex; /* [n_vertices], or TOOL_NO_ITEM */
    uint32_t n_nodes;         /* as boxes round items; 0 where a node is an item */
    double width, height;
};

/* Items and lines without places. RING_NO_MEMORY. */
enum ring_status tool_picture_init(struct tool_picture *picture, const struct model_topology *topology,
                                   struct ring_error *error);
void tool_picture_fini(struct tool_picture *picture);

/* Puts every item in its place, with room for frames round nodes. */
enum { TOOL_PICTURE_FRAME = 14 }; /* its distance */
void tool_picture_place(struct tool_picture *picture);

/* How high a bow between two boxes of one row rises, and the room above a row for all of them. */
double tool_picture_bow(const struct tool_item *a, const struct tool_item *b);
double tool_picture_bow_room(const struct tool_picture *picture, uint32_t row);

/* Both write a whole SVG document. RING_NO_MEMORY, RING_IO. */
enum ring_status tool_draw_topology(const struct model_topology *topology, FILE *file,
                                    struct ring_error *error);
enum ring_status tool_draw_grid(const struct model_topology *topology, FILE *file, struct ring_error *error);

/* Pieces of SVG; text is escaped. */
struct tool_svg_style {
    const char *fill, *stroke;
    double width;
    bool dashed;
};
void tool_svg_begin(FILE *file, double width, double height);
void tool_svg_end(FILE *file);
void tool_svg_box(FILE *file, double x, double y, double w, double h, struct tool_svg_style style);
void tool_svg_line(FILE *file, double x1, double y1, double x2, double y2, struct tool_svg_style style);
/* A curve that rises by `up` (or sinks, if negative) between its ends. */
void tool_svg_arc(FILE *file, double x1, double y1, double x2, double y2, double up,
                  struct tool_svg_style style);
/* anchor: "start", "middle" or "end". */
void tool_svg_text(FILE *file, double x, double y, double size, const char *anchor, const char *text);

/* "nvlink, 358 GB/s, 3.8 us" */
void tool_line_text(const struct tool_line *line, char *text, size_t size);
/* Colour of the i-th kind of link, and how thick a bandwidth is drawn. */
const char *tool_line_colour(size_t index);
double tool_line_width(double bytes_per_s);
/* Title and size of the topology above the picture. */
void tool_draw_title(FILE *file, const struct model_topology *topology);
/* The kinds of links below the picture, from y on; indices says which line is of which kind. */
enum { TOOL_MOST_KINDS = 16 };
size_t tool_line_kinds(const struct tool_line *lines, size_t n_lines, const struct tool_line **kinds);
size_t tool_line_kind(const struct tool_line *line, const struct tool_line *const *kinds, size_t n_kinds);
void tool_draw_legend(FILE *file, const struct tool_line *const *kinds, size_t n_kinds, double y);

#endif
