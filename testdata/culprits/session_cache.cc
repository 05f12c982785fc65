// Cause: the hash of the session cache takes only the length and the first letter, so all sessions are in one chain and find_session() walks it.
// Right: CPUbound at find_session()
// Never: render_reply()
// Never: next_request()

// A web server's session cache: an unordered_map with its own hash.
#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

struct Session {
	unsigned user;
	unsigned long hits;
};

struct NameHash {
	size_t operator()(const std::string &name) const
	{
		return name.size() * 31 + static_cast<unsigned char>(name[0]);
	}
};

static std::unordered_map<std::string, Session, NameHash> sessions;
static std::vector<std::string> names;

__attribute__((noinline)) static Session *find_session(const std::string &name)
{
	auto it = sessions.find(name);
	return it == sessions.end() ? nullptr : &it->second;
}

__attribute__((noinline)) static const std::string &next_request()
{
	static unsigned seed = 1;
	seed = seed * 1664525u + 1013904223u;
	return names[(seed >> 8) % names.size()];
}

__attribute__((noinline)) static size_t render_reply(const Session &s)
{
	std::string reply = "<html>user ";
	reply += std::to_string(s.user);
	reply += ", visit ";
	reply += std::to_string(s.hits);
	return reply.size();
}

int main()
{
	size_t sent = 0;
	for (unsigned i = 0; i < 4000; i++) {
		char name[32];
		std::snprintf(name, sizeof name, "session-%08x", i * 2654435761u);
		names.push_back(name);
		sessions[name] = Session{i, 0};
	}
	std::puts("ready");
	std::fflush(stdout);
	for (;;) {
		Session *s = find_session(next_request());
		if (s == nullptr)
			return 1;
		s->hits++;
		sent += render_reply(*s);
		if (sent == 1)
			std::puts("unlikely");
	}
}
