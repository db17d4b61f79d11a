/* SPDX-License-Identifier: MIT
 *
 * The matrix of `nvidia-smi topo -m`:
 *
 *           GPU0  GPU1  NIC0  CPU Affinity ...
 *     GPU0   X    NV2   PIX   0-19
 *     GPU1  NV2    X    SYS   20-39
 *     NIC0  PIX   SYS    X
 *
 * NVn: n NVLinks. PIX, PXB: PCIe switches only. PHB, NODE: the same socket. SYS: another socket. Columns are
 * told by their heads, so that the affinity columns, which come after them, do not matter. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tools/import.h"

enum { LONGEST = 48, MOST = 2 * TOOL_MOST_PARTS };

/* How near two parts are; the smaller the nearer. */
enum nearness { SAME, NVLINK, ONE_SWITCH, ONE_SOCKET, APART };

struct matrix {
    char names[MOST][LONGEST]; /* of the columns, and so of the rows */
    uint32_t n;
    bool row_there[MOST];
    enum nearness near[MOST][MOST];
    uint32_t nvlinks[MOST][MOST];
    char cores[MOST][LONGEST]; /* the first word after a row: its CPU affinity */
};

/* The next word of a line, without the colours that a terminal would show; false at the line's end. */
static bool next_word(const char **at, char *word)
{
    size_t n = 0;

    for (;;) {
        while (**at == ' ' || **at == '\t' || **at == '\r')
            ++*at;
        if (**at != '\033')
            break;
        while (**at && **at != '\n' && **at != 'm')
            ++*at;
        *at += **at == 'm';
    }
    while (**at && **at != '\n' && **at != '\033' && !isspace((unsigned char)**at)) {
        if (n + 1 < LONGEST)
            word[n++] = **at;
        ++*at;
    }
    word[n] = '\0';
    return n > 0;
}

static bool is_gpu(const char *name)
{
    return strncmp(name, "GPU", 3) == 0 && isdigit((unsigned char)name[3]);
}

static bool is_part(const char *name)
{
    return is_gpu(name) || strncmp(name, "NIC", 3) == 0 || strncmp(name, "mlx", 3) == 0 ||
           strncmp(name, "ib", 2) == 0 || strncmp(name, "bnxt", 4) == 0 || strncmp(name, "hfi", 3) == 0;
}

static bool read_head(const char *line, struct matrix *matrix)
{
    char word[LONGEST];

    while (next_word(&line, word) && is_part(word) && matrix->n < MOST)
        memcpy(matrix->names[matrix->n++], word, LONGEST);
    return matrix->n > 0 && is_gpu(matrix->names[0]);
}

static bool read_cell(const char *word, enum nearness *near, uint32_t *nvlinks)
{
    static const struct {
        const char *word;
        enum nearness near;
    } words[] = {{"X", SAME},          {"PIX", ONE_SWITCH}, {"PXB", ONE_SWITCH}, {"PHB", ONE_SOCKET},
                 {"NODE", ONE_SOCKET}, {"SYS", APART},      {"SOC", APART},      {"PSB", ONE_SWITCH}};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i].word) == 0) {
            *near = words[i].near;
            return true;
        }
    if (strncmp(word, "NV", 2) != 0 || !isdigit((unsigned char)word[2]))
        return false;
    *near = NVLINK;
    *nvlinks = (uint32_t)strtoul(word + 2, NULL, 10);
    return *nvlinks >= 1 && *nvlinks <= 64;
}

static enum ring_status read_row(const char *line, uint32_t number, struct matrix *matrix,
                                 struct ring_error *error)
{
    char name[LONGEST], word[LONGEST];
    uint32_t row = 0;

    if (!next_word(&line, name))
        return RING_OK;
    while (row < matrix->n && strcmp(matrix->names[row], name) != 0)
        row++;
    if (row == matrix->n) /* the legend */
        return RING_OK;
    for (uint32_t column = 0; column < matrix->n; column++)
        if (!next_word(&line, word) ||
            !read_cell(word, &matrix->near[row][column], &matrix->nvlinks[row][column]))
            return ring_fail(
                error, RING_BAD_INPUT,
                "line %u: '%s' between %s and %s is unknown, accepted: X, NV1 ..., PIX, PXB, PHB, "
                "NODE or SYS",
                number, word, name, matrix->names[column]);
    if (next_word(&line, word) && isdigit((unsigned char)word[0]))
        memcpy(matrix->cores[row], word, LONGEST);
    matrix->row_there[row] = true;
    return RING_OK;
}

