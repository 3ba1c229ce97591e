// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hammer PORT THREADS KEYS SECONDS: a load for memcached that has threads wait for each
 * other. Every thread sets and gets the same few keys, many commands in one
 * packet, so that the server's threads work on the same items at the same time.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { COMMANDS = 200, VALUE_BYTES = 100, COMMAND_BYTES = 300 };

static int port, keys, seconds;

static int connect_server(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
	if (fd < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		perror("hammer: memcached");
		exit(1);
	}
	return fd;
}

/* A packet that the server answers with one line: all but its last command are silent. */
static size_t make_packet(char *packet, unsigned int seed)
{
	char value[VALUE_BYTES + 1];
	size_t bytes = 0;

	memset(value, 'v', VALUE_BYTES);
	value[VALUE_BYTES] = '\0';
	for (int i = 0; i < COMMANDS; i++)
		bytes += sprintf(packet + bytes,
				 "set key%u 0 0 %d noreply\r\n%s\r\n",
				 (seed + i) % keys, VALUE_BYTES, value);
	return bytes + sprintf(packet + bytes, "version\r\n");
}

static void *hammer(void *arg)
{
	char *packet = malloc(COMMANDS * COMMAND_BYTES + 100);
	size_t bytes = make_packet(packet, (unsigned int)(size_t)arg);
	time_t end = time(NULL) + seconds;
	char answer[1000];
	int fd = connect_server();

	while (time(NULL) < end) {
		if (write(fd, packet, bytes) != (ssize_t)bytes ||
		    read(fd, answer, sizeof(answer)) <= 0) {
			perror("hammer");
			exit(1);
		}
	}
	close(fd);
	free(packet);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t ids[64];
	int threads = argc == 5 ? atoi(argv[2]) : 0;

	if (threads < 1 || threads > 64 || atoi(argv[3]) < 1) {
		fprintf(stderr, "usage: hammer PORT THREADS KEYS SECONDS\n");
		return 2;
	}
	port = atoi(argv[1]);
	keys = atoi(argv[3]);
	seconds = atoi(argv[4]);
	for (int i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, hammer, (void *)(size_t)i);
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
