package consultant

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"

	"culprit/grid"
)

// Scripted programs with known causes, for comparisons of searches.

const (
	perCall    = 40e-9 // s that a probe takes for each call: a start and a stop of a timer
	usualCalls = 100.0 // calls/s of functions of which nothing else is said
	samplesErr = 0.15  // standard error of what stack samples say of one activity, as a part of it
)

// A cause is the deepest place at which a hypothesis holds in a program.
type cause struct {
	hyp string
	at  grid.Focus
}

// at is a focus: a function, and an object or a thread where there is one.
func at(function string, h grid.Hierarchy, path ...string) grid.Focus {
	f := code(grid.Whole(), function)
	if len(path) > 0 {
		f = f.Refine(h, path...)
	}
	return f
}

// A scripted program does what the program of that name in testdata/culprits does, as far as one reads that in its text: threads, functions, calls, locks and
// files are alike; shares of time and rates of calls are estimates.
type scripted struct {
	name   string
	active float64 // threads that run or wait on average, without those that are idle
	acts   []activity
	calls  map[string]float64 // calls/s of functions that are called more often than the fixed rules think
	causes []cause            // as the comment at the beginning of that program says, joined where they are one
}

// does is what a thread does in a function, given with its callers; share is of its time. A wait has the kind and the name of an object.
func does(thread, kind string, share float64, stack string, object ...string) activity {
	return activity{thread: thread, kind: kind, rate: always(share), stack: strings.Fields(stack), object: object}
}

// each is what several threads do alike.
func each(n int, name string, do func(thread string) []activity) (all []activity) {
	for i := range n {
		all = append(all, do(fmt.Sprintf("%s-%d", name, i))...)
	}
	return all
}

