package placement

import (
	"culprit/daemon/patch"
	"culprit/trampoline/disasm"
)

// A Listed is a place in the program that would be patched.
type Listed struct {
	Function string // module/function
	Points   []string
	Addr     uint64
	Tactic   string
	PriceNS  float64       // of one pass through it
	Code     []disasm.Inst // at the addresses where it would probably lie
}

// List makes the trampolines of the code, of so many sites at most, without putting them in; prices are of the requests of its plan. left is how many
// sites there are besides.
func (c *Code) List(most int, prices []float64) (list []Listed, left int, err error) {
	sites := patch.Distinct(c.Sites) // several requests may lead to one
	for i, s := range sites {
		if i == most {
			return list, len(sites) - most, nil
		}
		listed, err := c.list(s, prices)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, *listed)
	}
	return list, 0, nil
}

// list makes the trampoline of a site with this code alone.
func (c *Code) list(s *patch.Site, prices []float64) (*Listed, error) {
	code, at, err := c.Target.Text.Show(s, c.Owner)
	if err != nil {
		return nil, err
	}
	f := c.Target.FunctionAt(s.Addr)
	out := &Listed{Function: f.Fn.Module + "/" + f.Fn.Name, Addr: s.Addr, Tactic: string(s.Tactic), Code: disasm.List(code, at)}
	for _, m := range s.Marks {
		if s.Runs(c.Owner, m.Point) {
			out.Points = append(out.Points, m.Point.Kind.String())
		}
	}
	for i := range c.Meter.Plan.Requests {
		r := &c.Meter.Plan.Requests[i]
		if c.Target.Sites.Serves(s, r) {
			out.PriceNS += prices[i]
		}
	}
	return out, nil
}
