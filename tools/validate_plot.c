/* SPDX-License-Identifier: MIT
 *
 * The picture of `ringlab validate`, as a gnuplot script: on the left each scenario's predicted time over its
 * measured one with a band of 10 %, on the right its signed error by part, in the order of the page. */
#include <math.h>

#include "tools/validate.h"

static const char *const colours[TOOL_N_PARTS] = {"#0072B2", "#E69F00", "#999999", "#CC79A7"};

static void write_times(const struct tool_trial *trials, size_t n, FILE *script)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < n; i++) {
        least = fmin(least, fmin(trials[i].measured_s, trials[i].predicted_s));
        most = fmax(most, fmax(trials[i].measured_s, trials[i].predicted_s));
    }
    fputs("$times << EOD\n", script);
    for (size_t i = 0; i < n; i++)
        fprintf(script, "%.6f %.6f %d\n", 1e3 * trials[i].measured_s, 1e3 * trials[i].predicted_s,
                trials[i].plan.pass == RING_PASS_FORWARD);
    fprintf(script,
            "EOD\nset logscale xy\nset xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\n"
            "set xlabel 'measured, ms'\nset ylabel 'predicted, ms'\nset key top left Left reverse\n"
            "set title 'Step time; the band is 10 %%'\n",
            800 * least, 1250 * most, 800 * least, 1250 * most);
    fputs("plot '+' using 1:($1*0.9):($1*1.1) with filledcurves lc rgb '#E8ECF0' notitle, x lc rgb '#888888' "
          "notitle, "
          "$times using ($3==1?$1:1/0):2 with points pt 7 ps 0.6 lc rgb '#0072B2' title 'forward', "
          "$times using ($3==0?$1:1/0):2 with points pt 5 ps 0.6 lc rgb '#D55E00' title 'backward'\n",
          script);
}

static void write_parts(const struct tool_trial *trials, size_t n, FILE *script)
{
    fputs("$parts << EOD\n", script);
    for (size_t i = 0; i < n; i++) {
        fprintf(script, "%zu", i + 1);
        for (enum tool_part part = 0; part < TOOL_N_PARTS; part++)
            fprintf(script, " %.6f", 100 * trials[i].parts_s[part] / trials[i].measured_s);
        fprintf(script, " %.6f\n", 100 * tool_trial_error(&trials[i], false));
    }
    fprintf(
        script,
        "EOD\nunset logscale\nset xrange [0:%zu]\nset autoscale y\nset xlabel 'scenario, in the order of the "
        "page'\nset ylabel 'predicted - measured, %% of the measured step'\nset title 'Signed error by "
        "part'\nset key top left Left reverse\nset xzeroaxis lt 1 lc rgb '#888888'\nplot ",
        n + 1);
    for (enum tool_part part = 0; part < TOOL_N_PARTS; part++)
        fprintf(script, "$parts using 1:%d with points pt %d ps 0.5 lc rgb '%s' title '%s', ", part + 2,
                part + 4, colours[part], tool_part_names[part]);
    fprintf(script, "$parts using 1:%d with lines lc rgb '#000000' title 'the step'\n", TOOL_N_PARTS + 2);
}

void tool_validate_script(const struct tool_trial *trials, size_t n, const char *output, FILE *script)
{
    fprintf(script, "set terminal svg size 1200,520 font 'sans-serif,12' background '#FFFFFF'\nset output '");
    for (const char *c = output; *c != '\0'; c++)
        *c == '\'' ? fputs("''", script) : fputc(*c, script);
    fputs("'\nset encoding utf8\nset multiplot layout 1,2\n", script);
    write_times(trials, n, script);
    write_parts(trials, n, script);
    fputs("unset multiplot\n", script);
}
