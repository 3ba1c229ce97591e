// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads and writes files as a whole. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "locktap.h"
#include "replace.h"

/* The JSON parser counts bytes in an int. */
#define MOST_BYTES ((size_t)1 << 30)

/* ------------------------------------------------------------------------ */
/* Input                                                                     */

const char *files_name(const char *file)
{
	return strcmp(file, "-") == 0 ? "standard input" : file;
}

int files_read(FILE *in, const char *name, char **text, size_t *length)
{
	size_t room = 0;

	*text = NULL;
	*length = 0;
	for (;;) {
		size_t got;

		if (room - *length < 4096) {
			char *larger = realloc(*text, room * 2 + 65536);

			if (!larger)
				return locktap_fail("out of memory");
			*text = larger;
			room = room * 2 + 65536;
		}
		errno = 0;
		got = fread(*text + *length, 1, room - *length - 1, in);
		*length += got;
		(*text)[*length] = '\0';
		if (ferror(in) && errno == EINTR) {
			clearerr(in);
			continue;
		}
		if (ferror(in))
			return locktap_fail("cannot read %s: %s", name,
					    strerror(errno));
		if (*length > MOST_BYTES)
			return locktap_fail(
				"%s has more than 1 GiB: give only the report that is wanted",
				name);
		if (!got)
			return LOCKTAP_DONE;
	}
}

int files_read_named(const char *file, char **text, size_t *length)
{
	FILE *in;
	int status;

	*text = NULL;
	*length = 0;
	if (strcmp(file, "-") == 0)
		return files_read(stdin, files_name(file), text, length);
	in = fopen(file, "re");
	if (!in)
		return locktap_fail("cannot open %s: %s", file,
				    strerror(errno));
	status = files_read(in, file, text, length);
	fclose(in);
	return status;
}

/* ------------------------------------------------------------------------ */
/* Output                                                                    */

static bool write_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t done = write(fd, text, length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return false;
		text += done;
		length -= (size_t)done;
	}
	return true;
}

static int write_file(const char *path, const char *text, size_t length)
{
	struct replacement file;
	int status = replace_begin(&file, path);

	if (status != LOCKTAP_DONE)
		return status;
	if (write_all(file.fd, text, length))
		return replace_end(&file, true);
	status = locktap_fail("cannot write %s: %s", path, strerror(errno));
	replace_end(&file, false);
	return status;
}

bool files_is_output(const char *path)
{
	return strcmp(path, "-") == 0;
}

bool files_are_same(const char *one, const char *other)
{
	struct stat status, other_status;

	if (strcmp(one, other) == 0)
		return true;
	return stat(one, &status) == 0 && stat(other, &other_status) == 0 &&
	       S_ISREG(status.st_mode) &&
	       status.st_dev == other_status.st_dev &&
	       status.st_ino == other_status.st_ino;
}

bool files_has_colours(void)
{
	const char *none = getenv("NO_COLOR");

	return !none || !*none;
}

int files_write(const char *path, const char *text, size_t length)
{
	if (path && !files_is_output(path))
		return write_file(path, text, length);
	errno = 0;
	fwrite(text, 1, length, stdout);
	return locktap_end_output(LOCKTAP_DONE);
}
