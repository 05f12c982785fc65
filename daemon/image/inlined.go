package image

import (
	"bytes"
	"debug/dwarf"
)

// maxInlineEntries bounds the entries that are read to see whether a function was inlined: some 0.3 µs each.
const maxInlineEntries = 4 << 20

// Inlined tells whether DWARF describes a function that a name may mean and that has no code of its own, and in how many places its code
// stands in other functions (0: nothing calls it). A program whose DWARF holds very many entries is looked through in part.
func (o *Object) Inlined(name string) (places int, ok bool) {
	var err error
	defer guard(&err, o.name)
	q := asked(rustHash.ReplaceAllString(name, ""))
	x := o.unitIndex()
	data := x.data()
	if q.word == "" || data == nil || !bytes.Contains(x.sections[".debug_str"], []byte(q.word)) && !bytes.Contains(x.sections[".debug_info"], []byte(q.word)) {
		return 0, false
	}
	s := inlineSearch{q: q, d: &dies{x: x, r: data.Reader(), left: maxInlineEntries}, named: map[dwarf.Offset]bool{}, origins: map[dwarf.Offset]int{}}
	for _, off := range unitOffsets(x.sections[".debug_info"]) {
		if s.unit(off) != nil {
			break
		}
	}
	for _, off := range s.abstract {
		if !s.code[off] {
			places, ok = places+s.origins[off], true
		}
	}
	return places, ok
}

// An inlineSearch looks for descriptions of functions that are inlined.
type inlineSearch struct {
	q        question
	d        *dies
	named    map[dwarf.Offset]bool // functions, and declarations of them, that the question means
	abstract []dwarf.Offset        // those of them that are inlined in some place or in none
	origins  map[dwarf.Offset]int  // of inlined code, by how often it is there
	code     map[dwarf.Offset]bool // functions of which there is a copy with code of its own
}

// unit reads all entries of a unit.
func (s *inlineSearch) unit(root dwarf.Offset) error {
	e, err := s.d.at(root)
	if err != nil || !e.Children {
		return nil // a unit that cannot be read tells nothing
	}
	for depth := 1; depth > 0; {
		e, err := s.d.next()
		if err != nil {
			return err
		}
		switch e.Tag {
		case 0:
			depth--
		case dwarf.TagSubprogram:
			s.subprogram(e)
		case dwarf.TagInlinedSubroutine:
			if off, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
				s.origins[off]++
			}
		}
		if e.Children {
			depth++
		}
	}
	return nil
}

// subprogram notes what an entry says of a function that is asked for.
func (s *inlineSearch) subprogram(e *dwarf.Entry) {
	if origin, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
		if e.Val(dwarf.AttrLowpc) != nil || e.Val(dwarf.AttrRanges) != nil {
			if s.code == nil {
				s.code = map[dwarf.Offset]bool{}
			}
			s.code[origin] = true
		}
		return
	}
	declared, _ := e.Val(dwarf.AttrSpecification).(dwarf.Offset)
	if !s.named[declared] && !s.means(e) {
		return
	}
	s.named[e.Offset] = true
	if e.Val(dwarf.AttrInline) != nil {
		s.abstract = append(s.abstract, e.Offset)
	}
}

// means tells whether the question means a function by its names in DWARF.
func (s *inlineSearch) means(e *dwarf.Entry) bool {
	if linkage, _ := e.Val(dwarf.AttrLinkageName).(string); linkage != "" {
		_, _, ok := s.q.fits(linkage)
		return ok
	}
	name := nameOf(e)
	return name != "" && (name == s.q.text || endsIn(s.q.text, name))
}
