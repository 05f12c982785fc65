package budget

// maxPairs is how many pairs are enabled at once over all.
const maxPairs = 800

// A Room is what is left of a budget while a batch is put together. It is a value: what is tried on a copy is not taken.
type Room struct {
	Limit float64 // fraction of the target's active time
	Load  float64 // of it, with what the batch has so far
	Pairs int     // that are enabled, likewise
	Paid  bool    // the shared cost is paid

	reserved float64 // for one that has waited long: those that come later do not get it
}

// Room begins a batch.
func (b *Budget) Room(now float64) Room {
	return Room{Limit: b.limit, Load: b.Load(now), Pairs: len(b.active), Paid: b.paysShared()}
}

// Admit tells whether there is room for a cost within a share of the limit, and how much is lacking if there is not. What
// costs nothing more is admitted.
func (r *Room) Admit(c Cost, share float64) (ok bool, lacking float64) {
	more := c.More(r.Paid)
	lacking = r.Load + r.reserved + more - share*r.Limit
	return more <= 0 || lacking <= 0, lacking
}

// Reserve keeps room for a cost for which there is none now, so that it is there when enough was freed. Only the first has it kept.
func (r *Room) Reserve(c Cost) {
	if r.reserved == 0 {
		r.reserved = c.More(r.Paid)
	}
}

// Full tells that there is no room for so many pairs.
func (r *Room) Full(pairs int) bool { return r.Pairs+pairs > maxPairs }

// Take adds a cost of so many pairs. shares tells that the shared cost is paid then.
func (r *Room) Take(c Cost, pairs int, shares bool) {
	r.Load += c.More(r.Paid)
	r.Pairs += pairs
	r.Paid = r.Paid || shares
}
