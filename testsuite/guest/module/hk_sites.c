// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hk.ko: operations on struct hk_obj and on global locks, in every shape that
 * a compiler makes of them.  A step counts what it did; what it does is
 * certain, however many threads there are.
 */
#include <linux/slab.h>

#include "hk.h"

DEFINE_SPINLOCK(hk_global_spin);
DEFINE_MUTEX(hk_global_mutex);
DEFINE_RWLOCK(hk_global_rwlock);
spinlock_t hk_array[8];
static DEFINE_SPINLOCK(hk_twin);
static struct {
	int something_else;
	spinlock_t lock;
} hk_config = { .lock = __SPIN_LOCK_UNLOCKED(hk_config.lock) };

struct hk_percpu {
	unsigned long something_else;
	raw_spinlock_t lock;
	struct hk_data data;
};

static DEFINE_PER_CPU(struct hk_percpu, hk_percpu);

static struct hk_data hk_data_spin, hk_data_mutex, hk_data_rwlock,
	hk_data_array[ARRAY_SIZE(hk_array)], hk_data_twin, hk_data_config;

void hk_sites_init(void)
{
	int i, cpu;

	for (i = 0; i < ARRAY_SIZE(hk_array); i++)
		spin_lock_init(&hk_array[i]);
	for_each_possible_cpu (cpu)
		raw_spin_lock_init(&per_cpu(hk_percpu, cpu).lock);
}

struct hk_obj *hk_obj_alloc(void)
{
	struct hk_obj *o = kzalloc(sizeof(*o), GFP_KERNEL);
	int i;

	/* For scripts: what lock_a protects is 8 bytes behind it. */
	BUILD_BUG_ON(offsetof(struct hk_obj, lock_a) != 0 ||
		     (sizeof(spinlock_t) <= 8 &&
		      offsetof(struct hk_obj, data_a) != 8));
	if (!o)
		return NULL;
	spin_lock_init(&o->lock_a);
	spin_lock_init(&o->lock_b);
	for (i = 0; i < HK_DEEP; i++)
		spin_lock_init(&o->in[i].deep);
	rwlock_init(&o->rw);
	mutex_init(&o->mtx);
	init_rwsem(&o->sem);
	return o;
}

void hk_obj_free(struct hk_obj *o)
{
	kfree(o);
}

/* struct hk_obj, lock_a: every form of a spinlock. */

static noinline void hk_plain_a(struct hk_work *w)
{
	struct hk_obj *o = w->shared;

	spin_lock(&o->lock_a);
	hk_got(obj_lock_a);
	hk_enter(&o->data_a);
	hk_leave(&o->data_a);
	hk_left(obj_lock_a);
	spin_unlock(&o->lock_a);
	cpu_relax();
}

static noinline void hk_irqsave_a(struct hk_work *w)
{
	struct hk_obj *o = w->shared;
	unsigned long flags;

	spin_lock_irqsave(&o->lock_a, flags);
	hk_got(obj_lock_a);
	hk_enter(&o->data_a);
	hk_leave(&o->data_a);
	hk_left(obj_lock_a);
	spin_unlock_irqrestore(&o->lock_a, flags);
	cpu_relax();
}

static noinline void hk_irq_a(struct hk_work *w)
{
	struct hk_obj *o = w->shared;

	spin_lock_irq(&o->lock_a);
	hk_got(obj_lock_a);
	hk_enter(&o->data_a);
	hk_leave(&o->data_a);
	hk_left(obj_lock_a);
	spin_unlock_irq(&o->lock_a);
	cpu_relax();
}

static noinline void hk_bh_a(struct hk_work *w)
{
	struct hk_obj *o = w->shared;

	spin_lock_bh(&o->lock_a);
	hk_got(obj_lock_a);
	hk_enter(&o->data_a);
	hk_leave(&o->data_a);
	hk_left(obj_lock_a);
	spin_unlock_bh(&o->lock_a);
	cpu_relax();
}

