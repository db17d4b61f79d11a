/* SPDX-License-Identifier: MIT
 *
 * YAML as a tree: places, aliases, merges, and text that was made to hurt. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/config/support.h"

static const struct config_source source = {"test.yaml", "", true};

/* Parses with a fresh reader, which the caller closes. */
static const struct config_node *parse(struct config_reader *reader, struct ring_error *error,
                                       const char *text)
{
    assert_int_equal(config_reader_open(reader, error), RING_OK);
    return config_tree_parse(reader, &source, text, strlen(text));
}

static void at(const struct config_node *node, uint32_t line, uint32_t column)
{
    assert_int_equal(node->mark.line, line);
    assert_int_equal(node->mark.column, column);
}

static void every_key_and_value_knows_its_line_and_column(void **state)
{
    struct config_reader reader;
    struct ring_error error = {""};

    (void)state;
    const struct config_node *root = parse(&reader, &error,
                                           "# a comment\n"
                                           "problem: {tokens: 1024,\n"
                                           "          heads: 8}\n"
                                           "list:\n"
                                           "  - \xc3\xa9: one\n" /* a letter of two bytes is one column */
                                           "  - 'two'\n");
    assert_non_null(root);
    assert_int_equal(root->n, 2);
    at(root->entries[0].key, 2, 1);
    const struct config_node *problem = root->entries[0].value;
    at(problem, 2, 10);
    at(problem->entries[0].key, 2, 11);
    at(problem->entries[0].value, 2, 19);
    at(problem->entries[1].key, 3, 11);
    at(problem->entries[1].value, 3, 18);
    const struct config_node *list = config_find(root, "list")->value;
    at(list->items[0], 5, 5);
    at(list->items[0]->entries[0].value, 5, 8);
    at(list->items[1], 6, 5);
    assert_string_equal(list->items[1]->text, "two");
    assert_false(list->items[1]->plain);
    assert_null(config_find(root, "tokens"));
    assert_null(config_find(list, "tokens"));
    config_reader_close(&reader);
}

static void line_ends_of_every_system_and_a_byte_order_mark_are_read(void **state)
{
    static const char text[] = "\xef\xbb\xbf"
                               "a: 1\r\nb:\r\n  - 2\r\n";
    struct config_reader reader;
    struct ring_error error = {""};

    (void)state;
    assert_int_equal(config_reader_open(&reader, &error), RING_OK);
    const struct config_node *root =
        config_load_tree(&reader, test_file("crlf.yaml", text, sizeof text - 1), NULL);
    if (!root)
        fail_msg("%s", error.text);
    at(root->entries[0].key, 1, 1);
    at(config_find(root, "b")->value->items[0], 3, 5);
    config_reader_close(&reader);
}

static void an_alias_is_the_same_node(void **state)
{
    struct config_reader reader;
    struct ring_error error = {""};

    (void)state;
    const struct config_node *root = parse(&reader, &error, "a: &x {b: [1, 2]}\nc: *x\nd: [*x, *x]\n");
    assert_non_null(root);
    const struct config_node *x = config_find(root, "a")->value;
    assert_ptr_equal(config_find(root, "c")->value, x);
    assert_ptr_equal(config_find(root, "d")->value->items[1], x);
    /* x: the map, b, the list, 1, 2. All: x four times, the list of d, four keys' worth: a, c, d, and the
     * root */
    assert_int_equal(x->n_values, 5);
    assert_int_equal(root->n_values, 4 * 5 + 1 + 3 + 1);
    config_reader_close(&reader);
}

static void an_anchor_can_be_used_again(void **state)
{
    struct config_reader reader;
    struct ring_error error = {""};

    (void)state;
    const struct config_node *root = parse(&reader, &error, "a: &x 1\nb: *x\nc: &x 2\nd: *x\n");
    assert_non_null(root);
    assert_string_equal(config_find(root, "b")->value->text, "1");
    assert_string_equal(config_find(root, "d")->value->text, "2");
    config_reader_close(&reader);
}