static enum ring_status read_matrix(const char *text, struct matrix *matrix, struct ring_error *error)
{
    uint32_t number = 1;
    enum ring_status status = RING_OK;

    for (const char *line = text; line && *line && status == RING_OK; number++) {
        if (matrix->n == 0)
            matrix->n = read_head(line, matrix) ? matrix->n : 0;
        else
            status = read_row(line, number, matrix, error);
        line = strchr(line, '\n');
        line += line ? 1 : 0;
    }
    if (status == RING_OK && matrix->n == 0)
        return ring_fail(error, RING_BAD_INPUT,
                         "found no line of heads (GPU0 GPU1 ...), accepted: the text of nvidia-smi topo -m");
    for (uint32_t i = 0; i < matrix->n && status == RING_OK; i++)
        if (!matrix->row_there[i])
            status = ring_fail(error, RING_BAD_INPUT, "%s has a column but no row", matrix->names[i]);
    return status;
}

static uint32_t root(const uint32_t *above, uint32_t i)
{
    while (above[i] != i)
        i = above[i];
    return i;
}

/* Parts that are at most so far apart get one group, and so do their groups; returns how many. A socket's
 * parts also know each other by their CPU affinity. */
static int group(const struct matrix *matrix, enum nearness most, int *groups)
{
    uint32_t above[MOST];
    int n = 0;

    for (uint32_t i = 0; i < matrix->n; i++) {
        above[i] = i;
        for (uint32_t j = 0; j < i; j++) {
            enum nearness near = matrix->near[i][j];
            bool same_cores = most == ONE_SOCKET && near == NVLINK && matrix->cores[i][0] &&
                              strcmp(matrix->cores[i], matrix->cores[j]) == 0;
            if (same_cores || (near != NVLINK && near <= most))
                above[root(above, i)] = root(above, j);
        }
    }
    for (uint32_t i = 0; i < matrix->n; i++)
        groups[i] = root(above, i) == i ? n++ : -1;
    for (uint32_t i = 0; i < matrix->n; i++)
        groups[i] = groups[root(above, i)];
    return n;
}

/* Two GPUs joined by NVLink do not say where they are: a NIC that is near both, or the affinity, does. Where
 * nothing does, they are taken to be on sockets of their own. */
static void place(const struct matrix *matrix, struct tool_machine *machine)
{
    int pcie[MOST], socket[MOST], size[MOST] = {0};

    machine->n_switches = group(matrix, ONE_SWITCH, pcie);
    machine->n_sockets = group(matrix, ONE_SOCKET, socket);
    for (uint32_t i = 0; i < matrix->n; i++)
        size[pcie[i]]++;
    for (uint32_t i = 0; i < matrix->n; i++) {
        machine->socket[i] = socket[i];
        machine->pcie[i] = size[pcie[i]] > 1 ? pcie[i] : -1;
    }
}

enum ring_status tool_import_smi(const char *text, struct tool_machine *machine, struct ring_error *error)
{
    struct matrix *matrix = calloc(1, sizeof *matrix);

    *machine = (struct tool_machine){.source = "nvidia-smi topo -m"};
    if (!matrix)
        return ring_fail(error, RING_NO_MEMORY, "out of memory");
    enum ring_status status = read_matrix(text, matrix, error);
    for (uint32_t i = 0; i < matrix->n && status == RING_OK; i++) {
        if (is_gpu(matrix->names[i]) && machine->n_nics > 0)
            status = ring_fail(error, RING_BAD_INPUT, "%s stands after a NIC, accepted: GPUs first",
                               matrix->names[i]);
        else if (is_gpu(matrix->names[i]))
            machine->n_devices++;
        else if (machine->n_nics < TOOL_MOST_PARTS)
            memcpy(machine->nic_names[machine->n_nics++], matrix->names[i], LONGEST);
        if (machine->n_devices > TOOL_MOST_PARTS)
            status = ring_fail(error, RING_BAD_INPUT, "too many GPUs, accepted: %d", TOOL_MOST_PARTS);
    }
    for (uint32_t i = 0; i < machine->n_devices && status == RING_OK; i++)
        for (uint32_t j = 0; j < machine->n_devices; j++)
            machine->nvlinks[i][j] = matrix->nvlinks[i][j];
    if (status == RING_OK)
        place(matrix, machine);
    free(matrix);
    return status;
}
