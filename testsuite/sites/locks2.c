// SPDX-License-Identifier: GPL-2.0-or-later
/* The second file of locks.c. */
#include <pthread.h>

static pthread_mutex_t twin = PTHREAD_MUTEX_INITIALIZER;
extern pthread_mutex_t many[8];
void work(void *place);
void twice(void);

void twice(void)
{
	pthread_mutex_lock(&twin); // pthread_mutex lock twin
	pthread_mutex_lock(&many[2]); // pthread_mutex lock many[]
	work(&twin);
	pthread_mutex_unlock(&many[2]); // pthread_mutex unlock many[]
	pthread_mutex_unlock(&twin); // pthread_mutex unlock twin
	work(&twin);
}
