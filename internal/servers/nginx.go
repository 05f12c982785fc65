package servers

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

// A Nginx is a server with one site on a port of the loopback interface.
type Nginx struct {
	*Server
	URL string // without a slash at its end
}

const nginxConf = `daemon off; user root; worker_processes %d; pid nginx.pid; error_log stderr;
events { worker_connections 256; }
http {
	access_log off; keepalive_requests 1000000;
	client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
	server { listen 127.0.0.1:%d reuseport; root site; %s }
}
`

// StartNginx starts a server with so many workers, further settings for its site ("" for none), and files by name. The caller must
// be root.
func StartNginx(dir string, workers int, settings string, files map[string]string) (*Nginx, error) {
	bin, err := exec.LookPath("nginx")
	if err != nil {
		bin = "/usr/sbin/nginx"
		if _, err := os.Stat(bin); err != nil {
			return nil, missing("nginx")
		}
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := write(conf, fmt.Sprintf(nginxConf, workers, port, settings)); err != nil {
		return nil, err
	}
	for name, text := range files {
		if err := write(filepath.Join(dir, "site", name), text); err != nil {
			return nil, err
		}
	}
	n := &Nginx{URL: fmt.Sprintf("http://127.0.0.1:%d", port)}
	if n.Server, err = start(exec.Command(bin, "-p", dir, "-c", conf), dir, syscall.SIGTERM); err != nil {
		return nil, err
	}
	return n, n.await(n.answers)
}

func (n *Nginx) answers() error {
	answer, err := http.Get(n.URL + "/")
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// FreePort is a port of the loopback interface that nobody had a moment ago.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// WrkCommand is the load generator wrk with one thread, asking for a path over so many connections for so many seconds. header is one
// of HTTP, "" for none.
func (n *Nginx) WrkCommand(path, header string, connections int, span time.Duration) (*exec.Cmd, error) {
	bin, err := exec.LookPath("wrk")
	if err != nil {
		return nil, missing("wrk")
	}
	args := []string{"-t", "1", "-c", fmt.Sprint(connections), "-d", fmt.Sprint(max(1, int(span.Seconds())))}
	if header != "" {
		args = append(args, "-H", header)
	}
	return exec.Command(bin, append(args, n.URL+path)...), nil
}

var wrkSaid = regexp.MustCompile(`(\d+) requests in ([\d.]+)(us|ms|s|m)`)

var wrkUnits = map[string]float64{"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60}

// Wrk runs WrkCommand and returns how many answers it got and in what time.
func (n *Nginx) Wrk(path, header string, connections int, span time.Duration) (answers int, took time.Duration, err error) {
	cmd, err := n.WrkCommand(path, header, connections, span)
	if err != nil {
		return 0, 0, err
	}
	out, err := cmd.CombinedOutput()
	m := wrkSaid.FindSubmatch(out)
	if err != nil || m == nil {
		return 0, 0, fmt.Errorf("wrk: %w\n%s", err, out)
	}
	if answers, err = strconv.Atoi(string(m[1])); err != nil {
		return 0, 0, err
	}
	seconds, err := strconv.ParseFloat(string(m[2]), 64)
	return answers, time.Duration(seconds * wrkUnits[string(m[3])] * float64(time.Second)), err
}
