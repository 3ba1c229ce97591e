// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lockgen: pool.  Threads that wait, and none of them for a lock: workers on a
 * condition variable, each woken now and then for a piece of work, and others
 * on a semaphore, a barrier, a thread's end and a futex used as an event.  All
 * of these sleep in the futex system call, as one that waits for a lock does;
 * a tool must not report them as contention.
 *
 * Only one thread at a time comes to the pool's mutex, so nobody ever waits for
 * it.
 */
#include "lockgen.h"

#include <linux/futex.h>
#include <semaphore.h>

#define MAX_WORKERS 64

struct idler {
	void *(*run)(void *idler);
	const char *what;
	const char *symbol;
	pthread_t handle;
	char comm[16];
	atomic_int tid;
	int syscall_fd;
	void *object;
	atomic_uint waits;
	atomic_ullong wait_ns;
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t wanted;
	unsigned int items;
	bool over;
	/* Those that found the mutex held; work done; workers that have gone. */
	atomic_uint contended;
	atomic_uint done;
	atomic_uint gone;
} lockgen_pool = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.wanted = PTHREAD_COND_INITIALIZER,
};

static sem_t lockgen_pool_sem;
static pthread_barrier_t lockgen_pool_barrier;
static atomic_uint lockgen_pool_event;

static void lock_pool(void)
{
	int error = pthread_mutex_trylock(&lockgen_pool.mutex);

	if (!error)
		return;
	lockgen_pool.contended++;
	must(pthread_mutex_lock(&lockgen_pool.mutex));
}

static void come(struct idler *idler)
{
	pthread_setname_np(pthread_self(), idler->comm);
	idler->tid = gettid();
}

static void waited(struct idler *idler, uint64_t start)
{
	idler->waits++;
	idler->wait_ns += since(start);
}

static OWN_FUNCTION void *lockgen_pool_work(void *data)
{
	struct idler *idler = data;
	bool over = false;

	come(idler);
	while (!over) {
		lock_pool();
		while (!lockgen_pool.items && !lockgen_pool.over) {
			uint64_t start = now();

			must(pthread_cond_wait(&lockgen_pool.wanted,
					       &lockgen_pool.mutex));
			waited(idler, start);
		}
		over = lockgen_pool.over;
		if (!over)
			lockgen_pool.items--;
		must(pthread_mutex_unlock(&lockgen_pool.mutex));
		if (!over)
			lockgen_pool.done++;
	}
	lockgen_pool.gone++;
	return NULL;
}

static OWN_FUNCTION void *lockgen_pool_sem_wait(void *data)
{
	struct idler *idler = data;
	uint64_t start;

	come(idler);
	start = now();
	while (sem_wait(&lockgen_pool_sem))
		;
	waited(idler, start);
	return NULL;
}

static OWN_FUNCTION void *lockgen_pool_barrier_wait(void *data)
{
	struct idler *idler = data;
	uint64_t start;

	come(idler);
	start = now();
	pthread_barrier_wait(&lockgen_pool_barrier);
	waited(idler, start);
	return NULL;
}

static OWN_FUNCTION void *lockgen_pool_event_wait(void *data)
{
	struct idler *idler = data;
	uint64_t start;

	come(idler);
	start = now();
	while (!lockgen_pool_event)
		syscall(SYS_futex, &lockgen_pool_event, FUTEX_WAIT_PRIVATE, 0,
			NULL, NULL, 0);
	waited(idler, start);
	return NULL;
}

/* It waits for the one that waits on the event. */
static OWN_FUNCTION void *lockgen_pool_join(void *data)
{
	struct idler *idler = data;
	const struct idler *other = idler->object;
	uint64_t start;

	come(idler);
	start = now();
	pthread_join(other->handle, NULL);
	waited(idler, start);
	return NULL;
}

enum { IDLE_SEM, IDLE_BARRIER, IDLE_EVENT, IDLE_JOIN, OTHERS };

static struct idler idlers[OTHERS + MAX_WORKERS] = {
	[IDLE_SEM] = { lockgen_pool_sem_wait, "sem", "lockgen_pool_sem_wait",
		       .comm = "lg_usem", .object = &lockgen_pool_sem },
	[IDLE_BARRIER] = { lockgen_pool_barrier_wait, "barrier",
			   "lockgen_pool_barrier_wait", .comm = "lg_ubarrier",
			   .object = &lockgen_pool_barrier },
	[IDLE_EVENT] = { lockgen_pool_event_wait, "event",
			 "lockgen_pool_event_wait", .comm = "lg_uevent",
			 .object = &lockgen_pool_event },
	[IDLE_JOIN] = { lockgen_pool_join, "join", "lockgen_pool_join",
			.comm = "lg_ujoin", .object = &idlers[IDLE_EVENT] },
};

static unsigned int count(const struct request *rq)
{
	return OTHERS + (unsigned int)rq->value[K_WORKERS];
}

