/* SPDX-License-Identifier: MIT
 *
 * Where things stand in pictures of clusters whose nodes meet in switches: nodes side by side, in each the
 * devices with their switch or PCIe tree below and their NICs above, over them the levels of the fabric. */
#include <math.h>

#include "tools/topology_picture.h"

enum {
    MARGIN = 24,
    TOP = 70,
    BOX_W = 74,
    BOX_H = 30,
    NODE_H = 40,
    GAP = 12,
    ROW_GAP = 46,
    MOST_ROWS = 70,
    HIGHEST_BOW = 90,
};

struct grid {
    double row_y[MOST_ROWS]; /* upper edge */
    bool used[MOST_ROWS];
};

static bool inside(const struct tool_item *item)
{
    return item->row <= 3 && item->kind != TOOL_ITEM_NODE && item->kind != TOOL_ITEM_MORE &&
           !(item->node == 0 && item->kind == TOOL_ITEM_SWITCH);
}

/* How many items of a row a frame (or, frame UINT32_MAX, the world outside frames) has. */
static size_t count_row(const struct tool_picture *picture, uint32_t frame, uint32_t row)
{
    size_t n = 0;

    for (size_t i = 0; i < picture->n_items; i++) {
        const struct tool_item *item = &picture->items[i];
        n += item->row == row && (inside(item) ? item->node : UINT32_MAX) == frame;
    }
    return n;
}

/* Spreads a row of n items evenly over a width, those that hang on one parent together. */
static void spread(struct tool_picture *picture, uint32_t frame, uint32_t row, double x, double width)
{
    size_t n = count_row(picture, frame, row), placed = 0;

    for (uint32_t parent = 0; parent <= picture->n_items && n > 0; parent++)
        for (size_t i = 0; i < picture->n_items; i++) {
            struct tool_item *item = &picture->items[i];
            uint32_t order = item->parent == TOOL_NO_ITEM ? (uint32_t)picture->n_items : item->parent;
            if (item->row != row || (inside(item) ? item->node : UINT32_MAX) != frame || order != parent)
                continue;
            double cell = width / (double)n, w = item->kind == TOOL_ITEM_NODE ? BOX_W + 22 : BOX_W;
            if (item->kind == TOOL_ITEM_SWITCH && n <= 4)
                w = fmax(w, cell * (n == 1 ? 0.98 : 0.86));
            item->w = fmin(w, cell - 4);
            item->x = x + cell * ((double)placed + 0.5) - item->w / 2;
            placed++;
        }
}

static double frame_width(const struct tool_picture *picture, uint32_t frame)
{
    size_t most = 1;

    for (uint32_t row = 0; row <= 3; row++) {
        size_t n = count_row(picture, frame, row);
        most = n > most ? n : most;
    }
    return (double)most * (BOX_W + GAP);
}

double tool_picture_bow(const struct tool_item *a, const struct tool_item *b)
{
    return fmin(14 + fabs(a->x - b->x) * 0.14, HIGHEST_BOW);
}

double tool_picture_bow_room(const struct tool_picture *picture, uint32_t row)
{
    double most = 0;

    for (size_t i = 0; i < picture->n_lines; i++) {
        const struct tool_item *a = &picture->items[picture->lines[i].a];
        const struct tool_item *b = &picture->items[picture->lines[i].b];
        if (a->row == row && b->row == row && row > 0)
            most = fmax(most, tool_picture_bow(a, b));
    }
    return most;
}

static void place_columns(struct tool_picture *picture)
{
    double x = MARGIN, total = 0;

    for (uint32_t frame = 0; frame <= picture->n_nodes; frame++) {
        bool any = false;
        for (uint32_t row = 0; row <= 3; row++)
            any = any || count_row(picture, frame, row) > 0;
        if (!any)
            continue;
        double width = frame_width(picture, frame);
        for (uint32_t row = 0; row <= 3; row++)
            spread(picture, frame, row, x + TOOL_PICTURE_FRAME, width);
        x += width + 2 * TOOL_PICTURE_FRAME + GAP;
    }
    total = x - MARGIN;
    for (uint32_t row = 0; row < MOST_ROWS; row++) {
        size_t n = count_row(picture, UINT32_MAX, row);
        total = fmax(total, (double)n * (BOX_W + 22 + GAP));
    }
    total = fmax(total, 560);
    for (uint32_t row = 0; row < MOST_ROWS; row++)
        spread(picture, UINT32_MAX, row, MARGIN, total);
    picture->width = total + 2 * MARGIN;
}

void tool_picture_place(struct tool_picture *picture)
{
    struct grid grid = {.used = {false}};
    double y = TOP;

    place_columns(picture);
    for (size_t i = 0; i < picture->n_items; i++)
        grid.used[picture->items[i].row < MOST_ROWS ? picture->items[i].row : MOST_ROWS - 1] = true;
    for (uint32_t row = MOST_ROWS; row-- > 0;) {
        if (!grid.used[row])
            continue;
        y += tool_picture_bow_room(picture, row);
        grid.row_y[row] = y;
        y += NODE_H + ROW_GAP;
    }
    for (size_t i = 0; i < picture->n_items; i++) {
        struct tool_item *item = &picture->items[i];
        item->h = item->kind == TOOL_ITEM_NODE ? NODE_H : BOX_H;
        item->y = grid.row_y[item->row < MOST_ROWS ? item->row : MOST_ROWS - 1];
    }
    picture->height = y;
}
