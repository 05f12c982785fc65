package session

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"culprit/session/report"
	"culprit/session/socket"
)

// listen opens the socket at which other processes may ask, if there is to be one.
func (s *Session) listen() {
	if !s.cfg.Socket {
		return
	}
	server, err := socket.Listen(map[string]socket.Source{socket.Snapshot: s.presentLine, socket.Version: s.versionLine}, map[string]socket.Act{socket.Phase: s.phaseLine}, s.log)
	if err != nil {
		s.log("this session cannot be asked by other processes (culprit why): " + err.Error())
	}
	s.socket = server
}

// announce tells, once, who has attached to what. What is wrong with the pairs that were named is said before.
func (s *Session) announce() {
	if s.cfg.Attached != nil {
		s.announced.Do(func() { s.cfg.Attached(s.attachedText()) })
	}
}

// maxNamed is how many targets are named in the log.
const maxNamed = 5

// attachedText says who has attached to what, when, and where the session can be asked.
func (s *Session) attachedText() string {
	targets := s.targets()
	var names []string
	for _, t := range targets[:min(len(targets), maxNamed)] {
		names = append(names, fmt.Sprintf("%s (pid %d)", t.Exe, t.PID))
	}
	if more := len(targets) - maxNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	text := fmt.Sprintf("uid %d, pid %d attached to %s at %s", os.Getuid(), os.Getpid(), strings.Join(names, ", "), s.started.UTC().Format(time.RFC3339))
	if s.socket != nil {
		text += "; socket " + s.socket.Path()
	}
	return text
}

func (s *Session) log(text string) {
	if s.cfg.Log != nil {
		s.cfg.Log(text)
	}
}

// Present is the report as it stands while the session goes on. What is known only at the end is not in it: jobs of MPI,
// and whether the probes were removed.
func (s *Session) Present() *report.Report {
	r := s.build()
	s.addNotes(r)
	s.addUnmeasured(r)
	r.Pairs, r.PairsLeftOut = s.pairs.present()
	s.finishReport(r)
	r.End = report.Running
	return r
}

func (s *Session) presentLine() ([]byte, error) { return s.Present().Line() }

// phaseLine begins a phase, and answers with it.
func (s *Session) phaseLine(name string) ([]byte, error) {
	p, err := s.StartPhase(name)
	if err != nil {
		return nil, err
	}
	return json.Marshal(p)
}

// A programVersion answers the request version.
type programVersion struct {
	Tool     string `json:"tool"`
	Schema   int    `json:"schema"`   // of the snapshot
	Protocol int    `json:"protocol"` // of the socket
}

func (s *Session) versionLine() ([]byte, error) {
	return json.Marshal(programVersion{s.cfg.Tool, report.Schema, socket.Protocol})
}