static void a_merge_brings_what_is_not_there(void **state)
{
    struct config_reader reader;
    struct ring_error error = {""};

    (void)state;
    const struct config_node *root = parse(&reader, &error,
                                           "base: &base {one: 1, two: 2}\n"
                                           "more: &more {two: 22, three: 33}\n"
                                           "a: {<<: *base, two: mine}\n"
                                           "b: {<<: [*base, *more]}\n"
                                           "c: {'<<': text}\n");
    if (!root)
        fail_msg("%s", error.text);
    const struct config_node *a = config_find(root, "a")->value, *b = config_find(root, "b")->value;
    assert_int_equal(a->n, 2);
    assert_string_equal(config_find(a, "two")->value->text, "mine");
    assert_string_equal(config_find(a, "one")->value->text, "1");
    at(config_find(a, "one")->key, 1, 14);
    assert_int_equal(b->n, 3);
    assert_string_equal(config_find(b, "two")->value->text, "2"); /* the first of the list wins */
    assert_string_equal(config_find(b, "three")->value->text, "33");
    assert_int_equal(config_find(root, "c")->value->n, 1); /* in quotes it is a key like another */
    config_reader_close(&reader);
}

/* Text that tries to cost much more than its size: each is refused. */
static char *repeated(const char *before, const char *unit, size_t n, const char *after)
{
    size_t length = strlen(unit);
    char *text = malloc(strlen(before) + n * length + strlen(after) + 1);

    assert_non_null(text);
    strcpy(text, before);
    char *end = text + strlen(text);
    for (size_t i = 0; i < n; i++, end += length)
        memcpy(end, unit, length);
    strcpy(end, after);
    return text;
}

static char *laughs(void)
{
    char *text = calloc(1, 4096);

    assert_non_null(text);
    strcpy(text, "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for (int i = 1; i < 30; i++) {
        sprintf(text + strlen(text), "a%d: &a%d [", i, i);
        for (int j = 0; j < 9; j++)
            sprintf(text + strlen(text), "*a%d%s", i - 1, j < 8 ? ", " : "]\n");
    }
    return text;
}

static char *merging_laughs(void)
{
    char *text = calloc(1, 1 << 16);
    size_t n = 0;

    assert_non_null(text);
    n += (size_t)sprintf(text, "a0: &a0 {");
    for (int i = 0; i < 1000; i++)
        n += (size_t)sprintf(text + n, "k%d: 1, ", i);
    n += (size_t)sprintf(text + n, "}\n");
    for (int i = 1; i < 30; i++) {
        n += (size_t)sprintf(text + n, "a%d: &a%d {<<: [", i, i);
        for (int j = 0; j < 30; j++)
            n += (size_t)sprintf(text + n, "*a%d,", i - 1);
        n += (size_t)sprintf(text + n, "]}\n");
    }
    return text;
}

static void load_under_limits(const char *path, const char *wanted)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
#ifndef __SANITIZE_ADDRESS__ /* which reserves terabytes */
        setrlimit(RLIMIT_AS, &(struct rlimit){100 << 20, 100 << 20});
#endif
        setrlimit(RLIMIT_CPU,
                  &(struct rlimit){20, 20}); /* far from what it takes; it must not run for ever */
        struct config_summary summary;
        struct ring_error error = {""};
        enum ring_status status = config_check(path, &summary, &error);
        if (!strstr(error.text, wanted))
            print_message("%s\n", error.text);
        _exit(status == RING_BAD_INPUT && strstr(error.text, wanted) && !strchr(error.text, '\n') ? 0 : 1);
    }
    int result = -1;
    assert_int_equal(waitpid(child, &result, 0), child);
    if (!WIFEXITED(result) || WEXITSTATUS(result) != 0)
        fail_msg("%s: no '%s' within 100 MB (%s %d)", path, wanted, WIFSIGNALED(result) ? "signal" : "status",
                 WIFSIGNALED(result) ? WTERMSIG(result) : WEXITSTATUS(result));
}

static void hurts(const char *name, char *text, const char *wanted)
{
    const char *path = test_file(name, text, strlen(text));

    free(text);
    load_under_limits(path, wanted);
}

