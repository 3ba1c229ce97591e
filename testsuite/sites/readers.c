// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Readers of a percpu_rwsem, like the kernel's.  At the end of a function's
 * first line: FUNCTION OPERATION, and at how many places of it, before and
 * behind, a probe can stand.
 */
/* clang-format off: the comments belong to their lines. */
struct percpu_rw_semaphore {
	int state;
	unsigned int *count;
	long writer;
};

void __percpu_down_read(struct percpu_rw_semaphore *sem, int try);
void rcuwait_wake_up(long *writer);
void work(void *place);
int ask(void *place);

static inline __attribute__((always_inline)) void
percpu_down_read(struct percpu_rw_semaphore *sem)
{
	if (__builtin_expect(!sem->state, 1))
		asm volatile("incl %%gs:(%0)" : : "r"(sem->count) : "memory");
	else
		__percpu_down_read(sem, 0);
	asm volatile("nop" : : : "memory");
}

static inline __attribute__((always_inline)) void
percpu_up_read(struct percpu_rw_semaphore *sem)
{
	asm volatile("nop" : : : "memory");
	if (__builtin_expect(!sem->state, 1)) {
		asm volatile("decl %%gs:(%0)" : : "r"(sem->count) : "memory");
	} else {
		asm volatile("decl %%gs:(%0)" : : "r"(sem->count) : "memory");
		rcuwait_wake_up(&sem->writer);
	}
	asm volatile("nop" : : : "memory");
}

struct room {
	long pad;
	struct percpu_rw_semaphore sem;
	long count;
};

struct percpu_rw_semaphore global_sem;

void enters(struct room *it) // enters down 1 1
{
	it->count++;
	percpu_down_read(&it->sem);
	it->count--;
	work(it);
}

void leaves(struct room *it) // leaves up 1 1
{
	work(it);
	it->count++;
	percpu_up_read(&it->sem);
	it->count--;
	work(it);
}

void twice(struct room *it) // twice down 2 2
{
	percpu_down_read(&it->sem);
	work(it);
	percpu_down_read(&global_sem);
	work(it);
}

void loops(struct room *it) // loops down 1 1
{
	while (ask(it)) {
		percpu_down_read(&global_sem);
		work(it);
	}
	work(it);
}

/* Not inlined from the lock's header: nothing is known of what is beside it. */
void calls(struct room *it) // calls down 0 0
{
	if (it->sem.state)
		__percpu_down_read(&it->sem, 0);
	work(it);
}

/* Somebody else's. */
void wakes(long *writer)
{
	rcuwait_wake_up(writer);
	work(writer);
}
