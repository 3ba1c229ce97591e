// SPDX-License-Identifier: GPL-2.0-or-later
/* Graphs that are in DOT already, and dot(1), which makes SVG of them. */
#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph.h"
#include "locktap.h"

/* ------------------------------------------------------------------------ */
/* The graphs of a file                                                      */

/* Behind the string, comment or character at `at'; `end' if it has no end. */
static const char *skip_token(const char *at, const char *end)
{
	size_t left = (size_t)(end - at), depth = 0;

	if (*at == '"') {
		for (at++; at < end && *at != '"'; at++)
			if (*at == '\\' && at + 1 < end)
				at++;
		return at < end ? at + 1 : end;
	}
	if (*at == '#' || (left > 1 && memcmp(at, "//", 2) == 0)) {
		at = memchr(at, '\n', left);
		return at ? at : end;
	}
	if (left > 1 && memcmp(at, "/*", 2) == 0) {
		at = memmem(at + 2, left - 2, "*/", 2);
		return at ? at + 2 : end;
	}
	if (*at != '<')
		return at + 1;
	for (; at < end; at++) {
		depth += *at == '<';
		if (*at == '>' && --depth == 0)
			return at + 1;
	}
	return end;
}

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end) {
		if (isspace((unsigned char)*at))
			at++;
		else if (*at == '#' || *at == '/')
			at = skip_token(at, end);
		else
			break;
	}
	return at;
}

/* Behind the last brace of the graph at `at'; NULL if it is not there. */
static const char *graph_end(const char *at, const char *end)
{
	size_t depth = 0;

	while (at < end) {
		if (*at == '{')
			depth++;
		if (*at == '}' && depth <= 1)
			return depth ? at + 1 : NULL;
		depth -= *at == '}';
		at = skip_token(at, end);
	}
	return NULL;
}

static int tell_line(const struct graph_source *source, const char *at,
		     const char *what)
{
	size_t line = 1;

	for (const char *c = source->text; c < at; c++)
		line += *c == '\n';
	return locktap_fail(
		"%s:%zu: %s; make the file again with -G format=dot",
		source->file, line, what);
}

static bool has_word(const char *at, const char *end, const char *word)
{
	size_t length = strlen(word);

	return (size_t)(end - at) >= length && memcmp(at, word, length) == 0;
}

int graph_find_dot(const struct graph_source *source, size_t number,
		   const char **begin, size_t *length)
{
	const char *end = source->text + source->length;
	const char *at = skip_blanks(source->text, end);
	size_t count = 0;

	while (at < end && (!number || count < number)) {
		const char *after;

		if (!has_word(at, end, "digraph") &&
		    !has_word(at, end, "strict"))
			return tell_line(
				source, at,
				"there is no graph after the one before");
		after = graph_end(at, end);
		if (!after)
			return tell_line(source, at,
					 "this graph is cut off or damaged");
		*begin = at;
		*length = (size_t)(after - at);
		count++;
		at = skip_blanks(after, end);
	}
	if (!count || number > count)
		return locktap_fail("%s: there is no graph %zu, only %zu",
				    source->file, number, count);
	return LOCKTAP_DONE;
}

/* ------------------------------------------------------------------------ */
/* Rendering                                                                 */

/* Fedora's package has the same name. */
#define NO_DOT \
	"the program dot is missing: install the package graphviz, or write DOT with --dot"

/* What one of dot's ends is connected to. */
struct text {
	char *text;
	size_t length, room;
};

struct run {
	pid_t child;
	int input, output, error; /* our ends of the pipes, -1: closed */
	const char *dot; /* not yet written */
	size_t dot_length;
	struct text svg, said;
};

static bool read_more(struct text *to, int *fd)
{
	ssize_t got;

	if (to->room - to->length < 4096) {
		size_t room = to->room * 2 + 65536;
		char *larger = realloc(to->text, room);

		if (!larger)
			return false;
		to->text = larger;
		to->room = room;
		to->text[to->length] = '\0';
	}
	/* One byte is left for an end. */
	got = read(*fd, to->text + to->length, to->room - to->length - 1);
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (got <= 0) {
		close(*fd);
		*fd = -1;
		return true;
	}
	to->length += (size_t)got;
	to->text[to->length] = '\0';
	return true;
}