/* Asleep in a futex; what is not told is believed. */
static bool idle(const struct idler *idler)
{
	unsigned long first;
	long nr;
	int in = in_syscall(idler->syscall_fd, &nr, &first);

	return in < 0 || (in && nr == SYS_futex);
}

/* One after another, so that no two are at the mutex. */
static int start_idlers(const struct request *rq)
{
	unsigned int i;
	int error;

	sem_init(&lockgen_pool_sem, 0, 0);
	must(pthread_barrier_init(&lockgen_pool_barrier, NULL, 2));
	for (i = 0; i < count(rq); i++) {
		struct idler *idler = &idlers[i];

		if (i >= OTHERS) {
			idler->run = lockgen_pool_work;
			idler->what = "cond";
			idler->symbol = "lockgen_pool_work";
			idler->object = &lockgen_pool.wanted;
			snprintf(idler->comm, sizeof(idler->comm), "lg_uwork");
		}
		error = pthread_create(&idler->handle, NULL, idler->run, idler);
		if (error)
			return error;
		await(idler->tid);
		idler->syscall_fd = open_syscall(idler->tid);
		await(idle(idler));
	}
	return 0;
}

static bool all_idle(const struct request *rq)
{
	unsigned int i;

	for (i = OTHERS; i < count(rq); i++)
		if (!idle(&idlers[i]))
			return false;
	return true;
}

/* Not while one that was woken may be on its way to the mutex. */
static void signal_pool(bool over)
{
	lock_pool();
	if (over)
		lockgen_pool.over = true;
	else
		lockgen_pool.items++;
	must(pthread_mutex_unlock(&lockgen_pool.mutex));
	must(pthread_cond_signal(&lockgen_pool.wanted));
}

static void hand_out(const struct request *rq)
{
	unsigned int i, n = (unsigned int)rq->value[K_ITEMS];
	uint64_t ns = (uint64_t)rq->value[K_STAND_US] * NSEC_PER_USEC;
	uint64_t start = now();

	for (i = 0; i < n && !stopped; i++) {
		signal_pool(false);
		await(lockgen_pool.done == i + 1 && all_idle(rq));
		while (since(start) < ns * (i + 1) / n && !stopped)
			sleep_ns(100000);
	}
	while (since(start) < ns && !stopped)
		sleep_ns(1000000);
}

static void dismiss(const struct request *rq)
{
	unsigned int i;
	int error;

	for (i = OTHERS; i < count(rq) && !stopped; i++) {
		signal_pool(true);
		await(lockgen_pool.gone == i - OTHERS + 1);
	}
	sem_post(&lockgen_pool_sem);
	pthread_barrier_wait(&lockgen_pool_barrier);
	lockgen_pool_event = 1;
	syscall(SYS_futex, &lockgen_pool_event, FUTEX_WAKE_PRIVATE, 1, NULL,
		NULL, 0);
	for (i = 0; i < count(rq); i++) {
		/* That one is joined by another. */
		if (i == IDLE_EVENT)
			continue;
		error = pthread_join(idlers[i].handle, NULL);
		must(error);
	}
}

static void print_pool(const struct request *rq)
{
	unsigned int i;

	printf("#lockgen 1 pool\n");
	printf("#idle\twhat\ttid\tcomm\tobject\twaits\twait_ns\tcaller\n");
	for (i = 0; i < count(rq); i++) {
		struct idler *idler = &idlers[i];

		printf("idle\t%s\t%d\t%s\t0x%lx\t%u\t%llu\t%s\n", idler->what,
		       idler->tid, idler->comm,
		       (unsigned long)(uintptr_t)idler->object, idler->waits,
		       (unsigned long long)idler->wait_ns, idler->symbol);
	}
	printf("#pool\titems\tmutex\tcontended\n");
	printf("pool\t%u\t0x%lx\t%u\n", lockgen_pool.done,
	       (unsigned long)(uintptr_t)&lockgen_pool.mutex,
	       lockgen_pool.contended);
}

static int perform_pool(const struct request *rq)
{
	int error = start_idlers(rq);

	if (error)
		return error;
	if (rq->value[K_STAND]) {
		print_pool(rq);
		fflush(stdout);
	}
	hand_out(rq);
	if (rq->value[K_STAND]) {
		stand();
		stopped = false;
	}
	if (stopped)
		return EINTR;
	dismiss(rq);
	print_pool(rq);
	return 0;
}

static bool refuse_pool(const struct request *rq, char *why, size_t size)
{
	if (!rq->value[K_STAND] || !rq->given[K_STAND_US])
		return false;
	snprintf(why, size,
		 "hold_us=%d: stand=1 lasts until it is ended, give one of "
		 "them",
		 rq->value[K_STAND_US]);
	return true;
}

const struct plan plan_pool = { refuse_pool, perform_pool };
