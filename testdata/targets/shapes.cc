/* Arguments of C++: this, references, base classes, objects that are passed by a pointer to a copy, and virtual functions.
 * shapes [N rounds] */
#include "target.h"

namespace plane {

struct Named {
	const char *name;
	short length;
};

class Shape {
public:
	virtual ~Shape() {}
	virtual uint64_t area(int scale) = 0;

protected:
	int id = 0;
};

struct Rich {
	explicit Rich(int n) : value(n) {}
	Rich(const Rich &other) : value(other.value) {}
	~Rich() {}
	int value;
};

struct Pair {
	int a, b;
};

class Circle : public Shape, public Named {
public:
	Circle(int n, const char *text) : radius(n)
	{
		id = n % 10;
		name = text;
		length = static_cast<short>(strlen(text));
	}
	uint64_t area(int scale) override;
	uint64_t grow(int by, const Named &how);

	unsigned short radius;
	bool big = false;
};

} // namespace plane

static struct {
	uint64_t area, scale, radius, id, grow, by, length, fast, rich, pair, last;
} tally;

NOINLINE uint64_t plane::Circle::area(int scale)
{
	tally.area++;
	tally.scale += static_cast<uint64_t>(static_cast<int64_t>(scale));
	tally.radius += radius;
	tally.id += static_cast<uint64_t>(id);
	return static_cast<uint64_t>(radius) * static_cast<uint64_t>(scale + 10);
}

NOINLINE uint64_t plane::Circle::grow(int by, const Named &how)
{
	tally.grow++;
	tally.by += static_cast<uint64_t>(by);
	tally.length += static_cast<uint64_t>(how.length);
	tally.fast += strcmp(how.name, "fast") == 0 && strcmp(name, "circle") == 0;
	radius = static_cast<unsigned short>(radius + by);
	return radius;
}

NOINLINE uint64_t take(plane::Rich r, plane::Pair p, int &last)
{
	tally.rich += static_cast<uint64_t>(r.value);
	tally.pair += static_cast<uint64_t>(p.a);
	tally.last += static_cast<uint64_t>(last);
	return target_mix(static_cast<uint64_t>(r.value + p.b), static_cast<uint64_t>(last));
}

int main(int argc, char **argv)
{
	target_start();
	long rounds = target_arg(argc, argv, 1, 20000);
	target_wait_go();
	uint64_t hash = 0;
	for (long i = 0; i < rounds; i++) {
		int n = static_cast<int>(i % 100);
		plane::Circle c(n, i % 3 ? "circle" : "ring");
		plane::Named how = {i % 2 ? "fast" : "slow", static_cast<short>(i % 7)};
		plane::Shape *s = &c;
		hash = target_mix(hash, s->area(n % 8 - 2));
		hash = target_mix(hash, c.grow(n, how));
		hash = target_mix(hash, take(plane::Rich(n + 1), plane::Pair{n, 2}, n));
		if (i % 64 == 0)
			target_poll(0);
	}
	target_count("area", tally.area);
	target_count("scale", tally.scale);
	target_count("radius", tally.radius);
	target_count("id", tally.id);
	target_count("grow", tally.grow);
	target_count("by", tally.by);
	target_count("length", tally.length);
	target_count("fast", tally.fast);
	target_count("rich", tally.rich);
	target_count("pair", tally.pair);
	target_count("last", tally.last);
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish(hash);
}