static void write_more(struct run *run)
{
	ssize_t done = write(run->input, run->dot, run->dot_length);

	if (done < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (done > 0) {
		run->dot += done;
		run->dot_length -= (size_t)done;
	}
	/* If dot reads no more, its status tells why. */
	if (done < 0 || !run->dot_length) {
		close(run->input);
		run->input = -1;
	}
}

/* False if out of memory. */
static bool attend(struct run *run)
{
	while (run->output >= 0 || run->error >= 0) {
		struct pollfd fds[] = {
			{ .fd = run->input, .events = POLLOUT },
			{ .fd = run->output, .events = POLLIN },
			{ .fd = run->error, .events = POLLIN },
		};

		if (poll(fds, 3, -1) < 0)
			continue;
		if (fds[0].revents)
			write_more(run);
		if (fds[1].revents && !read_more(&run->svg, &run->output))
			return false;
		if (fds[2].revents && !read_more(&run->said, &run->error))
			return false;
	}
	return true;
}

static void close_all(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* Returns 0 or an error number. */
static int spawn(struct run *run, const int *ends)
{
	extern char **environ;
	char *argv[] = { (char[]){ "dot" }, (char[]){ "-Tsvg" }, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t signals;
	int error;

	sigemptyset(&signals);
	sigaddset(&signals, SIGPIPE);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &signals);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&actions);
	for (int i = 0; i < 3; i++)
		posix_spawn_file_actions_adddup2(&actions, ends[i], i);
	error = posix_spawnp(&run->child, argv[0], &actions, &attributes, argv,
			     environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return error;
}

/*
 * A pipe whose ends are not 0, 1 or 2, which the child replaces; our own may
 * have been closed.
 */
static int open_pipe(int *fds)
{
	if (pipe2(fds, O_CLOEXEC) != 0) {
		fds[0] = fds[1] = -1;
		return errno;
	}
	for (int i = 0; i < 2; i++) {
		int high;

		if (fds[i] > STDERR_FILENO)
			continue;
		high = fcntl(fds[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (high < 0)
			return errno;
		close(fds[i]);
		fds[i] = high;
	}
	return 0;
}

static int start(struct run *run)
{
	int pipes[6] = { -1, -1, -1, -1, -1, -1 };
	int error = 0;

	for (int i = 0; !error && i < 3; i++)
		error = open_pipe(pipes + 2 * i);
	if (!error) {
		const int ends[] = { pipes[0], pipes[3], pipes[5] };

		error = spawn(run, ends);
	}
	if (error) {
		close_all(pipes, 6);
		if (error == ENOENT)
			return locktap_fail(NO_DOT);
		return locktap_fail("cannot run dot: %s", strerror(error));
	}
	close(pipes[0]);
	close(pipes[3]);
	close(pipes[5]);
	run->input = pipes[1];
	run->output = pipes[2];
	run->error = pipes[4];
	fcntl(run->input, F_SETFL, O_NONBLOCK);
	return LOCKTAP_DONE;
}

/* What dot has said, with its name before each line. */
static void pass_on(const struct text *said)
{
	char *rest = said->text, *line;
	char plain[300];

	while (rest && (line = strsep(&rest, "\n")))
		if (*line)
			fprintf(stderr, "locktap: dot: %s\n",
				graph_plain(line, plain, sizeof(plain)));
}

static int judge(const struct run *run, int status)
{
	if (WIFSIGNALED(status))
		return locktap_fail("dot was ended by signal %d (%s)",
				    WTERMSIG(status),
				    strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) == 127)
		return locktap_fail(NO_DOT);
	if (WEXITSTATUS(status) != 0)
		return locktap_fail("dot has failed, with status %d",
				    WEXITSTATUS(status));
	if (!run->svg.length || !strstr(run->svg.text, "</svg>"))
		return locktap_fail(
			"dot has made no whole picture: is its SVG plugin installed?");
	return LOCKTAP_DONE;
}

int graph_render(const char *dot, size_t dot_length, char **svg,
		 size_t *svg_length)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	struct run run = { .dot = dot, .dot_length = dot_length };
	bool enough_memory;
	int status = 0;

	if (start(&run) != LOCKTAP_DONE)
		return LOCKTAP_FAILED;
	sigaction(SIGPIPE, &ignore, &before);
	enough_memory = attend(&run);
	sigaction(SIGPIPE, &before, NULL);
	close_all((int[]){ run.input, run.output, run.error }, 3);
	while (waitpid(run.child, &status, 0) < 0 && errno == EINTR)
		;
	*svg = run.svg.text;
	*svg_length = run.svg.length;
	if (!enough_memory) {
		status = locktap_fail("out of memory");
	} else {
		pass_on(&run.said);
		status = judge(&run, status);
	}
	free(run.said.text);
	return status;
}
