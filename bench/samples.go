package main

import (
	"errors"

	"culprit/daemon/kernel"
)

// Samples is what stack samples cost a program that does nothing but hand a byte from one thread to the other and back.
type Samples struct {
	RoundTripNS     float64 `json:"round_trip_ns"`            // without samples
	OfThreadsNS     float64 `json:"round_trip_of_threads_ns"` // with events of each thread
	OfProcessorsNS  float64 `json:"round_trip_of_processors_ns"`
	ThreadsShare    float64 `json:"of_threads_slowdown"` // share by which a round trip takes longer
	ProcessorsShare float64 `json:"of_processors_slowdown"`
	// The same for nginx under load: the share by which a request takes more of its processor. Null without nginx and wrk.
	NginxThreads    *float64 `json:"nginx_of_threads_more_work"`
	NginxProcessors *float64 `json:"nginx_of_processors_more_work"`
}

// sampleRate is how often a second, as it is in a search.
const sampleRate = 97

// stackSamples measures both ways of sampling in turn.
func stackSamples(r *Result, rounds int) error {
	l, err := loopOf("bench/target/pingpong.c")
	if err != nil {
		return err
	}
	defer l.stop()
	rings, err := kernel.NewRings()
	if err != nil {
		skip("%v: no figures of stack samples", kernel.ExplainSampling(l.cmd.Process.Pid, err))
		return nil
	}
	defer rings.Close()
	var bare, threads, processors []float64
	for range rounds {
		one, err := l.ask("bare")
		if err != nil {
			return err
		}
		two, err := sampledRound(l, rings, func() (closer, error) { return rings.Sampler(l.cmd.Process.Pid, sampleRate) })
		if err != nil {
			return err
		}
		three, err := sampledRound(l, rings, func() (closer, error) { return rings.ProcessSampler(l.cmd.Process.Pid, sampleRate) })
		if err != nil {
			return err
		}
		bare, threads, processors = append(bare, one), append(threads, two), append(processors, three)
	}
	s := &Samples{RoundTripNS: median(bare), OfThreadsNS: median(threads), OfProcessorsNS: median(processors)}
	s.ThreadsShare, s.ProcessorsShare = s.OfThreadsNS/s.RoundTripNS-1, s.OfProcessorsNS/s.RoundTripNS-1
	r.Samples = s
	return s.ofServer(rings, rounds)
}

type closer interface{ Close() error }

// sampledRound is one round while samples are taken, which are then thrown away.
func sampledRound(l *loop, rings *kernel.Rings, sampler func() (closer, error)) (float64, error) {
	s, err := sampler()
	if err != nil {
		return 0, err
	}
	ns, err := l.ask("sampled")
	rings.Read(func(kernel.Sample) {})
	return ns, errors.Join(err, s.Close())
}