/* The lock is the thread's own: the first attempt succeeds, the next fails. */
static noinline void hk_try_a(struct hk_work *w)
{
	struct hk_obj *o = w->own;
	unsigned long flags;

	if (spin_trylock(&o->lock_a)) {
		hk_got(obj_lock_a);
		hk_enter(&o->data_a);
		if (spin_trylock(&o->lock_a))
			atomic_inc(&hk_broken);
		else
			hk_failed(obj_lock_a);
		hk_leave(&o->data_a);
		hk_left(obj_lock_a);
		spin_unlock(&o->lock_a);
	} else {
		hk_failed(obj_lock_a);
	}
	if (spin_trylock_irqsave(&o->lock_a, flags)) {
		hk_got(obj_lock_a);
		hk_left(obj_lock_a);
		spin_unlock_irqrestore(&o->lock_a, flags);
	} else {
		hk_failed(obj_lock_a);
	}
	if (spin_trylock_bh(&o->lock_a)) {
		hk_got(obj_lock_a);
		hk_left(obj_lock_a);
		spin_unlock_bh(&o->lock_a);
	} else {
		hk_failed(obj_lock_a);
	}
}

/* The last thing it does is to unlock: the compiler makes a jump of it. */
static noinline void hk_tail_a(struct hk_work *w)
{
	struct hk_obj *o = w->shared;

	spin_lock(&o->lock_a);
	hk_got(obj_lock_a);
	hk_enter(&o->data_a);
	hk_leave(&o->data_a);
	hk_left(obj_lock_a);
	spin_unlock(&o->lock_a);
}

static noinline void hk_tail_irqrestore_a(struct hk_work *w)
{
	struct hk_obj *o = w->shared;
	unsigned long flags;

	spin_lock_irqsave(&o->lock_a, flags);
	hk_got(obj_lock_a);
	hk_enter(&o->data_a);
	hk_leave(&o->data_a);
	hk_left(obj_lock_a);
	spin_unlock_irqrestore(&o->lock_a, flags);
}

/* Nothing between the calls. */
static noinline void hk_empty_a(struct hk_work *w)
{
	struct hk_obj *o = w->shared;

	spin_lock(&o->lock_a);
	spin_unlock(&o->lock_a);
	hk_got(obj_lock_a);
	hk_left(obj_lock_a);
}

static noinline void hk_back_to_back(struct hk_work *w)
{
	struct hk_obj *o = w->shared;

	spin_lock(&o->lock_a);
	spin_lock(&o->lock_b);
	spin_unlock(&o->lock_b);
	spin_unlock(&o->lock_a);
	hk_got(obj_lock_a);
	hk_got(obj_lock_b);
	hk_left(obj_lock_b);
	hk_left(obj_lock_a);
}

/* Let go on two ways out. */
static noinline int hk_branch_a(struct hk_obj *o, unsigned int round)
{
	spin_lock(&o->lock_a);
	hk_got(obj_lock_a);
	if (round & 1) {
		hk_left(obj_lock_a);
		spin_unlock(&o->lock_a);
		return 1;
	}
	hk_enter(&o->data_a);
	hk_leave(&o->data_a);
	hk_left(obj_lock_a);
	spin_unlock(&o->lock_a);
	return 0;
}

static noinline void hk_branches_a(struct hk_work *w)
{
	if (hk_branch_a(w->shared, w->round))
		cpu_relax();
	hk_branch_a(w->own, w->round + 1);
	cpu_relax();
}

/* Inlined helpers, used at several places. */
static __always_inline void hk_obj_lock(struct hk_obj *o)
{
	spin_lock(&o->lock_a);
	hk_got(obj_lock_a);
	hk_enter(&o->data_a);
}

static __always_inline void hk_obj_unlock(struct hk_obj *o)
{
	hk_leave(&o->data_a);
	hk_left(obj_lock_a);
	spin_unlock(&o->lock_a);
}

static noinline void hk_helper_a(struct hk_work *w)
{
	hk_obj_lock(w->shared);
	hk_obj_unlock(w->shared);
	cpu_relax();
	hk_obj_lock(w->own);
	hk_obj_unlock(w->own);
}

static noinline void hk_helper_again_a(struct hk_work *w)
{
	struct hk_obj *both[] = { w->own, w->shared };
	int i;

	for (i = 0; i < ARRAY_SIZE(both); i++) {
		hk_obj_lock(both[i]);
		hk_obj_unlock(both[i]);
	}
}

