// Cause: the output stream has no buffer, so each character of the export is a write() of one byte.
// Right: FrequentSmallIOOps at put_value()
// Right: FrequentSmallIOOps at export_samples()
// Right: SystemCallTimeHigh|SystemTimeHigh at put_value()
// Never: measure()
// Args: FILE

// Exports samples as text. Someone has turned off the buffer of the stream
// so that nothing is lost in a crash.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

static std::ofstream out;

__attribute__((noinline)) static double measure(unsigned n)
{
	return std::sin(n * 0.01) * 1000;
}

__attribute__((noinline)) static void put_value(double value)
{
	char text[32];
	std::snprintf(text, sizeof text, "%.3f;", value);
	for (const char *p = text; *p; p++)
		out.put(*p);
}

__attribute__((noinline)) static void export_samples()
{
	out.seekp(0);
	for (unsigned n = 0; n < 100000; n++)
		put_value(measure(n));
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		std::fprintf(stderr, "usage: sample_export FILE\n");
		return 2;
	}
	out.rdbuf()->pubsetbuf(nullptr, 0);
	out.open(argv[1], std::ios::binary | std::ios::trunc);
	if (!out) {
		std::perror(argv[1]);
		return 1;
	}
	std::puts("ready");
	std::fflush(stdout);
	for (;;)
		export_samples();
}
