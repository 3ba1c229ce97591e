// SPDX-License-Identifier: GPL-2.0-or-later
/* How far stap is, in one line of the terminal that is written again and again. */
#include <config.h>

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "stap.h"

/* stap's steps, by number; the fifth runs the script. */
static const char *const steps[] = {
	"reading the tapset",
	"finding the places to probe",
	"writing the module",
	"compiling the module",
};

#define STEPS (sizeof(steps) / sizeof(*steps))

/* From here on it is worth a word why. */
#define LONG_S 20

void stap_progress_begin(struct stap_progress *progress, const char *started)
{
	memset(progress, 0, sizeof(*progress));
	progress->started = started;
	progress->active = true;
	clock_gettime(CLOCK_MONOTONIC, &progress->begun);
}

/* The number of `Pass N: ...' or its translation, 0: another line. */
static size_t pass_of(const char *line, size_t length)
{
	const char *blank = memchr(line, ' ', length);
	size_t at = blank ? (size_t)(blank - line) + 1 : length, pass;

	if (at + 2 >= length || line[at] < '1' || line[at] > '5')
		return 0;
	pass = (size_t)(line[at++] - '0');
	if (line[at] == ' ')
		at++;
	return line[at] == ':' ? pass : 0;
}

static bool has_text(const char *line, size_t length, const char *text)
{
	return memmem(line, length, text, strlen(text)) != NULL;
}

bool stap_progress_takes(struct stap_progress *progress, const char *line,
			 size_t length)
{
	size_t pass;

	if (!progress->active)
		return false;
	pass = pass_of(line, length);
	/* `Pass 2: analysis failed.  [man error::pass2]' is for the user. */
	if (!pass || has_text(line, length, "[man "))
		return false;
	progress->done = pass;
	if (pass >= STEPS) {
		stap_progress_hide(progress);
		progress->active = false;
		if (progress->started)
			fprintf(stderr, "%s\n", progress->started);
	}
	return true;
}

static int terminal_columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_col)
		return 80;
	return size.ws_col;
}

void stap_progress_show(struct stap_progress *progress)
{
	struct timespec now;
	char text[160];
	long seconds;

	if (!progress->active)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	seconds = (long)(now.tv_sec - progress->begun.tv_sec);
	snprintf(text, sizeof(text), "locktap: %s (%zu of %zu), %ld s%s",
		 steps[progress->done], progress->done + 1, STEPS, seconds,
		 seconds < LONG_S ?
			 "" :
			 "; the first run on a kernel takes minutes");
	/* A line that is too long would stay behind. */
	fprintf(stderr, "\r%.*s\033[K", terminal_columns() - 1, text);
	fflush(stderr);
	progress->shown = true;
}

void stap_progress_hide(struct stap_progress *progress)
{
	if (!progress->shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress->shown = false;
}
