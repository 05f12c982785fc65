package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// TestPassFD: memory of ours that only a descriptor leads to is mapped by a target, which keeps no descriptor, also where the way ends
// early.
func TestPassFD(t *testing.T) {
	for _, kind := range []string{"running", "blocked"} {
		t.Run(kind, func(t *testing.T) {
			tg := start(t, compile(t, stateSource), kind)
			p := open(t, tg.pid())
			fd, err := unix.MemfdCreate("ours", unix.MFD_CLOEXEC)
			must(t, err)
			defer unix.Close(fd)
			want := []byte("seen by both")
			_, err = unix.Pwrite(fd, want, 0)
			must(t, err)
			told := 0
			var at raw.Addr
			stop(t, p, func(w *World) error {
				there, err := w.PassFDs([]int{fd, fd}, func(fds ...int) error { told += 1 + len(fds); return nil })
				if err != nil {
					return err
				}
				if at, err = w.Mmap(0, raw.PageSize, unix.PROT_READ, unix.MAP_SHARED, there[1], 0); err != nil {
					return err
				}
				return errors.Join(w.CloseFD(there[0]), w.CloseFD(there[1]))
			})
			got := make([]byte, len(want))
			must(t, p.ReadMem(at, got))
			if !bytes.Equal(got, want) || told != 5 {
				t.Errorf("the target maps %q, %d descriptors were told of", got, told)
			}
			stop(t, p, func(w *World) error { return w.Munmap(at, raw.PageSize) })
			refused := errors.New("refused")
			for n := range 3 {
				stop(t, p, func(w *World) error {
					left := n
					_, err := w.PassFDs([]int{fd}, func(...int) error {
						if left--; left < 0 {
							return refused
						}
						return nil
					})
					if !errors.Is(err, refused) {
						t.Errorf("descriptor %d refused: %v", n, err)
					}
					return nil
				})
			}
			for _, link := range links(t, tg.pid()) {
				if strings.HasPrefix(link, "socket:") || strings.Contains(link, "memfd:ours") {
					t.Errorf("the target still has %s", link)
				}
			}
			if res := tg.finish(); res["bad"] != 0 || res["eintr"] != 0 {
				t.Errorf("the target noticed: %v", res)
			}
		})
	}
}

// links are what a process has open.
func links(t *testing.T, pid int) (list []string) {
	t.Helper()
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	must(t, err)
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil {
			list = append(list, to)
		}
	}
	return list
}
