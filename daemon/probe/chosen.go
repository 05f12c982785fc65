package probe

import "culprit/grid"

// keyAgain is after how many readings an object is looked for again in a process that did not have it.
const keyAgain = 50

// A Chosen is one object that is read out of the tables of meters that are for all objects of its kind, each in its target.
type Chosen struct {
	h     grid.Hierarchy
	elems []string
	keys  map[*Meter]uint64
	last  map[*Meter]float64
	tries map[*Meter]int
}

// Choose chooses an object by its name.
func Choose(h grid.Hierarchy, elems []string) *Chosen {
	return &Chosen{h: h, elems: elems, keys: map[*Meter]uint64{}, last: map[*Meter]float64{}, tries: map[*Meter]int{}}
}

// Find looks for the object in the targets of meters. It is an error if none of them has it.
func (c *Chosen) Find(meters []*Meter) (err error) {
	for _, m := range meters {
		if e := c.find(m); e != nil {
			err = e
		}
	}
	if len(c.keys) > 0 {
		return nil
	}
	return err
}

// find finds out what the object is in the target of a meter.
func (c *Chosen) find(m *Meter) error {
	if _, ok := c.keys[m]; ok {
		return nil
	}
	v, err := m.t.Object(c.h, c.elems)
	if err == nil {
		c.keys[m] = v & KeyMask
	}
	return err
}

// Begin takes the totals from which the value grows.
func (c *Chosen) Begin(meters []*Meter) {
	for _, m := range meters {
		if key, ok := c.keys[m]; ok {
			c.last[m] = m.Total(key)
		}
	}
}

// Grown is by how much the value has grown since the last reading in each target that has the object.
func (c *Chosen) Grown(meters []*Meter) (values []float64) {
	for _, m := range meters {
		if _, ok := c.keys[m]; !ok {
			n := c.tries[m]
			if c.tries[m]++; n%keyAgain != 0 || c.find(m) != nil {
				continue
			}
		}
		total := m.Total(c.keys[m])
		if c.h == grid.SyncObject && len(c.elems) == 2 && m.t.Locks.HasEnded(c.elems[0], c.elems[1]) {
			c.last[m] = total // what is added now is another object's
		}
		values = append(values, total-c.last[m])
		c.last[m] = total
	}
	return values
}
