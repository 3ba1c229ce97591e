// SPDX-License-Identifier: GPL-2.0-or-later
/* SHA-256, as FIPS 180-4 has it. */
#include <config.h>

#include <stdio.h>
#include <string.h>

#include "sha256.h"

/* The first 32 bits of the fractional parts of the first primes' cube roots. */
static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
	0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
	0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
	0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotated(uint32_t x, unsigned int bits)
{
	return x >> bits | x << (32 - bits);
}

static void expand(uint32_t schedule[64], const unsigned char *block)
{
	for (int i = 0; i < 16; i++)
		schedule[i] = (uint32_t)block[4 * i] << 24 |
			      (uint32_t)block[4 * i + 1] << 16 |
			      (uint32_t)block[4 * i + 2] << 8 |
			      block[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = schedule[i - 15], b = schedule[i - 2];

		schedule[i] = schedule[i - 16] + schedule[i - 7] +
			      (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) +
			      (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
	}
}

static void mix(struct sha256 *sum, const unsigned char *block)
{
	uint32_t schedule[64], v[8];

	expand(schedule, block);
	memcpy(v, sum->state, sizeof(v));
	for (int i = 0; i < 64; i++) {
		uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t most = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
		uint32_t one = v[7] + choice + constants[i] + schedule[i] +
			       (rotated(v[4], 6) ^ rotated(v[4], 11) ^
				rotated(v[4], 25));
		uint32_t two = most + (rotated(v[0], 2) ^ rotated(v[0], 13) ^
				       rotated(v[0], 22));

		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += one;
		v[0] = one + two;
	}
	for (int i = 0; i < 8; i++)
		sum->state[i] += v[i];
}

void sha256_start(struct sha256 *sum)
{
	static const uint32_t first[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	};

	memcpy(sum->state, first, sizeof(first));
	sum->bytes = 0;
}

void sha256_add(struct sha256 *sum, const void *data, size_t length)
{
	const unsigned char *at = data;

	while (length) {
		size_t used = sum->bytes % 64;
		size_t part = length < 64 - used ? length : 64 - used;

		memcpy(sum->block + used, at, part);
		sum->bytes += part;
		at += part;
		length -= part;
		if (sum->bytes % 64 == 0)
			mix(sum, sum->block);
	}
}

void sha256_end(struct sha256 *sum, char text[SHA256_TEXT])
{
	static const unsigned char padding[64] = { 0x80 };
	unsigned char bits[8];

	for (int i = 0; i < 8; i++)
		bits[i] = (unsigned char)(sum->bytes * 8 >> (56 - 8 * i));
	sha256_add(sum, padding, 1 + (119 - sum->bytes % 64) % 64);
	sha256_add(sum, bits, sizeof(bits));
	for (int i = 0; i < 8; i++)
		snprintf(text + 8 * i, 9, "%08x", sum->state[i]);
}

bool sha256_add_file(struct sha256 *sum, const char *path)
{
	FILE *file = fopen(path, "re");
	char data[16384];
	size_t got;
	bool good;

	if (!file)
		return false;
	while ((got = fread(data, 1, sizeof(data), file)) > 0)
		sha256_add(sum, data, got);
	good = !ferror(file);
	fclose(file);
	return good;
}
