// Package prior is what an earlier run of a program has found out, for the search of this run to begin with.
//
// It must not know nodes, reports and files. A Prior is made by one goroutine; once it is made any goroutine may read it.
package prior

import (
	"culprit/grid"
)

// An Answer is what the earlier run said of a hypothesis at a focus.
type Answer int

// The answers. Unsure is that of a place that was not decided, was decided both ways, or lies near its threshold.
const (
	Unsure Answer = iota
	Held
	RuledOut
)

const (
	sure = 0.65 // confidence of an answer that is kept: a second of readings
	far  = 2.0  // by which factor a value is beyond its threshold that was ruled out
)

// Judge is the answer of a place that was measured: whether it held at the end, its value and threshold, whether it holds above the threshold, and how sure
// that was, 0 to 1.
func Judge(holds bool, value, threshold float64, greater bool, confidence float64) Answer {
	isFar := value*far <= threshold
	if !greater {
		isFar = value >= threshold*far
	}
	switch {
	case !(confidence >= sure):
		return Unsure
	case holds:
		return Held
	case isFar:
		return RuledOut
	}
	return Unsure
}

// A Place is a hypothesis at a focus of the earlier run.
type Place struct {
	Hypothesis string
	Focus      grid.Focus
	Answer     Answer
	From       []int // the places that it was refined from, as Add has numbered them
}

// A Prior is what is known of an earlier run. The zero value and nil know nothing.
type Prior struct {
	same    bool
	name    func(f grid.Focus) (name string, lasts bool)
	places  []Place
	answers map[key]Answer
}

type key struct{ hypothesis, name string }

// New is a Prior without places. sameBuild says that the programs are the same to the byte: else what was ruled out says nothing. name is that
// of a focus in each run of the program, without numbers of processes and threads and without addresses; lasts says that the focus has none of them.
func New(sameBuild bool, name func(f grid.Focus) (name string, lasts bool)) *Prior {
	return &Prior{same: sameBuild, name: name, answers: map[key]Answer{}}
}

// Add adds a place and returns its number. Places that p.From names come before p. Of places with the same name one that held counts, and one that is
// Unsure more than one that was ruled out.
func (p *Prior) Add(place Place) int {
	k := p.keyOf(place.Hypothesis, place.Focus)
	if old, known := p.answers[k]; !known || old == RuledOut || place.Answer == Held {
		p.answers[k] = place.Answer
	}
	p.places = append(p.places, place)
	return len(p.places) - 1
}

// IsSame tells that the earlier run was one of the same build of the program.
func (p *Prior) IsSame() bool { return p != nil && p.same }

// Of is what the earlier run said of a hypothesis at a focus of this run.
func (p *Prior) Of(hypothesis string, f grid.Focus) Answer {
	if p == nil || len(p.answers) == 0 {
		return Unsure
	}
	return p.answers[p.keyOf(hypothesis, f)]
}

func (p *Prior) keyOf(hypothesis string, f grid.Focus) key {
	name, _ := p.name(f)
	return key{hypothesis, name}
}

// Held lists the places that held and that have the same focus in each run, each behind those that it was refined from. Their From are numbers in the
// list: the nearest places that are in it.
func (p *Prior) Held() []Place {
	if p == nil {
		return nil
	}
	var list []Place
	number := map[int]int{}
	for i, place := range p.places {
		if _, lasts := p.name(place.Focus); place.Answer != Held || !lasts {
			continue
		}
		place.From = p.nearest(i, number)
		number[i] = len(list)
		list = append(list, place)
	}
	return list
}

// nearest are the places that held from which one was refined, over any that did not.
func (p *Prior) nearest(i int, number map[int]int) []int {
	var list []int
	seen := map[int]bool{}
	queue := p.places[i].From
	for len(queue) > 0 {
		j := queue[0]
		queue = queue[1:]
		if j < 0 || j >= i || seen[j] {
			continue
		}
		seen[j] = true
		if n, held := number[j]; held {
			list = append(list, n)
			continue
		}
		queue = append(queue[:len(queue):len(queue)], p.places[j].From...)
	}
	return list
}

// Count is how many places held, and how many were ruled out. The root, which holds by definition, is none.
func (p *Prior) Count() (held, ruledOut int) {
	for _, place := range p.places {
		switch {
		case len(place.From) == 0:
		case place.Answer == Held:
			held++
		case place.Answer == RuledOut:
			ruledOut++
		}
	}
	return held, ruledOut
}

// How long and how often what held is looked for. After that the search has found what is there by itself.
const (
	seekFor   = 10.0 // s
	seekEvery = 0.3  // s
	mostFound = 256  // places
)

// Found is which places that held were found again, each as an N. The zero value looks for none.
type Found[N comparable] struct {
	places []Place
	found  []N
	at     float64 // s; of the last look
}

// Seek looks for what held in an earlier run.
func Seek[N comparable](p *Prior) Found[N] {
	places := p.Held()
	places = places[:min(len(places), mostFound)]
	return Found[N]{places: places, found: make([]N, len(places)), at: -seekEvery}
}

// Each calls find for the places that were not found yet, if a look is due. find returns the zero N for what it does not find; from are what was found of
// the places that a place was refined from.
func (f *Found[N]) Each(now float64, find func(p Place, from []N) N) {
	if now-f.at < seekEvery-1e-9 {
		return
	}
	if f.at = now; now > seekFor {
		f.places = nil
	}
	var none N
	for i, p := range f.places {
		if f.found[i] != none {
			continue
		}
		var from []N
		for _, j := range p.From {
			if f.found[j] != none {
				from = append(from, f.found[j])
			}
		}
		f.found[i] = find(p, from)
	}
}
