/* SPDX-License-Identifier: MIT
 *
 * The values that a file can hold - counts, quantities, words, texts, names - and whole maps of them by a
 * table of fields. */
#include "config/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/quantity.h"

static bool is_kind(struct config_reader *reader, const struct config_node *node, const char *what,
                    enum config_node_kind kind, const char *accepted)
{
    if (config_ok(reader) && node->kind != kind)
        config_fail(reader, &node->mark, "%s: found %s, accepted: %s", what, config_found(reader, node),
                    accepted);
    return config_ok(reader);
}

bool config_is_map(struct config_reader *reader, const struct config_node *node, const char *what)
{
    return is_kind(reader, node, what, CONFIG_MAP, "a map (key: value)");
}

bool config_is_list(struct config_reader *reader, const struct config_node *node, const char *what)
{
    return is_kind(reader, node, what, CONFIG_LIST, "a list");
}

bool config_is_scalar(struct config_reader *reader, const struct config_node *node, const char *what)
{
    if (config_ok(reader) && node->kind == CONFIG_SCALAR && node->plain && !node->text[0])
        config_fail(reader, &node->mark, "%s: found nothing, accepted: a single value", what);
    return is_kind(reader, node, what, CONFIG_SCALAR, "a single value");
}

uint64_t config_read_count(struct config_reader *reader, const struct config_node *node, const char *what,
                           uint64_t least, uint64_t most)
{
    if (!config_is_scalar(reader, node, what))
        return least;
    const char *text = node->text, *found = config_found(reader, node);
    const char *digits = text + (text[0] == '-' ? 1 : 0);
    errno = 0;
    uint64_t value = strtoull(digits, NULL, 10);
    bool overflow = errno == ERANGE;

    if (!digits[0] || digits[strspn(digits, "0123456789")])
        config_fail(reader, &node->mark,
                    "%s %s is not a plain whole number, accepted: %" PRIu64 " to %" PRIu64, what, found,
                    least, most);
    else if (digits[0] == '0' && digits[1])
        config_fail(reader, &node->mark,
                    "%s %s starts with 0, accepted: a decimal number (write e.g. %" PRIu64 ")", what, found,
                    value);
    else if (digits != text || overflow || value < least || value > most)
        config_fail(reader, &node->mark, "%s %s is out of range, accepted: %" PRIu64 " to %" PRIu64, what,
                    found, least, most);
    return config_ok(reader) ? value : least;
}

double config_read_quantity(struct config_reader *reader, const struct config_node *node, const char *what,
                            enum config_unit unit, bool positive)
{
    double value = 0;
    char why[256];

    if (config_is_scalar(reader, node, what) &&
        !config_quantity_parse(node->text, unit, positive, &value, why, sizeof why))
        config_fail(reader, &node->mark, "%s %s %s", what, config_found(reader, node), why);
    return value;
}

/* "a, b or c", for the end of a message. */
static const char *join(struct config_reader *reader, const char *const *words, size_t n)
{
    const char *text = n > 0 ? words[0] : "";

    for (size_t i = 1; i < n; i++)
        text = config_text(reader, "%s%s%s", text, i + 1 < n ? ", " : " or ", words[i]);
    return text;
}

size_t config_read_word(struct config_reader *reader, const struct config_node *node, const char *what,
                        const char *const *words, size_t n)
{
    if (!config_is_scalar(reader, node, what))
        return 0;
    for (size_t i = 0; i < n; i++)
        if (strcmp(node->text, words[i]) == 0)
            return i;
    config_fail(reader, &node->mark, "%s %s is unknown%s (accepted: %s)", what, config_found(reader, node),
                config_did_you_mean(reader, config_nearest_word(words, n, node->text)),
                join(reader, words, n));
    return 0;
}

const char *config_read_text(struct config_reader *reader, const struct config_node *node, const char *what)
{
    if (!config_is_scalar(reader, node, what))
        return NULL;
    size_t length = strlen(node->text);
    while (length > 0 && (node->text[length - 1] == '\n' || node->text[length - 1] == ' '))
        length--;
    char *text = config_pool_text(reader->keep, node->text, length);
    if (!text)
        config_fail_memory(reader);
    else
        config_make_printable(text);
    return text;
}

