package threadstats

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"culprit/internal/kerneltypes"
)

// Errors of Open, Need and Watch, to be told apart with errors.Is. What is returned says which of them it is, why, and what to
// do next.
var (
	ErrNotPermitted = errors.New("the kernel does not let this process load eBPF programs")
	ErrNoBTF        = errors.New("the kernel does not describe its own types (/sys/kernel/btf/vmlinux)")
	ErrUnsupported  = errors.New("this kernel lacks what per-thread statistics need")
)

// unsupported is ErrUnsupported with what is missing.
func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))
}

// explain turns an error of the kernel's into one of this package's.
func explain(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotPermitted), errors.Is(err, ErrNoBTF), errors.Is(err, ErrUnsupported):
		return err
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES) && !hasCapabilities():
		return fmt.Errorf("%w: %s (%s: %v)", ErrNotPermitted, missingRight(), what, err)
	case errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EINVAL),
		errors.Is(err, unix.EACCES): // the last is what a kernel says whose verifier does not follow a program
		return unsupported("%s: %v", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Missing is what keeps this process from Open, as far as that can be told without loading anything; nil if nothing is known to.
func Missing() error {
	if err := permitted(); err != nil {
		return err
	}
	return Unsupported()
}

// Unsupported is what this kernel lacks for Open, whoever asks: ErrNoBTF or ErrUnsupported; nil if nothing is known to be missing. The first
// call reads the kernel's description of its types, which takes some 60 ms and 10 MB.
func Unsupported() error { return lacks() }

var lacks = sync.OnceValue(func() error {
	_, err := usable(kerneltypes.Cache())
	return err
})

// permitted is ErrNotPermitted for a process that may not load programs.
func permitted() error {
	if !hasCapabilities() {
		return fmt.Errorf("%w: %s", ErrNotPermitted, missingRight())
	}
	return nil
}

// Bits of capability sets (linux/capability.h).
const (
	capSysAdmin = 21
	capPerfmon  = 38
	capBPF      = 39
)

// missingRight says which right loading takes and how one gets it.
func missingRight() string {
	var lacks []string
	have := effective()
	if have&(1<<capSysAdmin) == 0 {
		if have&(1<<capBPF) == 0 {
			lacks = append(lacks, "CAP_BPF")
		}
		if have&(1<<capPerfmon) == 0 {
			lacks = append(lacks, "CAP_PERFMON")
		}
	}
	if len(lacks) == 0 {
		return "the capabilities are there, so a container's seccomp filter, its user namespace or kernel lockdown forbids it"
	}
	return fmt.Sprintf("it lacks %s; run it as root, or once: setcap cap_sys_ptrace,cap_perfmon,cap_bpf+ep on the program", strings.Join(lacks, " and "))
}

func hasCapabilities() bool {
	have := effective()
	return have&(1<<capSysAdmin) != 0 || have&(1<<capBPF) != 0 && have&(1<<capPerfmon) != 0
}

// effective is the set of effective capabilities of this process, empty where it cannot be read.
func effective() uint64 {
	text, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return 0
	}
	var set uint64
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "CapEff:"); ok {
			if _, err := fmt.Sscanf(rest, "%x", &set); err != nil {
				return 0
			}
		}
	}
	return set
}
