package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// A MariaDB is a server that knows no users, with a socket in its directory and a database called sbtest.
type MariaDB struct {
	*Server
	socket string
}

// StartMariaDB starts a server with an empty database. The caller must be root.
func StartMariaDB(dir string) (*MariaDB, error) {
	bin, err := exec.LookPath("mariadbd")
	if err != nil {
		bin = "/usr/sbin/mariadbd"
		if _, err := os.Stat(bin); err != nil {
			return nil, missing("mariadbd")
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "data", "sbtest"), 0o700); err != nil {
		return nil, err
	}
	m := &MariaDB{socket: filepath.Join(dir, "socket")}
	cmd := exec.Command(bin, "--no-defaults", "--user=root", "--datadir="+filepath.Join(dir, "data"), "--socket="+m.socket, "--skip-networking",
		"--skip-grant-tables", "--innodb-flush-log-at-trx-commit=0")
	if m.Server, err = start(cmd, dir, syscall.SIGTERM); err != nil {
		return nil, err
	}
	return m, m.await(func() error { return dial("unix", m.socket) })
}

// SysbenchCommand is the load generator sysbench with a test of its own (oltp_read_only), or the path of a script in Lua, and what it is to do
// (prepare, run), over so many connections for so many seconds.
func (m *MariaDB) SysbenchCommand(test, what string, connections int, span time.Duration) (*exec.Cmd, error) {
	bin, err := exec.LookPath("sysbench")
	if err != nil {
		return nil, missing("sysbench")
	}
	return exec.Command(bin, test, "--mysql-socket="+m.socket, "--mysql-user=root", "--mysql-db=sbtest", "--tables=2", "--table-size=10000",
		"--threads="+strconv.Itoa(connections), "--time="+fmt.Sprint(max(1, int(span.Seconds()))), what), nil
}
