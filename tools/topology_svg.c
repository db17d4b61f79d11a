/* SPDX-License-Identifier: MIT
 *
 * The few shapes that pictures of topologies are made of, as SVG, and what all of them share: title, colours,
 * legend. */
#include <math.h>
#include <string.h>

#include "tools/topology_picture.h"

enum { MARGIN = 24 };

void tool_svg_begin(FILE *file, double width, double height)
{
    fprintf(
        file,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\""
        " font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
        width, height, width, height);
}

void tool_svg_end(FILE *file)
{
    fputs("</svg>\n", file);
}

static void write_style(FILE *file, struct tool_svg_style style)
{
    fprintf(file, " fill=\"%s\" stroke=\"%s\" stroke-width=\"%.1f\"%s/>\n", style.fill ? style.fill : "none",
            style.stroke ? style.stroke : "none", style.width,
            style.dashed ? " stroke-dasharray=\"5 3\"" : "");
}

void tool_svg_box(FILE *file, double x, double y, double w, double h, struct tool_svg_style style)
{
    fprintf(file, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\"", x, y, w, h);
    write_style(file, style);
}

void tool_svg_line(FILE *file, double x1, double y1, double x2, double y2, struct tool_svg_style style)
{
    fprintf(file, "<path d=\"M%.1f %.1fL%.1f %.1f\"", x1, y1, x2, y2);
    write_style(file, style);
}

void tool_svg_arc(FILE *file, double x1, double y1, double x2, double y2, double up,
                  struct tool_svg_style style)
{
    fprintf(file, "<path d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"", x1, y1, x1, y1 - up * 4 / 3, x2,
            y2 - up * 4 / 3, x2, y2);
    write_style(file, style);
}

void tool_svg_text(FILE *file, double x, double y, double size, const char *anchor, const char *text)
{
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\" text-anchor=\"%s\" fill=\"#222\">", x, y,
            size, anchor);
    for (; *text; text++) {
        const char *entity = *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : *text == '&' ? "&amp;" : NULL;
        if (entity)
            fputs(entity, file);
        else
            fputc(*text, file);
    }
    fputs("</text>\n", file);
}

const char *tool_line_colour(size_t index)
{
    static const char *const colours[] = {"#1b9e77", "#d95f02", "#7570b3", "#e7298a",
                                          "#66a61e", "#e6ab02", "#a6761d", "#666666"};

    return colours[index % (sizeof colours / sizeof colours[0])];
}

double tool_line_width(double bytes_per_s)
{
    /* 1 for 1 GB/s and less, twice as wide where the bandwidth is some twenty times as much */
    double width = 1 + 0.75 * log10(fmax(bytes_per_s / 1e9, 1));

    return fmin(width, 4);
}

void tool_line_text(const struct tool_line *line, char *text, size_t size)
{
    char both[48] = "", latency[48] = "";

    if (line->both_bytes_per_s > 0)
        snprintf(both, sizeof both, ", %.4g GB/s both ways together", line->both_bytes_per_s / 1e9);
    if (line->latency_s > 0)
        snprintf(latency, sizeof latency, ", %.3g us", line->latency_s * 1e6);
    snprintf(text, size, "%s: %.4g GB/s one way%s%s", line->type ? line->type : "link",
             line->bytes_per_s / 1e9, both, latency);
}

void tool_draw_title(FILE *file, const struct model_topology *topology)
{
    struct model_topology_size size;
    char text[256];

    tool_svg_text(file, MARGIN, 30, 18, "start", topology->name ? topology->name : "topology");
    if (model_topology_measure(topology, &size, NULL) != RING_OK)
        return;
    snprintf(text, sizeof text,
             "%zu device%s, %zu switch%s, %zu NIC%s; bisection %.4g GB/s one way; diameter %u link%s",
             topology->n_devices, topology->n_devices == 1 ? "" : "s", size.n_switches,
             size.n_switches == 1 ? "" : "es", size.n_nics, size.n_nics == 1 ? "" : "s",
             size.bisection_bytes_per_s / 1e9, size.diameter, size.diameter == 1 ? "" : "s");
    tool_svg_text(file, MARGIN, 50, 12, "start", text);
}

static bool same_kind(const struct tool_line *a, const struct tool_line *b)
{
    return !(a->bytes_per_s < b->bytes_per_s) && !(a->bytes_per_s > b->bytes_per_s) &&
           strcmp(a->type ? a->type : "", b->type ? b->type : "") == 0;
}

size_t tool_line_kind(const struct tool_line *line, const struct tool_line *const *kinds, size_t n_kinds)
{
    size_t i = 0;

    while (i < n_kinds && !same_kind(kinds[i], line))
        i++;
    return i;
}

size_t tool_line_kinds(const struct tool_line *lines, size_t n_lines, const struct tool_line **kinds)
{
    size_t n = 0;

    for (size_t i = 0; i < n_lines && n < TOOL_MOST_KINDS; i++)
        if (tool_line_kind(&lines[i], kinds, n) == n)
            kinds[n++] = &lines[i];
    return n;
}

void tool_draw_legend(FILE *file, const struct tool_line *const *kinds, size_t n_kinds, double y)
{
    for (size_t i = 0; i < n_kinds; i++, y += 20) {
        char text[192];
        tool_line_text(kinds[i], text, sizeof text);
        tool_svg_line(file, MARGIN, y, MARGIN + 36, y,
                      (struct tool_svg_style){NULL, tool_line_colour(i),
                                              tool_line_width(kinds[i]->bytes_per_s) + 0.5, false});
        tool_svg_text(file, MARGIN + 46, y + 4, 12, "start", text);
    }
}
