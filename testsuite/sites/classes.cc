// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Locks of C++ programs.  At the end of a line with an operation that takes a
 * lock stands its name.
 */
/* The comments belong to their lines. */
/* clang-format off */
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>

#define out_of_line __attribute__((noinline, noclone, noipa))

int sink;
std::mutex registry;

namespace net
{

std::shared_mutex routes;
static std::mutex opened;

struct Base {
	std::mutex guard;
	int users;
};

class Server : public Base
{
    public:
	struct Slot {
		int number;
		std::mutex deep;
	};

	out_of_line void plain();
	out_of_line void nested(int i);
	out_of_line void shared();
	out_of_line void inherited();
	out_of_line void waiting();
	out_of_line void raw();
	out_of_line void pointed();

	static std::mutex count;
	std::mutex mutex;
	std::recursive_mutex again;
	std::timed_mutex timed;
	std::shared_mutex table;
	std::condition_variable ready;
	pthread_mutex_t bare = PTHREAD_MUTEX_INITIALIZER;
	Slot slots[3];
	std::mutex *other = &mutex;
	std::unique_ptr<std::mutex> owned;
	std::unique_ptr<Slot> slot;
	int n = 0;
};

std::mutex Server::count;

void Server::plain()
{
	std::lock_guard<std::mutex> lock(mutex); // net::Server.mutex
	n++;
}

void Server::nested(int i)
{
	std::lock_guard<std::mutex> lock(slots[i].deep); // net::Server.slots[].deep
	n++;
	std::lock_guard<std::recursive_mutex> outer(again); // net::Server.again
	n++;
	std::lock_guard<std::timed_mutex> late(timed); // net::Server.timed
	n++;
}

void Server::shared()
{
	std::shared_lock<std::shared_mutex> reader(table); // net::Server.table
	n++;
	std::unique_lock<std::shared_mutex> writer(routes); // net::routes
	n++;
}

void Server::inherited()
{
	std::scoped_lock lock(guard); // net::Server.guard
	users++;
}

void Server::waiting()
{
	std::unique_lock<std::mutex> lock(mutex); // net::Server.mutex
	while (!n)
		ready.wait(lock);
}

void Server::raw()
{
	pthread_mutex_lock(&bare); // net::Server.bare
	n++;
	pthread_mutex_unlock(&bare);
}

void Server::pointed()
{
	{
		std::lock_guard<std::mutex> lock(*other); // net::Server.other
		n++;
	}
	{
		std::lock_guard<std::mutex> lock(*owned); // net::Server.owned
		n++;
	}
	std::lock_guard<std::mutex> lock(slot->deep); // net::Server::Slot.deep
	n++;
}

}

namespace
{

std::mutex hidden;

}

template <typename T> struct Box {
	std::mutex mutex;
	T value[8];

	out_of_line void put(T what)
	{
		std::lock_guard<std::mutex> lock(mutex); // Box<int>.mutex Box<long int>.mutex
		value[0] = what;
	}
};

out_of_line void globals()
{
	{
		std::lock_guard<std::mutex> lock(registry); // registry
		sink++;
	}
	{
		std::lock_guard<std::mutex> lock(hidden); // hidden
		sink++;
	}
	{
		std::lock_guard<std::mutex> lock(net::opened); // net::opened
		sink++;
	}
	std::lock_guard<std::mutex> lock(net::Server::count); // net::Server::count
	sink++;
}

/* Whose lock it is cannot be known here, but where it is called. */
out_of_line void take(std::mutex &mutex)
{
	std::lock_guard<std::mutex> lock(mutex); // ?
	sink++;
}

int main(int argc, char **)
{
	if (argc > 1) {
		net::Server server;
		Box<int> small;
		Box<long> large;

		server.plain();
		server.nested(argc);
		server.shared();
		server.inherited();
		server.waiting();
		server.raw();
		server.pointed();
		small.put(1);
		large.put(2);
		globals();
		take(server.mutex); // net::Server.mutex
	}
	return sink;
}
