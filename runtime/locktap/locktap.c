// SPDX-License-Identifier: GPL-2.0-or-later
/* The locktap command: finds the sub-command and runs it. */
#include <config.h>

#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locktap.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "graph", locktap_graph },
	{ "prep", locktap_prep },
	{ "run", locktap_run },
	{ "sites", locktap_sites },
};

static const char documentation[] =
	"Tells which lock hurts, who holds it, who waits and where.\v"
	"Commands:\n"
	"  graph      make a picture of a report on wait chains or lock order\n"
	"  prep       prepare a kernel: what the tapset needs from its debug\n"
	"             information\n"
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

int locktap_end_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (errno != EPIPE)
		locktap_fail("cannot write to standard output: %s",
			     strerror(errno));
	return LOCKTAP_FAILED;
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

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "COMMAND [ARGUMENT...]",
		.doc = documentation,
	};
	const struct command *command;
	int command_at = 0;
	char name[64];

	argp_err_exit_status = LOCKTAP_USAGE;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &command_at))
		return LOCKTAP_USAGE;

	command = find_command(argv[command_at]);
	if (!command) {
		locktap_fail("there is no command \"%s\"; see locktap --help",
			     argv[command_at]);
		return LOCKTAP_USAGE;
	}
	snprintf(name, sizeof(name), "locktap %s", command->name);
	argv[command_at] = name;
	return command->run(argc - command_at, argv + command_at);
}
