// SPDX-License-Identifier: GPL-2.0-or-later
/* A file that is replaced as a whole or not at all. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "locktap.h"
#include "replace.h"

static int cannot_write(const struct replacement *replacement)
{
	return locktap_fail("cannot write %s: %s", replacement->path,
			    strerror(errno));
}

static void forget(struct replacement *replacement)
{
	free(replacement->temporary);
	free(replacement->real);
	replacement->temporary = replacement->real = NULL;
}

static bool is_special(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

/* Beside the file, with the rights that a new file has. */
static int make_temporary(struct replacement *replacement)
{
	mode_t mask;

	if (asprintf(&replacement->temporary, "%s.XXXXXX", replacement->real) <
	    0) {
		replacement->temporary = NULL;
		return -1;
	}
	replacement->fd = mkostemp(replacement->temporary, O_CLOEXEC);
	if (replacement->fd < 0)
		return -1;
	mask = umask(0);
	umask(mask);
	return fchmod(replacement->fd, 0666 & ~mask);
}

int replace_begin(struct replacement *replacement, const char *path)
{
	char *real = realpath(path, NULL);
	int status = LOCKTAP_DONE;

	memset(replacement, 0, sizeof(*replacement));
	replacement->path = path;
	replacement->real = real ? real : strdup(path);
	replacement->fd = -1;
	if (!replacement->real)
		return locktap_fail("out of memory");
	if (is_special(path))
		replacement->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	else if (make_temporary(replacement) != 0)
		status = cannot_write(replacement);
	if (replacement->fd < 0 && status == LOCKTAP_DONE)
		status = cannot_write(replacement);
	if (status != LOCKTAP_DONE)
		forget(replacement);
	return status;
}

int replace_check(const char *path)
{
	struct replacement replacement;
	struct stat status;

	/* Who reads from a pipe would take its closing for the end. */
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) &&
	    !S_ISDIR(status.st_mode))
		return LOCKTAP_DONE;
	if (replace_begin(&replacement, path) != LOCKTAP_DONE)
		return LOCKTAP_FAILED;
	return replace_end(&replacement, false);
}

/* Whether it lies on the disk, or on something that does not know of that. */
static bool is_synced(int fd)
{
	return fsync(fd) == 0 || errno == EINVAL || errno == EROFS ||
	       errno == ENOTSUP;
}

int replace_end(struct replacement *replacement, bool keep)
{
	int status = LOCKTAP_DONE;

	/* Some disks tell late that they are full: not after the old file is gone. */
	if (keep && replacement->temporary && !is_synced(replacement->fd))
		status = cannot_write(replacement);
	if (close(replacement->fd) != 0 && status == LOCKTAP_DONE)
		status = cannot_write(replacement);
	if (keep && replacement->temporary && status == LOCKTAP_DONE &&
	    rename(replacement->temporary, replacement->real) != 0)
		status = cannot_write(replacement);
	if (replacement->temporary && (!keep || status != LOCKTAP_DONE))
		unlink(replacement->temporary);
	forget(replacement);
	return status;
}

int replace_aside(struct replacement *replacement)
{
	char *partial;

	if (!replacement->temporary ||
	    asprintf(&partial, "%s.partial", replacement->real) < 0)
		return replace_end(replacement, false);
	free(replacement->real);
	replacement->real = partial;
	fprintf(stderr,
		"locktap: the report is cut: what there is of it is in %s\n",
		partial);
	return replace_end(replacement, true);
}