/* An object that is there for this alone. */
static noinline void hk_freed_a(struct hk_work *w)
{
	struct hk_obj *o = hk_obj_alloc();

	if (!o) {
		atomic_inc(&hk_broken);
		return;
	}
	spin_lock(&o->lock_a);
	hk_got(obj_lock_a);
	hk_enter(&o->data_a);
	hk_leave(&o->data_a);
	hk_left(obj_lock_a);
	spin_unlock(&o->lock_a);
	kfree(o);
}

/* Guards: 6.5, and what has them backported. */
static noinline void hk_guard_a(struct hk_work *w)
{
#ifdef guard
	struct hk_obj *o = w->shared;

	guard(spinlock)(&o->lock_a);
	hk_got(obj_lock_a);
	hk_enter(&o->data_a);
	hk_leave(&o->data_a);
	hk_left(obj_lock_a);
#endif
}

static noinline void hk_scoped_a(struct hk_work *w)
{
#ifdef scoped_guard
	struct hk_obj *o = w->shared;

	scoped_guard(spinlock_irqsave, &o->lock_a)
	{
		hk_got(obj_lock_a);
		hk_enter(&o->data_a);
		hk_leave(&o->data_a);
		hk_left(obj_lock_a);
	}
	cpu_relax();
#endif
}

void hk_pairs_obj_lock_a(struct hk_work *w, unsigned int pairs)
{
	struct hk_obj *o = w->own;

	while (pairs--) {
		spin_lock(&o->lock_a);
		spin_unlock(&o->lock_a);
	}
}

/* struct hk_obj, lock_b: the neighbour, which must not be taken for lock_a. */

static noinline void hk_plain_b(struct hk_work *w)
{
	struct hk_obj *o = w->shared;

	spin_lock(&o->lock_b);
	hk_got(obj_lock_b);
	hk_enter(&o->data_b);
	hk_leave(&o->data_b);
	hk_left(obj_lock_b);
	spin_unlock(&o->lock_b);
	cpu_relax();
}

static noinline void hk_tail_b(struct hk_work *w)
{
	struct hk_obj *o = w->shared;
	unsigned long flags;

	spin_lock_irqsave(&o->lock_b, flags);
	hk_got(obj_lock_b);
	hk_enter(&o->data_b);
	hk_leave(&o->data_b);
	hk_left(obj_lock_b);
	spin_unlock_irqrestore(&o->lock_b, flags);
}

/* Both, one inside the other, of two objects. */
static noinline void hk_nested(struct hk_work *w)
{
	struct hk_obj *outer = w->shared, *inner = w->own;

	spin_lock(&outer->lock_a);
	hk_got(obj_lock_a);
	hk_enter(&outer->data_a);
	spin_lock_nested(&inner->lock_b, SINGLE_DEPTH_NESTING);
	hk_got(obj_lock_b);
	hk_enter(&inner->data_b);
	hk_leave(&inner->data_b);
	hk_left(obj_lock_b);
	spin_unlock(&inner->lock_b);
	hk_leave(&outer->data_a);
	hk_left(obj_lock_a);
	spin_unlock(&outer->lock_a);
}

void hk_pairs_obj_lock_b(struct hk_work *w, unsigned int pairs)
{
	struct hk_obj *o = w->own;

	while (pairs--) {
		spin_lock(&o->lock_b);
		spin_unlock(&o->lock_b);
	}
}

/* struct hk_obj, in[].deep: by a fixed index, a variable one, in a loop. */

static noinline void hk_fixed_deep(struct hk_work *w)
{
	struct hk_obj *o = w->shared;

	spin_lock(&o->in[2].deep);
	hk_got(obj_deep);
	hk_enter(&o->in[2].data);
	hk_leave(&o->in[2].data);
	hk_left(obj_deep);
	spin_unlock(&o->in[2].deep);
	cpu_relax();
}

static noinline void hk_indexed_deep(struct hk_work *w)
{
	struct hk_obj *o = w->shared;
	unsigned int i = w->round % HK_DEEP;

	spin_lock(&o->in[i].deep);
	hk_got(obj_deep);
	hk_enter(&o->in[i].data);
	hk_leave(&o->in[i].data);
	hk_left(obj_deep);
	spin_unlock(&o->in[i].deep);
	cpu_relax();
}

