// Package beat has those who wake up at regular intervals do so together. A program that sleeps costs 100 to 200 us of processor time
// whenever it wakes up, whatever it does then: the scheduler's, and its own runtime's, which looks around for a while afterwards.
package beat

import "time"

var epoch = time.Now()

// Until is the time until the next multiple of an interval since this program began; more than 0, and at most the interval. It is 0 for an
// interval that is not more than 0.
func Until(interval time.Duration) time.Duration { return until(time.Since(epoch), interval) }

func until(now, interval time.Duration) time.Duration {
	if interval <= 0 {
		return 0
	}
	return interval - now%interval
}