const char *config_read_name(struct config_reader *reader, const struct config_node *node, const char *what)
{
    static const char accepted[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:+/";
    enum { LONGEST_NAME = 64 };

    if (!config_is_scalar(reader, node, what))
        return "";
    size_t length = strlen(node->text);
    if (length > 0 && length <= LONGEST_NAME && strspn(node->text, accepted) == length)
        return node->text;
    config_fail(reader, &node->mark, "%s %s is no name, accepted: up to %d letters, digits and _ - . : + /",
                what, config_found(reader, node), LONGEST_NAME);
    return "";
}

static void check_keys(struct config_reader *reader, const struct config_node *map, const char *what,
                       const struct config_field *fields, size_t n_fields)
{
    const char *keys[32];

    for (size_t i = 0; i < n_fields; i++)
        keys[i] = fields[i].key;
    for (size_t i = 0; i < map->n && config_ok(reader); i++) {
        const struct config_node *key = map->entries[i].key;
        size_t k = 0;
        while (k < n_fields && strcmp(keys[k], key->text) != 0)
            k++;
        if (k == n_fields)
            config_fail(reader, &key->mark, "unknown key %s in %s%s (accepted: %s)",
                        config_found(reader, key), what,
                        config_did_you_mean(reader, config_nearest_word(keys, n_fields, key->text)),
                        join(reader, keys, n_fields));
    }
    for (size_t i = 0; i < n_fields; i++)
        if (fields[i].required && !config_find(map, keys[i]))
            config_fail(reader, &map->mark, "%s has no '%s', accepted: %s", what, keys[i], fields[i].hint);
}

/* The word itself, of an array or of a list that is kept elsewhere. */
static const char *read_choice(struct config_reader *reader, const struct config_node *node,
                               const struct config_field *field)
{
    enum { MOST_WORDS = 64 };
    const char *listed[MOST_WORDS];
    const char *const *words = field->words ? field->words : listed;
    size_t n = field->n_words;

    while (!field->words && n < MOST_WORDS && field->word(n)) {
        listed[n] = field->word(n);
        n++;
    }
    return words[config_read_word(reader, node, field->key, words, n)];
}

static void read_field(struct config_reader *reader, const struct config_node *node,
                       const struct config_field *field, void *out)
{
    static const char *const booleans[] = {"false", "true"};
    void *at = (char *)out + field->offset;

    switch (field->kind) {
    case CONFIG_COUNT32:
        *(uint32_t *)at = (uint32_t)config_read_count(reader, node, field->key, field->least, field->most);
        break;
    case CONFIG_COUNT64:
        *(uint64_t *)at = config_read_count(reader, node, field->key, field->least, field->most);
        break;
    case CONFIG_QUANTITY:
        *(double *)at = config_read_quantity(reader, node, field->key, field->unit, field->positive);
        break;
    case CONFIG_WORD: /* the enums here have no negative member, so the compiler made them unsigned */
        *(unsigned *)at = (unsigned)config_read_word(reader, node, field->key, field->words, field->n_words);
        break;
    case CONFIG_CHOICE:
        *(const char **)at = read_choice(reader, node, field);
        break;
    case CONFIG_BOOL:
        *(bool *)at = config_read_word(reader, node, field->key, booleans, 2) == 1;
        break;
    case CONFIG_TEXT:
        *(const char **)at = config_read_text(reader, node, field->key);
        break;
    case CONFIG_NODE:
        *(const struct config_node **)at = node;
        break;
    }
}

void config_read_fields(struct config_reader *reader, const struct config_node *map, const char *what,
                        const struct config_field *fields, size_t n_fields, void *out)
{
    if (!config_is_map(reader, map, what))
        return;
    check_keys(reader, map, what, fields, n_fields);
    for (size_t i = 0; i < n_fields && config_ok(reader); i++) {
        const struct config_entry *entry = config_find(map, fields[i].key);
        if (entry)
            read_field(reader, entry->value, &fields[i], out);
    }
}
