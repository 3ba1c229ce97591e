/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits for a mutex that a signal interrupts, while the mutex is let go: the waiter takes
 * it without asking the kernel again. Between them it is idle, while another thread holds
 * the mutex and nobody waits, and then it waits once more in the usual way.  At the end the
 * whole process is stopped a few times while it waits, and goes on.
 *
 * Prints `interrupted MUTEX ROUNDS WAITS CUT_NS WAIT_NS`: how many waits were interrupted,
 * and how many others there were; how long the first were, up to where the mutex was let go,
 * and the others.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 10
#define STOPS 3
#define MS 1000000L

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int step, in_handler;
static atomic_int waiter_tid;
static long wait_ns;

static long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 * MS + ts.tv_nsec;
}

static void pause_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * MS };

	nanosleep(&ts, NULL);
}

static void until_step(int to)
{
	while (atomic_load(&step) < to)
		pause_ms(1);
}

/* Until the waiter is in a system call of that number. */
static void until_in(long number)
{
	char path[64], text[32];
	long is;

	do {
		FILE *f;

		pause_ms(1);
		snprintf(path, sizeof(path), "/proc/self/task/%d/syscall",
			 atomic_load(&waiter_tid));
		f = fopen(path, "r");
		is = -1;
		if (f && fgets(text, sizeof(text), f))
			sscanf(text, "%ld", &is);
		if (f)
			fclose(f);
	} while (is != number);
}

/* Until it has been let go. */
static void on_signal(int number)
{
	(void)number;
	atomic_store(&in_handler, 1);
	while (atomic_load(&in_handler) == 1)
		;
}

static void be_idle(void)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 150 * MS;
	until.tv_sec += until.tv_nsec / (1000 * MS);
	until.tv_nsec %= 1000 * MS;
	pthread_mutex_lock(&own);
	pthread_cond_timedwait(&never, &own, &until);
	pthread_mutex_unlock(&own);
}

static void *waiter(void *unused)
{
	int round;
	long from;

	(void)unused;
	atomic_store(&waiter_tid, syscall(SYS_gettid));
	for (round = 0; round < ROUNDS; round++) {
		until_step(4 * round + 1);
		pthread_mutex_lock(&mutex); /* interrupted */
		pthread_mutex_unlock(&mutex);
		atomic_fetch_add(&step, 1);
		be_idle();
		until_step(4 * round + 3);
		from = now_ns();
		pthread_mutex_lock(&mutex);
		wait_ns += now_ns() - from;
		pthread_mutex_unlock(&mutex);
		atomic_fetch_add(&step, 1);
	}
	for (round = 0; round < STOPS; round++) {
		struct timespec until;

		until_step(4 * ROUNDS + 2 * round + 1);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 1000;
		from = now_ns();
		pthread_mutex_timedlock(&mutex, &until);
		wait_ns += now_ns() - from;
		pthread_mutex_unlock(&mutex);
		atomic_fetch_add(&step, 1);
	}
	return NULL;
}

/* By another process, since it is all threads that stop. */
static void be_stopped(void)
{
	pid_t self = getpid(), other = fork();

	if (!other) {
		kill(self, SIGSTOP);
		pause_ms(30);
		kill(self, SIGCONT);
		_exit(0);
	}
	waitpid(other, NULL, 0);
}

int main(void)
{
	struct sigaction action;
	long cut_ns = 0, from;
	pthread_t thread;
	int round;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal; /* no SA_RESTART: the call ends */
	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&thread, NULL, waiter, NULL);
	for (round = 0; round < ROUNDS; round++) {
		pthread_mutex_lock(&mutex);
		atomic_fetch_add(&step, 1);
		from = now_ns();
		until_in(SYS_futex);
		pause_ms(20);
		pthread_kill(thread, SIGUSR1);
		while (!atomic_load(&in_handler))
			;
		pthread_mutex_unlock(&mutex);
		cut_ns += now_ns() - from;
		atomic_store(&in_handler, 0);
		until_step(4 * round + 2);

		/* Nobody waits for it. */
		pthread_mutex_lock(&mutex);
		pause_ms(50);
		pthread_mutex_unlock(&mutex);
		until_in(SYS_clock_nanosleep);

		pthread_mutex_lock(&mutex);
		atomic_fetch_add(&step, 1);
		until_in(SYS_futex);
		pause_ms(20);
		pthread_mutex_unlock(&mutex);
		until_step(4 * round + 4);
	}
	for (round = 0; round < STOPS; round++) {
		pthread_mutex_lock(&mutex);
		atomic_fetch_add(&step, 1);
		until_in(SYS_futex);
		be_stopped();
		pause_ms(20);
		pthread_mutex_unlock(&mutex);
		until_step(4 * ROUNDS + 2 * round + 2);
	}
	pthread_join(thread, NULL);
	printf("interrupted\t0x%lx\t%d\t%d\t%ld\t%ld\n", (unsigned long)&mutex,
	       ROUNDS, ROUNDS + STOPS, cut_ns, wait_ns);
	return 0;
}
