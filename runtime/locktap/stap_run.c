// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs stap on a rewritten copy of a script, so that nobody notices: its
 * messages name the script that the user wrote, signals go to it, its end is
 * ours.
 */
#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "locktap.h"
#include "stap.h"

/* ------------------------------------------------------------------------ */
/* What stap writes on standard error                                        */

/* How long the beginning of a line waits for its rest. */
#define PATIENCE_MS 100

/* How often the line that tells how far stap is is written. */
#define PROGRESS_MS 1000

struct filter {
	const char *copy; /* the path of the rewritten script; NULL: none */
	const char *script; /* the path that the user knows */
	const struct rewrite *rewrite;
	char *text; /* read, not yet written */
	size_t length, room;
	bool closed; /* nobody reads what we write */
	bool is_other; /* the kernel or a module is not what was probed */
	struct stap_progress progress;
};

static void put(struct filter *filter, const char *text, size_t length)
{
	while (length && !filter->closed) {
		ssize_t done = write(STDERR_FILENO, text, length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0) {
			filter->closed = true;
			return;
		}
		text += done;
		length -= (size_t)done;
	}
}

/*
 * A path like that of the copy.  Modules that stap kept from earlier runs name
 * the copies of those runs.  Returns its length, 0: none; `*begin' is moved to
 * where it begins.
 */
static size_t is_copy(const struct filter *filter, const char *text, size_t at,
		      size_t length, size_t *begin)
{
	static const char folder[] = "/" STAP_COPY_FOLDER;
	const char *base = strrchr(filter->copy, '/');
	size_t end = at + sizeof(folder) - 1, base_length = strlen(base);

	if (length - at < sizeof(folder) - 1 + 6 + base_length ||
	    memcmp(text + at, folder, sizeof(folder) - 1) != 0)
		return 0;
	for (size_t i = 0; i < 6; i++)
		if (!isalnum((unsigned char)text[end + i]))
			return 0;
	end += 6;
	if (memcmp(text + end, base, base_length) != 0)
		return 0;
	*begin = at;
	while (*begin && !strchr(" \t'\"(=", text[*begin - 1]))
		(*begin)--;
	return end + base_length - *begin;
}

static void put_with_paths(struct filter *filter, const char *text,
			   size_t length)
{
	size_t copy_length = strlen(filter->copy), written = 0;

	for (size_t at = 0; at < length; at++) {
		size_t begin = at, found = 0;

		if (text[at] != '/')
			continue;
		/* Our own may have blanks in its path. */
		if (length - at >= copy_length &&
		    memcmp(text + at, filter->copy, copy_length) == 0)
			found = copy_length;
		else
			found = is_copy(filter, text, at, length, &begin);
		if (!found || begin < written)
			continue;
		put(filter, text + written, begin - written);
		put(filter, filter->script, strlen(filter->script));
		written = begin + found;
		at = written - 1;
	}
	put(filter, text + written, length - written);
}

/* `     source: LINE': where the script's line begins, 0 in other lines. */
static size_t source_begin(const char *text, size_t length)
{
	size_t at = 0;

	while (at < length && text[at] == ' ')
		at++;
	while (at < length && text[at] != ' ' && text[at] != ':')
		at++;
	return at + 1 < length && text[at] == ':' && text[at + 1] == ' ' ?
		       at + 2 :
		       0;
}

/* A line without its end; false: it is not for the user. */
static bool put_line(struct filter *filter, const char *text, size_t length)
{
	static const char mismatch[] = "Build-id mismatch";
	size_t begin;

	if (memmem(text, length, mismatch, sizeof(mismatch) - 1))
		filter->is_other = true;
	if (stap_progress_takes(&filter->progress, text, length))
		return false;
	stap_progress_hide(&filter->progress);
	if (!filter->copy) {
		put(filter, text, length);
		return true;
	}
	begin = source_begin(text, length);
	for (size_t i = 0; begin && i < filter->rewrite->line_count; i++) {
		const struct rewrite_line *line = &filter->rewrite->lines[i];

		if (strlen(line->after) != length - begin ||
		    memcmp(line->after, text + begin, length - begin) != 0)
			continue;
		put(filter, text, begin);
		put(filter, line->before, strlen(line->before));
		return true;
	}
	put_with_paths(filter, text, length);
	return true;
}

/* Writes all whole lines, and the rest too if it shall not wait. */
static void pass_on(struct filter *filter, bool all)
{
	size_t begin = 0;

	if (!filter->length)
		return;
	for (;;) {
		const char *end = memchr(filter->text + begin, '\n',
					 filter->length - begin);

		if (!end)
			break;
		if (put_line(filter, filter->text + begin,
			     (size_t)(end - filter->text) - begin))
			put(filter, "\n", 1);
		begin = (size_t)(end - filter->text) + 1;
	}
	if (all) {
		put_line(filter, filter->text + begin, filter->length - begin);
		begin = filter->length;
	}
	filter->length -= begin;
	memmove(filter->text, filter->text + begin, filter->length);
}