static noinline void hk_loop_deep(struct hk_work *w)
{
	struct hk_obj *o = w->shared;
	int i;

	for (i = 0; i < HK_DEEP; i++) {
		spin_lock_bh(&o->in[i].deep);
		hk_got(obj_deep);
		hk_enter(&o->in[i].data);
		hk_leave(&o->in[i].data);
		hk_left(obj_deep);
		spin_unlock_bh(&o->in[i].deep);
	}
}

void hk_pairs_obj_deep(struct hk_work *w, unsigned int pairs)
{
	struct hk_obj *o = w->own;

	while (pairs--) {
		spin_lock(&o->in[1].deep);
		spin_unlock(&o->in[1].deep);
	}
}

/* struct hk_obj, rw. */

static noinline void hk_write_rw(struct hk_work *w)
{
	struct hk_obj *o = w->shared;
	unsigned long flags;

	write_lock(&o->rw);
	hk_got(obj_rw);
	hk_enter(&o->data_rw);
	hk_leave(&o->data_rw);
	hk_left(obj_rw);
	write_unlock(&o->rw);
	write_lock_irqsave(&o->rw, flags);
	hk_got(obj_rw);
	hk_enter(&o->data_rw);
	hk_leave(&o->data_rw);
	hk_left(obj_rw);
	write_unlock_irqrestore(&o->rw, flags);
	write_lock_bh(&o->rw);
	hk_got(obj_rw);
	hk_enter(&o->data_rw);
	hk_leave(&o->data_rw);
	hk_left(obj_rw);
	write_unlock_bh(&o->rw);
}

static noinline void hk_read_rw(struct hk_work *w)
{
	struct hk_obj *o = w->shared;
	unsigned long flags;

	read_lock(&o->rw);
	hk_got_shared(obj_rw);
	hk_look(&o->data_rw);
	hk_left_shared(obj_rw);
	read_unlock(&o->rw);
	read_lock_irqsave(&o->rw, flags);
	hk_got_shared(obj_rw);
	hk_look(&o->data_rw);
	hk_left_shared(obj_rw);
	read_unlock_irqrestore(&o->rw, flags);
	read_lock_irq(&o->rw);
	hk_got_shared(obj_rw);
	hk_look(&o->data_rw);
	hk_left_shared(obj_rw);
	read_unlock_irq(&o->rw);
}

static noinline void hk_try_rw(struct hk_work *w)
{
	struct hk_obj *o = w->own;

	if (write_trylock(&o->rw)) {
		hk_got(obj_rw);
		hk_enter(&o->data_rw);
		if (read_trylock(&o->rw))
			atomic_inc(&hk_broken);
		else
			hk_failed_shared(obj_rw);
		hk_leave(&o->data_rw);
		hk_left(obj_rw);
		write_unlock(&o->rw);
	} else {
		hk_failed(obj_rw);
	}
	if (read_trylock(&o->rw)) {
		hk_got_shared(obj_rw);
		if (write_trylock(&o->rw))
			atomic_inc(&hk_broken);
		else
			hk_failed(obj_rw);
		hk_left_shared(obj_rw);
		read_unlock(&o->rw);
	} else {
		hk_failed_shared(obj_rw);
	}
}

void hk_pairs_obj_rw(struct hk_work *w, unsigned int pairs)
{
	struct hk_obj *o = w->own;

	while (pairs--) {
		write_lock(&o->rw);
		write_unlock(&o->rw);
	}
}

/* struct hk_obj, mtx. */

static noinline void hk_plain_mtx(struct hk_work *w)
{
	struct hk_obj *o = w->shared;

	mutex_lock(&o->mtx);
	hk_got(obj_mtx);
	hk_enter(&o->data_mtx);
	hk_leave(&o->data_mtx);
	hk_left(obj_mtx);
	mutex_unlock(&o->mtx);
	cpu_relax();
}

