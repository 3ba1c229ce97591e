// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer's way into libsites: each input is a file, of which everything is
 * asked.  make fuzz builds it; testsuite/sites/fuzz runs it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sites/sites.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void ask_all(struct sites_image *image)
{
	struct sites_inline *inlines;
	struct sites_spin_exits exits;
	struct sites_percpu *percpu;
	struct sites_calls calls;
	struct sites_error error;
	struct sites_waiting *waiting;
	size_t count;

	if (sites_waiting(image, &waiting, &count, &error))
		free(waiting);
	if (!sites_has_debug_info(image)) {
		if (sites_calls(image, 0, &calls, &error))
			sites_calls_free(&calls);
		return;
	}
	if (sites_calls(image, SITES_POINTS, &calls, &error))
		sites_calls_free(&calls);
	if (sites_inlines(image, "spin_lock", "members", &inlines, &count,
			  &error)) {
		for (size_t i = 0; i < count; i++)
			sites_can_probe(image, inlines[i].entry, &error);
		sites_inlines_free(inlines, count);
	}
	if (sites_spin_exits(image, &exits, &error))
		sites_spin_exits_free(&exits);
	if (sites_percpu(image, &percpu, &count, &error))
		free(percpu);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct sites_image *image;
	struct sites_error error;
	char path[64];
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd < 0)
		abort();
	for (size_t done = 0; done < size;) {
		ssize_t written = write(fd, bytes + done, size - done);

		if (written <= 0)
			abort();
		done += (size_t)written;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	image = sites_open_program(path, &error);
	if (image) {
		ask_all(image);
		sites_close(image);
	}
	close(fd);
	return 0;
}
