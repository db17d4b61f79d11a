/* SPDX-License-Identifier: MIT
 *
 * `ringlab COMMAND ...`: finds the command, runs it, and turns its status into one line and an exit status.
 * The only place where this program ends because of an error (but for usage errors, which argp ends). */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/commands.h"
#include "tools/devices.h"
#include "tools/names.h"

enum { GOOD = 0, BAD_INPUT = 1, USAGE = 2, WORLD_FAILED = 3 };

/* What a missing standard stream would become is the first file that we open. Opened the wrong way round,
 * writing to it fails as it should. */
static void keep_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF &&
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
            return;
}

static void print_help(FILE *file)
{
    fputs("Usage: ringlab COMMAND [OPTION...] [FILE...]\n"
          "How long will a ring-attention step take on this cluster, why, and was the prediction right?\n\n",
          file);
    for (const struct tool_command *command = tool_commands; command->name != NULL; command++)
        fprintf(file, "  %-10s %s\n", command->name, command->summary);
    fputs("\nWithout a file, a command takes the quickstart scenario. `ringlab COMMAND --help` says more.\n"
          "Exit status: 0 good, 1 bad input, 2 usage, 3 the run failed.\n"
          "Example: ringlab predict scenarios/quickstart.yaml\n",
          file);
}

static const struct tool_command *find_command(const char *name)
{
    for (const struct tool_command *command = tool_commands; command->name != NULL; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *names[32];
    size_t n = 0;
    for (; tool_commands[n].name != NULL && n < 31; n++)
        names[n] = tool_commands[n].name;
    names[n] = NULL;
    const char *near = tool_name_nearest(name, names);
    fprintf(stderr, "ringlab: there is no command '%s'", name);
    if (near != NULL)
        fprintf(stderr, "; did you mean '%s'?\n", near);
    else
        fprintf(stderr, " (`ringlab --help` lists them)\n");
    return USAGE;
}

static int exit_status(enum ring_status status)
{
    switch (status) {
    case RING_OK:
        return GOOD;
    case RING_BAD_INPUT:
    case RING_IO:
    case RING_UNSUPPORTED:
        return BAD_INPUT;
    default:
        return WORLD_FAILED;
    }
}

static void print_error(enum ring_status status, struct ring_error *error)
{
    for (char *at = error->text; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = ' ';
    fprintf(stderr, "ringlab: %s\n", error->text[0] != '\0' ? error->text : ring_status_text(status));
}

/* Whether everything written to standard output arrived. A reader that went away (`| head`) has what it
 * wanted, as it has where all fits into the pipe before it goes. */
static int close_output(int code)
{
    int failed = ferror(stdout), reason = errno;
    if (fflush(stdout) != 0) {
        failed = 1;
        reason = errno;
    }
    if (!failed || code != GOOD)
        return code;
    if (reason == EPIPE)
        return GOOD;
    fprintf(stderr, "ringlab: standard output: %s\n", strerror(reason));
    return BAD_INPUT;
}

static int run(const struct tool_command *command, int argc, char **argv)
{
    struct ring_error error = {""};
    struct tool_options options;
    tool_options_parse(command, argc, argv, &options);
    enum ring_status status = tool_devices_choose(&options, &error);
    if (status == RING_OK)
        status = command->run(&options, &error);
    free((void *)options.files);
    free(options.sets);
    fflush(stdout);
    if (status != RING_OK)
        print_error(status, &error);
    return exit_status(status);
}

int main(int argc, char **argv)
{
    keep_standard_streams();
    signal(SIGPIPE, SIG_IGN);
    setlocale(LC_CTYPE, "");
    const char *word = argc > 1 ? argv[1] : "";
    const struct tool_command *command = find_command(word);
    if (command == NULL && strcmp(word, "help") == 0 && argc > 2)
        command = find_command(argv[2]);
    if (command != NULL && strcmp(word, "help") == 0) {
        char *help[] = {argv[0], (char[]){"--help"}, NULL};
        return run(command, 2, help);
    }
    if (command != NULL)
        return close_output(run(command, argc - 1, argv + 1));
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_help(stdout);
        return close_output(GOOD);
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("ringlab %s\n", RINGLAB_VERSION);
        return close_output(GOOD);
    }
    if (argc > 1 && word[0] != '-')
        return unknown_command(word);
    if (argc > 1)
        fprintf(stderr, "ringlab: there is no option '%s'\n", word);
    print_help(stderr);
    return USAGE;
}
