package servers

import (
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
)

// A Redis is a server that keeps its data in memory only. It has a socket in its directory, and no port.
type Redis struct {
	*Server
	Socket string
}

// StartRedis starts an empty server.
func StartRedis(dir string) (*Redis, error) {
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, missing("redis-server")
	}
	r := &Redis{Socket: filepath.Join(dir, "s")}
	cmd := exec.Command(bin, "--port", "0", "--unixsocket", r.Socket, "--dir", dir, "--save", "", "--appendonly", "no")
	if r.Server, err = start(cmd, dir, syscall.SIGTERM); err != nil {
		return nil, err
	}
	return r, r.await(func() error { return dial("unix", r.Socket) })
}

// Command is one of the clients that come with the server (redis-cli, redis-benchmark), told where it is.
func (r *Redis) Command(program string, args ...string) (*exec.Cmd, error) {
	bin, err := exec.LookPath(program)
	if err != nil {
		return nil, missing(program)
	}
	return exec.Command(bin, append([]string{"-s", r.Socket}, args...)...), nil
}

// dial reports whether somebody listens.
func dial(network, address string) error {
	c, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	return c.Close()
}