var scriptedPrograms = []scripted{
	// A loop serves requests; nearly all CPU time is in a function four calls below.
	{name: "hotloop", active: 1, acts: []activity{
		does("main", "cpu", 0.02, "main serve_request read_request"), does("main", "cpu", 0.01, "main serve_request parse_request"),
		does("main", "cpu", 0.94, "main serve_request handle_search best_match edit_distance"),
		does("main", "cpu", 0.02, "main serve_request write_answer"),
	}, calls: map[string]float64{"edit_distance": 8e5, "best_match": 2e3, "handle_search": 2e3, "serve_request": 2e3, "read_request": 2e3, "write_answer": 2e3},
		causes: []cause{{cpuBound, at("edit_distance", grid.Code)}}},
	// Eight threads wait for one lock, which one of them keeps while it waits for a slow store. Another lock is hardly waited for.
	{name: "sessionlock", active: 7, acts: append(each(8, "worker", func(w string) []activity {
		return []activity{
			does(w, "sync", 0.85, "worker handle_request refresh_session", "Mutex", "sessions_lock"),
			does(w, "cpu", 0.002, "worker handle_request refresh_session ask_store"), does(w, "cpu", 0.01, "worker handle_request render_answer"),
			does(w, "sync", 0.002, "worker handle_request write_statistics", "Mutex", "statistics_lock"),
		}
	}), does("main", "cpu", 0, "main")), calls: map[string]float64{"refresh_session": 2e3, "handle_request": 2e3, "write_statistics": 2e3, "render_answer": 2e3},
		causes: []cause{{syncWait, at("refresh_session", grid.SyncObject, "Mutex", "sessions_lock")}}},
	// Four threads wait for the disk after each entry of a log.
	{name: "fsynclog", active: 4, acts: append(each(4, "writer", func(w string) []activity {
		return []activity{
			does(w, "cpu", 0.01, "writer make_entry"), does(w, "io", 0.03, "writer append_entry", "File", "log"),
			does(w, "io", 0.94, "writer append_entry flush_log", "File", "log"),
		}
	}), does("main", "cpu", 0, "main")), causes: []cause{{ioWait, at("flush_log", grid.IO, "File", "log")}}},
	// Half of the time the program waits for a pipe. In the other half it computes in a function that has five callers, each of which is below the threshold.
	{name: "polite_crawler", active: 1, acts: []activity{
		does("main", "io", 0.5, "main fetch_page", "Pipe", "from_fetcher"),
		does("main", "cpu", 0.003, "main index_title mix_hash"), does("main", "cpu", 0.032, "main index_headings mix_hash"),
		does("main", "cpu", 0.150, "main index_links mix_hash"), does("main", "cpu", 0.145, "main index_images mix_hash"),
		does("main", "cpu", 0.170, "main index_body mix_hash"),
	}, calls: map[string]float64{"mix_hash": 1.5e5}, causes: []cause{{cpuBound, at("mix_hash", grid.Code)}, {ioWait, at("fetch_page", grid.IO, "Pipe", "from_fetcher")}}},
	// One thread computes without a pause, and four others wait for a lock, which is held during a slow look-up.
	{name: "twocauses", active: 4, acts: append(each(4, "client", func(c string) []activity {
		return []activity{
			does(c, "sync", 0.74, "client look_up", "Mutex", "cache_lock"), does(c, "cpu", 0.001, "client look_up load_from_disk"),
			does(c, "cpu", 0.001, "client checksum_request"),
		}
	}), does("archiver", "cpu", 0.01, "archiver fill_block"), does("archiver", "cpu", 0.97, "archiver compress_block"), does("main", "cpu", 0, "main")),
		causes: []cause{{cpuBound, at("compress_block", grid.Code)}, {syncWait, at("look_up", grid.SyncObject, "Mutex", "cache_lock")}}},
	// Four threads have as many rows of a matrix, but the rows of one have nearly all numbers: the others wait for it at a barrier.
	{name: "sparse_rows", active: 4, acts: append(each(3, "rows-more", func(w string) []activity {
		return []activity{
			does(w, "cpu", 0.10, "solver multiply_rows"), does(w, "cpu", 0.01, "solver scale_rows"),
			does(w, "sync", 0.88, "solver", "Barrier", "step_barrier"),
		}
	}), does("rows-0", "cpu", 0.96, "solver multiply_rows"), does("rows-0", "cpu", 0.01, "solver scale_rows"),
		does("rows-0", "sync", 0.02, "solver", "Barrier", "step_barrier"), does("main", "cpu", 0, "main")),
		causes: []cause{{cpuBound, at("multiply_rows", grid.Process, "srv{1}", "rows-0")}, {syncWait, at("solver", grid.SyncObject, "Barrier", "step_barrier")}}},
	// One thread computes all the time; the sixteen of a pool have next to nothing to do.
	{name: "idlepool", active: 1, acts: append(each(16, "pool", func(w string) []activity {
		return []activity{does(w, "cpu", 0.0002, "run_worker take_job"), does(w, "cpu", 0.0001, "run_worker report_health")}
	}), does("compactor", "cpu", 0.99, "compactor compact_segments"), does("main", "cpu", 0.0005, "main submit")),
		calls: map[string]float64{"compact_segments": 1e3}, causes: []cause{{cpuBound, at("compact_segments", grid.Code)}}},
	// A frame uses nearly all CPU time, spread evenly over the eight passes that it calls: the frame is the cause, none of them.
	{name: "spreadcpu", active: 1, acts: append(each(8, "pass", func(pass string) []activity {
		return []activity{does("main", "cpu", 0.12, "main render_frame "+pass)}
	}), does("main", "cpu", 0.02, "main poll_input")), causes: []cause{{cpuBound, at("render_frame", grid.Code)}}},
}

// model is the program with some noise, where each function calls some more that take no time.
func (p scripted) model(seed int64, more int) *model {
	m := newModel(p.acts...)
	m.rng, m.active, m.cpus = rand.New(rand.NewSource(seed)), p.active, 2
	for _, a := range p.acts {
		for _, f := range a.stack {
			for i := len(m.edges[f]); i < more; i++ {
				m.edges[f] = append(m.edges[f], fmt.Sprintf("%s_helper%d", f, i))
			}
		}
		if !slices.Contains(m.threads, a.thread) {
			m.threads = append(m.threads, a.thread)
		}
	}
	m.predict = func(k grid.PairKey) (grid.Price, error) {
		rate := usualCalls
		if e := k.Focus.Elements(grid.Code); len(e) == 2 {
			rate = max(rate, p.calls[e[1]])
		}
		return grid.Price{Fraction: rate * perCall, Rate: rate, Points: 2}, nil
	}
	return m
}

// seen is the program as stack samples see it: they err.
func (p scripted) seen(rng *rand.Rand) *model {
	m := newModel(slices.Clone(p.acts)...)
	for i, a := range m.acts {
		m.acts[i].rate = always(a.rate(0) * max(0, 1+samplesErr*rng.NormFloat64()))
	}
	return m
}

// sampled is a world in which stack samples are those of another program.
type sampled struct {
	*world
	seen *model
}

func (w *sampled) Weight(f grid.Focus, kind string) float64 { return w.seen.Weight(f, kind) }