static noinline void hk_forms_mtx(struct hk_work *w)
{
	struct hk_obj *o = w->shared;

	if (!mutex_lock_interruptible(&o->mtx)) {
		hk_got(obj_mtx);
		hk_enter(&o->data_mtx);
		hk_leave(&o->data_mtx);
		hk_left(obj_mtx);
		mutex_unlock(&o->mtx);
	} else {
		hk_count(HK_obj_mtx, HK_INTERRUPTED);
	}
	if (!mutex_lock_killable(&o->mtx)) {
		hk_got(obj_mtx);
		hk_enter(&o->data_mtx);
		hk_leave(&o->data_mtx);
		hk_left(obj_mtx);
		mutex_unlock(&o->mtx);
	} else {
		hk_count(HK_obj_mtx, HK_INTERRUPTED);
	}
	mutex_lock_io(&o->mtx);
	hk_got(obj_mtx);
	hk_enter(&o->data_mtx);
	hk_leave(&o->data_mtx);
	hk_left(obj_mtx);
	mutex_unlock(&o->mtx);
}

static noinline void hk_try_mtx(struct hk_work *w)
{
	struct hk_obj *o = w->own;

	if (mutex_trylock(&o->mtx)) {
		hk_got(obj_mtx);
		hk_enter(&o->data_mtx);
		if (mutex_trylock(&o->mtx))
			atomic_inc(&hk_broken);
		else
			hk_failed(obj_mtx);
		hk_leave(&o->data_mtx);
		hk_left(obj_mtx);
		mutex_unlock(&o->mtx);
	} else {
		hk_failed(obj_mtx);
	}
}

static noinline void hk_guard_mtx(struct hk_work *w)
{
#ifdef guard
	struct hk_obj *o = w->shared;

	guard(mutex)(&o->mtx);
	hk_got(obj_mtx);
	hk_enter(&o->data_mtx);
	hk_leave(&o->data_mtx);
	hk_left(obj_mtx);
#endif
}

static noinline void hk_scoped_mtx(struct hk_work *w)
{
#ifdef scoped_guard
	struct hk_obj *o = w->shared;

	scoped_guard(mutex, &o->mtx)
	{
		hk_got(obj_mtx);
		hk_enter(&o->data_mtx);
		hk_leave(&o->data_mtx);
		hk_left(obj_mtx);
	}
	cpu_relax();
#endif
}

void hk_pairs_obj_mtx(struct hk_work *w, unsigned int pairs)
{
	struct hk_obj *o = w->own;

	while (pairs--) {
		mutex_lock(&o->mtx);
		mutex_unlock(&o->mtx);
	}
}

/* struct hk_obj, sem. */

static noinline void hk_plain_sem(struct hk_work *w)
{
	struct hk_obj *o = w->shared;

	down_read(&o->sem);
	hk_got_shared(obj_sem);
	hk_look(&o->data_sem);
	hk_left_shared(obj_sem);
	up_read(&o->sem);
	down_write(&o->sem);
	hk_got(obj_sem);
	hk_enter(&o->data_sem);
	hk_leave(&o->data_sem);
	hk_left(obj_sem);
	up_write(&o->sem);
	cpu_relax();
}

/* Released as a reader, after it was taken as a writer. */
static noinline void hk_downgrade_sem(struct hk_work *w)
{
	struct hk_obj *o = w->shared;

	down_write(&o->sem);
	hk_got(obj_sem);
	hk_enter(&o->data_sem);
	hk_leave(&o->data_sem);
	hk_count(HK_obj_sem, HK_DOWNGRADE);
	downgrade_write(&o->sem);
	hk_look(&o->data_sem);
	hk_left_shared(obj_sem);
	up_read(&o->sem);
}

static noinline void hk_forms_sem(struct hk_work *w)
{
	struct hk_obj *o = w->shared;

	if (!down_write_killable(&o->sem)) {
		hk_got(obj_sem);
		hk_enter(&o->data_sem);
		hk_leave(&o->data_sem);
		hk_left(obj_sem);
		up_write(&o->sem);
	} else {
		hk_count(HK_obj_sem, HK_INTERRUPTED);
	}
	if (!down_read_interruptible(&o->sem)) {
		hk_got_shared(obj_sem);
		hk_look(&o->data_sem);
		hk_left_shared(obj_sem);
		up_read(&o->sem);
	} else {
		hk_count_shared(HK_obj_sem, HK_INTERRUPTED);
	}
	if (!down_read_killable(&o->sem)) {
		hk_got_shared(obj_sem);
		hk_look(&o->data_sem);
		hk_left_shared(obj_sem);
		up_read(&o->sem);
	} else {
		hk_count_shared(HK_obj_sem, HK_INTERRUPTED);
	}
}

