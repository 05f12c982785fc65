package funcname

import "testing"

func TestOfLanguage(t *testing.T) {
	for _, c := range []struct {
		module, name string
		want         bool
	}{
		{"libc.so.6", "memcpy", true}, {"libc-2.31.so", "malloc", true}, {"libstdc++.so.6.0.30", "[libstdc++.so.6.0.30+0xd4490]", true},
		{"a.cc", "void std::__cxx11::basic_string<char, std::char_traits<char> >::_M_construct<char*>(char*, char*, std::forward_iterator_tag)", true},
		{"a.cc", "std::vector<int, std::allocator<int> >::push_back(int const&)", true}, {"a.rs", "<alloc::string::String as core::fmt::Write>::write_str", true},
		{"a.rs", "core::str::pattern::find", true}, {"a.rs", "store::append", false}, {"a.rs", "<store::Log as core::fmt::Debug>::fmt", false},
		{"a.cc", "build_report(int)", false}, {"a.cc", "std::string join<char>(std::string const&)", false}, {"a.cc", "Queue<std::string>::pop()", false},
		{"a.cc", "(anonymous namespace)::f(std::string)", false}, {"a.cc", "Log::operator()(int)", false}, {"a.c", "standard", false}, {"a.c", "", false},
	} {
		if got := OfLanguage(c.module, c.name); got != c.want {
			t.Errorf("%s/%s: %v", c.module, c.name, got)
		}
	}
}
