/* SPDX-License-Identifier: MIT
 *
 * Tables and wrapped text, letter by letter. */
#include "tools/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_all.h"
#include "tools/report.h"

/* What a table prints, freed by the caller. */
static char *printed(const struct tool_table *table)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    assert_int_equal(tool_table_print(table, 1, file), RING_OK);
    fclose(file);
    return text;
}

static void numbers_go_right_and_words_go_left(void **state)
{
    (void)state;
    static const char *const headers[] = {"<name", "time ms"};
    struct tool_table table;
    tool_table_init(&table, 2, headers);
    tool_table_cell(&table, "%s", "a");
    tool_table_cell(&table, "%.1f", 1.5);
    tool_table_cell(&table, "%s", "longer");
    tool_table_cell(&table, "%.1f", 12345678.9);
    char *text = printed(&table);
    assert_string_equal(text, " name       time ms\n"
                              " a              1.5\n"
                              " longer  12345678.9\n");
    free(text);
    tool_table_fini(&table);
}

static void characters_are_counted_not_bytes(void **state)
{
    (void)state;
    static const char *const headers[] = {"<n", "v"};
    struct tool_table table;
    tool_table_init(&table, 2, headers);
    tool_table_cell(&table, "%s", "\xc3\xa4\xc3\xb6"); /* two letters of two bytes */
    tool_table_cell(&table, "1");
    char *text = printed(&table);
    assert_string_equal(text, " n   v\n \xc3\xa4\xc3\xb6  1\n");
    free(text);
    tool_table_fini(&table);
}

static void no_cell_can_drive_a_terminal(void **state)
{
    (void)state;
    static const char *const headers[] = {"<n"};
    struct tool_table table;
    tool_table_init(&table, 1, headers);
    tool_table_cell(&table, "%s", "\033[2Jx\ny");
    char *text = printed(&table);
    assert_string_equal(text, " n\n ?[2Jx?y\n");
    free(text);
    tool_table_fini(&table);
}

static void a_row_that_is_not_full_ends_with_its_last_cell(void **state)
{
    (void)state;
    static const char *const headers[] = {"a", "b"};
    struct tool_table table;
    tool_table_init(&table, 2, headers);
    tool_table_cell(&table, "7");
    char *text = printed(&table);
    assert_string_equal(text, " a  b\n 7\n");
    free(text);
    tool_table_fini(&table);
}

static void long_text_is_broken_at_blanks(void **state)
{
    (void)state;
    char words[400] = "", *text = NULL;
    size_t size = 0;
    for (int i = 0; i < 60; i++)
        strcat(words, i == 0 ? "word" : " word");
    FILE *file = open_memstream(&text, &size);
    tool_report_wrapped(words, 2, file);
    fclose(file);
    size_t n_words = 0, width = 0;
    for (const char *at = text; *at != '\0'; at++) {
        width = *at == '\n' ? 0 : width + 1;
        assert_true(width <= 100);
        n_words += strncmp(at, "word", 4) == 0;
    }
    assert_int_equal(n_words, 60);
    assert_int_equal(text[size - 1], '\n');
    free(text);
}

static void a_word_longer_than_a_line_ends_too(void **state)
{
    (void)state;
    char word[301], *text = NULL;
    size_t size = 0;
    memset(word, 'x', 300);
    word[300] = '\0';
    FILE *file = open_memstream(&text, &size);
    tool_report_wrapped(word, 2, file);
    fclose(file);
    size_t n = 0;
    for (size_t i = 0; i < size; i++)
        n += text[i] == 'x';
    assert_int_equal(n, 300);
    free(text);
}

static void a_file_is_no_terminal(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    assert_string_equal(tool_style_for(file).bold, "");
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_go_right_and_words_go_left),
        cmocka_unit_test(characters_are_counted_not_bytes),
        cmocka_unit_test(no_cell_can_drive_a_terminal),
        cmocka_unit_test(a_row_that_is_not_full_ends_with_its_last_cell),
        cmocka_unit_test(long_text_is_broken_at_blanks),
        cmocka_unit_test(a_word_longer_than_a_line_ends_too),
        cmocka_unit_test(a_file_is_no_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