/* Reads what there is; false at the end, or if there is nothing. */
static bool read_some(struct filter *filter, int fd)
{
	ssize_t got;

	if (filter->room - filter->length < 4096) {
		char *larger = realloc(filter->text, filter->room + 16384);

		if (larger) {
			filter->text = larger;
			filter->room += 16384;
		} else if (filter->length) {
			pass_on(filter, true);
		} else {
			return false;
		}
	}
	do
		got = read(fd, filter->text + filter->length,
			   filter->room - filter->length);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return false;
	filter->length += (size_t)got;
	pass_on(filter, false);
	return true;
}

/* ------------------------------------------------------------------------ */
/* The process                                                               */

static pid_t start(const char *stap, char **argv, int output_fd, int error_fd,
		   const sigset_t *mask)
{
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (output_fd >= 0)
		dup2(output_fd, STDOUT_FILENO);
	dup2(error_fd, STDERR_FILENO);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execv(stap, argv);
	fprintf(stderr, "locktap: cannot run %s: %s\n", stap, strerror(errno));
	_exit(LOCKTAP_FAILED);
}

/*
 * What the terminal sends, it sends to stap as well.  What was sent to us
 * alone is passed on, but not twice in a second: whoever sends to the whole
 * group, like timeout(1), has reached stap already, and of too many signals
 * it ends without a report.
 */
static void pass_signal(pid_t child, const struct signalfd_siginfo *info)
{
	static time_t last[NSIG];
	time_t now = time(NULL);

	if (info->ssi_code == SI_KERNEL || info->ssi_signo >= NSIG)
		return;
	if (last[info->ssi_signo] && now - last[info->ssi_signo] <= 1)
		return;
	last[info->ssi_signo] = now;
	kill(child, (int)info->ssi_signo);
}

/* Takes the signals that have come; true once the child has ended. */
static bool take_signals(int fd, pid_t child, int *status)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			pass_signal(child, &info);
	return waitpid(child, status, WNOHANG) == child;
}

/* Until when to wait for something to come, in ms; -1: as long as it takes. */
static int patience(const struct filter *filter)
{
	if (filter->length)
		return PATIENCE_MS;
	return filter->progress.active ? PROGRESS_MS : -1;
}

static int attend(pid_t child, int error_fd, int signal_fd,
		  struct filter *filter)
{
	struct pollfd fds[] = {
		{ .fd = error_fd, .events = POLLIN },
		{ .fd = signal_fd, .events = POLLIN },
	};
	int status = 0;

	for (;;) {
		int ready;

		if (!filter->length)
			stap_progress_show(&filter->progress);
		ready = poll(fds, 2, patience(filter));
		if (ready == 0)
			pass_on(filter, true);
		if (ready > 0 && fds[0].revents && !read_some(filter, error_fd))
			fds[0].fd = -1;
		if (ready > 0 && fds[1].revents &&
		    take_signals(signal_fd, child, &status))
			break;
	}
	/* A flight recorder lives on: do not wait for the end of the pipe. */
	fcntl(error_fd, F_SETFL, O_NONBLOCK);
	while (fds[0].fd >= 0 && read_some(filter, error_fd))
		;
	pass_on(filter, true);
	stap_progress_hide(&filter->progress);
	if (filter->is_other)
		locktap_fail(
			"what is loaded is another build than what was probed: locktap doctor names it, and what to do");
	return status;
}

int stap_run(const char *stap, char **argv, const char *copy,
	     const char *script, const struct rewrite *rewrite,
	     const struct stap_how *how)
{
	struct filter filter = { .copy = copy,
				 .script = script,
				 .rewrite = rewrite };
	sigset_t ours, before;
	int fds[2], signal_fd, status;
	pid_t child;

	sigemptyset(&ours);
	sigaddset(&ours, SIGCHLD);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGQUIT);
	sigprocmask(SIG_BLOCK, &ours, &before);
	signal_fd = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signal_fd < 0 || pipe2(fds, O_CLOEXEC) != 0)
		return locktap_fail("cannot run %s: %s", stap, strerror(errno));
	if (how->progress)
		stap_progress_begin(&filter.progress, how->started);
	child = start(stap, argv, how->output_fd, fds[1], &before);
	close(fds[1]);
	if (child < 0)
		return locktap_fail("cannot run %s: %s", stap, strerror(errno));
	signal(SIGPIPE, SIG_IGN);
	status = attend(child, fds[0], signal_fd, &filter);
	close(fds[0]);
	close(signal_fd);
	free(filter.text);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	/* Of ^C everybody knows, and of a pipe that nobody reads. */
	if (WTERMSIG(status) != SIGINT && WTERMSIG(status) != SIGPIPE)
		locktap_fail("stap was ended by signal %d (%s)",
			     WTERMSIG(status), strsignal(WTERMSIG(status)));
	return 128 + WTERMSIG(status);
}
