// SPDX-License-Identifier: GPL-2.0-or-later
/* The locktap command: finds the sub-command and runs it. */
#include <config.h>

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "locktap.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	/* clang-format off */
	{ "compile", locktap_compile },
	{ "doctor", locktap_doctor },
	{ "graph", locktap_graph },
	{ "prep", locktap_prep },
	{ "report", locktap_report },
	{ "run", locktap_run },
	{ "sites", locktap_sites },
	/* clang-format on */
};

static const char documentation[] =
	"Tells which lock hurts, who holds it, who waits and where.\v"
	"Reports:\n"
	"  contend    who waits for which lock, how long, and behind whom\n"
	"  chain      who waits behind whom, to the end of the chain; deadlocks\n"
	"  hold       how long each lock is held, and by which code\n"
	"  blame      which code held the locks that others waited for\n"
	"  order      locks that are taken in both orders\n"
	"  stat       the events of Solaris' lockstat(1M)\n"
	"\n"
	"Other commands:\n"
	"  compile    make the module of a report or script, for staprun\n"
	"  doctor     whether the reports can run here, and what mends it if not\n"
	"  graph      make a picture of a report on wait chains or lock order\n"
	"  prep       prepare a kernel: what the tapset needs from its debug\n"
	"             information\n"
	"  report     render saved reports: tables, JSON, flame graphs, profiles,\n"
	"             metrics, a page to look at\n"
	"  run        run a script with stap; the script may choose locks by\n"
	"             their names, as in lock.spin(var=\"tasklist_lock\")\n"
	"  sites      list the places where locks are taken and released, with\n"
	"             the locks' names\n"
	"\n"
	"`locktap COMMAND --help' tells about a command.";

const char *argp_program_version = PACKAGE_STRING;

int locktap_fail(const char *format, ...)
{
	va_list arguments;

	fputs("locktap: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	return LOCKTAP_FAILED;
}

/* Of standard output: once is enough. */
static bool failure_is_told;

int locktap_end_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (errno != EPIPE)
		locktap_fail("cannot write to standard output: %s",
			     strerror(errno));
	failure_is_told = true;
	return LOCKTAP_FAILED;
}

/* argp ends the program once it has printed a help text or the version. */
static void check_output(void)
{
	if (!failure_is_told &&
	    locktap_end_output(LOCKTAP_DONE) != LOCKTAP_DONE)
		_exit(LOCKTAP_FAILED);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

/* Where the command's name is in argv. */
static error_t parse(int key, char *argument, struct argp_state *state)
{
	int *command_at = state->input;

	(void)argument;
	switch (key) {
	case ARGP_KEY_ARG:
		*command_at = state->next - 1;
		/* The rest is the command's. */
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no command given");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/*
 * Where one of the three is closed, a file that is opened later would become it,
 * and be closed for stap.  To read or write there fails as before.
 */
static void open_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null",
			 fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "COMMAND [ARGUMENT...]",
		.doc = documentation,
	};
	const struct command *command;
	const char *given;
	int command_at = 0;
	char name[64];

	argp_err_exit_status = LOCKTAP_USAGE;
	atexit(check_output);
	open_standard_files();
	/* The words behind it are another command line's. */
	if (argc > 1 && strcmp(argv[1], "--complete") == 0)
		return locktap_complete(argc - 2, argv + 2);
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &command_at))
		return LOCKTAP_USAGE;

	command = find_command(argv[command_at]);
	if (!command && !find_script_command(argv[command_at])) {
		locktap_fail("there is no command \"%s\"; see locktap --help",
			     argv[command_at]);
		return LOCKTAP_USAGE;
	}
	given = argv[command_at];
	snprintf(name, sizeof(name), "locktap %s", given);
	argv[command_at] = name;
	argc -= command_at;
	argv += command_at;
	return command ? command->run(argc, argv) :
			 locktap_script(given, argc, argv);
}
