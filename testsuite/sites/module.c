// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file that is still to be linked, like a kernel module, with the kernel's
 * names.  The comments are those of locks.c.
 */
/* clang-format off: the comments belong to their lines. */
struct mutex {
	long owner;
	void *waiters[2];
};

typedef struct raw_spinlock {
	unsigned int value;
} raw_spinlock_t;

typedef struct spinlock {
	struct raw_spinlock rlock;
} spinlock_t;

struct rw_semaphore {
	long count;
	raw_spinlock_t wait_lock;
};

void mutex_lock(struct mutex *lock);
void mutex_unlock(struct mutex *lock);
int mutex_trylock(struct mutex *lock);
void _raw_spin_lock(raw_spinlock_t *lock);
void _raw_spin_unlock(raw_spinlock_t *lock);
void down_read(struct rw_semaphore *lock);
void up_read(struct rw_semaphore *lock);
void work(void *place);

static inline __attribute__((always_inline)) void spin_lock(spinlock_t *lock)
{
	_raw_spin_lock(&lock->rlock);
}

static inline __attribute__((always_inline)) void spin_unlock(spinlock_t *lock)
{
	_raw_spin_unlock(&lock->rlock);
}

struct object {
	long pad;
	struct mutex mutex;
	spinlock_t slots[4];
	struct rw_semaphore sem;
	struct object *parent;
};

extern struct mutex elsewhere;
extern struct object *elsewhere_pointer;
struct mutex global;
static struct mutex local_global;
struct object objects[4];
static spinlock_t row[8];

void fixed(int i)
{
	mutex_lock(&elsewhere); // mutex lock elsewhere
	mutex_lock(&global); // mutex lock global
	mutex_lock(&local_global); // mutex lock local_global
	work(&local_global);
	mutex_unlock(&local_global); // mutex unlock local_global
	mutex_unlock(&global); // mutex unlock global
	mutex_unlock(&elsewhere); // mutex unlock elsewhere
	spin_lock(&row[i]); // spin lock row[]
	spin_lock(&row[3]); // spin lock row[]
	work(row);
	spin_unlock(&row[3]); // spin unlock row[]
	spin_unlock(&row[i]); // spin unlock row[]
	down_read(&objects[i].sem); // rwsem lock objects[].sem
	work(objects);
	up_read(&objects[2].sem); // rwsem unlock objects[].sem
	mutex_lock(&elsewhere_pointer->mutex); // mutex lock object.mutex
	work(objects);
}

void members(struct object *it, int i)
{
	if (!mutex_trylock(&it->mutex)) // mutex trylock object.mutex
		return;
	spin_lock(&it->slots[i]); // spin lock object.slots[]
	work(it);
	spin_unlock(&it->slots[i]); // spin unlock object.slots[]
	down_read(&it->parent->sem); // rwsem lock object.sem
	work(it);
	up_read(&it->parent->sem); // rwsem unlock object.sem
	mutex_unlock(&it->mutex); // mutex unlock object.mutex
}

__attribute__((section(".init.text"))) void at_start(struct object *it)
{
	mutex_lock(&it->mutex); // mutex lock object.mutex
	work(it);
	mutex_unlock(&it->mutex); // mutex unlock object.mutex
}
