package compile

import "culprit/pcl"

// chooseKey fills in by which variable the plan tells apart, and which of its values the focus chooses.
func (c *compiler) chooseKey(x *pcl.Match, counters map[string]int) (err error) {
	if by := x.Body(c.m).By; by != "" {
		c.plan.By = counters[by]
	}
	if x.Key != nil {
		c.plan.Keyed = true
		c.plan.Key, err = c.env.Object(x.Key.Hierarchy, c.focus.Elements(x.Key.Hierarchy))
	}
	return err
}
