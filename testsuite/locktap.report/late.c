// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preloaded: fsync(2) or close(2), the one that LATE names, fails of a file that was
 * written; "none": there is no fsync(2).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_late(const char *call, int fd)
{
	const char *late = getenv("LATE");
	struct stat status;

	return late && strcmp(late, call) == 0 && fstat(fd, &status) == 0 &&
	       S_ISREG(status.st_mode) && status.st_size &&
	       (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
}

int fsync(int fd)
{
	errno = is_late("fsync", fd) ? EIO : EINVAL;
	return is_late("fsync", fd) || is_late("none", fd) ? -1 : 0;
}

int close(int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "close");
	int late = is_late("close", fd);

	if (real(fd) != 0)
		return -1;
	if (late)
		errno = EDQUOT;
	return late ? -1 : 0;
}
