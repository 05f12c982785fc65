package image

// Programs that are compiled by the tests. Each ends with "ok" and exit code 0 if it computed what it should.
const (
	gotoC = `
#include <stdio.h>
__attribute__((noinline,noclone)) int absolute(const unsigned char *p) {
	static void *const ops[] = { &&add, &&sub, &&mul, &&neg, &&end };
	int acc = 1;
	goto *ops[*p];
add: acc += 3; goto *ops[*++p];
sub: acc -= 1; goto *ops[*++p];
mul: acc *= 5; goto *ops[*++p];
neg: acc = -acc; goto *ops[*++p];
end: return acc;
}
__attribute__((noinline,noclone)) int distances(const unsigned char *p) {
	static const int ops[] = { &&add - &&add, &&sub - &&add, &&mul - &&add, &&neg - &&add, &&end - &&add };
	int acc = 1;
	goto *(&&add + ops[*p]);
add: acc += 3; goto *(&&add + ops[*++p]);
sub: acc -= 1; goto *(&&add + ops[*++p]);
mul: acc *= 5; goto *(&&add + ops[*++p]);
neg: acc = -acc; printf("%s", ""); goto *(&&add + ops[*++p]);
end: return acc;
}
volatile int which;
__attribute__((noinline,noclone)) int variable(int n) {
	void *p = which ? &&one : &&two;
	int s = 0;
again:
	if (n-- == 0) return s;
	goto *p;
one: s += 3; p = &&two; goto again;
two: s += 5; p = &&one; printf("%s", ""); goto again;
}
int main(void) {
	static const unsigned char prog[] = { 0, 2, 3, 1, 0, 2, 2, 1, 4 };
	if (absolute(prog) != distances(prog)) return 1;
	which = 1;
	if (variable(4) != 16) return 2;
	puts("ok");
	return 0;
}`
	throwCpp = `
#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <stdio.h>
#include <string>
#include <vector>
#define NI __attribute__((noinline,noclone))
struct Guard { int &n; Guard(int &n) : n(n) {} NI ~Guard() { n++; } };
struct Shape { virtual ~Shape() {} virtual int area(int x) = 0; };
struct Square : Shape { NI int area(int x) override { return x * x; } };
struct Circle : Shape { NI int area(int x) override { if (x == 3) throw std::runtime_error("circle"); return 3 * x; } };
int cleaned;
NI int deep(Shape *s, int n) { Guard g(cleaned); std::string t(n + 20, 'x'); return n == 0 ? s->area(3) : deep(s, n - 1) + (int)t.size(); }
NI int middle(Shape *s) {
	Guard g(cleaned);
	try { return deep(s, 3); }
	catch (const std::logic_error &) { return -1; }
	catch (const std::runtime_error &e) { Guard h(cleaned); if (e.what()[0] == 'x') return -2; throw; }
}
NI int outer(Shape *s) { try { return middle(s); } catch (...) { return 1000; } }
int main() {
	Square q; Circle c;
	int s = outer(&q) + outer(&c);
	std::map<std::string, int> m;
	for (int i = 0; i < 12; i++) m[std::to_string(i * 37 % 11)] += i;
	std::vector<std::function<int(int)>> f;
	for (auto &p : m) { int k = p.second; f.push_back([k](int x) { return x + k; }); }
	std::vector<int> v;
	for (auto &g : f) v.push_back(g(5));
	std::sort(v.begin(), v.end(), std::greater<int>());
	try { m.at("none"); s = 0; } catch (std::out_of_range &) { s++; }
	puts(s > 1000 && cleaned > 8 && v[0] >= v[1] ? "ok" : "bad");
	return s > 1000 && cleaned > 8 ? 0 : 1;
}`
)
