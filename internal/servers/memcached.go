package servers

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// A Memcached is a cache with a socket in its directory, and no port.
type Memcached struct {
	*Server
	Socket string
}

// StartMemcached starts an empty cache with so many threads.
func StartMemcached(dir string, threads int) (*Memcached, error) {
	bin, err := exec.LookPath("memcached")
	if err != nil {
		return nil, missing("memcached")
	}
	m := &Memcached{Socket: filepath.Join(dir, "s")}
	cmd := exec.Command(bin, "-u", "root", "-s", m.Socket, "-t", strconv.Itoa(threads), "-m", "64")
	if m.Server, err = start(cmd, dir, syscall.SIGTERM); err != nil {
		return nil, err
	}
	return m, m.await(func() error { return dial("unix", m.Socket) })
}
