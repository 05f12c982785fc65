/* C++ exceptions that leave several instrumented frames, with destructors on the way and a rethrow.
 * throw [rounds] */
#include "target.h"
#include <stdexcept>
#include <string>

struct Tally {
	uint64_t source, middle, middle_returned, outer, outer_returned, caught, rethrown, destroyed;
};
static Tally tally;

struct Guard {
	~Guard() { tally.destroyed++; }
};

NOINLINE uint64_t source(uint64_t n)
{
	tally.source++;
	if (n % 3 == 0)
		throw std::runtime_error("number " + std::to_string(n));
	if (n % 3 == 1)
		throw static_cast<int>(n & 0xffff);
	return target_mix(n, 5);
}

NOINLINE uint64_t middle(uint64_t n, int depth)
{
	Guard guard;
	tally.middle++;
	uint64_t v = depth > 0 ? middle(n, depth - 1) + 1 : source(n);
	tally.middle_returned++;
	return v;
}

NOINLINE uint64_t outer(uint64_t n)
{
	tally.outer++;
	uint64_t v;
	try {
		v = middle(n, 4);
	} catch (const std::exception &) {
		tally.rethrown++;
		throw;
	}
	tally.outer_returned++;
	return v;
}

NOINLINE uint64_t attempt(uint64_t n)
{
	try {
		return outer(n);
	} catch (const std::exception &e) {
		tally.caught++;
		return target_mix(n, std::string(e.what()).size());
	} catch (int number) {
		tally.caught++;
		return target_mix(n, static_cast<uint64_t>(number));
	}
}

int main(int argc, char **argv)
{
	target_start();
	long rounds = target_arg(argc, argv, 1, 30000);
	target_wait_go();
	uint64_t hash = 0;
	for (long i = 0; i < rounds; i++) {
		hash = target_mix(hash, attempt(static_cast<uint64_t>(i)));
		if (i % 64 == 0)
			target_poll(0);
	}
	target_count("attempt", static_cast<uint64_t>(rounds));
	target_count("source", tally.source);
	target_count("middle", tally.middle);
	target_count("middle_returned", tally.middle_returned);
	target_count("outer", tally.outer);
	target_count("outer_returned", tally.outer_returned);
	target_count("caught", tally.caught);
	target_count("rethrown", tally.rethrown);
	if (tally.destroyed != tally.middle)
		target_bad("%llu frames, %llu destructors", (unsigned long long)tally.middle,
			   (unsigned long long)tally.destroyed);
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish(hash);
}
