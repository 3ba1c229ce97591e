// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lockgen: kernel locks that a user's thread holds across its system calls, so
 * that a wait can go from user space into the kernel and back.
 *
 * Through /proc/lockgen_lock: a write of "lock N" takes mutex N, and waits for
 * it if it must, until a signal comes; "unlock N" lets it go, by the thread that
 * holds it.  What is still held through a file when it is closed is let go then,
 * also if its thread is gone.  Mutex N is lockgen_held.lock_D with D = N % 8, and
 * is waited for in lockgen_held_lock_D().  Reading the file tells of each mutex
 * its number, address, name, and whether it is held.
 */
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "lockgen.h"

#define LG_HELD_DEPTHS 8
#define LG_HELD_LOCKS (40 * LG_HELD_DEPTHS)

struct lockgen_held {
	struct mutex lock_0;
	struct mutex lock_1;
	struct mutex lock_2;
	struct mutex lock_3;
	struct mutex lock_4;
	struct mutex lock_5;
	struct mutex lock_6;
	struct mutex lock_7;
};

static struct lockgen_held lg_held_locks[LG_HELD_LOCKS / LG_HELD_DEPTHS];

/* Written only by who holds the mutex, or closes the file. */
static struct {
	/* A reference: a mutex must not name a task whose memory is gone. */
	struct task_struct *holder;
	struct file *file;
} lg_held_by[LG_HELD_LOCKS];

struct lg_holdable {
	int (*lock)(struct lockgen_held *h);
	void (*unlock)(struct lockgen_held *h);
	size_t offset;
	const char *name;
};

/* clang-format off */

#define LG_HELD_FNS(d)							\
static noinline __noclone int						\
lockgen_held_lock_##d(struct lockgen_held *h)				\
{									\
	int err = mutex_lock_interruptible(&h->lock_##d);		\
									\
	/* No jump in the place of the call: it stays on the stack. */	\
	barrier();							\
	return err;							\
}									\
static noinline __noclone void						\
lockgen_held_unlock_##d(struct lockgen_held *h)				\
{									\
	mutex_unlock(&h->lock_##d);					\
	barrier();							\
}

#define LG_HELD_ENTRY(d)						\
	{								\
		.lock = lockgen_held_lock_##d,				\
		.unlock = lockgen_held_unlock_##d,			\
		.offset = offsetof(struct lockgen_held, lock_##d),	\
		.name = "lockgen_held.lock_" #d,			\
	},

#define LG_HELD_ALL(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)

LG_HELD_ALL(LG_HELD_FNS)

static const struct lg_holdable lg_holdables[LG_HELD_DEPTHS] = {
	LG_HELD_ALL(LG_HELD_ENTRY)
};

/* clang-format on */

static struct lockgen_held *lg_held_at(unsigned int n)
{
	return &lg_held_locks[n / LG_HELD_DEPTHS];
}

static struct mutex *lg_held_mutex(unsigned int n)
{
	return (void *)lg_held_at(n) + lg_holdables[n % LG_HELD_DEPTHS].offset;
}

static int lg_take_held(struct file *file, unsigned int n)
{
	int err;

	if (READ_ONCE(lg_held_by[n].holder) == current)
		return -EDEADLK;
	err = lg_holdables[n % LG_HELD_DEPTHS].lock(lg_held_at(n));
	if (err)
		return err;
	WRITE_ONCE(lg_held_by[n].holder, get_task_struct(current));
	WRITE_ONCE(lg_held_by[n].file, file);
	return 0;
}

static void lg_let_held(unsigned int n)
{
	struct task_struct *holder = lg_held_by[n].holder;

	WRITE_ONCE(lg_held_by[n].holder, NULL);
	WRITE_ONCE(lg_held_by[n].file, NULL);
	lg_holdables[n % LG_HELD_DEPTHS].unlock(lg_held_at(n));
	put_task_struct(holder);
}

static ssize_t lg_held_write(struct file *file, const char __user *buffer,
			     size_t size, loff_t *pos)
{
	char command[32], verb[8];
	unsigned int n;
	int err = 0;

	if (size >= sizeof(command))
		return -EINVAL;
	if (copy_from_user(command, buffer, size))
		return -EFAULT;
	command[size] = '\0';
	if (sscanf(command, "%7s %u", verb, &n) != 2 || n >= LG_HELD_LOCKS)
		return -EINVAL;
	if (!strcmp(verb, "lock"))
		err = lg_take_held(file, n);
	else if (strcmp(verb, "unlock"))
		err = -EINVAL;
	else if (READ_ONCE(lg_held_by[n].holder) != current)
		err = -EPERM;
	else
		lg_let_held(n);
	return err ? err : size;
}

static int lg_held_show(struct seq_file *m, void *v)
{
	unsigned int n;

	seq_puts(m, "#klock\tnumber\tlock\tname\tstate\n");
	for (n = 0; n < LG_HELD_LOCKS; n++) {
		seq_printf(m, "klock\t%u\t0x%lx\t%s\t%s\n", n,
			   (unsigned long)lg_held_mutex(n),
			   lg_holdables[n % LG_HELD_DEPTHS].name,
			   READ_ONCE(lg_held_by[n].holder) ? "held" : "free");
	}
	return 0;
}

/* The module stays as long as somebody may hold something. */
static int lg_held_open(struct inode *inode, struct file *file)
{
	int err;

	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	err = single_open(file, lg_held_show, NULL);
	if (err)
		module_put(THIS_MODULE);
	/* Else writes of several threads would wait for the file's position. */
	file->f_mode &= ~FMODE_ATOMIC_POS;
	return err;
}

static int lg_held_release(struct inode *inode, struct file *file)
{
	unsigned int n;

	for (n = 0; n < LG_HELD_LOCKS; n++)
		if (READ_ONCE(lg_held_by[n].file) == file)
			lg_let_held(n);
	single_release(inode, file);
	module_put(THIS_MODULE);
	return 0;
}

static const struct proc_ops lg_held_ops = {
	.proc_open = lg_held_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = lg_held_release,
	.proc_write = lg_held_write,
};

int lg_offer_held(void)
{
	unsigned int n;

	for (n = 0; n < LG_HELD_LOCKS; n++)
		mutex_init(lg_held_mutex(n));
	return proc_create("lockgen_lock", 0600, NULL, &lg_held_ops) ? 0 :
								       -ENOMEM;
}

void lg_withdraw_held(void)
{
	remove_proc_entry("lockgen_lock", NULL);
}
