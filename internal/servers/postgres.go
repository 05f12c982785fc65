package servers

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A Postgres is a server of PostgreSQL with a cluster and a socket in its directory. It has no port.
type Postgres struct {
	*Server
	bin string
}

// StartPostgres makes a cluster in an empty directory and starts its server with settings such as "fsync=off". It runs as the user
// that the package has made, since it refuses to run as root: the caller must be root, and the directory becomes that user's.
func StartPostgres(dir string, settings ...string) (*Postgres, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		return nil, missing("PostgreSQL's server")
	}
	who, err := owner("postgres")
	if err != nil {
		return nil, err
	}
	if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
		return nil, err
	}
	pg := &Postgres{bin: found[len(found)-1]}
	as := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(pg.bin, program), args...)
		cmd.Dir, cmd.Env = dir, []string{"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := as("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	args := []string{"-D", data, "-k", dir, "-c", "listen_addresses="}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	if pg.Server, err = start(as("postgres", args...), dir, syscall.SIGINT); err != nil {
		return nil, err
	}
	return pg, pg.await(func() error { return pg.Command("pg_isready", "-q").Run() })
}

// Command is one of the clients that come with the server, told where it is.
func (pg *Postgres) Command(program string, args ...string) *exec.Cmd {
	return exec.Command(filepath.Join(pg.bin, program), append([]string{"-h", pg.Dir, "-U", "postgres"}, args...)...)
}

// Run runs a client to its end and returns what it printed.
func (pg *Postgres) Run(program string, args ...string) (string, error) {
	out, err := pg.Command(program, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %q: %w\n%s", program, args, err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// owner is a user as which a process can be started.
func owner(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, missing("the user " + name)
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	if uidErr != nil || gidErr != nil {
		return nil, fmt.Errorf("the user %s has no numbers", name)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
