package main

import (
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Directories of servers lie in memory where they can, with gigabytes in them: who stops the bench shall not have to look for them.

var rooms struct {
	mu   sync.Mutex
	dirs map[string]bool
}

// makeRoom makes a directory in another, "" for where temporary files are. It is removed by leave, and by a signal that stops the bench.
func makeRoom(in string) (room string, leave func(), err error) {
	if room, err = os.MkdirTemp(in, "culprit-bench"); err != nil {
		return "", nil, err
	}
	rooms.mu.Lock()
	defer rooms.mu.Unlock()
	if rooms.dirs == nil {
		rooms.dirs = map[string]bool{}
	}
	rooms.dirs[room] = true
	return room, func() {
		os.RemoveAll(room)
		rooms.mu.Lock()
		defer rooms.mu.Unlock()
		delete(rooms.dirs, room)
	}, nil
}

// leaveOnSignal has all rooms removed and the bench ended when it is told to stop. Servers end by the same key, or when they miss their files,
// and may write until then.
func leaveOnSignal() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	go func() {
		<-stop
		rooms.mu.Lock()
		for range 2 {
			for room := range rooms.dirs {
				os.RemoveAll(room)
			}
			time.Sleep(time.Second)
		}
		os.Exit(1)
	}()
}
