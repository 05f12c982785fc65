package kernelmeter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culprit/daemon/kernel"
	"culprit/internal/testprog"
	"culprit/pcl/check"
)

// TestNamesOfTheLibrary: the default library names nothing that would be refused here.
func TestNamesOfTheLibrary(t *testing.T) {
	lib, problems, err := check.Load(check.Options{})
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	for _, p := range check.Warnings(lib, check.Kept{Quantities: Names(), Events: kernel.EventNames()}) {
		t.Error(p.Detail())
	}
}

// TestNamesInTheReference: all that may be named stands in the reference of PCL.
func TestNamesInTheReference(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testprog.Root(t), "docs", "pcl-reference.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, reference, _ := strings.Cut(string(text), "\n# Reference\n")
	for _, name := range Names() {
		if !strings.Contains(reference, "`"+name+"`") {
			t.Errorf("the reference does not name the quantity of the kernel `%s`", name)
		}
	}
}
