/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locks that are not what they should be: for each, a thread waits for a while,
 * and `bad WHAT LOCK OWNER WAITS` says what may be told of it.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct bad {
	const char *what;
	pthread_mutex_t *mutex;
	int owner; /* what is written into it; -1: nothing */
	int told; /* the owner that may be told */
};

static void pause_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static void *wait_for(void *mutex)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_timedlock(mutex, &until);
	return NULL;
}

/* Takes the mutex and ends. */
static void *take(void *mutex)
{
	pthread_mutex_lock(mutex);
	return (void *)(long)syscall(SYS_gettid);
}

static void wait_in_vain(const struct bad *bad)
{
	pthread_t waiter;

	if (bad->owner >= 0)
		bad->mutex->__data.__owner = bad->owner;
	pthread_create(&waiter, NULL, wait_for, bad->mutex);
	pthread_join(waiter, NULL);
	printf("bad\t%s\t0x%lx\t%d\t1\n", bad->what, (unsigned long)bad->mutex,
	       bad->told);
	fflush(stdout);
}

/* What a thread waits at goes away while it waits: the kernel's wait goes on. */
static void *wait_at(void *word)
{
	struct timespec second = { 1, 0 };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, &second, NULL, 0);
	return NULL;
}

static void unmapped(void)
{
	unsigned int *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t waiter;

	word[0] = 2;
	pthread_create(&waiter, NULL, wait_at, word);
	pause_ms(300);
	munmap(word, 4096);
	pthread_join(waiter, NULL);
	printf("bad\tunmapped\t0x%lx\t0\t1\n", (unsigned long)word);
	fflush(stdout);
}

int main(void)
{
	static pthread_mutex_t locks[7];
	pthread_t ended;
	void *tid;
	unsigned int i;

	for (i = 0; i < 7; i++)
		pthread_mutex_init(&locks[i], NULL);
	pthread_mutex_lock(&locks[0]);
	wait_in_vain(&(struct bad){ "sound", &locks[0], -1, getpid() });
	pthread_mutex_lock(&locks[1]);
	wait_in_vain(&(struct bad){ "init's", &locks[1], 1, 0 });
	pthread_mutex_lock(&locks[2]);
	wait_in_vain(&(struct bad){ "none", &locks[2], 4000000, 0 });
	pthread_mutex_lock(&locks[3]);
	wait_in_vain(&(struct bad){ "negative", &locks[3], 0x7fffffff, 0 });
	pthread_create(&ended, NULL, take, &locks[4]);
	pthread_join(ended, &tid);
	wait_in_vain(&(struct bad){ "ended", &locks[4], -1, 0 });
	pthread_mutex_lock(&locks[5]);
	memset((char *)&locks[5] + 8, 0xff,
	       sizeof(locks[5]) - 8 - sizeof(int) * 5);
	locks[5].__data.__kind = 0;
	wait_in_vain(&(struct bad){ "corrupted", &locks[5], -1, 0 });
	/* As if the holder had ended and its number were another program's by now. */
	pthread_mutex_lock(&locks[6]);
	wait_in_vain(&(struct bad){ "recycled", &locks[6], getppid(), 0 });
	unmapped();
	return 0;
}
