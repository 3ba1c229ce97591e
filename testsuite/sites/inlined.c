// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What test-sites looks into: functions that are inlined at several places,
 * in pieces, and into each other; the spinlock slow path in small; per-CPU
 * variables; and the text that makes a file a kernel image.
 */
#define always_inline static inline __attribute__((always_inline))
#define out_of_line __attribute__((noinline, noclone))
#define likely(x) __builtin_expect(!!(x), 1)
#define percpu __attribute__((section(".data..percpu"), used))

#ifndef RELEASE
#define RELEASE "9.9.9-test"
#endif

const char linux_banner[] __attribute__((used)) =
	"Linux version " RELEASE " (somebody@somewhere) #1 SMP";

percpu int first_lock = 1;
percpu char too_small = 1;
percpu struct {
	long pad[4];
	int lock;
} run_queues = { { 1 }, 1 };
/* Two names for one variable. */
extern __typeof__(run_queues) __pi_run_queues
	__attribute__((alias("run_queues")));

volatile int sink;

struct lock {
	union {
		int value;
		struct {
			unsigned char locked;
			unsigned char pending;
		};
	};
};

always_inline void leaf(int value)
{
	sink = value;
	sink = value + 1;
}

always_inline void middle(int value)
{
	leaf(value);
	sink = 2 * value;
}

/* leaf() inlined directly, through middle(), and in an unlikely place. */
out_of_line int plain(int value)
{
	leaf(value);
	for (int i = 0; i < value; i++)
		middle(i);
	if (!likely(value))
		leaf(-1);
	return sink;
}

/* Code that the compiler moves away from the rest. */
out_of_line __attribute__((cold)) void give_up(void)
{
	sink = -1;
}

always_inline int in_pieces(int value)
{
	if (!likely(value < 100)) {
		give_up();
		sink = 3;
	}
	return value * 3;
}

out_of_line int pieces(int value)
{
	return in_pieces(value) + in_pieces(value + sink);
}

/* A name that stap does not probe. */
out_of_line void test_spin_lock(int value)
{
	leaf(value);
	sink = 7;
}

/* A section that stap does not probe. */
out_of_line __attribute__((section(".init.text"))) void at_start(int value)
{
	leaf(value);
}

always_inline _Bool arch_try_cmpxchg(int *value, int old, int new)
{
	_Bool done;

	__asm__ volatile("lock cmpxchgl %[new], %[value]"
			 : "=@ccz"(done), [value] "+m"(*value), "+a"(old)
			 : [new] "r"(new)
			 : "memory");
	return done;
}

always_inline void cpu_relax(void)
{
	__asm__ volatile("pause" ::: "memory");
}

always_inline _Bool virt_spin_lock(struct lock *lock)
{
	if (likely(!sink))
		return 0;
	while (*(volatile int *)&lock->value ||
	       !arch_try_cmpxchg(&lock->value, 0, 1))
		cpu_relax();
	return 1;
}

always_inline void clear_pending_set_locked(struct lock *lock)
{
	*(volatile short *)&lock->value = 1;
}

out_of_line void native_queued_spin_lock_slowpath(struct lock *lock)
{
	if (virt_spin_lock(lock))
		return;
	if (*(volatile unsigned char *)&lock->locked) {
		do {
			cpu_relax();
		} while (*(volatile unsigned char *)&lock->locked);
		clear_pending_set_locked(lock);
		return;
	}
	sink = 4;
	clear_pending_set_locked(lock);
}

int main(int argc, char **argv)
{
	struct lock lock = { { 0 } };

	(void)argv;
	at_start(argc);
	test_spin_lock(argc);
	native_queued_spin_lock_slowpath(&lock);
	return plain(argc) + pieces(argc);
}
