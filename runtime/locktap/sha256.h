/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SHA-256 (FIPS 180-4): tells whether a file is still what it was. */
#ifndef LOCKTAP_SHA256_H
#define LOCKTAP_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sha256 {
	uint32_t state[8];
	uint64_t bytes; /* taken in so far */
	unsigned char
		block[64]; /* its first bytes % 64 are taken in, not yet mixed */
};

/* Room for the sum in hexadecimal, as sha256sum(1) prints it. */
#define SHA256_TEXT 65

void sha256_start(struct sha256 *sum);
void sha256_add(struct sha256 *sum, const void *data, size_t length);
void sha256_end(struct sha256 *sum, char text[SHA256_TEXT]);

/* Adds what the file holds; false with errno set if it cannot be read. */
bool sha256_add_file(struct sha256 *sum, const char *path);

#endif