static noinline void hk_try_sem(struct hk_work *w)
{
	struct hk_obj *o = w->own;

	if (down_write_trylock(&o->sem)) {
		hk_got(obj_sem);
		hk_enter(&o->data_sem);
		if (down_read_trylock(&o->sem))
			atomic_inc(&hk_broken);
		else
			hk_failed_shared(obj_sem);
		hk_leave(&o->data_sem);
		hk_left(obj_sem);
		up_write(&o->sem);
	} else {
		hk_failed(obj_sem);
	}
	if (down_read_trylock(&o->sem)) {
		hk_got_shared(obj_sem);
		if (down_write_trylock(&o->sem))
			atomic_inc(&hk_broken);
		else
			hk_failed(obj_sem);
		hk_left_shared(obj_sem);
		up_read(&o->sem);
	} else {
		hk_failed_shared(obj_sem);
	}
}

static noinline void hk_guard_sem(struct hk_work *w)
{
#ifdef scoped_guard
	struct hk_obj *o = w->shared;

	scoped_guard(rwsem_read, &o->sem)
	{
		hk_got_shared(obj_sem);
		hk_look(&o->data_sem);
		hk_left_shared(obj_sem);
	}
	scoped_guard(rwsem_write, &o->sem)
	{
		hk_got(obj_sem);
		hk_enter(&o->data_sem);
		hk_leave(&o->data_sem);
		hk_left(obj_sem);
	}
#endif
}

void hk_pairs_obj_sem(struct hk_work *w, unsigned int pairs)
{
	struct hk_obj *o = w->own;

	while (pairs--) {
		down_write(&o->sem);
		up_write(&o->sem);
	}
}

/* Global locks. */

static noinline void hk_plain_global_spin(struct hk_work *w)
{
	unsigned long flags;

	spin_lock(&hk_global_spin);
	hk_got(global_spin);
	hk_enter(&hk_data_spin);
	hk_leave(&hk_data_spin);
	hk_left(global_spin);
	spin_unlock(&hk_global_spin);
	spin_lock_irqsave(&hk_global_spin, flags);
	hk_got(global_spin);
	hk_enter(&hk_data_spin);
	/* It is held: this one fails. */
	if (spin_trylock(&hk_global_spin))
		atomic_inc(&hk_broken);
	else
		hk_failed(global_spin);
	hk_leave(&hk_data_spin);
	hk_left(global_spin);
	spin_unlock_irqrestore(&hk_global_spin, flags);
	cpu_relax();
}

static noinline void hk_tail_global_spin(struct hk_work *w)
{
	spin_lock_irq(&hk_global_spin);
	hk_got(global_spin);
	hk_enter(&hk_data_spin);
	hk_leave(&hk_data_spin);
	hk_left(global_spin);
	spin_unlock_irq(&hk_global_spin);
}

void hk_pairs_global_spin(struct hk_work *w, unsigned int pairs)
{
	while (pairs--) {
		spin_lock(&hk_global_spin);
		spin_unlock(&hk_global_spin);
	}
}

static noinline void hk_plain_global_mutex(struct hk_work *w)
{
	mutex_lock(&hk_global_mutex);
	hk_got(global_mutex);
	hk_enter(&hk_data_mutex);
	if (mutex_trylock(&hk_global_mutex))
		atomic_inc(&hk_broken);
	else
		hk_failed(global_mutex);
	hk_leave(&hk_data_mutex);
	hk_left(global_mutex);
	mutex_unlock(&hk_global_mutex);
}

void hk_pairs_global_mutex(struct hk_work *w, unsigned int pairs)
{
	while (pairs--) {
		mutex_lock(&hk_global_mutex);
		mutex_unlock(&hk_global_mutex);
	}
}

static noinline void hk_plain_global_rwlock(struct hk_work *w)
{
	read_lock(&hk_global_rwlock);
	hk_got_shared(global_rwlock);
	hk_look(&hk_data_rwlock);
	hk_left_shared(global_rwlock);
	read_unlock(&hk_global_rwlock);
	write_lock_irq(&hk_global_rwlock);
	hk_got(global_rwlock);
	hk_enter(&hk_data_rwlock);
	hk_leave(&hk_data_rwlock);
	hk_left(global_rwlock);
	write_unlock_irq(&hk_global_rwlock);
}

