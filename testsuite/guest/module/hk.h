/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hk.ko: its lock variables, their counts, and what the locks protect. */
#ifndef HK_H
#define HK_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/percpu-rwsem.h>
#include <linux/percpu.h>
#include <linux/rtmutex.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>
#include <linux/ww_mutex.h>

/* clang-format off */

/*
 * The lock variables: identifier, NAME, kind, and whether the timed pairs take
 * the lock shared.
 */
#define HK_VARIABLES(V)							\
	V(obj_lock_a, "hk_obj.lock_a", "spin", 0)			\
	V(obj_lock_b, "hk_obj.lock_b", "spin", 0)			\
	V(obj_deep, "hk_obj.in[].deep", "spin", 0)			\
	V(obj_rw, "hk_obj.rw", "rwlock", 0)				\
	V(obj_mtx, "hk_obj.mtx", "mutex", 0)				\
	V(obj_sem, "hk_obj.sem", "rwsem", 0)				\
	V(other_raw, "hk_other.raw", "spin", 0)				\
	V(other_lock_a, "hk_other.lock_a", "spin", 0)			\
	V(other_m, "hk_other.m", "mutex", 0)				\
	V(other_ww, "hk_other.ww", "mutex", 0)				\
	V(other_sema, "hk_other.sema", "sem", 0)			\
	V(other_rt, "hk_other.rt", "rtmutex", 0)			\
	V(other_pcpu, "hk_other.pcpu", "percpu_rwsem", 1)		\
	V(global_spin, "hk_global_spin", "spin", 0)			\
	V(global_mutex, "hk_global_mutex", "mutex", 0)			\
	V(global_rwlock, "hk_global_rwlock", "rwlock", 0)		\
	V(config_lock, "hk_config.lock", "spin", 0)			\
	V(array, "hk_array[]", "spin", 0)				\
	V(twin, "hk_twin@hk_sites.c", "spin", 0)			\
	V(twin_more, "hk_twin@hk_more.c", "spin", 0)			\
	V(local, "hk_local", "spin", 0)					\
	V(percpu_lock, "hk_percpu.lock", "spin", 0)			\
	V(unknown, "?", "spin", 0)

/* clang-format on */

enum hk_variable {
#define HK_ID(id, name, kind, shared) HK_##id,
	HK_VARIABLES(HK_ID)
#undef HK_ID
		HK_NR_VARIABLES,
	/* A step that uses several of them. */
	HK_SEVERAL = HK_NR_VARIABLES,
};

enum hk_op {
	HK_ACQUIRED,
	HK_RELEASE,
	HK_TRYFAIL,
	HK_DOWNGRADE,
	HK_INTERRUPTED,
	HK_NR_OPS
};

/* Counting takes no lock, and one instruction. */
struct hk_counts {
	u64 all[HK_NR_VARIABLES][HK_NR_OPS];
	u64 shared[HK_NR_VARIABLES][HK_NR_OPS];
};

DECLARE_PER_CPU(struct hk_counts, hk_counts);

static __always_inline void hk_count(enum hk_variable v, enum hk_op op)
{
	this_cpu_inc(hk_counts.all[v][op]);
}

static __always_inline void hk_count_shared(enum hk_variable v, enum hk_op op)
{
	hk_count(v, op);
	this_cpu_inc(hk_counts.shared[v][op]);
}

#define hk_got(id) hk_count(HK_##id, HK_ACQUIRED)
#define hk_left(id) hk_count(HK_##id, HK_RELEASE)
#define hk_failed(id) hk_count(HK_##id, HK_TRYFAIL)
#define hk_got_shared(id) hk_count_shared(HK_##id, HK_ACQUIRED)
#define hk_left_shared(id) hk_count_shared(HK_##id, HK_RELEASE)
#define hk_failed_shared(id) hk_count_shared(HK_##id, HK_TRYFAIL)

/*
 * What a lock protects.  While nobody is inside, inside is 0 and first equals
 * second.  Whoever has the lock exclusively sets inside to its tid after it
 * got it, and clears it before it lets go; in between first is one ahead.
 * So code that runs with the lock held sees 0 or its own tid, never another's.
 */
struct hk_data {
	pid_t inside;
	u32 spare;
	u64 first;
	u64 second;
};

extern atomic_t hk_broken;

static __always_inline void hk_dwell(void)
{
	int i;

	/* An emulator changes to the next CPU here. */
	for (i = 0; i < 3; i++)
		cpu_relax();
}

static __always_inline void hk_enter(struct hk_data *d)
{
	if (READ_ONCE(d->inside) || d->first != d->second)
		atomic_inc(&hk_broken);
	WRITE_ONCE(d->inside, current->pid);
	d->first++;
	hk_dwell();
}

static __always_inline void hk_leave(struct hk_data *d)
{
	d->second++;
	if (READ_ONCE(d->inside) != current->pid || d->first != d->second)
		atomic_inc(&hk_broken);
	WRITE_ONCE(d->inside, 0);
}

static __always_inline void hk_look(const struct hk_data *d)
{
	hk_dwell();
	if (READ_ONCE(d->inside) || d->first != d->second)
		atomic_inc(&hk_broken);
}

#define HK_DEEP 4

struct hk_obj {
	spinlock_t lock_a;
	struct hk_data data_a;
	spinlock_t lock_b;
	struct hk_data data_b;
	struct {
		spinlock_t deep;
		struct hk_data data;
	} in[HK_DEEP];
	rwlock_t rw;
	struct hk_data data_rw;
	struct mutex mtx;
	struct hk_data data_mtx;
	struct rw_semaphore sem;
	struct hk_data data_sem;
};

struct hk_other {
	struct hk_data data_raw;
	raw_spinlock_t raw;
	/* The name of a member of another structure, at another place. */
	spinlock_t lock_a;
	struct hk_data data_a;
	struct mutex m;
	struct hk_data data_m;
	struct ww_mutex ww;
	struct hk_data data_ww;
	struct semaphore sema;
	struct hk_data data_sema;
	struct rt_mutex rt;
	struct hk_data data_rt;
	struct percpu_rw_semaphore pcpu;
	struct hk_data data_pcpu;
};

/*
 * What a step works on: objects of the thread's own, for trylocks whose
 * outcome is certain, and objects that all threads use.
 */
struct hk_work {
	struct hk_obj *own;
	struct hk_obj *shared;
	struct hk_other *own_other;
	struct hk_other *shared_other;
	unsigned int round;
};

struct hk_step {
	void (*fn)(struct hk_work *w);
	enum hk_variable uses;
};

/* Ends with one that has no function. */
extern const struct hk_step hk_sites_steps[];
extern const struct hk_step hk_more_steps[];

/* One function for each variable: that many pairs of lock and unlock. */
#define HK_PAIRS(id, name, kind, shared) \
	void hk_pairs_##id(struct hk_work *w, unsigned int pairs);
HK_VARIABLES(HK_PAIRS)
#undef HK_PAIRS

void hk_sites_init(void);
struct hk_obj *hk_obj_alloc(void);
void hk_obj_free(struct hk_obj *o);
struct hk_other *hk_other_alloc(void);
void hk_other_free(struct hk_other *o);

#endif
