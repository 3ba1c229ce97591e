// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that wait in the functions of the C library that wait, and what their
 * stacks look like then: a line for each thread, with what it waits for, the
 * name of it, and the addresses as the files have them, the innermost first,
 * as FILE:ADDRESS.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define FRAMES 32

struct pool {
	int number;
	pthread_mutex_t mutex, priority, recursive, checked, own;
	pthread_rwlock_t read, written;
	pthread_cond_t cond;
	sem_t sem;
	pthread_barrier_t barrier;
	mtx_t c11;
	cnd_t c11_cond;
};

static struct pool *pool;
static pthread_mutex_t global = PTHREAD_MUTEX_INITIALIZER;
static pthread_t forever;
static struct timespec later;
static volatile sig_atomic_t told;
static volatile int sink, tid;

/* A function that waits, and goes on behind it. */
#define WAIT(name, call)                                              \
	static __attribute__((noinline)) void name(struct pool *self) \
	{                                                             \
		call;                                                 \
		sink++;                                               \
		(void)self;                                           \
	}

static __attribute__((noinline)) int lock_for(pthread_mutex_t *mutex)
{
	int result = pthread_mutex_lock(mutex);

	sink++;
	return result;
}

WAIT(mutex, pthread_mutex_lock(&self->mutex))
WAIT(priority, pthread_mutex_lock(&self->priority))
WAIT(recursive, pthread_mutex_lock(&self->recursive))
WAIT(checked, pthread_mutex_lock(&self->checked))
WAIT(timed, pthread_mutex_timedlock(&self->mutex, &later))
WAIT(by_clock, pthread_mutex_clocklock(&self->mutex, CLOCK_REALTIME, &later))
WAIT(wrapped, lock_for(&self->mutex))
WAIT(of_file, pthread_mutex_lock(&global))
WAIT(c11, mtx_lock(&self->c11))
WAIT(reads, pthread_rwlock_rdlock(&self->written))
WAIT(reads_timed, pthread_rwlock_timedrdlock(&self->written, &later))
WAIT(writes, pthread_rwlock_wrlock(&self->read))
WAIT(writes_timed, pthread_rwlock_timedwrlock(&self->read, &later))
WAIT(cond, pthread_cond_wait(&self->cond, &self->own))
WAIT(cond_timed, pthread_cond_timedwait(&self->cond, &self->own, &later))
WAIT(c11_cond, cnd_wait(&self->c11_cond, (mtx_t *)&self->own))
WAIT(sem, sem_wait(&self->sem))
WAIT(sem_timed, sem_timedwait(&self->sem, &later))
WAIT(barrier, pthread_barrier_wait(&self->barrier))
WAIT(join, pthread_join(forever, NULL))

static const struct wait {
	const char *op, *name;
	void (*run)(struct pool *self);
} waits[] = {
	{ "mutex", "pool.mutex", mutex },
	{ "mutex", "pool.priority", priority },
	{ "mutex", "pool.recursive", recursive },
	{ "mutex", "pool.checked", checked },
	{ "mutex", "pool.mutex", timed },
	{ "mutex", "pool.mutex", by_clock },
	{ "mutex", "pool.mutex", wrapped },
	{ "mutex", "global", of_file },
	{ "mutex", "pool.c11", c11 },
	{ "rdlock", "pool.written", reads },
	{ "rdlock", "pool.written", reads_timed },
	{ "wrlock", "pool.read", writes },
	{ "wrlock", "pool.read", writes_timed },
	{ "idle", "pool.cond", cond },
	{ "idle", "pool.cond", cond_timed },
	{ "idle", "pool.c11_cond", c11_cond },
	{ "idle", "pool.sem", sem },
	{ "idle", "pool.sem", sem_timed },
	{ "idle", "pool.barrier", barrier },
	{ "idle", "?", join },
};

#define WAITS (sizeof(waits) / sizeof(*waits))

static void print_address(void *address)
{
#ifdef STATIC
	printf(" program:%lx", (unsigned long)address);
#else
	struct link_map *map;
	const char *slash;
	Dl_info info;

	if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP))
		return;
	slash = strrchr(info.dli_fname, '/');
	printf(" %s:%lx", slash ? slash + 1 : info.dli_fname,
	       (unsigned long)address - map->l_addr);
#endif
}

/* The first two are the handler's own. */
static void tell(int signal)
{
	void *frames[FRAMES];
	int count = backtrace(frames, FRAMES);

	(void)signal;
	for (int i = 2; i < count; i++)
		print_address(frames[i]);
	putchar('\n');
	told = 1;
}

static void *run(void *argument)
{
	const struct wait *wait = argument;

	tid = (int)syscall(SYS_gettid);
	if (wait->run == cond || wait->run == cond_timed ||
	    wait->run == c11_cond)
		pthread_mutex_lock(&pool->own);
	wait->run(pool);
	return NULL;
}

static void *stay(void *argument)
{
	for (;;)
		pause();
	return argument;
}

/* Whether the thread is in the system call futex. */
static int is_waiting(int thread)
{
	char path[64], text[16] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", thread);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return atoi(text) == SYS_futex;
}

static void init_mutex(pthread_mutex_t *it, int type, int protocol)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, type);
	pthread_mutexattr_setprotocol(&attributes, protocol);
	pthread_mutex_init(it, &attributes);
	pthread_mutex_lock(it);
}

static void init(void)
{
	void *frame;

	pool = calloc(1, sizeof(*pool));
	init_mutex(&pool->mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE);
	init_mutex(&pool->priority, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT);
	init_mutex(&pool->recursive, PTHREAD_MUTEX_RECURSIVE,
		   PTHREAD_PRIO_NONE);
	init_mutex(&pool->checked, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE);
	pthread_mutex_init(&pool->own, NULL);
	pthread_rwlock_init(&pool->read, NULL);
	pthread_rwlock_rdlock(&pool->read);
	pthread_rwlock_init(&pool->written, NULL);
	pthread_rwlock_wrlock(&pool->written);
	pthread_cond_init(&pool->cond, NULL);
	sem_init(&pool->sem, 0, 0);
	pthread_barrier_init(&pool->barrier, NULL, 100);
	mtx_init(&pool->c11, mtx_plain);
	mtx_lock(&pool->c11);
	cnd_init(&pool->c11_cond);
	pthread_mutex_lock(&global);
	pthread_create(&forever, NULL, stay, NULL);
	clock_gettime(CLOCK_REALTIME, &later);
	later.tv_sec += 600;
	signal(SIGUSR1, tell);
	/* It loads what it needs, which is not for a handler. */
	backtrace(&frame, 1);
}

int main(void)
{
	init();
	for (size_t i = 0; i < WAITS; i++) {
		pthread_t thread;

		tid = 0;
		pthread_create(&thread, NULL, run, (void *)&waits[i]);
		/* Ten seconds, then it is said that there is none. */
		for (int j = 0; j < 10000 && !(tid && is_waiting(tid)); j++)
			usleep(1000);
		printf("%s %s", waits[i].op, waits[i].name);
		told = 0;
		pthread_kill(thread, SIGUSR1);
		for (int j = 0; j < 10000 && !told; j++)
			usleep(1000);
	}
	return 0;
}
