package launch

import (
	"os/exec"
	"testing"
	"time"
)

// TestEndLeavesOthersAlone: who ends one of several programs takes away no exit code of the others.
func TestEndLeavesOthersAlone(t *testing.T) {
	one, err := StartCommand(exec.Command("sleep", "61.3"), Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	var others []*Program
	for range 16 {
		p, err := StartCommand(exec.Command("/bin/sh", "-c", "sleep 0.5; exit 7"), Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, p)
	}
	one.End(2 * time.Second)
	if !one.Over() {
		t.Error("it goes on")
	}
	for _, p := range others {
		<-p.Done()
		if code, _ := p.ExitCode(false); code == nil || *code != 7 {
			t.Errorf("process %d: its exit code is not known: %v", p.PID, code)
		}
	}
}
