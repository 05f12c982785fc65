package image

import (
	"fmt"
	"slices"
	"testing"

	"culprit/internal/testprog"
)

// TestMeant: what people call functions of C++, Rust and C, and what they do not mean.
func TestMeant(t *testing.T) {
	const (
		handle1 = "_Z6handlePN3app3JobEii"                                                 // handle(app::Job*, int, int)
		handle2 = "_Z6handlePN3app3JobERKSt8functionIFviEE"                                // handle(app::Job*, std::function<void (int)> const&)
		run     = "_ZNK3app3Job3runEi"                                                     // app::Job::run(int) const
		hidden  = "_ZN3app12_GLOBAL__N_13hidEi"                                            // app::(anonymous namespace)::hid(int)
		conv    = "_ZN3app3Job4convIdEET_S2_"                                              // double app::Job::conv<double>(double)
		call    = "_ZN3app3JobclEi"                                                        // app::Job::operator()(int)
		shift   = "_ZN3applsERNS_3JobEi"                                                   // app::operator<<(app::Job&, int)
		method  = "_ZN1b3app3Job3run17h334de1edc3369f10E"                                  // b::app::Job::run
		trait   = "_ZN42_$LT$b..app..Job$u20$as$u20$b..app..Go$GT$2go17hd7861333815bfa86E" // <b::app::Job as b::app::Go>::go
		copied  = "_ZN3app4step5innerEv.constprop.0"
		plain   = "twice.isra.0"
		part    = "rest.part.0"
	)
	for _, c := range []struct {
		name string
		want string // "linkage fit"
	}{
		{"handle", handle1 + " 0," + handle2 + " 0"},
		{"handle(app::Job*, int, int)", handle1 + " 0"},
		{"handle(app::Job *,int,int)", handle1 + " 0"},
		{"handl", ""}, {"andle", ""}, {"Handle", ""}, {"handle(int)", ""},
		{"app::Job::run", run + " 0," + method + " 2"},
		{"Job::run", run + " 2," + method + " 2"},
		{"run", run + " 2," + method + " 2"},
		{"run(int) const", run + " 2"},
		{"ob::run", ""},
		{"hid", hidden + " 2"}, {"app::(anonymous namespace)::hid", hidden + " 0"}, {"app::(anonymous namespace)::hid(int)", hidden + " 0"},
		{"app::Job::conv", conv + " 1"}, {"conv", conv + " 2"}, {"conv<double>", conv + " 2"}, {"conv<int>", ""},
		{"app::Job::conv<double>(double)", conv + " 2"},
		{"app::Job::operator()", call + " 0"}, {"operator()", call + " 2"}, {"app::operator<<", shift + " 0"},
		{"b::app::Job::run", method + " 0"}, {"b::app::Job::run::h334de1edc3369f10", method + " 0"},
		{"<b::app::Job as b::app::Go>::go", trait + " 0"}, {"b::app::Job::go", trait + " 0"}, {"Go::go", trait + " 2"}, {"go", trait + " 2"},
		{"app::step::inner", copied + " 0"}, {"inner", copied + " 2"},
		{"twice", plain + " 0"}, {"rest", ""}, {"", ""}, {"::", ""},
	} {
		q := asked(rustHash.ReplaceAllString(c.name, ""))
		var got []string
		for _, l := range []string{handle1, handle2, run, hidden, conv, call, shift, method, trait, copied, plain, part} {
			if m, ok := q.meets(&Function{Name: demangled(l), Linkage: l, Named: true}); ok && q.word != "" {
				got = append(got, fmt.Sprint(l, " ", int(m.Fit)))
			}
		}
		if text := joined(got); text != c.want {
			t.Errorf("%q means %s, want %s", c.name, text, c.want)
		}
	}
	for linkage, want := range map[string]string{conv: "app::Job::conv", handle1: "handle", shift: "app::operator<<", trait: "<b::app::Job as b::app::Go>::go"} {
		if got := withoutGenerics(Path(linkage)); got != want {
			t.Errorf("%s: %s, want %s", linkage, got, want)
		}
	}
}

func joined(list []string) (s string) {
	for i, x := range slices.All(list) {
		if i > 0 {
			s += ","
		}
		s += x
	}
	return s
}

// TestInlinedWithoutDWARF: a program without a description of its functions tells nothing of those that have no code of their own.
func TestInlinedWithoutDWARF(t *testing.T) {
	o := openFile(t, testprog.Strip(t, testprog.BuildSource(t, "int main(void) { return 0; }")), "prog")
	if places, ok := o.Inlined("twice"); ok || places != 0 {
		t.Errorf("%d places, %v", places, ok)
	}
}
