package image

import (
	"runtime"
	"strings"
	"testing"

	"culprit/daemon/image/lazy"
)

// TestNothingIsBuiltInAStop asks an object for everything that is made on first use, in a stop: nothing may be made, and what was answered
// meanwhile must not be taken for the truth afterwards.
func TestNothingIsBuiltInAStop(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	asks := map[string]func(o *Object){
		"functions":    func(o *Object) { o.Functions() },
		"frames":       func(o *Object) { o.frames.Described() },
		"debug frames": func(o *Object) { o.frames.At(0) },
		"relocations":  func(o *Object) { o.relocations() },
		"sequences":    func(o *Object) { o.sequences() },
		"mentions":     func(o *Object) { o.MentionsSwitch() },
		"code": func(o *Object) {
			text := o.elf.Section(".text").Addr
			_, _ = o.Code(text, text+1)
		},
	}
	for name, ask := range asks {
		o := openFile(t, "/proc/self/exe", "this")
		s := lazy.HoldStill()
		ask(o)
		s.End()
		err, _ := s.Missing().(*lazy.NotReady)
		if err == nil {
			t.Errorf("%s: made in a stop, or there before anybody asked", name)
			continue
		}
		err.Make()
		s = lazy.HoldStill()
		ask(o)
		s.End()
		for tries := 0; s.Missing() != nil && tries < 8; tries++ {
			s.Missing().(*lazy.NotReady).Make()
			s = lazy.HoldStill()
			ask(o)
			s.End()
		}
		if s.Missing() != nil {
			t.Errorf("%s: %v, although it was made", name, s.Missing())
		}
	}
	o := openFile(t, "/proc/self/exe", "this")
	if len(o.Functions()) == 0 || o.Err() != nil {
		t.Fatalf("no functions: %v", o.Err())
	}
	f := o.Functions()[0]
	s := lazy.HoldStill()
	if _, err := o.BriefFlow(f); err == nil {
		t.Error("code was decoded in a stop")
	}
	s.End()
	if _, err := o.BriefFlow(f); err != nil && strings.Contains(err.Error(), lazy.ErrInStop.Error()) {
		t.Errorf("what could not be decoded in a stop cannot be decoded any more: %v", err)
	}
}

// TestOthersBuildDuringAStop: a stop holds only the thread that makes it.
func TestOthersBuildDuringAStop(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	o := openFile(t, "/proc/self/exe", "this")
	s := lazy.HoldStill()
	defer s.End()
	n := make(chan int)
	go func() { n <- len(o.Functions()) }()
	if <-n == 0 {
		t.Error("another thread could not read the functions while a stop was under way")
	}
	if err := s.Missing(); err != nil {
		t.Errorf("what another thread asked for counts as missing: %v", err)
	}
	if len(o.Functions()) == 0 || s.Missing() != nil {
		t.Error("what is there is not given in a stop")
	}
}
