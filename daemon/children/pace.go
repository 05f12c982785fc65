package children

import "time"

const (
	// joinShare is the share of the time in which descendants are joined that begin later, and joinBurst how much of that may be used at once, if it was
	// not used before. To join one takes some milliseconds to some tens: where children come and go many times a second, culprit would do little else.
	joinShare = 0.1
	joinBurst = 3 * time.Second
)

// A pace bounds how much time is used for something. The zero value has all that may be used at once.
type pace struct {
	owed time.Duration // used and not earned yet
	at   time.Time     // until when it was earned
}

// may says whether there is some left. now does not go back.
func (p *pace) may(now time.Time) bool {
	if earned := time.Duration(joinShare * float64(now.Sub(p.at))); !p.at.IsZero() {
		p.owed = max(0, p.owed-earned)
	}
	p.at = now
	return p.owed < joinBurst
}

// used takes note of what was used.
func (p *pace) used(d time.Duration) { p.owed += d }
