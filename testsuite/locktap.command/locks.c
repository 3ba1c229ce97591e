// SPDX-License-Identifier: GPL-2.0-or-later
/* A program with locks of all sorts of names, for locktap sites. */
#include <pthread.h>

#include "locks.h"

pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t twin = PTHREAD_MUTEX_INITIALIZER;
struct slot slots[4];
pthread_rwlock_t many = PTHREAD_RWLOCK_INITIALIZER;

__attribute__((noinline)) void table_add(struct table *table, int n)
{
	pthread_mutex_lock(&table->inner.mutex);
	table->count += n;
	pthread_mutex_unlock(&table->inner.mutex);
}

static int slot_count;

__attribute__((noinline)) int slot(void)
{
	int count;

	pthread_mutex_lock(&slots[2].lock);
	count = slot_count++;
	pthread_mutex_unlock(&slots[2].lock);
	return count;
}

static inline int read_count(const struct table *table)
{
	int count;

	pthread_rwlock_rdlock(&many);
	count = table->count;
	pthread_rwlock_unlock(&many);
	return count;
}

int main(int argc, char **argv)
{
	static struct table table;

	(void)argv;
	pthread_mutex_lock(&outer);
	table_add(&table, argc);
	pthread_mutex_unlock(&outer);
	pthread_mutex_lock(&twin);
	other(&table);
	pthread_mutex_unlock(&twin);
	return read_count(&table) + slot();
}
