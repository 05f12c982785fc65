// Cause: Nearly all CPU time is in edit_distance, which the request loop calls by way of handle_search and best_match.
// Right: CPUbound at edit_distance()
// Never: read_request()
// Never: write_answer()
// Never: parse_request()
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 400, LONGEST = 32 };

struct request {
	char word[LONGEST];
	int length;
};

static char words[WORDS][LONGEST];
static char answer[256];
static uint32_t seed = 12345;

static uint32_t next(void) { return seed = seed * 1664525u + 1013904223u; }

__attribute__((noinline)) void read_request(char *line)
{
	int n = 8 + (int)(next() >> 28);
	for (int i = 0; i < n; i++)
		line[i] = (char)('a' + (next() >> 16) % 26);
	line[n] = 0;
}

__attribute__((noinline)) void parse_request(const char *line, struct request *r)
{
	r->length = (int)strlen(line);
	memcpy(r->word, line, (size_t)r->length + 1);
}

__attribute__((noinline)) int edit_distance(const char *a, const char *b)
{
	int row[LONGEST + 1];
	int n = (int)strlen(b);
	for (int j = 0; j <= n; j++)
		row[j] = j;
	for (int i = 0; a[i]; i++) {
		int diagonal = row[0]++;
		for (int j = 0; j < n; j++) {
			int change = diagonal + (a[i] != b[j]), best = row[j + 1] < row[j] ? row[j + 1] : row[j];
			diagonal = row[j + 1];
			row[j + 1] = best + 1 < change ? best + 1 : change;
		}
	}
	return row[n];
}

__attribute__((noinline)) int best_match(const char *word)
{
	int best = 0, least = LONGEST;
	for (int i = 0; i < WORDS; i++) {
		int d = edit_distance(words[i], word);
		if (d < least) {
			least = d;
			best = i;
		}
	}
	return best;
}

__attribute__((noinline)) int handle_search(const struct request *r) { return best_match(r->word); }

__attribute__((noinline)) void write_answer(int match) { snprintf(answer, sizeof answer, "match %d: %s", match, words[match]); }

__attribute__((noinline)) void serve_request(void)
{
	char line[64];
	struct request r;
	read_request(line);
	parse_request(line, &r);
	write_answer(handle_search(&r));
}

int main(void)
{
	for (int i = 0; i < WORDS; i++)
		read_request(words[i]);
	for (int i = 0; i < 100; i++)
		serve_request();
	puts("ready");
	fflush(stdout);
	for (;;)
		serve_request();
}
