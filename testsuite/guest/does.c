// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * does PATH: what LKST has events for, done once by a program, and for each event what a
 * tracer must have seen: how many, the event, its variables. PATH is this program.
 * does exec: ends at once.
 * does calls FILE: system calls, each with the next number as an argument, until FILE
 * is there; prints how many.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *path;

/* The child's lines must be out before it becomes another program or dies. */
#define expect(...) (printf(__VA_ARGS__), fflush(stdout))

static void wait_for(pid_t child)
{
	int status;

	waitpid(child, &status, 0);
}

static pid_t begin_child(void)
{
	pid_t child = fork();

	if (child < 0) {
		perror("does: fork");
		exit(1);
	}
	return child;
}

static void do_process(void)
{
	int pipe_ends[2];
	char byte = 0;
	pid_t child;

	if (pipe(pipe_ends))
		exit(1);
	signal(SIGUSR1, SIG_IGN);
	child = begin_child();
	if (!child) {
		_exit(read(pipe_ends[0], &byte, 1) == 1 ? 7 : 1);
	}
	usleep(50000);
	kill(child, SIGUSR1);
	if (write(pipe_ends[1], &byte, 1) != 1)
		exit(1);
	wait_for(child);
	expect("1 X_PROCESS_FORK child_tid=%d TID=%d\n", child, getpid());
	expect("1 PROCESS_SIGSEND sig=10 to_tid=%d to_group=1 result=1 TID=%d\n",
	       child, getpid());
	expect("1 PROCESS_SIGSEND sig=17 to_tid=%d to_group=1 TID=%d\n",
	       getpid(), child);
	expect("+ PROCESS_WAKEUP wakee_tid=%d TID=%d\n", child, getpid());
	expect("+ PROCESS_CONTEXTSWITCH prev_tid=%d prev_state=1\n", child);
	expect("1 X_PROCESS_EXIT code=%d TID=%d\n", 7 << 8, child);
}

static void do_exec(void)
{
	pid_t child = begin_child();

	if (!child) {
		execl(path, path, "exec", NULL);
		_exit(1);
	}
	wait_for(child);
	expect("1 X_PROCESS_EXEC old_tid=%d filename=%s TID=%d\n", child, path,
	       child);
}

static void *exec_as_thread(void *unused)
{
	(void)unused;
	expect("1 LKST_SYNC_TID tid_before=%d tid_after=%d\n", gettid(),
	       getpid());
	execl(path, path, "exec", NULL);
	_exit(1);
}

static void do_identity(void)
{
	pid_t group = getpgrp(), child = begin_child();
	pthread_t thread;

	if (!child) {
		setpgid(0, 0);
		expect("1 LKST_SYNC_PGID of_pid=%d pgid_before=%d pgid_after=%d\n",
		       getpid(), group, getpid());
		if (setresgid(1111, 2222, 1111) || setresuid(3333, 4444, 3333))
			_exit(1);
		expect("1 LKST_SYNC_GID gid_before=0 gid_after=1111 egid_before=0 egid_after=2222 TID=%d\n",
		       getpid());
		expect("1 LKST_SYNC_UID uid_before=0 uid_after=3333 euid_before=0 euid_after=4444 TID=%d\n",
		       getpid());
		_exit(0);
	}
	wait_for(child);
	child = begin_child();
	if (!child) {
		pthread_create(&thread, NULL, exec_as_thread, NULL);
		pthread_join(thread, NULL);
		_exit(1);
	}
	wait_for(child);
}

static void do_calls(void)
{
	syscall(SYS_lseek, -1L, 0x1234567L, 2L);
	expect("1 SYSCALL_ENTRY nr=%d arg1=0xffffffffffffffff arg2=0x1234567 arg3=0x2 TID=%d\n",
	       SYS_lseek, getpid());
	expect("1 SYSCALL_EXIT nr=%d ret=-9 TID=%d\n", SYS_lseek, getpid());
}

static void do_exceptions(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile int number = 7, zero = 0;
	pid_t child;

	if (page == MAP_FAILED)
		exit(1);
	page[5] = 1;
	expect("1 EXCEPTION_ENTRY trap=14 address=0x%lx error_code=6 from_user=1 TID=%d\n",
	       (long)(page + 5), getpid());
	expect("1 X_MEM_FAULT address=0x%lx TID=%d\n", (long)(page + 5),
	       getpid());
	child = begin_child();
	if (!child)
		_exit(number / zero);
	wait_for(child);
	expect("1 EXCEPTION_ENTRY trap=0 from_user=1 TID=%d\n", child);
	expect("1 PROCESS_SIGSEND sig=8 to_tid=%d TID=%d\n", child, child);
}

