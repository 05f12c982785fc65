package main

import (
	"fmt"

	"culprit/internal/servers"
)

// Programs of languages whose functions culprit does not see.

// python are the places of an interpreter that is no script.
var python = []string{"/usr/bin/python3", "python3"}

// script starts a program in Python.
func script(s *scene, text string) (int, error) {
	file, err := s.file("program.py", text)
	if err != nil {
		return 0, err
	}
	return s.program(command(python, file))
}

func sqliteCommits(s *scene) (int, error) {
	return script(s, `import sqlite3
shop = sqlite3.connect("shop.db")
shop.execute("create table orders (id integer primary key, text text)")
shop.commit()
print("ready", flush=True)
n = 0
while True:
    n += 1
    shop.execute("insert or replace into orders values (?, ?)", (n % 1000, "order %d" % n))
    shop.commit()
`)
}

func pythonLoop(s *scene) (int, error) {
	return script(s, `def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps

print("ready", flush=True)
best = 0
while True:
    for n in range(1, 100000):
        best = max(best, collatz(n))
`)
}

func pythonJSON(s *scene) (int, error) {
	return script(s, `import json
orders = [{"id": i, "name": "customer %d" % i, "lines": [{"article": j, "price": j * 1.25} for j in range(20)]} for i in range(2000)]
print("ready", flush=True)
while True:
    json.dumps(orders)
`)
}

// node starts a program in JavaScript.
func node(s *scene, text string) (int, error) {
	file, err := s.file("program.js", text)
	if err != nil {
		return 0, err
	}
	return s.program(command([]string{"node"}, file))
}

func nodeCPU(s *scene) (int, error) {
	return node(s, `function countPrimes(limit) {
  let count = 0;
  for (let n = 2; n < limit; n++) {
    let prime = true;
    for (let d = 2; d * d <= n; d++) if (n % d === 0) { prime = false; break; }
    if (prime) count++;
  }
  return count;
}
countPrimes(100000);
console.log("ready");
function again() { countPrimes(200000); setImmediate(again); }
setImmediate(again);
`)
}

func nodeRequests(s *scene) (int, error) {
	port, err := servers.FreePort()
	if err != nil {
		return 0, err
	}
	pid, err := node(s, fmt.Sprintf(`const article = i => ({id: i, name: "article " + i, price: i * 1.25});
require("http").createServer((q, a) => a.end(JSON.stringify(Array.from({length: 100}, (_, i) => article(i)))))
  .listen(%d, "127.0.0.1", () => console.log("ready"));
`, port))
	if err != nil {
		return 0, err
	}
	return pid, s.load(command([]string{"wrk"}, "-t1", "-c4", fmt.Sprintf("-d%.0f", forever.Seconds()), fmt.Sprintf("http://127.0.0.1:%d/", port)))
}

func nodeIdle(s *scene) (int, error) {
	return node(s, `require("http").createServer((q, a) => a.end("hello")).listen(0, "127.0.0.1", () => console.log("ready"));
`)
}

// java starts a program in Java with a small heap. The source is compiled in the same process.
func java(s *scene, text string) (int, error) {
	file, err := s.file("Program.java", "public class Program {\n"+text+"\n}\n")
	if err != nil {
		return 0, err
	}
	return s.program(command([]string{"java"}, "-Xmx128m", file))
}

func javaCPU(s *scene) (int, error) {
	return java(s, `static long countPrimes(int limit) {
    long count = 0;
    for (int n = 2; n < limit; n++) {
        boolean prime = true;
        for (int d = 2; d * d <= n; d++) if (n % d == 0) { prime = false; break; }
        if (prime) count++;
    }
    return count;
}
public static void main(String[] args) {
    long sum = 0;
    for (int i = 0; i < 50; i++) sum += countPrimes(20000);
    System.out.println("ready");
    for (;;) { sum += countPrimes(200000); if (sum == 1) System.out.println(sum); }
}`)
}

func javaLock(s *scene) (int, error) {
	return java(s, `static final Object table = new Object();
static long served;
static void serve() throws InterruptedException {
    synchronized (table) { Thread.sleep(1); served++; }
}
public static void main(String[] args) throws Exception {
    for (int i = 0; i < 8; i++) {
        Thread t = new Thread(() -> { try { for (;;) serve(); } catch (InterruptedException e) { } });
        t.start();
    }
    Thread.sleep(1000);
    System.out.println("ready");
}`)
}

func javaIdle(s *scene) (int, error) {
	return java(s, `public static void main(String[] args) throws Exception {
    System.out.println("ready");
    for (;;) Thread.sleep(1000);
}`)
}
