/* SPDX-License-Identifier: MIT
 *
 * Numbers with units. Powers of ten go into the number's exponent before it is converted, so that "0.000025
 * ms" is the double nearest to 2.5e-8 and not a product of two rounded ones. */
#include "config/quantity.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_NUMBER = 64 };

/* value in SI = number * 10^exponent * factor */
struct scale {
    const char *name;
    int exponent;
    double factor;
};

static const struct scale second_units[] = {
    {"s", 0, 1},          {"ms", -3, 1}, {"us", -6, 1},  {"\xc2\xb5s", -6, 1},
    {"\xce\xbcs", -6, 1}, {"ns", -9, 1}, {"min", 0, 60}, {NULL, 0, 0},
};
static const struct scale byte_units[] = {{"B", 0, 1}, {NULL, 0, 0}};
static const struct scale rate_units[] = {
    {"B/s", 0, 1}, {"bps", 0, 0.125}, {"bit/s", 0, 0.125}, {NULL, 0, 0}};
static const struct scale flop_units[] = {{"FLOP/s", 0, 1}, {"FLOPS", 0, 1}, {NULL, 0, 0}};

static const struct scale prefixes[] = {
    {"", 0, 1},
    {"k", 3, 1},
    {"M", 6, 1},
    {"G", 9, 1},
    {"T", 12, 1},
    {"P", 15, 1},
    {"E", 18, 1},
    {"Ki", 0, 1024.0},
    {"Mi", 0, 1024.0 * 1024},
    {"Gi", 0, 1024.0 * 1024 * 1024},
    {"Ti", 0, 1024.0 * 1024 * 1024 * 1024},
    {NULL, 0, 0},
};

static const struct {
    const struct scale *units;
    bool prefixed;
    const char *accepted, *example;
    double least, most; /* above zero; outside lies a slip of the pen, and arithmetic that overflows */
    bool zero;
} kinds[] = {
    [CONFIG_SECONDS] = {second_units, false, "s, ms, us, ns or min", "ms", 1e-15, 1e9, true},
    [CONFIG_BYTES] = {byte_units, true, "B with k M G T P E or Ki Mi Gi Ti before it", "MB", 1e-3, 1e18,
                      true},
    [CONFIG_BYTES_PER_S] = {rate_units, true, "B/s or bps with k M G T P E or Ki Mi Gi Ti before it", "GB/s",
                            1, 1e18, false},
    [CONFIG_FLOP_PER_S] = {flop_units, true, "FLOP/s with k M G T P E before it", "TFLOP/s", 1, 1e24, false},
};

/* A number in decimal: sign, digits with at most one point, exponent. Sets where digits and exponent end;
 * false where there is no digit, as in "nan". */
static bool scan_number(const char *text, size_t *n_digits, size_t *n_number)
{
    size_t at = strspn(text, "+-") <= 1 ? strspn(text, "+-") : 0;
    size_t before = strspn(text + at, "0123456789");
    size_t after = 0;

    at += before;
    if (text[at] == '.') {
        after = strspn(text + at + 1, "0123456789");
        at += 1 + after;
    }
    *n_digits = *n_number = at;
    if (text[at] == 'e' || text[at] == 'E') {
        size_t sign = text[at + 1] == '+' || text[at + 1] == '-' ? 1 : 0;
        size_t digits = strspn(text + at + 1 + sign, "0123456789");
        if (digits > 0)
            *n_number = at + 1 + sign + digits;
    }
    return before + after > 0;
}

/* The scale of a unit with its prefix, folded into one. */
static bool find_scale(const char *name, enum config_unit kind, struct scale *out)
{
    size_t length = strlen(name);

    for (const struct scale *unit = kinds[kind].units; unit->name; unit++) {
        size_t n = strlen(unit->name);
        if (n > length || strcmp(name + length - n, unit->name) != 0)
            continue;
        for (const struct scale *prefix = prefixes; prefix->name; prefix++) {
            if (strlen(prefix->name) != length - n || strncmp(name, prefix->name, length - n) != 0 ||
                (length > n && !kinds[kind].prefixed))
                continue;
            *out = (struct scale){name, unit->exponent + prefix->exponent, unit->factor * prefix->factor};
            return true;
        }
    }
    return false;
}