static void do_ipc(void)
{
	int sem = semget(0x1001, 1, IPC_CREAT | 0600);
	int queue = msgget(0x1002, IPC_CREAT | 0600);
	int memory = shmget(0x1003, 4096, IPC_CREAT | 0600);
	struct sembuf up = { .sem_op = 1 };
	struct {
		long type;
		char text[8];
	} message = { .type = 1 };
	char *at = shmat(memory, NULL, 0);

	semop(sem, &up, 1);
	semctl(sem, 0, IPC_RMID);
	msgsnd(queue, &message, 5, 0);
	msgrcv(queue, &message, 5, 0, 0);
	msgctl(queue, IPC_RMID, NULL);
	shmdt(at);
	shmctl(memory, IPC_RMID, NULL);
	expect("1 X_IPC_SEM nr=64 arg1=0x1001 arg2=0x1 TID=%d\n", getpid());
	/* glibc makes a semtimedop of it. */
	expect("1 X_IPC_SEM nr=220|65 arg1=0x%x arg3=0x1 TID=%d\n", sem,
	       getpid());
	expect("1 X_IPC_SEM nr=66 arg1=0x%x arg2=0x0 TID=%d\n", sem, getpid());
	expect("1 X_IPC_MSG nr=68 arg1=0x1002 TID=%d\n", getpid());
	expect("1 X_IPC_MSG nr=69 arg1=0x%x arg3=0x5 TID=%d\n", queue,
	       getpid());
	expect("1 X_IPC_MSG nr=70 arg1=0x%x arg3=0x5 TID=%d\n", queue,
	       getpid());
	expect("1 X_IPC_MSG nr=71 arg1=0x%x arg2=0x0 TID=%d\n", queue,
	       getpid());
	expect("1 X_IPC_SHM nr=29 arg1=0x1003 arg2=0x1000 TID=%d\n", getpid());
	expect("1 X_IPC_SHM nr=30 arg1=0x%x TID=%d\n", memory, getpid());
	expect("1 X_IPC_SHM nr=67 arg1=0x%lx TID=%d\n", (long)at, getpid());
	expect("1 X_IPC_SHM nr=31 arg1=0x%x arg2=0x0 TID=%d\n", memory,
	       getpid());
}

static volatile sig_atomic_t alarms;

static void count_alarm(int sig)
{
	(void)sig;
	alarms++;
}

static void do_itimer(void)
{
	struct itimerval in = { .it_value.tv_usec = 10000 };

	signal(SIGALRM, count_alarm);
	setitimer(ITIMER_REAL, &in, NULL);
	while (!alarms)
		usleep(1000);
	expect("1 PROCESS_SIGSEND sig=14 to_tid=%d\n", getpid());
}

static void do_network(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	socklen_t length = sizeof(address);
	int in = socket(AF_INET, SOCK_DGRAM, 0),
	    out = socket(AF_INET, SOCK_DGRAM, 0);
	char data[777] = "";

	if (bind(in, (void *)&address, length) ||
	    getsockname(in, (void *)&address, &length))
		exit(1);
	if (sendto(out, data, 777, 0, (void *)&address, length) != 777 ||
	    recv(in, data, 777, 0) != 777)
		exit(1);
	/* 20 bytes of IP, 8 of UDP; the loopback device adds 14 of its own. */
	expect("1 X_NET_SEND device=lo length=%d TID=%d\n", 777 + 28 + 14,
	       getpid());
	expect("1 X_NET_RECEIVE device=lo length=%d\n", 777 + 28);
	expect("1 X_NET_SOCKSEND family=2|-1 ret=777 TID=%d\n", getpid());
	expect("1 X_NET_SOCKRECEIVE family=2|-1 ret=777 TID=%d\n", getpid());
}

static void do_numbered(const char *until)
{
	unsigned long n = 0;

	while (access(until, F_OK)) {
		n++;
		syscall(SYS_lseek, -1L, n, 2L);
		shmdt((void *)(n << 12));
		usleep(300);
	}
	printf("%d %lu\n", getpid(), n);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "calls")) {
		do_numbered(argv[2]);
		return 0;
	}
	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "exec"))
		return 0;
	path = argv[1];
	do_process();
	do_exec();
	do_identity();
	do_calls();
	do_exceptions();
	do_ipc();
	do_network();
	do_itimer();
	return 0;
}