void hk_pairs_global_rwlock(struct hk_work *w, unsigned int pairs)
{
	while (pairs--) {
		write_lock(&hk_global_rwlock);
		write_unlock(&hk_global_rwlock);
	}
}

static noinline void hk_plain_config(struct hk_work *w)
{
	spin_lock(&hk_config.lock);
	hk_got(config_lock);
	hk_enter(&hk_data_config);
	hk_leave(&hk_data_config);
	hk_left(config_lock);
	spin_unlock(&hk_config.lock);
	cpu_relax();
}

void hk_pairs_config_lock(struct hk_work *w, unsigned int pairs)
{
	while (pairs--) {
		spin_lock(&hk_config.lock);
		spin_unlock(&hk_config.lock);
	}
}

static noinline void hk_fixed_array(struct hk_work *w)
{
	spin_lock(&hk_array[3]);
	hk_got(array);
	hk_enter(&hk_data_array[3]);
	hk_leave(&hk_data_array[3]);
	hk_left(array);
	spin_unlock(&hk_array[3]);
	cpu_relax();
}

static noinline void hk_indexed_array(struct hk_work *w)
{
	unsigned int i = w->round % ARRAY_SIZE(hk_array);

	spin_lock(&hk_array[i]);
	hk_got(array);
	hk_enter(&hk_data_array[i]);
	hk_leave(&hk_data_array[i]);
	hk_left(array);
	spin_unlock(&hk_array[i]);
	cpu_relax();
}

static noinline void hk_loop_array(struct hk_work *w)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(hk_array); i++) {
		spin_lock(&hk_array[i]);
		hk_got(array);
		hk_left(array);
		spin_unlock(&hk_array[i]);
	}
}

void hk_pairs_array(struct hk_work *w, unsigned int pairs)
{
	while (pairs--) {
		spin_lock(&hk_array[5]);
		spin_unlock(&hk_array[5]);
	}
}

static noinline void hk_plain_twin(struct hk_work *w)
{
	spin_lock(&hk_twin);
	hk_got(twin);
	hk_enter(&hk_data_twin);
	hk_leave(&hk_data_twin);
	hk_left(twin);
	spin_unlock(&hk_twin);
	cpu_relax();
}

void hk_pairs_twin(struct hk_work *w, unsigned int pairs)
{
	while (pairs--) {
		spin_lock(&hk_twin);
		spin_unlock(&hk_twin);
	}
}

/* Nobody outside can name the lock, so both uses are in one function. */
static noinline __noclone void hk_use_local(unsigned int pairs)
{
	static DEFINE_SPINLOCK(hk_local);
	static struct hk_data data;

	if (!pairs) {
		spin_lock(&hk_local);
		hk_got(local);
		hk_enter(&data);
		hk_leave(&data);
		hk_left(local);
		spin_unlock(&hk_local);
		return;
	}
	while (pairs--) {
		spin_lock(&hk_local);
		spin_unlock(&hk_local);
	}
}

static noinline void hk_plain_local(struct hk_work *w)
{
	hk_use_local(0);
}

void hk_pairs_local(struct hk_work *w, unsigned int pairs)
{
	hk_use_local(pairs);
}

/* Per CPU: this one's, and one that all threads use. */

static noinline void hk_this_percpu(struct hk_work *w)
{
	struct hk_percpu *p = get_cpu_ptr(&hk_percpu);

	raw_spin_lock(&p->lock);
	hk_got(percpu_lock);
	hk_enter(&p->data);
	hk_leave(&p->data);
	hk_left(percpu_lock);
	raw_spin_unlock(&p->lock);
	put_cpu_ptr(&hk_percpu);
}

static noinline void hk_first_percpu(struct hk_work *w)
{
	int cpu = cpumask_first(cpu_possible_mask);
	unsigned long flags;

	raw_spin_lock_irqsave(&per_cpu(hk_percpu, cpu).lock, flags);
	hk_got(percpu_lock);
	hk_enter(&per_cpu(hk_percpu, cpu).data);
	hk_leave(&per_cpu(hk_percpu, cpu).data);
	hk_left(percpu_lock);
	raw_spin_unlock_irqrestore(&per_cpu(hk_percpu, cpu).lock, flags);
	cpu_relax();
}

