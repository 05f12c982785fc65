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
	known  float64         // its confidence then
	Note   bool            // it was told as a note
}

// Hold keeps the surest evidence. again tells that the node was false before, or unknown.
func (p *Past) Hold(e decide.Estimate, confidence float64, again bool) {
	if again {
		*p = Past{To: p.To}
	}
	if confidence > p.Sure {
		p.Surest, p.Sure = e, confidence
	}
}

// Tell notes how it is told, and keeps how it was told when it was surest, and the last object that it was told with.
func (p *Past) Tell(stake float64, why, object string, confidence float64) {
	if object != "" {
		p.Object = object
	}
	if p.Told = true; confidence > p.known {
		p.Stake, p.Why, p.known = stake, why, confidence
	}
}
