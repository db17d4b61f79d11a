/* SPDX-License-Identifier: MIT
 *
 * Other projects' attention beside ours, in the same run: peers.py has theirs, and its runs and ours of the
 * same case take turns, so that a core whose clock drifts serves both alike. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/bench/bench.h"
#include "tools/bench/peak.h"

enum { MIN_TURNS = 5, MAX_TURNS = 31 };
static const double max_turns_s = 0.4; /* of theirs and ours together */

/* The other side: peers.py between two pipes. */
struct peers {
    FILE *ask, *answer;
    pid_t child;
};

/* One line of peers.py. */
struct answer {
    char name[64], pass[16], mask[16];
    unsigned long long tokens;
    unsigned head_dim;
    double s;
};

static void become_peers(int ask, int answer)
{
    dup2(ask, STDIN_FILENO);
    dup2(answer, STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", "exec \"${PYTHON:-python3}\" " BENCH_PEERS " 2>/dev/null", (char *)NULL);
    _exit(127);
}

static bool open_peers(struct peers *peers)
{
    int ask[2], answer[2];
    if (pipe(ask) != 0 || pipe(answer) != 0)
        return false;
    fflush(stdout);
    signal(SIGPIPE, SIG_IGN); /* its end is seen where it is read */
    peers->child = fork();
    if (peers->child == 0) {
        close(ask[1]);
        close(answer[0]);
        become_peers(ask[0], answer[1]);
    }
    close(ask[0]);
    close(answer[1]);
    peers->ask = fdopen(ask[1], "w");
    peers->answer = fdopen(answer[0], "r");
    return peers->child > 0 && peers->ask != NULL && peers->answer != NULL;
}

static void close_peers(struct peers *peers)
{
    fclose(peers->ask);
    fclose(peers->answer);
    waitpid(peers->child, NULL, 0);
}

static bool run_theirs(const struct peers *peers, struct answer *answer)
{
    fputs("again\n", peers->ask);
    fflush(peers->ask);
    return fscanf(peers->answer, "%63s %15s %15s %llu %u %lf", answer->name, answer->pass, answer->mask,
                  &answer->tokens, &answer->head_dim, &answer->s) == 6;
}

/* One row: the case that peers.py is at. false when it has no more. */
static bool print_row(const struct peers *peers)
{
    struct answer answer;
    if (!run_theirs(peers, &answer)) /* a turn that does not count: it says what to open */
        return false;
    struct bench_case what = {.kernel = block_kernel_find(NULL, RING_FP32, answer.head_dim),
                              .tokens = answer.tokens,
                              .head_dim = answer.head_dim};
    what.mask = strcmp(answer.mask, "causal") == 0 ? RING_MASK_CAUSAL : RING_MASK_FULL;
    what.pass = strcmp(answer.pass, "backward") == 0 ? RING_PASS_BACKWARD : RING_PASS_FORWARD;
    struct bench_open *ours = bench_open(&what);
    double theirs_s[MAX_TURNS], ours_s[MAX_TURNS], ratios[MAX_TURNS], spent_s = 0.0;
    size_t n = 0;
    for (; n < MAX_TURNS && (n < MIN_TURNS || spent_s < max_turns_s) && run_theirs(peers, &answer); n++) {
        theirs_s[n] = answer.s;
        bench_pass_s(ours); /* theirs has had the caches */
        ours_s[n] = bench_pass_s(ours);
        ratios[n] = theirs_s[n] / ours_s[n];
        spent_s += theirs_s[n] + ours_s[n];
    }
    bench_close(ours);
    if (n == 0)
        return false;
    printf("%-22s %-8s %-6s %6llu %8u %10.3f %10.3f %6.2f x\n", answer.name, answer.pass, answer.mask,
           answer.tokens, answer.head_dim, 1e3 * bench_median(theirs_s, n), 1e3 * bench_median(ours_s, n),
           bench_median(ratios, n));
    fputs("next\n", peers->ask);
    fflush(stdout);
    return true;
}

void bench_print_peers(void)
{
    struct peers peers;
    char found[256] = "";
    if (!open_peers(&peers))
        return;
    if (fgets(found, sizeof found, peers.answer) == NULL || strncmp(found, "found ", 6) != 0 ||
        found[6] == '\n') {
        printf("\nothers: python3 finds neither PyTorch nor ONNX Runtime with onnx to compare with "
               "(PYTHON=... chooses another python3)\n");
    } else {
        printf("\nothers, fp32, one thread: %s%-22s %-8s %-6s %6s %8s %10s %10s %8s\n", found + 6, "operator",
               "pass", "mask", "tokens", "head_dim", "ms", "ours, ms", "ours is");
        while (print_row(&peers))
            ;
    }
    close_peers(&peers);
}
