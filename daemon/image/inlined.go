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

// InlinedToo is in how many places of other functions the code of a function stands besides its own, as far as DWARF tells: calls from there
// do not come by its entry. The first question reads the entries of all units, as far as Inlined does; what it found is kept.
func (o *Object) InlinedToo(f *Function) int {
	n, err := o.inlines.get(o.name, o.countInlined)
	if err != nil || n == nil {
		return 0
	}
	places := n.at[f.Addr]
	if f.Linkage != "" {
		places = max(places, n.named[copies.ReplaceAllString(f.Linkage, "")])
	}
	return places
}

// inlineCounts are the places in which functions were inlined: of those that other source files may call by their linker's names, since
// each file has its own description of them, of others by the addresses of their own code.
type inlineCounts struct {
	named map[string]int
	at    map[uint64]int
}

func (o *Object) countInlined() (n *inlineCounts, err error) {
	defer guard(&err, o.name)
	x := o.unitIndex()
	data := x.data()
	if data == nil {
		return nil, nil
	}
	d := &dies{x: x, r: data.Reader(), left: maxInlineEntries}
	origins, code := map[dwarf.Offset]int{}, map[dwarf.Offset][]uint64{}
	for _, off := range unitOffsets(x.sections[".debug_info"]) {
		if d.eachBelow(off, func(e *dwarf.Entry) {
			origin, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
			low, placed := e.Val(dwarf.AttrLowpc).(uint64)
			switch {
			case !ok:
			case e.Tag == dwarf.TagInlinedSubroutine && (!placed || x.find(low) != nil): // the linker leaves out functions that it has already
				origins[origin]++
			case e.Tag == dwarf.TagSubprogram:
				code[origin] = append(code[origin], d.starts(data, e)...)
			}
		}) != nil {
			break
		}
	}
	n = &inlineCounts{named: map[string]int{}, at: map[uint64]int{}}
	d.left = maxInlineEntries
	for origin, places := range origins {
		if name := d.externalName(origin); name != "" {
			n.named[name] += places
			continue
		}
		for _, addr := range code[origin] {
			n.at[addr] = places
		}
	}
	return n, nil
}

// externalName is the linker's name of a function that other source files may call; "" of others.
func (d *dies) externalName(off dwarf.Offset) (name string) {
	chain, err := d.chain(off)
	external := false
	for _, e := range chain {
		linkage, _ := e.Val(dwarf.AttrLinkageName).(string)
		if linkage == "" && name == "" {
			linkage = nameOf(e)
		}
		if linkage != "" {
			name = linkage
		}
		ext, _ := e.Val(dwarf.AttrExternal).(bool)
		external = external || ext
	}
	if err != nil || !external {
		return ""
	}
	return name
}

// eachBelow reads all entries below the root of a unit; one that cannot be read tells nothing. The error is that no more may be read.
func (d *dies) eachBelow(root dwarf.Offset, visit func(e *dwarf.Entry)) error {
	e, err := d.at(root)
	if err != nil || !e.Children {
		return nil
	}
	for depth := 1; depth > 0; {
		e, err := d.next()
		if err != nil {
			return err
		}
		if e.Tag == 0 {
			depth--
			continue
		}
		visit(e)
		if e.Children {
			depth++
		}
	}
	return nil
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
	return s.d.eachBelow(root, func(e *dwarf.Entry) {
		switch e.Tag {
		case dwarf.TagSubprogram:
			s.subprogram(e)
		case dwarf.TagInlinedSubroutine:
			if off, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
				s.origins[off]++
			}
		}
	})
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
