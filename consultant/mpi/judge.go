package mpi

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// A Job is what is known of the ranks of one job: who waits for whom in what all do together.
type Job struct {
	Ranks    []RankTime // by number
	Function string     // the collective function in which ranks were seen most often, "" if none was seen
	Waiting  []int      // ranks that wait for others
	Awaited  []int      // ranks that they wait for
	Sentence string     // "" if there is nothing to say
}

// A RankTime is how much of its time a rank spent in collective operations.
type RankTime struct {
	Rank       int
	PID        int
	Collective float64 // share of time, 0 to 1 for a rank with one thread
}

const (
	// unequal is by how much the shares of two ranks must differ for one to wait for the other.
	unequal = 0.10
	// apart is how much of the whole difference must lie between those who wait and those who are waited for; and these spend at
	// most half the share of those.
	apart = 0.5
	half  = 0.5
	// muchTogether is the share from which on it is worth saying that all ranks spend it in collective operations.
	muchTogether = 0.20
)

// judge decides who waits for whom and writes the sentence. In an operation that all take part in, who comes last waits least: the
// ranks whose shares are clearly smaller than those of the others are the ones that are waited for.
func (j *Job) judge() {
	sort.Slice(j.Ranks, func(a, b int) bool { return j.Ranks[a].Rank < j.Ranks[b].Rank })
	j.Waiting, j.Awaited, j.Sentence = []int{}, []int{}, ""
	if len(j.Ranks) < 2 {
		return
	}
	list := slices.Clone(j.Ranks)
	sort.SliceStable(list, func(a, b int) bool { return list[a].Collective < list[b].Collective })
	least, most := list[0].Collective, list[len(list)-1].Collective
	at, gap := widest(list)
	switch {
	case most-least >= unequal && gap >= apart*(most-least) && mean(list[:at]) <= half*mean(list[at:]):
		j.Awaited, j.Waiting = numbers(list[:at]), numbers(list[at:])
		j.Sentence = fmt.Sprintf("%s %s %.0f %% of %s time in %s for %s, which %s there for %.0f %%",
			capital(ranks(j.Waiting)), verb(j.Waiting, "waits", "wait"), 100*mean(list[at:]), verb(j.Waiting, "its", "their"), j.place(),
			ranks(j.Awaited), verb(j.Awaited, "is", "are"), 100*mean(list[:at]))
	case mean(list) >= muchTogether:
		j.Sentence = fmt.Sprintf("All %d ranks spend %.0f to %.0f %% of their time in %s: none of them is the one that the others wait for all the time",
			len(list), 100*least, 100*most, j.place())
	}
}

// place is where they wait.
func (j *Job) place() string {
	if j.Function == "" {
		return "collective operations of MPI"
	}
	return j.Function
}

// widest finds the widest gap in a sorted list, and where the part above it begins.
func widest(list []RankTime) (at int, gap float64) {
	for i := 1; i < len(list); i++ {
		if d := list[i].Collective - list[i-1].Collective; d > gap {
			at, gap = i, d
		}
	}
	return at, gap
}

func mean(list []RankTime) (m float64) {
	for _, r := range list {
		m += r.Collective / float64(len(list))
	}
	return m
}

func numbers(list []RankTime) (n []int) {
	for _, r := range list {
		n = append(n, r.Rank)
	}
	slices.Sort(n)
	return n
}

// maxNamed bounds how many ranks a sentence names.
const maxNamed = 8

// ranks writes "rank 2" or "ranks 0, 1 and 3".
func ranks(n []int) string {
	if len(n) == 1 {
		return fmt.Sprintf("rank %d", n[0])
	}
	var names []string
	for i, r := range n {
		if i == maxNamed-1 && len(n) > maxNamed {
			return fmt.Sprintf("ranks %s and %d more", strings.Join(names, ", "), len(n)-i)
		}
		names = append(names, fmt.Sprint(r))
	}
	last := len(names) - 1
	return fmt.Sprintf("ranks %s and %s", strings.Join(names[:last], ", "), names[last])
}

func verb(n []int, one, many string) string {
	if len(n) == 1 {
		return one
	}
	return many
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
