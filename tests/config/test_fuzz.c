/* SPDX-License-Identifier: MIT
 *
 * Files damaged at random, thousands of them and always the same: each either loads or is answered with one
 * line that names a file. Worth most under ASan. */
#include <ctype.h>

#include "tests/config/support.h"

enum { N_ROUNDS = 6000, ROOM = 1 << 16 };

static uint64_t random_state = 20250101;

static size_t below(size_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return n ? (size_t)(random_state >> 33) % n : 0;
}

/* Pieces that mean something here, or to YAML, or to a careless reader. */
static const char *const pieces[] = {
    "&x ",
    "*x",
    "<<: *x\n",
    "- ",
    ": ",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\"",
    "'",
    "#",
    "|\n",
    ">-\n",
    "!tag ",
    "---\n",
    "...\n",
    "? ",
    "%YAML 1.1\n",
    "\t",
    "\n",
    "\r\n",
    "  ",
    "~",
    "null",
    "yes",
    "0",
    "-1",
    "1e999",
    "0x7f",
    "nan",
    ".inf",
    "18446744073709551616",
    "4294967297",
    " GB/s",
    " us",
    " foo",
    "%s%n",
    "\xff",
    "\xc3",
    "\xe2\x80\xa8",
    "\\",
    "\\x00",
    "topology:\n",
    "device:\n",
    "cluster: nodes.yaml\n",
    "tokens: 0\n",
    "placement: [node0.gpu0]\n",
    "count: 16384\n",
    "nodes.yaml",
    "graph.yaml",
    "gpu.yaml",
    "../",
    "/dev/zero",
    "..",
    " -> ",
    "g1 -> s0",
    "pairs: [[0, 1]]",
    "tree: [[0]]",
    "bind: [0]",
    "fabric: rails\n",
    "kind: mesh",
    "nic0",
    "4:1",
    "routers: 4096",
    "spines: 4096",
};

static size_t insert(char *text, size_t n, size_t at, const char *piece, size_t length)
{
    if (n + length >= ROOM)
        return n;
    memmove(text + at + length, text + at, n - at);
    memcpy(text + at, piece, length);
    return n + length;
}

static size_t damage(char *text, size_t n)
{
    char copy[256];
    size_t at = below(n + 1), length = below(40) + 1;

    length = at + length > n ? n - at : length;
    switch (below(6)) {
    case 0: /* a bit */
        if (at < n)
            text[at] = (char)(text[at] ^ (1 << below(8)));
        return n;
    case 1: /* something goes */
        memmove(text + at, text + at + length, n - at - length);
        return n - length;
    case 2: /* something comes twice */
        memcpy(copy, text + at, length);
        return insert(text, n, below(n + 1), copy, length);
    case 3: /* a number changes */
        while (at < n && !isdigit((unsigned char)text[at]))
            at++;
        if (at < n)
            text[at] = (char)('0' + below(10));
        return n;
    default: {
        const char *piece = pieces[below(sizeof pieces / sizeof pieces[0])];
        return insert(text, n, at, piece, strlen(piece));
    }
    }
}

static size_t read_file(const char *path, char *text)
{
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    size_t n = fread(text, 1, ROOM / 2, file);
    fclose(file);
    return n;
}

static void one_line(const struct ring_error *error, const char *about)
{
    if (!error->text[0] || strchr(error->text, '\n') || !strstr(error->text, about))
        fail_msg("round answered by: %s", error->text);
}

static void damaged_files_load_or_are_answered_with_one_line(void **state)
{
    static const char *const names[] = {"gpu.yaml",     "nodes.yaml",    "graph.yaml", "full.yaml",
                                        "minimal.yaml", "machines.yaml", "fly.yaml",   "torus.yaml"};
    enum { N_FILES = sizeof names / sizeof names[0] };
    static char texts[N_FILES][ROOM], text[ROOM];
    size_t sizes[N_FILES], n_loaded = 0;

    (void)state;
    for (size_t i = 0; i < N_FILES; i++) {
        char path[64];
        snprintf(path, sizeof path, FILES "%s", names[i]);
        sizes[i] = read_file(path, texts[i]);
        test_file(names[i], texts[i], sizes[i]);
    }
    for (int round = 0; round < N_ROUNDS; round++) {
        size_t which = below(N_FILES), n = sizes[which];
        memcpy(text, texts[which], n);
        for (size_t i = below(4); i < 4; i++)
            n = damage(text, n);
        struct config_summary summary = {.text = ""};
        struct ring_error error = {""};
        const char *path = test_file("damaged.yaml", text, n);
        enum ring_status status = config_check(path, &summary, &error);
        if (status == RING_OK)
            n_loaded++;
        else
            one_line(&error, test_folder());
        assert_true(status == RING_OK || status == RING_BAD_INPUT || status == RING_IO);
    }
    /* neither harmless nor hopeless, or it would test little */
    assert_in_range(n_loaded, N_ROUNDS / 20, N_ROUNDS * 19 / 20);
}

static void damaged_overrides_load_or_are_answered_with_one_line(void **state)
{
    static const char *const items[] = {"ring.devices=4", "problem={tokens: 2048, heads: 8}",
                                        "compute.block=40 ms", "ring.placement=[g1, g2, g10]",
                                        "cluster=" FILES "graph.yaml"};
    static char text[ROOM];

    (void)state;
    for (int round = 0; round < N_ROUNDS / 3; round++) {
        const char *item = items[below(5)];
        size_t n = strlen(item);
        memcpy(text, item, n);
        for (size_t i = below(3); i < 3; i++)
            n = damage(text, n);
        text[n] = 0;
        const char *one[] = {text};
        struct config_overrides overrides = {one, 1};
        struct config_scenario *scenario;
        struct ring_error error = {""};
        enum ring_status status = config_scenario_load(FILES "full.yaml", &overrides, &scenario, &error);
        assert_true((status == RING_OK) == (scenario != NULL));
        if (status != RING_OK)
            one_line(&error, ":");
        config_scenario_free(scenario);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_files_load_or_are_answered_with_one_line),
        cmocka_unit_test(damaged_overrides_load_or_are_answered_with_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, test_remove_folder);
}