/* " (did you mean Gbps?)" for "Gb/s", kB for KB, or "". A small b is a bit, a large one a byte. */
static void suggest(const char *name, enum config_unit kind, char *out, size_t size)
{
    char wanted[24], tried[24];
    size_t length = strlen(name);

    out[0] = '\0';
    if (length + 4 > sizeof wanted)
        return;
    strcpy(wanted, name);
    if (length > 2 && strcmp(name + length - 3, "b/s") == 0)
        strcpy(wanted + length - 3, "bps");
    else if (length > 2 && strcmp(name + length - 3, "Bps") == 0)
        strcpy(wanted + length - 3, "B/s");
    for (const struct scale *unit = kinds[kind].units; unit->name; unit++) {
        for (const struct scale *prefix = prefixes; prefix->name; prefix++) {
            snprintf(tried, sizeof tried, "%s%s", prefix->name, unit->name);
            if (strcasecmp(tried, wanted) != 0 || (prefix->name[0] && !kinds[kind].prefixed))
                continue;
            snprintf(out, size, " (did you mean %s?)", tried);
            return;
        }
    }
}

static bool refuse(char *why, size_t size, const char *what, enum config_unit unit)
{
    snprintf(why, size, "%s; accepted: a number and %s (e.g. '450 %s')", what, kinds[unit].accepted,
             kinds[unit].example);
    return false;
}

static bool refuse_range(char *why, size_t size, const char *what, enum config_unit unit, bool positive)
{
    bool zero = kinds[unit].zero && !positive;

    snprintf(why, size, "%s; accepted: %g to %g %s", what, zero ? 0 : kinds[unit].least, kinds[unit].most,
             kinds[unit].units[0].name);
    return false;
}

/* Why a value is out of range, or NULL. */
static const char *out_of_range(double value, bool minus, enum config_unit unit, bool positive)
{
    if (value < 0 || (minus && value == 0))
        return "is negative";
    if (value == 0)
        return positive || !kinds[unit].zero ? "is zero" : NULL;
    if (value < kinds[unit].least)
        return "is too small";
    return value <= kinds[unit].most ? NULL : "is too large";
}

/* digits[0..n_digits) with the exponent behind them, times 10^scale->exponent, rounded once. */
static double convert(const char *text, size_t n_digits, size_t n_number, const struct scale *scale)
{
    char number[LONGEST_NUMBER + 16];
    long exponent = n_number > n_digits ? strtol(text + n_digits + 1, NULL, 10) : 0;

    exponent = exponent > 9999 ? 9999 : exponent < -9999 ? -9999 : exponent;
    snprintf(number, sizeof number, "%.*se%ld", (int)n_digits, text, exponent + scale->exponent);
    char *end;
    double value = strtod(number, &end) * scale->factor;
    return *end ? (double)NAN : value; /* a locale with another decimal point */
}

bool config_quantity_parse(const char *text, enum config_unit unit, bool positive, double *out, char *why,
                           size_t size)
{
    size_t n_digits, n_number;
    struct scale scale;

    *out = 0;
    text += strspn(text, " \t");
    if (!scan_number(text, &n_digits, &n_number))
        return refuse(why, size, "is not a number with a unit", unit);
    if (n_number > LONGEST_NUMBER)
        return refuse(why, size, "has too many digits", unit);
    if (text[n_number] && strchr("0123456789,.+-_xX", text[n_number]))
        return refuse(why, size, "is not a number with a unit", unit); /* 1,5 or 0x10 or 1.2.3 */
    const char *name = text + n_number + strspn(text + n_number, " \t");
    if (!name[0]) {
        snprintf(why, size, "has no unit (write e.g. '%.*s %s'); accepted: %s", (int)n_number, text,
                 kinds[unit].example, kinds[unit].accepted);
        return false;
    }
    if (!find_scale(name, unit, &scale)) {
        char meant[48];
        suggest(name, unit, meant, sizeof meant);
        snprintf(why, size, "has an unknown unit '%.20s'%s; accepted: %s (e.g. '%.*s %s')", name, meant,
                 kinds[unit].accepted, (int)n_number, text, kinds[unit].example);
        return false;
    }
    double value = convert(text, n_digits, n_number, &scale);
    const char *wrong = out_of_range(value, text[0] == '-', unit, positive);
    if (wrong)
        return refuse_range(why, size, wrong, unit, positive);
    *out = value;
    return true;
}

enum ring_status config_quantity(const char *text, enum config_unit unit, double *out,
                                 struct ring_error *error)
{
    char why[256];

    if (config_quantity_parse(text, unit, false, out, why, sizeof why))
        return RING_OK;
    return ring_fail(error, RING_BAD_INPUT, "'%.60s' %s", text, why);
}

void config_quantity_format(double value, enum config_unit unit, char *out, size_t size)
{
    int digits = 15;
    char number[32];

    do
        snprintf(number, sizeof number, "%.*g", digits, value);
    while (strtod(number, NULL) != value && digits++ < 17);
    snprintf(out, size, "%s %s", number, kinds[unit].units[0].name);
}
