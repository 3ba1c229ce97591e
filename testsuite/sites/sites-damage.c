// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asks libsites everything about damaged copies of a file.  Each copy has a
 * few bytes changed, at places that the seed decides.  The answers do not
 * matter; a crash, an endless loop or a sanitizer's report does.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sites/sites.h>

/* Far more than any copy needs. */
#define MAX_SECONDS 20

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static void ask_all(const char *path)
{
	static const char *const functions[] = { "leaf", "middle",
						 "in_pieces" };
	static const char *const insides[] = { "plain", "pieces" };
	struct sites_spin_exits exits;
	struct sites_waiting *waiting;
	struct sites_percpu *percpu;
	struct sites_calls calls;
	struct sites_error error;
	struct sites_image *image = sites_open_program(path, &error);
	size_t count;

	if (!image)
		return;
	if (sites_waiting(image, &waiting, &count, &error))
		free(waiting);
	if (!sites_has_debug_info(image)) {
		if (sites_calls(image, 0, &calls, &error))
			sites_calls_free(&calls);
		sites_close(image);
		return;
	}
	for (size_t i = 0; i < 6; i++) {
		struct sites_inline *inlines;
		struct sites_scope *scopes;

		if (!sites_inlines(image, functions[i % 3], insides[i / 3],
				   &inlines, &count, &error))
			continue;
		for (size_t j = 0; j < count; j++) {
			size_t scope_count;

			sites_can_probe(image, inlines[j].entry, &error);
			if (sites_scopes(image, inlines[j].entry, &scopes,
					 &scope_count, &error))
				free(scopes);
		}
		sites_inlines_free(inlines, count);
	}
	if (sites_spin_exits(image, &exits, &error))
		sites_spin_exits_free(&exits);
	if (sites_percpu(image, &percpu, &count, &error))
		free(percpu);
	if (sites_calls(image, SITES_POINTS, &calls, &error))
		sites_calls_free(&calls);
	sites_close(image);
}

static bool write_all(int fd, const unsigned char *bytes, size_t size)
{
	while (size) {
		ssize_t written = write(fd, bytes, size);

		if (written <= 0)
			return false;
		bytes += written;
		size -= (size_t)written;
	}
	return true;
}

static bool damage(const char *path, const unsigned char *bytes, size_t size,
		   uint64_t *state)
{
	unsigned char *copy = malloc(size);
	uint32_t changes = 1 + next_random(state) % 8;
	size_t length = size;
	bool written;
	int fd;

	if (!copy)
		return false;
	memcpy(copy, bytes, size);
	for (uint32_t i = 0; i < changes; i++)
		copy[next_random(state) % size] =
			(unsigned char)next_random(state);
	/* Now and then the end is missing as well. */
	if (next_random(state) % 32 == 0)
		length = next_random(state) % size;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	written = fd >= 0 && write_all(fd, copy, length);
	if (fd >= 0)
		close(fd);
	free(copy);
	return written;
}

int main(int argc, char **argv)
{
	unsigned char *bytes;
	struct stat status;
	uint64_t state;
	long rounds;
	int fd;

	if (argc != 5) {
		fputs("usage: sites-damage FILE COPY ROUNDS SEED\n", stderr);
		return 2;
	}
	rounds = atol(argv[3]);
	state = strtoull(argv[4], NULL, 10);
	fd = open(argv[1], O_RDONLY);
	if (fd < 0 || fstat(fd, &status) != 0 || status.st_size == 0) {
		perror(argv[1]);
		return 2;
	}
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd,
		     0);
	if (bytes == MAP_FAILED) {
		perror(argv[1]);
		return 2;
	}
	for (long i = 0; i < rounds; i++) {
		if (!damage(argv[2], bytes, (size_t)status.st_size, &state)) {
			perror(argv[2]);
			return 2;
		}
		alarm(MAX_SECONDS);
		ask_all(argv[2]);
	}
	printf("%ld damaged copies\n", rounds);
	return 0;
}
