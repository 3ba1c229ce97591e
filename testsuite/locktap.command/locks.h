/* SPDX-License-Identifier: GPL-2.0-or-later */
struct table {
	int count;
	struct {
		pthread_mutex_t mutex;
	} inner;
};

struct slot {
	int number;
	pthread_mutex_t lock;
};

void other(struct table *table);
