// SPDX-License-Identifier: GPL-2.0-or-later
/* Has a lock of the same name as locks.c. */
#include <pthread.h>

#include "locks.h"

static pthread_mutex_t twin = PTHREAD_MUTEX_INITIALIZER;

void other(struct table *table)
{
	pthread_mutex_lock(&twin);
	table->count++;
	pthread_mutex_unlock(&twin);
}