static void text_made_to_hurt_is_refused_in_little_time_and_memory(void **state)
{
    static const struct {
        const char *name, *before, *unit;
        size_t n;
        const char *after, *wanted;
    } cases[] = {
        {"brackets.yaml", "a: ", "[", 1 << 20, "", "nested too deeply"},
        {"braces.yaml", "", "{a: ", 1 << 20, "", "nested too deeply"},
        {"dashes.yaml", "", "- ", 1 << 20, "a", "nested too deeply"},
        {"values.yaml", "a: [", "x,", 2 << 20, "]", "too many values"},
        {"keys.yaml", "", "? \n", 1 << 20, "", "too many values"},
        {"quote.yaml", "a: \"", "x\n", 4 << 20, "", "not YAML"},
        {"long.yaml", "a", "x", 12 << 20, ": {}", "not YAML"}, /* a key has at most 1024 characters */
        {"text.yaml", "a: ", "x", 12 << 20, "", "unknown key"},
        {"anchors.yaml", "a: [", "&x x,", 1 << 20, "]", "too many values"},
        {"huge.yaml", "", "# 16 bytes of it\n", 1 << 20, "", "16 MiB"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        hurts(cases[i].name, repeated(cases[i].before, cases[i].unit, cases[i].n, cases[i].after),
              cases[i].wanted);
    hurts("laughs.yaml", laughs(), "too many values");
    hurts("merging-laughs.yaml", merging_laughs(), "too many values");
}

static void many_different_keys_are_compared_in_little_time(void **state)
{
    char *text = malloc(4 << 20);
    size_t n = 0;

    (void)state;
    assert_non_null(text);
    text[0] = 0;
    for (int i = 0; i < 150000; i++)
        n += (size_t)sprintf(text + n, "key%d: 1\n", i);
    hurts("many.yaml", text, "unknown key 'key0'");
}

static void a_map_of_a_hundred_keys_keeps_its_order(void **state)
{
    struct config_reader reader;
    struct ring_error error = {""};
    char text[4096], key[16];
    size_t n = 0;

    (void)state;
    for (int i = 0; i < 100; i++)
        n += (size_t)sprintf(text + n, "k%d: %d\n", (i * 37) % 100, i);
    const struct config_node *root = parse(&reader, &error, text);
    assert_non_null(root);
    assert_int_equal(root->n, 100);
    for (int i = 0; i < 100; i++) {
        sprintf(key, "k%d", (i * 37) % 100);
        assert_string_equal(root->entries[i].key->text, key);
        at(root->entries[i].key, (uint32_t)i + 1, 1);
    }
    config_reader_close(&reader);
}

static void a_name_is_found_by_its_nearest_neighbours(void **state)
{
    static const char *const words[] = {"contiguous", "zigzag", "striped", "gpu1", "gpu2"};
    static const struct {
        const char *text, *nearest;
    } cases[] = {
        {"zig-zag", "zigzag"}, {"ZigZag", "zigzag"},     {"zagzig", "zigzag"}, {"stripe", "striped"},
        {"gpu01", "gpu1"},     {"gpu3", "gpu1"},         {"GPU2", "gpu2"},     {"contigous", "contiguous"},
        {"quux", NULL},        {"something else", NULL}, {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *nearest = config_nearest_word(words, 5, cases[i].text);
        if ((nearest == NULL) != (cases[i].nearest == NULL) ||
            (nearest && strcmp(nearest, cases[i].nearest) != 0))
            fail_msg("'%s' is nearest to '%s'", cases[i].text, nearest ? nearest : "nothing");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_and_value_knows_its_line_and_column),
        cmocka_unit_test(line_ends_of_every_system_and_a_byte_order_mark_are_read),
        cmocka_unit_test(an_alias_is_the_same_node),
        cmocka_unit_test(an_anchor_can_be_used_again),
        cmocka_unit_test(a_merge_brings_what_is_not_there),
        cmocka_unit_test(text_made_to_hurt_is_refused_in_little_time_and_memory),
        cmocka_unit_test(many_different_keys_are_compared_in_little_time),
        cmocka_unit_test(a_map_of_a_hundred_keys_keeps_its_order),
        cmocka_unit_test(a_name_is_found_by_its_nearest_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, test_remove_folder);
}
