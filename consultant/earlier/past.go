package earlier

import "culprit/consultant/decide"

// A Past is what a true node was found by, and how it was told. The zero value is that of one that never held.
type Past struct {
	Surest decide.Estimate // of those that it held by since it holds
	Sure   float64         // its confidence, 0..1
	To     float64         // s since session start; the end of the last reading beyond the threshold
	Told   bool            // it was a finding when it was beyond the threshold last
	Stake  float64         // of that finding when it was surest, 0..1
	Why    string          // the hypothesis that said most of why then
	Object string          // names the lock or file that it was told with beside its own; "" if none
	known  bool            // there was a finding
	most   float64         // the largest margin of the evidence that was the surest
	latest bool            // the surest evidence is the latest
	Note   bool            // it was told as a note
}

const (
	sureEnough = 0.9 // from then on evidence of less is none that is better: it begins to be over
	falling    = 0.9 // of the margin: less of it is less
)

// Hold keeps the surest evidence. again tells that the node was false before, or unknown.
func (p *Past) Hold(e decide.Estimate, confidence float64, again bool) {
	if again {
		*p = Past{To: p.To}
	}
	if p.latest = confidence > p.Sure && (p.Sure < sureEnough || e.Margin >= falling*p.most); p.latest {
		p.Surest, p.Sure, p.most = e, confidence, max(p.most, e.Margin)
	}
}

// Tell notes how it is told, and keeps how it was told when it was surest, and the last object that it was told with.
func (p *Past) Tell(stake float64, why, object string) {
	if object != "" {
		p.Object = object
	}
	if p.Told = true; p.latest || !p.known {
		p.Stake, p.Why, p.known = stake, why, true
	}
}