void hk_pairs_percpu_lock(struct hk_work *w, unsigned int pairs)
{
	while (pairs--) {
		struct hk_percpu *p = get_cpu_ptr(&hk_percpu);

		raw_spin_lock(&p->lock);
		raw_spin_unlock(&p->lock);
		put_cpu_ptr(&hk_percpu);
	}
}

/* A lock handed to a function: which one it is cannot be known there. */

static noinline __noclone void hk_handed(spinlock_t *lock, struct hk_data *d)
{
	spin_lock(lock);
	hk_got(unknown);
	hk_enter(d);
	hk_leave(d);
	hk_left(unknown);
	spin_unlock(lock);
}

static noinline void hk_hand_over(struct hk_work *w)
{
	hk_handed(&w->shared->lock_a, &w->shared->data_a);
	hk_handed(&w->own->lock_b, &w->own->data_b);
	hk_handed(&hk_global_spin, &hk_data_spin);
}

static noinline __noclone void hk_pairs_handed(spinlock_t *lock,
					       unsigned int pairs)
{
	while (pairs--) {
		spin_lock(lock);
		spin_unlock(lock);
	}
}

void hk_pairs_unknown(struct hk_work *w, unsigned int pairs)
{
	hk_pairs_handed(&w->own->lock_a, pairs);
}

const struct hk_step hk_sites_steps[] = {
	{ hk_plain_a, HK_obj_lock_a },
	{ hk_irqsave_a, HK_obj_lock_a },
	{ hk_irq_a, HK_obj_lock_a },
	{ hk_bh_a, HK_obj_lock_a },
	{ hk_try_a, HK_obj_lock_a },
	{ hk_tail_a, HK_obj_lock_a },
	{ hk_tail_irqrestore_a, HK_obj_lock_a },
	{ hk_empty_a, HK_obj_lock_a },
	{ hk_branches_a, HK_obj_lock_a },
	{ hk_helper_a, HK_obj_lock_a },
	{ hk_helper_again_a, HK_obj_lock_a },
	{ hk_freed_a, HK_obj_lock_a },
	{ hk_guard_a, HK_obj_lock_a },
	{ hk_scoped_a, HK_obj_lock_a },
	{ hk_back_to_back, HK_SEVERAL },
	{ hk_nested, HK_SEVERAL },
	{ hk_plain_b, HK_obj_lock_b },
	{ hk_tail_b, HK_obj_lock_b },
	{ hk_fixed_deep, HK_obj_deep },
	{ hk_indexed_deep, HK_obj_deep },
	{ hk_loop_deep, HK_obj_deep },
	{ hk_write_rw, HK_obj_rw },
	{ hk_read_rw, HK_obj_rw },
	{ hk_try_rw, HK_obj_rw },
	{ hk_plain_mtx, HK_obj_mtx },
	{ hk_forms_mtx, HK_obj_mtx },
	{ hk_try_mtx, HK_obj_mtx },
	{ hk_guard_mtx, HK_obj_mtx },
	{ hk_scoped_mtx, HK_obj_mtx },
	{ hk_plain_sem, HK_obj_sem },
	{ hk_downgrade_sem, HK_obj_sem },
	{ hk_forms_sem, HK_obj_sem },
	{ hk_try_sem, HK_obj_sem },
	{ hk_guard_sem, HK_obj_sem },
	{ hk_plain_global_spin, HK_global_spin },
	{ hk_tail_global_spin, HK_global_spin },
	{ hk_plain_global_mutex, HK_global_mutex },
	{ hk_plain_global_rwlock, HK_global_rwlock },
	{ hk_plain_config, HK_config_lock },
	{ hk_fixed_array, HK_array },
	{ hk_indexed_array, HK_array },
	{ hk_loop_array, HK_array },
	{ hk_plain_twin, HK_twin },
	{ hk_plain_local, HK_local },
	{ hk_this_percpu, HK_percpu_lock },
	{ hk_first_percpu, HK_percpu_lock },
	{ hk_hand_over, HK_unknown },
	{}
};
